/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The prover's job: work step for each nonce group of a round, one pass over
 * the data for all its nonces, the next round if none won; at last the proof is
 * judged as a verifier would before it is handed out.
 *
 * Invariant: the proof is a function of data, challenge and parameters alone.
 * The work step takes the least nonce, the pass the lowest winner of the first
 * round that has one, with its lowest indices; rounds ascend, so their width
 * does not show either.
 */
#include "space/judge.h"
#include "space/prove.h"

#include <inttypes.h>
#include <string.h>

enum {
    DEFAULT_NONCES = 128,
    DEFAULT_K1 = 26,
    DEFAULT_K2 = 37,
    DEFAULT_N = 8192,
    ALL_GROUPS = HFI_LAST_GROUP + 1
};

typedef enum phase {
    PHASE_OPEN,
    PHASE_RANDOMX,
    PHASE_WORK,
    PHASE_SCAN,
    PHASE_CHECK
} phase;

typedef struct proving {
    hfi_leaf pow_leaf; /* first: the leaf finds the state by it */
    hfi_sched *sched;
    const hfi_kernels *kernels;
    hfi_prove_set set;
    uint8_t challenge[32];
    uint32_t nonces;
    uint32_t k1;
    uint32_t k2;
    uint8_t pow_difficulty[32]; /* before division by the units */
    uint64_t scrypt_n;          /* as asked */
    bool self_check;

    phase phase;
    bool ended;
    bool using_search;
    hfi_pow_use use;
    hfi_pow_search search;
    uint32_t first_group; /* of the round */
    uint32_t groups;
    uint32_t worked;       /* groups whose work is done */
    uint64_t hashes;       /* that took */
    uint64_t group_hashes; /* to be expected for one */
    uint64_t pows[ALL_GROUPS];
    hfi_pass pass;
    hfi_judge judge;
    uint8_t hash[32];
    hf_space_proof proof;
    uint8_t *indices;
} proving;

/* ---- opening ---------------------------------------------------------------- */

/* How many hashes one is to be expected below the difficulty in: 2^64 over its
 * first eight bytes. */
static uint64_t expected_hashes(const uint8_t difficulty[32])
{
    uint64_t top = 0;
    for (int i = 0; i < 8; i++)
        top = top << 8 | difficulty[i];
    return top > 0 ? UINT64_MAX / top : UINT64_MAX;
}

static hf_status check_parameters(const proving *p, uint64_t *difficulty,
                                  hf_error *err)
{
    uint64_t labels = p->set.layout.labels_total;
    if (!hfi_space_proving_difficulty(difficulty, p->k1, labels))
        return hfi_error(err, HF_E_ARGUMENT,
                         "k1 is %" PRIu32 ", and the set has %" PRIu64
                         " labels: k1 must be smaller",
                         p->k1, labels);
    if (p->k2 > labels)
        return hfi_error(err, HF_E_NOT_FOUND,
                         "k2 is %" PRIu32 ", and the set has %" PRIu64
                         " labels: no nonce can have so many good ones",
                         p->k2, labels);
    return HF_OK;
}

/* Now that N is known, the check's scratch is as well: days before the check. */
static hf_status claim_scratch(proving *p, hf_job *job, hf_error *err)
{
    hfi_judge_plan plan = hfi_judge_plan_for(p->kernels, p->set.log_n, p->k2,
                                             hfi_sched_workers(p->sched));
    hf_status s = p->self_check ? hfi_job_widen(job, plan.scratch, err) : HF_OK;
    if (s != HF_OK)
        return hfi_error_wrap(err, s, "cannot check labels with N = 2^%u",
                              p->set.log_n);
    return HF_OK;
}

static hf_status open_set(proving *p, hf_job *job, hf_error *err)
{
    hf_status s = hfi_prove_set_open(&p->set, hfi_sched_env(p->sched),
                                     p->kernels, p->scrypt_n, err);
    if (s == HF_OK)
        s = check_parameters(p, &p->pass.difficulty, err);
    if (s == HF_OK)
        s = claim_scratch(p, job, err);
    if (s != HF_OK)
        return s;
    p->pass.sched = p->sched;
    p->pass.aes = p->kernels->aes;
    p->pass.set = &p->set;
    p->pass.challenge = p->challenge;
    p->pass.max_groups = p->nonces / HFI_NONCES_PER_GROUP;
    p->pass.k1 = p->k1;
    p->pass.k2 = p->k2;
    s = hfi_pass_init(&p->pass, err);
    p->phase = PHASE_RANDOMX;
    return s;
}

/* ---- work ------------------------------------------------------------------- */

static void search_group(proving *p, hf_job *job)
{
    uint64_t left = p->groups - p->worked;
    uint64_t total = 0; /* unknown */
    if (p->group_hashes < UINT64_MAX / 2 / ALL_GROUPS)
        total = p->hashes + left * p->group_hashes;
    p->search.group = (uint8_t)(p->first_group + p->worked);
    hfi_job_phase(job, "work", "hashes", p->hashes, total);
    hfi_pow_search_start(&p->search, job); /* counts on from there */
}

static void begin_round(proving *p, hf_job *job)
{
    uint32_t groups = p->nonces / HFI_NONCES_PER_GROUP;
    uint32_t left = ALL_GROUPS - p->first_group;
    p->groups = groups < left ? groups : left;
    p->worked = 0;
    p->hashes = 0;
    p->phase = PHASE_WORK;
    search_group(p, job);
}

static hf_status begin_work(proving *p, hf_job *job, hf_error *err)
{
    hf_status s = hfi_pow_search_init(&p->search, &p->use, err);
    if (s != HF_OK)
        return s;
    p->using_search = true;
    memcpy(p->search.challenge, p->challenge, sizeof p->search.challenge);
    memcpy(p->search.node_id, p->set.meta.node_id, 32);
    hfi_pow_scale(p->search.difficulty, p->pow_difficulty,
                  p->set.meta.num_units);
    p->group_hashes = expected_hashes(p->search.difficulty);
    begin_round(p, job);
    return HF_OK;
}

static hf_status wait_randomx(proving *p, hf_job *job, hf_error *err)
{
    switch (hfi_pow_use_step(&p->use, job, err)) {
    case HFI_POW_WAIT:
        return HF_OK;
    case HFI_POW_FAILED:
        return err->code != HF_OK ? err->code : HF_E_INTERNAL;
    default:
        return begin_work(p, job, err);
    }
}

static bool stopping(const hf_job *job)
{
    return hfi_job_failed(job) || hfi_job_cancelled(job);
}

static hf_status work_done(proving *p, hf_job *job, hf_error *err)
{
    if (!p->search.found && stopping(job))
        return HF_OK; /* the next step ends the job */
    if (!p->search.found)
        return hfi_error(err, HF_E_NOT_FOUND,
                         "no nonce below 2^56 meets the work difficulty for "
                         "nonce group %u: the difficulty is too low",
                         (unsigned)p->search.group);
    p->pows[p->worked++] = p->search.nonce;
    p->hashes += atomic_load(&p->search.hashes);
    if (p->worked < p->groups) {
        search_group(p, job);
        return HF_OK;
    }
    hfi_pass_begin(&p->pass, p->first_group, p->groups, p->pows);
    hfi_job_phase(job, "scan", "bytes", 0,
                  p->set.layout.labels_total * HFI_LABEL_BYTES);
    p->phase = PHASE_SCAN;
    return HF_OK;
}

/* ---- the proof and its check --------------------------------------------------- */

static hf_status make_proof(proving *p, uint32_t nonce, const uint64_t *indices,
                            hf_error *err)
{
    const hf_space_meta *m = &p->set.meta;
    uint32_t bits = hfi_space_index_bits(p->set.layout.labels_total);
    size_t bytes;
    if (!hfi_space_packed_bytes(&bytes, bits, p->k2) ||
        !(p->indices = hfi_calloc(hfi_sched_env(p->sched), bytes, 1)))
        return hfi_error(err, HF_E_MEMORY, "no memory for %" PRIu32 " indices",
                         p->k2);
    hfi_space_pack(p->indices, bits, indices, p->k2);
    hf_space_proof *proof = &p->proof;
    proof->nonce = nonce;
    proof->pow = p->pows[nonce / HFI_NONCES_PER_GROUP - p->first_group];
    proof->indices = p->indices;
    proof->indices_bytes = bytes;
    memcpy(proof->challenge, p->challenge, 32);
    memcpy(proof->node_id, m->node_id, 32);
    memcpy(proof->commitment_atx_id, m->commitment_atx_id, 32);
    proof->num_units = m->num_units;
    proof->labels_per_unit = m->labels_per_unit;
    return HF_OK;
}

static bool hash_again(hfi_leaf *leaf, hfi_worker *worker)
{
    proving *p = (proving *)(void *)leaf;
    uint8_t input[HFI_POW_INPUT];
    hf_error err;
    hfi_pow_input(input, p->proof.pow,
                  (uint8_t)(p->proof.nonce / HFI_NONCES_PER_GROUP),
                  p->challenge, p->proof.node_id);
    if (hfi_pow_hash(&p->use, worker, input, sizeof input, p->hash, &err) !=
        HF_OK)
        hfi_job_fail(leaf->job, &err);
    return false;
}

static hf_status begin_check(proving *p, hf_job *job, hf_error *err)
{
    hfi_judge *j = &p->judge;
    j->proof = &p->proof;
    j->kernels = p->kernels;
    j->log_n = p->set.log_n;
    j->bits = hfi_space_index_bits(p->set.layout.labels_total);
    j->difficulty = p->pass.difficulty;
    j->count = p->k2;
    hf_status s = hfi_judge_init(j, p->sched, err);
    if (s != HF_OK)
        return s;
    hfi_job_phase(job, "check", "labels", 0, p->k2);
    p->phase = PHASE_CHECK;
    hfi_leaf_submit(job, &p->pow_leaf);
    hfi_judge_start(j, job);
    return HF_OK;
}

/* The stored label was good and the computed one is not. */
static hf_status bad_label(const proving *p, uint64_t place, hf_error *err)
{
    uint64_t label = hfi_judge_label(&p->judge, place);
    uint64_t file = label / p->set.layout.labels_per_file;
    uint64_t offset = label % p->set.layout.labels_per_file * HFI_LABEL_BYTES;
    hfi_error(err, HF_E_FORMAT, "in folder %s", p->set.dir);
    return hfi_error_wrap(err, HF_E_FORMAT,
                          "label %" PRIu64 " is wrong, at byte %" PRIu64
                          " of postdata_%" PRIu64
                          ".bin: no proof can use it; move that file away and "
                          "initialise files %" PRIu64 " to %" PRIu64 " again",
                          label, offset, file, file, file);
}

static hf_status conclude_check(proving *p, const hf_job *job, hf_error *err)
{
    uint64_t bad = atomic_load(&p->judge.bad);
    if (stopping(job))
        return HF_OK; /* not all was looked at; the next step ends the job */
    p->ended = true;
    if (bad != HFI_JUDGE_ALL_GOOD)
        return bad_label(p, bad, err);
    if (memcmp(p->hash, p->search.difficulty, 32) >= 0)
        return hfi_error(err, HF_E_INTERNAL,
                         "pow %" PRIu64 " of nonce group %" PRIu32
                         " does not meet the difficulty when hashed again",
                         p->proof.pow, p->proof.nonce / HFI_NONCES_PER_GROUP);
    return HF_OK;
}

/* ---- rounds ----------------------------------------------------------------------- */

static hf_status pass_done(proving *p, hf_job *job, hf_error *err)
{
    uint32_t nonce;
    const uint64_t *indices;
    if (hfi_pass_winner(&p->pass, &nonce, &indices)) {
        hf_status s = make_proof(p, nonce, indices, err);
        p->ended = s == HF_OK && !p->self_check;
        return s == HF_OK && p->self_check ? begin_check(p, job, err) : s;
    }
    p->first_group += p->groups;
    if (p->first_group == ALL_GROUPS)
        return hfi_error(err, HF_E_NOT_FOUND,
                         "no nonce up to %u has k2 = %" PRIu32
                         " good labels at k1 = %" PRIu32,
                         HF_SPACE_MAX_NONCES - 1, p->k2, p->k1);
    hfi_logf(hfi_sched_env(p->sched)->log, HFI_LOG_INFO, "space",
             "no nonce below %" PRIu32 " has %" PRIu32
             " good labels: another pass follows",
             p->first_group * HFI_NONCES_PER_GROUP, p->k2);
    begin_round(p, job);
    return HF_OK;
}

static hf_status step_pass(proving *p, hf_job *job, hf_error *err)
{
    switch (hfi_pass_step(&p->pass, job, err)) {
    case HFI_PASS_WAIT:
        return HF_OK;
    case HFI_PASS_FAILED:
        return err->code;
    default:
        return pass_done(p, job, err);
    }
}

/* One move; what waits for leaves leaves everything as it is. */
static hf_status advance(proving *p, hf_job *job, hf_error *err)
{
    hf_status s = HF_OK;
    if (p->phase == PHASE_OPEN)
        s = open_set(p, job, err);
    if (s == HF_OK && p->phase == PHASE_RANDOMX)
        s = wait_randomx(p, job, err);
    else if (p->phase == PHASE_WORK && hfi_pow_search_idle(&p->search))
        s = work_done(p, job, err);
    if (s == HF_OK && p->phase == PHASE_SCAN)
        s = step_pass(p, job, err);
    else if (p->phase == PHASE_CHECK && hfi_leaf_idle(&p->pow_leaf) &&
             hfi_judge_idle(&p->judge))
        s = conclude_check(p, job, err);
    return s;
}

/* Here, not with the state: a handle may be kept, and outlive the context. */
static void give_back(proving *p)
{
    if (p->using_search)
        hfi_pow_search_wipe(&p->search);
    p->using_search = false;
    hfi_pow_use_wipe(&p->use);
    if (p->pass.sched)
        hfi_pass_wipe(&p->pass);
    hfi_judge_wipe(&p->judge, p->sched);
}

static hfi_step prove_step(hf_job *job, void *state)
{
    proving *p = state;
    bool stop = stopping(job);
    if (!stop && !p->ended) {
        hf_error err = {0};
        if (advance(p, job, &err) != HF_OK) {
            hfi_job_fail(job, &err);
            stop = true;
        }
    }
    if ((!stop && !p->ended) || hfi_job_outstanding(job) > 0)
        return HFI_STEP_WAIT;
    give_back(p);
    return HFI_STEP_DONE;
}

static void prove_destroy(void *state)
{
    proving *p = state;
    const hfi_env env = *hfi_sched_env(p->sched);
    hfi_pow_use_wipe(&p->use); /* of a job that was never stepped */
    hfi_free(&env, p->indices);
    hfi_free(&env, p->set.dir);
    hfi_free(&env, p);
}

static const hfi_job_class prove_class = {
    .name = "proof", .step = prove_step, .destroy = prove_destroy};

/* ---- start -------------------------------------------------------------------------- */

static hf_status check_options(const hf_space_prove_opts *o, hf_error *err)
{
    uint64_t n = o->scrypt_n;
    if (o->size != sizeof *o)
        return hfi_error(err, HF_E_ARGUMENT, "opts->size is %zu, wanted %zu",
                         o->size, sizeof *o);
    if (o->nonces % HFI_NONCES_PER_GROUP != 0 ||
        o->nonces > HF_SPACE_MAX_NONCES)
        return hfi_error(err, HF_E_ARGUMENT,
                         "nonces is %" PRIu32 ": it must be a multiple of %u, "
                         "from %u to %u",
                         o->nonces, HFI_NONCES_PER_GROUP, HFI_NONCES_PER_GROUP,
                         HF_SPACE_MAX_NONCES);
    if (n != 0 && (n < 2 || (n & (n - 1)) != 0 || n >> HFI_LABEL_MAX_LOG_N > 1))
        return hfi_error(err, HF_E_ARGUMENT,
                         "scrypt_n is %" PRIu64
                         ": it must be a power of two from 2 to 2^%u",
                         n, HFI_LABEL_MAX_LOG_N);
    if ((unsigned)o->randomx > HF_SPACE_RANDOMX_LIGHT)
        return hfi_error(err, HF_E_ARGUMENT,
                         "opts->randomx is %u, wanted 0 to 2",
                         (unsigned)o->randomx);
    return HF_OK;
}

static hfi_pow_mode pow_mode(hf_space_randomx asked)
{
    switch (asked) {
    case HF_SPACE_RANDOMX_FAST:
        return HFI_POW_FAST;
    case HF_SPACE_RANDOMX_LIGHT:
        return HFI_POW_LIGHT;
    default:
        return HFI_POW_AUTO;
    }
}

static void take_options(proving *p, const hf_space_prove_opts *o)
{
    hf_space_network mainnet = {.size = sizeof mainnet};
    hf_space_network_mainnet(&mainnet);
    memcpy(p->pow_difficulty,
           o->pow_difficulty ? o->pow_difficulty : mainnet.pow_difficulty, 32);
    p->nonces = o->nonces ? o->nonces : DEFAULT_NONCES;
    p->k1 = o->k1 ? o->k1 : DEFAULT_K1;
    p->k2 = o->k2 ? o->k2 : DEFAULT_K2;
    p->scrypt_n = o->scrypt_n;
    p->self_check = !o->no_self_check;
    p->pow_leaf.run = hash_again;
    p->pow_leaf.kind = HFI_LEAF_CPU;
}

/*
 * The sidecar may name a larger N than the one reckoned with here. Reading it
 * would block; claim_scratch() makes up for it.
 */
static hfi_job_need need_of(const proving *p)
{
    uint32_t workers = hfi_sched_workers(p->sched);
    uint64_t n = p->scrypt_n ? p->scrypt_n : DEFAULT_N;
    hfi_judge_plan plan = hfi_judge_plan_for(
        p->kernels, hfi_space_index_bits(n) - 1, p->k2, workers);
    hfi_job_need need = {.bytes = sizeof *p, .scratch = hfi_pass_scratch()};
    need.held = hfi_pow_use_need(&p->use);
    need.bytes += hfi_judge_bytes(p->k2) +
                  hfi_pass_bytes(workers, p->nonces / HFI_NONCES_PER_GROUP,
                                 p->k1, p->k2);
    if (p->self_check && plan.scratch > need.scratch)
        need.scratch = plan.scratch;
    return need;
}

static hf_status start(hf_context *ctx, hf_job **job, const char *dir,
                       const uint8_t *challenge,
                       const hf_space_prove_opts *opts, hf_error *err)
{
    hfi_sched *sched = hfi_context_sched(ctx);
    hf_status s = check_options(opts, err);
    if (s != HF_OK)
        return s;
    proving *p = hfi_calloc(hfi_sched_env(sched), 1, sizeof *p);
    if (!p)
        return hfi_error(err, HF_E_MEMORY, "no memory for a proof");
    p->sched = sched;
    p->kernels = hfi_context_kernels(ctx);
    memcpy(p->challenge, challenge, 32);
    take_options(p, opts);
    p->set.dir = hfi_strdup(hfi_sched_env(sched), dir);
    if (!p->set.dir)
        s = hfi_error(err, HF_E_MEMORY, "no memory for a path");
    else
        s = hfi_pow_use_init(&p->use, hfi_context_pow(ctx),
                             pow_mode(opts->randomx), opts->large_pages, err);
    if (s == HF_OK) {
        hfi_job_need need = need_of(p);
        s = hfi_job_start(job, sched, &prove_class, p, &need,
                          opts->job.priority, opts->job.user, err);
    }
    if (s != HF_OK)
        prove_destroy(p);
    return s;
}

hf_status hf_space_prove_start(hf_context *ctx, hf_job **job, const char *dir,
                               const uint8_t *challenge,
                               const hf_space_prove_opts *opts, hf_error *err)
{
    static const hf_space_prove_opts defaults = HF_SPACE_PROVE_OPTS_INIT;
    hf_status s = hfi_context_check(ctx, err);
    if (s == HF_OK && (!job || !dir || !challenge))
        s = hfi_error(err, HF_E_ARGUMENT, "%s is NULL",
                      !job   ? "job"
                      : !dir ? "dir"
                             : "challenge");
    if (s == HF_OK)
        s = start(ctx, job, dir, challenge, opts ? opts : &defaults, err);
    if (s != HF_OK)
        return hfi_error_wrap(err, s, "cannot make a space proof");
    return HF_OK;
}

hf_status hf_space_prove_result(const hf_job *job, const hf_space_proof **proof,
                                hf_error *err)
{
    if (!job || !proof)
        return hfi_error(err, HF_E_ARGUMENT, "%s is NULL",
                         job ? "proof" : "job");
    const proving *p = hfi_job_state(job, &prove_class);
    if (!p)
        return hfi_error(err, HF_E_ARGUMENT, "the job is no proof");
    hf_status s = hfi_job_outcome(job, err);
    if (s == HF_OK)
        *proof = &p->proof;
    return s;
}

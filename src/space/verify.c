/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Verification by the network's rules, in the network's order: units, nonce
 * group, proof of work, length of the list, number of labels, labels. The first
 * rule broken is the verdict; all but the last of them end with "invalid", a
 * label with its position in the list. What the strict mode asks beyond that is
 * asked where the same field comes up.
 *
 * Where the present verifier ends its process there is an answer here: no units
 * and more labels than 64 bits count are invalid; N below 2 and a subset of
 * more than 65535 indices are arguments it cannot judge by.
 */
#include "space/judge.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum phase { PHASE_RANDOMX, PHASE_POW, PHASE_LABELS } phase;

typedef struct verification {
    hfi_leaf pow_leaf; /* first: the leaf finds the state by it */
    hfi_sched *sched;
    hf_space_proof proof; /* its indices are ours; see copied */
    size_t copied;        /* bytes of indices; 0 if they cannot be of use */
    hf_space_network network;
    hf_space_verify_mode mode;
    uint64_t index;
    uint64_t k3;
    bool strict;
    uint64_t *positions; /* of a subset */
    size_t position_count;
    phase phase;
    bool settled; /* the verdict is there */
    hfi_pow_use use;
    uint8_t hash[32];
    uint64_t labels_total;
    hfi_judge judge;
    hf_space_verdict verdict;
} verification;

/* ---- verdicts -------------------------------------------------------------- */

HFI_PRINTF(2, 3)
static void invalid(verification *v, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(v->verdict.reason, sizeof v->verdict.reason, fmt, args);
    va_end(args);
    v->verdict.kind = HF_SPACE_INVALID;
    v->settled = true;
}

static void invalid_index(verification *v, uint64_t position, uint64_t label,
                          const char *why)
{
    snprintf(v->verdict.reason, sizeof v->verdict.reason,
             "indices: label %" PRIu64 " at position %" PRIu64 ": %s", label,
             position, why);
    v->verdict.kind = HF_SPACE_INVALID_INDEX;
    v->verdict.index_id = position;
    v->verdict.label_index = label;
    v->settled = true;
}

/* ---- rules that cost nothing, before the work is looked at ------------------ */

static void judge_options(verification *v)
{
    uint32_t k2 = v->network.k2;
    if (k2 == 0)
        invalid(v, "k2 is 0, wanted at least 1");
    else if (v->mode == HF_SPACE_VERIFY_ONE && v->index >= k2)
        invalid(v, "index is %" PRIu64 ", wanted below k2 = %" PRIu32, v->index,
                k2);
    else if (v->mode == HF_SPACE_VERIFY_SUBSET && v->k3 > k2)
        invalid(v, "k3 is %" PRIu64 ", wanted at most k2 = %" PRIu32, v->k3,
                k2);
}

static void judge_units(verification *v)
{
    const hf_space_proof *p = &v->proof;
    const hf_space_network *n = &v->network;
    if (p->num_units < n->min_units)
        invalid(v, "num_units is %" PRIu32 ", wanted at least %" PRIu32,
                p->num_units, n->min_units);
    else if (p->num_units > n->max_units)
        invalid(v, "num_units is %" PRIu32 ", wanted at most %" PRIu32,
                p->num_units, n->max_units);
    else if (p->num_units == 0)
        invalid(v, "num_units is 0, wanted at least 1");
    else if (p->labels_per_unit != n->labels_per_unit)
        invalid(v, "labels_per_unit is %" PRIu64 ", wanted %" PRIu64,
                p->labels_per_unit, n->labels_per_unit);
}

static void judge_before_work(verification *v)
{
    const hf_space_proof *p = &v->proof;
    if (v->strict)
        judge_options(v);
    if (!v->settled)
        judge_units(v);
    if (!v->settled && p->nonce / HFI_NONCES_PER_GROUP > HFI_LAST_GROUP)
        invalid(v, "nonce is %" PRIu32 ", wanted at most %u", p->nonce,
                HF_SPACE_MAX_NONCES - 1);
    if (!v->settled && v->strict && p->pow >> 56 != 0)
        invalid(v, "pow is %" PRIu64 ", wanted below 2^56", p->pow);
}

/* ---- the work ---------------------------------------------------------------- */

static bool hash_work(hfi_leaf *leaf, hfi_worker *worker)
{
    verification *v = (verification *)(void *)leaf;
    const hf_space_proof *p = &v->proof;
    uint8_t input[HFI_POW_INPUT];
    hf_error err;
    hfi_pow_input(input, p->pow, (uint8_t)(p->nonce / HFI_NONCES_PER_GROUP),
                  p->challenge, p->node_id);
    if (hfi_pow_hash(&v->use, worker, input, sizeof input, v->hash, &err) !=
        HF_OK)
        hfi_job_fail(leaf->job, &err);
    return false;
}

static void judge_work(verification *v)
{
    uint8_t wanted[32];
    hfi_pow_scale(wanted, v->network.pow_difficulty, v->proof.num_units);
    if (memcmp(v->hash, wanted, 32) < 0)
        return;
    char got_hex[17], wanted_hex[17];
    hfi_hex_encode(got_hex, v->hash, 8);
    hfi_hex_encode(wanted_hex, wanted, 8);
    invalid(v, "pow is %" PRIu64 ": its hash begins with %s, wanted below %s",
            v->proof.pow, got_hex, wanted_hex);
}

/* ---- the list ---------------------------------------------------------------- */

static void judge_list(verification *v)
{
    const hf_space_proof *p = &v->proof;
    uint64_t per_unit = v->network.labels_per_unit;
    uint32_t k1 = v->network.k1, k2 = v->network.k2;
    size_t wanted = 0;
    if (per_unit > UINT64_MAX / p->num_units) {
        invalid(v,
                "labels_per_unit is %" PRIu64 ": times num_units, %" PRIu32
                ", it exceeds 64 bits",
                per_unit, p->num_units);
        return;
    }
    v->labels_total = per_unit * p->num_units;
    v->judge.bits = hfi_space_index_bits(v->labels_total);
    if (!hfi_space_packed_bytes(&wanted, v->judge.bits, k2) ||
        wanted != p->indices_bytes)
        invalid(v,
                "indices have %zu bytes, wanted %zu for k2 = %" PRIu32
                " of %" PRIu32 " bits",
                p->indices_bytes, wanted, k2, v->judge.bits);
    else if (!hfi_space_proving_difficulty(&v->judge.difficulty, k1,
                                           v->labels_total))
        invalid(v,
                "num_units and labels_per_unit give %" PRIu64
                " labels, wanted more than k1 = %" PRIu32,
                v->labels_total, k1);
}

typedef struct listed {
    uint64_t label;
    uint64_t position;
} listed;

static int by_label(const void *a, const void *b)
{
    const listed *x = a, *y = b;
    if (x->label != y->label)
        return x->label < y->label ? -1 : 1;
    return x->position < y->position ? -1 : x->position > y->position;
}

/* The first position whose label stands at an earlier one as well. */
static void judge_repeats(verification *v, listed *list, size_t count)
{
    uint64_t first = UINT64_MAX, label = 0, other = 0;
    qsort(list, count, sizeof *list, by_label);
    for (size_t i = 1; i < count; i++)
        if (list[i].label == list[i - 1].label && list[i].position < first) {
            first = list[i].position;
            label = list[i].label;
            other = list[i - 1].position;
        }
    if (first == UINT64_MAX)
        return;
    char why[64];
    snprintf(why, sizeof why,
             "repeats position %" PRIu64 ", wanted distinct labels", other);
    invalid_index(v, first, label, why);
}

static hf_status judge_strictly(verification *v, hf_error *err)
{
    const hf_space_proof *p = &v->proof;
    uint32_t k2 = v->network.k2;
    uint64_t used = (uint64_t)v->judge.bits * k2;
    char why[64];
    if (used % 8 != 0 && p->indices[used / 8] >> used % 8 != 0) {
        invalid(v, "indices: the last byte has padding bits set, wanted 0");
        return HF_OK;
    }
    listed *list = hfi_calloc(hfi_sched_env(v->sched), k2, sizeof *list);
    if (!list)
        return hfi_error(err, HF_E_MEMORY,
                         "no memory to compare %" PRIu32 " indices", k2);
    snprintf(why, sizeof why, "wanted below %" PRIu64, v->labels_total);
    for (uint64_t i = 0; i < k2 && !v->settled; i++) {
        uint64_t label = hfi_space_unpack(p->indices, v->judge.bits, i);
        list[i] = (listed){.label = label, .position = i};
        if (label >= v->labels_total)
            invalid_index(v, i, label, why);
    }
    if (!v->settled)
        judge_repeats(v, list, k2);
    hfi_free(hfi_sched_env(v->sched), list);
    return HF_OK;
}

/* ---- the job ------------------------------------------------------------------ */

static void choose_places(verification *v)
{
    hfi_judge *j = &v->judge;
    uint32_t k2 = v->network.k2;
    j->count = k2;
    if (v->mode == HF_SPACE_VERIFY_ONE) {
        j->first = v->index;
        j->count = v->index < k2 ? 1 : 0;
    } else if (v->mode == HF_SPACE_VERIFY_SUBSET && v->k3 != k2) {
        j->positions = v->positions;
        j->count = v->position_count;
    }
}

static hf_status begin_labels(verification *v, hf_job *job, hf_error *err)
{
    judge_list(v);
    hf_status s = HF_OK;
    if (!v->settled && v->strict)
        s = judge_strictly(v, err);
    if (s != HF_OK || v->settled)
        return s;
    choose_places(v);
    v->settled = v->judge.count == 0;
    if (v->settled)
        return HF_OK;
    s = hfi_judge_init(&v->judge, v->sched, err);
    if (s != HF_OK)
        return s;
    hfi_job_phase(job, "check", "labels", 0, v->judge.count);
    hfi_judge_start(&v->judge, job);
    v->phase = PHASE_LABELS;
    return HF_OK;
}

static void conclude_labels(verification *v)
{
    const hfi_judge *j = &v->judge;
    uint64_t bad = atomic_load(&j->bad);
    char why[96];
    v->settled = true;
    if (bad == HFI_JUDGE_ALL_GOOD)
        return;
    hfi_judge_reason(j, bad, why, sizeof why);
    invalid_index(v, hfi_judge_position(j, bad), hfi_judge_label(j, bad), why);
}

static hf_status wait_randomx(verification *v, hf_job *job, hf_error *err)
{
    switch (hfi_pow_use_step(&v->use, job, err)) {
    case HFI_POW_WAIT:
        return HF_OK;
    case HFI_POW_FAILED:
        return err->code != HF_OK ? err->code : HF_E_INTERNAL;
    default:
        hfi_job_phase(job, "work", "hashes", 0, 1);
        hfi_leaf_submit(job, &v->pow_leaf);
        v->phase = PHASE_POW;
        return HF_OK;
    }
}

/* One move; what waits for leaves leaves everything as it is. */
static hf_status advance(verification *v, hf_job *job, hf_error *err)
{
    if (v->phase == PHASE_RANDOMX)
        return wait_randomx(v, job, err);
    if (v->phase == PHASE_POW && hfi_leaf_idle(&v->pow_leaf)) {
        hfi_job_advance(job, 1);
        judge_work(v);
        return v->settled ? HF_OK : begin_labels(v, job, err);
    }
    if (v->phase == PHASE_LABELS && hfi_judge_idle(&v->judge))
        conclude_labels(v);
    return HF_OK;
}

static hfi_step verify_step(hf_job *job, void *state)
{
    verification *v = state;
    bool stop = hfi_job_failed(job) || hfi_job_cancelled(job);
    if (!stop && !v->settled) {
        hf_error err = {0};
        if (advance(v, job, &err) != HF_OK) {
            hfi_job_fail(job, &err);
            stop = true;
        }
    }
    if (!stop && !v->settled)
        return HFI_STEP_WAIT;
    if (hfi_job_outstanding(job) > 0)
        return HFI_STEP_WAIT;
    /* Here, not with the state: that may outlive the context. */
    hfi_pow_use_wipe(&v->use);
    return HFI_STEP_DONE;
}

static void verify_destroy(void *state)
{
    verification *v = state;
    const hfi_env env = *hfi_sched_env(v->sched);
    hfi_pow_use_wipe(&v->use); /* of a job that was never stepped */
    hfi_judge_wipe(&v->judge, v->sched);
    hfi_free(&env, v->positions);
    hfi_free(&env, v);
}

static const hfi_job_class verify_class = {
    .name = "verification", .step = verify_step, .destroy = verify_destroy};
/* Nobody waits for its completion on the queue: the caller is in the call. */
static const hfi_job_class blocking_class = {.name = "verification",
                                             .step = verify_step,
                                             .destroy = verify_destroy,
                                             .quiet = true};

/* ---- start -------------------------------------------------------------------- */

static hf_status check_arguments(const hf_space_proof *p,
                                 const hf_space_verify_opts *o, hf_error *err)
{
    if (!p || !o)
        return hfi_error(err, HF_E_ARGUMENT, "%s is NULL",
                         p ? "opts" : "proof");
    if (o->size != sizeof *o || o->network.size != sizeof o->network)
        return hfi_error(err, HF_E_ARGUMENT, "opts->%s is %zu, wanted %zu",
                         o->size != sizeof *o ? "size" : "network.size",
                         o->size != sizeof *o ? o->size : o->network.size,
                         o->size != sizeof *o ? sizeof *o : sizeof o->network);
    if (!p->indices && p->indices_bytes > 0)
        return hfi_error(err, HF_E_ARGUMENT,
                         "proof->indices is NULL with %zu bytes",
                         p->indices_bytes);
    if (!o->seed && o->seed_bytes > 0)
        return hfi_error(err, HF_E_ARGUMENT,
                         "opts->seed is NULL with %zu bytes", o->seed_bytes);
    if ((unsigned)o->mode > HF_SPACE_VERIFY_SUBSET)
        return hfi_error(err, HF_E_ARGUMENT, "opts->mode is %u, wanted 0 to 2",
                         (unsigned)o->mode);
    if (o->network.scrypt_n < 2 ||
        o->network.scrypt_n >> HFI_LABEL_MAX_LOG_N > 1)
        return hfi_error(err, HF_E_ARGUMENT,
                         "scrypt_n is %" PRIu64 ", wanted 2 to 2^%u",
                         o->network.scrypt_n, HFI_LABEL_MAX_LOG_N);
    return HF_OK;
}

/* The list is copied only if its length may be right. */
static hf_status copy_proof(verification **out, hfi_sched *sched,
                            const hf_space_proof *p,
                            const hf_space_verify_opts *o, hf_error *err)
{
    uint64_t longest = ((uint64_t)o->network.k2 + 1) * 8;
    size_t bytes = p->indices_bytes <= longest ? p->indices_bytes : 0;
    verification *v = hfi_calloc(hfi_sched_env(sched), 1, sizeof *v + bytes);
    if (!v)
        return hfi_error(err, HF_E_MEMORY,
                         "no memory to verify a proof of %zu bytes", bytes);
    v->proof = *p;
    v->proof.indices = (uint8_t *)(v + 1);
    v->copied = bytes;
    if (bytes > 0)
        memcpy(v + 1, p->indices, bytes);
    v->sched = sched;
    v->network = o->network;
    v->mode = o->mode;
    v->index = o->index;
    v->k3 = o->k3;
    v->strict = o->strict;
    v->pow_leaf.run = hash_work;
    v->pow_leaf.kind = HFI_LEAF_CPU;
    v->verdict.size = sizeof v->verdict;
    *out = v;
    return HF_OK;
}

static hf_status pick_subset(verification *v, const hf_space_verify_opts *o,
                             hf_error *err)
{
    if (v->mode != HF_SPACE_VERIFY_SUBSET || v->k3 == v->network.k2)
        return HF_OK;
    const hfi_bytes parts[] = {{o->seed, o->seed_bytes},
                               {v->proof.node_id, 32},
                               {v->proof.challenge, 32}};
    return hfi_space_subset(&v->positions, &v->position_count,
                            hfi_sched_env(v->sched), parts, 3, v->network.k2,
                            v->k3, err);
}

static hfi_job_need need_of(const verification *v)
{
    hfi_job_need need = {.bytes = sizeof *v + v->copied};
    uint64_t count = v->positions ? v->position_count : v->network.k2;
    uint64_t listed_most = v->copied * (uint64_t)8; /* of one bit each */
    if (v->settled)
        return need;
    /* A list of another length never comes to its labels. */
    if (count > listed_most)
        count = listed_most;
    need.bytes += hfi_judge_bytes(count);
    need.held = hfi_pow_use_need(&v->use);
    if (v->strict)
        need.bytes += listed_most * sizeof(listed);
    need.scratch = v->judge.plan.scratch;
    return need;
}

static hf_status start(hf_context *ctx, const hfi_job_class *class,
                       hf_job **job, const hf_space_proof *proof,
                       const hf_space_verify_opts *opts, hf_error *err)
{
    verification *v = NULL;
    hf_status s = check_arguments(proof, opts, err);
    if (s == HF_OK)
        s = copy_proof(&v, hfi_context_sched(ctx), proof, opts, err);
    if (s != HF_OK)
        return s;
    v->judge.proof = &v->proof;
    v->judge.kernels = hfi_context_kernels(ctx);
    v->judge.log_n = hfi_space_index_bits(opts->network.scrypt_n) - 1;
    v->judge.plan = hfi_judge_plan_for(v->judge.kernels, v->judge.log_n,
                                       v->network.k2,
                                       hfi_sched_workers(v->sched));
    s = pick_subset(v, opts, err);
    if (s == HF_OK)
        judge_before_work(v);
    if (s == HF_OK && !v->settled)
        s = hfi_pow_use_init(&v->use, hfi_context_pow(ctx), HFI_POW_LIGHT,
                             opts->large_pages, err);
    if (s == HF_OK) {
        hfi_job_need need = need_of(v);
        s = hfi_job_start(job, v->sched, class, v, &need, opts->job.priority,
                          opts->job.user, err);
    }
    if (s != HF_OK)
        verify_destroy(v);
    return s;
}

hf_status hf_space_verify_start(hf_context *ctx, hf_job **job,
                                const hf_space_proof *proof,
                                const hf_space_verify_opts *opts, hf_error *err)
{
    hf_status s = hfi_context_check(ctx, err);
    if (s == HF_OK && !job)
        s = hfi_error(err, HF_E_ARGUMENT, "job is NULL");
    if (s == HF_OK)
        s = start(ctx, &verify_class, job, proof, opts, err);
    if (s != HF_OK)
        return hfi_error_wrap(err, s, "cannot verify a space proof");
    return HF_OK;
}

/* ---- results -------------------------------------------------------------------- */

static hf_status check_verdict(const hf_space_verdict *out, hf_error *err)
{
    if (!out)
        return hfi_error(err, HF_E_ARGUMENT, "out is NULL");
    if (out->size != sizeof *out)
        return hfi_error(err, HF_E_ARGUMENT, "out->size is %zu, wanted %zu",
                         out->size, sizeof *out);
    return HF_OK;
}

static hf_status result(const hf_job *job, const hfi_job_class *class,
                        hf_space_verdict *out, hf_error *err)
{
    const verification *v = hfi_job_state(job, class);
    if (!v)
        return hfi_error(err, HF_E_ARGUMENT, "the job is no verification");
    hf_status s = hfi_job_outcome(job, err);
    if (s == HF_OK)
        *out = v->verdict;
    return s;
}

hf_status hf_space_verify_result(const hf_job *job, hf_space_verdict *out,
                                 hf_error *err)
{
    if (!job)
        return hfi_error(err, HF_E_ARGUMENT, "job is NULL");
    hf_status s = check_verdict(out, err);
    return s == HF_OK ? result(job, &verify_class, out, err) : s;
}

hf_status hf_space_verify(hf_context *ctx, const hf_space_proof *proof,
                          const hf_space_verify_opts *opts,
                          hf_space_verdict *out, hf_error *err)
{
    hf_job *job = NULL;
    hf_status s = hfi_context_check(ctx, err);
    if (s == HF_OK)
        s = check_verdict(out, err);
    if (s == HF_OK)
        s = start(ctx, &blocking_class, &job, proof, opts, err);
    if (s == HF_OK)
        s = hf_job_wait(job, UINT64_MAX, err);
    if (s == HF_OK)
        s = result(job, &blocking_class, out, err);
    hf_job_free(job);
    if (s != HF_OK)
        return hfi_error_wrap(err, s, "cannot verify a space proof");
    return HF_OK;
}

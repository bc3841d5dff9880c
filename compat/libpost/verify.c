/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Verifying proofs: the verdicts of the network. What cannot be judged (memory
 * lacks; a label that this library cannot compute would decide) is an invalid
 * argument, never a verdict; and a proof that falls before its labels are
 * looked at is judged whatever those would need.
 */
#include "post_internal.h"

#include <inttypes.h>
#include <string.h>

struct Verifier {
    hfp_handle handle;
    bool fast;
    bool large_pages;
};

/* ---- verifiers ----------------------------------------------------------------- */

static void destroy(hfp_handle *h)
{
    Verifier *v = (Verifier *)(void *)h;
    hfp_verifier_count(v->fast, -1);
    free(v);
}

/* The memory is there from the start, as callers expect. */
static hf_status warm(const Verifier *v, hf_error *err)
{
    hf_context *ctx = hfp_context(err);
    hf_space_warm_opts opts = HF_SPACE_WARM_OPTS_INIT;
    hf_job *job = NULL;
    hf_status s;
    if (ctx == NULL)
        return err->code;
    opts.randomx = v->fast ? HF_SPACE_RANDOMX_FAST : HF_SPACE_RANDOMX_LIGHT;
    opts.large_pages = v->large_pages;
    do
        s = hf_space_warm_start(ctx, &job, &opts, err);
    while (hfp_again(s));
    if (s == HF_OK)
        s = hf_job_wait(job, UINT64_MAX, err);
    hf_job_free(job);
    return s;
}

NewVerifierResult hf_post_new_verifier_ex(RandomXFlag flags, Verifier **out,
                                          hf_error *err)
{
    hf_error own;
    if (err == NULL)
        err = &own;
    *err = (hf_error){0};
    if (out == NULL) {
        hfp_error(err, HF_E_ARGUMENT, "out is NULL");
        return NewVerifierResult_InvalidArgument;
    }
    Verifier *v = calloc(1, sizeof *v);
    if (v == NULL) {
        hfp_error(err, HF_E_MEMORY, "no memory for a verifier");
        return NewVerifierResult_Failed;
    }
    v->fast = (flags & RandomXFlag_FLAG_FULL_MEM) != 0;
    v->large_pages = (flags & RandomXFlag_FLAG_LARGE_PAGES) != 0;
    hfp_verifier_count(v->fast, 1);
    hfp_handle_add(&v->handle, v, HFP_VERIFIER, destroy);
    if (warm(v, err) != HF_OK) {
        free_verifier(v);
        return NewVerifierResult_Failed;
    }
    *out = v;
    return NewVerifierResult_Ok;
}

enum NewVerifierResult new_verifier(RandomXFlag flags, Verifier **out)
{
    hf_error err;
    NewVerifierResult r = hf_post_new_verifier_ex(flags, out, &err);
    hfp_report("new_verifier", &err);
    return r;
}

void free_verifier(Verifier *verifier)
{
    (void)hfp_handle_drop(verifier, HFP_VERIFIER);
}

static bool lists(const char *features, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = features; (at = strstr(at, name)) != NULL; at++)
        if ((at == features || at[-1] == ' ') &&
            (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

RandomXFlag recommended_pow_flags(void)
{
    hf_context_info info = {.size = sizeof info};
    hf_error err = {0};
    RandomXFlag flags = RandomXFlag_FLAG_DEFAULT;
    hf_context *ctx = hfp_context(&err);
    if (ctx == NULL || hf_context_get_info(ctx, &info) != HF_OK) {
        hfp_report("recommended_pow_flags", &err);
        return flags;
    }
    if (lists(info.cpu_features, "aes"))
        flags |= RandomXFlag_FLAG_HARD_AES;
    if (strstr(info.randomx, "jit") != NULL)
        flags |= RandomXFlag_FLAG_JIT;
    if (lists(info.cpu_features, "ssse3"))
        flags |= RandomXFlag_FLAG_ARGON2_SSSE3;
    if (lists(info.cpu_features, "avx2"))
        flags |= RandomXFlag_FLAG_ARGON2_AVX2;
    return flags;
}

/* ---- verdicts ------------------------------------------------------------------- */

/* What a call asks for. */
typedef struct question {
    const Proof *proof;
    const ProofMetadata *metadata;
    const ProofConfig *cfg;
    const InitConfig *init;
    hf_space_verify_mode mode;
    uintptr_t index;
    uintptr_t k3;
    const uint8_t *seed;
    uintptr_t seed_len;
} question;

static void fill_proof(hf_space_proof *out, const question *q)
{
    const ProofMetadata *m = q->metadata;
    *out = (hf_space_proof){.nonce = q->proof->nonce,
                            .pow = q->proof->pow,
                            .indices = q->proof->indices.ptr,
                            .indices_bytes = q->proof->indices.len,
                            .num_units = m->num_units,
                            .labels_per_unit = q->init->labels_per_unit};
    memcpy(out->challenge, m->challenge, 32);
    memcpy(out->node_id, m->node_id, 32);
    memcpy(out->commitment_atx_id, m->commitment_atx_id, 32);
}

static void fill_network(hf_space_network *out, const question *q)
{
    *out = (hf_space_network){.size = sizeof *out,
                              .min_units = q->init->min_num_units,
                              .max_units = q->init->max_num_units,
                              .labels_per_unit = q->init->labels_per_unit,
                              .scrypt_n = q->init->scrypt.n,
                              .k1 = q->cfg->k1,
                              .k2 = q->cfg->k2};
    memcpy(out->pow_difficulty, q->cfg->pow_difficulty, 32);
}

static hf_status ask(const hf_space_proof *p, const hf_space_verify_opts *opts,
                     hf_space_verdict *verdict, hf_error *err)
{
    hf_context *ctx = hfp_context(err);
    hf_status s;
    if (ctx == NULL)
        return err->code;
    hfp_randomx_enter();
    do
        s = hf_space_verify(ctx, p, opts, verdict, err);
    while (hfp_again(s));
    hfp_randomx_leave(false);
    return s;
}

static hf_status check_question(const question *q, hf_error *err)
{
    if (q->proof->indices.ptr == NULL && q->proof->indices.len > 0)
        return hfp_error(err, HF_E_ARGUMENT,
                         "indices are NULL with %" PRIuPTR " bytes",
                         q->proof->indices.len);
    if (q->seed == NULL && q->seed_len > 0)
        return hfp_error(err, HF_E_ARGUMENT,
                         "seed is NULL with %" PRIuPTR " bytes", q->seed_len);
    return HF_OK;
}

/* Whether labels can be computed here: r = p = 1, N from 2 to 2^30. */
static hf_status check_scrypt(const ScryptParams *s, hf_error *err)
{
    uint64_t n = hfp_floor_n(s->n);
    if (n >= 2 && n <= UINT64_C(1) << 30 && s->r == 1 && s->p == 1)
        return HF_OK;
    return hfp_error(err, HF_E_UNSUPPORTED,
                     "scrypt has n %" PRIuPTR ", r %" PRIuPTR ", p %" PRIuPTR
                     ": wanted n from 2 to 2^30, r and p 1",
                     s->n, s->r, s->p);
}

static bool needs_labels(const question *q)
{
    const ScryptParams *s = &q->init->scrypt;
    if (s->n == 0 || s->r == 0 || s->p == 0)
        return true; /* the reference does not come so far */
    if (q->mode == HF_SPACE_VERIFY_ONE)
        return q->index < q->cfg->k2;
    return q->cfg->k2 > 0 && (q->mode == HF_SPACE_VERIFY_ALL || q->k3 > 0);
}

/*
 * For what cannot be judged by its labels, with the reason in *err: a proof
 * that breaks an earlier rule is invalid all the same.
 */
static hf_status ask_without_labels(const question *q, const hf_space_proof *p,
                                    hf_space_verify_opts *opts,
                                    hf_space_verdict *verdict, hf_error *err)
{
    const hf_error why = *err;
    opts->network.scrypt_n = 2;
    opts->mode = HF_SPACE_VERIFY_ONE;
    opts->index = UINT64_MAX; /* above any k2: nothing is looked at */
    *err = (hf_error){0};
    hf_status s = ask(p, opts, verdict, err);
    if (s == HF_OK && verdict->kind == HF_SPACE_VALID && needs_labels(q)) {
        *err = why;
        s = why.code;
    }
    return s;
}

static hf_status judge(const question *q, hf_space_verdict *verdict,
                       hf_error *err)
{
    hf_space_proof p;
    hf_space_verify_opts opts = {.size = sizeof opts,
                                 .mode = q->mode,
                                 .index = q->index,
                                 .k3 = q->k3,
                                 .seed = q->seed,
                                 .seed_bytes = q->seed_len};
    hf_status s = check_question(q, err);
    if (s != HF_OK)
        return s;
    fill_proof(&p, q);
    fill_network(&opts.network, q);
    s = check_scrypt(&q->init->scrypt, err);
    if (s == HF_OK) {
        s = ask(&p, &opts, verdict, err);
        if (s != HF_E_ARGUMENT)
            return s; /* else: a subset of more than can be drawn from */
    }
    return ask_without_labels(q, &p, &opts, verdict, err);
}

static VerifyResult answer(const Verifier *verifier, const question *q,
                           hf_error *err)
{
    VerifyResult r;
    hf_space_verdict verdict = {.size = sizeof verdict};
    hf_error own;
    if (err == NULL)
        err = &own;
    *err = (hf_error){0};
    memset(&r, 0, sizeof r);
    r.tag = VerifyResult_InvalidArgument;
    Verifier *v = hfp_handle_get(verifier, HFP_VERIFIER);
    if (v == NULL || q->metadata == NULL)
        hfp_error(err, HF_E_ARGUMENT, "%s",
                  v == NULL ? "verifier is NULL, or was freed"
                            : "metadata is NULL");
    else if (judge(q, &verdict, err) == HF_OK) {
        memcpy(err->message, verdict.reason, sizeof verdict.reason);
        r.tag = verdict.kind == HF_SPACE_VALID     ? VerifyResult_Ok
                : verdict.kind == HF_SPACE_INVALID ? VerifyResult_Invalid
                                                   : VerifyResult_InvalidIndex;
        if (r.tag == VerifyResult_InvalidIndex)
            r.invalid_index.index_id = (uintptr_t)verdict.index_id;
    }
    hfp_handle_put(v);
    return r;
}

_Static_assert(sizeof(((hf_error *)0)->message) ==
                   sizeof(((hf_space_verdict *)0)->reason),
               "a reason is copied whole");

VerifyResult hf_post_verify_proof_ex(const Verifier *verifier, Proof proof,
                                     const ProofMetadata *metadata,
                                     ProofConfig cfg, InitConfig init_cfg,
                                     hf_error *err)
{
    const question q = {.proof = &proof,
                        .metadata = metadata,
                        .cfg = &cfg,
                        .init = &init_cfg,
                        .mode = HF_SPACE_VERIFY_ALL};
    return answer(verifier, &q, err);
}

VerifyResult hf_post_verify_proof_index_ex(const Verifier *verifier,
                                           Proof proof,
                                           const ProofMetadata *metadata,
                                           ProofConfig cfg, InitConfig init_cfg,
                                           uintptr_t index, hf_error *err)
{
    const question q = {.proof = &proof,
                        .metadata = metadata,
                        .cfg = &cfg,
                        .init = &init_cfg,
                        .mode = HF_SPACE_VERIFY_ONE,
                        .index = index};
    return answer(verifier, &q, err);
}

VerifyResult hf_post_verify_proof_subset_ex(
    const Verifier *verifier, Proof proof, const ProofMetadata *metadata,
    ProofConfig cfg, InitConfig init_cfg, uintptr_t k3, const uint8_t *seed,
    uintptr_t seed_len, hf_error *err)
{
    const question q = {.proof = &proof,
                        .metadata = metadata,
                        .cfg = &cfg,
                        .init = &init_cfg,
                        .mode = HF_SPACE_VERIFY_SUBSET,
                        .k3 = k3,
                        .seed = seed,
                        .seed_len = seed_len};
    return answer(verifier, &q, err);
}

VerifyResult verify_proof(const Verifier *verifier, Proof proof,
                          const ProofMetadata *metadata, ProofConfig cfg,
                          InitConfig init_cfg)
{
    hf_error err;
    VerifyResult r = hf_post_verify_proof_ex(verifier, proof, metadata, cfg,
                                             init_cfg, &err);
    hfp_report("verify_proof", &err);
    return r;
}

VerifyResult verify_proof_index(const Verifier *verifier, Proof proof,
                                const ProofMetadata *metadata, ProofConfig cfg,
                                InitConfig init_cfg, uintptr_t index)
{
    hf_error err;
    VerifyResult r = hf_post_verify_proof_index_ex(verifier, proof, metadata,
                                                   cfg, init_cfg, index, &err);
    hfp_report("verify_proof_index", &err);
    return r;
}

VerifyResult verify_proof_subset(const Verifier *verifier, Proof proof,
                                 const ProofMetadata *metadata, ProofConfig cfg,
                                 InitConfig init_cfg, uintptr_t k3,
                                 const uint8_t *seed, uintptr_t seed_len)
{
    hf_error err;
    VerifyResult r = hf_post_verify_proof_subset_ex(
        verifier, proof, metadata, cfg, init_cfg, k3, seed, seed_len, &err);
    hfp_report("verify_proof_subset", &err);
    return r;
}

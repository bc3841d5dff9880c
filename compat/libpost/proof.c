/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Making proofs. The library verifies each before it hands it out, for which it
 * must know N; the foreign interface does not say it and the metadata have no
 * field for it, so it is found out from the first label.
 */
#include "post_internal.h"

#include <inttypes.h>
#include <string.h>

#define MOST_NONCES  4096u
#define MOST_FOUND_N (UINT64_C(1) << 20)

typedef struct made_proof {
    hfp_handle handle;
    Proof proof;
    uint8_t indices[];
} made_proof;

/* What a call asks for. */
typedef struct wish {
    const char *datadir;
    const unsigned char *challenge;
    ProofConfig cfg;
    uintptr_t nonces;
    uintptr_t threads;
    RandomXFlag flags;
} wish;

static bool wants_dataset(const wish *w)
{
    return (w->flags & RandomXFlag_FLAG_FULL_MEM) != 0;
}

/* ---- the proof handed out ------------------------------------------------------ */

static void destroy(hfp_handle *h)
{
    free(h);
}

static Proof *hand_out(const hf_space_proof *p, hf_error *err)
{
    made_proof *m = calloc(1, sizeof *m + p->indices_bytes);
    if (m == NULL) {
        hfp_error(err, HF_E_MEMORY, "no memory for a proof");
        return NULL;
    }
    memcpy(m->indices, p->indices, p->indices_bytes);
    m->proof.nonce = p->nonce;
    m->proof.pow = p->pow;
    m->proof.indices = (ArrayU8){m->indices, p->indices_bytes,
                                 p->indices_bytes};
    hfp_handle_add(&m->handle, &m->proof, HFP_PROOF, destroy);
    return &m->proof;
}

void free_proof(Proof *proof)
{
    (void)hfp_handle_drop(proof, HFP_PROOF);
}

/* ---- arguments ------------------------------------------------------------------- */

static hf_status check_wish(const wish *w, hf_error *err)
{
    uint32_t nonces = (uint32_t)w->nonces; /* as the reference cuts it */
    if (w->datadir == NULL || w->challenge == NULL)
        return hfp_error(err, HF_E_ARGUMENT, "%s is NULL",
                         w->datadir == NULL ? "datadir" : "challenge");
    if (!hfp_is_utf8(w->datadir))
        return hfp_error(err, HF_E_ARGUMENT, "datadir is not UTF-8");
    if (nonces == 0 || nonces % 16 != 0 || nonces > MOST_NONCES)
        return hfp_error(err, HF_E_ARGUMENT,
                         "nonces is %" PRIuPTR
                         ": it must be a multiple of 16 from 16 to %u",
                         w->nonces, MOST_NONCES);
    if (w->cfg.k1 == 0)
        return hfp_error(err, HF_E_NOT_FOUND,
                         "k1 is 0: no label is good enough");
    return HF_OK;
}

/* N of the set: as recorded, else main net's, else whatever label 0 fits. */
static hf_status find_n(hf_context *ctx, uint64_t *n, const char *dir,
                        hf_error *err)
{
    hf_status first = hf_space_find_scrypt_n(ctx, n, dir, 0, err);
    if (first != HF_E_STATE)
        return first;
    for (uint64_t other = 2; other <= MOST_FOUND_N; other *= 2)
        if (hf_space_find_scrypt_n(ctx, n, dir, other, NULL) == HF_OK) {
            *err = (hf_error){0};
            return HF_OK;
        }
    return first;
}

/* ---- start ------------------------------------------------------------------------ */

static hf_status start_in(hf_context *ctx, hf_job **job, const wish *w,
                          hf_error *err)
{
    hf_space_prove_opts opts = HF_SPACE_PROVE_OPTS_INIT;
    hf_status s = find_n(ctx, &opts.scrypt_n, w->datadir, err);
    if (s != HF_OK)
        return s;
    opts.nonces = (uint32_t)w->nonces;
    opts.k1 = w->cfg.k1;
    opts.k2 = w->cfg.k2 != 0 ? w->cfg.k2 : 1;
    opts.pow_difficulty = w->cfg.pow_difficulty;
    opts.randomx = wants_dataset(w) ? HF_SPACE_RANDOMX_FAST
                                    : HF_SPACE_RANDOMX_LIGHT;
    opts.large_pages = (w->flags & RandomXFlag_FLAG_LARGE_PAGES) != 0;
    do
        s = hf_space_prove_start(ctx, job, w->datadir, w->challenge, &opts,
                                 err);
    while (hfp_again(s));
    return s;
}

/* A limit of threads below the pool's is kept by a pool of its own. */
static hf_status choose_context(hf_context **ctx, hf_context **own,
                                uintptr_t threads, hf_error *err)
{
    hf_context_info info = {.size = sizeof info};
    *ctx = hfp_context(err);
    if (*ctx == NULL)
        return err->code;
    if (threads == 0 || hf_context_get_info(*ctx, &info) != HF_OK ||
        threads >= info.workers)
        return HF_OK;
    *own = *ctx = hfp_context_open((uint32_t)threads, err);
    return *own != NULL ? HF_OK : err->code;
}

static hf_post_job *start(const wish *w, hf_error *err)
{
    hf_context *ctx = NULL, *own = NULL;
    hf_job *inner = NULL;
    hf_post_job *j = NULL;
    hf_status s = check_wish(w, err);
    if (s == HF_OK)
        s = choose_context(&ctx, &own, w->threads, err);
    if (s != HF_OK)
        return NULL;
    hfp_randomx_enter();
    s = start_in(ctx, &inner, w, err);
    if (s == HF_OK)
        j = hfp_job_new(HFP_PROVE, inner, err);
    if (j == NULL) {
        hfp_randomx_leave(wants_dataset(w));
        hf_context_close(own);
        return NULL;
    }
    j->own = own;
    j->randomx = true;
    j->dataset = wants_dataset(w);
    return j;
}

hf_status hf_post_generate_proof_start(hf_post_job **job, const char *datadir,
                                       const unsigned char *challenge,
                                       ProofConfig cfg, uintptr_t nonces,
                                       uintptr_t threads, RandomXFlag pow_flags,
                                       hf_error *err)
{
    const wish w = {datadir, challenge, cfg, nonces, threads, pow_flags};
    hf_error own;
    if (err == NULL)
        err = &own;
    *err = (hf_error){0};
    if (job == NULL)
        return hfp_error(err, HF_E_ARGUMENT, "job is NULL");
    hf_post_job *j = start(&w, err);
    if (j == NULL)
        return err->code;
    *job = j;
    return HF_OK;
}

hf_status hf_post_generate_proof_result(hf_post_job *job, Proof **proof,
                                        hf_error *err)
{
    hf_error own;
    if (err == NULL)
        err = &own;
    hf_post_job *j = hfp_job_get(job, HFP_PROVE, err);
    if (j == NULL)
        return HF_E_ARGUMENT;
    const hf_space_proof *p = NULL;
    Proof *made = NULL;
    hf_status s = HF_OK;
    if (proof == NULL)
        s = hfp_error(err, HF_E_ARGUMENT, "proof is NULL");
    if (s == HF_OK)
        s = hf_space_prove_result(j->job, &p, err);
    if (s == HF_OK && (made = hand_out(p, err)) == NULL)
        s = err->code;
    if (s == HF_OK)
        *proof = made;
    hfp_handle_put(j);
    return s;
}

/* ---- the blocking call --------------------------------------------------------------- */

Proof *hf_post_generate_proof_ex(const char *datadir,
                                 const unsigned char *challenge,
                                 ProofConfig cfg, uintptr_t nonces,
                                 uintptr_t threads, RandomXFlag pow_flags,
                                 hf_error *err)
{
    hf_post_job *job = NULL;
    Proof *proof = NULL;
    hf_error own;
    if (err == NULL)
        err = &own;
    hf_status s = hf_post_generate_proof_start(&job, datadir, challenge, cfg,
                                               nonces, threads, pow_flags, err);
    if (s == HF_OK)
        s = hf_post_job_wait(job, UINT64_MAX, err);
    if (s == HF_OK)
        s = hf_post_generate_proof_result(job, &proof, err);
    hf_post_job_free(job);
    return s == HF_OK ? proof : NULL;
}

Proof *generate_proof(const char *datadir, const unsigned char *challenge,
                      ProofConfig cfg, uintptr_t nonces, uintptr_t threads,
                      RandomXFlag pow_flags)
{
    hf_error err;
    Proof *p = hf_post_generate_proof_ex(datadir, challenge, cfg, nonces,
                                         threads, pow_flags, &err);
    hfp_report("generate_proof", &err);
    return p;
}

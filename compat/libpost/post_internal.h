/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Private to compat/libpost.
 *   process.c    what a process has one of: lock, context, log callback, and
 *                the list of live handles
 *   providers.c  providers and their numbers
 *   init.c       labels of a range
 *   proof.c      making proofs
 *   verify.c     verifying proofs
 *   check.c      checking stored labels
 *   jobs.c       what is common to jobs
 */
#ifndef POST_INTERNAL_H
#define POST_INTERNAL_H

#include <holdfast/holdfast.h>

#include "holdfast_post.h"

#define HFP_PRINTF(f, a) __attribute__((format(printf, f, a)))

/* ---- process.c ------------------------------------------------------------- */

/*
 * The context of this process, made by the first call that needs it; after a
 * failure the next call tries again, and a forked child makes its own. NULL
 * with *err. Never closed.
 */
hf_context *hfp_context(hf_error *err);
/* One of the caller's own, with so many workers; hf_context_close. */
hf_context *hfp_context_open(uint32_t workers, hf_error *err);

/*
 * A use of RandomX. When the last one ends, the memory goes back unless a
 * Verifier is alive and no data set (2 GiB) was made for a proof alone.
 */
void hfp_randomx_enter(void);
void hfp_randomx_leave(bool dataset);
void hfp_verifier_count(bool fast, int change);

/* True after a short sleep if all places for jobs were taken: call again. */
bool hfp_again(hf_status status);

hf_status hfp_error(hf_error *err, hf_status code, const char *fmt, ...)
    HFP_PRINTF(3, 4);
/* A record of the level Error, for calls that cannot say why. */
void hfp_report(const char *call, const hf_error *err);
bool hfp_is_utf8(const char *text);

/*
 * Handles are looked up before they are touched: what is not, or no longer, one
 * of ours is found out, and freeing twice does nothing. `key` is what the host
 * holds.
 */
typedef enum hfp_kind {
    HFP_INITIALIZER = 1,
    HFP_VERIFIER,
    HFP_PROOF,
    HFP_JOB
} hfp_kind;

typedef struct hfp_handle hfp_handle;
struct hfp_handle {
    hfp_handle *next;
    const void *key;
    hfp_kind kind;
    uint32_t refs;
    void (*destroy)(hfp_handle *h); /* with the last reference */
};

void hfp_handle_add(hfp_handle *h, const void *key, hfp_kind kind,
                    void (*destroy)(hfp_handle *h));
/* A reference, or NULL if that is no live handle of this kind. */
void *hfp_handle_get(const void *key, hfp_kind kind);
void hfp_handle_put(void *handle); /* NULL is fine */
/* Not live any more; true if it was. */
bool hfp_handle_drop(const void *key, hfp_kind kind);

/* ---- providers.c ----------------------------------------------------------- */

/* The provider with that number; HF_E_ARGUMENT lists those there are. */
hf_status hfp_provider_find(hf_provider *out, uint32_t id, hf_error *err);

/* ---- check.c, proof.c, init.c: for jobs.c ----------------------------------- */

/* Largest power of two not above n; 0 if n is 0. */
uint64_t hfp_floor_n(uint64_t n);

/* ---- jobs.c ---------------------------------------------------------------- */

typedef enum hfp_work { HFP_LABELS = 1, HFP_PROVE, HFP_CHECK } hfp_work;

struct hf_post_job {
    hfp_handle handle;
    hfp_work work;
    hf_job *job;     /* NULL: nothing was to be done */
    hf_context *own; /* NULL: the context of the process */
    bool randomx;    /* between enter and leave */
    bool dataset;
};

/* With the job in it; NULL without memory, and then *job is freed. */
hf_post_job *hfp_job_new(hfp_work work, hf_job *job, hf_error *err);
/* The live job of that kind, referenced, or NULL with *err. */
hf_post_job *hfp_job_get(hf_post_job *job, hfp_work work, hf_error *err);

#endif

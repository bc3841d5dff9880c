/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Door of src/pow, layer 2: the work step of space proofs (k2pow) over
 * RandomX; the only user of librandomx. Cache and data set are held by the
 * context's hfi_pow and shared by all jobs; virtual machines are one per worker
 * and mode. librandomx is never asked for what the CPU or the system cannot do:
 * it would crash or throw.
 */
#ifndef HFI_POW_POW_H
#define HFI_POW_POW_H

#include "base/base.h"
#include "sched/sched.h"

typedef struct hfi_pow hfi_pow;

typedef enum hfi_pow_mode {
    HFI_POW_LIGHT, /* 256 MiB cache, slow hashes: verification */
    HFI_POW_FAST,  /* and 2080 MiB data set */
    HFI_POW_AUTO   /* fast; light with a warning where memory lacks */
} hfi_pow_mode;

#define HFI_POW_INPUT 48u

/* Takes no RandomX memory yet. */
hf_status hfi_pow_new(hfi_pow **out, hfi_sched *sched,
                      const hfi_machine *machine, hf_error *err);
/* No job uses it any more. NULL is fine. */
void hfi_pow_free(hfi_pow *p);
/* Frees cache, data set and machines if no job uses them. */
void hfi_pow_trim(hfi_pow *p);
/* "jit", "secure jit", "interpreter": what the probe allows here. */
const char *hfi_pow_engine(const hfi_pow *p);

/*
 * A job's use of the RandomX memory; embedded in its state, begun before the job
 * is started, since that needs to know how much memory it is. The job's step
 * calls hfi_pow_use_step() until it is ready; the first job to ask builds (one
 * leaf of 0.4 s for the cache, then slices by all workers), others wait and
 * take over if it is cancelled. Progress is reported by the building job.
 */
typedef struct hfi_pow_use hfi_pow_use;
typedef enum hfi_pow_ready {
    HFI_POW_WAIT,  /* return HFI_STEP_WAIT from the step, ask again */
    HFI_POW_READY, /* hash, search */
    HFI_POW_FAILED /* *err says why */
} hfi_pow_ready;

struct hfi_pow_use {
    hfi_pow *pow;
    hf_job *job;
    hfi_pow_mode mode; /* as asked; LIGHT or FAST once ready */
    bool large_pages;  /* asked for; falls back with one warning */
    /* private to pow */
    hfi_pow_mode want; /* LIGHT or FAST */
    bool counted, waiting, woken, ready;
    int stage; /* of the building */
    hfi_pow_use *next;
    hfi_leaf cache_leaf;
    hfi_loop loop;
};
hf_status hfi_pow_use_init(hfi_pow_use *u, hfi_pow *p, hfi_pow_mode mode,
                           bool large_pages, hf_error *err);
/*
 * Bytes that the context holds once it is ready, for hfi_job_need.held. AUTO:
 * those of fast if seven eighths of the budget hold them, else of light.
 */
uint64_t hfi_pow_use_need(const hfi_pow_use *u);
hfi_pow_ready hfi_pow_use_step(hfi_pow_use *u, hf_job *job, hf_error *err);
/*
 * With no leaf of the job outstanding; safe after init alone, and twice. Call
 * it from the step when the last hash is done, else in destroy: until then the
 * memory cannot be trimmed.
 */
void hfi_pow_use_wipe(hfi_pow_use *u);

/*
 * One hash, in a CPU leaf of a job whose use is ready; 32 bytes. The caller's
 * floating-point state is left as found. HF_E_MEMORY if the worker's machine
 * cannot be made.
 */
hf_status hfi_pow_hash(hfi_pow_use *u, hfi_worker *w, const void *input,
                       size_t bytes, uint8_t out[32], hf_error *err);

/*
 * The 48 bytes of k2pow: low 7 bytes of the nonce (LE) || nonce group ||
 * first 8 bytes of the challenge || node id.
 */
void hfi_pow_input(uint8_t out[HFI_POW_INPUT], uint64_t nonce, uint8_t group,
                   const uint8_t challenge[8], const uint8_t node_id[32]);
/* 256-bit big-endian difficulty divided by num_units (> 0), floor. */
void hfi_pow_scale(uint8_t out[32], const uint8_t difficulty[32],
                   uint32_t num_units);

/*
 * The least nonce whose hash is strictly below `difficulty` (bytewise), over
 * all workers; the result does not depend on their number. Embedded in the
 * job's state, zeroed by the owner; step: hfi_pow_search_start(), then wait
 * until idle. May be started again for another group. Advances the job's phase
 * (in hashes) from where it stands at the start.
 */
typedef struct hfi_pow_search_leaf hfi_pow_search_leaf;
typedef struct hfi_pow_search {
    hfi_pow_use *use;
    uint8_t group;
    uint8_t challenge[8];
    uint8_t node_id[32];
    uint8_t difficulty[32];  /* already scaled */
    uint64_t nonce;          /* the result, if found */
    bool found;              /* false: cancelled, failed, or 2^56 tried */
    _Atomic uint64_t hashes; /* tried since the start */
    /* private to pow */
    hfi_pow *pow;
    hf_job *job;
    uint64_t shown; /* by the job's phase before the start */
    uint64_t grain; /* hashes of one leaf */
    _Atomic uint64_t next;
    _Atomic uint64_t best;
    _Atomic uint32_t running; /* leaves that have not come to the end */
    uint32_t leaf_count;
    hfi_pow_search_leaf *leaves;
} hfi_pow_search;
/* Fills the private fields, `found` and `hashes` only. */
hf_status hfi_pow_search_init(hfi_pow_search *s, hfi_pow_use *u, hf_error *err);
void hfi_pow_search_start(hfi_pow_search *s, hf_job *job);
bool hfi_pow_search_idle(const hfi_pow_search *s);
void hfi_pow_search_wipe(hfi_pow_search *s);

#endif

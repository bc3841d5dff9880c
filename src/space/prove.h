/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What the files of the prover share. Private to src/space.
 *   prove.c       the job: arguments, work step, rounds, self-check
 *   prove_data.c  the set to be proved: is it whole, whose is it
 *   prove_scan.c  one pass over its labels for all nonces of a round
 */
#ifndef HFI_SPACE_PROVE_H
#define HFI_SPACE_PROVE_H

#include "space/space.h"

/* ---- the set (prove_data.c) ------------------------------------------------ */

typedef struct hfi_prove_set {
    char *dir;
    hf_space_meta meta;
    hfi_layout layout;
    uint32_t log_n;
} hfi_prove_set;

/*
 * Reads what lies in set->dir; fills the rest of *set. Every file has to be
 * there at its exact size; files above the last are warned of.
 *   HF_E_STATE  a file is missing, short or too long; N differs
 */
hf_status hfi_prove_set_open(hfi_prove_set *set, const hfi_env *env,
                             const hfi_kernels *kernels, uint64_t scrypt_n,
                             hf_error *err);

/* ---- one pass (prove_scan.c) ----------------------------------------------- */

typedef struct hfi_prove_hits {
    uint64_t *index; /* ascending; the lowest k2 of those met */
    size_t count;
    size_t capacity;
} hfi_prove_hits;

typedef struct hfi_prove_slot hfi_prove_slot;

/* Embedded in the job's state. Above the line: set before init. */
typedef struct hfi_pass {
    hfi_sched *sched;
    const hfi_aes_kernel *aes;
    const hfi_prove_set *set;
    const uint8_t *challenge;
    uint32_t max_groups; /* of one round */
    uint32_t k1;
    uint32_t k2;
    uint64_t difficulty;
    /* ---- */
    uint32_t first_group;
    uint32_t groups;
    hfi_scan *scans;      /* one a group */
    hfi_prove_hits *hits; /* one a nonce */
    /* Groups that can still have the lowest winning nonce: the first so many.
     * Falls as nonces win; only the step changes it. */
    _Atomic uint32_t open_groups;
    hfi_prove_slot *slots;
    uint32_t slot_count;
    uint32_t chunk_labels;
    uint8_t *data;
    size_t data_bytes;
    uint64_t next;      /* label where the next chunk begins */
    uint64_t committed; /* labels */
} hfi_pass;

/* Bytes a pass takes beside worker scratch; the scratch of each worker. */
uint64_t hfi_pass_bytes(uint32_t workers, uint32_t groups, uint32_t k1,
                        uint32_t k2);
size_t hfi_pass_scratch(void);

hf_status hfi_pass_init(hfi_pass *p, hf_error *err);
/* Readies the keys for groups [first, first + groups); pows: one a group. */
void hfi_pass_begin(hfi_pass *p, uint32_t first, uint32_t groups,
                    const uint64_t *pows);
typedef enum hfi_pass_state {
    HFI_PASS_WAIT,
    HFI_PASS_DONE,
    HFI_PASS_FAILED /* *err says why */
} hfi_pass_state;
/* To be called from the job's step, first after begin. */
hfi_pass_state hfi_pass_step(hfi_pass *p, hf_job *job, hf_error *err);
/* After a pass: the lowest nonce with k2 hits, and these; false if none has. */
bool hfi_pass_winner(const hfi_pass *p, uint32_t *nonce,
                     const uint64_t **indices);
/* With no leaf outstanding. */
void hfi_pass_wipe(hfi_pass *p);

#endif

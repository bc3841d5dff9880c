/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Whether the labels that a proof lists are good for its nonce, each computed
 * anew: what the verifier asks of a proof, and the prover of its own. Private
 * to src/space.
 */
#ifndef HFI_SPACE_JUDGE_H
#define HFI_SPACE_JUDGE_H

#include "space/space.h"

#define HFI_LAST_GROUP 255u /* of 16 nonces */

/* How labels are computed here: the shape for so many, its scratch. */
typedef struct hfi_judge_plan {
    const hfi_label_shape *shape;
    uint64_t grain; /* labels of one piece */
    size_t scratch; /* bytes of each worker; 0: does not fit */
} hfi_judge_plan;

hfi_judge_plan hfi_judge_plan_for(const hfi_kernels *kernels, uint32_t log_n,
                                  uint64_t count, uint32_t workers);

/*
 * Embedded in a job's state. The members above the line are set by the caller
 * and stay untouched until the judge is idle.
 */
typedef struct hfi_judge {
    hfi_loop loop; /* first: the body finds the judge by it */
    const hf_space_proof *proof;
    const hfi_kernels *kernels;
    uint32_t log_n;
    uint32_t bits;             /* of a packed index */
    uint64_t difficulty;       /* of the labels */
    const uint64_t *positions; /* in checking order; NULL: first, first + 1 */
    uint64_t first;
    uint64_t count;
    /* ---- */
    _Atomic uint64_t bad; /* place in checking order of the first bad one */
    hfi_judge_plan plan;
    uint8_t commitment[32];
    hfi_aes_key group;
    hfi_aes_key lazy;
    uint64_t *values; /* what the ciphers gave, by place */
    _Atomic uint64_t judged;
} hfi_judge;

#define HFI_JUDGE_ALL_GOOD UINT64_MAX

/* Bytes beside the scratch. */
uint64_t hfi_judge_bytes(uint64_t count);
hf_status hfi_judge_init(hfi_judge *j, hfi_sched *sched, hf_error *err);
void hfi_judge_start(hfi_judge *j, hf_job *job);
bool hfi_judge_idle(const hfi_judge *j);
void hfi_judge_wipe(hfi_judge *j, hfi_sched *sched);

/* Position in the list of what is checked at `place`; its label. */
uint64_t hfi_judge_position(const hfi_judge *j, uint64_t place);
uint64_t hfi_judge_label(const hfi_judge *j, uint64_t place);
/* "top byte 202, wanted at most 10" of a bad place. */
void hfi_judge_reason(const hfi_judge *j, uint64_t place, char *out,
                      size_t bytes);

#endif

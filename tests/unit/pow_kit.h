/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A job for tests of src/pow: waits for RandomX, then runs a list of hashes
 * or a search. The record belongs to the test and outlives the job.
 */
#ifndef TESTS_UNIT_POW_KIT_H
#define TESTS_UNIT_POW_KIT_H

#include <stdatomic.h>

#include "pow/pow.h"

typedef struct pow_hash {
    const uint8_t *input;
    size_t bytes;
    uint8_t out[32];
} pow_hash;

typedef struct pow_task {
    /* What to do. */
    hfi_pow *pow;
    hfi_pow_mode mode;
    bool large_pages;
    pow_hash *hashes; /* spread over the workers */
    size_t hash_count;
    bool search; /* with the group, challenge ... of `found` */
    hfi_pow_search found;
    int rounding; /* of the thread that hashes; FE_TONEAREST */

    /* What came of it. */
    hfi_pow_mode got;
    _Atomic unsigned steps;
    _Atomic bool ready;      /* RandomX was */
    _Atomic bool lost_state; /* a hash changed the floating-point mode */
    _Atomic unsigned entry;  /* that of the last leaf when it began */

    hfi_pow_use use;
    hfi_loop loop;
    int stage;
} pow_task;

/*
 * The rounding and flushing modes of this thread, without exception flags.
 * fegetround() looks at the old unit only on x86, RandomX changes the new one.
 */
unsigned pow_float_mode(void);

/* Starts the job; the record must live until the scheduler is closed. */
hf_job *pow_task_start(pow_task *t, hfi_sched *s);
/* Waits, frees the job, returns its status. */
hf_status pow_task_end(hf_job *job, hf_error *err);
/* Both. */
hf_status pow_task_run(pow_task *t, hfi_sched *s, hf_error *err);

/* A scheduler, what it needs, and a log of warnings. */
typedef struct pow_host {
    hfi_env env;
    hfi_machine machine;
    hfi_sched *sched;
    hfi_pow *pow;
} pow_host;

/* budget 0: none. */
void pow_host_open(pow_host *h, uint32_t workers, uint64_t budget);
void pow_host_close(pow_host *h);
/* Takes all records; how many were warnings; the last text in *text. */
unsigned pow_host_warnings(pow_host *h, char text[HFI_LOG_TEXT]);

#endif

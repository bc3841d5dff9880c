/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A job for tests of the scheduler: what it does is a plan, what happened to it
 * is counted in a record that outlives it.
 */
#ifndef TESTS_SCHED_KIT_H
#define TESTS_SCHED_KIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "sched/sched.h"

typedef struct kit_seen {
    _Atomic uint32_t steps;
    _Atomic uint32_t in_step; /* more than one at once is a fault */
    _Atomic uint32_t overlaps;
    _Atomic uint32_t runs; /* of leaves */
    _Atomic uint32_t leaves_ended;
    _Atomic uint32_t skipped;
    _Atomic uint32_t destroyed;
    _Atomic uint64_t first_run_ns;
    _Atomic uint64_t last_run_ns; /* end */
    _Atomic uint32_t no_scratch;
} kit_seen;

typedef struct kit_plan {
    uint32_t cpu_leaves;
    uint32_t io_leaves;
    uint32_t rounds;  /* runs of each leaf; 0: until cancelled */
    uint32_t leaf_us; /* time of each run */
    uint32_t step_ms; /* each step blocks so long */
    uint32_t again;   /* steps that ask to be called again first */
    size_t scratch;   /* asked for in each CPU leaf */
    hf_status fail;   /* ends with this failure */
    bool ignore_cancel;
    const _Atomic bool *gate;  /* no leaves before it is true and posted */
    const _Atomic bool *block; /* each step blocks until it is true */
    void (*in_leaf)(hf_job *job, hfi_worker *worker, void *user);
    void *in_leaf_user;
    uint64_t hold; /* moved to the context in the first step */
    hfi_job_need need;
    hf_priority priority;
    void *user;
} kit_plan;

/* seen may be NULL. */
hf_status kit_start(hf_job **job, hfi_sched *s, const kit_plan *plan,
                    kit_seen *seen, hf_error *err);

/* Waits at most ten seconds; false on time-out. */
bool kit_until(const _Atomic uint32_t *value, uint32_t at_least);

/* Threads of this process now. */
uint32_t kit_threads(void);
uint32_t kit_threads_named(const char *name);

/*
 * An allocator that counts, and fails the `fail_at`-th request (0: none). To
 * be used as hfi_alloc or in the options of a context.
 */
typedef struct kit_alloc {
    _Atomic int64_t live;
    _Atomic uint64_t requests;
    uint64_t fail_at;
} kit_alloc;
void *kit_alloc_get(void *user, size_t bytes);
void kit_alloc_put(void *user, void *ptr);

/* ---- short forms that fail the cmocka test they are called in ---- */

#define MIB     ((uint64_t)1 << 20)
#define FOREVER UINT64_MAX

/* A scheduler over kit_counter, which kit_close() checks. */
extern kit_alloc kit_counter;
hfi_sched *kit_open(uint32_t workers, uint32_t queue, uint64_t budget);
void kit_close(hfi_sched *s);
hf_job *kit_started(hfi_sched *s, const kit_plan *plan, kit_seen *seen);
bool kit_readable(hfi_sched *s);       /* its descriptor, now */
hfi_completion kit_take(hfi_sched *s); /* waits for one */
uint64_t kit_now_ms(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Door of src/sched, layer 1: who runs what, when. Knows jobs, steps and
 * leaves, nothing about proofs. Implements <holdfast/job.h>.
 *
 * A job is a strand: its `step` function is called whenever something it waits
 * for has happened, never twice at once, on a step thread, where it may block
 * on files. Computation goes into leaves of at most 20 ms, run by the workers;
 * a leaf never waits. After every leaf a worker takes the most urgent one.
 * Without workers the host's thread runs both (hfi_sched_run). So no job code
 * ever owns a thread, and an urgent proof overtakes an initialisation at the
 * next leaf border.
 *
 * Lock order: hfi_sched.lock, then the event or the log ring. No lock is held
 * while a step, a leaf, the wake function or the sink runs. Most functions here
 * may end in the `destroy` of some job: call them without a lock that one takes.
 */
#ifndef HFI_SCHED_SCHED_H
#define HFI_SCHED_SCHED_H

#include <holdfast/job.h>

#include "base/base.h"

typedef struct hfi_sched hfi_sched;
typedef struct hfi_worker hfi_worker;
typedef struct hfi_leaf hfi_leaf;

/* ---- the scheduler ----------------------------------------------------- */

typedef struct hfi_sched_opts {
    uint32_t workers;         /* 0: host-driven */
    uint32_t queue_length;    /* places for jobs */
    uint64_t memory_budget;   /* 0: no limit */
    void (*wake)(void *user); /* may be NULL */
    void *wake_user;
    /* Called once after close, when the last job handle is gone: frees what
     * job states point to. May be NULL. Not called if hfi_sched_new() fails. */
    void (*finalize)(void *user);
    void *finalize_user;
} hfi_sched_opts;

/* env is copied; its log may stay NULL. Threads are started here. */
hf_status hfi_sched_new(hfi_sched **out, const hfi_env *env,
                        const hfi_sched_opts *opts, hf_error *err);
/* Cancels all, waits, joins the threads. Only hfi_sched_close() may follow. */
void hfi_sched_stop(hfi_sched *s);
/*
 * Stops if that was not done. The memory goes with the last job handle that
 * the host still has.
 */
void hfi_sched_close(hfi_sched *s);

const hfi_env *hfi_sched_env(const hfi_sched *s);
uint32_t hfi_sched_workers(const hfi_sched *s); /* at least 1 */
bool hfi_sched_forked(const hfi_sched *s);      /* in a child of the opener */
int hfi_sched_event_fd(const hfi_sched *s);
/* A log record waits: makes the descriptor readable, calls the wake function. */
void hfi_sched_wake_host(hfi_sched *s);
/*
 * The ring is read: called with false before a record is taken and with true
 * after one was found, so that one arriving meanwhile is not missed.
 */
void hfi_sched_log_taken(hfi_sched *s, bool more);

typedef struct hfi_completion {
    hf_job *job;
    void *user;
    hf_status status;
    hf_error error;
} hfi_completion;
bool hfi_sched_next(hfi_sched *s, hfi_completion *out);
bool hfi_sched_run(hfi_sched *s, uint32_t max_ms);
void hfi_sched_cancel_all(hfi_sched *s);
/* Frees worker scratch that no running job needs. */
void hfi_sched_trim(hfi_sched *s);

/* Memory that the context holds beyond jobs (RandomX): counted, not owned. */
uint64_t hfi_sched_memory_used(const hfi_sched *s);
uint64_t hfi_sched_memory_budget(const hfi_sched *s);
void hfi_sched_unhold(hfi_sched *s, uint64_t bytes);
/*
 * `reclaim` is called on a step thread when a waiting job would fit if the
 * context held nothing: it frees what no job uses and calls hfi_sched_unhold().
 */
void hfi_sched_set_reclaim(hfi_sched *s, void (*reclaim)(void *user),
                           void *user);

/* ---- jobs --------------------------------------------------------------- */

typedef enum hfi_step {
    HFI_STEP_WAIT, /* call again when a leaf ended, on cancel, or when posted */
    HFI_STEP_AGAIN, /* call again soon; others first */
    HFI_STEP_DONE   /* the job has ended: with what hfi_job_fail() said, else
                       cancelled if it was told so, else well */
} hfi_step;

typedef struct hfi_job_class {
    const char *name; /* static */
    /*
     * Advances the job. HFI_STEP_DONE with leaves still outstanding is
     * completed when the last of them has ended.
     */
    hfi_step (*step)(hf_job *job, void *state);
    /* Frees the state, with the last reference. Any thread. */
    void (*destroy)(void *state);
    /* Gives no completion: its caller is in a blocking call until it ends. */
    bool quiet;
} hfi_job_class;

/* What a job needs before it is first stepped; refused if it can never fit. */
typedef struct hfi_job_need {
    uint64_t bytes;   /* of its own */
    uint64_t scratch; /* of each worker; shared with other jobs */
    /*
     * What the context must hold for it (RandomX), all of it, whether that is
     * there yet or not. Shared: of all started jobs the largest is counted, or
     * what is held if that is more, so it does not matter which of them makes it.
     */
    uint64_t held;
} hfi_job_need;

/*
 * Queues a job. On success it owns `state`; on an error the caller keeps it.
 *   HF_E_BUSY    all places are taken
 *   HF_E_MEMORY  the need exceeds the whole budget (both numbers are named)
 *   HF_E_STATE   closing, or in a forked child
 */
hf_status hfi_job_start(hf_job **out, hfi_sched *s, const hfi_job_class *cls,
                        void *state, const hfi_job_need *need,
                        hf_priority priority, void *user, hf_error *err);

/* The state if the job is of this class, else NULL (for result calls). */
void *hfi_job_state(const hf_job *job, const hfi_job_class *cls);
hfi_sched *hfi_job_sched(const hf_job *job);
/*
 * For result calls: HF_OK if the job ended well, its own error if it failed,
 * HF_E_BUSY while it runs, HF_E_STATE in a forked child.
 */
hf_status hfi_job_outcome(const hf_job *job, hf_error *err);

/*
 * For steps and leaves. Once a job was told (here, or by a skipped leaf), ending
 * it without a failure means HF_E_CANCELLED.
 */
bool hfi_job_cancelled(const hf_job *job);
/* The first failure stays; returns it. `err` is copied. Any thread. */
hf_status hfi_job_fail(hf_job *job, const hf_error *err);
bool hfi_job_failed(const hf_job *job);
/* Leaves submitted and not yet ended. */
uint32_t hfi_job_outstanding(const hf_job *job);
/* Makes the step be called (again). Any thread; the job must be referenced. */
void hfi_job_post(hf_job *job);
/*
 * `other` waits for `job`, which becomes as urgent as it, for good, and is not
 * suspended any more (even if its scratch then exceeds the budget): else the
 * two could wait for each other. Any thread.
 */
void hfi_job_raise(hf_job *job, const hf_job *other);
void hfi_job_ref(hf_job *job); /* internal references */
void hfi_job_unref(hf_job *job);

/* Progress: texts must be static. Any thread. */
void hfi_job_phase(hf_job *job, const char *phase, const char *unit,
                   uint64_t done, uint64_t total);
void hfi_job_advance(hf_job *job, uint64_t done); /* absolute */

/* The job made so much of what the context holds; see hfi_job_need.held. */
void hfi_job_hold(hf_job *job, uint64_t bytes);
/*
 * The running job has learnt that it needs so much scratch of each worker, if
 * that is more than it said. It counts from now on, even if what already runs
 * then exceeds the budget together. For steps and leaves.
 *   HF_E_MEMORY  the need exceeds the whole budget (both numbers are named)
 */
hf_status hfi_job_widen(hf_job *job, uint64_t scratch, hf_error *err);

/* ---- leaves ------------------------------------------------------------- */

typedef enum hfi_leaf_kind {
    HFI_LEAF_CPU, /* at most 20 ms, never blocks, on a worker */
    HFI_LEAF_IO   /* may block on a file; on a step thread; no scratch */
} hfi_leaf_kind;

/*
 * Embedded in the job's state, so submitting cannot fail. `run` does one unit
 * and returns true to be queued again (behind other jobs of its priority, before
 * younger leaves of its own), false when finished; the job's step follows. When
 * the job is cancelled, leaves that are queued, again or for the first time, end
 * without `run` and have `skipped` set. A leaf may be submitted again once it
 * has ended. Must not be touched between submit and end but by itself.
 */
struct hfi_leaf {
    bool (*run)(hfi_leaf *leaf, hfi_worker *worker); /* worker NULL for IO */
    hfi_leaf_kind kind;
    bool skipped;
    /* private to sched */
    hf_job *job;
    hfi_leaf *next;
    _Atomic bool busy;
};

void hfi_leaf_submit(hf_job *job, hfi_leaf *leaf);
/* Whether the leaf has ended; call from the step. */
bool hfi_leaf_idle(const hfi_leaf *leaf);

uint32_t hfi_worker_index(const hfi_worker *w); /* 0 ... workers - 1 */
/*
 * The worker's scratch, at least `bytes`, 2 MiB aligned when large; contents
 * undefined. NULL if the system has no memory. Valid until the leaf returns.
 */
void *hfi_worker_scratch(hfi_worker *w, size_t bytes);

/*
 * A loop over [0, count) spread over all workers: `body` is called for pieces
 * of `grain` (the last may be smaller), in ascending order of start but at
 * once. It ends when all are done, the job is cancelled or has failed.
 */
typedef struct hfi_loop hfi_loop;
typedef struct hfi_loop_leaf hfi_loop_leaf;
struct hfi_loop {
    uint64_t count;
    uint64_t grain;
    void (*body)(hfi_loop *loop, uint64_t begin, uint64_t end,
                 hfi_worker *worker);
    /* private to sched */
    hf_job *job;
    _Atomic uint64_t next;
    uint32_t leaf_count;
    hfi_loop_leaf *leaves;
};
struct hfi_loop_leaf {
    hfi_leaf leaf;
    hfi_loop *loop;
};
/* Allocates the leaves, once; one per worker. */
hf_status hfi_loop_init(hfi_loop *loop, hfi_sched *s, hf_error *err);
void hfi_loop_wipe(hfi_loop *loop, hfi_sched *s);
void hfi_loop_start(hfi_loop *loop, hf_job *job);
bool hfi_loop_idle(const hfi_loop *loop); /* call from the step */

#endif

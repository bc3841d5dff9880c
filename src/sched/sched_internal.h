/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What the files of src/sched share. Everything not atomic is guarded by
 * hfi_sched.lock, except where a comment says who alone touches it. Queues are
 * intrusive: after a job's start nothing is allocated, so nothing can fail.
 *
 * A job is in exactly one `life` queue: waiting[] for memory, running,
 * suspended, completions, or (its handle freed) dead and spare.
 */
#ifndef HFI_SCHED_INTERNAL_H
#define HFI_SCHED_INTERNAL_H

#include "sched/sched.h"

enum {
    STEP_THREADS = 4,
    PRIORITIES = 3,
    URGENT = 0,
    NORMAL = 1,
    BACKGROUND = 2,
    PROGRESS_SAMPLES = 16,
    SPARE_JOBS = 64
};

typedef enum hfi_link_kind {
    LINK_LIFE,
    LINK_STEP, /* its step is due */
    LINK_CPU,  /* it has CPU leaves and may run them */
    LINK_IO,   /* it has IO leaves */
    LINK_COUNT
} hfi_link_kind;

typedef struct hfi_job_link {
    hf_job *next;
    hf_job *prev;
} hfi_job_link;

typedef struct hfi_job_queue {
    hf_job *head;
    hf_job *tail;
    uint32_t count;
    hfi_link_kind kind;
} hfi_job_queue;

typedef struct hfi_leaf_queue {
    hfi_leaf *head;
    hfi_leaf *tail;
} hfi_leaf_queue;

typedef enum hfi_life {
    LIFE_WAITING, /* for memory; never stepped */
    LIFE_RUNNING, /* or suspended */
    LIFE_ENDED
} hfi_life;

/* Where a job stands, and what it was in the last seconds, for the rate. */
typedef struct hfi_meter {
    const char *phase;
    const char *unit;
    _Atomic uint64_t done;
    uint64_t total;
    _Atomic uint64_t sampled_ns;
    struct {
        uint64_t ns;
        uint64_t done;
    } samples[PROGRESS_SAMPLES];
    uint32_t sample_count; /* ever taken in this phase */
} hfi_meter;

struct hf_job {
    hfi_sched *sched;
    const hfi_job_class *cls;
    void *state;
    void *user;
    _Atomic uint32_t refs;
    _Atomic uint32_t outstanding;
    _Atomic bool cancelled;
    _Atomic bool cancel_seen; /* the job's code was told */
    _Atomic bool failed;

    hfi_job_link links[LINK_COUNT];
    hfi_leaf_queue cpu;
    hfi_leaf_queue io;
    int priority; /* URGENT ... BACKGROUND */
    hfi_life life;
    bool stepping;
    bool posted; /* something happened since the step began */
    bool step_queued;
    bool cpu_queued;
    bool io_queued;
    bool done;      /* the step said so; leaves may be outstanding */
    bool suspended; /* its CPU leaves are held back */
    bool suspender; /* background work is suspended until it ends */
    bool released;  /* the host gave its handle back */
    bool deliver;   /* in the completion queue */
    hfi_job_need need;
    hf_status status; /* once ended */
    hf_error error;   /* the first failure */
    hfi_meter meter;
    uint64_t started_ns;
    uint64_t ended_ns;
};

struct hfi_worker {
    hfi_sched *sched;
    uint32_t index;
    bool trim; /* asked to give back scratch that nobody needs */
    hfi_thread thread;
    void *scratch;        /* only this worker touches it */
    size_t scratch_bytes; /* changed with the lock */
};

struct hfi_sched {
    hfi_env env;
    uint64_t pid;          /* of the opener */
    _Atomic uint32_t refs; /* the open handle, and every job */
    void (*finalize)(void *user);
    void *finalize_user;
    hfi_mutex lock;

    hfi_cond work;    /* workers: a CPU leaf, or scratch to give back */
    hfi_cond steps;   /* step threads: a step, an IO leaf, reclaim */
    hfi_cond changed; /* waiting callers: a job ended; host-driven: new work */
    hfi_worker *workers;
    uint32_t worker_count; /* at least 1 */
    uint32_t workers_started;
    hfi_thread step_threads[STEP_THREADS];
    uint32_t steps_started;
    bool driven; /* no threads: the host runs everything */
    bool driver_busy;
    bool closing;
    bool quit;
    bool closed;

    hfi_job_queue step_ready[PRIORITIES];
    hfi_job_queue cpu_ready[PRIORITIES];
    hfi_job_queue io_ready[PRIORITIES];
    uint32_t stepping[PRIORITIES]; /* step threads in use */
    uint32_t turn;                 /* which kind of work is looked at first */

    hfi_job_queue waiting[PRIORITIES];
    hfi_job_queue running;
    hfi_job_queue suspended;
    hfi_job_queue completions;
    hfi_job_queue dead;  /* ended and released; unreferenced by leave */
    hfi_job_queue spare; /* freed structs, see hfi_job_unref() */
    uint32_t live;       /* not ended */
    uint32_t places;     /* taken */
    uint32_t queue_length;

    uint64_t budget;
    uint64_t job_bytes;    /* of running and suspended jobs */
    uint64_t held;         /* by the context, e.g. RandomX */
    uint64_t max_held;     /* largest need of a running or suspended job */
    uint32_t at_max_held;  /* such jobs with that need */
    uint64_t max_scratch;  /* largest need of a running job, per worker */
    uint32_t at_max;       /* running jobs with that need */
    uint64_t scratch_keep; /* workers with more give it back */
    uint32_t suspenders;
    bool reclaim_wanted;
    bool reclaiming;
    bool admit_later; /* admission waits for the end of a walk */
    void (*reclaim)(void *user);
    void *reclaim_user;

    hfi_event event;
    bool event_on;
    bool log_waiting;
    bool runnable; /* host-driven: as last seen */
    bool wake_wanted;
    uint32_t waking; /* threads in the wake function */
    void (*wake)(void *user);
    void *wake_user;
};

/* ---- queues (job.c) ---- */
void hfi_queue_push(hfi_job_queue *q, hf_job *job);
void hfi_queue_remove(hfi_job_queue *q, hf_job *job);
hf_job *hfi_queue_pop(hfi_job_queue *q);

/* ---- all with the lock held, unless said otherwise ---- */

/* Unlocks; then calls the wake function and destroys what died meanwhile. */
void hfi_sched_leave(hfi_sched *s);
void hfi_sched_unref(hfi_sched *s); /* without the lock */

/* job.c */
void hfi_job_run(hfi_sched *s, hf_job *job);       /* its memory is there */
void hfi_job_step_once(hfi_sched *s, hf_job *job); /* lock dropped meanwhile */
void hfi_job_wake(hfi_sched *s, hf_job *job);
void hfi_job_end(hfi_sched *s, hf_job *job);
void hfi_job_cancel_locked(hfi_sched *s, hf_job *job);

/* pool.c */
bool hfi_pool_runnable(const hfi_sched *s);
void hfi_pool_queue_step(hfi_sched *s, hf_job *job);
void hfi_pool_queue_leaves(hfi_sched *s, hf_job *job);
void hfi_pool_unqueue_cpu(hfi_sched *s, hf_job *job);
void hfi_pool_set_priority(hfi_sched *s, hf_job *job, int priority);
void hfi_pool_drop_leaves(hfi_sched *s, hf_job *job);
void hfi_pool_leaf_ended(hfi_sched *s, hf_job *job, hfi_leaf *leaf);
bool hfi_pool_drive_one(hfi_sched *s); /* host-driven: one piece of work */
void hfi_pool_release_scratch(hfi_worker *w);

/* budget.c */
/* HF_E_MEMORY if that can never fit. */
hf_status hfi_budget_check(const hfi_sched *s, const hfi_job_need *need,
                           hf_error *err);
void hfi_budget_take(hfi_sched *s, hf_job *job);
void hfi_budget_give(hfi_sched *s, hf_job *job);
void hfi_budget_resume(hfi_sched *s, hf_job *job); /* a suspended job */
void hfi_budget_admit(hfi_sched *s);

/* completion.c */
void hfi_completion_push(hfi_sched *s, hf_job *job);
void hfi_completion_drop(hfi_sched *s, hf_job *job);
void hfi_completion_refresh(hfi_sched *s);

#endif

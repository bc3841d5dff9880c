/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * holdfast/job.h: a piece of work that was started.
 *
 * Starting copies every byte input and returns at once. A job ends exactly
 * once: done, failed or cancelled; its completion is then taken with
 * hf_context_next(), its outcome with the hf_..._result() of its operation. The
 * caller holds one reference from the start until hf_job_free(). All functions
 * here may be called from any thread.
 */
#ifndef HOLDFAST_JOB_H
#define HOLDFAST_JOB_H

#include <holdfast/base.h>

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hf_job hf_job;

/* Which work a worker takes first, after every leaf of at most 20 ms. */
typedef enum hf_priority {
    HF_PRIORITY_DEFAULT = 0, /* the usual one of the operation */
    HF_PRIORITY_URGENT = 1,  /* a proof with a deadline */
    HF_PRIORITY_NORMAL = 2,
    HF_PRIORITY_BACKGROUND = 3 /* initialisation */
} hf_priority;

/* Part of the options of every operation. */
typedef struct hf_job_opts {
    hf_priority priority;
    void *user; /* comes back in the completion; never dereferenced */
} hf_job_opts;

typedef struct hf_progress {
    size_t size;       /* in: sizeof(hf_progress) */
    const char *phase; /* static text: "queued", "labels", "work", "scan" ... */
    const char *unit;  /* static text: "labels", "bytes", "hashes" ... */
    uint64_t done;     /* of this phase */
    uint64_t total;    /* of this phase; 0 if unknown */
    double rate;       /* units a second over the last seconds; 0: unknown */
    uint64_t elapsed_ms;   /* since the start of the job */
    uint64_t remaining_ms; /* of this phase; UINT64_MAX if unknown */
    bool finished;         /* the job has ended */
} hf_progress;

/* Where the job stands. Never blocks.  fills *out */
HF_API HF_CHECKED hf_status hf_job_progress(const hf_job *job,
                                            hf_progress *out);

/*
 * Asks the job to stop and returns at once; the completion follows, with
 * HF_E_CANCELLED unless the job was faster. NULL is fine; twice is fine.
 */
HF_API void hf_job_cancel(hf_job *job);

/*
 * Waits until the job has ended, at most timeout_ms (UINT64_MAX: for ever).
 * Returns the job's own status, *err its error; HF_E_BUSY if it still runs. In
 * a context without workers the caller's thread does the work. The completion
 * stays in the queue until taken or until hf_job_free().
 *   borrows job;  fills *err
 */
HF_API HF_CHECKED hf_status hf_job_wait(hf_job *job, uint64_t timeout_ms,
                                        hf_error *err);

/*
 * Gives the caller's reference back. A job that still runs is cancelled and
 * yields no completion any more; a completion not yet taken is dropped. NULL
 * is fine. The handle is invalid afterwards; so is what its result calls lent.
 */
HF_API void hf_job_free(hf_job *job);

#ifdef __cplusplus
}
#endif

#endif

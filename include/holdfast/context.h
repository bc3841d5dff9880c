/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * holdfast/context.h: workers, memory budget, completions, log ring.
 *
 * Everything hangs off a context; two contexts in one process do not know of
 * each other. A context may be used from any thread. After fork() the child
 * gets HF_E_STATE from every call on a context of the parent.
 */
#ifndef HOLDFAST_CONTEXT_H
#define HOLDFAST_CONTEXT_H

#include <holdfast/base.h>
#include <holdfast/job.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hf_context hf_context;

typedef enum hf_log_level {
    HF_LOG_OFF = 0,
    HF_LOG_ERROR = 1,
    HF_LOG_WARN = 2,
    HF_LOG_INFO = 3,
    HF_LOG_DEBUG = 4,
    HF_LOG_TRACE = 5
} hf_log_level;

typedef struct hf_log_record {
    uint64_t time_ms; /* wall clock, milliseconds since 1970 */
    hf_log_level level;
    uint32_t dropped; /* records lost just before this one */
    char module[16];
    char text[384]; /* one line, UTF-8, no secrets */
} hf_log_record;

#define HF_WORKERS_AUTO UINT32_MAX

/*
 * Options of a context. Start from HF_CONTEXT_OPTS_INIT and change members;
 * hf_context_open() copies everything it keeps.
 */
typedef struct hf_context_opts {
    size_t size;            /* sizeof(hf_context_opts) */
    uint32_t workers;       /* HF_WORKERS_AUTO: affinity and cgroup quota;
                              0: no thread at all, see hf_context_run() */
    uint32_t queue_length;  /* jobs whose completion is not yet taken;
                              0: 256, at most 65536 */
    uint64_t memory_budget; /* bytes; 0: half of what is there */
    const char *kernel;     /* borrows; force "portable", "sse2", "avx2",
                               "avx512"; NULL: the best this CPU runs */

    hf_log_level log_level; /* HF_LOG_OFF: no records */
    uint32_t log_length;    /* records in the ring; 0: 256 */
    /* Opt-in: receives records directly, on whichever thread logs, instead of
     * the ring. Called from any thread; must not call holdfast. */
    void (*log_sink)(void *user, const hf_log_record *record);
    void *log_user; /* keeps until hf_context_close */

    /* Opt-in: called from any thread when a completion (or a log record)
     * waits; its one duty is to wake the host's loop. The descriptor works as
     * well. Must not call holdfast. */
    void (*wake)(void *user);
    void *wake_user; /* keeps until hf_context_close */

    /* Opt-in: own allocator for everything but large scratch, which comes from
     * the system. Called from any thread. Both or neither. Blocks are aligned
     * as malloc's, to 16 bytes; NULL means no memory; release is never given
     * NULL. */
    void *(*alloc)(void *user, size_t bytes);
    void (*release)(void *user, void *ptr);
    void *alloc_user; /* keeps until hf_context_close and the last job freed */
} hf_context_opts;

#define HF_CONTEXT_OPTS_INIT                                                   \
    {                                                                          \
        .size = sizeof(hf_context_opts), .workers = HF_WORKERS_AUTO            \
    }

/*
 * Opens a context: starts its threads, chooses kernels.
 *   borrows opts (NULL: defaults);  gives *ctx (hf_context_close)
 *   HF_E_ARGUMENT     an option is out of range; the text names it
 *   HF_E_UNSUPPORTED  the CPU cannot run the forced kernel
 *   HF_E_MEMORY, HF_E_BUSY, HF_E_IO  memory, a thread or a descriptor cannot be
 *                     had; nothing stays behind
 */
HF_API HF_CHECKED hf_status hf_context_open(hf_context **ctx,
                                            const hf_context_opts *opts,
                                            hf_error *err);

/*
 * Cancels all jobs, waits for them, ends all threads, frees what is held. The
 * one call that waits. Job handles stay valid until hf_job_free(). NULL is
 * fine. No other call on the context may run or follow.
 */
HF_API void hf_context_close(hf_context *ctx);

typedef struct hf_completion {
    hf_job *job; /* the handle the start call gave; not a new reference */
    void *user;  /* from the job's options */
    hf_status status;
    hf_error error; /* code HF_OK if the job is done */
} hf_completion;

/*
 * A descriptor that is readable while a completion or a log record waits, or,
 * without workers, while there is work to run. Level-triggered: wait for it,
 * never read it, never close it. -1 in a forked child.
 */
HF_API int hf_context_event_fd(const hf_context *ctx);

/* Takes the next completion; false if none waits. Never blocks.  fills *out */
HF_API bool hf_context_next(hf_context *ctx, hf_completion *out);

/* Takes the next log record; false if none waits. Never blocks.  fills *out */
HF_API bool hf_context_next_log(hf_context *ctx, hf_log_record *out);

/*
 * Only without workers: runs work on the calling thread for about max_ms (a
 * leaf of up to 20 ms is not interrupted). True if work is left to run now.
 * Returns false at once in a context with workers, or while another thread is
 * in this call.
 */
HF_API bool hf_context_run(hf_context *ctx, uint32_t max_ms);

/* Cancels every job and returns at once. NULL is fine. */
HF_API void hf_context_cancel_all(hf_context *ctx);

/* Gives back held memory (RandomX, scratch) that no job uses. NULL is fine. */
HF_API void hf_context_trim(hf_context *ctx);

/* What the context found and chose. All texts are static or in the struct. */
typedef struct hf_context_info {
    size_t size; /* in: sizeof(hf_context_info) */
    uint32_t workers;
    uint32_t cpus_online;
    uint32_t cpus_affinity;
    uint32_t cpus_quota;      /* cgroup, rounded up; 0: none */
    const char *workers_from; /* "option", "affinity", "cgroup quota", ... */
    uint64_t memory_total;    /* bytes, as all below */
    uint64_t memory_available;
    uint64_t memory_limit; /* cgroup; 0: none */
    uint64_t memory_budget;
    uint64_t memory_used;     /* of the budget, now */
    const char *budget_from;  /* "option", "cgroup limit", ... */
    uint64_t huge_pages_free; /* explicit 2 MiB pages */
    bool transparent_huge;
    const char *label_kernel; /* file suffix of the variant */
    const char *check_kernel; /* the variant that samples its work */
    const char *aes_kernel;
    const char *randomx;  /* "jit", "secure jit", "interpreter" */
    const char *compiler; /* that built the library */
    char cpu_model[64];
    char cpu_features[256]; /* space separated */
} hf_context_info;

/* HF_E_ARGUMENT: out->size is not set.  fills *out */
HF_API HF_CHECKED hf_status hf_context_get_info(const hf_context *ctx,
                                                hf_context_info *out);

/* One that computes labels. */
typedef struct hf_provider {
    size_t size;       /* in: sizeof(hf_provider) */
    char id[32];       /* what options named `provider` take: "cpu" */
    char kind[8];      /* "cpu", "gpu" */
    char name[96];     /* for people */
    char platform[64]; /* of a GPU, as its driver says; else "" */
    char device[64];
} hf_provider;

/*
 * The providers of this machine: GPUs first, the CPU last; it is always there.
 * hf_context_provider_get() gives the one at `index`, from 0.  fills *out
 *   HF_E_ARGUMENT  no such index
 */
HF_API uint32_t hf_context_provider_count(hf_context *ctx);
HF_API HF_CHECKED hf_status hf_context_provider_get(hf_context *ctx,
                                                    uint32_t index,
                                                    hf_provider *out,
                                                    hf_error *err);

#ifdef __cplusplus
}
#endif

#endif

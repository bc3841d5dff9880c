/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Door of src/backend, layer 2: who computes labels. A labeler takes batches
 * and computes them in the background on behalf of a job; the layer above
 * never knows what kind of device it is.
 */
#ifndef HFI_BACKEND_BACKEND_H
#define HFI_BACKEND_BACKEND_H

#include "base/base.h"
#include "kernel/kernel.h"
#include "sched/sched.h"

typedef struct hfi_labeler hfi_labeler;

/* Name, kind and id of one provider, as listed. */
typedef struct hfi_provider {
    char id[32];   /* "cpu" */
    char name[96]; /* for people */
    char kind[8];  /* "cpu", "gpu" */
} hfi_provider;

/* What all batches of one run share. */
typedef struct hfi_label_run {
    uint8_t commitment[32];
    uint32_t log_n; /* N = 2^log_n */
} hfi_label_run;

/*
 * One batch: labels [first, first + count). Embedded in the job's state; the
 * members above the line are set by the caller and stay untouched until the
 * batch has ended. Of all 32-byte outputs the lowest is kept in `min`.
 */
typedef struct hfi_label_batch {
    const hfi_label_run *run;
    uint64_t first;
    uint32_t count;
    uint8_t *labels; /* 16 * count bytes */
    /* ---- */
    uint8_t min[32];    /* lowest output of the batch (bytewise) */
    uint64_t min_index; /* its index; the lower index if equal */
    uint64_t started_ns;
    uint64_t ended_ns;
    hf_status status;
    hf_error error;
    void *priv; /* the labeler's, between init and wipe */
} hfi_label_batch;

typedef struct hfi_labeler_ops {
    /* Readies a batch struct for submits of up to max_count labels. */
    hf_status (*batch_init)(hfi_labeler *l, hfi_label_batch *b,
                            uint32_t max_count, hf_error *err);
    void (*batch_wipe)(hfi_labeler *l, hfi_label_batch *b);
    /*
     * Starts computing; the job's step is called when the batch has ended.
     * Cannot fail at once: a failure is the batch's status.
     */
    void (*submit)(hfi_labeler *l, hfi_label_batch *b, hf_job *job);
    bool (*idle)(hfi_labeler *l, const hfi_label_batch *b);
    void (*close)(hfi_labeler *l);
} hfi_labeler_ops;

struct hfi_labeler {
    const hfi_labeler_ops *ops;
    hfi_provider provider;
};

/* Bytes of scratch a worker needs for a CPU labeler at this N. */
uint64_t hfi_labeler_cpu_scratch(const hfi_kernels *kernels, uint32_t log_n);

/*
 * The CPU: batches are cut into leaves of one shape of the label kernel. The
 * shape (labels in flight) is measured on the first leaves of real work, once
 * per N, among those whose scratch is at most HFI_LABEL_SCRATCH_MOST.
 */
hf_status hfi_labeler_cpu_open(hfi_labeler **out, hfi_sched *sched,
                               const hfi_kernels *kernels, hf_error *err);
void hfi_labeler_close(hfi_labeler *l); /* NULL is fine */

/* Labels a second of the CPU labeler as measured; 0 if not yet. */
double hfi_labeler_cpu_rate(const hfi_labeler *l, uint32_t log_n);
/* Labels in flight on one worker as chosen; the one on trial if not yet. */
uint32_t hfi_labeler_cpu_lanes(const hfi_labeler *l, uint32_t log_n);

/*
 * Recomputes one label with `kernel`, smallest shape, in the calling thread:
 * 32 bytes. For samples and resume checks; N up to 2^20 takes under a second.
 */
hf_status hfi_label_one(const hfi_label_kernel *kernel,
                        const uint8_t commitment[32], uint64_t index,
                        uint32_t log_n, uint8_t out32[32], hf_error *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * labels.c: a range of labels into memory, and the lowest of its 32-byte
 * outputs.
 *
 * Invariant: batches are cut from the range upwards and each writes its own
 * part of the buffer, so the outcome does not depend on the order in which
 * they end; of equal outputs the lower index stays.
 */
#include "space/space.h"

#include <inttypes.h>
#include <string.h>

enum {
    WINDOW = 2, /* batches at the labeler, so that workers never wait */
    LEAST_BATCH = 16,
    MOST_BATCH = 1 << 19
};
#define BATCH_SECONDS 0.1
#define FIRST_WORK    (UINT64_C(1) << 23) /* N times labels, rate unknown */
#define DEFAULT_N     8192u

typedef struct batch {
    hfi_label_batch b;
    bool busy;
} batch;

typedef struct labels {
    hfi_sched *sched;
    hfi_labeler *labeler;
    hfi_label_run run;
    uint64_t first;
    uint64_t count;
    bool search;
    uint8_t difficulty[32]; /* falls to the lowest output so far */
    bool found;
    uint64_t nonce;
    uint8_t *out;  /* 16 * count bytes, mapped by the first step */
    uint64_t next; /* labels given out */
    uint64_t done;
    batch batches[WINDOW];
} labels;

/* ---- the job --------------------------------------------------------------- */

static hf_status open_run(labels *l, hf_job *job, hf_error *err)
{
    l->out = hfi_scratch_map((size_t)l->count * HFI_LABEL_BYTES);
    if (l->out == NULL)
        return hfi_error(err, HF_E_MEMORY, "no memory for %" PRIu64 " labels",
                         l->count);
    for (int i = 0; i < WINDOW; i++) {
        hf_status s = l->labeler->ops->batch_init(l->labeler, &l->batches[i].b,
                                                  MOST_BATCH, err);
        if (s != HF_OK)
            return s;
    }
    hfi_job_phase(job, "labels", "labels", 0, l->count);
    return HF_OK;
}

static uint32_t batch_size(const labels *l)
{
    double rate = hfi_labeler_cpu_rate(l->labeler, l->run.log_n);
    double wanted = rate > 0 ? rate * BATCH_SECONDS
                             : (double)(FIRST_WORK >> l->run.log_n);
    uint64_t left = l->count - l->next;
    uint32_t size = wanted < LEAST_BATCH  ? LEAST_BATCH
                    : wanted > MOST_BATCH ? MOST_BATCH
                                          : (uint32_t)wanted;
    return left < size ? (uint32_t)left : size;
}

static void submit(labels *l, batch *b, hf_job *job)
{
    b->busy = true;
    b->b.run = &l->run;
    b->b.first = l->first + l->next;
    b->b.count = batch_size(l);
    b->b.labels = l->out + l->next * HFI_LABEL_BYTES;
    l->next += b->b.count;
    l->labeler->ops->submit(l->labeler, &b->b, job);
}

/* A batch has ended. */
static hf_status take(labels *l, batch *b, hf_job *job, hf_error *err)
{
    b->busy = false;
    if (b->b.status != HF_OK) {
        if (err != NULL)
            *err = b->b.error;
        return b->b.status;
    }
    l->done += b->b.count;
    hfi_job_advance(job, l->done);
    if (!l->search)
        return HF_OK;
    int order = memcmp(b->b.min, l->difficulty, 32);
    if (order > 0 || (order == 0 && (!l->found || b->b.min_index > l->nonce)))
        return HF_OK;
    l->found = true;
    l->nonce = b->b.min_index;
    memcpy(l->difficulty, b->b.min, 32);
    return HF_OK;
}

static hf_status advance(labels *l, hf_job *job, hf_error *err)
{
    hf_status s = l->out == NULL ? open_run(l, job, err) : HF_OK;
    for (int i = 0; s == HF_OK && i < WINDOW; i++) {
        batch *b = &l->batches[i];
        if (b->busy && l->labeler->ops->idle(l->labeler, &b->b))
            s = take(l, b, job, err);
        if (s == HF_OK && !b->busy && l->next < l->count)
            submit(l, b, job);
    }
    return s;
}

/* Here, not with the state: a handle may outlive the context's parts. */
static void give_back(labels *l)
{
    for (int i = 0; i < WINDOW; i++)
        l->labeler->ops->batch_wipe(l->labeler, &l->batches[i].b);
}

static hfi_step labels_step(hf_job *job, void *state)
{
    labels *l = state;
    bool stop = hfi_job_failed(job) ||
                (l->done < l->count && hfi_job_cancelled(job));
    if (!stop && l->done < l->count) {
        hf_error err = {0};
        if (advance(l, job, &err) != HF_OK) {
            /* A batch that was cancelled ends the job as cancelled. */
            if (err.code != HF_E_CANCELLED || !hfi_job_cancelled(job))
                hfi_job_fail(job, &err);
            stop = true;
        }
    }
    if ((!stop && l->done < l->count) || hfi_job_outstanding(job) > 0)
        return HFI_STEP_WAIT;
    give_back(l);
    return HFI_STEP_DONE;
}

static void labels_destroy(void *state)
{
    labels *l = state;
    const hfi_env env = *hfi_sched_env(l->sched);
    hfi_scratch_unmap(l->out, (size_t)l->count * HFI_LABEL_BYTES);
    hfi_free(&env, l);
}

static const hfi_job_class labels_class = {.name = "label computation",
                                           .step = labels_step,
                                           .destroy = labels_destroy};

/* ---- start ----------------------------------------------------------------- */

static hf_status check_arguments(const hf_space_labels_opts *o, uint64_t first,
                                 uint64_t count, hf_error *err)
{
    if (o->size != sizeof *o)
        return hfi_error(err, HF_E_ARGUMENT, "opts->size is %zu, wanted %zu",
                         o->size, sizeof *o);
    if (count == 0)
        return hfi_error(err, HF_E_ARGUMENT, "count is 0, wanted at least 1");
    if (count > UINT64_MAX - first)
        return hfi_error(err, HF_E_ARGUMENT,
                         "%" PRIu64 " labels from %" PRIu64
                         " on: the last index may be 2^64 - 2",
                         count, first);
    if (count > (uint64_t)PTRDIFF_MAX / HFI_LABEL_BYTES)
        return hfi_error(err, HF_E_MEMORY,
                         "%" PRIu64 " labels are more than memory can hold",
                         count);
    if (o->provider != NULL && strcmp(o->provider, "cpu") != 0)
        return hfi_error(err, HF_E_ARGUMENT,
                         "there is no provider \"%.40s\": known is \"cpu\"",
                         o->provider);
    return HF_OK;
}

static hf_status start(hf_context *ctx, hf_job **job, const uint8_t *commitment,
                       uint64_t first, uint64_t count,
                       const hf_space_labels_opts *o, hf_error *err)
{
    hfi_sched *sched = hfi_context_sched(ctx);
    uint32_t log_n;
    hf_status s = check_arguments(o, first, count, err);
    if (s == HF_OK)
        s = hfi_space_log_n(&log_n, o->scrypt_n != 0 ? o->scrypt_n : DEFAULT_N,
                            err);
    if (s != HF_OK)
        return s;
    labels *l = hfi_calloc(hfi_sched_env(sched), 1, sizeof *l);
    if (l == NULL)
        return hfi_error(err, HF_E_MEMORY, "no memory for a job");
    l->sched = sched;
    l->labeler = hfi_context_cpu_labeler(ctx);
    l->run.log_n = log_n;
    memcpy(l->run.commitment, commitment, 32);
    l->first = first;
    l->count = count;
    l->search = o->vrf_difficulty != NULL;
    if (l->search)
        memcpy(l->difficulty, o->vrf_difficulty, 32);
    hfi_job_need need = {
        .bytes = sizeof *l + count * HFI_LABEL_BYTES,
        .scratch = hfi_labeler_cpu_scratch(hfi_context_kernels(ctx), log_n)};
    hf_priority p = o->job.priority != HF_PRIORITY_DEFAULT
                        ? o->job.priority
                        : HF_PRIORITY_BACKGROUND;
    s = hfi_job_start(job, sched, &labels_class, l, &need, p, o->job.user, err);
    if (s != HF_OK)
        labels_destroy(l);
    return s;
}

hf_status hf_space_labels_start(hf_context *ctx, hf_job **job,
                                const uint8_t *commitment, uint64_t first,
                                uint64_t count,
                                const hf_space_labels_opts *opts, hf_error *err)
{
    static const hf_space_labels_opts defaults = HF_SPACE_LABELS_OPTS_INIT;
    hf_status s = hfi_context_check(ctx, err);
    if (s == HF_OK && (job == NULL || commitment == NULL))
        s = hfi_error(err, HF_E_ARGUMENT, "%s is NULL",
                      job == NULL ? "job" : "commitment");
    if (s == HF_OK)
        s = start(ctx, job, commitment, first, count,
                  opts != NULL ? opts : &defaults, err);
    if (s != HF_OK)
        return hfi_error_wrap(err, s, "cannot compute labels");
    return HF_OK;
}

hf_status hf_space_labels_result(const hf_job *job, hf_space_labels *out,
                                 hf_error *err)
{
    if (job == NULL || out == NULL)
        return hfi_error(err, HF_E_ARGUMENT, "%s is NULL",
                         job == NULL ? "job" : "out");
    if (out->size != sizeof *out)
        return hfi_error(err, HF_E_ARGUMENT, "out->size is %zu, wanted %zu",
                         out->size, sizeof *out);
    const labels *l = hfi_job_state(job, &labels_class);
    if (l == NULL)
        return hfi_error(err, HF_E_ARGUMENT, "the job computes no labels");
    hf_status s = hfi_job_outcome(job, err);
    if (s != HF_OK)
        return s;
    *out = (hf_space_labels){.size = sizeof *out,
                             .labels = l->out,
                             .first = l->first,
                             .count = l->count,
                             .has_nonce = l->found,
                             .nonce = l->nonce};
    if (l->found)
        memcpy(out->nonce_output, l->difficulty, 32);
    return HF_OK;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * bench.c: labels a second, through the labeler that initialisation uses.
 * Warms up until the labeler has had time to choose its shape, lets all work
 * drain, then counts whole batches from an idle start to an idle end.
 */
#include "space/space.h"

#include <string.h>

#define BATCHES    3u
#define BATCH_NS   UINT64_C(50000000)
#define WARM_UP_NS UINT64_C(500000000)
#define MAX_BATCH  UINT32_C(65536)
#define DEFAULT_MS 2000u
#define MAX_MS     3600000u

typedef struct bench_run {
    hfi_env env;
    hf_job *job;
    hfi_kernels kernels;
    hfi_labeler *labeler;
    uint32_t workers;
    hfi_label_run label_run;
    uint64_t duration_ns;
    bool opened;
    bool measuring;
    uint64_t begin_ns; /* of the phase */
    uint64_t end_ns;   /* of its last batch */
    uint64_t labels;   /* of the phase */
    uint64_t next;
    hfi_label_batch batch[BATCHES];
    bool busy[BATCHES];
    hf_space_bench_outcome outcome;
} bench_run;

static uint32_t batch_size(const bench_run *r)
{
    double rate = r->labels > 0 && r->end_ns > r->begin_ns
                      ? (double)r->labels * 1e9 /
                            (double)(r->end_ns - r->begin_ns)
                      : hfi_labeler_cpu_rate(r->labeler, r->label_run.log_n);
    double size = rate * (double)BATCH_NS / 1e9;
    if (size > (double)MAX_BATCH)
        return MAX_BATCH;
    uint32_t least = r->workers * 16;
    if (r->label_run.log_n > 16)
        least = r->workers;
    return size < (double)least ? least : (uint32_t)size;
}

static hf_status open_batches(bench_run *r, hf_error *err)
{
    r->opened = true;
    r->begin_ns = hfi_now_ns();
    hfi_job_phase(r->job, "warming up", "labels", 0, 0);
    for (uint32_t i = 0; i < BATCHES; i++) {
        hfi_label_batch *b = &r->batch[i];
        b->run = &r->label_run;
        b->labels = hfi_calloc(&r->env, MAX_BATCH, HFI_LABEL_BYTES);
        if (b->labels == NULL)
            return hfi_error(err, HF_E_MEMORY, "no memory for labels");
        hf_status s = r->labeler->ops->batch_init(r->labeler, b, MAX_BATCH,
                                                  err);
        if (s != HF_OK)
            return s;
    }
    return HF_OK;
}

static bool phase_over(const bench_run *r)
{
    uint64_t length = r->measuring ? r->duration_ns : WARM_UP_NS;
    return hfi_now_ns() - r->begin_ns >= length;
}

/* Counts what has ended; issues the next batches until the phase is over.
 * Returns whether any is still at the labeler. */
static bool run_batches(bench_run *r, bool issue, hf_error *err)
{
    bool any = false;
    for (uint32_t i = 0; i < BATCHES; i++) {
        hfi_label_batch *b = &r->batch[i];
        if (r->busy[i] && r->labeler->ops->idle(r->labeler, b)) {
            r->busy[i] = false;
            if (b->status != HF_OK)
                *err = b->error;
            r->labels += b->count;
            if (b->ended_ns > r->end_ns)
                r->end_ns = b->ended_ns;
        }
        if (issue && !r->busy[i] && err->code == HF_OK && !phase_over(r)) {
            b->first = r->next;
            b->count = batch_size(r);
            r->next += b->count;
            r->busy[i] = true;
            r->labeler->ops->submit(r->labeler, b, r->job);
        }
        any = any || r->busy[i];
    }
    hfi_job_advance(r->job, r->labels);
    return any;
}

static void begin_measuring(bench_run *r)
{
    r->measuring = true;
    r->labels = 0;
    r->begin_ns = r->end_ns = hfi_now_ns();
    hfi_job_phase(r->job, "measuring", "labels", 0, 0);
}

static void fill_outcome(bench_run *r)
{
    hf_space_bench_outcome *o = &r->outcome;
    const hfi_label_kernel *k = r->kernels.label;
    o->workers = r->workers;
    o->kernel = k->name;
    o->labels_in_flight = hfi_labeler_cpu_lanes(r->labeler, r->label_run.log_n);
    for (uint32_t i = 0; i < k->shape_count; i++)
        if (k->shapes[i].lanes == o->labels_in_flight)
            o->scratch_bytes = hfi_label_scratch_bytes(&k->shapes[i],
                                                       r->label_run.log_n);
    if (r->end_ns > r->begin_ns)
        o->labels_per_second = (double)r->labels * 1e9 /
                               (double)(r->end_ns - r->begin_ns);
}

static hfi_step end_bench(bench_run *r)
{
    hf_error ignored = {0};
    if (run_batches(r, false, &ignored))
        return HFI_STEP_WAIT;
    for (uint32_t i = 0; i < BATCHES; i++) {
        if (r->batch[i].priv != NULL)
            r->labeler->ops->batch_wipe(r->labeler, &r->batch[i]);
        hfi_free(&r->env, r->batch[i].labels);
        r->batch[i].labels = NULL;
    }
    return HFI_STEP_DONE;
}

static hfi_step bench_step(hf_job *job, void *state)
{
    bench_run *r = state;
    hf_error err = {0};
    r->job = job;
    if (hfi_job_cancelled(job) || hfi_job_failed(job))
        return end_bench(r);
    hf_status s = r->opened ? HF_OK : open_batches(r, &err);
    if (s == HF_OK && run_batches(r, true, &err))
        return HFI_STEP_WAIT;
    if (err.code != HF_OK) {
        (void)hfi_job_fail(job, &err);
        return end_bench(r);
    }
    if (!r->measuring) {
        begin_measuring(r);
        return HFI_STEP_AGAIN;
    }
    fill_outcome(r);
    return end_bench(r);
}

static void bench_destroy(void *state)
{
    bench_run *r = state;
    hfi_env env = r->env;
    hfi_free(&env, r);
}

static const hfi_job_class bench_class = {
    .name = "measuring", .step = bench_step, .destroy = bench_destroy};

static hf_status check_bench_call(hf_context *ctx, hf_job **job,
                                  const hf_space_bench_opts *o, uint32_t *log_n,
                                  hf_error *err)
{
    hf_status s = hfi_context_check(ctx, err);
    if (s != HF_OK)
        return s;
    if (job == NULL)
        return hfi_error(err, HF_E_ARGUMENT, "job is NULL");
    if (o->size < sizeof *o)
        return hfi_error(err, HF_E_ARGUMENT,
                         "opts->size is %zu: set it to "
                         "sizeof(hf_space_bench_opts)",
                         o->size);
    if (o->duration_ms > MAX_MS)
        return hfi_error(err, HF_E_ARGUMENT,
                         "duration is %u ms: give at most %u", o->duration_ms,
                         MAX_MS);
    return hfi_space_log_n(log_n, o->scrypt_n != 0 ? o->scrypt_n : 8192, err);
}

hf_status hf_space_bench_start(hf_context *ctx, hf_job **job,
                               const hf_space_bench_opts *opts, hf_error *err)
{
    static const hf_space_bench_opts defaults = {.size = sizeof defaults};
    const hf_space_bench_opts *o = opts != NULL ? opts : &defaults;
    uint32_t log_n;
    hf_status s = check_bench_call(ctx, job, o, &log_n, err);
    if (s != HF_OK)
        return s;
    const hfi_env *env = hfi_context_env(ctx);
    hfi_sched *sched = hfi_context_sched(ctx);
    bench_run *r = hfi_calloc(env, 1, sizeof *r);
    if (r == NULL)
        return hfi_error(err, HF_E_MEMORY, "no memory for a job");
    r->env = *env;
    r->kernels = *hfi_context_kernels(ctx);
    r->labeler = hfi_context_cpu_labeler(ctx);
    r->workers = hfi_sched_workers(sched);
    r->label_run.log_n = log_n;
    r->duration_ns = (uint64_t)(o->duration_ms != 0 ? o->duration_ms
                                                    : DEFAULT_MS) *
                     1000000u;
    hfi_job_need need = {
        .bytes = sizeof *r + BATCHES * MAX_BATCH * HFI_LABEL_BYTES,
        .scratch = hfi_labeler_cpu_scratch(&r->kernels, log_n)};
    s = hfi_job_start(job, sched, &bench_class, r, &need, o->job.priority,
                      o->job.user, err);
    if (s != HF_OK)
        bench_destroy(r);
    return s;
}

hf_status hf_space_bench_result(const hf_job *job, hf_space_bench_outcome *out,
                                hf_error *err)
{
    if (job == NULL || out == NULL)
        return hfi_error(err, HF_E_ARGUMENT, "%s is NULL",
                         job == NULL ? "job" : "out");
    if (out->size < sizeof *out)
        return hfi_error(err, HF_E_ARGUMENT,
                         "out->size is %zu: set it to "
                         "sizeof(hf_space_bench_outcome)",
                         out->size);
    const bench_run *r = hfi_job_state(job, &bench_class);
    if (r == NULL)
        return hfi_error(err, HF_E_ARGUMENT, "the job is no measurement");
    hf_status s = hfi_job_outcome(job, err);
    if (s != HF_OK)
        return s;
    size_t size = out->size;
    *out = r->outcome;
    out->size = size;
    return HF_OK;
}

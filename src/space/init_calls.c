/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * init_calls.c: the public calls of initialisation.
 *
 * Every byte input is copied into the run before the call returns; the run
 * belongs to the job from a start that succeeded.
 */
#include "space/init.h"

static void init_destroy(void *state)
{
    hfi_init_run *r = state;
    hfi_env env = r->env;
    hfi_free(&env, r->dir);
    hfi_free(&env, r);
}

static const hfi_job_class init_class = {
    .name = "initialisation", .step = hfi_init_step, .destroy = init_destroy};

static hfi_init_host host_of(hf_context *ctx)
{
    hfi_sched *s = hfi_context_sched(ctx);
    return (hfi_init_host){.env = hfi_context_env(ctx),
                           .kernels = hfi_context_kernels(ctx),
                           .workers = hfi_sched_workers(s),
                           .memory_budget = hfi_sched_memory_budget(s)};
}

static hf_status check_call(const hf_context *ctx, const void *out,
                            const char *dir, const void *opts, hf_error *err)
{
    const char *missing = out == NULL    ? "the output"
                          : dir == NULL  ? "dir"
                          : opts == NULL ? "opts"
                                         : NULL;
    hf_status s = hfi_context_check(ctx, err);
    if (s != HF_OK)
        return s;
    if (missing != NULL)
        return hfi_error(err, HF_E_ARGUMENT, "%s is NULL", missing);
    if (dir[0] == '\0')
        return hfi_error(err, HF_E_ARGUMENT,
                         "dir is empty: give the path of a folder");
    return HF_OK;
}

static void fill_plan(hf_space_plan *out, const hfi_init_plan *p,
                      uint32_t workers)
{
    uint64_t labels = p->end_label - p->first_label;
    *out = (hf_space_plan){
        .size = out->size,
        .meta = p->meta,
        .scrypt_n = UINT64_C(1) << p->log_n,
        .exists = p->exists,
        .first_file = p->first_file,
        .last_file = p->last_file,
        .labels_total = labels,
        .labels_stored = p->labels_stored,
        .bytes_to_write = (labels - p->labels_stored) * HFI_LABEL_BYTES,
        .bytes_free = p->bytes_free,
        .memory_bytes = p->need.bytes + workers * p->need.scratch};
}

hf_status hf_space_init_plan(hf_context *ctx, hf_space_plan *out,
                             const char *dir, const hf_space_init_opts *opts,
                             hf_error *err)
{
    hfi_init_want want;
    hfi_init_plan p;
    hf_status s = check_call(ctx, out, dir, opts, err);
    if (s != HF_OK)
        return s;
    if (out->size < sizeof *out)
        return hfi_error(err, HF_E_ARGUMENT,
                         "out->size is %zu: set it to sizeof(hf_space_plan)",
                         out->size);
    hfi_init_host host = host_of(ctx);
    s = hfi_init_want_copy(&want, opts, err);
    if (s == HF_OK)
        s = hfi_init_plan_make(&p, &host, dir, &want, err);
    if (s != HF_OK)
        return s;
    fill_plan(out, &p, host.workers);
    hfi_init_plan_wipe(&p, host.env);
    return HF_OK;
}

static void embed(hfi_init_run *r)
{
    r->claim.file = HFI_FILE_CLOSED;
    r->check.in = HFI_FILE_CLOSED;
    r->writer.run = r;
    r->writer.leaf.run = hfi_files_write;
    r->writer.leaf.kind = HFI_LEAF_IO;
    r->point.run = r;
    r->point.leaf.run = hfi_files_checkpoint;
    r->point.leaf.kind = HFI_LEAF_IO;
    for (uint32_t i = 0; i < HFI_INIT_SLOTS; i++)
        r->slot[i].file = HFI_FILE_CLOSED;
    for (uint32_t i = 0; i < HFI_INIT_WINDOW; i++) {
        r->batch[i].run = r;
        r->batch[i].check.run = hfi_init_check_samples;
        r->batch[i].check.kind = HFI_LEAF_CPU;
    }
}

/* The N that the memory is reserved for; the job itself looks closer. */
static uint64_t likely_n(const hfi_env *env, const char *dir,
                         const hfi_init_want *w)
{
    hfi_sidecar s = {0};
    uint64_t n = w->scrypt_n;
    if (n == 0 && hfi_sidecar_load(&s, env, dir, NULL) == HF_OK)
        n = s.scrypt_n;
    hfi_sidecar_wipe(&s, env);
    return n != 0 ? n : 8192;
}

static hf_status new_run(hfi_init_run **out, hf_context *ctx, const char *dir,
                         const hfi_init_want *want, hf_error *err)
{
    const hfi_env *env = hfi_context_env(ctx);
    hfi_init_run *r = hfi_calloc(env, 1, sizeof *r);
    if (r == NULL)
        return hfi_error(err, HF_E_MEMORY, "no memory for a job");
    r->env = *env;
    r->dir = hfi_strdup(env, dir);
    hf_status s = hfi_random(&r->random, sizeof r->random, err);
    if (r->dir == NULL)
        s = hfi_error(err, HF_E_MEMORY, "no memory for a path");
    if (s != HF_OK) {
        init_destroy(r);
        return s;
    }
    r->sched = hfi_context_sched(ctx);
    r->kernels = *hfi_context_kernels(ctx);
    r->labeler = hfi_context_cpu_labeler(ctx);
    r->want = *want;
    r->host = host_of(ctx);
    r->host.env = &r->env;
    r->host.kernels = &r->kernels;
    embed(r);
    *out = r;
    return HF_OK;
}

hf_status hf_space_init_start(hf_context *ctx, hf_job **job, const char *dir,
                              const hf_space_init_opts *opts, hf_error *err)
{
    hfi_init_want want;
    hfi_init_run *r = NULL;
    hfi_job_need need;
    uint32_t max_batch;
    uint32_t log_n = 13;
    hf_status s = check_call(ctx, job, dir, opts, err);
    if (s == HF_OK)
        s = hfi_init_want_copy(&want, opts, err);
    if (s == HF_OK)
        s = new_run(&r, ctx, dir, &want, err);
    if (s != HF_OK)
        return s;
    (void)hfi_space_log_n(&log_n, likely_n(&r->env, dir, &want), NULL);
    hfi_init_memory(&need, &max_batch, &r->host, log_n, &want);
    hf_priority priority = opts->job.priority != HF_PRIORITY_DEFAULT
                               ? opts->job.priority
                               : HF_PRIORITY_BACKGROUND;
    s = hfi_job_start(job, r->sched, &init_class, r, &need, priority,
                      opts->job.user, err);
    if (s != HF_OK)
        init_destroy(r);
    return s;
}

static double seconds(uint64_t ns)
{
    return (double)ns / 1e9;
}

hf_status hf_space_init_result(const hf_job *job, hf_space_init_outcome *out,
                               hf_error *err)
{
    hf_progress p = {.size = sizeof p};
    if (job == NULL || out == NULL)
        return hfi_error(err, HF_E_ARGUMENT, "%s is NULL",
                         job == NULL ? "job" : "out");
    if (out->size < sizeof *out)
        return hfi_error(err, HF_E_ARGUMENT,
                         "out->size is %zu: set it to "
                         "sizeof(hf_space_init_outcome)",
                         out->size);
    const hfi_init_run *r = hfi_job_state(job, &init_class);
    if (r == NULL)
        return hfi_error(err, HF_E_ARGUMENT, "the job is no initialisation");
    hf_status s = hf_job_progress(job, &p);
    if (s != HF_OK)
        return hfi_error(err, s, "the job cannot be asked here");
    if (!p.finished)
        return hfi_error(err, HF_E_BUSY, "the initialisation still runs");
    *out = (hf_space_init_outcome){.size = out->size,
                                   .meta = r->stored_meta,
                                   .labels_found = r->labels_found,
                                   .labels_written = r->labels_written,
                                   .labels_beyond = r->labels_beyond,
                                   .bytes_torn = r->bytes_torn};
    out->meta.size = sizeof out->meta;
    if (r->labels_end_ns > r->labels_begin_ns)
        out->labels_per_second = (double)r->labels_written /
                                 seconds(r->labels_end_ns - r->labels_begin_ns);
    return HF_OK;
}

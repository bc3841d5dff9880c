/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * warm.c: RandomX memory made ahead of the job that needs it, so that the job
 * neither waits for it nor fails for want of it.
 */
#include "space/space.h"

typedef struct warming {
    hfi_sched *sched;
    bool ready;
    hfi_pow_use use;
} warming;

static hf_status advance(warming *w, hf_job *job, hf_error *err)
{
    switch (hfi_pow_use_step(&w->use, job, err)) {
    case HFI_POW_WAIT:
        return HF_OK;
    case HFI_POW_FAILED:
        return err->code != HF_OK ? err->code : HF_E_INTERNAL;
    default:
        w->ready = true;
        return HF_OK;
    }
}

static hfi_step warm_step(hf_job *job, void *state)
{
    warming *w = state;
    bool stop = hfi_job_failed(job) || (!w->ready && hfi_job_cancelled(job));
    if (!stop && !w->ready) {
        hf_error err = {0};
        if (advance(w, job, &err) != HF_OK) {
            hfi_job_fail(job, &err);
            stop = true;
        }
    }
    if ((!stop && !w->ready) || hfi_job_outstanding(job) > 0)
        return HFI_STEP_WAIT;
    hfi_pow_use_wipe(&w->use);
    return HFI_STEP_DONE;
}

static void warm_destroy(void *state)
{
    warming *w = state;
    const hfi_env env = *hfi_sched_env(w->sched);
    hfi_pow_use_wipe(&w->use); /* of a job that was never stepped */
    hfi_free(&env, w);
}

static const hfi_job_class warm_class = {
    .name = "set-up of RandomX", .step = warm_step, .destroy = warm_destroy};

static hf_status start(hf_context *ctx, hf_job **job,
                       const hf_space_warm_opts *o, hf_error *err)
{
    static const hfi_pow_mode modes[] = {
        [HF_SPACE_RANDOMX_AUTO] = HFI_POW_AUTO,
        [HF_SPACE_RANDOMX_FAST] = HFI_POW_FAST,
        [HF_SPACE_RANDOMX_LIGHT] = HFI_POW_LIGHT};
    hfi_sched *sched = hfi_context_sched(ctx);
    if (o->size != sizeof *o)
        return hfi_error(err, HF_E_ARGUMENT, "opts->size is %zu, wanted %zu",
                         o->size, sizeof *o);
    if ((unsigned)o->randomx > HF_SPACE_RANDOMX_LIGHT)
        return hfi_error(err, HF_E_ARGUMENT,
                         "opts->randomx is %u, wanted 0 to 2",
                         (unsigned)o->randomx);
    warming *w = hfi_calloc(hfi_sched_env(sched), 1, sizeof *w);
    if (w == NULL)
        return hfi_error(err, HF_E_MEMORY, "no memory for a job");
    w->sched = sched;
    hf_status s = hfi_pow_use_init(&w->use, hfi_context_pow(ctx),
                                   modes[o->randomx], o->large_pages, err);
    if (s == HF_OK) {
        hfi_job_need need = {.bytes = sizeof *w,
                             .held = hfi_pow_use_need(&w->use)};
        s = hfi_job_start(job, sched, &warm_class, w, &need, o->job.priority,
                          o->job.user, err);
    }
    if (s != HF_OK)
        warm_destroy(w);
    return s;
}

hf_status hf_space_warm_start(hf_context *ctx, hf_job **job,
                              const hf_space_warm_opts *opts, hf_error *err)
{
    static const hf_space_warm_opts defaults = HF_SPACE_WARM_OPTS_INIT;
    hf_status s = hfi_context_check(ctx, err);
    if (s == HF_OK && job == NULL)
        s = hfi_error(err, HF_E_ARGUMENT, "job is NULL");
    if (s == HF_OK)
        s = start(ctx, job, opts != NULL ? opts : &defaults, err);
    if (s != HF_OK)
        return hfi_error_wrap(err, s, "cannot set up RandomX");
    return HF_OK;
}

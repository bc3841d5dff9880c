/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Jobs of the added interface: what does not depend on their work. */
#include "post_internal.h"

static void destroy(hfp_handle *h)
{
    hf_post_job *j = (hf_post_job *)(void *)h;
    /* RandomX memory goes back only when nothing runs in it any more. */
    if (j->randomx) {
        hf_job_cancel(j->job);
        hf_status end = hf_job_wait(j->job, UINT64_MAX, NULL);
        (void)end;
    }
    hf_job_free(j->job);
    if (j->randomx)
        hfp_randomx_leave(j->dataset);
    hf_context_close(j->own);
    free(j);
}

hf_post_job *hfp_job_new(hfp_work work, hf_job *job, hf_error *err)
{
    hf_post_job *j = calloc(1, sizeof *j);
    if (j == NULL) {
        hf_job_free(job);
        hfp_error(err, HF_E_MEMORY, "no memory for a job");
        return NULL;
    }
    j->work = work;
    j->job = job;
    hfp_handle_add(&j->handle, j, HFP_JOB, destroy);
    return j;
}

hf_post_job *hfp_job_get(hf_post_job *job, hfp_work work, hf_error *err)
{
    if (err != NULL)
        *err = (hf_error){0};
    hf_post_job *j = hfp_handle_get(job, HFP_JOB);
    if (j == NULL) {
        hfp_error(err, HF_E_ARGUMENT, "job is NULL, or was freed");
        return NULL;
    }
    if (work != 0 && j->work != work) {
        hfp_error(err, HF_E_ARGUMENT, "the job does other work");
        hfp_handle_put(j);
        return NULL;
    }
    return j;
}

hf_status hf_post_job_progress(hf_post_job *job, hf_progress *out)
{
    hf_post_job *j = hfp_job_get(job, 0, NULL);
    if (j == NULL || out == NULL) {
        hfp_handle_put(j);
        return HF_E_ARGUMENT;
    }
    hf_status s = HF_OK;
    if (j->job != NULL) {
        s = hf_job_progress(j->job, out);
    } else if (out->size < sizeof *out) {
        s = HF_E_ARGUMENT;
    } else {
        *out = (hf_progress){.size = out->size,
                             .phase = "check",
                             .unit = "labels",
                             .finished = true};
    }
    hfp_handle_put(j);
    return s;
}

void hf_post_job_cancel(hf_post_job *job)
{
    hf_post_job *j = hfp_job_get(job, 0, NULL);
    if (j != NULL)
        hf_job_cancel(j->job);
    hfp_handle_put(j);
}

hf_status hf_post_job_wait(hf_post_job *job, uint64_t timeout_ms, hf_error *err)
{
    hf_post_job *j = hfp_job_get(job, 0, err);
    if (j == NULL)
        return HF_E_ARGUMENT;
    hf_status s = j->job != NULL ? hf_job_wait(j->job, timeout_ms, err) : HF_OK;
    hfp_handle_put(j);
    return s;
}

void hf_post_job_free(hf_post_job *job)
{
    hf_post_job *j = hfp_job_get(job, 0, NULL);
    if (j == NULL)
        return;
    hf_job_cancel(j->job); /* for those who wait for it */
    (void)hfp_handle_drop(job, HFP_JOB);
    hfp_handle_put(j);
}

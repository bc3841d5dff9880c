/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * sched.urgent: what an initialisation costs an urgent job that comes while it
 * runs. The same labels are computed as an urgent job alone and beside endless
 * background labels; every worker is then in the middle of a leaf.
 */
#include <holdfast/context.h>
#include <holdfast/space.h>

#include "bench.h"

enum { N = 8192, FIRST_LABELS = 512, ENDLESS = 1 << 22 };

static hf_status start(hf_context *ctx, hf_job **job, uint64_t count,
                       hf_priority priority, hf_error *err)
{
    const uint8_t commitment[32] = {0};
    hf_space_labels_opts opts = HF_SPACE_LABELS_OPTS_INIT;
    opts.scrypt_n = N;
    opts.job.priority = priority;
    return hf_space_labels_start(ctx, job, commitment, 0, count, &opts, err);
}

/* Milliseconds of an urgent job of so many labels; negative: failed. */
static double urgent_ms(hf_context *ctx, uint64_t count, hf_error *err)
{
    hf_job *job = NULL;
    uint64_t begin = hfi_now_ns();
    hf_status s = start(ctx, &job, count, HF_PRIORITY_URGENT, err);
    if (s == HF_OK)
        s = hf_job_wait(job, UINT64_MAX, err);
    uint64_t end = hfi_now_ns();
    hf_job_free(job);
    return s == HF_OK ? (double)(end - begin) / 1e6 : -1;
}

static double beside_ms(hf_context *ctx, uint64_t count, hf_error *err)
{
    hf_job *background = NULL;
    if (start(ctx, &background, ENDLESS, HF_PRIORITY_BACKGROUND, err) != HF_OK)
        return -1;
    hfi_sleep_ms(100); /* until every worker is at it */
    double ms = urgent_ms(ctx, count, err);
    hf_error stopped;
    hf_job_cancel(background);
    hf_status s = hf_job_wait(background, UINT64_MAX, &stopped);
    hf_job_free(background);
    return s == HF_E_CANCELLED ? ms : -1;
}

static int run_rounds(hf_context *ctx, const struct bench_opts *opts,
                      hf_error *err)
{
    double beside[BENCH_ROUNDS_MOST], ratios[BENCH_ROUNDS_MOST];
    uint64_t count = FIRST_LABELS;
    /* The first one also measures shapes; then as long as asked. */
    double ms = urgent_ms(ctx, count, err);
    if (ms > 0)
        ms = urgent_ms(ctx, count, err);
    if (ms > 0 && ms < opts->ms)
        count = (uint64_t)((double)count * opts->ms / ms);
    for (uint32_t i = 0; i < opts->rounds; i++) {
        double alone = urgent_ms(ctx, count, err);
        beside[i] = beside_ms(ctx, count, err);
        if (alone <= 0 || beside[i] <= 0)
            return bench_fail("sched.urgent", "%s", err->message);
        ratios[i] = alone / beside[i];
    }
    const struct bench_line line = {.name = "sched.urgent",
                                    .variant = "labels beside labels",
                                    .threads = opts->threads,
                                    .unit = "ms",
                                    .against = "the same job alone"};
    bench_emit_ratios(&line, beside, ratios, opts->rounds);
    return 0;
}

int bench_sched_urgent(const struct bench_opts *opts)
{
    hf_context *ctx;
    hf_context_opts c = HF_CONTEXT_OPTS_INIT;
    hf_error err = {0};
    c.workers = opts->threads;
    if (hf_context_open(&ctx, &c, &err) != HF_OK)
        return bench_fail("sched.urgent", "%s", err.message);
    int rc = run_rounds(ctx, opts, &err);
    hf_context_close(ctx);
    return rc;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * sched.gap: how long the loop of a host is held up. A 1 ms timer is awaited on
 * this thread, alone and while a long job keeps every worker busy and short
 * urgent ones are started and taken on the loop; the worst distance of two
 * ticks counts.
 */
#include <holdfast/context.h>
#include <holdfast/space.h>

#include "bench.h"

#include <poll.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum {
    LEAST_MS = 500, /* of one measurement: worst cases take time to show */
    SHORT_EVERY = 25,
    SHORT_LABELS = 500,
    LONG_LABELS = 1 << 20
};

struct gap_loop {
    hf_context *ctx;
    int timer;
    uint64_t last_ns;
    uint64_t worst_ns;
    uint32_t ticks;
    uint32_t running;
    bool failed;
};

static void start_job(struct gap_loop *g, uint64_t count, uint64_t n,
                      hf_priority priority)
{
    const uint8_t commitment[32] = {0};
    hf_space_labels_opts opts = HF_SPACE_LABELS_OPTS_INIT;
    opts.scrypt_n = n;
    opts.job.priority = priority;
    hf_job *job;
    hf_status s = hf_space_labels_start(g->ctx, &job, commitment, 0, count,
                                        &opts, NULL);
    if (s == HF_OK)
        g->running++;
    else if (s != HF_E_BUSY)
        g->failed = true;
}

static void take_completions(struct gap_loop *g)
{
    hf_completion c;
    while (hf_context_next(g->ctx, &c)) {
        g->running--;
        if (c.status != HF_OK && c.status != HF_E_CANCELLED)
            g->failed = true;
        hf_job_free(c.job);
    }
}

static void tick(struct gap_loop *g, bool busy)
{
    uint64_t expirations;
    if (read(g->timer, &expirations, sizeof expirations) !=
        (ssize_t)sizeof expirations)
        return;
    uint64_t now = hfi_now_ns();
    if (now - g->last_ns > g->worst_ns)
        g->worst_ns = now - g->last_ns;
    g->last_ns = now;
    if (busy && ++g->ticks % SHORT_EVERY == 0)
        start_job(g, SHORT_LABELS, 64, HF_PRIORITY_URGENT);
}

static void turn(struct gap_loop *g, bool busy)
{
    struct pollfd fds[2] = {
        {.fd = g->timer, .events = POLLIN},
        {.fd = hf_context_event_fd(g->ctx), .events = POLLIN}};
    if (poll(fds, 2, -1) <= 0)
        return;
    if (fds[0].revents != 0)
        tick(g, busy);
    if (fds[1].revents != 0)
        take_completions(g);
}

/* Worst gap in milliseconds. */
static double measure(struct gap_loop *g, uint32_t ms, bool busy)
{
    if (busy)
        start_job(g, LONG_LABELS, 8192, HF_PRIORITY_BACKGROUND);
    hfi_sleep_ms(20); /* until the workers are at it */
    uint64_t start = hfi_now_ns();
    g->last_ns = start;
    g->worst_ns = 0;
    while (hfi_now_ns() - start < (uint64_t)ms * 1000000 && !g->failed)
        turn(g, busy);
    double worst = (double)g->worst_ns / 1e6;
    hf_context_cancel_all(g->ctx);
    while (g->running > 0)
        turn(g, false);
    return worst;
}

static int run_rounds(struct gap_loop *g, const struct bench_opts *opts)
{
    double busy[BENCH_ROUNDS_MOST], ratios[BENCH_ROUNDS_MOST];
    uint32_t ms = opts->ms > LEAST_MS ? opts->ms : LEAST_MS;
    for (uint32_t i = 0; i < opts->rounds; i++) {
        double alone = measure(g, ms, false);
        busy[i] = measure(g, ms, true);
        ratios[i] = busy[i] > 0 ? alone / busy[i] : 0;
    }
    if (g->failed)
        return bench_fail("sched.gap", "a job failed");
    const struct bench_line line = {
        .name = "sched.gap",
        .variant = "host loop, labels and short jobs",
        .threads = opts->threads,
        .unit = "ms",
        .against = "the loop alone"};
    bench_emit_ratios(&line, busy, ratios, opts->rounds);
    return 0;
}

int bench_sched_gap(const struct bench_opts *opts)
{
    const struct itimerspec each_ms = {{0, 1000000}, {0, 1000000}};
    struct gap_loop g = {0};
    hf_context_opts c = HF_CONTEXT_OPTS_INIT;
    c.workers = opts->threads;
    hf_error err;
    if (hf_context_open(&g.ctx, &c, &err) != HF_OK)
        return bench_fail("sched.gap", "%s", err.message);
    int rc = 1;
    g.timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (g.timer < 0 || timerfd_settime(g.timer, 0, &each_ms, NULL) != 0)
        bench_fail("sched.gap", "no timer");
    else
        rc = run_rounds(&g, opts);
    if (g.timer >= 0)
        close(g.timer);
    hf_context_close(g.ctx);
    return rc;
}

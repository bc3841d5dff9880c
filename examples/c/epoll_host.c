/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A host with an event loop of its own, here plain epoll, that lets holdfast
 * work beside it: a long job in the background, and every now and then a short
 * urgent one whose result is used. The loop never waits for any of them: it is
 * told by a descriptor that completions are there. A timer of one millisecond
 * shows how long the loop was ever held up.
 *
 *     epoll_host [run_ms [limit_ms]]
 *
 * Runs for `run_ms` and fails if the worst gap exceeds `limit_ms` (0: no limit).
 */
#include <holdfast/context.h>
#include <holdfast/space.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { URGENT_EVERY = 50, URGENT_LABELS = 500, URGENT_N = 64 };

struct host {
    hf_context *ctx;
    int epoll;
    int timer;
    uint64_t start_ns;
    uint64_t last_ns;  /* of the last tick */
    uint64_t worst_ns; /* between two ticks */
    uint64_t ticks;
    uint32_t running; /* jobs whose completion we wait for */
    uint32_t urgent;  /* short jobs that ended well */
    int failed;
};

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void complain(struct host *h, const char *what, const hf_error *err)
{
    fprintf(stderr, "epoll_host: %s: %s%s%s\n", what, err->message,
            err->cause[0] != '\0' ? ": " : "", err->cause);
    h->failed = 1;
}

/* Everything the start calls take is copied: nothing here must stay alive. */
static void start_labels(struct host *h, uint64_t count, uint64_t n,
                         hf_priority priority)
{
    const uint8_t commitment[32] = {1, 2, 3};
    hf_space_labels_opts opts = HF_SPACE_LABELS_OPTS_INIT;
    opts.scrypt_n = n;
    opts.job.priority = priority;
    opts.job.user = h; /* comes back with the completion */
    hf_job *job;
    hf_error err;
    hf_status s = hf_space_labels_start(h->ctx, &job, commitment, 0, count,
                                        &opts, &err);
    if (s == HF_E_BUSY)
        return; /* no place now: the next tick will do */
    if (s != HF_OK)
        complain(h, "cannot start a job", &err);
    else
        h->running++;
}

static void finish(struct host *h, const hf_completion *c)
{
    hf_space_labels labels = {.size = sizeof labels};
    hf_error err;
    h->running--;
    if (c->status == HF_E_CANCELLED)
        return;
    if (c->status != HF_OK) {
        complain(h, "a job failed", &c->error);
        return;
    }
    if (hf_space_labels_result(c->job, &labels, &err) != HF_OK) {
        complain(h, "no result", &err);
        return;
    }
    if (labels.count == URGENT_LABELS)
        h->urgent++;
    else /* the long job is done: once more */
        start_labels(h, labels.count, 8192, HF_PRIORITY_BACKGROUND);
}

/* The descriptor of the context is readable: take all there is, never wait. */
static void on_completions(struct host *h)
{
    hf_completion c;
    while (hf_context_next(h->ctx, &c)) {
        finish(c.user, &c);
        hf_job_free(c.job);
    }
}

static void on_tick(struct host *h)
{
    uint64_t expirations;
    if (read(h->timer, &expirations, sizeof expirations) !=
        (ssize_t)sizeof expirations)
        return;
    uint64_t now = now_ns();
    if (now - h->last_ns > h->worst_ns)
        h->worst_ns = now - h->last_ns;
    h->last_ns = now;
    if (h->ticks++ % URGENT_EVERY == 0)
        start_labels(h, URGENT_LABELS, URGENT_N, HF_PRIORITY_URGENT);
}

static int watch(struct host *h, int fd)
{
    struct epoll_event e = {.events = EPOLLIN, .data.fd = fd};
    return epoll_ctl(h->epoll, EPOLL_CTL_ADD, fd, &e);
}

static int open_loop(struct host *h)
{
    const struct itimerspec each_ms = {{0, 1000000}, {0, 1000000}};
    h->epoll = epoll_create1(EPOLL_CLOEXEC);
    h->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (h->epoll < 0 || h->timer < 0 || watch(h, h->timer) != 0 ||
        watch(h, hf_context_event_fd(h->ctx)) != 0 ||
        timerfd_settime(h->timer, 0, &each_ms, NULL) != 0) {
        fprintf(stderr, "epoll_host: %s\n", strerror(errno));
        return -1;
    }
    h->start_ns = h->last_ns = now_ns();
    return 0;
}

static void turn(struct host *h)
{
    struct epoll_event events[4];
    int n = epoll_wait(h->epoll, events, 4, -1);
    for (int i = 0; i < n; i++) {
        if (events[i].data.fd == h->timer)
            on_tick(h);
        else
            on_completions(h);
    }
}

static void run(struct host *h, uint64_t run_ms)
{
    start_labels(h, 20000, 8192, HF_PRIORITY_BACKGROUND);
    while (h->failed == 0 && now_ns() - h->start_ns < run_ms * 1000000)
        turn(h);
    /* Asks all jobs to stop; their completions still come through the loop. */
    struct itimerspec off = {{0, 0}, {0, 0}};
    timerfd_settime(h->timer, 0, &off, NULL);
    hf_context_cancel_all(h->ctx);
    while (h->running > 0)
        turn(h);
}

int main(int argc, char **argv)
{
    uint64_t run_ms = argc > 1 ? strtoull(argv[1], NULL, 10) : 3000;
    double limit_ms = argc > 2 ? strtod(argv[2], NULL) : 0;
    struct host h = {.epoll = -1, .timer = -1};
    hf_error err;
    if (hf_context_open(&h.ctx, NULL, &err) != HF_OK) {
        complain(&h, "cannot open a context", &err);
        return 1;
    }
    if (open_loop(&h) != 0)
        h.failed = 1;
    else
        run(&h, run_ms);
    hf_context_close(h.ctx);
    close(h.timer);
    close(h.epoll);

    double worst_ms = (double)h.worst_ns / 1e6;
    printf("worst gap of the 1 ms timer: %.2f ms in %" PRIu64
           " ticks, beside one long job and %u short ones\n",
           worst_ms, h.ticks, (unsigned)h.urgent);
    if (limit_ms > 0 && worst_ms > limit_ms) {
        fprintf(stderr, "epoll_host: the limit is %.2f ms\n", limit_ms);
        return 1;
    }
    return h.failed != 0 || h.urgent == 0;
}

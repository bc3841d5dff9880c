/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Hides poll, signals and the order of ending. Signals are read from a
 * descriptor, so no code of ours ever runs in a handler, and a job is told to
 * stop by the same thread that started it.
 */
#include "host.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum { TICK_MS = 100, PATIENCE_MS = 10000 };

static hf_status fail_os(hf_error *err, const char *what)
{
    *err = (hf_error){.code = HF_E_IO, .os_code = errno};
    snprintf(err->message, sizeof err->message, "%s", what);
    snprintf(err->cause, sizeof err->cause, "%s", strerror(errno));
    return HF_E_IO;
}

static hf_status open_signals(struct host *h, hf_error *err)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    if (sigprocmask(SIG_BLOCK, &set, NULL) != 0)
        return fail_os(err, "cannot block signals");
    h->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (h->signal_fd < 0)
        return fail_os(err, "cannot wait for signals");
    return HF_OK;
}

hf_status host_open(struct host *h, struct ui *ui, const struct args *args,
                    hf_error *err)
{
    *h = (struct host){.ui = ui, .args = args, .signal_fd = -1};
    hf_status s = open_signals(h, err);
    if (s != HF_OK)
        return s;
    hf_context_opts opts = HF_CONTEXT_OPTS_INIT;
    uint64_t threads = args_number(args, OPT_THREADS, 0);
    opts.workers = threads ? (uint32_t)threads : HF_WORKERS_AUTO;
    opts.kernel = args->opt[OPT_KERNEL].text;
    opts.memory_budget = args_number(args, OPT_MEMORY, 0);
    opts.log_level = args_has(args, OPT_VERBOSE) ? HF_LOG_INFO : HF_LOG_WARN;
    s = hf_context_open(&h->ctx, &opts, err);
    if (s != HF_OK)
        return s;
    uint64_t limit = args_number(args, OPT_DEADLINE, 0);
    h->deadline_ms = limit ? ui_now_ms() + limit : 0;
    return HF_OK;
}

static void take_logs(struct host *h)
{
    hf_log_record record;
    while (h->ctx && hf_context_next_log(h->ctx, &record))
        ui_log(h->ui, &record);
}

void host_close(struct host *h)
{
    hf_context_close(h->ctx);
    if (h->signal_fd >= 0)
        close(h->signal_fd);
    h->ctx = NULL;
    h->signal_fd = -1;
}

static void begin_stop(struct host *h, enum stop_reason reason)
{
    if (h->stop != STOP_NONE)
        return;
    h->stop = reason;
    h->stop_ms = ui_now_ms();
    if (h->ctx)
        hf_context_cancel_all(h->ctx);
    if (reason == STOP_SIGNAL)
        ui_say(h->ui, "stopping ...");
}

static void take_signals(struct host *h)
{
    struct signalfd_siginfo info;
    while (read(h->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        if (h->stop != STOP_NONE)
            ui_say(h->ui, "already stopping: what is computed is being "
                          "written, a moment please");
        begin_stop(h, STOP_SIGNAL);
    }
}

bool host_stopped(struct host *h)
{
    take_signals(h);
    take_logs(h);
    if (h->ui->failed)
        begin_stop(h, STOP_OUTPUT);
    if (h->deadline_ms && ui_now_ms() >= h->deadline_ms)
        begin_stop(h, STOP_DEADLINE);
    if (h->stop != STOP_NONE && !h->stop_waits &&
        ui_now_ms() - h->stop_ms >= PATIENCE_MS) {
        h->stop_waits = true;
        ui_say(h->ui, "still stopping: waiting for the disk or a device");
    }
    return h->stop != STOP_NONE;
}

static void wait_for_event(struct host *h)
{
    int timeout = TICK_MS;
    struct pollfd fds[2] = {
        {.fd = hf_context_event_fd(h->ctx), .events = POLLIN},
        {.fd = h->signal_fd, .events = POLLIN},
    };
    if (h->deadline_ms && h->stop == STOP_NONE) {
        uint64_t now = ui_now_ms();
        uint64_t left = h->deadline_ms > now ? h->deadline_ms - now : 0;
        timeout = left < TICK_MS ? (int)left : TICK_MS;
    }
    if (poll(fds, 2, timeout) < 0 && errno != EINTR)
        usleep(TICK_MS * 1000); /* no memory for poll: look again later */
}

hf_status host_wait(struct host *h, hf_job *job, bool show, hf_error *err)
{
    hf_completion c = {0};
    /* A stop between two jobs meets the second one here. */
    if (h->stop != STOP_NONE)
        hf_job_cancel(job);
    for (;;) {
        bool ended = false;
        while (!ended && hf_context_next(h->ctx, &c))
            ended = c.job == job;
        host_stopped(h);
        if (ended)
            break;
        hf_progress p = {.size = sizeof p};
        if (show && h->stop == STOP_NONE && hf_job_progress(job, &p) == HF_OK)
            ui_progress(h->ui, &p);
        wait_for_event(h);
    }
    ui_progress_end(h->ui);
    take_logs(h);
    *err = c.error;
    return c.status;
}

int host_error(struct host *h, const hf_error *err, const char *where,
               const char *advice, const char *again)
{
    take_logs(h);
    if (err->code != HF_E_CANCELLED || h->stop == STOP_NONE)
        return ui_error(h->ui, err, where, advice);
    if (h->stop == STOP_OUTPUT)
        return EXIT_IO; /* told at the end */
    hf_error stopped = {.code = HF_E_CANCELLED};
    snprintf(stopped.message, sizeof stopped.message, "%s",
             h->stop == STOP_DEADLINE ? "stopped: the deadline is reached"
                                      : "stopped as asked");
    if (h->ui->json)
        ui_error(h->ui, &stopped, where, NULL);
    else
        ui_stopped(h->ui, stopped.message, again);
    return h->stop == STOP_DEADLINE ? EXIT_DEADLINE : EXIT_INTERRUPTED;
}

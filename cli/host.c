/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Hides poll, signals and the order of ending. A handler only puts the signal
 * into a pipe; the loop reads it, so a job is told to stop by the same thread
 * that started it.
 */
#include "host.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { TICK_MS = 100, PATIENCE_MS = 10000 };

static hf_status fail_os(hf_error *err, const char *what)
{
    *err = (hf_error){.code = HF_E_IO, .os_code = errno};
    snprintf(err->message, sizeof err->message, "%s", what);
    snprintf(err->cause, sizeof err->cause, "%s", strerror(errno));
    return HF_E_IO;
}

/* Where the handler puts signals for the loop; one tool, one loop. */
static volatile sig_atomic_t signal_pipe = -1;

static void on_signal(int number)
{
    int saved = errno;
    char byte = (char)number;
    /* A full pipe holds enough of them. */
    if (write(signal_pipe, &byte, 1) < 0)
        errno = saved;
    errno = saved;
}

static bool prepare_end(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0 &&
           fcntl(fd, F_SETFD, FD_CLOEXEC) == 0;
}

static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
enum { NUMBERS = sizeof numbers / sizeof numbers[0] };

static hf_status open_signals(struct host *h, hf_error *err)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    if (pipe(h->signal_fd) != 0) {
        h->signal_fd[0] = h->signal_fd[1] = -1;
        return fail_os(err, "cannot make a pipe for signals");
    }
    if (!prepare_end(h->signal_fd[0]) || !prepare_end(h->signal_fd[1]))
        return fail_os(err, "cannot prepare a pipe for signals");
    signal_pipe = h->signal_fd[1];
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < NUMBERS; i++) {
        struct sigaction old;
        /* What whoever started us wants ignored stays so (nohup). */
        if (sigaction(numbers[i], NULL, &old) == 0 &&
            old.sa_handler == SIG_IGN && numbers[i] == SIGHUP)
            continue;
        if (sigaction(numbers[i], &action, NULL) != 0)
            return fail_os(err, "cannot wait for signals");
    }
    return HF_OK;
}

/* Later signals end the tool as usual. */
static void close_signals(struct host *h)
{
    if (h->signal_fd[0] < 0)
        return;
    for (size_t i = 0; i < NUMBERS; i++) {
        struct sigaction now;
        if (sigaction(numbers[i], NULL, &now) == 0 &&
            now.sa_handler == on_signal)
            signal(numbers[i], SIG_DFL);
    }
    signal_pipe = -1;
    close(h->signal_fd[0]);
    close(h->signal_fd[1]);
    h->signal_fd[0] = h->signal_fd[1] = -1;
}

hf_status host_open(struct host *h, struct ui *ui, const struct args *args,
                    hf_error *err)
{
    *h = HOST_CLOSED(ui, args);
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
    h->ctx = NULL;
    close_signals(h);
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
    char byte;
    while (h->signal_fd[0] >= 0 && read(h->signal_fd[0], &byte, 1) == 1) {
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
        {.fd = h->signal_fd[0], .events = POLLIN},
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

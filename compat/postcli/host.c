/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Hides poll and signals. Signals are read from a descriptor: no code of ours
 * runs in a handler, and a question is left by them as well as a job.
 */
#include "host.h"

#include "say.h"

#include <holdfast/space.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

enum { TICK_MS = 500, PROGRESS_SECONDS = 60 };

bool host_open_signals(struct host *h, const struct flags *f)
{
    sigset_t set;
    *h = (struct host){.flags = f, .signal_fd = -1};
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    if (sigprocmask(SIG_BLOCK, &set, NULL) == 0)
        h->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (h->signal_fd < 0)
        say("cannot wait for signals: %s", strerror(errno));
    return h->signal_fd >= 0;
}

hf_status host_open(struct host *h, hf_error *err)
{
    hf_context_opts opts = HF_CONTEXT_OPTS_INIT;
    opts.log_level = (hf_log_level)h->flags->log_level;
    return h->ctx != NULL ? HF_OK : hf_context_open(&h->ctx, &opts, err);
}

static void take_logs(struct host *h)
{
    hf_log_record record;
    while (h->ctx && hf_context_next_log(h->ctx, &record))
        note_record(h->flags->log_level, &record);
}

void host_close(struct host *h)
{
    take_logs(h);
    hf_context_close(h->ctx);
    if (h->signal_fd >= 0)
        close(h->signal_fd);
    h->ctx = NULL;
    h->signal_fd = -1;
}

static void take_signals(struct host *h)
{
    struct signalfd_siginfo info;
    while (read(h->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        h->stopped = true;
        hf_context_cancel_all(h->ctx);
    }
}

bool host_stopped(struct host *h)
{
    take_signals(h);
    return h->stopped;
}

static void tell_progress(const struct host *h, const hf_job *job, time_t *last)
{
    hf_progress p = {.size = sizeof p};
    time_t now = time(NULL);
    if (now - *last < PROGRESS_SECONDS || hf_job_progress(job, &p) != HF_OK)
        return;
    *last = now;
    note(h->flags->log_level, HF_LOG_INFO,
         "status\t{\"phase\": \"%s\", \"unit\": \"%s\", \"done\": %llu, "
         "\"total\": %llu, \"perSecond\": %.0f}",
         p.phase, p.unit, (unsigned long long)p.done,
         (unsigned long long)p.total, p.rate);
}

hf_status host_wait(struct host *h, hf_job *job, hf_error *err)
{
    hf_completion c = {0};
    time_t last = time(NULL);
    struct pollfd fds[2] = {
        {.fd = hf_context_event_fd(h->ctx), .events = POLLIN},
        {.fd = h->signal_fd, .events = POLLIN},
    };
    if (host_stopped(h))
        hf_job_cancel(job);
    for (bool ended = false; !ended;) {
        while (!ended && hf_context_next(h->ctx, &c))
            ended = c.job == job;
        take_signals(h);
        take_logs(h);
        if (ended)
            break;
        tell_progress(h, job, &last);
        if (poll(fds, 2, TICK_MS) < 0 && errno != EINTR)
            usleep(TICK_MS * 1000); /* no memory for poll: look again later */
    }
    *err = c.error;
    return c.status;
}

/* ---- questions ----------------------------------------------------------- */

/* One byte of standard input; false at its end, and at a signal. */
static bool next_byte(struct host *h, char *out)
{
    struct pollfd fds[2] = {
        {.fd = STDIN_FILENO, .events = POLLIN},
        {.fd = h->signal_fd, .events = POLLIN},
    };
    for (;;) {
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            return false;
        take_signals(h);
        if (h->stopped)
            return false;
        if (fds[0].revents == 0)
            continue;
        ssize_t n = read(STDIN_FILENO, out, 1);
        if (n == 1)
            return true;
        if (n == 0 || (errno != EINTR && errno != EAGAIN))
            return false;
    }
}

/* A line with nothing but a y, and blanks around it. */
static bool answer_is_yes(struct host *h)
{
    char c;
    int words = 0;
    bool fine = true;
    while (next_byte(h, &c) && c != '\n') {
        if (c == ' ' || c == '\t' || c == '\r')
            continue;
        fine = fine && words++ == 0 && (c == 'y' || c == 'Y');
    }
    return fine && words == 1 && !h->stopped;
}

bool host_ask(struct host *h, bool yes_counts)
{
    if (h->flags->yes && yes_counts)
        return true;
    say("Are you sure you want to continue (y/N)?");
    if (answer_is_yes(h))
        return true;
    say("Aborting");
    return false;
}

void host_warn_surplus(const struct host *h)
{
    hf_space_status st = {.size = sizeof st};
    hf_error err;
    if (hf_space_get_status(&st, h->flags->datadir, &err) != HF_OK ||
        st.files_surplus == 0)
        return;
    say("WARNING: %s has %u data file%s above the last: %u unit%s make%s %u "
        "file%s; what is above, %llu bytes, is left alone",
        h->flags->datadir, st.files_surplus, st.files_surplus == 1 ? "" : "s",
        st.meta.num_units, st.meta.num_units == 1 ? "" : "s",
        st.meta.num_units == 1 ? "s" : "", st.files_total,
        st.files_total == 1 ? "" : "s", (unsigned long long)st.bytes_surplus);
}

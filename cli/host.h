/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The tool as a host of the library: a context, a loop that waits for
 * completions, signals and the deadline, and the ways to end early.
 */
#ifndef CLI_HOST_H
#define CLI_HOST_H

#include <holdfast/context.h>

#include "args.h"
#include "ui.h"

enum stop_reason { STOP_NONE, STOP_SIGNAL, STOP_DEADLINE, STOP_OUTPUT };

struct host {
    struct ui *ui;
    const struct args *args;
    hf_context *ctx;
    int signal_fd[2];     /* a pipe; -1: none */
    uint64_t deadline_ms; /* monotonic; 0: none */
    enum stop_reason stop;
    uint64_t stop_ms;
    bool stop_waits; /* said that it takes long */
};

/* A host that host_close() accepts and that can tell errors. */
#define HOST_CLOSED(u, a)                                                      \
    ((struct host){.ui = (u), .args = (a), .signal_fd = {-1, -1}})

/* Takes over SIGINT, SIGTERM and SIGHUP, opens a context by the options
 * --threads, --kernel, --memory, --verbose. Errors are not yet told. */
hf_status host_open(struct host *h, struct ui *ui, const struct args *args,
                    hf_error *err);
/* Never called with a job that still runs. */
void host_close(struct host *h);

/*
 * Waits for the job, showing progress and log records; a signal or the
 * deadline cancels it. Returns its status. `show` false: no progress.
 */
hf_status host_wait(struct host *h, hf_job *job, bool show, hf_error *err);

/* Takes signals and log records that wait; true if it is time to stop. */
bool host_stopped(struct host *h);

/*
 * Tells a failure; a stop of ours as such, with `again` as the way to go on
 * (may be NULL). Returns the exit code.
 */
int host_error(struct host *h, const hf_error *err, const char *where,
               const char *advice, const char *again);

#endif

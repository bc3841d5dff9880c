/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The tool as a host of the library: context, signals, questions. */
#ifndef POSTCLI_HOST_H
#define POSTCLI_HOST_H

#include "flags.h"

#include <holdfast/context.h>

struct host {
    const struct flags *flags;
    hf_context *ctx;
    int signal_fd;
    bool stopped; /* a signal came */
};

/* SIGINT, SIGTERM and SIGHUP are taken from a descriptor from now on. */
bool host_open_signals(struct host *h, const struct flags *f);
hf_status host_open(struct host *h, hf_error *err);
void host_close(struct host *h);

/* Whether a signal has come. */
bool host_stopped(struct host *h);

/* Waits for the job, writing log lines; a signal cancels it. */
hf_status host_wait(struct host *h, hf_job *job, hf_error *err);

/* Asks whether to go on. True if -yes is given and `yes_counts`, or if y is
 * answered; else, and at a signal, it says that the run ends. */
bool host_ask(struct host *h, bool yes_counts);

/* Says which files lie above the last, if there are any. */
void host_warn_surplus(const struct host *h);

#endif

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What the tool says, and where: results on standard output, everything else
 * on standard error; with --json all of it on standard output, one object a
 * line. Exit codes.
 */
#ifndef CLI_UI_H
#define CLI_UI_H

#include <holdfast/context.h>
#include <holdfast/job.h>

#include "text.h"

enum exit_code {
    EXIT_FINE = 0,
    EXIT_FALSE = 1, /* a proof or a check does not hold */
    EXIT_ARGUMENT = 2,
    EXIT_DATA = 3,
    EXIT_IO = 4,
    EXIT_DEVICE = 5, /* and memory, and busy */
    EXIT_DEADLINE = 6,
    EXIT_INTERNAL = 70,
    EXIT_INTERRUPTED = 130
};

struct ui {
    bool json;
    bool quiet;
    bool results;  /* rows and words are what was asked for: standard output */
    bool terminal; /* standard error is one that can rewrite a line */
    bool color;
    bool utf8;
    bool failed;   /* standard output could not be written */
    int failed_os; /* errno of that */
    /* the progress line */
    bool line_open;
    const char *phase;
    uint64_t shown_ms; /* when progress was last shown, monotonic */
    uint64_t shown_tenth;
};

void ui_init(struct ui *ui, bool json);
uint64_t ui_now_ms(void); /* monotonic */

/* A result: one piece of standard output, as it stands. */
void ui_out(struct ui *ui, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Writes a finished JSON object as one line and frees it. */
void ui_json(struct ui *ui, struct text *t);
/* Everything on standard output has arrived, or EXIT_IO. */
int ui_finish(struct ui *ui, int code);

/* For people; nothing with --json, and only results with --quiet. */
void ui_say(struct ui *ui, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* "  name         value", for people, too */
void ui_row(struct ui *ui, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void ui_warn(struct ui *ui, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void ui_log(struct ui *ui, const hf_log_record *record);

/*
 * Says what failed, why, and what to try ("" or NULL: what the code suggests;
 * `where`, may be NULL, is the file that is meant). Returns the exit code.
 */
int ui_error(struct ui *ui, const hf_error *err, const char *where,
             const char *advice);
int ui_exit_code(hf_status status);
/* Says that the work was stopped, and how to go on (NULL: not at all). */
void ui_stopped(struct ui *ui, const char *message, const char *again);

/* The file of a set that an error speaks of; false: none. */
bool ui_file_named(char *out, size_t capacity, const hf_error *err);

/* Progress of a job; decides itself whether it is time to show it. */
void ui_progress(struct ui *ui, const hf_progress *p);
/* Takes the progress line away, so that something else can be said. */
void ui_progress_end(struct ui *ui);

#endif

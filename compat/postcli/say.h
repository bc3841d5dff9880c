/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What the tool says: program messages with date and time on standard error,
 * log lines on standard output.
 */
#ifndef POSTCLI_SAY_H
#define POSTCLI_SAY_H

#include <holdfast/context.h>

#include <stddef.h>

/* One line on standard error. */
__attribute__((format(printf, 1, 2))) void say(const char *format, ...);

/* "what message: cause", the last two of *err. */
void say_error(const char *what, const hf_error *err);

/* A log line on standard output, if `limit` lets that level pass. */
__attribute__((format(printf, 3, 4))) void note(int limit, hf_log_level level,
                                                const char *format, ...);
void note_record(int limit, const hf_log_record *record);

#endif

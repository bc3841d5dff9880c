/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Hides how lines look. */
#include "say.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

void say(const char *format, ...)
{
    char date[32] = "";
    time_t now = time(NULL);
    struct tm tm;
    va_list more;
    if (localtime_r(&now, &tm))
        strftime(date, sizeof date, "%Y/%m/%d %H:%M:%S ", &tm);
    va_start(more, format);
    fputs(date, stderr);
    vfprintf(stderr, format, more);
    fputc('\n', stderr);
    va_end(more);
    fflush(stderr);
}

void say_error(const char *what, const hf_error *err)
{
    say("%s %s%s%s", what, err->message, err->cause[0] ? ": " : "", err->cause);
}

static const char *level_name(hf_log_level level)
{
    switch (level) {
    case HF_LOG_ERROR:
        return "ERROR";
    case HF_LOG_WARN:
        return "WARN";
    case HF_LOG_INFO:
        return "INFO";
    default:
        return "DEBUG";
    }
}

static void begin_line(hf_log_level level, uint64_t time_ms)
{
    char date[32] = "", zone[16] = "";
    time_t seconds = (time_t)(time_ms / 1000);
    struct tm tm;
    if (localtime_r(&seconds, &tm)) {
        strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &tm);
        strftime(zone, sizeof zone, tm.tm_gmtoff ? "%z" : "Z", &tm);
    }
    printf("%s.%03u%s\t%s\t", date, (unsigned)(time_ms % 1000), zone,
           level_name(level));
}

void note(int limit, hf_log_level level, const char *format, ...)
{
    struct timespec now;
    va_list more;
    if ((int)level > limit)
        return;
    clock_gettime(CLOCK_REALTIME, &now);
    begin_line(level,
               (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000);
    va_start(more, format);
    vprintf(format, more);
    va_end(more);
    putchar('\n');
    fflush(stdout);
}

void note_record(int limit, const hf_log_record *record)
{
    if ((int)record->level > limit)
        return;
    begin_line(record->level, record->time_ms);
    printf("%s: %s\n", record->module, record->text);
    fflush(stdout);
}

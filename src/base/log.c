/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * log.c: level test and bounded ring of records.
 *
 * Invariant: taken <= put <= taken + capacity; records keep their order, and a
 * lost one is counted in the next that found room. No lock is held while the
 * host's functions run.
 */
#include "base/internal.h"

#include <stdio.h>
#include <string.h>

#define DEFAULT_CAPACITY 256u

struct hfi_log {
    hfi_alloc alloc;
    hfi_log_opts opts;
    hfi_mutex lock;
    hfi_log_record *ring; /* NULL with a sink */
    uint32_t capacity;
    uint64_t put;
    uint64_t taken;
    uint32_t dropped; /* since the last record put */
};

hf_status hfi_log_new(hfi_log **out, const hfi_alloc *alloc,
                      const hfi_log_opts *opts, hf_error *err)
{
    hfi_env env = {0};
    if (alloc != NULL)
        env.alloc = *alloc;
    hfi_log *log = hfi_calloc(&env, 1, sizeof *log);
    if (log == NULL)
        return hfi_error(err, HF_E_MEMORY, "no memory for the log");
    log->alloc = env.alloc;
    if (opts != NULL)
        log->opts = *opts;
    uint32_t capacity = log->opts.capacity;
    if (capacity == 0)
        capacity = DEFAULT_CAPACITY;
    log->capacity = capacity;
    if (log->opts.sink == NULL && log->opts.level != HFI_LOG_OFF) {
        log->ring = hfi_calloc(&env, capacity, sizeof *log->ring);
        if (log->ring == NULL) {
            hfi_free(&env, log);
            return hfi_error(err, HF_E_MEMORY,
                             "no memory for a log of %u records",
                             (unsigned)capacity);
        }
    }
    hf_status s = hfi_mutex_init(&log->lock, err);
    if (s != HF_OK) {
        hfi_free(&env, log->ring);
        hfi_free(&env, log);
        return s;
    }
    *out = log;
    return HF_OK;
}

void hfi_log_free(hfi_log *log)
{
    if (log == NULL)
        return;
    hfi_env env = {.alloc = log->alloc};
    hfi_mutex_destroy(&log->lock);
    hfi_free(&env, log->ring);
    hfi_free(&env, log);
}

bool hfi_log_on(const hfi_log *log, hfi_log_level level)
{
    return log != NULL && level != HFI_LOG_OFF && level <= log->opts.level;
}

static bool put_record(hfi_log *log, hfi_log_record *r)
{
    bool room;
    hfi_lock(&log->lock);
    room = log->put - log->taken < log->capacity;
    if (room) {
        r->dropped = log->dropped;
        log->dropped = 0;
        log->ring[log->put++ % log->capacity] = *r;
    } else if (log->dropped < UINT32_MAX)
        log->dropped++;
    hfi_unlock(&log->lock);
    return room;
}

void hfi_logf(hfi_log *log, hfi_log_level level, const char *module,
              const char *fmt, ...)
{
    if (!hfi_log_on(log, level))
        return;
    char raw[2 * HFI_LOG_TEXT];
    hfi_log_record r = {.time_ms = hfi_wall_ms(), .level = level};
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(raw, sizeof raw, fmt, args);
    va_end(args);
    hfi_one_line(r.text, sizeof r.text, n < 0 ? "(unprintable)" : raw);
    hfi_one_line(r.module, sizeof r.module, module);
    if (log->opts.sink != NULL)
        log->opts.sink(log->opts.sink_user, &r);
    else if (put_record(log, &r) && log->opts.on_record != NULL)
        log->opts.on_record(log->opts.on_record_user);
}

bool hfi_log_next(hfi_log *log, hfi_log_record *out)
{
    if (log == NULL || log->ring == NULL)
        return false;
    hfi_lock(&log->lock);
    bool some = log->put > log->taken;
    if (some)
        *out = log->ring[log->taken++ % log->capacity];
    hfi_unlock(&log->lock);
    return some;
}

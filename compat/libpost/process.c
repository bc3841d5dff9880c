/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What a process has one of. Invariant: all of it is guarded by one lock, which
 * is never held across a call that computes or waits, and which a fork takes
 * first, so that a child finds it free and everything whole.
 */
#include "post_internal.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
    BUCKETS = 256,
    QUEUE_LENGTH = 16384, /* more threads than Go lets wait in C */
    WORKERS_MOST = 1024
};

static struct {
    pthread_mutex_t lock;
    hf_context *ctx;
    uint32_t randomx_uses;
    uint32_t verifiers;
    uint32_t fast_verifiers;
    bool trim_due;
    hfp_handle *live[BUCKETS];
} process = {.lock = PTHREAD_MUTEX_INITIALIZER};

/*
 * Both lines of the Go wrapper search this text, the one for 0.8 and the one
 * for 0.7, and refuse the library if they find nothing of theirs.
 */
const char *version(void)
{
    return "0.8.5+holdfast." HF_VERSION ".libpost-0.7.13";
}

const char *hf_post_version(void)
{
    return HF_VERSION;
}

static _Atomic uintptr_t log_level;
static _Atomic(void (*)(const ExternCRecord *)) log_callback;

/* ---- the lock -------------------------------------------------------------- */

static void take_lock(void)
{
    (void)pthread_mutex_lock(&process.lock);
}

static void give_lock(void)
{
    (void)pthread_mutex_unlock(&process.lock);
}

/* The parent's context is no use here, and its threads are not there. */
static void in_child(void)
{
    process.ctx = NULL;
    process.randomx_uses = 0;
    process.trim_due = false;
    give_lock();
}

static void watch_forks(void)
{
    (void)pthread_atfork(take_lock, give_lock, in_child);
}

static void enter(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, watch_forks);
    take_lock();
}

/* ---- errors and log --------------------------------------------------------- */

hf_status hfp_error(hf_error *err, hf_status code, const char *fmt, ...)
{
    va_list args;
    if (err == NULL)
        return code;
    memset(err, 0, sizeof *err);
    err->code = code;
    va_start(args, fmt);
    (void)vsnprintf(err->message, sizeof err->message, fmt, args);
    va_end(args);
    return code;
}

static StringView view_of(const char *text)
{
    return (StringView){text, strlen(text)};
}

static void tell(Level level, const char *text, const char *module)
{
    void (*callback)(const ExternCRecord *) = atomic_load(&log_callback);
    if (callback == NULL || level > atomic_load(&log_level))
        return;
    ExternCRecord r = {.level = level,
                       .message = view_of(text),
                       .module_path = view_of(module),
                       .file = view_of(""),
                       .line = -1};
    callback(&r);
}

static void take_record(void *user, const hf_log_record *record)
{
    (void)user;
    tell((Level)record->level, record->text, record->module);
}

void hfp_report(const char *call, const hf_error *err)
{
    char text[640];
    if (err->code == HF_OK)
        return;
    (void)snprintf(text, sizeof text, "%s: %s%s%s", call, err->message,
                   err->cause[0] != '\0' ? ": " : "", err->cause);
    tell(Level_Error, text, "post");
}

int32_t set_logging_callback(Level level,
                             void (*callback)(const ExternCRecord *))
{
    int32_t failed = 1;
    if (callback == NULL || level < Level_Error || level > Level_Trace)
        return failed;
    enter();
    if (atomic_load(&log_callback) == NULL) {
        atomic_store(&log_level, level);
        atomic_store(&log_callback, callback);
        failed = 0;
    }
    give_lock();
    return failed;
}

/* Well-formed, by table 3-7 of the Unicode standard. */
bool hfp_is_utf8(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    while (*s != 0) {
        int more = *s < 0x80 ? 0 : *s < 0xe0 ? 1 : *s < 0xf0 ? 2 : 3;
        if ((*s >= 0x80 && *s < 0xc2) || *s > 0xf4)
            return false;
        if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
            (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
            return false;
        for (s++; more > 0; more--, s++)
            if ((*s & 0xc0) != 0x80)
                return false;
    }
    return true;
}

/* ---- the context ------------------------------------------------------------ */

/* The reference's thread pool goes by this variable, and so do we. */
static uint32_t wanted_workers(void)
{
    const char *text = getenv("RAYON_NUM_THREADS");
    char *end;
    if (text == NULL || *text < '0' || *text > '9')
        return HF_WORKERS_AUTO;
    errno = 0;
    unsigned long n = strtoul(text, &end, 10);
    if (errno != 0 || *end != '\0' || n == 0)
        return HF_WORKERS_AUTO;
    return n < WORKERS_MOST ? (uint32_t)n : WORKERS_MOST;
}

/*
 * The reference knows no budget, so a host's limit is the machine's: seven
 * eighths of it, whatever is free at the moment of the first call.
 */
static uint64_t wanted_budget(const hf_context *ctx)
{
    hf_context_info info = {.size = sizeof info};
    if (hf_context_get_info(ctx, &info) != HF_OK)
        return 0;
    uint64_t most = info.memory_total;
    if (info.memory_limit != 0 && info.memory_limit < most)
        most = info.memory_limit;
    most -= most / 8;
    return most > info.memory_budget ? most : 0;
}

hf_context *hfp_context_open(uint32_t workers, hf_error *err)
{
    hf_context_opts opts = HF_CONTEXT_OPTS_INIT;
    hf_context *ctx = NULL;
    opts.workers = workers;
    opts.queue_length = QUEUE_LENGTH;
    opts.log_level = HF_LOG_TRACE; /* the callback may be set later */
    opts.log_sink = take_record;
    if (hf_context_open(&ctx, &opts, err) != HF_OK)
        return NULL;
    opts.memory_budget = wanted_budget(ctx);
    if (opts.memory_budget == 0)
        return ctx;
    hf_context_close(ctx);
    ctx = NULL;
    return hf_context_open(&ctx, &opts, err) == HF_OK ? ctx : NULL;
}

hf_context *hfp_context(hf_error *err)
{
    enter();
    if (process.ctx == NULL)
        process.ctx = hfp_context_open(wanted_workers(), err);
    hf_context *ctx = process.ctx;
    give_lock();
    return ctx;
}

/* ---- RandomX memory ----------------------------------------------------------- */

void hfp_randomx_enter(void)
{
    enter();
    process.randomx_uses++;
    give_lock();
}

/* With the lock; the context to trim, or NULL. */
static hf_context *to_trim(void)
{
    bool wanted = process.verifiers == 0 ||
                  (process.trim_due && process.fast_verifiers == 0);
    if (process.randomx_uses > 0 || !wanted)
        return NULL;
    process.trim_due = false;
    return process.ctx;
}

void hfp_randomx_leave(bool dataset)
{
    enter();
    if (process.randomx_uses > 0) /* a child starts from none */
        process.randomx_uses--;
    process.trim_due |= dataset;
    hf_context *ctx = to_trim();
    give_lock();
    hf_context_trim(ctx);
}

void hfp_verifier_count(bool fast, int change)
{
    enter();
    process.verifiers += (uint32_t)change;
    if (fast)
        process.fast_verifiers += (uint32_t)change;
    hf_context *ctx = change < 0 ? to_trim() : NULL;
    give_lock();
    hf_context_trim(ctx);
}

bool hfp_again(hf_status status)
{
    const struct timespec pause = {.tv_nsec = 2000000};
    if (status != HF_E_BUSY)
        return false;
    (void)nanosleep(&pause, NULL);
    return true;
}

/* ---- handles ------------------------------------------------------------------ */

static hfp_handle **bucket_of(const void *key)
{
    uintptr_t bits = (uintptr_t)key;
    return &process.live[(bits >> 4 ^ bits >> 12) % BUCKETS];
}

/* With the lock: the link that holds it; what it points to is NULL if none. */
static hfp_handle **find(const void *key, hfp_kind kind)
{
    hfp_handle **link = bucket_of(key);
    while (*link != NULL && ((*link)->key != key || (*link)->kind != kind))
        link = &(*link)->next;
    return link;
}

void hfp_handle_add(hfp_handle *h, const void *key, hfp_kind kind,
                    void (*destroy)(hfp_handle *h))
{
    h->key = key;
    h->kind = kind;
    h->refs = 1;
    h->destroy = destroy;
    enter();
    hfp_handle **first = bucket_of(key);
    h->next = *first;
    *first = h;
    give_lock();
}

void *hfp_handle_get(const void *key, hfp_kind kind)
{
    enter();
    hfp_handle *h = *find(key, kind);
    if (h != NULL)
        h->refs++;
    give_lock();
    return h;
}

void hfp_handle_put(void *handle)
{
    hfp_handle *h = handle;
    if (h == NULL)
        return;
    enter();
    bool last = --h->refs == 0;
    give_lock();
    if (last)
        h->destroy(h);
}

bool hfp_handle_drop(const void *key, hfp_kind kind)
{
    enter();
    hfp_handle **link = find(key, kind);
    hfp_handle *h = *link;
    if (h != NULL)
        *link = h->next;
    give_lock();
    hfp_handle_put(h);
    return h != NULL;
}

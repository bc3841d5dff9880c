/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The context: checks options, finds out about the machine, and wires the
 * layers below together. Invariant: all parts stand until the last job handle
 * is freed, since job states point to them; closing ends the threads and gives
 * the large memory back, destroy_parts() the rest.
 */
#include "context/context.h"

#include <string.h>

#define WORKERS_MOST  1024u
#define QUEUE_MOST    65536u
#define QUEUE_DEFAULT 256u
#define LOG_MOST      65536u
#define STRUCT_MOST   4096u

struct hf_context {
    hfi_env env; /* for itself; others use the scheduler's */
    hfi_sched *sched;
    hfi_machine machine;
    hfi_kernels kernels;
    hfi_labeler *cpu;
    hfi_pow *pow;
    bool driven;
    bool closed;
    const char *workers_from;
    const char *budget_from;
    void (*log_sink)(void *user, const hf_log_record *record);
    void *log_user;
};

#if defined(__clang__)
#define COMPILER __VERSION__
#elif defined(__GNUC__)
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER "unknown"
#endif

/* ---- options -------------------------------------------------------------- */

/*
 * Structs grow at their end, and their first version is as yet the only one. A
 * caller built against a later version may pass a
 * larger one as long as what we do not know is zero.
 */
static hf_status check_size(const void *opts, size_t size, size_t ours,
                            hf_error *err)
{
    if (size < ours || size > STRUCT_MOST)
        return hfi_error(err, HF_E_ARGUMENT,
                         "opts->size is %zu; allowed are %zu to %u: start from "
                         "HF_CONTEXT_OPTS_INIT",
                         size, ours, STRUCT_MOST);
    const uint8_t *bytes = opts;
    for (size_t i = ours; i < size; i++)
        if (bytes[i] != 0)
            return hfi_error(err, HF_E_ARGUMENT,
                             "opts sets a member that this version of the "
                             "library (%s) does not know: use a newer library",
                             HF_VERSION);
    return HF_OK;
}

static hf_status check_range(const char *member, uint64_t value, uint64_t most,
                             const char *remedy, hf_error *err)
{
    if (value <= most)
        return HF_OK;
    return hfi_error(
        err, HF_E_ARGUMENT, "opts->%s is %llu; allowed are 0 to %llu: %s",
        member, (unsigned long long)value, (unsigned long long)most, remedy);
}

static hf_status check_opts(const hf_context_opts *o, hf_error *err)
{
    hf_status s = check_size(o, o->size, sizeof *o, err);
    if (s == HF_OK && o->workers != HF_WORKERS_AUTO)
        s = check_range("workers", o->workers, WORKERS_MOST,
                        "or HF_WORKERS_AUTO for as many as there are CPUs",
                        err);
    if (s == HF_OK)
        s = check_range("queue_length", o->queue_length, QUEUE_MOST,
                        "0 stands for 256", err);
    if (s == HF_OK)
        s = check_range("log_level", (unsigned)o->log_level, HF_LOG_TRACE,
                        "use one of HF_LOG_OFF to HF_LOG_TRACE", err);
    if (s == HF_OK)
        s = check_range("log_length", o->log_length, LOG_MOST,
                        "0 stands for 256", err);
    if (s == HF_OK && (o->alloc == NULL) != (o->release == NULL))
        s = hfi_error(err, HF_E_ARGUMENT,
                      "opts->%s is NULL and opts->%s is not: set both or "
                      "neither",
                      o->alloc == NULL ? "alloc" : "release",
                      o->alloc == NULL ? "release" : "alloc");
    return s;
}

/* ---- log ------------------------------------------------------------------ */

_Static_assert(sizeof(((hf_log_record *)0)->text) == HFI_LOG_TEXT,
               "log records differ");
_Static_assert(sizeof(((hf_log_record *)0)->module) ==
                   sizeof(((hfi_log_record *)0)->module),
               "log records differ");

static void convert_record(hf_log_record *out, const hfi_log_record *r)
{
    out->time_ms = r->time_ms;
    out->level = (hf_log_level)r->level;
    out->dropped = r->dropped;
    memcpy(out->module, r->module, sizeof out->module);
    memcpy(out->text, r->text, sizeof out->text);
}

static void sink_record(void *user, const hfi_log_record *r)
{
    const hf_context *ctx = user;
    hf_log_record out = {0};
    convert_record(&out, r);
    ctx->log_sink(ctx->log_user, &out);
}

static void on_record(void *user)
{
    const hf_context *ctx = user;
    if (ctx->sched != NULL)
        hfi_sched_wake_host(ctx->sched);
}

static hf_status open_log(hf_context *ctx, const hf_context_opts *o,
                          hf_error *err)
{
    if (o->log_level == HF_LOG_OFF)
        return HF_OK;
    ctx->log_sink = o->log_sink;
    ctx->log_user = o->log_user;
    hfi_log_opts log = {.level = (hfi_log_level)o->log_level,
                        .capacity = o->log_length,
                        .sink = o->log_sink != NULL ? sink_record : NULL,
                        .sink_user = ctx,
                        .on_record = on_record,
                        .on_record_user = ctx};
    return hfi_log_new(&ctx->env.log, &ctx->env.alloc, &log, err);
}

/* ---- open and close ------------------------------------------------------- */

/* Runs after close, once no job handle is left; also when opening fails. */
static void destroy_parts(void *user)
{
    hf_context *ctx = user;
    hfi_labeler_close(ctx->cpu);
    hfi_pow_free(ctx->pow);
    hfi_log_free(ctx->env.log);
    hfi_env env = ctx->env;
    hfi_free(&env, ctx);
}

static void reclaim(void *user)
{
    hf_context *ctx = user;
    hfi_pow_trim(ctx->pow);
}

static void decide_numbers(hf_context *ctx, const hf_context_opts *o,
                           hfi_sched_opts *so)
{
    bool own_workers = o->workers == HF_WORKERS_AUTO;
    so->workers = own_workers ? ctx->machine.workers : o->workers;
    if (own_workers && so->workers > WORKERS_MOST)
        so->workers = WORKERS_MOST;
    ctx->workers_from = own_workers ? ctx->machine.workers_from : "option";
    ctx->driven = so->workers == 0;
    bool own_budget = o->memory_budget == 0;
    so->memory_budget = own_budget ? ctx->machine.memory_budget
                                   : o->memory_budget;
    ctx->budget_from = own_budget ? ctx->machine.budget_from : "option";
    so->queue_length = o->queue_length != 0 ? o->queue_length : QUEUE_DEFAULT;
}

static hf_status open_sched(hf_context *ctx, const hf_context_opts *o,
                            hf_error *err)
{
    hfi_sched_opts so = {.wake = o->wake,
                         .wake_user = o->wake_user,
                         .finalize = destroy_parts,
                         .finalize_user = ctx};
    decide_numbers(ctx, o, &so);
    return hfi_sched_new(&ctx->sched, &ctx->env, &so, err);
}

static hf_status open_parts(hf_context *ctx, hf_error *err)
{
    hf_status s = hfi_labeler_cpu_open(&ctx->cpu, ctx->sched, &ctx->kernels,
                                       err);
    if (s == HF_OK)
        s = hfi_pow_new(&ctx->pow, ctx->sched, &ctx->machine, err);
    if (s == HF_OK)
        hfi_sched_set_reclaim(ctx->sched, reclaim, ctx);
    return s;
}

static void log_opened(const hf_context *ctx)
{
    hfi_logf(ctx->env.log, HFI_LOG_INFO, "context",
             "%u workers (%s), memory budget %llu MiB (%s), kernels %s and %s",
             ctx->driven ? 0u : (unsigned)hfi_sched_workers(ctx->sched),
             ctx->workers_from,
             (unsigned long long)(hfi_sched_memory_budget(ctx->sched) >> 20),
             ctx->budget_from, ctx->kernels.label->name,
             ctx->kernels.aes->name);
}

static hf_status open_context(hf_context **out, const hf_context_opts *o,
                              hf_error *err)
{
    hfi_env env = {.alloc = {o->alloc, o->release, o->alloc_user}};
    hf_context *ctx = hfi_calloc(&env, 1, sizeof *ctx);
    if (ctx == NULL)
        return hfi_error(err, HF_E_MEMORY, "no memory for a context");
    ctx->env = env;
    hfi_machine_detect(&ctx->machine);
    hf_status s = hfi_kernels_select(&ctx->kernels, &ctx->machine.cpu,
                                     o->kernel, err);
    if (s == HF_OK)
        s = open_log(ctx, o, err);
    if (s == HF_OK)
        s = open_sched(ctx, o, err);
    if (s != HF_OK) {
        destroy_parts(ctx);
        return s;
    }
    s = open_parts(ctx, err);
    if (s != HF_OK) {
        hfi_sched_close(ctx->sched);
        return s;
    }
    log_opened(ctx);
    *out = ctx;
    return HF_OK;
}

hf_status hf_context_open(hf_context **ctx, const hf_context_opts *opts,
                          hf_error *err)
{
    if (ctx == NULL)
        return hfi_error(err, HF_E_ARGUMENT,
                         "ctx is NULL: pass the address of "
                         "a pointer for the context");
    const hf_context_opts defaults = HF_CONTEXT_OPTS_INIT;
    if (opts == NULL)
        opts = &defaults;
    hf_status s = check_opts(opts, err);
    if (s != HF_OK)
        return s;
    hfi_fenv host;
    hfi_fenv_enter(&host);
    s = open_context(ctx, opts, err);
    hfi_fenv_leave(&host);
    return s;
}

void hf_context_close(hf_context *ctx)
{
    /* A child's copy of the locks may be held for ever: it is left alone. */
    if (ctx == NULL || hfi_sched_forked(ctx->sched) || ctx->closed)
        return;
    ctx->closed = true;
    hfi_sched_stop(ctx->sched);
    hfi_pow_trim(ctx->pow);
    hfi_sched_close(ctx->sched); /* frees ctx with the last job handle */
}

/* ---- for the host --------------------------------------------------------- */

hf_status hfi_context_check(const hf_context *ctx, hf_error *err)
{
    if (ctx == NULL)
        return hfi_error(err, HF_E_ARGUMENT,
                         "ctx is NULL: open a context first");
    if (hfi_sched_forked(ctx->sched))
        return hfi_error(err, HF_E_STATE,
                         "the context belongs to the parent process: open one "
                         "in the forked child");
    if (ctx->closed)
        return hfi_error(err, HF_E_STATE, "the context is closed");
    return HF_OK;
}

static bool usable(const hf_context *ctx)
{
    return hfi_context_check(ctx, NULL) == HF_OK;
}

int hf_context_event_fd(const hf_context *ctx)
{
    return usable(ctx) ? hfi_sched_event_fd(ctx->sched) : -1;
}

bool hf_context_next(hf_context *ctx, hf_completion *out)
{
    hfi_completion c;
    if (out == NULL || !usable(ctx) || !hfi_sched_next(ctx->sched, &c))
        return false;
    out->job = c.job;
    out->user = c.user;
    out->status = c.status;
    out->error = c.error;
    return true;
}

bool hf_context_next_log(hf_context *ctx, hf_log_record *out)
{
    if (out == NULL || !usable(ctx) || ctx->env.log == NULL)
        return false;
    hfi_log_record r;
    hfi_sched_log_taken(ctx->sched, false);
    if (!hfi_log_next(ctx->env.log, &r))
        return false;
    hfi_sched_log_taken(ctx->sched, true);
    convert_record(out, &r);
    return true;
}

bool hf_context_run(hf_context *ctx, uint32_t max_ms)
{
    return usable(ctx) && hfi_sched_run(ctx->sched, max_ms);
}

void hf_context_cancel_all(hf_context *ctx)
{
    if (usable(ctx))
        hfi_sched_cancel_all(ctx->sched);
}

void hf_context_trim(hf_context *ctx)
{
    if (!usable(ctx))
        return;
    hfi_pow_trim(ctx->pow);
    hfi_sched_trim(ctx->sched);
}

static void list_features(char *out, size_t bytes, uint32_t features)
{
    size_t at = 0;
    out[0] = '\0';
    for (uint32_t bit = 1; bit != 0; bit <<= 1) {
        const char *name = (features & bit) != 0 ? hfi_cpu_feature_name(bit)
                                                 : NULL;
        size_t length = name != NULL ? strlen(name) : 0;
        if (name == NULL || at + length + 2 > bytes)
            continue;
        if (at > 0)
            out[at++] = ' ';
        memcpy(out + at, name, length + 1);
        at += length;
    }
}

static void fill_machine(hf_context_info *i, const hfi_machine *m)
{
    i->cpus_online = m->cpus_online;
    i->cpus_affinity = m->cpus_affinity;
    i->cpus_quota = m->cpus_quota;
    i->memory_total = m->memory_total;
    i->memory_available = m->memory_available;
    i->memory_limit = m->memory_limit;
    i->huge_pages_free = m->huge_pages_free;
    i->transparent_huge = m->transparent_huge;
    memcpy(i->cpu_model, m->cpu.model, sizeof i->cpu_model);
    list_features(i->cpu_features, sizeof i->cpu_features, m->cpu.features);
}

hf_status hf_context_get_info(const hf_context *ctx, hf_context_info *out)
{
    hf_status s = hfi_context_check(ctx, NULL);
    if (s != HF_OK)
        return s;
    if (out == NULL || out->size < sizeof *out || out->size > STRUCT_MOST)
        return HF_E_ARGUMENT;
    hf_context_info i = {.size = out->size};
    fill_machine(&i, &ctx->machine);
    i.workers = ctx->driven ? 0 : hfi_sched_workers(ctx->sched);
    i.workers_from = ctx->workers_from;
    i.memory_budget = hfi_sched_memory_budget(ctx->sched);
    i.memory_used = hfi_sched_memory_used(ctx->sched);
    i.budget_from = ctx->budget_from;
    i.label_kernel = ctx->kernels.label->name;
    i.check_kernel = ctx->kernels.label_check->name;
    i.aes_kernel = ctx->kernels.aes->name;
    i.randomx = hfi_pow_engine(ctx->pow);
    i.compiler = COMPILER;
    *out = i;
    return HF_OK;
}

uint32_t hf_context_provider_count(hf_context *ctx)
{
    return usable(ctx) ? 1 : 0;
}

hf_status hf_context_provider_get(hf_context *ctx, uint32_t index,
                                  hf_provider *out, hf_error *err)
{
    hf_status s = hfi_context_check(ctx, err);
    if (s != HF_OK)
        return s;
    if (out == NULL || out->size < sizeof *out || out->size > STRUCT_MOST)
        return hfi_error(err, HF_E_ARGUMENT,
                         "out is NULL, or out->size is not "
                         "sizeof(hf_provider)");
    if (index >= 1)
        return hfi_error(err, HF_E_ARGUMENT,
                         "there is no provider number %u: this machine has 1",
                         (unsigned)index);
    const hfi_provider *p = &ctx->cpu->provider;
    hf_provider found = {.size = out->size};
    memcpy(found.id, p->id, sizeof found.id);
    memcpy(found.kind, p->kind, sizeof found.kind);
    memcpy(found.name, p->name, sizeof found.name);
    *out = found;
    return HF_OK;
}

/* ---- for the layers above ------------------------------------------------- */

const hfi_env *hfi_context_env(const hf_context *ctx)
{
    return hfi_sched_env(ctx->sched);
}

hfi_sched *hfi_context_sched(hf_context *ctx)
{
    return ctx->sched;
}

const hfi_kernels *hfi_context_kernels(const hf_context *ctx)
{
    return &ctx->kernels;
}

const hfi_machine *hfi_context_machine(const hf_context *ctx)
{
    return &ctx->machine;
}

hfi_pow *hfi_context_pow(hf_context *ctx)
{
    return ctx->pow;
}

hfi_labeler *hfi_context_cpu_labeler(hf_context *ctx)
{
    return ctx->cpu;
}

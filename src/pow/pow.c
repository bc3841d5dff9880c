/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Who holds the RandomX memory, who builds it, who waits. Invariant: at most
 * one use builds; nothing that is `ready` changes until no use is counted; what
 * is not ready belongs to the builder alone, and goes when there is neither a
 * builder nor one that waits to be. A waiter keeps its job alive, so that it
 * can be posted.
 */
#include "pow/pow_internal.h"

#include <string.h>

enum { START, CACHE, DATASET, TEST };
enum { LIGHT, FAST };

_Static_assert((int)HFI_POW_LIGHT == LIGHT && (int)HFI_POW_FAST == FAST,
               "modes index the arrays");

hf_status hfi_pow_new(hfi_pow **out, hfi_sched *sched,
                      const hfi_machine *machine, hf_error *err)
{
    const hfi_env *env = hfi_sched_env(sched);
    hfi_pow *p = hfi_calloc(env, 1, sizeof *p);

    if (p == NULL)
        return hfi_error(err, HF_E_MEMORY, "no memory for RandomX");
    p->sched = sched;
    p->env = env;
    p->cpu = machine->cpu;
    p->workers = hfi_sched_workers(sched);
    p->bytes[LIGHT] = hfi_pow_light_bytes(p->workers);
    p->bytes[FAST] = hfi_pow_fast_bytes(p->workers);
    p->way = hfi_pow_probe();
    hf_status s = hfi_mutex_init(&p->lock, err);
    if (s != HF_OK) {
        hfi_free(env, p);
        return s;
    }
    *out = p;
    return HF_OK;
}

void hfi_pow_free(hfi_pow *p)
{
    if (p == NULL)
        return;
    hfi_pow_release(p, &p->memory);
    hfi_mutex_destroy(&p->lock);
    hfi_free(p->env, p);
}

const char *hfi_pow_engine(const hfi_pow *p)
{
    static const char *const names[] = {"interpreter", "secure jit", "jit"};
    hfi_pow *m = (hfi_pow *)(uintptr_t)p; /* only for the lock */

    hfi_lock(&m->lock);
    const char *name = names[m->way];
    hfi_unlock(&m->lock);
    return name;
}

void hfi_pow_trim(hfi_pow *p)
{
    hfi_pow_memory memory = {0};
    uint64_t held = 0;

    hfi_lock(&p->lock);
    if (p->users == 0) {
        memory = p->memory;
        p->memory = (hfi_pow_memory){0};
        for (int i = LIGHT; i <= FAST; i++) {
            held += p->ready[i] ? p->bytes[i] : 0;
            p->ready[i] = false;
        }
        p->no_room = false;
        atomic_store(&p->slices_done, 0);
    }
    hfi_unlock(&p->lock);
    hfi_pow_release(p, &memory);
    if (held > 0)
        hfi_sched_unhold(p->sched, held);
}

/* ---- how much memory, and which mode ------------------------------------- */

/*
 * With the lock. What AUTO means does not depend on what other jobs use just
 * now. An eighth of the budget is left to the job itself.
 */
static hfi_pow_mode wanted(const hfi_pow *p, hfi_pow_mode mode)
{
    uint64_t budget = hfi_sched_memory_budget(p->sched);

    if (mode != HFI_POW_AUTO)
        return mode;
    if (p->ready[FAST])
        return HFI_POW_FAST;
    bool fits = budget == 0 /* no limit */ ||
                p->bytes[LIGHT] + p->bytes[FAST] <= budget - budget / 8;
    return fits && !p->no_room ? HFI_POW_FAST : HFI_POW_LIGHT;
}

uint64_t hfi_pow_use_need(const hfi_pow_use *u)
{
    const hfi_pow *p = u->pow;
    return p->bytes[LIGHT] + (u->want == HFI_POW_FAST ? p->bytes[FAST] : 0);
}

static void warn_light(const hfi_pow *p, const char *why)
{
    hfi_logf(p->env->log, HFI_LOG_WARN, "pow",
             "%s for the RandomX data set (%llu MiB): light mode, about ten "
             "times slower",
             why, (unsigned long long)(p->bytes[FAST] >> 20));
}

hf_status hfi_pow_use_init(hfi_pow_use *u, hfi_pow *p, hfi_pow_mode mode,
                           bool large_pages, hf_error *err)
{
    memset(u, 0, sizeof *u);
    hf_status s = hfi_loop_init(&u->loop, p->sched, err);
    if (s != HF_OK)
        return s;
    u->pow = p;
    u->mode = mode;
    u->large_pages = large_pages;
    hfi_lock(&p->lock);
    u->want = wanted(p, mode);
    hfi_unlock(&p->lock);
    if (mode == HFI_POW_AUTO && u->want == HFI_POW_LIGHT)
        warn_light(p, "no room in the memory budget");
    return HF_OK;
}

/* ---- waiting ------------------------------------------------------------- */

/* With the lock. */
static void enqueue(hfi_pow *p, hfi_pow_use *u)
{
    if (u->waiting)
        return;
    u->waiting = true;
    u->next = p->waiters;
    p->waiters = u;
    hfi_job_ref(u->job);
}

/* With the lock; true if the caller must drop the job's reference after it. */
static bool dequeue(hfi_pow *p, hfi_pow_use *u)
{
    if (!u->waiting)
        return false;
    hfi_pow_use **link = &p->waiters;
    while (*link != u)
        link = &(*link)->next;
    *link = u->next;
    u->waiting = false;
    return true;
}

/* Something changed: all waiters look again. */
static void wake_waiters(hfi_pow *p)
{
    for (;;) {
        hfi_lock(&p->lock);
        hfi_pow_use *u = p->waiters;
        if (u == NULL) {
            hfi_unlock(&p->lock);
            return;
        }
        hf_job *job = u->job;
        (void)dequeue(p, u);
        u->woken = true;
        p->woken++;
        hfi_unlock(&p->lock);
        hfi_job_post(job);
        hfi_job_unref(job); /* may end in hfi_pow_use_wipe(u) */
    }
}

/* ---- building ------------------------------------------------------------ */

static hfi_pow_use *use_of_leaf(hfi_leaf *leaf)
{
    char *at = (char *)leaf - offsetof(hfi_pow_use, cache_leaf);
    return (hfi_pow_use *)(void *)at;
}

static bool run_build_leaf(hfi_leaf *leaf, hfi_worker *w)
{
    hfi_pow_use *u = use_of_leaf(leaf);
    hfi_pow *p = u->pow;

    if (u->stage == CACHE)
        p->build_status = hfi_pow_build_cache(p, w, u->large_pages,
                                              &p->build_error);
    else
        p->build_status = hfi_pow_test(p, w, true, &p->build_error);
    return false;
}

static void submit_leaf(hfi_pow_use *u, int stage)
{
    u->stage = stage;
    u->cache_leaf.run = run_build_leaf;
    u->cache_leaf.kind = HFI_LEAF_CPU;
    hfi_leaf_submit(u->job, &u->cache_leaf);
}

static void run_slices(hfi_loop *loop, uint64_t begin, uint64_t end,
                       hfi_worker *worker)
{
    hfi_pow_use *u = (hfi_pow_use *)(void *)((char *)loop -
                                             offsetof(hfi_pow_use, loop));
    hfi_pow *p = u->pow;

    (void)worker;
    for (uint64_t i = begin; i < end; i++) {
        if (p->memory.slice_done[i]) /* by a job that was cancelled */
            continue;
        hfi_pow_build_slice(p, i);
        uint64_t done = atomic_fetch_add(&p->slices_done, 1) + 1;
        hfi_job_advance(u->job, done);
    }
}

/* With the lock: what is not ready goes when nobody is there to go on. */
static hfi_pow_memory take_unready(hfi_pow *p)
{
    hfi_pow_memory gone = {0};

    if (p->ready[FAST] || p->builder != NULL || p->waiters != NULL ||
        p->woken > 0)
        return gone;
    gone.dataset = p->memory.dataset;
    gone.slice_done = p->memory.slice_done;
    p->memory.dataset = NULL;
    p->memory.slice_done = NULL;
    atomic_store(&p->slices_done, 0);
    if (!p->ready[LIGHT]) {
        gone.cache = p->memory.cache;
        gone.machines = p->memory.machines;
        p->memory.cache = NULL;
        p->memory.machines = NULL;
    }
    return gone;
}

static void stop_building(hfi_pow_use *u)
{
    hfi_pow *p = u->pow;

    hfi_lock(&p->lock);
    p->builder = NULL;
    u->stage = START;
    hfi_pow_memory gone = take_unready(p);
    hfi_unlock(&p->lock);
    hfi_pow_release(p, &gone);
    wake_waiters(p);
}

static void set_ready(hfi_pow_use *u, int what)
{
    hfi_pow *p = u->pow;

    hfi_lock(&p->lock);
    p->ready[what] = true;
    hfi_unlock(&p->lock);
    hfi_job_hold(u->job, p->bytes[what]);
    wake_waiters(p);
}

static hfi_pow_ready end_building(hfi_pow_use *u, hfi_pow_mode mode)
{
    u->mode = mode;
    u->ready = true;
    stop_building(u);
    return HFI_POW_READY;
}

static hfi_pow_ready fail_building(hfi_pow_use *u, const hf_error *why,
                                   hf_error *err)
{
    if (err != NULL)
        *err = *why;
    stop_building(u);
    return HFI_POW_FAILED;
}

static hfi_pow_ready cancel_building(hfi_pow_use *u, hf_error *err)
{
    hf_error why;

    (void)hfi_error(&why, HF_E_CANCELLED, "cancelled while RandomX was built");
    return fail_building(u, &why, err);
}

static hfi_pow_ready begin_cache(hfi_pow_use *u, hf_error *err)
{
    hfi_pow *p = u->pow;
    hf_error why;

    if (p->memory.machines == NULL)
        p->memory.machines = hfi_calloc(p->env, 2 * (size_t)p->workers,
                                        sizeof(randomx_vm *));
    if (p->memory.machines == NULL) {
        (void)hfi_error(&why, HF_E_MEMORY, "no memory for RandomX");
        return fail_building(u, &why, err);
    }
    hfi_job_phase(u->job, "randomx cache", "steps", 0, 1);
    submit_leaf(u, CACHE);
    return HFI_POW_WAIT;
}

static hfi_pow_ready begin_dataset(hfi_pow_use *u, hf_error *err)
{
    hfi_pow *p = u->pow;
    hf_error why;

    if (hfi_pow_alloc_dataset(p, u->large_pages, &why) != HF_OK) {
        if (u->mode != HFI_POW_AUTO)
            return fail_building(u, &why, err);
        hfi_lock(&p->lock);
        p->no_room = true;
        hfi_unlock(&p->lock);
        warn_light(p, "the system has no memory");
        return end_building(u, HFI_POW_LIGHT);
    }
    u->stage = DATASET;
    u->loop.count = hfi_pow_slices();
    u->loop.grain = 1;
    u->loop.body = run_slices;
    hfi_job_phase(u->job, "randomx data set", "slices",
                  atomic_load(&p->slices_done), u->loop.count);
    hfi_loop_start(&u->loop, u->job);
    return HFI_POW_WAIT;
}

/* Nothing of the last stage is outstanding. */
static hfi_pow_ready next_stage(hfi_pow_use *u, hf_error *err)
{
    hfi_pow *p = u->pow;

    if (hfi_job_cancelled(u->job))
        return cancel_building(u, err);
    if (!p->ready[LIGHT])
        return begin_cache(u, err);
    if (u->want == HFI_POW_FAST && !p->ready[FAST])
        return begin_dataset(u, err);
    return end_building(u, u->want);
}

static hfi_pow_ready leaf_ended(hfi_pow_use *u, hf_error *err)
{
    hfi_pow *p = u->pow;

    if (u->cache_leaf.skipped)
        return cancel_building(u, err);
    if (p->build_status != HF_OK)
        return fail_building(u, &p->build_error, err);
    set_ready(u, u->stage == CACHE ? LIGHT : FAST);
    return next_stage(u, err);
}

static hfi_pow_ready build(hfi_pow_use *u, hf_error *err)
{
    hfi_pow *p = u->pow;

    if (u->stage == START)
        return next_stage(u, err);
    if (u->stage == CACHE || u->stage == TEST)
        return hfi_leaf_idle(&u->cache_leaf) ? leaf_ended(u, err)
                                             : HFI_POW_WAIT;
    if (!hfi_loop_idle(&u->loop))
        return HFI_POW_WAIT;
    if (atomic_load(&p->slices_done) < hfi_pow_slices())
        return cancel_building(u, err); /* or failed: the job knows */
    submit_leaf(u, TEST);
    return HFI_POW_WAIT;
}

/* ---- a use --------------------------------------------------------------- */

/* With the lock: whether the use can go on with what is there. */
static bool served(const hfi_pow *p, hfi_pow_use *u)
{
    if (p->ready[FAST])
        u->mode = HFI_POW_FAST; /* light would only be slower */
    else if (p->ready[LIGHT] && (u->want == HFI_POW_LIGHT ||
                                 (u->mode == HFI_POW_AUTO && p->no_room)))
        u->mode = HFI_POW_LIGHT;
    else
        return false;
    u->ready = true;
    return true;
}

/* With the lock: it has looked again, or never will. */
static void unwake(hfi_pow *p, hfi_pow_use *u)
{
    if (u->woken)
        p->woken--;
    u->woken = false;
}

/* With the lock. READY, or WAIT: the use builds, or is among the waiters. */
static hfi_pow_ready join(hfi_pow *p, hfi_pow_use *u)
{
    if (!u->counted)
        p->users++;
    u->counted = true;
    unwake(p, u);
    if (p->builder == u)
        return HFI_POW_WAIT;
    if (served(p, u))
        return HFI_POW_READY;
    if (hfi_job_cancelled(u->job))
        return HFI_POW_FAILED;
    if (p->builder == NULL)
        p->builder = u;
    else
        enqueue(p, u);
    return HFI_POW_WAIT;
}

hfi_pow_ready hfi_pow_use_step(hfi_pow_use *u, hf_job *job, hf_error *err)
{
    hfi_pow *p = u->pow;

    if (u->ready)
        return HFI_POW_READY;
    hfi_lock(&p->lock);
    u->job = job; /* read by others while it waits in the list */
    hfi_pow_ready r = join(p, u);
    bool builder = p->builder == u;
    hf_job *other = NULL; /* that builds for us */
    if (r == HFI_POW_WAIT && !builder && p->builder != NULL) {
        other = p->builder->job;
        hfi_job_ref(other);
    }
    hfi_unlock(&p->lock);
    if (builder)
        return build(u, err);
    if (other != NULL) {
        hfi_job_raise(other, job);
        hfi_job_unref(other);
    }
    if (r == HFI_POW_FAILED)
        (void)hfi_error(err, HF_E_CANCELLED,
                        "cancelled before RandomX was ready");
    if (r == HFI_POW_WAIT)
        hfi_job_phase(job, "waiting for randomx", "steps", 0, 0);
    return r;
}

void hfi_pow_use_wipe(hfi_pow_use *u)
{
    hfi_pow *p = u->pow;

    if (p == NULL)
        return;
    hfi_lock(&p->lock);
    bool unref = dequeue(p, u);
    unwake(p, u);
    if (u->counted)
        p->users--;
    if (p->builder == u)
        p->builder = NULL;
    hfi_pow_memory gone = take_unready(p);
    hfi_unlock(&p->lock);
    hfi_pow_release(p, &gone);
    wake_waiters(p);
    hf_job *job = u->job;
    hfi_loop_wipe(&u->loop, p->sched);
    memset(u, 0, sizeof *u);
    if (unref)
        hfi_job_unref(job);
}

hf_status hfi_pow_hash(hfi_pow_use *u, hfi_worker *w, const void *input,
                       size_t bytes, uint8_t out[32], hf_error *err)
{
    randomx_vm *vm = hfi_pow_machine(u->pow, w, u->mode == HFI_POW_FAST, err);
    hfi_fenv host;

    if (vm == NULL)
        return HF_E_MEMORY;
    hfi_fenv_enter(&host);
    randomx_calculate_hash(vm, input, bytes, out);
    hfi_fenv_leave(&host);
    return HF_OK;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Memory: which waiting job may start. Counted are the bytes of started jobs,
 * what the context holds or the most that a started job needs it to hold, and
 * for each worker the largest scratch that a running job needs, or what the
 * worker has mapped if that is more. Invariant: the sum never exceeds the budget
 * by our decision, so a job that could never fit is refused at its start, and
 * one that could waits here.
 */
#include "sched/sched_internal.h"

static uint64_t add(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t scratch_total(const hfi_sched *s, uint64_t each)
{
    uint64_t n = s->worker_count;
    return each > UINT64_MAX / n ? UINT64_MAX : each * n;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* What it can come to while workers still keep larger pieces of before. */
static uint64_t scratch_now(const hfi_sched *s, uint64_t each)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < s->worker_count; i++)
        sum = add(sum, larger(s->workers[i].scratch_bytes, each));
    return sum;
}

hf_status hfi_budget_check(const hfi_sched *s, const hfi_job_need *need,
                           hf_error *err)
{
    uint64_t whole = add(add(need->bytes, need->held),
                         scratch_total(s, need->scratch));
    if (whole > s->budget)
        return hfi_error(err, HF_E_MEMORY,
                         "the job needs %llu bytes of memory, the budget is "
                         "%llu: raise memory_budget or use fewer workers",
                         (unsigned long long)whole,
                         (unsigned long long)s->budget);
    return HF_OK;
}

static void count_scratch(hfi_sched *s, uint64_t scratch)
{
    if (scratch > s->max_scratch) {
        s->max_scratch = scratch;
        s->at_max = 0;
    }
    if (scratch == s->max_scratch)
        s->at_max++;
}

static void uncount_scratch(hfi_sched *s, uint64_t scratch)
{
    if (scratch != s->max_scratch || --s->at_max > 0)
        return;
    s->max_scratch = 0;
    for (const hf_job *j = s->running.head; j != NULL;
         j = j->links[LINK_LIFE].next)
        count_scratch(s, j->need.scratch);
}

static void count_held(hfi_sched *s, uint64_t held)
{
    if (held > s->max_held) {
        s->max_held = held;
        s->at_max_held = 0;
    }
    if (held == s->max_held)
        s->at_max_held++;
}

/* The job is in no queue any more. */
static void uncount_held(hfi_sched *s, uint64_t held)
{
    if (held != s->max_held || --s->at_max_held > 0)
        return;
    s->max_held = 0;
    for (const hf_job *j = s->running.head; j != NULL;
         j = j->links[LINK_LIFE].next)
        count_held(s, j->need.held);
    for (const hf_job *j = s->suspended.head; j != NULL;
         j = j->links[LINK_LIFE].next)
        count_held(s, j->need.held);
}

/* The job joins the running ones. */
void hfi_budget_take(hfi_sched *s, hf_job *job)
{
    s->job_bytes = add(s->job_bytes, job->need.bytes);
    count_held(s, job->need.held);
    hfi_queue_push(&s->running, job);
    count_scratch(s, job->need.scratch);
}

/* The job, running or suspended, leaves. */
void hfi_budget_give(hfi_sched *s, hf_job *job)
{
    s->job_bytes -= job->need.bytes;
    bool suspended = job->suspended;
    job->suspended = false;
    hfi_queue_remove(suspended ? &s->suspended : &s->running, job);
    uncount_held(s, job->need.held);
    if (!suspended)
        uncount_scratch(s, job->need.scratch);
}

static void suspend_background(hfi_sched *s)
{
    hf_job *next;
    for (hf_job *j = s->running.head; j != NULL; j = next) {
        next = j->links[LINK_LIFE].next;
        if (j->priority != BACKGROUND)
            continue;
        hfi_queue_remove(&s->running, j);
        hfi_queue_push(&s->suspended, j);
        uncount_scratch(s, j->need.scratch);
        j->suspended = true;
        hfi_pool_unqueue_cpu(s, j);
    }
}

void hfi_budget_resume(hfi_sched *s, hf_job *job)
{
    hfi_queue_remove(&s->suspended, job);
    hfi_queue_push(&s->running, job);
    count_scratch(s, job->need.scratch);
    job->suspended = false;
    hfi_pool_queue_leaves(s, job);
    hfi_cond_broadcast(s->driven ? &s->changed : &s->work);
}

static uint64_t foreground_scratch(const hfi_sched *s)
{
    uint64_t most = 0;
    for (const hf_job *j = s->running.head; j != NULL;
         j = j->links[LINK_LIFE].next)
        if (j->priority != BACKGROUND)
            most = larger(most, j->need.scratch);
    return most;
}

typedef enum room {
    ROOM,         /* fits now */
    ROOM_SOON,    /* fits once workers have given scratch back */
    ROOM_SUSPEND, /* fits once background jobs are suspended as well */
    ROOM_RECLAIM, /* fits if the context gives back what no job needs */
    ROOM_NONE     /* other jobs must end first */
} room;

/* `bytes` and `scratch`: what the job would add. */
static room find_room(const hfi_sched *s, const hf_job *job, uint64_t bytes)
{
    uint64_t needed = larger(s->max_held, job->need.held);
    uint64_t base = add(add(s->job_bytes, bytes), needed);
    uint64_t own = job->need.scratch;
    uint64_t scratch = scratch_total(s, larger(s->max_scratch, own));
    uint64_t most = add(add(s->job_bytes, bytes), larger(s->held, needed));
    if (add(most, scratch_now(s, larger(s->max_scratch, own))) <= s->budget)
        return ROOM;
    if (add(most, scratch) <= s->budget)
        return ROOM_SOON;
    if (job->priority == URGENT) {
        scratch = scratch_total(s, larger(foreground_scratch(s), own));
        if (add(most, scratch) <= s->budget)
            return ROOM_SUSPEND;
    }
    return add(base, scratch) <= s->budget ? ROOM_RECLAIM : ROOM_NONE;
}

/* What one round of admission found out. */
typedef struct round {
    uint64_t keep; /* scratch a worker may keep */
    bool urgent;   /* an urgent job waits for scratch to come back */
    bool reclaim;
} round;

static bool try_one(hfi_sched *s, hf_job *job, uint64_t bytes, round *r)
{
    room have = find_room(s, job, bytes);
    if (have == ROOM)
        return true;
    if (have == ROOM_SUSPEND) {
        suspend_background(s);
        if (!job->suspender)
            s->suspenders++;
        job->suspender = true;
        /* Nothing may have been mapped yet. */
        have = find_room(s, job, bytes);
        if (have == ROOM)
            return true;
    }
    if (have == ROOM_SOON) {
        uint64_t keep = larger(s->max_scratch, job->need.scratch);
        r->keep = r->keep < keep ? r->keep : keep;
        r->urgent |= job->priority == URGENT;
    }
    r->reclaim |= have == ROOM_RECLAIM && s->held > 0;
    return false;
}

static void admit_waiting(hfi_sched *s, int priority, round *r)
{
    hf_job *next;
    for (hf_job *j = s->waiting[priority].head; j != NULL; j = next) {
        next = j->links[LINK_LIFE].next;
        if (!try_one(s, j, j->need.bytes, r))
            continue;
        hfi_queue_remove(&s->waiting[priority], j);
        hfi_job_run(s, j);
    }
}

static void admit_suspended(hfi_sched *s, round *r)
{
    hf_job *next;
    for (hf_job *j = s->suspended.head; j != NULL; j = next) {
        next = j->links[LINK_LIFE].next;
        if (try_one(s, j, 0, r))
            hfi_budget_resume(s, j);
    }
}

/*
 * Starts what fits, urgent jobs first; a smaller job may pass one that waits.
 * Room that an urgent job is about to get is not given to others.
 */
static void admit(hfi_sched *s, round *r)
{
    admit_waiting(s, URGENT, r);
    if (r->urgent)
        return;
    admit_waiting(s, NORMAL, r);
    if (s->suspenders > 0)
        return;
    admit_suspended(s, r);
    admit_waiting(s, BACKGROUND, r);
}

void hfi_budget_admit(hfi_sched *s)
{
    if (s->admit_later)
        return;
    round r = {.keep = UINT64_MAX};
    admit(s, &r);
    s->scratch_keep = r.keep;
    if (r.keep != UINT64_MAX) {
        hfi_worker *only = &s->workers[0];
        if (!s->driven) {
            hfi_cond_broadcast(&s->work);
        } else if (!s->driver_busy && only->scratch_bytes > r.keep) {
            hfi_pool_release_scratch(only);
            hfi_budget_admit(s); /* the worker has none left: ends here */
            return;
        }
    }
    if (r.reclaim && s->reclaim != NULL && !s->reclaiming) {
        s->reclaim_wanted = true;
        hfi_cond_signal(&s->steps);
        if (s->driven)
            hfi_cond_broadcast(&s->changed);
    }
}

uint64_t hfi_sched_memory_used(const hfi_sched *s)
{
    hfi_sched *m = (hfi_sched *)(uintptr_t)s; /* only for the lock */
    hfi_lock(&m->lock);
    uint64_t used = add(add(s->job_bytes, larger(s->held, s->max_held)),
                        scratch_now(s, s->max_scratch));
    hfi_unlock(&m->lock);
    return used;
}

uint64_t hfi_sched_memory_budget(const hfi_sched *s)
{
    return s->budget;
}

void hfi_sched_unhold(hfi_sched *s, uint64_t bytes)
{
    hfi_lock(&s->lock);
    s->held -= bytes < s->held ? bytes : s->held;
    hfi_budget_admit(s);
    hfi_sched_leave(s);
}

void hfi_sched_set_reclaim(hfi_sched *s, void (*reclaim)(void *user),
                           void *user)
{
    hfi_lock(&s->lock);
    s->reclaim = reclaim;
    s->reclaim_user = user;
    hfi_sched_leave(s);
}

void hfi_job_hold(hf_job *job, uint64_t bytes)
{
    hfi_sched *s = job->sched;
    hfi_lock(&s->lock);
    s->held = add(s->held, bytes);
    hfi_sched_leave(s);
}

hf_status hfi_job_widen(hf_job *job, uint64_t scratch, hf_error *err)
{
    hfi_sched *s = job->sched;
    hf_status status = HF_OK;
    hfi_lock(&s->lock);
    if (scratch > job->need.scratch) {
        hfi_job_need wider = job->need;
        wider.scratch = scratch;
        status = hfi_budget_check(s, &wider, err);
    }
    if (status == HF_OK && scratch > job->need.scratch) {
        bool counted = !job->suspended; /* else on its return */
        if (counted)
            hfi_budget_give(s, job);
        job->need.scratch = scratch;
        if (counted)
            hfi_budget_take(s, job);
    }
    hfi_unlock(&s->lock);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The queue the host drains, its descriptor and the wake function. Invariant:
 * whenever the lock is free, the descriptor is readable exactly if a
 * completion or a log record waits or, without workers, work could run. So a
 * host that drains until "nothing" and then waits misses nothing.
 */
#include "sched/sched_internal.h"

void hfi_completion_push(hfi_sched *s, hf_job *job)
{
    job->deliver = true;
    hfi_queue_push(&s->completions, job);
    s->wake_wanted = true;
}

void hfi_completion_drop(hfi_sched *s, hf_job *job)
{
    job->deliver = false;
    hfi_queue_remove(&s->completions, job);
    s->places--;
}

void hfi_completion_refresh(hfi_sched *s)
{
    if (s->closed)
        return;
    bool runnable = s->driven && hfi_pool_runnable(s);
    if (runnable && !s->runnable)
        s->wake_wanted = true;
    s->runnable = runnable;

    bool on = s->completions.head != NULL || s->log_waiting || runnable;
    if (on == s->event_on)
        return;
    s->event_on = on;
    if (on)
        hfi_event_set(&s->event);
    else
        hfi_event_clear(&s->event);
}

void hfi_sched_leave(hfi_sched *s)
{
    hfi_completion_refresh(s);
    hf_job *dead = s->dead.head;
    s->dead.head = s->dead.tail = NULL;
    s->dead.count = 0;
    bool wake = s->wake_wanted && s->wake != NULL && !s->closing;
    s->wake_wanted = false;
    if (wake)
        s->waking++;
    hfi_unlock(&s->lock);

    if (wake) {
        s->wake(s->wake_user);
        hfi_lock(&s->lock);
        s->waking--;
        if (s->closing)
            hfi_cond_broadcast(&s->changed);
        hfi_unlock(&s->lock);
    }
    while (dead != NULL) {
        hf_job *next = dead->links[LINK_LIFE].next;
        hfi_job_unref(dead);
        dead = next;
    }
}

bool hfi_sched_next(hfi_sched *s, hfi_completion *out)
{
    hfi_lock(&s->lock);
    hf_job *job = s->completions.head;
    if (job != NULL) {
        hfi_completion_drop(s, job);
        out->job = job;
        out->user = job->user;
        out->status = job->status;
        out->error = job->error;
    }
    hfi_sched_leave(s);
    return job != NULL;
}

int hfi_sched_event_fd(const hfi_sched *s)
{
    return hfi_sched_forked(s) ? -1 : s->event.read_fd;
}

void hfi_sched_wake_host(hfi_sched *s)
{
    hfi_lock(&s->lock);
    s->log_waiting = true;
    s->wake_wanted = true;
    hfi_sched_leave(s);
}

void hfi_sched_log_taken(hfi_sched *s, bool more)
{
    hfi_lock(&s->lock);
    s->log_waiting = more;
    hfi_sched_leave(s);
}

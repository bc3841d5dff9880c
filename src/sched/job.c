/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The life of one job: waiting, running, ended. Invariant: hfi_job_end() is
 * reached exactly once per started job, and it alone decides the outcome and
 * whether a completion is delivered; the place for it was taken at the start.
 *
 * References: the host's handle holds one, a job that has not ended another,
 * and hfi_job_ref() more. The last one destroys the state.
 */
#include "sched/sched_internal.h"

#include <string.h>

enum {
    SAMPLE_NS = 250000000,
    PROGRESS_MOST = 4096 /* bytes of a later version's hf_progress */
};

/* ---- queues -------------------------------------------------------------- */

void hfi_queue_push(hfi_job_queue *q, hf_job *job)
{
    hfi_job_link *link = &job->links[q->kind];
    link->next = NULL;
    link->prev = q->tail;
    if (q->tail != NULL)
        q->tail->links[q->kind].next = job;
    else
        q->head = job;
    q->tail = job;
    q->count++;
}

void hfi_queue_remove(hfi_job_queue *q, hf_job *job)
{
    hfi_job_link *link = &job->links[q->kind];
    if (link->prev != NULL)
        link->prev->links[q->kind].next = link->next;
    else
        q->head = link->next;
    if (link->next != NULL)
        link->next->links[q->kind].prev = link->prev;
    else
        q->tail = link->prev;
    link->next = link->prev = NULL;
    q->count--;
}

hf_job *hfi_queue_pop(hfi_job_queue *q)
{
    hf_job *job = q->head;
    if (job != NULL)
        hfi_queue_remove(q, job);
    return job;
}

/* ---- start ----------------------------------------------------------------*/

static hf_status check_start(const hfi_sched *s, const hfi_job_need *need,
                             hf_error *err)
{
    if (s->closing)
        return hfi_error(err, HF_E_STATE,
                         "cannot start a job: the context is being closed");
    if (s->places >= s->queue_length)
        return hfi_error(err, HF_E_BUSY,
                         "all %u places for jobs are taken: take completions, "
                         "or open the context with a larger queue_length",
                         (unsigned)s->queue_length);
    return hfi_budget_check(s, need, err);
}

/*
 * Freed structs are used again only after many others, so that a host which
 * frees a handle twice meets a struct marked as released, not a new job.
 */
static hf_job *get_struct(hfi_sched *s)
{
    hfi_lock(&s->lock);
    hf_job *job = s->spare.count > SPARE_JOBS ? hfi_queue_pop(&s->spare) : NULL;
    hfi_unlock(&s->lock);
    if (job == NULL)
        return hfi_calloc(&s->env, 1, sizeof *job);
    memset(job, 0, sizeof *job);
    return job;
}

static void put_struct(hfi_sched *s, hf_job *job)
{
    hfi_lock(&s->lock);
    hfi_queue_push(&s->spare, job);
    hfi_unlock(&s->lock);
}

static void init_job(hf_job *job, hfi_sched *s, const hfi_job_class *cls,
                     void *state, const hfi_job_need *need,
                     hf_priority priority, void *user)
{
    job->sched = s;
    job->cls = cls;
    job->state = state;
    job->user = user;
    if (need != NULL)
        job->need = *need;
    job->priority = priority == HF_PRIORITY_DEFAULT
                        ? NORMAL
                        : (int)priority - (int)HF_PRIORITY_URGENT;
    atomic_init(&job->refs, 2);
    atomic_init(&job->outstanding, 0);
    atomic_init(&job->cancelled, false);
    atomic_init(&job->cancel_seen, false);
    atomic_init(&job->failed, false);
    atomic_init(&job->meter.done, 0);
    job->started_ns = hfi_now_ns();
    atomic_init(&job->meter.sampled_ns, job->started_ns);
    job->meter.phase = "queued";
    job->meter.unit = "";
}

hf_status hfi_job_start(hf_job **out, hfi_sched *s, const hfi_job_class *cls,
                        void *state, const hfi_job_need *need,
                        hf_priority priority, void *user, hf_error *err)
{
    if ((unsigned)priority > (unsigned)HF_PRIORITY_BACKGROUND)
        return hfi_error(err, HF_E_ARGUMENT,
                         "priority is %u; allowed are 0 (default) to 3 "
                         "(background)",
                         (unsigned)priority);
    if (hfi_sched_forked(s))
        return hfi_error(err, HF_E_STATE,
                         "cannot start a job in a forked child: open a context "
                         "of its own there");
    hf_job *job = get_struct(s);
    if (job == NULL)
        return hfi_error(err, HF_E_MEMORY, "no memory for a job");
    init_job(job, s, cls, state, need, priority, user);

    hfi_lock(&s->lock);
    hf_status status = check_start(s, &job->need, err);
    if (status != HF_OK) {
        job->released = true;
        hfi_queue_push(&s->spare, job);
        hfi_unlock(&s->lock);
        return status;
    }
    atomic_fetch_add(&s->refs, 1);
    s->places++;
    s->live++;
    hfi_queue_push(&s->waiting[job->priority], job);
    hfi_budget_admit(s);
    bool waits = job->life == LIFE_WAITING;
    *out = job; /* before a completion can name it */
    hfi_sched_leave(s);
    if (waits)
        hfi_logf(s->env.log, HFI_LOG_INFO, "sched",
                 "a job waits for memory: the budget is %llu bytes",
                 (unsigned long long)s->budget);
    return HF_OK;
}

/* ---- running --------------------------------------------------------------*/

void hfi_job_run(hfi_sched *s, hf_job *job)
{
    hfi_budget_take(s, job);
    job->life = LIFE_RUNNING;
    hfi_pool_queue_step(s, job);
}

void hfi_job_wake(hfi_sched *s, hf_job *job)
{
    job->posted = true;
    if (job->life == LIFE_RUNNING && !job->stepping && !job->done)
        hfi_pool_queue_step(s, job);
}

void hfi_job_step_once(hfi_sched *s, hf_job *job)
{
    job->stepping = true;
    job->posted = false;
    int priority = job->priority; /* may be raised meanwhile */
    s->stepping[priority]++;
    hfi_unlock(&s->lock);
    hfi_step next = job->cls->step(job, job->state);
    hfi_lock(&s->lock);
    s->stepping[priority]--;
    job->stepping = false;
    if (next == HFI_STEP_DONE) {
        job->done = true;
        if (atomic_load(&job->outstanding) == 0)
            hfi_job_end(s, job);
    } else if (next == HFI_STEP_AGAIN || job->posted) {
        hfi_pool_queue_step(s, job);
    }
}

static void decide_outcome(hf_job *job)
{
    if (atomic_load(&job->failed)) {
        job->status = job->error.code;
    } else if (atomic_load(&job->cancel_seen)) {
        job->status = hfi_error(&job->error, HF_E_CANCELLED, "%s was cancelled",
                                job->cls->name);
    } else {
        job->status = HF_OK;
    }
}

void hfi_job_end(hfi_sched *s, hf_job *job)
{
    if (job->life == LIFE_WAITING)
        hfi_queue_remove(&s->waiting[job->priority], job);
    else
        hfi_budget_give(s, job);
    if (job->suspender)
        s->suspenders--;
    job->suspender = false;
    decide_outcome(job);
    job->ended_ns = hfi_now_ns();
    job->life = LIFE_ENDED;
    s->live--;
    if (job->released || job->cls->quiet)
        s->places--;
    else
        hfi_completion_push(s, job);
    if (job->released)
        hfi_queue_push(&s->dead, job); /* hfi_sched_leave() unreferences */
    else
        atomic_fetch_sub(&job->refs, 1); /* the handle's is still there */
    hfi_cond_broadcast(&s->changed);
    hfi_budget_admit(s);
}

static void destroy_job(hf_job *job)
{
    hfi_sched *s = job->sched;
    if (job->cls->destroy != NULL)
        job->cls->destroy(job->state);
    job->state = NULL;
    put_struct(s, job);
    hfi_sched_unref(s);
}

void hfi_job_ref(hf_job *job)
{
    atomic_fetch_add(&job->refs, 1);
}

void hfi_job_unref(hf_job *job)
{
    if (atomic_fetch_sub(&job->refs, 1) == 1)
        destroy_job(job);
}

/* ---- cancel ---------------------------------------------------------------*/

void hfi_job_cancel_locked(hfi_sched *s, hf_job *job)
{
    if (job->life == LIFE_ENDED || atomic_load(&job->cancelled))
        return;
    atomic_store(&job->cancelled, true);
    if (job->life == LIFE_WAITING) {
        atomic_store(&job->cancel_seen, true);
        hfi_job_end(s, job);
        return;
    }
    hfi_job_wake(s, job);
    hfi_pool_drop_leaves(s, job); /* may end it */
}

static void cancel_queue(hfi_sched *s, hfi_job_queue *q)
{
    hf_job *next;
    for (hf_job *j = q->head; j != NULL; j = next) {
        next = j->links[LINK_LIFE].next;
        hfi_job_cancel_locked(s, j);
    }
}

void hfi_sched_cancel_all(hfi_sched *s)
{
    if (hfi_sched_forked(s))
        return;
    hfi_lock(&s->lock);
    s->admit_later = true; /* so that no queue changes under the loops */
    for (int p = 0; p < PRIORITIES; p++)
        cancel_queue(s, &s->waiting[p]);
    cancel_queue(s, &s->suspended);
    cancel_queue(s, &s->running);
    s->admit_later = false;
    hfi_budget_admit(s);
    hfi_sched_leave(s);
}

/* ---- for steps and leaves -------------------------------------------------*/

void *hfi_job_state(const hf_job *job, const hfi_job_class *cls)
{
    return job->cls == cls ? job->state : NULL;
}

hfi_sched *hfi_job_sched(const hf_job *job)
{
    return job->sched;
}

bool hfi_job_cancelled(const hf_job *job)
{
    if (!atomic_load(&job->cancelled))
        return false;
    /* A job that was never told has been faster than the request. */
    hf_job *told = (hf_job *)(uintptr_t)job;
    atomic_store(&told->cancel_seen, true);
    return true;
}

hf_status hfi_job_fail(hf_job *job, const hf_error *err)
{
    hfi_lock(&job->sched->lock);
    if (!atomic_load(&job->failed)) {
        job->error = *err;
        if (err->code == HF_OK)
            job->error.code = HF_E_INTERNAL;
        atomic_store(&job->failed, true);
    }
    hf_status status = job->error.code;
    hfi_unlock(&job->sched->lock);
    return status;
}

bool hfi_job_failed(const hf_job *job)
{
    return atomic_load(&job->failed);
}

uint32_t hfi_job_outstanding(const hf_job *job)
{
    return atomic_load(&job->outstanding);
}

void hfi_job_post(hf_job *job)
{
    hfi_sched *s = job->sched;
    hfi_lock(&s->lock);
    if (job->life != LIFE_ENDED)
        hfi_job_wake(s, job);
    hfi_sched_leave(s);
}

void hfi_job_raise(hf_job *job, const hf_job *other)
{
    hfi_sched *s = job->sched;
    hfi_lock(&s->lock);
    bool higher = other->priority < job->priority;
    if (higher && job->life == LIFE_WAITING) {
        hfi_queue_remove(&s->waiting[job->priority], job);
        job->priority = other->priority;
        hfi_queue_push(&s->waiting[job->priority], job);
        hfi_budget_admit(s);
    } else if (higher && job->life == LIFE_RUNNING) {
        hfi_pool_set_priority(s, job, other->priority);
    }
    if (job->suspended)
        hfi_budget_resume(s, job);
    hfi_sched_leave(s);
}

/* ---- progress -------------------------------------------------------------*/

static void take_sample(hfi_meter *m, uint64_t now)
{
    uint32_t i = m->sample_count++ % PROGRESS_SAMPLES;
    m->samples[i].ns = now;
    m->samples[i].done = atomic_load(&m->done);
    atomic_store(&m->sampled_ns, now);
}

void hfi_job_phase(hf_job *job, const char *phase, const char *unit,
                   uint64_t done, uint64_t total)
{
    hfi_lock(&job->sched->lock);
    hfi_meter *m = &job->meter;
    m->phase = phase;
    m->unit = unit;
    m->total = total;
    m->sample_count = 0;
    atomic_store(&m->done, done);
    take_sample(m, hfi_now_ns());
    hfi_unlock(&job->sched->lock);
}

void hfi_job_advance(hf_job *job, uint64_t done)
{
    hfi_meter *m = &job->meter;
    atomic_store(&m->done, done);
    uint64_t now = hfi_now_ns();
    if (now - atomic_load(&m->sampled_ns) < SAMPLE_NS)
        return;
    hfi_lock(&job->sched->lock);
    if (now - atomic_load(&m->sampled_ns) >= SAMPLE_NS)
        take_sample(m, now);
    hfi_unlock(&job->sched->lock);
}

static double meter_rate(const hfi_meter *m, uint64_t now)
{
    if (m->sample_count == 0)
        return 0;
    uint32_t oldest = m->sample_count > PROGRESS_SAMPLES
                          ? m->sample_count % PROGRESS_SAMPLES
                          : 0;
    uint64_t done = atomic_load(&m->done);
    uint64_t from = m->samples[oldest].done;
    uint64_t ns = m->samples[oldest].ns;
    if (done <= from || now <= ns)
        return 0;
    return (double)(done - from) * 1e9 / (double)(now - ns);
}

static uint64_t remaining_ms(const hf_progress *p)
{
    if (p->finished)
        return 0;
    if (p->total == 0 || !(p->rate > 0))
        return UINT64_MAX;
    if (p->done >= p->total)
        return 0;
    double ms = (double)(p->total - p->done) * 1000 / p->rate;
    return ms < 9e18 ? (uint64_t)ms : UINT64_MAX;
}

hf_status hf_job_progress(const hf_job *job, hf_progress *out)
{
    if (job == NULL || out == NULL || out->size < sizeof *out ||
        out->size > PROGRESS_MOST)
        return HF_E_ARGUMENT;
    hfi_sched *s = job->sched;
    if (hfi_sched_forked(s))
        return HF_E_STATE;
    hf_progress p = {.size = out->size};
    hfi_fenv host; /* which may have unmasked exceptions */
    hfi_fenv_enter(&host);
    hfi_lock(&s->lock);
    const hfi_meter *m = &job->meter;
    p.finished = job->life == LIFE_ENDED;
    uint64_t now = p.finished ? job->ended_ns : hfi_now_ns();
    p.phase = m->phase;
    p.unit = m->unit;
    p.total = m->total;
    p.done = atomic_load(&m->done);
    if (p.done > p.total)
        p.total = 0; /* it was an estimate, and too low */
    p.rate = meter_rate(m, now);
    p.elapsed_ms = (now - job->started_ns) / 1000000;
    p.remaining_ms = remaining_ms(&p);
    hfi_unlock(&s->lock);
    hfi_fenv_leave(&host);
    *out = p;
    return HF_OK;
}

/* ---- for the host ---------------------------------------------------------*/

void hf_job_cancel(hf_job *job)
{
    if (job == NULL || hfi_sched_forked(job->sched))
        return;
    hfi_sched *s = job->sched;
    hfi_lock(&s->lock);
    hfi_job_cancel_locked(s, job);
    hfi_sched_leave(s);
}

void hf_job_free(hf_job *job)
{
    if (job == NULL || hfi_sched_forked(job->sched))
        return;
    hfi_sched *s = job->sched;
    hfi_lock(&s->lock);
    if (job->released) {
        hfi_unlock(&s->lock);
        return;
    }
    job->released = true;
    if (job->deliver)
        hfi_completion_drop(s, job);
    else
        hfi_job_cancel_locked(s, job);
    hfi_sched_leave(s);
    hfi_job_unref(job);
}

static hf_status copy_outcome(const hf_job *job, hf_error *err)
{
    if (job->status != HF_OK && err != NULL)
        *err = job->error;
    return job->status;
}

static hf_status forked_error(hf_error *err)
{
    return hfi_error(err, HF_E_STATE,
                     "the job belongs to the parent process: a forked child "
                     "cannot use it");
}

hf_status hfi_job_outcome(const hf_job *job, hf_error *err)
{
    hfi_sched *s = job->sched;
    if (hfi_sched_forked(s))
        return forked_error(err);
    hfi_lock(&s->lock);
    hf_status status = HF_E_BUSY;
    if (job->life == LIFE_ENDED)
        status = copy_outcome(job, err);
    else
        hfi_error(err, status,
                  "the job has not ended yet: take its "
                  "completion first");
    hfi_unlock(&s->lock);
    return status;
}

/* Waits for a change, or does a piece of work where the host drives. */
static void wait_once(hfi_sched *s, uint64_t left_ms)
{
    if (s->driven && !s->driver_busy) {
        s->driver_busy = true;
        bool did = hfi_pool_drive_one(s);
        s->driver_busy = false;
        if (did) {
            hfi_cond_broadcast(&s->changed); /* another may drive now */
            hfi_sched_leave(s);
            hfi_lock(&s->lock);
            return;
        }
    }
    if (left_ms == UINT64_MAX)
        hfi_cond_wait(&s->changed, &s->lock);
    else
        (void)hfi_cond_wait_ms(&s->changed, &s->lock, left_ms);
}

static uint64_t ms_left(uint64_t start_ns, uint64_t timeout_ms)
{
    if (timeout_ms == UINT64_MAX)
        return UINT64_MAX;
    uint64_t gone = (hfi_now_ns() - start_ns) / 1000000;
    return gone < timeout_ms ? timeout_ms - gone : 0;
}

hf_status hf_job_wait(hf_job *job, uint64_t timeout_ms, hf_error *err)
{
    if (job == NULL)
        return hfi_error(err, HF_E_ARGUMENT, "job is NULL");
    hfi_sched *s = job->sched;
    if (hfi_sched_forked(s))
        return forked_error(err);
    hfi_fenv host;
    hfi_fenv_enter(&host);
    uint64_t start = hfi_now_ns();
    uint64_t left = timeout_ms;
    hfi_job_ref(job);
    hfi_lock(&s->lock);
    while (job->life != LIFE_ENDED && left > 0) {
        wait_once(s, left);
        left = ms_left(start, timeout_ms);
    }
    hf_status status = HF_E_BUSY;
    if (job->life == LIFE_ENDED)
        status = copy_outcome(job, err);
    else
        hfi_error(err, status, "the job still runs after %llu ms",
                  (unsigned long long)timeout_ms);
    hfi_sched_leave(s);
    hfi_job_unref(job);
    hfi_fenv_leave(&host);
    return status;
}

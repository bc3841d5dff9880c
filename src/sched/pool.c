/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Threads, and which work they take. Workers run CPU leaves, step threads run
 * steps and IO leaves; without threads the host's own runs all three. Jobs
 * stand in one queue per priority and kind of work, and go to its end after
 * every leaf, so the most urgent job is next and equals take turns.
 *
 * Invariant: a leaf or step in progress belongs to a job that has not ended,
 * and a leaf is never touched here after it was marked as ended.
 */
#include "sched/sched_internal.h"

/* ---- queues of leaves ----------------------------------------------------- */

static void push_leaf(hfi_leaf_queue *q, hfi_leaf *leaf)
{
    leaf->next = NULL;
    if (q->tail != NULL)
        q->tail->next = leaf;
    else
        q->head = leaf;
    q->tail = leaf;
}

/* Older leaves of a job go first: batches are committed in order. */
static void push_leaf_back(hfi_leaf_queue *q, hfi_leaf *leaf)
{
    leaf->next = q->head;
    q->head = leaf;
    if (q->tail == NULL)
        q->tail = leaf;
}

static hfi_leaf *pop_leaf(hfi_leaf_queue *q)
{
    hfi_leaf *leaf = q->head;
    q->head = leaf->next;
    if (q->head == NULL)
        q->tail = NULL;
    return leaf;
}

/* ---- who is ready --------------------------------------------------------- */

static void notify(hfi_sched *s, hfi_cond *threads)
{
    if (s->driven)
        hfi_cond_broadcast(&s->changed);
    else
        hfi_cond_signal(threads);
}

void hfi_pool_queue_step(hfi_sched *s, hf_job *job)
{
    if (job->step_queued)
        return;
    job->step_queued = true;
    hfi_queue_push(&s->step_ready[job->priority], job);
    notify(s, &s->steps);
}

void hfi_pool_queue_leaves(hfi_sched *s, hf_job *job)
{
    if (job->cpu.head != NULL && !job->cpu_queued && !job->suspended) {
        job->cpu_queued = true;
        hfi_queue_push(&s->cpu_ready[job->priority], job);
    }
    if (job->io.head != NULL && !job->io_queued) {
        job->io_queued = true;
        hfi_queue_push(&s->io_ready[job->priority], job);
    }
}

void hfi_pool_unqueue_cpu(hfi_sched *s, hf_job *job)
{
    if (job->cpu_queued)
        hfi_queue_remove(&s->cpu_ready[job->priority], job);
    job->cpu_queued = false;
}

static void unqueue_io(hfi_sched *s, hf_job *job)
{
    if (job->io_queued)
        hfi_queue_remove(&s->io_ready[job->priority], job);
    job->io_queued = false;
}

/* Moves the job to the queues of another priority. */
void hfi_pool_set_priority(hfi_sched *s, hf_job *job, int priority)
{
    if (job->step_queued)
        hfi_queue_remove(&s->step_ready[job->priority], job);
    hfi_pool_unqueue_cpu(s, job);
    unqueue_io(s, job);
    job->priority = priority;
    if (job->step_queued) {
        job->step_queued = false;
        hfi_pool_queue_step(s, job);
    }
    hfi_pool_queue_leaves(s, job);
    hfi_cond_broadcast(&s->steps); /* may be allowed to run now */
}

static hfi_leaf *take_cpu(hfi_sched *s, int priority)
{
    hf_job *job = s->cpu_ready[priority].head;
    if (job == NULL)
        return NULL;
    hfi_pool_unqueue_cpu(s, job);
    hfi_leaf *leaf = pop_leaf(&job->cpu);
    hfi_pool_queue_leaves(s, job);
    return leaf;
}

static hfi_leaf *take_io(hfi_sched *s, int priority)
{
    hf_job *job = s->io_ready[priority].head;
    if (job == NULL)
        return NULL;
    unqueue_io(s, job);
    hfi_leaf *leaf = pop_leaf(&job->io);
    hfi_pool_queue_leaves(s, job);
    return leaf;
}

/* ---- leaves --------------------------------------------------------------- */

void hfi_pool_leaf_ended(hfi_sched *s, hf_job *job, hfi_leaf *leaf)
{
    uint32_t left = atomic_fetch_sub(&job->outstanding, 1) - 1;
    atomic_store(&leaf->busy, false); /* now its owner may free it */
    if (job->done && left == 0)
        hfi_job_end(s, job);
    else
        hfi_job_wake(s, job);
}

static void skip_leaf(hfi_sched *s, hf_job *job, hfi_leaf *leaf)
{
    leaf->skipped = true;
    atomic_store(&job->cancel_seen, true);
    hfi_pool_leaf_ended(s, job, leaf);
}

void hfi_pool_drop_leaves(hfi_sched *s, hf_job *job)
{
    hfi_pool_unqueue_cpu(s, job);
    unqueue_io(s, job);
    while (job->cpu.head != NULL)
        skip_leaf(s, job, pop_leaf(&job->cpu));
    while (job->io.head != NULL)
        skip_leaf(s, job, pop_leaf(&job->io));
}

static void add_leaf(hfi_sched *s, hf_job *job, hfi_leaf *leaf)
{
    if (leaf->kind == HFI_LEAF_CPU) {
        push_leaf(&job->cpu, leaf);
        hfi_pool_queue_leaves(s, job);
        notify(s, &s->work);
    } else {
        push_leaf(&job->io, leaf);
        hfi_pool_queue_leaves(s, job);
        notify(s, &s->steps);
    }
}

void hfi_leaf_submit(hf_job *job, hfi_leaf *leaf)
{
    hfi_sched *s = job->sched;
    hfi_lock(&s->lock);
    leaf->job = job;
    leaf->skipped = false;
    atomic_store(&leaf->busy, true);
    atomic_fetch_add(&job->outstanding, 1);
    if (atomic_load(&job->cancelled))
        skip_leaf(s, job, leaf);
    else
        add_leaf(s, job, leaf);
    hfi_sched_leave(s);
}

bool hfi_leaf_idle(const hfi_leaf *leaf)
{
    return !atomic_load(&leaf->busy);
}

/* Called with the lock; runs the leaf without. */
static void run_leaf(hfi_sched *s, hfi_leaf *leaf, hfi_worker *worker)
{
    hf_job *job = leaf->job;
    hfi_unlock(&s->lock);
    bool again = leaf->run(leaf, worker);
    hfi_lock(&s->lock);
    if (!again) {
        hfi_pool_leaf_ended(s, job, leaf);
    } else if (atomic_load(&job->cancelled)) {
        skip_leaf(s, job, leaf);
    } else {
        push_leaf_back(leaf->kind == HFI_LEAF_CPU ? &job->cpu : &job->io, leaf);
        hfi_pool_queue_leaves(s, job);
    }
}

/* ---- scratch -------------------------------------------------------------- */

uint32_t hfi_worker_index(const hfi_worker *w)
{
    return w->index;
}

/* With the lock; the worker runs no leaf. */
void hfi_pool_release_scratch(hfi_worker *w)
{
    hfi_scratch_unmap(w->scratch, w->scratch_bytes);
    w->scratch = NULL;
    w->scratch_bytes = 0;
}

static bool must_release(const hfi_worker *w)
{
    const hfi_sched *s = w->sched;
    return w->scratch_bytes > s->scratch_keep ||
           (w->trim && w->scratch_bytes > s->max_scratch);
}

/* With the lock, dropped while the system unmaps. */
static void release_if_asked(hfi_worker *w)
{
    hfi_sched *s = w->sched;
    if (must_release(w)) {
        hfi_unlock(&s->lock);
        hfi_scratch_unmap(w->scratch, w->scratch_bytes);
        hfi_lock(&s->lock);
        w->scratch = NULL;
        w->scratch_bytes = 0;
        hfi_budget_admit(s);
    }
    w->trim = false;
}

void *hfi_worker_scratch(hfi_worker *w, size_t bytes)
{
    hfi_sched *s = w->sched;
    if (bytes <= w->scratch_bytes && w->scratch != NULL)
        return w->scratch;
    hfi_scratch_unmap(w->scratch, w->scratch_bytes);
    w->scratch = hfi_scratch_map(bytes);
    hfi_lock(&s->lock);
    w->scratch_bytes = w->scratch != NULL ? bytes : 0;
    hfi_unlock(&s->lock);
    return w->scratch;
}

void hfi_sched_trim(hfi_sched *s)
{
    if (hfi_sched_forked(s))
        return;
    hfi_lock(&s->lock);
    for (uint32_t i = 0; i < s->worker_count; i++)
        s->workers[i].trim = true;
    if (!s->driven) {
        hfi_cond_broadcast(&s->work);
    } else if (!s->driver_busy && must_release(&s->workers[0])) {
        hfi_pool_release_scratch(&s->workers[0]);
        hfi_budget_admit(s);
    }
    hfi_sched_leave(s);
}

/* ---- threads -------------------------------------------------------------- */

static void worker_main(void *arg)
{
    hfi_worker *w = arg;
    hfi_sched *s = w->sched;
    hfi_lock(&s->lock);
    for (;;) {
        release_if_asked(w);
        hfi_leaf *leaf = NULL;
        for (int p = 0; p < PRIORITIES && leaf == NULL; p++)
            leaf = take_cpu(s, p);
        if (leaf != NULL) {
            run_leaf(s, leaf, w);
            hfi_sched_leave(s);
            hfi_lock(&s->lock);
        } else if (s->quit) {
            break;
        } else {
            hfi_cond_wait(&s->work, &s->lock);
        }
    }
    hfi_unlock(&s->lock);
}

static void run_io(hfi_sched *s, hfi_leaf *leaf, int priority)
{
    s->stepping[priority]++;
    run_leaf(s, leaf, NULL);
    s->stepping[priority]--;
}

static void run_reclaim(hfi_sched *s)
{
    void (*reclaim)(void *user) = s->reclaim;
    s->reclaim_wanted = false;
    s->reclaiming = true;
    hfi_unlock(&s->lock);
    reclaim(s->reclaim_user);
    hfi_lock(&s->lock);
    s->reclaiming = false;
}

/*
 * A file that does not answer may hold a step thread for long, so the less
 * urgent may never hold all: one is left for urgent jobs alone, one more for
 * those that are not background.
 */
static bool may_step(const hfi_sched *s, int priority)
{
    uint32_t background = s->stepping[BACKGROUND];
    uint32_t others = background + s->stepping[NORMAL];
    switch (priority) {
    case URGENT:
        return true;
    case NORMAL:
        return others < STEP_THREADS - 1;
    default:
        return background < STEP_THREADS - 2 && others < STEP_THREADS - 1;
    }
}

/* With the lock; false if nothing of this priority is due. */
static bool step_or_io(hfi_sched *s, int priority)
{
    bool io_first = s->turn++ % 2 != 0;
    for (int i = 0; i < 2; i++) {
        if ((i == 0) != io_first) {
            hf_job *job = hfi_queue_pop(&s->step_ready[priority]);
            if (job != NULL) {
                job->step_queued = false;
                hfi_job_step_once(s, job);
                return true;
            }
        } else {
            hfi_leaf *leaf = take_io(s, priority);
            if (leaf != NULL) {
                run_io(s, leaf, priority);
                return true;
            }
        }
    }
    return false;
}

static bool step_thread_work(hfi_sched *s)
{
    for (int p = 0; p < PRIORITIES; p++)
        if (may_step(s, p) && step_or_io(s, p))
            return true;
    if (!s->reclaim_wanted)
        return false;
    run_reclaim(s);
    return true;
}

static void step_main(void *arg)
{
    hfi_sched *s = arg;
    hfi_lock(&s->lock);
    for (;;) {
        if (step_thread_work(s)) {
            hfi_sched_leave(s);
            hfi_lock(&s->lock);
        } else if (s->quit) {
            break;
        } else {
            hfi_cond_wait(&s->steps, &s->lock);
        }
    }
    hfi_unlock(&s->lock);
}

/* ---- host-driven ---------------------------------------------------------- */

bool hfi_pool_runnable(const hfi_sched *s)
{
    for (int p = 0; p < PRIORITIES; p++)
        if (s->step_ready[p].head != NULL || s->cpu_ready[p].head != NULL ||
            s->io_ready[p].head != NULL)
            return true;
    return s->reclaim_wanted;
}

bool hfi_pool_drive_one(hfi_sched *s)
{
    hfi_worker *w = &s->workers[0];
    release_if_asked(w);
    for (int p = 0; p < PRIORITIES; p++) {
        bool leaf_first = s->turn % 4 < 2;
        hfi_leaf *leaf = leaf_first ? take_cpu(s, p) : NULL;
        if (leaf == NULL && step_or_io(s, p))
            return true;
        if (leaf == NULL)
            leaf = take_cpu(s, p);
        if (leaf != NULL) {
            s->turn++;
            run_leaf(s, leaf, w);
            return true;
        }
    }
    if (!s->reclaim_wanted)
        return false;
    run_reclaim(s);
    return true;
}

bool hfi_sched_run(hfi_sched *s, uint32_t max_ms)
{
    if (hfi_sched_forked(s) || !s->driven)
        return false;
    hfi_fenv host;
    hfi_fenv_enter(&host);
    bool more = false;
    hfi_lock(&s->lock);
    if (!s->driver_busy) {
        uint64_t end = hfi_now_ns() + (uint64_t)max_ms * 1000000;
        s->driver_busy = true;
        do {
            more = hfi_pool_drive_one(s);
            hfi_sched_leave(s);
            hfi_lock(&s->lock);
        } while (more && hfi_now_ns() < end);
        s->driver_busy = false;
        more = hfi_pool_runnable(s);
        hfi_cond_broadcast(&s->changed);
    }
    hfi_sched_leave(s);
    hfi_fenv_leave(&host);
    return more;
}

/* ---- open and close ------------------------------------------------------- */

static void init_queues(hfi_sched *s)
{
    for (int p = 0; p < PRIORITIES; p++) {
        s->step_ready[p].kind = LINK_STEP;
        s->cpu_ready[p].kind = LINK_CPU;
        s->io_ready[p].kind = LINK_IO;
    }
}

static void free_sched(hfi_sched *s)
{
    hf_job *job;
    while ((job = hfi_queue_pop(&s->spare)) != NULL)
        hfi_free(&s->env, job);
    hfi_free(&s->env, s->workers);
    hfi_cond_destroy(&s->changed);
    hfi_cond_destroy(&s->steps);
    hfi_cond_destroy(&s->work);
    hfi_mutex_destroy(&s->lock);
    hfi_env env = s->env;
    hfi_free(&env, s);
}

void hfi_sched_unref(hfi_sched *s)
{
    if (atomic_fetch_sub(&s->refs, 1) != 1)
        return;
    if (s->finalize != NULL)
        s->finalize(s->finalize_user);
    free_sched(s);
}

static hf_status init_locks(hfi_sched *s, hf_error *err)
{
    hf_status status = hfi_mutex_init(&s->lock, err);
    if (status != HF_OK)
        return status;
    hfi_cond *conds[3] = {&s->work, &s->steps, &s->changed};
    for (int i = 0; i < 3; i++) {
        status = hfi_cond_init(conds[i], err);
        if (status == HF_OK)
            continue;
        while (i-- > 0)
            hfi_cond_destroy(conds[i]);
        hfi_mutex_destroy(&s->lock);
        return status;
    }
    return HF_OK;
}

static void join_threads(hfi_sched *s)
{
    hfi_lock(&s->lock);
    s->quit = true;
    hfi_cond_broadcast(&s->work);
    hfi_cond_broadcast(&s->steps);
    hfi_unlock(&s->lock);
    for (uint32_t i = 0; i < s->workers_started; i++)
        hfi_thread_join(&s->workers[i].thread);
    for (uint32_t i = 0; i < s->steps_started; i++)
        hfi_thread_join(&s->step_threads[i]);
}

static hf_status start_threads(hfi_sched *s, hf_error *err)
{
    hf_status status = HF_OK;
    uint32_t i = 0;
    for (; i < s->worker_count && status == HF_OK; i++) {
        status = hfi_thread_start(&s->workers[i].thread, "hf-worker", true,
                                  worker_main, &s->workers[i], err);
        s->workers_started += status == HF_OK;
    }
    if (status != HF_OK)
        return hfi_error_wrap(err, status,
                              "cannot start worker thread %u of "
                              "%u",
                              (unsigned)i, (unsigned)s->worker_count);
    for (i = 0; i < STEP_THREADS && status == HF_OK; i++) {
        status = hfi_thread_start(&s->step_threads[i], "hf-step", false,
                                  step_main, s, err);
        s->steps_started += status == HF_OK;
    }
    if (status != HF_OK)
        return hfi_error_wrap(err, status, "cannot start step thread %u of %u",
                              (unsigned)i, (unsigned)STEP_THREADS);
    return HF_OK;
}

static void copy_options(hfi_sched *s, const hfi_sched_opts *opts)
{
    s->pid = hfi_pid();
    atomic_init(&s->refs, 1);
    s->driven = opts->workers == 0;
    s->worker_count = s->driven ? 1 : opts->workers;
    s->queue_length = opts->queue_length;
    s->budget = opts->memory_budget != 0 ? opts->memory_budget : UINT64_MAX;
    s->scratch_keep = UINT64_MAX;
    s->wake = opts->wake;
    s->wake_user = opts->wake_user;
    s->finalize = opts->finalize;
    s->finalize_user = opts->finalize_user;
}

static hf_status open_parts(hfi_sched *s, hf_error *err)
{
    s->workers = hfi_calloc(&s->env, s->worker_count, sizeof *s->workers);
    if (s->workers == NULL)
        return hfi_error(err, HF_E_MEMORY, "no memory for %u workers",
                         (unsigned)s->worker_count);
    for (uint32_t i = 0; i < s->worker_count; i++) {
        s->workers[i].sched = s;
        s->workers[i].index = i;
    }
    hf_status status = hfi_event_init(&s->event, err);
    if (status != HF_OK)
        return status;
    if (!s->driven)
        status = start_threads(s, err);
    if (status != HF_OK) {
        join_threads(s);
        hfi_event_destroy(&s->event);
    }
    return status;
}

hf_status hfi_sched_new(hfi_sched **out, const hfi_env *env,
                        const hfi_sched_opts *opts, hf_error *err)
{
    hfi_sched *s = hfi_calloc(env, 1, sizeof *s);
    if (s == NULL)
        return hfi_error(err, HF_E_MEMORY, "no memory for a scheduler");
    s->env = *env;
    copy_options(s, opts);
    init_queues(s);
    hf_status status = init_locks(s, err);
    if (status != HF_OK) {
        hfi_free(env, s);
        return status;
    }
    status = open_parts(s, err);
    if (status != HF_OK) {
        free_sched(s);
        return status;
    }
    *out = s;
    return HF_OK;
}

/* Runs or awaits what the cancelled jobs still do. */
static void drain(hfi_sched *s)
{
    hfi_lock(&s->lock);
    while (s->live > 0 || s->waking > 0 || s->driver_busy) {
        bool did = false;
        if (s->driven && !s->driver_busy) {
            s->driver_busy = true;
            did = hfi_pool_drive_one(s);
            s->driver_busy = false;
        }
        if (did) {
            hfi_sched_leave(s);
            hfi_lock(&s->lock);
        } else if (s->live > 0 || s->waking > 0 || s->driver_busy) {
            hfi_cond_wait(&s->changed, &s->lock);
        }
    }
    hfi_unlock(&s->lock);
}

void hfi_sched_stop(hfi_sched *s)
{
    if (s->closed || hfi_sched_forked(s))
        return;
    hfi_fenv host;
    hfi_fenv_enter(&host);
    hfi_lock(&s->lock);
    s->closing = true;
    hfi_unlock(&s->lock);
    hfi_sched_cancel_all(s);
    drain(s);
    join_threads(s);

    hfi_lock(&s->lock);
    for (uint32_t i = 0; i < s->worker_count; i++)
        hfi_pool_release_scratch(&s->workers[i]);
    s->closed = true;
    s->env.log = NULL; /* handles that outlive the context do not log */
    hfi_event_destroy(&s->event);
    hfi_sched_leave(s);
    hfi_fenv_leave(&host);
}

void hfi_sched_close(hfi_sched *s)
{
    if (s == NULL || hfi_sched_forked(s))
        return;
    hfi_sched_stop(s);
    hfi_sched_unref(s);
}

const hfi_env *hfi_sched_env(const hfi_sched *s)
{
    return &s->env;
}

uint32_t hfi_sched_workers(const hfi_sched *s)
{
    return s->worker_count;
}

bool hfi_sched_forked(const hfi_sched *s)
{
    return hfi_pid() != s->pid;
}

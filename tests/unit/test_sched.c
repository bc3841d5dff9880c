/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The scheduler: states, completions, priorities, cancel, loops, host-driven
 * work. Memory is in test_sched_memory.c, races are in tests/sched.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fenv.h>
#include <string.h>

#include "sched/kit.h"

/* ---- one job ------------------------------------------------------------- */

static void job_runs_and_completes_once(void **state)
{
    (void)state;
    hfi_sched *s = kit_open(3, 8, 0);
    kit_seen seen = {0};
    int token;
    kit_plan plan = {.cpu_leaves = 7,
                     .io_leaves = 3,
                     .rounds = 5,
                     .again = 4,
                     .user = &token};
    assert_false(kit_readable(s));
    hf_job *job = kit_started(s, &plan, &seen);
    hfi_completion c = kit_take(s);
    assert_ptr_equal(c.job, job);
    assert_ptr_equal(c.user, &token);
    assert_int_equal(c.status, HF_OK);
    assert_int_equal(c.error.code, HF_OK);
    assert_false(hfi_sched_next(s, &c));
    assert_false(kit_readable(s));
    assert_int_equal(atomic_load(&seen.runs), 50);
    assert_int_equal(atomic_load(&seen.overlaps), 0);
    assert_int_equal(hf_job_wait(job, 0, NULL), HF_OK);
    assert_int_equal(atomic_load(&seen.destroyed), 0);
    hf_job_free(job);
    assert_int_equal(atomic_load(&seen.destroyed), 1);
    kit_close(s);
}

static void failure_is_the_outcome(void **state)
{
    (void)state;
    hfi_sched *s = kit_open(1, 8, 0);
    kit_plan plan = {.cpu_leaves = 1, .rounds = 1, .fail = HF_E_IO};
    hf_job *job = kit_started(s, &plan, NULL);
    hf_error err = {0};
    assert_int_equal(hf_job_wait(job, FOREVER, &err), HF_E_IO);
    assert_string_equal(err.message, "as planned");
    hfi_completion c = kit_take(s);
    assert_int_equal(c.status, HF_E_IO);
    assert_string_equal(c.error.message, "as planned");
    memset(&err, 0, sizeof err);
    assert_int_equal(hfi_job_outcome(job, &err), HF_E_IO);
    assert_int_equal(err.code, HF_E_IO);
    hf_job_free(job);
    kit_close(s);
}

/* ---- cancel and free ----------------------------------------------------- */

static void cancel_stops_endless_work(void **state)
{
    (void)state;
    hfi_sched *s = kit_open(2, 8, 0);
    kit_seen seen = {0};
    kit_plan plan = {.cpu_leaves = 4, .io_leaves = 2, .leaf_us = 2000};
    hf_job *job = kit_started(s, &plan, &seen);
    assert_true(kit_until(&seen.runs, 5));
    assert_int_equal(hf_job_wait(job, 1, NULL), HF_E_BUSY);
    uint64_t from = kit_now_ms();
    hf_job_cancel(job);
    hf_job_cancel(job);
    hf_error err = {0};
    assert_int_equal(hf_job_wait(job, FOREVER, &err), HF_E_CANCELLED);
    assert_in_range(kit_now_ms() - from, 0, 500); /* 10 times the promise */
    assert_string_equal(err.message, "the test job was cancelled");
    assert_int_equal(kit_take(s).status, HF_E_CANCELLED);
    assert_int_equal(atomic_load(&seen.skipped), 6);
    hf_job_free(job);
    kit_close(s);
}

static void cancel_of_a_waiting_job_runs_nothing(void **state)
{
    (void)state;
    hfi_sched *s = kit_open(1, 8, 10 * MIB);
    kit_seen first = {0}, second = {0};
    kit_plan plan = {
        .cpu_leaves = 1, .leaf_us = 500, .need = {.bytes = 6 * MIB}};
    hf_job *a = kit_started(s, &plan, &first);
    hf_job *b = kit_started(s, &plan, &second);
    hf_progress p = {.size = sizeof p};
    assert_int_equal(hf_job_progress(b, &p), HF_OK);
    assert_string_equal(p.phase, "queued");
    assert_false(p.finished);
    hf_job_cancel(b);
    hfi_completion c = kit_take(s);
    assert_ptr_equal(c.job, b);
    assert_int_equal(c.status, HF_E_CANCELLED);
    assert_int_equal(atomic_load(&second.steps), 0);
    hf_job_free(b);
    hf_job_free(a);
    kit_close(s);
}

/* A request that comes when the job can no longer see it changes nothing. */
static void cancel_too_late_is_no_failure(void **state)
{
    (void)state;
    hfi_sched *s = kit_open(1, 8, 0);
    kit_plan plan = {.again = 3, .step_ms = 5, .ignore_cancel = true};
    hf_job *job = kit_started(s, &plan, NULL);
    hf_job_cancel(job);
    assert_int_equal(hf_job_wait(job, FOREVER, NULL), HF_OK);
    assert_int_equal(kit_take(s).status, HF_OK);
    hf_job_cancel(job);
    assert_int_equal(hf_job_wait(job, FOREVER, NULL), HF_OK);
    hf_job_free(job);
    kit_close(s);
}

static void freed_jobs_deliver_nothing(void **state)
{
    (void)state;
    hfi_sched *s = kit_open(1, 2, 0);
    kit_seen running = {0}, done = {0};
    kit_plan endless = {.cpu_leaves = 1, .leaf_us = 500};
    hf_job *a = kit_started(s, &endless, &running);
    assert_true(kit_until(&running.runs, 1));
    hf_job_free(a);
    assert_true(kit_until(&running.destroyed, 1));

    kit_plan brief = {0};
    hf_job *b = kit_started(s, &brief, &done);
    assert_int_equal(hf_job_wait(b, FOREVER, NULL), HF_OK);
    assert_true(kit_readable(s));
    hf_job_free(b);
    assert_false(kit_readable(s)); /* its completion was dropped */
    hf_job_free(b);                /* no effect: the struct is kept a while */
    hfi_completion c;
    assert_false(hfi_sched_next(s, &c));

    /* Both places are free again. */
    hf_job *more[2];
    for (int i = 0; i < 2; i++)
        more[i] = kit_started(s, &brief, NULL);
    for (int i = 0; i < 2; i++)
        hf_job_free(more[i]);
    kit_close(s);
    assert_int_equal(atomic_load(&done.destroyed), 1);
}

static void full_queue_is_busy_at_once(void **state)
{
    (void)state;
    hfi_sched *s = kit_open(1, 3, 0);
    kit_plan plan = {0};
    hf_job *jobs[4] = {NULL};
    for (int i = 0; i < 3; i++)
        jobs[i] = kit_started(s, &plan, NULL);
    hf_error err = {0};
    assert_int_equal(kit_start(&jobs[3], s, &plan, NULL, &err), HF_E_BUSY);
    assert_non_null(strstr(err.message, "all 3 places"));
    assert_null(jobs[3]);
    (void)kit_take(s);
    jobs[3] = kit_started(s, &plan, NULL);
    assert_int_equal(kit_start(&jobs[3], s, &plan, NULL, &err), HF_E_BUSY);
    for (int i = 0; i < 4; i++)
        hf_job_free(jobs[i]);
    kit_close(s);
}

static void priorities_out_of_range_are_refused(void **state)
{
    (void)state;
    hfi_sched *s = kit_open(1, 3, 0);
    kit_plan plan = {.priority = (hf_priority)4};
    hf_job *job = NULL;
    hf_error err = {0};
    assert_int_equal(kit_start(&job, s, &plan, NULL, &err), HF_E_ARGUMENT);
    assert_non_null(strstr(err.message, "priority is 4"));
    kit_close(s);
}

/* ---- order --------------------------------------------------------------- */

typedef struct overtaking {
    const kit_seen *background;
    uint32_t first; /* background runs seen by the urgent leaf */
    uint32_t last;
    uint32_t runs;
} overtaking;

static void look_at_background(hf_job *job, hfi_worker *worker, void *user)
{
    (void)job;
    (void)worker;
    overtaking *o = user;
    o->last = atomic_load(&o->background->runs);
    if (o->runs++ == 0)
        o->first = o->last;
}

static void urgent_work_overtakes_at_a_leaf_border(void **state)
{
    (void)state;
    hfi_sched *s = kit_open(1, 8, 0);
    kit_seen low = {0}, high = {0};
    kit_plan slow = {
        .cpu_leaves = 6, .leaf_us = 1000, .priority = HF_PRIORITY_BACKGROUND};
    hf_job *background = kit_started(s, &slow, &low);
    assert_true(kit_until(&low.runs, 3));
    overtaking o = {.background = &low};
    kit_plan fast = {.cpu_leaves = 2,
                     .rounds = 20,
                     .leaf_us = 200,
                     .priority = HF_PRIORITY_URGENT,
                     .in_leaf = look_at_background,
                     .in_leaf_user = &o};
    hf_job *urgent = kit_started(s, &fast, &high);
    assert_int_equal(hf_job_wait(urgent, FOREVER, NULL), HF_OK);
    assert_int_equal(o.runs, 40);
    assert_int_equal(o.last, o.first); /* not one between its leaves */
    hf_job_free(urgent);
    hf_job_free(background);
    kit_close(s);
}

static void equals_take_turns(void **state)
{
    (void)state;
    hfi_sched *s = kit_open(1, 8, 0);
    kit_seen seen[3] = {{0}, {0}, {0}};
    /* Whatever its number of leaves, a job gets its share. */
    kit_plan plan[3] = {{.cpu_leaves = 1, .leaf_us = 100},
                        {.cpu_leaves = 9, .leaf_us = 100},
                        {.cpu_leaves = 2, .leaf_us = 100}};
    hf_job *jobs[3];
    for (int i = 0; i < 3; i++)
        jobs[i] = kit_started(s, &plan[i], &seen[i]);
    for (int i = 0; i < 3; i++)
        assert_true(kit_until(&seen[i].runs, 1));
    uint32_t before[3], after[3];
    for (int i = 0; i < 3; i++)
        before[i] = atomic_load(&seen[i].runs);
    assert_true(kit_until(&seen[0].runs, before[0] + 100));
    for (int i = 0; i < 3; i++)
        after[i] = atomic_load(&seen[i].runs);
    for (int i = 1; i < 3; i++)
        assert_in_range(after[i] - before[i], 80, 1000);
    for (int i = 0; i < 3; i++)
        hf_job_free(jobs[i]);
    kit_close(s);
}

static uint32_t count_steps(kit_seen *seen, int jobs)
{
    uint32_t sum = 0;
    for (int i = 0; i < jobs; i++)
        sum += atomic_load(&seen[i].steps);
    return sum;
}

/* Files that do not answer must not hold what is urgent. */
static void blocked_steps_leave_room(void **state)
{
    (void)state;
    const hf_priority low[2] = {HF_PRIORITY_BACKGROUND, HF_PRIORITY_NORMAL};
    hfi_sched *s = kit_open(1, 32, 0);
    _Atomic bool open_gate = false;
    kit_seen seen[12];
    memset(seen, 0, sizeof seen);
    hf_job *jobs[12];
    for (int i = 0; i < 12; i++) {
        kit_plan plan = {.block = &open_gate, .priority = low[i / 6]};
        jobs[i] = kit_started(s, &plan, &seen[i]);
    }
    /* As many as may have begun; the thread left over is for urgent jobs. */
    uint64_t end = kit_now_ms() + 10000;
    while (count_steps(seen, 12) < 3 && kit_now_ms() < end)
        hfi_sleep_ms(1);
    kit_plan plan = {
        .io_leaves = 3, .rounds = 2, .priority = HF_PRIORITY_URGENT};
    hf_job *urgent = kit_started(s, &plan, NULL);
    assert_int_equal(hf_job_wait(urgent, 20000, NULL), HF_OK);
    assert_int_equal(count_steps(seen, 12), 3);
    assert_in_range(count_steps(seen, 6), 0, 2); /* background */
    atomic_store(&open_gate, true);
    for (int i = 0; i < 12; i++) {
        assert_int_equal(hf_job_wait(jobs[i], FOREVER, NULL), HF_OK);
        hf_job_free(jobs[i]);
    }
    hf_job_free(urgent);
    kit_close(s);
}

/* ---- host-driven --------------------------------------------------------- */

static void without_workers_the_host_drives(void **state)
{
    (void)state;
    uint32_t threads = kit_threads();
    hfi_sched *s = kit_open(0, 8, 0);
    assert_int_equal(kit_threads(), threads);
    assert_int_equal(hfi_sched_workers(s), 1);
    kit_seen seen = {0};
    kit_plan plan = {.cpu_leaves = 5,
                     .io_leaves = 5,
                     .rounds = 4,
                     .again = 2,
                     .leaf_us = 100,
                     .scratch = MIB,
                     .need = {.scratch = MIB}};
    assert_false(hfi_sched_run(s, 10));
    assert_false(kit_readable(s));
    hf_job *job = kit_started(s, &plan, &seen);
    assert_true(kit_readable(s)); /* there is work to run */
    assert_int_equal(atomic_load(&seen.steps), 0);
    uint32_t calls = 0;
    while (hfi_sched_run(s, 1)) {
        calls++;
        assert_true(kit_readable(s));
    }
    assert_in_range(calls, 1, 60); /* 40 leaves of 0.1 ms, 1 ms a call */
    assert_int_equal(atomic_load(&seen.runs), 40);
    assert_true(kit_readable(s)); /* a completion */
    assert_int_equal(kit_take(s).status, HF_OK);
    assert_false(kit_readable(s));
    hf_job_free(job);
    kit_close(s);
}

static void without_workers_wait_and_close_drive(void **state)
{
    (void)state;
    hfi_sched *s = kit_open(0, 8, 0);
    kit_seen first = {0}, second = {0};
    kit_plan plan = {
        .cpu_leaves = 2, .io_leaves = 1, .rounds = 3, .leaf_us = 50};
    hf_job *job = kit_started(s, &plan, &first);
    assert_int_equal(hf_job_wait(job, FOREVER, NULL), HF_OK);
    kit_plan endless = {.cpu_leaves = 2, .leaf_us = 500};
    hf_job *other = kit_started(s, &endless, &second);
    uint64_t from = kit_now_ms();
    assert_int_equal(hf_job_wait(other, 20, NULL), HF_E_BUSY);
    assert_in_range(kit_now_ms() - from, 19, 2000);
    assert_in_range(atomic_load(&second.runs), 1, 60);
    hf_job_free(job);
    hfi_sched_close(s);
    assert_int_equal(hf_job_wait(other, 0, NULL), HF_E_CANCELLED);
    hf_job_free(other);
    assert_int_equal(atomic_load(&kit_counter.live), 0);
}

static void without_workers_urgent_goes_first(void **state)
{
    (void)state;
    hfi_sched *s = kit_open(0, 8, 0);
    kit_seen low = {0};
    kit_plan slow = {.cpu_leaves = 2,
                     .io_leaves = 2,
                     .leaf_us = 100,
                     .priority = HF_PRIORITY_BACKGROUND};
    hf_job *background = kit_started(s, &slow, &low);
    (void)hfi_sched_run(s, 2);
    overtaking o = {.background = &low};
    kit_plan fast = {.cpu_leaves = 2,
                     .rounds = 5,
                     .priority = HF_PRIORITY_URGENT,
                     .in_leaf = look_at_background,
                     .in_leaf_user = &o};
    hf_job *urgent = kit_started(s, &fast, NULL);
    assert_int_equal(hf_job_wait(urgent, FOREVER, NULL), HF_OK);
    assert_int_equal(o.runs, 10);
    assert_int_equal(o.last, o.first);
    hf_job_free(urgent);
    hf_job_free(background);
    kit_close(s);
}

static void note_rounding(hf_job *job, hfi_worker *worker, void *user)
{
    (void)job;
    (void)worker;
    *(int *)user = fegetround();
}

/* Nor are its exception flags touched, or unmasked exceptions raised. */
static void progress_raises_no_exception(void **state)
{
    (void)state;
    hfi_sched *s = kit_open(1, 8, 0);
    _Atomic bool never = false;
    kit_plan plan = {.gate = &never};
    hf_job *job = kit_started(s, &plan, NULL);
    hf_progress p = {.size = sizeof p};
    hfi_job_phase(job, "test", "pieces", 0, 7);
    hfi_sleep_ms(2);
    hfi_job_advance(job, 3);
    assert_int_equal(feclearexcept(FE_ALL_EXCEPT), 0);
    assert_int_equal(hf_job_progress(job, &p), HF_OK);
    assert_int_equal(fetestexcept(FE_ALL_EXCEPT), 0);
    assert_true(p.rate > 0);
    hf_job_free(job);
    kit_close(s);
}

static void rounding_mode_stays_with_the_host(void **state)
{
    (void)state;
    for (uint32_t workers = 0; workers < 2; workers++) {
        assert_int_equal(fesetround(FE_UPWARD), 0);
        hfi_sched *s = kit_open(workers, 8, 0);
        int in_leaf = -1;
        kit_plan plan = {.cpu_leaves = 1,
                         .rounds = 3,
                         .in_leaf = note_rounding,
                         .in_leaf_user = &in_leaf};
        hf_job *job = kit_started(s, &plan, NULL);
        (void)hfi_sched_run(s, 1);
        assert_int_equal(fegetround(), FE_UPWARD);
        assert_int_equal(hf_job_wait(job, FOREVER, NULL), HF_OK);
        assert_int_equal(fegetround(), FE_UPWARD);
        assert_int_equal(in_leaf, FE_TONEAREST);
        hf_job_free(job);
        job = kit_started(s, &plan, NULL);
        hfi_sched_close(s);
        hf_job_free(job);
        assert_int_equal(fegetround(), FE_UPWARD);
        assert_int_equal(fesetround(FE_TONEAREST), 0);
    }
}

/* ---- loops, progress, waiting, waking ------------------------------------ */

typedef struct loop_job {
    hfi_loop loop;
    hfi_sched *sched;
    uint64_t counts[3]; /* one round each */
    uint32_t round;
    uint64_t stop_at; /* the piece with this index fails the job; 0: none */
    _Atomic uint64_t sum;
    _Atomic uint32_t pieces;
    _Atomic uint32_t wrong;
} loop_job;

static void loop_body(hfi_loop *loop, uint64_t begin, uint64_t end,
                      hfi_worker *worker)
{
    loop_job *l = (loop_job *)(void *)loop;
    if (begin >= end || end > loop->count || end - begin > loop->grain ||
        (end - begin < loop->grain && end != loop->count) || worker == NULL)
        atomic_fetch_add(&l->wrong, 1);
    if (loop->count < 1000000)
        for (uint64_t i = begin; i < end; i++)
            atomic_fetch_add(&l->sum, i + 1);
    atomic_fetch_add(&l->pieces, 1);
    if (l->stop_at != 0 && begin >= l->stop_at) {
        hf_error e;
        hfi_error(&e, HF_E_FORMAT, "piece %llu", (unsigned long long)begin);
        (void)hfi_job_fail(loop->job, &e);
    }
}

static hfi_step loop_step(hf_job *job, void *state)
{
    loop_job *l = state;
    if (!hfi_loop_idle(&l->loop))
        return HFI_STEP_WAIT;
    if (l->round == 3 || hfi_job_failed(job) || hfi_job_cancelled(job))
        return HFI_STEP_DONE;
    l->loop.count = l->counts[l->round++];
    hfi_loop_start(&l->loop, job);
    return HFI_STEP_WAIT;
}

static void loop_destroy(void *state)
{
    loop_job *l = state;
    hfi_loop_wipe(&l->loop, l->sched);
}

static const hfi_job_class loop_class = {
    .name = "the loop", .step = loop_step, .destroy = loop_destroy};

static hf_job *start_loop(hfi_sched *s, loop_job *l, uint64_t grain)
{
    hf_error err = {0};
    hf_job *job = NULL;
    l->sched = s;
    l->loop.grain = grain;
    l->loop.body = loop_body;
    assert_int_equal(hfi_loop_init(&l->loop, s, &err), HF_OK);
    assert_int_equal(hfi_job_start(&job, s, &loop_class, l, NULL,
                                   HF_PRIORITY_DEFAULT, NULL, &err),
                     HF_OK);
    return job;
}

static void loops_cover_every_index_once(void **state)
{
    (void)state;
    for (uint32_t workers = 0; workers < 6; workers += 2) {
        hfi_sched *s = kit_open(workers, 8, 0);
        loop_job l = {.counts = {10007, 0, 1}};
        hf_job *job = start_loop(s, &l, 10);
        assert_int_equal(hf_job_wait(job, FOREVER, NULL), HF_OK);
        uint64_t n = 10007;
        assert_int_equal(atomic_load(&l.sum), n * (n + 1) / 2 + 1);
        assert_int_equal(atomic_load(&l.pieces), 1001 + 1);
        assert_int_equal(atomic_load(&l.wrong), 0);
        hf_job_free(job);
        kit_close(s);
    }
}

/* The kit_counter must not wrap where the range ends at the largest number. */
static void loops_of_any_length_stop(void **state)
{
    (void)state;
    hfi_sched *s = kit_open(4, 8, 0);
    loop_job l = {.counts = {UINT64_MAX, UINT64_MAX, UINT64_MAX}};
    hf_job *job = start_loop(s, &l, UINT64_MAX / 3 + 1);
    assert_int_equal(hf_job_wait(job, FOREVER, NULL), HF_OK);
    assert_int_equal(atomic_load(&l.pieces), 9);
    assert_int_equal(atomic_load(&l.wrong), 0);
    hf_job_free(job);

    loop_job failing = {.counts = {UINT64_MAX, 1, 1}, .stop_at = 1000};
    job = start_loop(s, &failing, 1);
    hf_error err = {0};
    assert_int_equal(hf_job_wait(job, FOREVER, &err), HF_E_FORMAT);
    assert_non_null(strstr(err.message, "piece 1"));
    hf_job_free(job);

    loop_job endless = {.counts = {UINT64_MAX, 1, 1}};
    job = start_loop(s, &endless, 1);
    assert_true(kit_until(&endless.pieces, 100));
    hf_job_cancel(job);
    assert_int_equal(hf_job_wait(job, 2000, NULL), HF_E_CANCELLED);
    hf_job_free(job);
    kit_close(s);
}

typedef struct stopper {
    uint32_t runs; /* one worker */
    uint32_t stop_at;
    _Atomic uint32_t reached;
    _Atomic bool go;
} stopper;

static void stop_there(hf_job *job, hfi_worker *worker, void *user)
{
    (void)job;
    (void)worker;
    stopper *x = user;
    if (x->runs++ != x->stop_at)
        return;
    atomic_store(&x->reached, 1);
    while (!atomic_load(&x->go))
        hfi_sleep_ms(1);
}

static void progress_tells_phase_rate_and_end(void **state)
{
    (void)state;
    hfi_sched *s = kit_open(1, 8, 0);
    stopper x = {.stop_at = 150};
    kit_plan plan = {.cpu_leaves = 200,
                     .rounds = 1,
                     .leaf_us = 2000,
                     .in_leaf = stop_there,
                     .in_leaf_user = &x};
    hf_job *job = kit_started(s, &plan, NULL);
    assert_true(kit_until(&x.reached, 1));
    hf_progress p = {.size = sizeof p};
    uint64_t end = kit_now_ms() + 10000;
    do { /* the step that reports may come a moment after the leaf */
        assert_int_equal(hf_job_progress(job, &p), HF_OK);
    } while (p.done < 150 && kit_now_ms() < end);
    assert_string_equal(p.phase, "leaves");
    assert_string_equal(p.unit, "leaves");
    assert_int_equal(p.done, 150);
    assert_int_equal(p.total, 200);
    assert_true(p.rate > 0 && p.rate < 501);
    assert_in_range(p.remaining_ms, 90, 100000);
    assert_in_range(p.elapsed_ms, 300, 30000);
    assert_false(p.finished);
    atomic_store(&x.go, true);
    assert_int_equal(hf_job_wait(job, FOREVER, NULL), HF_OK);
    assert_int_equal(hf_job_progress(job, &p), HF_OK);
    assert_true(p.finished);
    assert_int_equal(p.done, 200);
    assert_int_equal(p.remaining_ms, 0);
    uint64_t elapsed = p.elapsed_ms;
    hfi_sleep_ms(20);
    assert_int_equal(hf_job_progress(job, &p), HF_OK);
    assert_int_equal(p.elapsed_ms, elapsed);
    p.size--;
    assert_int_equal(hf_job_progress(job, &p), HF_E_ARGUMENT);
    p.size = SIZE_MAX;
    assert_int_equal(hf_job_progress(job, &p), HF_E_ARGUMENT);
    hf_job_free(job);
    kit_close(s);
}

static void *wait_for_it(void *arg)
{
    return (void *)(uintptr_t)hf_job_wait(arg, FOREVER, NULL);
}

static void many_threads_may_wait(void **state)
{
    (void)state;
    for (uint32_t workers = 0; workers < 3; workers += 2) {
        hfi_sched *s = kit_open(workers, 8, 0);
        kit_plan plan = {.cpu_leaves = 3,
                         .io_leaves = 1,
                         .rounds = 30,
                         .leaf_us = 200,
                         .fail = HF_E_FORMAT};
        hf_job *job = kit_started(s, &plan, NULL);
        pthread_t threads[5];
        for (int i = 0; i < 5; i++)
            assert_int_equal(
                pthread_create(&threads[i], NULL, wait_for_it, job), 0);
        for (int i = 0; i < 5; i++) {
            void *got = NULL;
            pthread_join(threads[i], &got);
            assert_int_equal((uintptr_t)got, HF_E_FORMAT);
        }
        hf_job_free(job);
        kit_close(s);
    }
}

static void count_wake(void *user)
{
    atomic_fetch_add((_Atomic uint32_t *)user, 1);
}

static void every_completion_wakes(void **state)
{
    (void)state;
    memset(&kit_counter, 0, sizeof kit_counter);
    _Atomic uint32_t wakes = 0;
    hfi_env env = {.alloc = {kit_alloc_get, kit_alloc_put, &kit_counter}};
    hfi_sched_opts opts = {.workers = 2,
                           .queue_length = 8,
                           .wake = count_wake,
                           .wake_user = &wakes};
    hfi_sched *s = NULL;
    assert_int_equal(hfi_sched_new(&s, &env, &opts, NULL), HF_OK);
    kit_plan plan = {0};
    hf_job *jobs[5];
    for (int i = 0; i < 5; i++)
        jobs[i] = kit_started(s, &plan, NULL);
    assert_true(kit_until(&wakes, 5));
    /* A log record, taken between two looks at the ring. */
    assert_true(kit_readable(s));
    for (int i = 0; i < 5; i++)
        hf_job_free(jobs[i]);
    assert_false(kit_readable(s));
    hfi_sched_wake_host(s);
    assert_int_equal(atomic_load(&wakes), 6);
    assert_true(kit_readable(s));
    hfi_sched_log_taken(s, false);
    hfi_sched_log_taken(s, true);
    assert_true(kit_readable(s));
    hfi_sched_log_taken(s, false);
    assert_false(kit_readable(s));
    kit_close(s);
    assert_int_equal(atomic_load(&wakes), 6);
}

static hfi_step quiet_step(hf_job *job, void *state)
{
    (void)job;
    ++*(uint32_t *)state;
    return HFI_STEP_DONE;
}

static void quiet_jobs_give_no_completion(void **state)
{
    (void)state;
    static const hfi_job_class quiet = {
        .name = "quiet", .step = quiet_step, .quiet = true};
    hfi_sched *s = kit_open(1, 1, 0);
    uint32_t steps = 0;
    for (int i = 0; i < 3; i++) {
        hf_job *job = NULL;
        assert_int_equal(hfi_job_start(&job, s, &quiet, &steps, NULL,
                                       HF_PRIORITY_URGENT, NULL, NULL),
                         HF_OK);
        assert_int_equal(hf_job_wait(job, FOREVER, NULL), HF_OK);
        assert_false(kit_readable(s));
        hf_job_free(job);
    }
    assert_int_equal(steps, 3);
    kit_close(s);
}

static void handles_outlive_the_scheduler(void **state)
{
    (void)state;
    hfi_sched *s = kit_open(2, 8, 10 * MIB);
    kit_seen seen = {0};
    kit_plan endless = {
        .cpu_leaves = 2, .leaf_us = 500, .need = {.bytes = 8 * MIB}};
    hf_job *running = kit_started(s, &endless, &seen);
    hf_job *waiting = kit_started(s, &endless, &seen);
    kit_plan brief = {0};
    hf_job *done = kit_started(s, &brief, &seen);
    assert_int_equal(hf_job_wait(done, FOREVER, NULL), HF_OK);
    hfi_sched_close(s);
    hf_error err = {0};
    assert_int_equal(hf_job_wait(running, FOREVER, &err), HF_E_CANCELLED);
    assert_int_equal(hf_job_wait(waiting, 0, NULL), HF_E_CANCELLED);
    assert_int_equal(hfi_job_outcome(done, NULL), HF_OK);
    hf_progress p = {.size = sizeof p};
    assert_int_equal(hf_job_progress(running, &p), HF_OK);
    assert_true(p.finished);
    hf_job_cancel(running);
    hf_job_free(running);
    hf_job_free(done);
    assert_true(atomic_load(&kit_counter.live) > 0);
    hf_job_free(waiting);
    assert_int_equal(atomic_load(&kit_counter.live), 0);
    assert_int_equal(atomic_load(&seen.destroyed), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(job_runs_and_completes_once),
        cmocka_unit_test(failure_is_the_outcome),
        cmocka_unit_test(cancel_stops_endless_work),
        cmocka_unit_test(cancel_of_a_waiting_job_runs_nothing),
        cmocka_unit_test(cancel_too_late_is_no_failure),
        cmocka_unit_test(freed_jobs_deliver_nothing),
        cmocka_unit_test(full_queue_is_busy_at_once),
        cmocka_unit_test(priorities_out_of_range_are_refused),
        cmocka_unit_test(urgent_work_overtakes_at_a_leaf_border),
        cmocka_unit_test(equals_take_turns),
        cmocka_unit_test(blocked_steps_leave_room),
        cmocka_unit_test(without_workers_the_host_drives),
        cmocka_unit_test(without_workers_wait_and_close_drive),
        cmocka_unit_test(without_workers_urgent_goes_first),
        cmocka_unit_test(progress_raises_no_exception),
        cmocka_unit_test(rounding_mode_stays_with_the_host),
        cmocka_unit_test(loops_cover_every_index_once),
        cmocka_unit_test(loops_of_any_length_stop),
        cmocka_unit_test(progress_tells_phase_rate_and_end),
        cmocka_unit_test(many_threads_may_wait),
        cmocka_unit_test(every_completion_wakes),
        cmocka_unit_test(quiet_jobs_give_no_completion),
        cmocka_unit_test(handles_outlive_the_scheduler),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The scheduler: states, completions, priorities, memory, cancel, host-driven
 * work. Races are in tests/sched.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fenv.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sched/kit.h"

#define MIB ((uint64_t)1 << 20)
#define FOREVER UINT64_MAX

static kit_alloc counter;

static hfi_sched *open_sched(uint32_t workers, uint32_t queue, uint64_t budget)
{
    memset(&counter, 0, sizeof counter);
    hfi_env env = {.alloc = {kit_alloc_get, kit_alloc_put, &counter}};
    hfi_sched_opts opts = {.workers = workers,
                           .queue_length = queue,
                           .memory_budget = budget};
    hfi_sched *s = NULL;
    hf_error err = {0};
    assert_int_equal(hfi_sched_new(&s, &env, &opts, &err), HF_OK);
    return s;
}

/* Closes, and checks that every byte came back. */
static void close_sched(hfi_sched *s)
{
    hfi_sched_close(s);
    assert_int_equal(atomic_load(&counter.live), 0);
}

static hf_job *start(hfi_sched *s, const kit_plan *plan, kit_seen *seen)
{
    hf_job *job = NULL;
    hf_error err = {0};
    assert_int_equal(kit_start(&job, s, plan, seen, &err), HF_OK);
    assert_non_null(job);
    return job;
}

static bool readable(hfi_sched *s)
{
    struct pollfd p = {.fd = hfi_sched_event_fd(s), .events = POLLIN};
    return poll(&p, 1, 0) == 1;
}

static hfi_completion take(hfi_sched *s)
{
    hfi_completion c = {0};
    struct pollfd p = {.fd = hfi_sched_event_fd(s), .events = POLLIN};
    assert_int_equal(poll(&p, 1, 20000), 1);
    assert_true(hfi_sched_next(s, &c));
    return c;
}

/* ---- one job ------------------------------------------------------------- */

static void job_runs_and_completes_once(void **state)
{
    (void)state;
    hfi_sched *s = open_sched(3, 8, 0);
    kit_seen seen = {0};
    int token;
    kit_plan plan = {.cpu_leaves = 7, .io_leaves = 3, .rounds = 5,
                     .again = 4, .user = &token};
    assert_false(readable(s));
    hf_job *job = start(s, &plan, &seen);
    hfi_completion c = take(s);
    assert_ptr_equal(c.job, job);
    assert_ptr_equal(c.user, &token);
    assert_int_equal(c.status, HF_OK);
    assert_int_equal(c.error.code, HF_OK);
    assert_false(hfi_sched_next(s, &c));
    assert_false(readable(s));
    assert_int_equal(atomic_load(&seen.runs), 50);
    assert_int_equal(atomic_load(&seen.overlaps), 0);
    assert_int_equal(hf_job_wait(job, 0, NULL), HF_OK);
    assert_int_equal(atomic_load(&seen.destroyed), 0);
    hf_job_free(job);
    assert_int_equal(atomic_load(&seen.destroyed), 1);
    close_sched(s);
}

static void failure_is_the_outcome(void **state)
{
    (void)state;
    hfi_sched *s = open_sched(1, 8, 0);
    kit_plan plan = {.cpu_leaves = 1, .rounds = 1, .fail = HF_E_IO};
    hf_job *job = start(s, &plan, NULL);
    hf_error err = {0};
    assert_int_equal(hf_job_wait(job, FOREVER, &err), HF_E_IO);
    assert_string_equal(err.message, "as planned");
    hfi_completion c = take(s);
    assert_int_equal(c.status, HF_E_IO);
    assert_string_equal(c.error.message, "as planned");
    memset(&err, 0, sizeof err);
    assert_int_equal(hfi_job_outcome(job, &err), HF_E_IO);
    assert_int_equal(err.code, HF_E_IO);
    hf_job_free(job);
    close_sched(s);
}

/* ---- cancel and free ----------------------------------------------------- */

static uint64_t now_ms(void)
{
    return hfi_now_ns() / 1000000;
}

static void cancel_stops_endless_work(void **state)
{
    (void)state;
    hfi_sched *s = open_sched(2, 8, 0);
    kit_seen seen = {0};
    kit_plan plan = {.cpu_leaves = 4, .io_leaves = 2, .leaf_us = 2000};
    hf_job *job = start(s, &plan, &seen);
    assert_true(kit_until(&seen.runs, 5));
    assert_int_equal(hf_job_wait(job, 1, NULL), HF_E_BUSY);
    uint64_t from = now_ms();
    hf_job_cancel(job);
    hf_job_cancel(job);
    hf_error err = {0};
    assert_int_equal(hf_job_wait(job, FOREVER, &err), HF_E_CANCELLED);
    assert_in_range(now_ms() - from, 0, 500); /* 10 times the promise */
    assert_string_equal(err.message, "the test job was cancelled");
    assert_int_equal(take(s).status, HF_E_CANCELLED);
    assert_int_equal(atomic_load(&seen.skipped), 6);
    hf_job_free(job);
    close_sched(s);
}

static void cancel_of_a_waiting_job_runs_nothing(void **state)
{
    (void)state;
    hfi_sched *s = open_sched(1, 8, 10 * MIB);
    kit_seen first = {0}, second = {0};
    kit_plan plan = {.cpu_leaves = 1, .leaf_us = 500, .need = {6 * MIB, 0}};
    hf_job *a = start(s, &plan, &first);
    hf_job *b = start(s, &plan, &second);
    hf_progress p = {.size = sizeof p};
    assert_int_equal(hf_job_progress(b, &p), HF_OK);
    assert_string_equal(p.phase, "queued");
    assert_false(p.finished);
    hf_job_cancel(b);
    hfi_completion c = take(s);
    assert_ptr_equal(c.job, b);
    assert_int_equal(c.status, HF_E_CANCELLED);
    assert_int_equal(atomic_load(&second.steps), 0);
    hf_job_free(b);
    hf_job_free(a);
    close_sched(s);
}

/* A request that comes when the job can no longer see it changes nothing. */
static void cancel_too_late_is_no_failure(void **state)
{
    (void)state;
    hfi_sched *s = open_sched(1, 8, 0);
    kit_plan plan = {.again = 3, .step_ms = 5, .ignore_cancel = true};
    hf_job *job = start(s, &plan, NULL);
    hf_job_cancel(job);
    assert_int_equal(hf_job_wait(job, FOREVER, NULL), HF_OK);
    assert_int_equal(take(s).status, HF_OK);
    hf_job_cancel(job);
    assert_int_equal(hf_job_wait(job, FOREVER, NULL), HF_OK);
    hf_job_free(job);
    close_sched(s);
}

static void freed_jobs_deliver_nothing(void **state)
{
    (void)state;
    hfi_sched *s = open_sched(1, 2, 0);
    kit_seen running = {0}, done = {0};
    kit_plan endless = {.cpu_leaves = 1, .leaf_us = 500};
    hf_job *a = start(s, &endless, &running);
    assert_true(kit_until(&running.runs, 1));
    hf_job_free(a);
    assert_true(kit_until(&running.destroyed, 1));

    kit_plan brief = {0};
    hf_job *b = start(s, &brief, &done);
    assert_int_equal(hf_job_wait(b, FOREVER, NULL), HF_OK);
    assert_true(readable(s));
    hf_job_free(b);
    assert_false(readable(s)); /* its completion was dropped */
    hf_job_free(b);            /* no effect: the struct is kept a while */
    hfi_completion c;
    assert_false(hfi_sched_next(s, &c));

    /* Both places are free again. */
    hf_job *more[2];
    for (int i = 0; i < 2; i++)
        more[i] = start(s, &brief, NULL);
    for (int i = 0; i < 2; i++)
        hf_job_free(more[i]);
    close_sched(s);
    assert_int_equal(atomic_load(&done.destroyed), 1);
}

static void full_queue_is_busy_at_once(void **state)
{
    (void)state;
    hfi_sched *s = open_sched(1, 3, 0);
    kit_plan plan = {0};
    hf_job *jobs[4] = {NULL};
    for (int i = 0; i < 3; i++)
        jobs[i] = start(s, &plan, NULL);
    hf_error err = {0};
    assert_int_equal(kit_start(&jobs[3], s, &plan, NULL, &err), HF_E_BUSY);
    assert_non_null(strstr(err.message, "all 3 places"));
    assert_null(jobs[3]);
    (void)take(s);
    jobs[3] = start(s, &plan, NULL);
    assert_int_equal(kit_start(&jobs[3], s, &plan, NULL, &err), HF_E_BUSY);
    for (int i = 0; i < 4; i++)
        hf_job_free(jobs[i]);
    close_sched(s);
}

static void priorities_out_of_range_are_refused(void **state)
{
    (void)state;
    hfi_sched *s = open_sched(1, 3, 0);
    kit_plan plan = {.priority = (hf_priority)4};
    hf_job *job = NULL;
    hf_error err = {0};
    assert_int_equal(kit_start(&job, s, &plan, NULL, &err), HF_E_ARGUMENT);
    assert_non_null(strstr(err.message, "priority is 4"));
    close_sched(s);
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
    hfi_sched *s = open_sched(1, 8, 0);
    kit_seen low = {0}, high = {0};
    kit_plan slow = {.cpu_leaves = 6, .leaf_us = 1000,
                     .priority = HF_PRIORITY_BACKGROUND};
    hf_job *background = start(s, &slow, &low);
    assert_true(kit_until(&low.runs, 3));
    overtaking o = {.background = &low};
    kit_plan fast = {.cpu_leaves = 2, .rounds = 20, .leaf_us = 200,
                     .priority = HF_PRIORITY_URGENT,
                     .in_leaf = look_at_background, .in_leaf_user = &o};
    hf_job *urgent = start(s, &fast, &high);
    assert_int_equal(hf_job_wait(urgent, FOREVER, NULL), HF_OK);
    assert_int_equal(o.runs, 40);
    assert_int_equal(o.last, o.first); /* not one between its leaves */
    hf_job_free(urgent);
    hf_job_free(background);
    close_sched(s);
}

static void equals_take_turns(void **state)
{
    (void)state;
    hfi_sched *s = open_sched(1, 8, 0);
    kit_seen seen[3] = {{0}, {0}, {0}};
    /* Whatever its number of leaves, a job gets its share. */
    kit_plan plan[3] = {{.cpu_leaves = 1, .leaf_us = 100},
                        {.cpu_leaves = 9, .leaf_us = 100},
                        {.cpu_leaves = 2, .leaf_us = 100}};
    hf_job *jobs[3];
    for (int i = 0; i < 3; i++)
        jobs[i] = start(s, &plan[i], &seen[i]);
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
    close_sched(s);
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
    hfi_sched *s = open_sched(1, 32, 0);
    _Atomic bool open_gate = false;
    kit_seen seen[12];
    memset(seen, 0, sizeof seen);
    hf_job *jobs[12];
    for (int i = 0; i < 12; i++) {
        kit_plan plan = {.block = &open_gate, .priority = low[i / 6]};
        jobs[i] = start(s, &plan, &seen[i]);
    }
    /* As many as may have begun; the thread left over is for urgent jobs. */
    uint64_t end = now_ms() + 10000;
    while (count_steps(seen, 12) < 3 && now_ms() < end)
        hfi_sleep_ms(1);
    kit_plan plan = {.io_leaves = 3, .rounds = 2,
                     .priority = HF_PRIORITY_URGENT};
    hf_job *urgent = start(s, &plan, NULL);
    assert_int_equal(hf_job_wait(urgent, 20000, NULL), HF_OK);
    assert_int_equal(count_steps(seen, 12), 3);
    assert_in_range(count_steps(seen, 6), 0, 2); /* background */
    atomic_store(&open_gate, true);
    for (int i = 0; i < 12; i++) {
        assert_int_equal(hf_job_wait(jobs[i], FOREVER, NULL), HF_OK);
        hf_job_free(jobs[i]);
    }
    hf_job_free(urgent);
    close_sched(s);
}

/* ---- memory -------------------------------------------------------------- */

static void what_can_never_fit_is_refused(void **state)
{
    (void)state;
    hfi_sched *s = open_sched(3, 8, 100 * MIB);
    kit_plan fits = {.need = {10 * MIB, 30 * MIB}};
    hf_job *job = start(s, &fits, NULL);
    assert_int_equal(hf_job_wait(job, FOREVER, NULL), HF_OK);
    hf_job_free(job);
    const hfi_job_need never[4] = {{10 * MIB + 1, 30 * MIB},
                                   {0, UINT64_MAX},
                                   {UINT64_MAX, 0},
                                   {UINT64_MAX, UINT64_MAX}};
    for (int i = 0; i < 4; i++) {
        kit_plan plan = {.need = never[i]};
        hf_error err = {0};
        assert_int_equal(kit_start(&job, s, &plan, NULL, &err), HF_E_MEMORY);
        assert_non_null(strstr(err.message, "104857600"));
        if (i == 0)
            assert_non_null(strstr(err.message, "104857601"));
    }
    close_sched(s);
}

static void jobs_wait_for_room_and_smaller_ones_pass(void **state)
{
    (void)state;
    hfi_sched *s = open_sched(1, 8, 100 * MIB);
    kit_seen a = {0}, b = {0}, c = {0};
    kit_plan plan = {.cpu_leaves = 1, .leaf_us = 200, .need = {60 * MIB, 0}};
    hf_job *first = start(s, &plan, &a);
    assert_int_equal(hfi_sched_memory_used(s), 60 * MIB);
    plan.need.bytes = 50 * MIB;
    plan.rounds = 1;
    hf_job *large = start(s, &plan, &b);
    plan.need.bytes = 40 * MIB;
    hf_job *small = start(s, &plan, &c);
    assert_int_equal(hf_job_wait(small, FOREVER, NULL), HF_OK);
    assert_int_equal(atomic_load(&b.steps), 0);
    assert_int_equal(hfi_sched_memory_used(s), 60 * MIB);
    hf_job_cancel(first);
    assert_int_equal(hf_job_wait(large, FOREVER, NULL), HF_OK);
    assert_int_equal(hfi_sched_memory_used(s), 0);
    hf_job_free(first);
    hf_job_free(large);
    hf_job_free(small);
    close_sched(s);
}

static bool until_used(hfi_sched *s, uint64_t bytes)
{
    uint64_t end = now_ms() + 10000;
    while (hfi_sched_memory_used(s) != bytes) {
        if (now_ms() > end)
            return false;
        hfi_sleep_ms(1);
    }
    return true;
}

static void scratch_is_shared_kept_and_trimmed(void **state)
{
    (void)state;
    hfi_sched *s = open_sched(2, 8, 100 * MIB);
    kit_seen seen = {0};
    /* Two jobs with the same scratch count it once. */
    kit_plan plan = {.cpu_leaves = 4, .leaf_us = 1000, .scratch = 8 * MIB,
                     .need = {MIB, 8 * MIB}};
    hf_job *a = start(s, &plan, &seen);
    hf_job *b = start(s, &plan, &seen);
    assert_true(kit_until(&seen.runs, 50));
    assert_int_equal(hfi_sched_memory_used(s), 18 * MIB);
    hf_job_free(a);
    hf_job_free(b);
    assert_true(until_used(s, 16 * MIB)); /* kept for the next job */
    hfi_sched_trim(s);
    assert_true(until_used(s, 0));
    assert_int_equal(atomic_load(&seen.no_scratch), 0);

    /* What is kept gives way to a job that needs the room. */
    plan.cpu_leaves = 2;
    hf_job *c = start(s, &plan, &seen);
    assert_true(kit_until(&seen.runs, atomic_load(&seen.runs) + 20));
    hf_job_free(c);
    assert_true(until_used(s, 16 * MIB));
    kit_plan big = {.need = {90 * MIB, 0}};
    hf_job *d = start(s, &big, NULL);
    assert_int_equal(hf_job_wait(d, 20000, NULL), HF_OK);
    hf_job_free(d);
    close_sched(s);
}

static void urgent_work_suspends_background(void **state)
{
    (void)state;
    hfi_sched *s = open_sched(2, 8, 100 * MIB);
    kit_seen low = {0}, high = {0};
    kit_plan slow = {.cpu_leaves = 4, .leaf_us = 500, .scratch = 30 * MIB,
                     .need = {10 * MIB, 30 * MIB},
                     .priority = HF_PRIORITY_BACKGROUND};
    hf_job *background = start(s, &slow, &low);
    assert_true(kit_until(&low.runs, 20));
    assert_int_equal(hfi_sched_memory_used(s), 70 * MIB);

    kit_plan fast = {.cpu_leaves = 2, .rounds = 100, .leaf_us = 500,
                     .need = {80 * MIB, 4 * MIB}, .scratch = 4 * MIB,
                     .priority = HF_PRIORITY_URGENT};
    hf_job *urgent = start(s, &fast, &high);
    assert_true(kit_until(&high.runs, 1));
    /* Every worker gave its 30 MiB back before the job was let in. */
    assert_int_equal(hfi_sched_memory_used(s), 98 * MIB);
    uint32_t before = atomic_load(&low.runs);
    assert_true(kit_until(&high.runs, 150));
    assert_int_equal(atomic_load(&low.runs), before);
    assert_int_equal(hf_job_wait(urgent, FOREVER, NULL), HF_OK);
    assert_true(kit_until(&low.runs, before + 20)); /* and goes on */
    hf_job_free(urgent);
    hf_job_free(background);
    close_sched(s);
    assert_int_equal(atomic_load(&low.no_scratch), 0);
}

static void suspended_jobs_can_be_cancelled(void **state)
{
    (void)state;
    hfi_sched *s = open_sched(1, 8, 100 * MIB);
    kit_seen low = {0}, high = {0};
    kit_plan slow = {.cpu_leaves = 3, .leaf_us = 500, .scratch = 60 * MIB,
                     .need = {0, 60 * MIB},
                     .priority = HF_PRIORITY_BACKGROUND};
    hf_job *background = start(s, &slow, &low);
    assert_true(kit_until(&low.runs, 3));
    kit_plan fast = {.cpu_leaves = 1, .leaf_us = 500, .need = {90 * MIB, 0},
                     .priority = HF_PRIORITY_URGENT};
    hf_job *urgent = start(s, &fast, &high);
    assert_true(kit_until(&high.runs, 1));
    hf_job_cancel(background);
    assert_int_equal(hf_job_wait(background, 500, NULL), HF_E_CANCELLED);
    hf_job_free(background);

    /* New background work waits too, and cancel_all reaches everything. */
    hf_job *another = start(s, &slow, &low);
    hfi_sched_cancel_all(s);
    assert_int_equal(hf_job_wait(another, 500, NULL), HF_E_CANCELLED);
    assert_int_equal(hf_job_wait(urgent, 500, NULL), HF_E_CANCELLED);
    hf_job_free(another);
    hf_job_free(urgent);
    close_sched(s);
}

typedef struct holder {
    hfi_sched *sched;
    uint64_t bytes;
    _Atomic uint32_t calls;
} holder;

static void give_back(void *user)
{
    holder *h = user;
    atomic_fetch_add(&h->calls, 1);
    uint64_t bytes = h->bytes;
    h->bytes = 0;
    hfi_sched_unhold(h->sched, bytes);
}

static void held_memory_is_counted_and_reclaimed(void **state)
{
    (void)state;
    for (uint32_t workers = 0; workers < 2; workers++) {
        hfi_sched *s = open_sched(workers, 8, 100 * MIB);
        holder h = {.sched = s, .bytes = 70 * MIB};
        hfi_sched_set_reclaim(s, give_back, &h);
        kit_plan maker = {.need = {80 * MIB, 0}, .hold = 70 * MIB};
        hf_job *a = start(s, &maker, NULL);
        assert_int_equal(hf_job_wait(a, FOREVER, NULL), HF_OK);
        assert_int_equal(hfi_sched_memory_used(s), 70 * MIB);
        kit_plan user = {.need = {20 * MIB, 0}};
        hf_job *b = start(s, &user, NULL);
        assert_int_equal(hf_job_wait(b, FOREVER, NULL), HF_OK);
        assert_int_equal(atomic_load(&h.calls), 0);
        user.need.bytes = 40 * MIB;
        hf_job *c = start(s, &user, NULL);
        assert_int_equal(hf_job_wait(c, 20000, NULL), HF_OK);
        assert_int_equal(atomic_load(&h.calls), 1);
        assert_int_equal(hfi_sched_memory_used(s), 0);
        hf_job_free(a);
        hf_job_free(b);
        hf_job_free(c);
        close_sched(s);
    }
}

/* ---- host-driven --------------------------------------------------------- */

static void without_workers_the_host_drives(void **state)
{
    (void)state;
    uint32_t threads = kit_threads();
    hfi_sched *s = open_sched(0, 8, 0);
    assert_int_equal(kit_threads(), threads);
    assert_int_equal(hfi_sched_workers(s), 1);
    kit_seen seen = {0};
    kit_plan plan = {.cpu_leaves = 5, .io_leaves = 5, .rounds = 4, .again = 2,
                     .leaf_us = 100, .scratch = MIB, .need = {0, MIB}};
    assert_false(hfi_sched_run(s, 10));
    assert_false(readable(s));
    hf_job *job = start(s, &plan, &seen);
    assert_true(readable(s)); /* there is work to run */
    assert_int_equal(atomic_load(&seen.steps), 0);
    uint32_t calls = 0;
    while (hfi_sched_run(s, 1)) {
        calls++;
        assert_true(readable(s));
    }
    assert_in_range(calls, 1, 60); /* 40 leaves of 0.1 ms, 1 ms a call */
    assert_int_equal(atomic_load(&seen.runs), 40);
    assert_true(readable(s)); /* a completion */
    assert_int_equal(take(s).status, HF_OK);
    assert_false(readable(s));
    hf_job_free(job);
    close_sched(s);
}

static void without_workers_wait_and_close_drive(void **state)
{
    (void)state;
    hfi_sched *s = open_sched(0, 8, 0);
    kit_seen first = {0}, second = {0};
    kit_plan plan = {.cpu_leaves = 2, .io_leaves = 1, .rounds = 3,
                     .leaf_us = 50};
    hf_job *job = start(s, &plan, &first);
    assert_int_equal(hf_job_wait(job, FOREVER, NULL), HF_OK);
    kit_plan endless = {.cpu_leaves = 2, .leaf_us = 500};
    hf_job *other = start(s, &endless, &second);
    uint64_t from = now_ms();
    assert_int_equal(hf_job_wait(other, 20, NULL), HF_E_BUSY);
    assert_in_range(now_ms() - from, 19, 200);
    assert_in_range(atomic_load(&second.runs), 5, 60);
    hf_job_free(job);
    hfi_sched_close(s);
    assert_int_equal(hf_job_wait(other, 0, NULL), HF_E_CANCELLED);
    hf_job_free(other);
    assert_int_equal(atomic_load(&counter.live), 0);
}

static void without_workers_urgent_goes_first(void **state)
{
    (void)state;
    hfi_sched *s = open_sched(0, 8, 0);
    kit_seen low = {0};
    kit_plan slow = {.cpu_leaves = 2, .io_leaves = 2, .leaf_us = 100,
                     .priority = HF_PRIORITY_BACKGROUND};
    hf_job *background = start(s, &slow, &low);
    (void)hfi_sched_run(s, 2);
    overtaking o = {.background = &low};
    kit_plan fast = {.cpu_leaves = 2, .rounds = 5,
                     .priority = HF_PRIORITY_URGENT,
                     .in_leaf = look_at_background, .in_leaf_user = &o};
    hf_job *urgent = start(s, &fast, NULL);
    assert_int_equal(hf_job_wait(urgent, FOREVER, NULL), HF_OK);
    assert_int_equal(o.runs, 10);
    assert_int_equal(o.last, o.first);
    hf_job_free(urgent);
    hf_job_free(background);
    close_sched(s);
}

static void note_rounding(hf_job *job, hfi_worker *worker, void *user)
{
    (void)job;
    (void)worker;
    *(int *)user = fegetround();
}

static void rounding_mode_stays_with_the_host(void **state)
{
    (void)state;
    for (uint32_t workers = 0; workers < 2; workers++) {
        assert_int_equal(fesetround(FE_UPWARD), 0);
        hfi_sched *s = open_sched(workers, 8, 0);
        int in_leaf = -1;
        kit_plan plan = {.cpu_leaves = 1, .rounds = 3,
                         .in_leaf = note_rounding, .in_leaf_user = &in_leaf};
        hf_job *job = start(s, &plan, NULL);
        (void)hfi_sched_run(s, 1);
        assert_int_equal(fegetround(), FE_UPWARD);
        assert_int_equal(hf_job_wait(job, FOREVER, NULL), HF_OK);
        assert_int_equal(fegetround(), FE_UPWARD);
        assert_int_equal(in_leaf, FE_TONEAREST);
        hf_job_free(job);
        job = start(s, &plan, NULL);
        hfi_sched_close(s);
        hf_job_free(job);
        assert_int_equal(fegetround(), FE_UPWARD);
        assert_int_equal(fesetround(FE_TONEAREST), 0);
    }
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
        cmocka_unit_test(what_can_never_fit_is_refused),
        cmocka_unit_test(jobs_wait_for_room_and_smaller_ones_pass),
        cmocka_unit_test(scratch_is_shared_kept_and_trimmed),
        cmocka_unit_test(urgent_work_suspends_background),
        cmocka_unit_test(suspended_jobs_can_be_cancelled),
        cmocka_unit_test(held_memory_is_counted_and_reclaimed),
        cmocka_unit_test(without_workers_the_host_drives),
        cmocka_unit_test(without_workers_wait_and_close_drive),
        cmocka_unit_test(without_workers_urgent_goes_first),
        cmocka_unit_test(rounding_mode_stays_with_the_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(job_runs_and_completes_once),
        cmocka_unit_test(failure_is_the_outcome),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

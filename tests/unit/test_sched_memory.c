/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The memory budget: what is refused, what waits, what passes, and how an
 * urgent job gets room.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "sched/kit.h"

static void what_can_never_fit_is_refused(void **state)
{
    (void)state;
    hfi_sched *s = kit_open(3, 8, 100 * MIB);
    kit_plan fits = {.need = {4 * MIB, 30 * MIB, 6 * MIB}};
    hf_job *job = kit_started(s, &fits, NULL);
    assert_int_equal(hf_job_wait(job, FOREVER, NULL), HF_OK);
    hf_job_free(job);
    const hfi_job_need never[5] = {{4 * MIB + 1, 30 * MIB, 6 * MIB},
                                   {0, UINT64_MAX, 0},
                                   {UINT64_MAX, 0, 0},
                                   {0, 0, UINT64_MAX},
                                   {UINT64_MAX, UINT64_MAX, UINT64_MAX}};
    for (int i = 0; i < 5; i++) {
        kit_plan plan = {.need = never[i]};
        hf_error err = {0};
        assert_int_equal(kit_start(&job, s, &plan, NULL, &err), HF_E_MEMORY);
        assert_non_null(strstr(err.message, "104857600"));
        if (i == 0)
            assert_non_null(strstr(err.message, "104857601"));
    }
    kit_close(s);
}

static void jobs_wait_for_room_and_smaller_ones_pass(void **state)
{
    (void)state;
    hfi_sched *s = kit_open(1, 8, 100 * MIB);
    kit_seen a = {0}, b = {0}, c = {0};
    kit_plan plan = {
        .cpu_leaves = 1, .leaf_us = 200, .need = {.bytes = 60 * MIB}};
    hf_job *first = kit_started(s, &plan, &a);
    assert_int_equal(hfi_sched_memory_used(s), 60 * MIB);
    plan.need.bytes = 50 * MIB;
    plan.rounds = 1;
    hf_job *large = kit_started(s, &plan, &b);
    plan.need.bytes = 40 * MIB;
    hf_job *small = kit_started(s, &plan, &c);
    assert_int_equal(hf_job_wait(small, FOREVER, NULL), HF_OK);
    assert_int_equal(atomic_load(&b.steps), 0);
    assert_int_equal(hfi_sched_memory_used(s), 60 * MIB);
    hf_job_cancel(first);
    assert_int_equal(hf_job_wait(large, FOREVER, NULL), HF_OK);
    assert_int_equal(hfi_sched_memory_used(s), 0);
    hf_job_free(first);
    hf_job_free(large);
    hf_job_free(small);
    kit_close(s);
}

static bool until_used(hfi_sched *s, uint64_t bytes)
{
    uint64_t end = kit_now_ms() + 10000;
    while (hfi_sched_memory_used(s) != bytes) {
        if (kit_now_ms() > end)
            return false;
        hfi_sleep_ms(1);
    }
    return true;
}

static void scratch_is_shared_kept_and_trimmed(void **state)
{
    (void)state;
    hfi_sched *s = kit_open(2, 8, 100 * MIB);
    kit_seen seen = {0};
    /* Two jobs with the same scratch count it once. */
    kit_plan plan = {.cpu_leaves = 4,
                     .leaf_us = 1000,
                     .scratch = 8 * MIB,
                     .need = {.bytes = MIB, .scratch = 8 * MIB}};
    hf_job *a = kit_started(s, &plan, &seen);
    hf_job *b = kit_started(s, &plan, &seen);
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
    hf_job *c = kit_started(s, &plan, &seen);
    assert_true(kit_until(&seen.runs, atomic_load(&seen.runs) + 20));
    hf_job_free(c);
    assert_true(until_used(s, 16 * MIB));
    kit_plan big = {.need = {.bytes = 90 * MIB}};
    hf_job *d = kit_started(s, &big, NULL);
    assert_int_equal(hf_job_wait(d, 20000, NULL), HF_OK);
    hf_job_free(d);
    kit_close(s);
}

static void widen_once(hf_job *job, hfi_worker *worker, void *user)
{
    _Atomic bool *often = user;
    hf_error err = {0};
    (void)worker;
    assert_int_equal(hfi_job_widen(job, 200 * MIB, &err), HF_E_MEMORY);
    assert_non_null(strstr(err.message, "419430400"));
    assert_non_null(strstr(err.message, "104857600"));
    if (!atomic_exchange(often, true)) {
        assert_int_equal(hfi_job_widen(job, 30 * MIB, &err), HF_OK);
        assert_int_equal(hfi_job_widen(job, 10 * MIB, &err), HF_OK);
    }
}

/* What a job learns of its need counts for those that come after it. */
static void jobs_may_need_more_later(void **state)
{
    (void)state;
    hfi_sched *s = kit_open(2, 8, 100 * MIB);
    kit_seen seen = {0}, after = {0};
    _Atomic bool widened = false;
    kit_plan plan = {.cpu_leaves = 1,
                     .leaf_us = 500,
                     .in_leaf = widen_once,
                     .in_leaf_user = &widened,
                     .need = {.scratch = 8 * MIB}};
    hf_job *first = kit_started(s, &plan, &seen);
    assert_true(kit_until(&seen.runs, 1));
    assert_int_equal(hfi_sched_memory_used(s), 60 * MIB);
    kit_plan other = {
        .cpu_leaves = 1, .rounds = 1, .need = {.bytes = 50 * MIB}};
    hf_job *second = kit_started(s, &other, &after);
    assert_true(kit_until(&seen.runs, atomic_load(&seen.runs) + 20));
    assert_int_equal(atomic_load(&after.steps), 0);
    hf_job_free(first);
    assert_int_equal(hf_job_wait(second, 20000, NULL), HF_OK);
    assert_int_equal(hfi_sched_memory_used(s), 0);
    hf_job_free(second);
    kit_close(s);
}

static void urgent_work_suspends_background(void **state)
{
    (void)state;
    hfi_sched *s = kit_open(2, 8, 100 * MIB);
    kit_seen low = {0}, high = {0};
    kit_plan slow = {.cpu_leaves = 4,
                     .leaf_us = 500,
                     .scratch = 30 * MIB,
                     .need = {.bytes = 10 * MIB, .scratch = 30 * MIB},
                     .priority = HF_PRIORITY_BACKGROUND};
    hf_job *background = kit_started(s, &slow, &low);
    assert_true(kit_until(&low.runs, 20));
    assert_int_equal(hfi_sched_memory_used(s), 70 * MIB);

    kit_plan fast = {.cpu_leaves = 2,
                     .rounds = 100,
                     .leaf_us = 500,
                     .need = {.bytes = 80 * MIB, .scratch = 4 * MIB},
                     .scratch = 4 * MIB,
                     .priority = HF_PRIORITY_URGENT};
    hf_job *urgent = kit_started(s, &fast, &high);
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
    kit_close(s);
    assert_int_equal(atomic_load(&low.no_scratch), 0);
}

static void suspended_jobs_can_be_cancelled(void **state)
{
    (void)state;
    hfi_sched *s = kit_open(1, 8, 100 * MIB);
    kit_seen low = {0}, high = {0};
    kit_plan slow = {.cpu_leaves = 3,
                     .leaf_us = 500,
                     .scratch = 60 * MIB,
                     .need = {.scratch = 60 * MIB},
                     .priority = HF_PRIORITY_BACKGROUND};
    hf_job *background = kit_started(s, &slow, &low);
    assert_true(kit_until(&low.runs, 3));
    kit_plan fast = {.cpu_leaves = 1,
                     .leaf_us = 500,
                     .need = {.bytes = 90 * MIB},
                     .priority = HF_PRIORITY_URGENT};
    hf_job *urgent = kit_started(s, &fast, &high);
    assert_true(kit_until(&high.runs, 1));
    hf_job_cancel(background);
    assert_int_equal(hf_job_wait(background, 2000, NULL), HF_E_CANCELLED);
    hf_job_free(background);

    /* New background work waits too, and cancel_all reaches everything. */
    hf_job *another = kit_started(s, &slow, &low);
    hfi_sched_cancel_all(s);
    assert_int_equal(hf_job_wait(another, 2000, NULL), HF_E_CANCELLED);
    assert_int_equal(hf_job_wait(urgent, 2000, NULL), HF_E_CANCELLED);
    hf_job_free(another);
    hf_job_free(urgent);
    kit_close(s);
}

/* Else the urgent job would wait for one that may not run before it ends. */
static void what_urgent_work_waits_for_is_raised(void **state)
{
    (void)state;
    hfi_sched *s = kit_open(2, 8, 100 * MIB);
    kit_seen low = {0}, high = {0}, other = {0};
    kit_plan slow = {.cpu_leaves = 4,
                     .rounds = 100,
                     .leaf_us = 200,
                     .scratch = 30 * MIB,
                     .need = {.bytes = 10 * MIB, .scratch = 30 * MIB},
                     .priority = HF_PRIORITY_BACKGROUND};
    hf_job *background = kit_started(s, &slow, &low);
    slow.rounds = 0;
    hf_job *endless = kit_started(s, &slow, &other);
    assert_true(kit_until(&low.runs, 3));
    _Atomic bool gate = false;
    kit_plan fast = {.gate = &gate,
                     .need = {.bytes = 70 * MIB},
                     .priority = HF_PRIORITY_URGENT};
    hf_job *urgent = kit_started(s, &fast, &high);
    assert_true(kit_until(&high.steps, 1)); /* in: the others are suspended */
    hfi_job_raise(background, urgent);
    assert_int_equal(hf_job_wait(background, 20000, NULL), HF_OK);
    uint32_t runs = atomic_load(&other.runs);
    hfi_sleep_ms(20);
    assert_int_equal(atomic_load(&other.runs), runs); /* still suspended */
    hfi_job_raise(background, urgent);                /* has ended: nothing */
    atomic_store(&gate, true);
    hfi_job_post(urgent);
    assert_int_equal(hf_job_wait(urgent, 20000, NULL), HF_OK);
    assert_true(kit_until(&other.runs, runs + 10));

    /* A waiting job moves up in its queue. */
    kit_plan big = {.need = {.bytes = 100 * MIB},
                    .priority = HF_PRIORITY_BACKGROUND};
    hf_job *waiting = kit_started(s, &big, NULL);
    hfi_job_raise(waiting, urgent);
    hf_job_free(endless);
    assert_int_equal(hf_job_wait(waiting, 20000, NULL), HF_OK);
    hf_job_free(waiting);
    hf_job_free(urgent);
    hf_job_free(background);
    kit_close(s);
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
        hfi_sched *s = kit_open(workers, 8, 100 * MIB);
        holder h = {.sched = s, .bytes = 70 * MIB};
        hfi_sched_set_reclaim(s, give_back, &h);
        kit_plan maker = {.need = {10 * MIB, 0, 70 * MIB}, .hold = 70 * MIB};
        hf_job *a = kit_started(s, &maker, NULL);
        assert_int_equal(hf_job_wait(a, FOREVER, NULL), HF_OK);
        assert_int_equal(hfi_sched_memory_used(s), 70 * MIB);
        kit_plan user = {.need = {.bytes = 20 * MIB}};
        hf_job *b = kit_started(s, &user, NULL);
        assert_int_equal(hf_job_wait(b, FOREVER, NULL), HF_OK);
        assert_int_equal(atomic_load(&h.calls), 0);
        user.need.bytes = 40 * MIB;
        hf_job *c = kit_started(s, &user, NULL);
        assert_int_equal(hf_job_wait(c, 20000, NULL), HF_OK);
        assert_int_equal(atomic_load(&h.calls), 1);
        assert_int_equal(hfi_sched_memory_used(s), 0);
        hf_job_free(a);
        hf_job_free(b);
        hf_job_free(c);
        kit_close(s);
    }
}

/*
 * What the context must hold for jobs is one thing, whoever makes it: counted
 * once before it is there, while it is there, and when its maker is gone.
 */
static void what_is_held_for_jobs_is_counted_once(void **state)
{
    (void)state;
    hfi_sched *s = kit_open(2, 8, 100 * MIB);
    holder h = {.sched = s, .bytes = 70 * MIB};
    hfi_sched_set_reclaim(s, give_back, &h);
    kit_seen seen[4] = {{0}};
    kit_plan plan = {.cpu_leaves = 1,
                     .leaf_us = 200,
                     .need = {.bytes = 5 * MIB, .held = 70 * MIB}};
    hf_job *first = kit_started(s, &plan, &seen[0]);
    hf_job *second = kit_started(s, &plan, &seen[1]);
    assert_int_equal(hfi_sched_memory_used(s), 80 * MIB);
    assert_true(kit_until(&seen[0].runs, 1));
    assert_true(kit_until(&seen[1].runs, 1));
    /* Its room is kept although nobody has made it. */
    kit_plan large = {.need = {25 * MIB, 0, 0}};
    hf_job *third = kit_started(s, &large, &seen[2]);
    hf_job_cancel(first);
    assert_int_equal(hf_job_wait(third, 20000, NULL), HF_OK);
    assert_int_equal(hfi_sched_memory_used(s), 75 * MIB);
    large.need.bytes = 26 * MIB;
    hf_job *fourth = kit_started(s, &large, &seen[3]);
    hfi_job_hold(second, 70 * MIB);
    assert_int_equal(hfi_sched_memory_used(s), 75 * MIB);
    hfi_sleep_ms(20);
    assert_int_equal(atomic_load(&seen[3].steps), 0);
    assert_int_equal(atomic_load(&h.calls), 0);
    /* Nobody needs it any more: it goes for the one that waits. */
    hf_job_cancel(second);
    assert_int_equal(hf_job_wait(fourth, 20000, NULL), HF_OK);
    assert_int_equal(atomic_load(&seen[3].steps), 1);
    hf_job_free(first);
    hf_job_free(second);
    hf_job_free(third);
    hf_job_free(fourth);
    kit_close(s);
}

/* A suspended job still needs what it needed. */
static void what_is_held_for_suspended_jobs_is_counted(void **state)
{
    (void)state;
    hfi_sched *s = kit_open(1, 8, 100 * MIB);
    kit_seen low = {0}, high = {0};
    kit_plan slow = {.cpu_leaves = 1,
                     .leaf_us = 500,
                     .need = {.scratch = 30 * MIB, .held = 50 * MIB},
                     .priority = HF_PRIORITY_BACKGROUND};
    hf_job *background = kit_started(s, &slow, &low);
    assert_true(kit_until(&low.runs, 1));
    kit_plan fast = {.cpu_leaves = 1,
                     .leaf_us = 500,
                     .need = {.bytes = 40 * MIB, .held = 20 * MIB},
                     .priority = HF_PRIORITY_URGENT};
    hf_job *urgent = kit_started(s, &fast, &high);
    assert_true(kit_until(&high.runs, 1));
    assert_int_equal(hfi_sched_memory_used(s), 90 * MIB);
    hf_job_cancel(background);
    assert_int_equal(hf_job_wait(background, 20000, NULL), HF_E_CANCELLED);
    assert_int_equal(hfi_sched_memory_used(s), 60 * MIB);
    hf_job_cancel(urgent);
    assert_int_equal(hf_job_wait(urgent, 20000, NULL), HF_E_CANCELLED);
    assert_int_equal(hfi_sched_memory_used(s), 0);
    hf_job_free(background);
    hf_job_free(urgent);
    kit_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_can_never_fit_is_refused),
        cmocka_unit_test(jobs_wait_for_room_and_smaller_ones_pass),
        cmocka_unit_test(scratch_is_shared_kept_and_trimmed),
        cmocka_unit_test(jobs_may_need_more_later),
        cmocka_unit_test(urgent_work_suspends_background),
        cmocka_unit_test(suspended_jobs_can_be_cancelled),
        cmocka_unit_test(what_urgent_work_waits_for_is_raised),
        cmocka_unit_test(held_memory_is_counted_and_reclaimed),
        cmocka_unit_test(what_is_held_for_jobs_is_counted_once),
        cmocka_unit_test(what_is_held_for_suspended_jobs_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Starts, cancels, frees, waits and closes from many threads at once. Whatever
 * the order, each job is stepped by one thread at a time, ends once, gives one
 * completion unless its handle was freed before, and is destroyed once; and the
 * budget holds. Run under the thread sanitizer too.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "sched/kit.h"

enum {
    HOSTS = 4,
    JOBS_EACH = 400,
    OPEN_EACH = 6, /* handles that a host thread has at a time */
    QUEUE = 32
};

#define BUDGET (64 * MIB)

static uint64_t rounds = 1; /* from the command line */

typedef struct record {
    kit_seen seen;
    hf_job *job; /* of the thread that started it */
    _Atomic uint32_t completions;
    bool freed_early; /* before its completion was taken for certain */
} record;

typedef struct world {
    hfi_sched *sched;
    bool raises; /* which may exceed the budget for a while */
    _Atomic bool stop;
    _Atomic uint32_t over_budget;
    _Atomic uint32_t wrong_status;
} world;

typedef struct host {
    world *world;
    uint64_t random;
    uint32_t started;
    uint32_t busy;
    record records[JOBS_EACH];
    record *open[OPEN_EACH];
} host;

static uint32_t draw(host *h, uint32_t below)
{
    h->random = h->random * UINT64_C(6364136223846793005) +
                1442695040888963407u;
    return (uint32_t)(h->random >> 33) % below;
}

static void plan_job(host *h, kit_plan *p, record *r)
{
    memset(p, 0, sizeof *p);
    p->cpu_leaves = draw(h, 5);
    p->io_leaves = draw(h, 3);
    p->rounds = draw(h, 8) == 0 ? 0 : 1 + draw(h, 4); /* 0: endless */
    p->leaf_us = draw(h, 4) == 0 ? 200 : 0;
    p->again = draw(h, 3);
    p->priority = (hf_priority)draw(h, 4);
    p->fail = draw(h, 6) == 0 ? HF_E_IO : HF_OK;
    p->need.bytes = draw(h, 3) == 0 ? draw(h, 40) * MIB : 0;
    if (draw(h, 4) == 0)
        p->scratch = (size_t)(1 + draw(h, 6)) * MIB;
    p->need.scratch = p->scratch;
    p->user = r;
}

static void start_one(host *h, uint32_t slot)
{
    if (h->started == JOBS_EACH)
        return;
    record *r = &h->records[h->started];
    kit_plan plan;
    plan_job(h, &plan, r);
    hf_status s = kit_start(&r->job, h->world->sched, &plan, &r->seen, NULL);
    if (s == HF_E_BUSY) {
        h->busy++;
        hfi_sleep_ms(1);
        return;
    }
    if (s != HF_OK) {
        atomic_fetch_add(&h->world->wrong_status, 1);
        return;
    }
    h->started++;
    h->open[slot] = r;
}

static void act_on(host *h, uint32_t slot)
{
    record *r = h->open[slot];
    hf_progress p = {.size = sizeof p};
    hf_status s;
    switch (draw(h, 6)) {
    case 0:
        hf_job_cancel(r->job);
        break;
    case 1:
    case 2:
        r->freed_early = true;
        hf_job_free(r->job);
        h->open[slot] = NULL;
        break;
    case 3:
        if (h->world->raises && h->open[0] != NULL)
            hfi_job_raise(r->job, h->open[0]->job);
        s = hf_job_wait(r->job, draw(h, 4), NULL);
        if (s != HF_OK && s != HF_E_BUSY && s != HF_E_IO && s != HF_E_CANCELLED)
            atomic_fetch_add(&h->world->wrong_status, 1);
        break;
    default:
        if (hf_job_progress(r->job, &p) != HF_OK)
            atomic_fetch_add(&h->world->wrong_status, 1);
    }
}

static void *play_host(void *arg)
{
    host *h = arg;
    while (h->started < JOBS_EACH) {
        uint32_t slot = draw(h, OPEN_EACH);
        if (h->open[slot] == NULL)
            start_one(h, slot);
        else
            act_on(h, slot);
        if (draw(h, 200) == 0)
            hfi_sched_cancel_all(h->world->sched);
        if (draw(h, 50) == 0)
            hfi_sched_trim(h->world->sched);
        if (hfi_sched_memory_used(h->world->sched) > BUDGET)
            atomic_fetch_add(&h->world->over_budget, 1);
    }
    return NULL;
}

static bool take_one(hfi_sched *s)
{
    hfi_completion c;
    if (!hfi_sched_next(s, &c))
        return false;
    record *r = c.user;
    atomic_fetch_add(&r->completions, 1);
    return true;
}

static void *play_taker(void *arg)
{
    world *w = arg;
    while (!atomic_load(&w->stop))
        if (!take_one(w->sched))
            hfi_sleep_ms(1);
    return NULL;
}

static void *play_driver(void *arg)
{
    world *w = arg;
    while (!atomic_load(&w->stop))
        if (!hfi_sched_run(w->sched, 2))
            hfi_sleep_ms(1);
    return NULL;
}

static void check_records(const host *h)
{
    for (uint32_t i = 0; i < h->started; i++) {
        const record *r = &h->records[i];
        uint32_t completions = atomic_load(&r->completions);
        assert_int_equal(atomic_load(&r->seen.overlaps), 0);
        assert_int_equal(atomic_load(&r->seen.no_scratch), 0);
        assert_int_equal(atomic_load(&r->seen.destroyed), 1);
        if (r->freed_early)
            assert_in_range(completions, 0, 1);
        else
            assert_int_equal(completions, 1);
    }
}

static void finish_hosts(host *hosts, world *w)
{
    /* What still runs is ended; every completion left is taken. */
    hfi_sched_cancel_all(w->sched);
    for (int i = 0; i < HOSTS; i++)
        for (int k = 0; k < OPEN_EACH; k++)
            if (hosts[i].open[k] != NULL)
                assert_int_not_equal(
                    hf_job_wait(hosts[i].open[k]->job, 20000, NULL), HF_E_BUSY);
    while (take_one(w->sched))
        continue;
    atomic_store(&w->stop, true);
}

static void storm(uint32_t workers, bool raises, uint64_t seed)
{
    host *hosts = calloc(HOSTS, sizeof *hosts);
    assert_non_null(hosts);
    world w = {.sched = kit_open(workers, QUEUE, BUDGET), .raises = raises};
    pthread_t threads[HOSTS], taker, driver;
    for (int i = 0; i < HOSTS; i++) {
        hosts[i].world = &w;
        hosts[i].random = seed * 1000 + (uint64_t)i * 10 + workers;
        assert_int_equal(
            pthread_create(&threads[i], NULL, play_host, &hosts[i]), 0);
    }
    assert_int_equal(pthread_create(&taker, NULL, play_taker, &w), 0);
    assert_int_equal(pthread_create(&driver, NULL, play_driver, &w), 0);
    for (int i = 0; i < HOSTS; i++)
        pthread_join(threads[i], NULL);
    finish_hosts(hosts, &w);
    pthread_join(taker, NULL);
    pthread_join(driver, NULL);

    hfi_sched_close(w.sched);
    for (int i = 0; i < HOSTS; i++)
        for (int k = 0; k < OPEN_EACH; k++)
            if (hosts[i].open[k] != NULL)
                hf_job_free(hosts[i].open[k]->job);
    assert_int_equal(atomic_load(&kit_counter.live), 0);
    if (!raises)
        assert_int_equal(atomic_load(&w.over_budget), 0);
    assert_int_equal(atomic_load(&w.wrong_status), 0);
    for (int i = 0; i < HOSTS; i++)
        check_records(&hosts[i]);
    free(hosts);
}

static void storms_keep_every_promise(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < rounds; i++) {
        storm(3, false, i);
        storm(2, true, i);
    }
}

static void storms_without_workers(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < rounds; i++)
        storm(0, i % 2 != 0, i);
}

/* ---- close --------------------------------------------------------------- */

enum { CLOSING_JOBS = 12 };

typedef struct waiter {
    kit_seen seen;
    hf_job *job;
    uint32_t kind;
    hf_status status;
} waiter;

/* What a host may do with a handle while another thread closes. */
static void *hold_on(void *arg)
{
    waiter *w = arg;
    switch (w->kind % 3) {
    case 0:
        w->status = hf_job_wait(w->job, 20000, NULL);
        break;
    case 1:
        hf_job_cancel(w->job);
        w->status = hf_job_wait(w->job, 20000, NULL);
        break;
    default:
        w->status = HF_E_CANCELLED;
        break;
    }
    hf_job_free(w->job);
    return NULL;
}

static void close_races(uint32_t workers, uint64_t pause_ms)
{
    hfi_sched *s = kit_open(workers, QUEUE, BUDGET);
    waiter waiters[CLOSING_JOBS];
    memset(waiters, 0, sizeof waiters);
    pthread_t threads[CLOSING_JOBS];
    for (uint32_t i = 0; i < CLOSING_JOBS; i++) {
        kit_plan plan = {.cpu_leaves = 2,
                         .io_leaves = 1,
                         .leaf_us = 100,
                         .need = {.bytes = i % 4 == 0 ? 40 * MIB : 0},
                         .priority = (hf_priority)(i % 4)};
        waiters[i].job = kit_started(s, &plan, &waiters[i].seen);
        waiters[i].kind = i;
    }
    for (uint32_t i = 0; i < CLOSING_JOBS; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, hold_on, &waiters[i]), 0);
    if (pause_ms > 0)
        hfi_sleep_ms(pause_ms);
    hfi_sched_close(s);
    for (uint32_t i = 0; i < CLOSING_JOBS; i++)
        pthread_join(threads[i], NULL);
    for (uint32_t i = 0; i < CLOSING_JOBS; i++) {
        assert_int_equal(waiters[i].status, HF_E_CANCELLED);
        assert_int_equal(atomic_load(&waiters[i].seen.destroyed), 1);
        assert_int_equal(atomic_load(&waiters[i].seen.overlaps), 0);
    }
    assert_int_equal(atomic_load(&kit_counter.live), 0);
}

static void handles_in_use_while_closing(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 60 * rounds; i++)
        close_races((uint32_t)(i % 4), i % 3);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        rounds = strtoull(argv[1], NULL, 10);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(storms_keep_every_promise),
        cmocka_unit_test(storms_without_workers),
        cmocka_unit_test(handles_in_use_while_closing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

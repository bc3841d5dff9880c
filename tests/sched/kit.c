/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The test job of kit.h: a step that submits its leaves and awaits them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sched/kit.h"

#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct kit_leaf {
    hfi_leaf leaf;
    struct kit_job *job;
    uint32_t left;
} kit_leaf;

typedef struct kit_job {
    kit_plan plan;
    kit_seen *seen;
    kit_seen own;
    bool submitted;
    uint32_t count;
    kit_leaf leaves[];
} kit_job;

static bool kit_run(hfi_leaf *leaf, hfi_worker *worker)
{
    kit_leaf *l = (kit_leaf *)(void *)leaf;
    kit_job *k = l->job;
    uint64_t zero = 0;
    atomic_compare_exchange_strong(&k->seen->first_run_ns, &zero, hfi_now_ns());
    if (k->plan.scratch > 0 && worker != NULL) {
        uint8_t *p = hfi_worker_scratch(worker, k->plan.scratch);
        if (p == NULL) {
            atomic_fetch_add(&k->seen->no_scratch, 1);
        } else {
            p[0] = 1;
            p[k->plan.scratch - 1] = 2;
        }
    }
    if (k->plan.in_leaf != NULL)
        k->plan.in_leaf(leaf->job, worker, k->plan.in_leaf_user);
    uint64_t end = hfi_now_ns() + (uint64_t)k->plan.leaf_us * 1000;
    while (hfi_now_ns() < end) {
        if (end - hfi_now_ns() > 1000000)
            hfi_sleep_ms(1);
    }
    atomic_store(&k->seen->last_run_ns, hfi_now_ns());
    atomic_fetch_add(&k->seen->runs, 1);
    if (k->plan.rounds == 0 || --l->left > 0)
        return true;
    atomic_fetch_add(&k->seen->leaves_ended, 1);
    return false;
}

static bool leaves_idle(kit_job *k)
{
    for (uint32_t i = 0; i < k->count; i++)
        if (!hfi_leaf_idle(&k->leaves[i].leaf))
            return false;
    return true;
}

static hfi_step finish(kit_job *k, hf_job *job)
{
    for (uint32_t i = 0; i < k->count && k->submitted; i++)
        if (k->leaves[i].leaf.skipped)
            atomic_fetch_add(&k->seen->skipped, 1);
    if (k->plan.fail != HF_OK) {
        hf_error e;
        hfi_error(&e, k->plan.fail, "as planned");
        (void)hfi_job_fail(job, &e);
    }
    return HFI_STEP_DONE;
}

static hfi_step advance(kit_job *k, hf_job *job)
{
    if (k->plan.step_ms > 0)
        hfi_sleep_ms(k->plan.step_ms);
    while (k->plan.block != NULL && !atomic_load(k->plan.block))
        hfi_sleep_ms(1);
    if (k->plan.again > 0) {
        k->plan.again--;
        return HFI_STEP_AGAIN;
    }
    bool stop = !k->plan.ignore_cancel && hfi_job_cancelled(job);
    if (!k->submitted && !stop) {
        if (k->plan.gate != NULL && !atomic_load(k->plan.gate))
            return HFI_STEP_WAIT;
        if (k->plan.hold > 0)
            hfi_job_hold(job, k->plan.hold);
        k->submitted = true;
        hfi_job_phase(job, "leaves", "leaves", 0, k->count);
        for (uint32_t i = 0; i < k->count; i++)
            hfi_leaf_submit(job, &k->leaves[i].leaf);
    }
    hfi_job_advance(job, atomic_load(&k->seen->leaves_ended));
    return leaves_idle(k) ? finish(k, job) : HFI_STEP_WAIT;
}

static hfi_step kit_step(hf_job *job, void *state)
{
    kit_job *k = state;
    if (atomic_fetch_add(&k->seen->in_step, 1) != 0)
        atomic_fetch_add(&k->seen->overlaps, 1);
    atomic_fetch_add(&k->seen->steps, 1);
    hfi_step next = advance(k, job);
    atomic_fetch_sub(&k->seen->in_step, 1);
    return next;
}

static void kit_destroy(void *state)
{
    kit_job *k = state;
    atomic_fetch_add(&k->seen->destroyed, 1);
    free(k);
}

static const hfi_job_class kit_class = {
    .name = "the test job", .step = kit_step, .destroy = kit_destroy};

hf_status kit_start(hf_job **job, hfi_sched *s, const kit_plan *plan,
                    kit_seen *seen, hf_error *err)
{
    uint32_t count = plan->cpu_leaves + plan->io_leaves;
    kit_job *k = calloc(1, sizeof *k + count * sizeof *k->leaves);
    if (k == NULL)
        return HF_E_MEMORY;
    k->plan = *plan;
    k->count = count;
    k->seen = seen != NULL ? seen : &k->own;
    for (uint32_t i = 0; i < count; i++) {
        k->leaves[i].leaf.run = kit_run;
        k->leaves[i].leaf.kind = i < plan->cpu_leaves ? HFI_LEAF_CPU
                                                      : HFI_LEAF_IO;
        k->leaves[i].job = k;
        k->leaves[i].left = plan->rounds;
    }
    hf_status status = hfi_job_start(job, s, &kit_class, k, &plan->need,
                                     plan->priority, plan->user, err);
    if (status != HF_OK)
        free(k);
    return status;
}

bool kit_until(const _Atomic uint32_t *value, uint32_t at_least)
{
    uint64_t end = hfi_now_ns() + UINT64_C(10000000000);
    while (atomic_load(value) < at_least) {
        if (hfi_now_ns() > end)
            return false;
        hfi_sleep_ms(1);
    }
    return true;
}

/* ---- threads --------------------------------------------------------------*/

static uint32_t count_threads(const char *name)
{
    uint32_t count = 0;
    DIR *dir = opendir("/proc/self/task");
    struct dirent *e;
    while (dir != NULL && (e = readdir(dir)) != NULL) {
        if (e->d_name[0] == '.')
            continue;
        if (name == NULL) {
            count++;
            continue;
        }
        char path[320], line[32] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", e->d_name);
        FILE *f = fopen(path, "r");
        if (f == NULL)
            continue;
        if (fgets(line, sizeof line, f) != NULL)
            line[strcspn(line, "\n")] = '\0';
        fclose(f);
        count += strcmp(line, name) == 0;
    }
    if (dir != NULL)
        closedir(dir);
    return count;
}

uint32_t kit_threads(void)
{
    return count_threads(NULL);
}

uint32_t kit_threads_named(const char *name)
{
    return count_threads(name);
}

/* ---- allocator ------------------------------------------------------------*/

void *kit_alloc_get(void *user, size_t bytes)
{
    kit_alloc *a = user;
    uint64_t n = atomic_fetch_add(&a->requests, 1) + 1;
    if (n == a->fail_at)
        return NULL;
    void *p = malloc(bytes);
    if (p != NULL)
        atomic_fetch_add(&a->live, 1);
    return p;
}

void kit_alloc_put(void *user, void *ptr)
{
    kit_alloc *a = user;
    if (ptr != NULL)
        atomic_fetch_sub(&a->live, 1);
    free(ptr);
}

/* ---- short forms ----------------------------------------------------------*/

kit_alloc kit_counter;

hfi_sched *kit_open(uint32_t workers, uint32_t queue, uint64_t budget)
{
    memset(&kit_counter, 0, sizeof kit_counter);
    hfi_env env = {.alloc = {kit_alloc_get, kit_alloc_put, &kit_counter}};
    hfi_sched_opts opts = {
        .workers = workers, .queue_length = queue, .memory_budget = budget};
    hfi_sched *s = NULL;
    hf_error err = {0};
    assert_int_equal(hfi_sched_new(&s, &env, &opts, &err), HF_OK);
    return s;
}

void kit_close(hfi_sched *s)
{
    hfi_sched_close(s);
    assert_int_equal(atomic_load(&kit_counter.live), 0);
}

hf_job *kit_started(hfi_sched *s, const kit_plan *plan, kit_seen *seen)
{
    hf_job *job = NULL;
    hf_error err = {0};
    assert_int_equal(kit_start(&job, s, plan, seen, &err), HF_OK);
    assert_non_null(job);
    return job;
}

bool kit_readable(hfi_sched *s)
{
    struct pollfd p = {.fd = hfi_sched_event_fd(s), .events = POLLIN};
    return poll(&p, 1, 0) == 1;
}

hfi_completion kit_take(hfi_sched *s)
{
    hfi_completion c = {0};
    struct pollfd p = {.fd = hfi_sched_event_fd(s), .events = POLLIN};
    assert_int_equal(poll(&p, 1, 20000), 1);
    assert_true(hfi_sched_next(s, &c));
    return c;
}

uint64_t kit_now_ms(void)
{
    return hfi_now_ns() / 1000000;
}

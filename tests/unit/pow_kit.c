/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "unit/pow_kit.h"

#include <fenv.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { WAITING, WORKING };

static pow_task *task_of(hfi_loop *loop)
{
    return (pow_task *)(void *)((char *)loop - offsetof(pow_task, loop));
}

unsigned pow_float_mode(void)
{
    unsigned mode = (unsigned)fegetround();
#if defined(__x86_64__)
    mode |= (__builtin_ia32_stmxcsr() & ~0x3fu) << 16;
#endif
    return mode;
}

static void run_hashes(hfi_loop *loop, uint64_t begin, uint64_t end,
                       hfi_worker *w)
{
    pow_task *t = task_of(loop);
    hf_error err;

    for (uint64_t i = begin; i < end; i++) {
        pow_hash *h = &t->hashes[i];
        int before = fegetround();

        t->entry = pow_float_mode();
        fesetround(t->rounding);
        unsigned mode = pow_float_mode();
        hf_status s = hfi_pow_hash(&t->use, w, h->input, h->bytes, h->out,
                                   &err);
        if (pow_float_mode() != mode)
            t->lost_state = true;
        fesetround(before);
        if (s != HF_OK)
            (void)hfi_job_fail(t->use.job, &err);
    }
}

static void begin_work(pow_task *t, hf_job *job)
{
    t->got = t->use.mode;
    t->ready = true;
    t->stage = WORKING;
    if (t->search) {
        hfi_job_phase(job, "work", "hashes", 1000, 0);
        hfi_pow_search_start(&t->found, job);
        return;
    }
    t->loop.count = t->hash_count;
    t->loop.grain = 1;
    t->loop.body = run_hashes;
    hfi_loop_start(&t->loop, job);
}

static hfi_step step(hf_job *job, void *state)
{
    pow_task *t = state;
    hf_error err;

    atomic_fetch_add(&t->steps, 1);
    if (t->stage == WAITING) {
        switch (hfi_pow_use_step(&t->use, job, &err)) {
        case HFI_POW_WAIT:
            return HFI_STEP_WAIT;
        case HFI_POW_READY:
            begin_work(t, job);
            return HFI_STEP_WAIT;
        case HFI_POW_FAILED:
            (void)hfi_job_fail(job, &err);
        }
    } else if (!hfi_loop_idle(&t->loop) || !hfi_pow_search_idle(&t->found)) {
        return HFI_STEP_WAIT;
    }
    hfi_loop_wipe(&t->loop, hfi_job_sched(job));
    hfi_pow_search_wipe(&t->found);
    hfi_pow_use_wipe(&t->use);
    return HFI_STEP_DONE;
}

static void destroy(void *state)
{
    (void)state;
}

static const hfi_job_class task_class = {
    .name = "pow task", .step = step, .destroy = destroy};

hf_job *pow_task_start(pow_task *t, hfi_sched *s)
{
    hf_job *job;
    hf_error err;

    assert_int_equal(
        hfi_pow_use_init(&t->use, t->pow, t->mode, t->large_pages, &err),
        HF_OK);
    hfi_job_need need = {.held = hfi_pow_use_need(&t->use)};
    assert_int_equal(hfi_loop_init(&t->loop, s, &err), HF_OK);
    assert_int_equal(hfi_pow_search_init(&t->found, &t->use, &err), HF_OK);
    assert_int_equal(hfi_job_start(&job, s, &task_class, t, &need,
                                   HF_PRIORITY_NORMAL, NULL, &err),
                     HF_OK);
    return job;
}

hf_status pow_task_end(hf_job *job, hf_error *err)
{
    hf_status s = hf_job_wait(job, UINT64_MAX, err);

    hf_job_free(job);
    return s;
}

hf_status pow_task_run(pow_task *t, hfi_sched *s, hf_error *err)
{
    return pow_task_end(pow_task_start(t, s), err);
}

void pow_host_open(pow_host *h, uint32_t workers, uint64_t budget)
{
    hfi_sched_opts opts = {
        .workers = workers, .queue_length = 16, .memory_budget = budget};
    hfi_log_opts log = {.level = HFI_LOG_WARN};
    hf_error err;

    memset(h, 0, sizeof *h);
    assert_int_equal(hfi_log_new(&h->env.log, &h->env.alloc, &log, &err),
                     HF_OK);
    hfi_machine_detect(&h->machine);
    assert_int_equal(hfi_sched_new(&h->sched, &h->env, &opts, &err), HF_OK);
    assert_int_equal(hfi_pow_new(&h->pow, h->sched, &h->machine, &err), HF_OK);
}

void pow_host_close(pow_host *h)
{
    hfi_pow_trim(h->pow);
    assert_int_equal(hfi_sched_memory_used(h->sched), 0);
    hfi_sched_stop(h->sched);
    hfi_pow_free(h->pow);
    hfi_sched_close(h->sched);
    hfi_log_free(h->env.log);
}

unsigned pow_host_warnings(pow_host *h, char text[HFI_LOG_TEXT])
{
    hfi_log_record r;
    unsigned n = 0;

    text[0] = 0;
    while (hfi_log_next(h->env.log, &r)) {
        n++;
        memcpy(text, r.text, sizeof r.text);
    }
    return n;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The CPU labeler: the recorded labels through batches of every length, the
 * lowest output, cancel, lack of memory, the choice of a shape.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "sched/kit.h"
#include "support/vectors.h"

enum { BATCHES_MOST = 8 };

/* A job that has some batches computed, all submitted at once. */
typedef struct label_job {
    hfi_labeler *labeler;
    hfi_label_run run;
    hfi_label_batch batches[BATCHES_MOST];
    uint32_t count;
    bool submitted;
    _Atomic uint32_t ended; /* batches seen as idle */
    uint32_t out_of_order;
} label_job;

static hfi_step label_step(hf_job *job, void *state)
{
    label_job *l = state;
    const hfi_labeler_ops *ops = l->labeler->ops;
    if (!l->submitted) {
        l->submitted = true;
        for (uint32_t i = 0; i < l->count; i++)
            ops->submit(l->labeler, &l->batches[i], job);
        return HFI_STEP_WAIT;
    }
    uint32_t ended = 0;
    for (uint32_t i = 0; i < l->count; i++) {
        if (!ops->idle(l->labeler, &l->batches[i]))
            continue;
        if (ended < i)
            l->out_of_order++;
        ended++;
    }
    atomic_store(&l->ended, ended);
    (void)hfi_job_cancelled(job);
    return ended == l->count ? HFI_STEP_DONE : HFI_STEP_WAIT;
}

static const hfi_job_class label_class = {.name = "labels", .step = label_step};

typedef struct fixture {
    hfi_sched *sched;
    hfi_kernels kernels;
    hfi_labeler *labeler;
} fixture;

static void open_labeler(fixture *f, uint32_t workers, const char *force)
{
    hfi_cpu cpu;
    hfi_cpu_detect(&cpu);
    f->sched = kit_open(workers, 4, 0);
    assert_int_equal(hfi_kernels_select(&f->kernels, &cpu, force, NULL), HF_OK);
    assert_int_equal(
        hfi_labeler_cpu_open(&f->labeler, f->sched, &f->kernels, NULL), HF_OK);
    assert_string_equal(f->labeler->provider.id, "cpu");
    assert_string_equal(f->labeler->provider.kind, "cpu");
}

static void close_labeler(fixture *f)
{
    hfi_labeler_close(f->labeler);
    kit_close(f->sched);
}

static void add_batch(label_job *l, fixture *f, uint64_t first, uint32_t count)
{
    hfi_label_batch *b = &l->batches[l->count++];
    l->labeler = f->labeler;
    assert_int_equal(f->labeler->ops->batch_init(f->labeler, b, count, NULL),
                     HF_OK);
    b->run = &l->run;
    b->first = first;
    b->count = count;
    b->labels = calloc(count + 1, 16);
    assert_non_null(b->labels);
    memset(b->labels + 16 * (size_t)count, 0xa5, 16);
}

static void wipe_batches(label_job *l)
{
    for (uint32_t i = 0; i < l->count; i++) {
        hfi_label_batch *b = &l->batches[i];
        for (int j = 0; j < 16; j++)
            assert_int_equal(b->labels[16 * (size_t)b->count + j], 0xa5);
        l->labeler->ops->batch_wipe(l->labeler, b);
        l->labeler->ops->batch_wipe(l->labeler, b);
        free(b->labels);
    }
    l->count = 0;
    l->submitted = false;
}

static hf_job *start_labels(fixture *f, label_job *l)
{
    hfi_job_need need = {
        .scratch = hfi_labeler_cpu_scratch(&f->kernels, l->run.log_n)};
    hf_job *job = NULL;
    assert_int_equal(hfi_job_start(&job, f->sched, &label_class, l, &need,
                                   HF_PRIORITY_DEFAULT, NULL, NULL),
                     HF_OK);
    return job;
}

static void compute(fixture *f, label_job *l)
{
    hf_job *job = start_labels(f, l);
    assert_int_equal(hf_job_wait(job, 60000, NULL), HF_OK);
    hf_job_free(job);
    for (uint32_t i = 0; i < l->count; i++) {
        const hfi_label_batch *b = &l->batches[i];
        assert_int_equal(b->status, HF_OK);
        assert_true(b->started_ns <= b->ended_ns);
    }
}

/* Every label and the lowest output against the definition, one by one. */
static void check_batch(const label_job *l, const hfi_label_batch *b)
{
    const hfi_label_kernel *portable = hfi_label_kernels(&(size_t){0})[0];
    uint8_t lowest[32];
    uint64_t at = 0;
    memset(lowest, 0xff, sizeof lowest);
    for (uint64_t i = 0; i < b->count; i++) {
        uint8_t out[32];
        assert_int_equal(hfi_label_one(portable, l->run.commitment,
                                       b->first + i, l->run.log_n, out, NULL),
                         HF_OK);
        assert_memory_equal(b->labels + 16 * i, out, 16);
        if (memcmp(out, lowest, 32) < 0) {
            memcpy(lowest, out, 32);
            at = b->first + i;
        }
    }
    assert_memory_equal(b->min, lowest, 32);
    assert_int_equal(b->min_index, at);
}

/* ---- known answers ------------------------------------------------------- */

static uint32_t log2_of(uint64_t n)
{
    uint32_t log_n = 0;
    while ((uint64_t)1 << log_n < n)
        log_n++;
    return log_n;
}

static void recorded_labels_come_out(void **state)
{
    (void)state;
    struct vectors v;
    vectors_load(&v, "space/labels.json");
    fixture f;
    open_labeler(&f, 2, NULL);
    uint32_t checked = 0;
    const hfi_json *list = vectors_member(v.root, "labels");
    for (const hfi_json *e = list->child; e != NULL; e = e->next) {
        label_job l = {.run = {.log_n = log2_of(vectors_u64(e, "n"))}};
        uint8_t want[32], got[32];
        vectors_hex_exact(e, "commitment", l.run.commitment, 32);
        vectors_hex_exact(e, "label32", want, 32);
        add_batch(&l, &f, vectors_u64(e, "index"), 1);
        compute(&f, &l);
        assert_memory_equal(l.batches[0].labels, want, 16);
        assert_memory_equal(l.batches[0].min, want, 32);
        assert_int_equal(l.batches[0].min_index, l.batches[0].first);
        assert_int_equal(hfi_label_one(f.kernels.label_check, l.run.commitment,
                                       l.batches[0].first, l.run.log_n, got,
                                       NULL),
                         HF_OK);
        assert_memory_equal(got, want, 32);
        wipe_batches(&l);
        checked++;
    }
    assert_int_equal(checked, 300);
    close_labeler(&f);
    vectors_free(&v);
}

/* The lowest label of a range is the recorded nonce. */
static void recorded_nonces_are_the_lowest_outputs(void **state)
{
    (void)state;
    struct vectors v;
    vectors_load(&v, "space/labels.json");
    fixture f;
    open_labeler(&f, 2, NULL);
    uint32_t checked = 0;
    const hfi_json *list = vectors_member(v.root, "vrf_nonce");
    for (const hfi_json *e = list->child; e != NULL; e = e->next) {
        label_job l = {.run = {.log_n = log2_of(vectors_u64(e, "n"))}};
        uint8_t difficulty[32], want[32];
        vectors_hex_exact(e, "difficulty", difficulty, 32);
        bool any = difficulty[0] == 0xff && difficulty[31] == 0xff;
        if (!any || vectors_is_null(e, "nonce"))
            continue;
        uint64_t start = vectors_u64(e, "start");
        uint64_t end = vectors_u64(e, "end_exclusive");
        vectors_hex_exact(e, "commitment", l.run.commitment, 32);
        vectors_hex_exact(e, "nonce_label32", want, 32);
        add_batch(&l, &f, start, (uint32_t)(end - start));
        compute(&f, &l);
        assert_int_equal(l.batches[0].min_index, vectors_u64(e, "nonce"));
        assert_memory_equal(l.batches[0].min, want, 32);
        wipe_batches(&l);
        checked++;
    }
    assert_true(checked >= 3);
    close_labeler(&f);
    vectors_free(&v);
}

/* ---- batches ------------------------------------------------------------- */

static void batches_of_every_length(void **state)
{
    (void)state;
    static const uint32_t counts[] = {1,  2,  7,  15, 16,  17,  47, 48,
                                      49, 63, 64, 65, 127, 200, 500};
    static const uint64_t firsts[] = {0, 0xfffffff0u, (uint64_t)1 << 40,
                                      UINT64_MAX - 500};
    for (uint32_t workers = 0; workers < 4; workers++) {
        fixture f;
        open_labeler(&f, workers, NULL);
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
            label_job l = {.run = {.log_n = 1 + (uint32_t)i % 5}};
            memset(l.run.commitment, (int)i, 32);
            add_batch(&l, &f, firsts[i % 4], counts[i]);
            compute(&f, &l);
            check_batch(&l, &l.batches[0]);
            wipe_batches(&l);
        }
        close_labeler(&f);
    }
}

static void an_empty_batch_ends(void **state)
{
    (void)state;
    fixture f;
    open_labeler(&f, 2, NULL);
    label_job l = {.run = {.log_n = 3}};
    add_batch(&l, &f, 5, 0);
    compute(&f, &l);
    assert_int_equal(l.batches[0].min_index, UINT64_MAX);
    wipe_batches(&l);
    close_labeler(&f);
}

static void batches_in_flight_end_in_order(void **state)
{
    (void)state;
    fixture f;
    open_labeler(&f, 1, NULL);
    label_job l = {.run = {.log_n = 6}};
    for (uint32_t i = 0; i < BATCHES_MOST; i++)
        add_batch(&l, &f, 300 * i, 300);
    compute(&f, &l);
    assert_int_equal(l.out_of_order, 0);
    for (uint32_t i = 0; i < BATCHES_MOST; i++)
        check_batch(&l, &l.batches[i]);
    wipe_batches(&l);
    close_labeler(&f);
}

/* Some labels, where all would take too long. */
static void check_some(const label_job *l, const hfi_label_batch *b)
{
    for (uint64_t i = 0; i < b->count; i += 97) {
        uint8_t out[32];
        assert_int_equal(hfi_label_one(hfi_label_kernels(&(size_t){0})[0],
                                       l->run.commitment, b->first + i,
                                       l->run.log_n, out, NULL),
                         HF_OK);
        assert_memory_equal(b->labels + 16 * i, out, 16);
        assert_true(memcmp(b->min, out, 32) <= 0);
    }
}

/* Labels stay right while shapes are tried, and one of them is kept. */
static void shapes_are_measured_on_real_work(void **state)
{
    (void)state;
    for (uint32_t workers = 1; workers < 3; workers++) {
        fixture f;
        open_labeler(&f, workers, NULL);
        assert_true(hfi_labeler_cpu_rate(f.labeler, 5) == 0);
        assert_true(hfi_labeler_cpu_rate(f.labeler, 99) == 0);
        label_job l = {.run = {.log_n = 5}};
        uint64_t first = 0;
        for (int round = 0; round < 3; round++) {
            for (uint32_t i = 0; i < 2; i++, first += 20000)
                add_batch(&l, &f, first, 20000);
            compute(&f, &l);
            for (uint32_t i = 0; i < 2; i++)
                check_some(&l, &l.batches[i]);
            wipe_batches(&l);
        }
        double rate = hfi_labeler_cpu_rate(f.labeler, 5);
        assert_true(rate > 10 && rate < 1e9);
        close_labeler(&f);
    }
}

static void scratch_keeps_its_limit(void **state)
{
    (void)state;
    hfi_cpu cpu;
    hfi_cpu_detect(&cpu);
    size_t count;
    const hfi_label_kernel *const *all = hfi_label_kernels(&count);
    for (size_t i = 0; i < count; i++) {
        hfi_kernels k = {.label = all[i]};
        uint64_t smallest = hfi_label_scratch_bytes(&all[i]->shapes[0], 13);
        uint64_t bytes = hfi_labeler_cpu_scratch(&k, 13);
        assert_in_range(bytes, smallest, HFI_LABEL_SCRATCH_MOST);
        /* Where even the smallest is larger, it is what there is. */
        assert_int_equal(hfi_labeler_cpu_scratch(&k, 20),
                         hfi_label_scratch_bytes(&all[i]->shapes[0], 20));
    }
}

/* ---- what goes wrong ----------------------------------------------------- */

static void cancelled_batches_say_so(void **state)
{
    (void)state;
    fixture f;
    open_labeler(&f, 2, "portable");
    label_job l = {.run = {.log_n = 10}};
    for (uint32_t i = 0; i < 4; i++)
        add_batch(&l, &f, 100000 * i, 100000); /* a minute's work */
    hf_job *job = start_labels(&f, &l);
    hfi_sleep_ms(20);
    hf_job_cancel(job);
    uint64_t from = kit_now_ms();
    assert_int_equal(hf_job_wait(job, FOREVER, NULL), HF_E_CANCELLED);
    assert_in_range(kit_now_ms() - from, 0, 500);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(l.batches[i].status, HF_E_CANCELLED);
    hf_job_free(job);
    wipe_batches(&l);
    close_labeler(&f);
}

static bool no_large_memory(void *user, size_t bytes)
{
    return bytes < *(size_t *)user;
}

static void lack_of_memory_makes_smaller_or_fails(void **state)
{
    (void)state;
    fixture f;
    open_labeler(&f, 2, NULL);
    const hfi_label_kernel *k = f.kernels.label;
    /* Room for the smallest shape only. */
    size_t limit = hfi_label_scratch_bytes(&k->shapes[0], 8) + 4096;
    label_job l = {.run = {.log_n = 8}};
    add_batch(&l, &f, 0, 200);
    hfi_alloc_hook_user = &limit;
    hfi_alloc_hook = no_large_memory;
    compute(&f, &l);
    hfi_alloc_hook = NULL;
    check_batch(&l, &l.batches[0]);
    wipe_batches(&l);

    label_job none = {.run = {.log_n = 9}};
    for (int i = 0; i < 2; i++)
        add_batch(&none, &f, 0, 200);
    hfi_sched_trim(f.sched);
    limit = 65536;
    hfi_alloc_hook = no_large_memory;
    hf_job *job = start_labels(&f, &none);
    assert_int_equal(hf_job_wait(job, 20000, NULL), HF_OK);
    hfi_alloc_hook = NULL;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(none.batches[i].status, HF_E_MEMORY);
        assert_non_null(strstr(none.batches[i].error.message, "2^9"));
    }
    hf_job_free(job);
    wipe_batches(&none);

    uint8_t out[32];
    hf_error err = {0};
    hfi_alloc_hook = no_large_memory;
    assert_int_equal(hfi_label_one(k, none.run.commitment, 0, 20, out, &err),
                     HF_E_MEMORY);
    hfi_alloc_hook = NULL;
    assert_non_null(strstr(err.message, "2^20"));
    close_labeler(&f);
}

static void every_failing_allocation_is_clean(void **state)
{
    (void)state;
    fixture f;
    open_labeler(&f, 2, NULL);
    int64_t live = atomic_load(&kit_counter.live);
    uint32_t failures = 0;
    for (uint64_t n = 1;; n++) {
        hfi_labeler *other = NULL;
        hfi_label_batch b = {0};
        kit_counter.fail_at = atomic_load(&kit_counter.requests) + n;
        hf_error err = {0};
        hf_status s = hfi_labeler_cpu_open(&other, f.sched, &f.kernels, &err);
        if (s == HF_OK)
            s = other->ops->batch_init(other, &b, 10, &err);
        bool reached = atomic_load(&kit_counter.requests) >=
                       kit_counter.fail_at;
        assert_int_equal(s, reached ? HF_E_MEMORY : HF_OK);
        assert_int_equal(err.code, s);
        failures += s != HF_OK;
        if (other != NULL)
            other->ops->batch_wipe(other, &b);
        hfi_labeler_close(other);
        assert_int_equal(atomic_load(&kit_counter.live), live);
        if (!reached)
            break;
    }
    assert_int_equal(failures, 5);
    close_labeler(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_labels_come_out),
        cmocka_unit_test(recorded_nonces_are_the_lowest_outputs),
        cmocka_unit_test(batches_of_every_length),
        cmocka_unit_test(an_empty_batch_ends),
        cmocka_unit_test(batches_in_flight_end_in_order),
        cmocka_unit_test(shapes_are_measured_on_real_work),
        cmocka_unit_test(scratch_keeps_its_limit),
        cmocka_unit_test(cancelled_batches_say_so),
        cmocka_unit_test(lack_of_memory_makes_smaller_or_fails),
        cmocka_unit_test(every_failing_allocation_is_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * RandomX with its data set: built by all workers, taken over from a cancelled
 * job, shared with light jobs; then all recorded hashes and searches. Needs
 * 2.5 GiB and some minutes of a core.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/vectors.h"
#include "unit/pow_kit.h"

#define MIB (UINT64_C(1) << 20)

static pow_host host;

static uint64_t dataset_done(const hf_job *job)
{
    hf_progress p = {.size = sizeof p};

    assert_int_equal(hf_job_progress(job, &p), HF_OK);
    return strcmp(p.phase, "randomx data set") == 0 ? p.done : 0;
}

static hf_status run_hashes(hfi_pow_mode mode, hfi_pow_mode *got)
{
    const hfi_json *all;
    struct vectors v;
    pow_hash hash[16];
    uint8_t input[16][512];
    hf_error err;

    vectors_load(&v, "space/k2pow.json");
    all = vectors_member(v.root, "hashes");
    pow_task t = {.pow = host.pow, .mode = mode, .hashes = hash};
    for (const hfi_json *r = all->child; r != NULL; r = r->next) {
        size_t i = t.hash_count++;
        assert_true(i < 16);
        hash[i].input = input[i];
        hash[i].bytes = vectors_hex(r, "input", input[i], sizeof input[i]);
    }
    hf_status s = pow_task_run(&t, host.sched, &err);
    size_t i = 0;
    for (const hfi_json *r = all->child; r != NULL; r = r->next) {
        uint8_t want[32];
        vectors_hex_exact(r, "hash", want, 32);
        assert_memory_equal(hash[i++].out, want, 32);
    }
    *got = t.got;
    vectors_free(&v);
    return s;
}

/* The builder is cancelled half-way; another goes on where it stood. */
static void test_take_over(void **state)
{
    pow_task first = {.pow = host.pow, .mode = HFI_POW_FAST};
    pow_task second = {.pow = host.pow, .mode = HFI_POW_AUTO};
    uint64_t done;
    hf_error err;

    (void)state;
    hf_job *a = pow_task_start(&first, host.sched);
    hf_job *b = pow_task_start(&second, host.sched);
    while ((done = dataset_done(a)) < 500)
        hfi_sleep_ms(2);
    hf_job_cancel(a);
    assert_int_equal(pow_task_end(a, &err), HF_E_CANCELLED);
    uint64_t resumed;
    while ((resumed = dataset_done(b)) == 0)
        hfi_sleep_ms(2);
    assert_true(resumed >= done);
    assert_int_equal(pow_task_end(b, &err), HF_OK);
    assert_int_equal(second.got, HFI_POW_FAST);
}

/* After that the data set is held, and light jobs use it too. */
static void test_held(void **state)
{
    hfi_pow_mode got;

    (void)state;
    assert_true(hfi_sched_memory_used(host.sched) > 2300 * MIB);
    assert_int_equal(run_hashes(HFI_POW_FAST, &got), HF_OK);
    assert_int_equal(got, HFI_POW_FAST);
    assert_int_equal(run_hashes(HFI_POW_LIGHT, &got), HF_OK);
    assert_int_equal(got, HFI_POW_FAST);
}

static void test_searches(void **state)
{
    struct vectors v;

    (void)state;
    vectors_load(&v, "space/k2pow.json");
    const hfi_json *all = vectors_member(v.root, "searches");
    assert_true(all->count >= 8);
    for (const hfi_json *r = all->child; r != NULL; r = r->next) {
        pow_task t = {.pow = host.pow, .mode = HFI_POW_FAST, .search = true};
        hf_error err;

        t.found.group = (uint8_t)vectors_u64(r, "nonce_group");
        vectors_hex_exact(r, "challenge8", t.found.challenge, 8);
        vectors_hex_exact(r, "miner_id", t.found.node_id, 32);
        vectors_hex_exact(r, "difficulty", t.found.difficulty, 32);
        assert_int_equal(pow_task_run(&t, host.sched, &err), HF_OK);
        assert_true(t.found.found);
        assert_int_equal(t.found.nonce, vectors_u64(r, "smallest_nonce"));
    }
    vectors_free(&v);
}

/* Cancelled with nobody else there: the memory is given back at once. */
static void test_cancel(void **state)
{
    pow_task t = {.pow = host.pow, .mode = HFI_POW_FAST};
    hf_error err;

    (void)state;
    hfi_pow_trim(host.pow);
    assert_int_equal(hfi_sched_memory_used(host.sched), 0);
    hf_job *job = pow_task_start(&t, host.sched);
    while (dataset_done(job) < 20)
        hfi_sleep_ms(2);
    hf_job_cancel(job);
    assert_int_equal(pow_task_end(job, &err), HF_E_CANCELLED);
    assert_true(hfi_sched_memory_used(host.sched) < 300 * MIB);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_take_over),
        cmocka_unit_test(test_held),
        cmocka_unit_test(test_searches),
        cmocka_unit_test(test_cancel),
    };
    hfi_machine machine;

    hfi_machine_detect(&machine);
    if (machine.memory_available < 3500 * MIB)
        return 77;
    pow_host_open(&host, 2, 0);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    pow_host_close(&host);
    return failed;
}

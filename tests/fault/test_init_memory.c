/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Each allocation of an initialisation, a resume, and a nonce search fails in
 * turn: an error, nothing leaked, files as they were or valid prefixes, and the
 * next run completes.
 */
#include "space/init_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const hfi_env env;

static hf_status plan_and_run(hf_context *ctx, const char *dir,
                              const hf_space_init_opts *o, hf_error *err)
{
    hf_space_plan plan = {.size = sizeof plan};
    hf_space_status st = {.size = sizeof st};
    hf_status s = hf_space_init_plan(ctx, &plan, dir, o, err);
    if (s == HF_OK)
        s = kit_run(ctx, dir, o, NULL, err);
    if (s == HF_OK)
        s = hf_space_get_status(&st, dir, err);
    return s;
}

/* As a crash leaves it: pending labels, some wrong, a torn one, no nonce. */
static void crashed(const char *set, const char *whole, uint64_t n)
{
    static const uint8_t zeros[700];
    hf_space_meta m = {.size = sizeof m};
    hfi_sidecar side = {.scrypt_n = n};
    kit_copy(set, whole);
    assert_int_equal(hfi_meta_load(&m, &env, set, NULL), HF_OK);
    m.has_nonce = m.has_nonce_value = false;
    assert_int_equal(hfi_meta_save(&m, &env, set, NULL), HF_OK);
    assert_int_equal(hfi_ranges_add(&side.pending, &env, 0, 1400, NULL), HF_OK);
    assert_int_equal(hfi_sidecar_save(&side, &env, set, NULL), HF_OK);
    hfi_sidecar_wipe(&side, &env);
    kit_truncate(set, 2, 1000);
    kit_overwrite(set, 1, 4096, zeros, sizeof zeros);
}

static void each_allocation(bool resume)
{
    kit_set s = kit_recorded(1);
    char *dir = temp_folder();
    char expected[TEMP_PATH];
    char set[TEMP_PATH];
    uint64_t nth = 0;
    bool failed = true;
    kit_recorded_path(expected, &s);
    (void)temp_path(set, dir, "set");
    for (; failed; nth++) {
        hf_context *ctx = kit_context(1);
        hf_space_init_opts o = kit_opts(&s);
        hf_error err = {0};
        o.batch_labels = 300;
        o.checkpoint_bytes = 12000;
        if (resume)
            crashed(set, expected, s.n);
        alloc_fail_start(nth + 1);
        hf_status status = plan_and_run(ctx, set, &o, &err);
        failed = alloc_fail_end();
        if (status != HF_OK) {
            assert_true(failed);
            if (status != HF_E_MEMORY)
                fail_msg("allocation %llu: %s: %s (%s)",
                         (unsigned long long)nth + 1, hf_status_name(status),
                         err.message, err.cause);
        }
        (void)kit_must(ctx, set, &o); /* in the same context */
        kit_same(set, expected);
        kit_nothing_pending(set);
        hf_context_close(ctx);
        temp_folder_remove(strdup(set));
    }
    assert_true(nth > 40);
    temp_folder_remove(dir);
}

static void test_init(void **state)
{
    (void)state;
    each_allocation(false);
}

static void test_resume(void **state)
{
    (void)state;
    each_allocation(true);
}

static void test_nonce(void **state)
{
    (void)state;
    kit_set s = kit_recorded(1);
    char *dir = temp_folder();
    char expected[TEMP_PATH];
    char set[TEMP_PATH];
    bool failed = true;
    hf_space_nonce_opts o = HF_SPACE_NONCE_OPTS_INIT;
    o.scrypt_n = s.n;
    kit_recorded_path(expected, &s);
    kit_copy(temp_path(set, dir, "set"), expected);
    hf_context *ctx = kit_context(1);
    for (uint64_t nth = 1; failed; nth++) {
        hf_job *job = NULL;
        hf_space_meta m = {.size = sizeof m};
        assert_int_equal(hf_space_meta_load(&m, set, NULL), HF_OK);
        m.has_nonce = m.has_nonce_value = false;
        assert_int_equal(hfi_meta_save(&m, &env, set, NULL), HF_OK);
        alloc_fail_start(nth);
        hf_status status = hf_space_nonce_start(ctx, &job, set, &o, NULL);
        if (status == HF_OK)
            status = hf_job_wait(job, UINT64_MAX, NULL);
        failed = alloc_fail_end();
        hf_job_free(job);
        assert_int_equal(status, failed ? HF_E_MEMORY : HF_OK);
    }
    kit_same(set, expected);
    hf_context_close(ctx);
    temp_folder_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_init),
        cmocka_unit_test(test_resume),
        cmocka_unit_test(test_nonce),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

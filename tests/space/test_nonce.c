/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The VRF nonce: beyond the data, among stored labels; and the measuring job.
 */
#include "space/init_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static const hfi_env env;

/* ---- from the definition ------------------------------------------------ */

static void label_of(const kit_set *s, uint64_t index, uint8_t out[32])
{
    uint8_t commitment[32];
    uint32_t log_n;
    size_t count;
    assert_int_equal(hfi_space_log_n(&log_n, s->n, NULL), HF_OK);
    hfi_space_commitment(commitment, s->node_id, s->commitment_atx_id);
    assert_int_equal(hfi_label_one(hfi_label_kernels(&count)[0], commitment,
                                   index, log_n, out, NULL),
                     HF_OK);
}

/* First index from `from` whose 32 bytes are below the set's difficulty. */
static uint64_t first_below(const kit_set *s, uint64_t from)
{
    uint8_t difficulty[32];
    uint8_t out[32];
    assert_true(hfi_space_vrf_difficulty(difficulty, kit_labels(s)));
    for (;; from++) {
        label_of(s, from, out);
        if (memcmp(out, difficulty, 32) < 0)
            return from;
    }
}

/* A set of 200 labels, none of which is a nonce (one of 10000 identities). */
static kit_set without_nonce(void)
{
    kit_set s = kit_made(2, 100, 1600, 2, 0x5a);
    hfi_store_u32(s.node_id, 7796);
    return s;
}

/* ---- beyond the data ---------------------------------------------------- */

static void look_beyond(uint32_t workers)
{
    static const uint64_t batches[] = {0, 1, 7, 64};
    kit_set s = without_nonce();
    uint64_t expected = first_below(&s, 0);
    assert_true(expected >= 200);
    hf_context *ctx = kit_context(workers);
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        char *dir = temp_folder();
        hf_space_init_opts o = kit_opts(&s);
        hf_space_meta m = {.size = sizeof m};
        o.batch_labels = batches[i];
        hf_space_init_outcome out = kit_must(ctx, dir, &o);
        assert_int_equal(out.labels_written, 200);
        assert_true(out.labels_beyond > expected - 200);
        assert_true(out.meta.has_nonce && !out.meta.has_nonce_value);
        assert_int_equal(out.meta.nonce, expected);
        assert_int_equal(hf_space_meta_load(&m, dir, NULL), HF_OK);
        assert_true(m.has_nonce && !m.has_nonce_value && m.has_last_position);
        assert_int_equal(m.nonce, expected);
        assert_in_range(m.last_position, 200, expected);
        /* Found is found. */
        uint64_t before = kit_fingerprint(dir);
        out = kit_must(ctx, dir, &o);
        assert_int_equal(out.labels_beyond + out.labels_written, 0);
        assert_true(kit_fingerprint(dir) == before);
        temp_folder_remove(dir);
    }
    hf_context_close(ctx);
}

static void test_beyond(void **state)
{
    (void)state;
    look_beyond(2);
}

/* The same with leaves and steps on one thread. */
static void test_beyond_host_driven(void **state)
{
    (void)state;
    look_beyond(0);
}

static void test_beyond_only_if_asked(void **state)
{
    (void)state;
    kit_set s = without_nonce();
    char *dir = temp_folder();
    hf_context *ctx = kit_context(1);
    hf_space_init_opts o = kit_opts(&s);
    o.no_nonce_search = true;
    hf_space_init_outcome out = kit_must(ctx, dir, &o);
    assert_false(out.meta.has_nonce || out.meta.has_last_position);
    assert_int_equal(out.labels_beyond, 0);
    o.no_nonce_search = false;
    o.to_file = 0; /* a part */
    out = kit_must(ctx, dir, &o);
    assert_false(out.meta.has_nonce);
    assert_int_equal(out.labels_beyond, 0);
    o.to_file = 1; /* the last: the whole range */
    out = kit_must(ctx, dir, &o);
    assert_int_equal(out.meta.nonce, first_below(&s, 200));
    hf_context_close(ctx);
    temp_folder_remove(dir);
}

/* It goes on where an earlier search has stopped, whoever made it. */
static void test_beyond_goes_on(void **state)
{
    (void)state;
    kit_set s = without_nonce();
    char *dir = temp_folder();
    hf_context *ctx = kit_context(1);
    hf_space_init_opts o = kit_opts(&s);
    hf_space_meta m = {.size = sizeof m};
    uint64_t first = first_below(&s, 200);
    o.no_nonce_search = true;
    (void)kit_must(ctx, dir, &o);
    assert_int_equal(hf_space_meta_load(&m, dir, NULL), HF_OK);
    m.has_last_position = true;
    m.last_position = first + 1;
    assert_int_equal(hfi_meta_save(&m, &env, dir, NULL), HF_OK);
    o.no_nonce_search = false;
    hf_space_init_outcome out = kit_must(ctx, dir, &o);
    assert_int_equal(out.meta.nonce, first_below(&s, first + 1));
    hf_context_close(ctx);
    temp_folder_remove(dir);
}

/* 2^29 labels: the search would take millions. Its place is kept. */
static void test_beyond_stops(void **state)
{
    (void)state;
    kit_set s = kit_made(1, UINT64_C(1) << 29, UINT64_C(1) << 33, 64, 12);
    char *dir = temp_folder();
    hf_context *ctx = kit_context(1);
    hf_space_init_opts o = kit_opts(&s);
    hf_space_meta m = {.size = sizeof m,
                       .labels_per_unit = s.labels_per_unit,
                       .num_units = 1,
                       .max_file_size = s.max_file_size};
    uint8_t label[32];
    memcpy(m.node_id, s.node_id, 32);
    memcpy(m.commitment_atx_id, s.commitment_atx_id, 32);
    assert_int_equal(hfi_meta_save(&m, &env, dir, NULL), HF_OK);
    kit_truncate(dir, 0, UINT64_C(1) << 33);
    label_of(&s, 0, label);
    kit_overwrite(dir, 0, 0, label, 16);
    label_of(&s, s.labels_per_unit - 1, label);
    kit_overwrite(dir, 0, (UINT64_C(1) << 33) - 16, label, 16);
    uint64_t last = UINT64_C(1) << 29;
    for (int i = 0; i < 3; i++) {
        hf_job *job = NULL;
        hf_space_init_outcome out = {.size = sizeof out};
        hf_progress p = {.size = sizeof p};
        assert_int_equal(hf_space_init_start(ctx, &job, dir, &o, NULL), HF_OK);
        do {
            hfi_sleep_ms(5);
            assert_int_equal(hf_job_progress(job, &p), HF_OK);
        } while (strcmp(p.phase, "nonce") != 0 || p.done < 2000);
        hf_job_cancel(job);
        uint64_t asked = hfi_now_ns();
        assert_int_equal(hf_job_wait(job, UINT64_MAX, NULL), HF_E_CANCELLED);
        assert_true(hfi_now_ns() - asked < UINT64_C(5000000000));
        assert_int_equal(hf_space_init_result(job, &out, NULL), HF_OK);
        hf_job_free(job);
        assert_int_equal(hf_space_meta_load(&m, dir, NULL), HF_OK);
        assert_true(m.has_last_position && !m.has_nonce);
        assert_int_equal(m.last_position, last + out.labels_beyond);
        last = m.last_position;
        assert_int_equal(kit_size(dir, 0), UINT64_C(1) << 33);
    }
    hf_context_close(ctx);
    temp_folder_remove(dir);
}

/* ---- among stored labels ------------------------------------------------ */

static hf_status search(hf_context *ctx, const char *dir,
                        const hf_space_nonce_opts *o, hf_space_meta *m,
                        hf_error *err)
{
    hf_job *job = NULL;
    *m = (hf_space_meta){.size = sizeof *m};
    hf_status s = hf_space_nonce_start(ctx, &job, dir, o, err);
    if (s != HF_OK)
        return s;
    s = hf_job_wait(job, UINT64_MAX, err);
    assert_int_equal(hf_space_nonce_result(job, m, NULL), s);
    hf_job_free(job);
    return s;
}

static void forget_nonce(const char *dir)
{
    hf_space_meta m = {.size = sizeof m};
    assert_int_equal(hf_space_meta_load(&m, dir, NULL), HF_OK);
    m.has_nonce = m.has_nonce_value = false;
    assert_int_equal(hfi_meta_save(&m, &env, dir, NULL), HF_OK);
}

static hf_space_nonce_opts nonce_opts(uint64_t n)
{
    hf_space_nonce_opts o = HF_SPACE_NONCE_OPTS_INIT;
    o.scrypt_n = n;
    return o;
}

/* The recorded nonces are found again, with surplus files and a torn tail. */
static void test_stored(void **state)
{
    (void)state;
    hf_context *ctx[2] = {kit_context(2), kit_context(0)};
    for (size_t i = 0; i < KIT_RECORDED; i++) {
        kit_set s = kit_recorded(i);
        char *dir = temp_folder();
        char expected[TEMP_PATH];
        char set[TEMP_PATH];
        hf_error err;
        hf_space_meta m;
        hf_space_nonce_opts o = nonce_opts(s.n);
        kit_recorded_path(expected, &s);
        kit_copy(temp_path(set, dir, "set"), expected);
        forget_nonce(set);
        assert_int_equal(search(ctx[i % 2], set, &o, &m, &err), HF_OK);
        assert_true(m.has_nonce && m.has_nonce_value);
        kit_same(set, expected);
        uint64_t before = kit_fingerprint(set);
        assert_int_equal(search(ctx[i % 2], set, &o, &m, &err), HF_OK);
        assert_true(kit_fingerprint(set) == before);
        kit_append(set, 9, "surplus", 7);
        forget_nonce(set);
        assert_int_equal(search(ctx[i % 2], set, &o, &m, &err), HF_OK);
        assert_int_equal(kit_size(set, 9), 7);
        temp_folder_remove(dir);
    }
    hf_context_close(ctx[0]);
    hf_context_close(ctx[1]);
}

/* A higher nonce gives way, a lower one stays, a false one does not count. */
static void test_stored_against_known(void **state)
{
    (void)state;
    kit_set s = kit_recorded(1); /* 1500 labels, nonce 439 */
    char *dir = temp_folder();
    char expected[TEMP_PATH];
    char set[TEMP_PATH];
    uint8_t out[32];
    hf_error err;
    hf_space_meta m;
    hf_context *ctx = kit_context(1);
    hf_space_nonce_opts o = nonce_opts(s.n);
    kit_recorded_path(expected, &s);
    kit_copy(temp_path(set, dir, "set"), expected);
    uint64_t worse = first_below(&s, 440);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(hf_space_meta_load(&m, expected, NULL), HF_OK);
        m.nonce = i == 2 ? 7 : worse;
        m.has_nonce_value = i != 1;
        label_of(&s, worse, out);
        memcpy(m.nonce_value, out, 16);
        if (i == 2)
            memset(m.nonce_value, 0, 16); /* lower than all, but not true */
        assert_int_equal(hfi_meta_save(&m, &env, set, NULL), HF_OK);
        assert_int_equal(search(ctx, set, &o, &m, &err), HF_OK);
        if (i < 2)
            kit_same(set, expected);
        assert_int_equal(m.nonce, 439);
    }
    /* Only file 2: the nonce known stays, since it is lower. */
    kit_copy(set, expected);
    o.from_file = o.to_file = 2;
    assert_int_equal(search(ctx, set, &o, &m, &err), HF_OK);
    kit_same(set, expected);
    /* Only file 2, nothing known: the lowest of that file. */
    forget_nonce(set);
    hf_status found = search(ctx, set, &o, &m, &err);
    uint64_t there = first_below(&s, 1024);
    assert_int_equal(found, there < 1500 ? HF_OK : HF_E_NOT_FOUND);
    if (found == HF_OK)
        assert_in_range(m.nonce, 1024, 1499);
    hf_context_close(ctx);
    temp_folder_remove(dir);
}

/* Zeros are lower than any label; they are no nonce. */
static void test_stored_wrong_labels(void **state)
{
    (void)state;
    static const uint8_t zeros[16 * 40];
    kit_set s = kit_recorded(1);
    char *dir = temp_folder();
    char expected[TEMP_PATH];
    char set[TEMP_PATH];
    hf_error err;
    hf_space_meta m;
    hf_context *ctx = kit_context(1);
    hf_space_nonce_opts o = nonce_opts(s.n);
    kit_recorded_path(expected, &s);
    kit_copy(temp_path(set, dir, "set"), expected);
    forget_nonce(set);
    kit_overwrite(set, 1, 160, zeros, 16 * 10);
    assert_int_equal(search(ctx, set, &o, &m, &err), HF_OK);
    assert_int_equal(m.nonce, 439);
    kit_overwrite(set, 1, 160, zeros, sizeof zeros);
    forget_nonce(set);
    assert_int_equal(search(ctx, set, &o, &m, &err), HF_E_FORMAT);
    assert_non_null(strstr(err.message, "postdata_1.bin"));
    assert_non_null(strstr(err.message, "wrong labels"));
    hf_context_close(ctx);
    temp_folder_remove(dir);
}

static void test_stored_none(void **state)
{
    (void)state;
    kit_set s = without_nonce();
    char *dir = temp_folder();
    hf_error err;
    hf_space_meta m;
    hf_context *ctx = kit_context(1);
    hf_space_init_opts o = kit_opts(&s);
    o.no_nonce_search = true;
    (void)kit_must(ctx, dir, &o);
    uint64_t before = kit_fingerprint(dir);
    assert_int_equal(search(ctx, dir, NULL, &m, &err), HF_E_NOT_FOUND);
    assert_non_null(strstr(err.message, "200 labels"));
    assert_true(kit_fingerprint(dir) == before);
    hf_context_close(ctx);
    temp_folder_remove(dir);

    s = kit_made(1, 8, 1024, 2, 1); /* too few for a difficulty */
    dir = temp_folder();
    ctx = kit_context(1);
    o = kit_opts(&s);
    (void)kit_must(ctx, dir, &o);
    assert_int_equal(search(ctx, dir, NULL, &m, &err), HF_E_NOT_FOUND);
    assert_non_null(strstr(err.message, "at least 9"));
    hf_context_close(ctx);
    temp_folder_remove(dir);
}

static void test_stored_refuses(void **state)
{
    (void)state;
    kit_set s = kit_recorded(1);
    char *dir = temp_folder();
    char expected[TEMP_PATH];
    hf_error err;
    hf_space_meta m;
    hf_job *job = NULL;
    hf_context *ctx = kit_context(1);
    hf_space_nonce_opts o = nonce_opts(32);
    kit_recorded_path(expected, &s);
    assert_int_equal(search(ctx, dir, &o, &m, &err), HF_E_IO);
    assert_int_equal(search(ctx, expected, &o, &m, &err), HF_E_STATE);
    assert_non_null(strstr(err.message, "N 32"));
    o = nonce_opts(s.n);
    o.to_file = 3;
    assert_int_equal(search(ctx, expected, &o, &m, &err), HF_E_ARGUMENT);
    assert_non_null(strstr(err.message, "0 to 2"));
    o.from_file = 4;
    assert_int_equal(search(ctx, expected, &o, &m, &err), HF_E_ARGUMENT);
    o = nonce_opts(17);
    assert_int_equal(search(ctx, expected, &o, &m, &err), HF_E_ARGUMENT);
    o = nonce_opts(s.n);
    o.size = 3;
    assert_int_equal(search(ctx, expected, &o, &m, &err), HF_E_ARGUMENT);
    assert_int_equal(hf_space_nonce_start(NULL, &job, dir, NULL, &err),
                     HF_E_ARGUMENT);
    assert_int_equal(hf_space_nonce_start(ctx, NULL, dir, NULL, &err),
                     HF_E_ARGUMENT);
    assert_int_equal(hf_space_nonce_start(ctx, &job, NULL, NULL, &err),
                     HF_E_ARGUMENT);
    assert_int_equal(hf_space_nonce_start(ctx, &job, "", NULL, &err),
                     HF_E_ARGUMENT);
    assert_int_equal(hf_space_nonce_result(NULL, &m, &err), HF_E_ARGUMENT);
    hf_context_close(ctx);
    temp_folder_remove(dir);
}

/* ---- measuring ---------------------------------------------------------- */

static void test_bench(void **state)
{
    (void)state;
    hf_context *ctx = kit_context(2);
    hf_space_bench_opts o = {.size = sizeof o, .duration_ms = 300};
    hf_space_bench_outcome out = {.size = sizeof out};
    hf_space_init_outcome init = {.size = sizeof init};
    hf_job *job = NULL;
    hf_error err;
    assert_int_equal(hf_space_bench_start(ctx, &job, &o, &err), HF_OK);
    assert_int_equal(hf_space_bench_result(job, &out, &err), HF_E_BUSY);
    assert_int_equal(hf_job_wait(job, UINT64_MAX, &err), HF_OK);
    assert_int_equal(hf_space_bench_result(job, &out, &err), HF_OK);
    assert_true(out.labels_per_second > 1);
    assert_int_equal(out.workers, 2);
    assert_true(out.labels_in_flight >= 1);
    assert_true(out.scratch_bytes >= UINT64_C(1048576) * out.labels_in_flight);
    assert_non_null(out.kernel);
    /* Of another kind. */
    assert_int_equal(hf_space_init_result(job, &init, &err), HF_E_ARGUMENT);
    hf_job_free(job);
    o.duration_ms = 0;
    assert_int_equal(hf_space_bench_start(ctx, &job, &o, &err), HF_OK);
    hf_job_cancel(job);
    assert_int_equal(hf_job_wait(job, UINT64_MAX, &err), HF_E_CANCELLED);
    assert_int_equal(hf_space_bench_result(job, &out, &err), HF_E_CANCELLED);
    hf_job_free(job);
    job = NULL;
    o.scrypt_n = 6;
    assert_int_equal(hf_space_bench_start(ctx, &job, &o, &err), HF_E_ARGUMENT);
    o.scrypt_n = 0;
    o.duration_ms = UINT32_MAX;
    assert_int_equal(hf_space_bench_start(ctx, &job, &o, &err), HF_E_ARGUMENT);
    assert_int_equal(hf_space_bench_start(NULL, &job, NULL, &err),
                     HF_E_ARGUMENT);
    assert_int_equal(hf_space_bench_start(ctx, NULL, NULL, &err),
                     HF_E_ARGUMENT);
    assert_int_equal(hf_space_bench_result(NULL, &out, &err), HF_E_ARGUMENT);
    assert_null(job);
    hf_context_close(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_beyond),
        cmocka_unit_test(test_beyond_host_driven),
        cmocka_unit_test(test_beyond_only_if_asked),
        cmocka_unit_test(test_beyond_goes_on),
        cmocka_unit_test(test_beyond_stops),
        cmocka_unit_test(test_stored),
        cmocka_unit_test(test_stored_against_known),
        cmocka_unit_test(test_stored_wrong_labels),
        cmocka_unit_test(test_stored_none),
        cmocka_unit_test(test_stored_refuses),
        cmocka_unit_test(test_bench),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

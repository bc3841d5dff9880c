/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Labels in memory against what the reference system gave, and the check of
 * stored ones: every bad label is listed, nothing is written.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hash/hash.h"
#include "space/records.h"

static hf_context *ctx;

static int open_context(void **state)
{
    (void)state;
    ctx = context_with(3);
    return 0;
}

static int close_context(void **state)
{
    (void)state;
    hf_context_close(ctx);
    return 0;
}

/* ---- labels ---------------------------------------------------------------- */

static hf_job *labels_of(const uint8_t commitment[32], uint64_t n,
                         uint64_t first, uint64_t count,
                         const uint8_t *difficulty, hf_space_labels *out)
{
    hf_space_labels_opts opts = HF_SPACE_LABELS_OPTS_INIT;
    hf_job *job = NULL;
    hf_error err;
    opts.scrypt_n = n;
    opts.vrf_difficulty = difficulty;
    assert_int_equal(
        hf_space_labels_start(ctx, &job, commitment, first, count, &opts, &err),
        HF_OK);
    assert_int_equal(hf_job_wait(job, UINT64_MAX, &err), HF_OK);
    out->size = sizeof *out;
    assert_int_equal(hf_space_labels_result(job, out, &err), HF_OK);
    assert_true(out->first == first && out->count == count);
    return job;
}

static void labels_match(void **state)
{
    (void)state;
    struct vectors v;
    size_t count = 0;
    vectors_load(&v, "space/labels.json");
    for (const hfi_json *l = vectors_member(v.root, "labels")->child; l;
         l = l->next, count++) {
        uint8_t commitment[32], wanted[32], all[32];
        hf_space_labels got;
        memset(all, 0xff, 32);
        vectors_hex_exact(l, "commitment", commitment, 32);
        vectors_hex_exact(l, "label32", wanted, 32);
        uint64_t index = vectors_u64(l, "index");
        hf_job *job = labels_of(commitment, vectors_u64(l, "n"), index, 1, all,
                                &got);
        assert_memory_equal(got.labels, wanted, 16);
        assert_true(got.has_nonce && got.nonce == index);
        assert_memory_equal(got.nonce_output, wanted, 32);
        hf_job_free(job);
    }
    assert_int_equal(count, 300);
    vectors_free(&v);
}

static void ranges_match(void **state)
{
    (void)state;
    struct vectors v;
    size_t count = 0;
    vectors_load(&v, "space/labels.json");
    for (const hfi_json *r = vectors_member(v.root, "ranges")->child; r;
         r = r->next, count++) {
        uint8_t commitment[32], wanted[32], hash[32];
        hf_space_labels got;
        hfi_blake3 b;
        vectors_hex_exact(r, "commitment", commitment, 32);
        vectors_hex_exact(r, "labels16_concat_blake3", wanted, 32);
        uint64_t start = vectors_u64(r, "start");
        uint64_t labels = vectors_u64(r, "end_exclusive") - start;
        hf_job *job = labels_of(commitment, vectors_u64(r, "n"), start, labels,
                                NULL, &got);
        hfi_blake3_init(&b);
        hfi_blake3_update(&b, got.labels, labels * 16);
        hfi_blake3_xof(&b, 0, hash, 32);
        assert_memory_equal(hash, wanted, 32);
        assert_false(got.has_nonce);
        hf_job_free(job);
    }
    assert_int_equal(count, 3);
    vectors_free(&v);
}

static void nonces_match(void **state)
{
    (void)state;
    struct vectors v;
    size_t count = 0;
    vectors_load(&v, "space/labels.json");
    for (const hfi_json *r = vectors_member(v.root, "vrf_nonce")->child; r;
         r = r->next, count++) {
        uint8_t commitment[32], difficulty[32], output[32];
        hf_space_labels got;
        vectors_hex_exact(r, "commitment", commitment, 32);
        vectors_hex_exact(r, "difficulty", difficulty, 32);
        uint64_t start = vectors_u64(r, "start");
        hf_job *job = labels_of(commitment, vectors_u64(r, "n"), start,
                                vectors_u64(r, "end_exclusive") - start,
                                difficulty, &got);
        assert_int_equal(got.has_nonce, !vectors_is_null(r, "nonce"));
        if (got.has_nonce) {
            assert_true(got.nonce == vectors_u64(r, "nonce"));
            vectors_hex_exact(r, "nonce_label32", output, 32);
            assert_memory_equal(got.nonce_output, output, 32);
        }
        hf_job_free(job);
    }
    assert_int_equal(count, 40);
    vectors_free(&v);
}

/* Many batches are one range. */
static void long_range_is_whole(void **state)
{
    (void)state;
    uint8_t commitment[32] = {7}, all[32];
    hf_space_labels whole, part;
    const uint64_t count = 300000;
    memset(all, 0xff, 32);
    hf_job *job = labels_of(commitment, 2, 5, count, all, &whole);
    uint8_t least[32];
    memset(least, 0xff, 32);
    uint64_t nonce = 0;
    for (uint64_t at = 0; at < count; at += 7001) {
        uint64_t n = count - at < 7001 ? count - at : 7001;
        hf_job *small = labels_of(commitment, 2, 5 + at, n, all, &part);
        assert_memory_equal(part.labels, whole.labels + 16 * at, 16 * n);
        if (memcmp(part.nonce_output, least, 32) < 0) {
            memcpy(least, part.nonce_output, 32);
            nonce = part.nonce;
        }
        hf_job_free(small);
    }
    assert_memory_equal(whole.nonce_output, least, 32);
    assert_true(whole.nonce == nonce);
    hf_job_free(job);
}

static void label_arguments(void **state)
{
    (void)state;
    uint8_t commitment[32] = {0};
    hf_job *job = NULL;
    hf_error err;
    hf_space_labels_opts opts = HF_SPACE_LABELS_OPTS_INIT;
    static const struct {
        uint64_t first, count;
        hf_status wanted;
    } cases[] = {{0, 0, HF_E_ARGUMENT},
                 {UINT64_MAX, 1, HF_E_ARGUMENT},
                 {1, UINT64_MAX, HF_E_ARGUMENT},
                 {0, UINT64_MAX, HF_E_MEMORY},
                 {0, UINT64_C(1) << 58, HF_E_MEMORY}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(hf_space_labels_start(ctx, &job, commitment,
                                               cases[i].first, cases[i].count,
                                               NULL, &err),
                         cases[i].wanted);
    static const uint64_t bad_n[] = {1, 3, UINT64_C(1) << 31};
    for (size_t i = 0; i < 3; i++) {
        opts.scrypt_n = bad_n[i];
        assert_int_equal(
            hf_space_labels_start(ctx, &job, commitment, 0, 1, &opts, &err),
            HF_E_ARGUMENT);
    }
    opts.scrypt_n = 2;
    opts.provider = "7";
    assert_int_equal(
        hf_space_labels_start(ctx, &job, commitment, 0, 1, &opts, &err),
        HF_E_ARGUMENT);
    assert_non_null(strstr(err.cause, "\"cpu\""));
    assert_int_equal(
        hf_space_labels_start(ctx, NULL, commitment, 0, 1, NULL, &err),
        HF_E_ARGUMENT);
    assert_int_equal(hf_space_labels_start(ctx, &job, NULL, 0, 1, NULL, &err),
                     HF_E_ARGUMENT);
    assert_null(job);
}

static void labels_can_be_cancelled(void **state)
{
    (void)state;
    uint8_t commitment[32] = {0};
    hf_job *job = NULL;
    hf_error err;
    hf_space_labels got = {.size = sizeof got};
    assert_int_equal(
        hf_space_labels_start(ctx, &job, commitment, 0, 10000000, NULL, &err),
        HF_OK);
    assert_int_equal(hf_space_labels_result(job, &got, &err), HF_E_BUSY);
    assert_int_equal(hf_job_wait(job, 50, &err), HF_E_BUSY);
    hf_job_cancel(job);
    assert_int_equal(hf_job_wait(job, 20000, &err), HF_E_CANCELLED);
    assert_int_equal(hf_space_labels_result(job, &got, &err), HF_E_CANCELLED);
    hf_job_free(job);
}

/* ---- check ----------------------------------------------------------------- */

static const char *const b_files[] = {"postdata_metadata.json",
                                      "postdata_0.bin", "postdata_1.bin",
                                      "postdata_2.bin"};

/* A copy of b-3files-uneven: 512, 512, 476 labels, N = 16. */
static char *copy_set(void)
{
    char *dir = temp_folder();
    for (size_t i = 0; i < 4; i++) {
        char from[TEMP_PATH], to[TEMP_PATH];
        size_t bytes;
        temp_path(from, HF_VECTORS "/space/post/b-3files-uneven", b_files[i]);
        char *data = temp_read(from, &bytes);
        temp_write(temp_path(to, dir, b_files[i]), data, bytes);
        free(data);
    }
    return dir;
}

static void spoil(const char *dir, const char *name, uint64_t label)
{
    char path[TEMP_PATH];
    size_t bytes;
    temp_path(path, dir, name);
    char *data = temp_read(path, &bytes);
    assert_true(label * 16 < bytes);
    data[label * 16 + label % 16] ^= 1;
    temp_write(path, data, bytes);
    free(data);
}

static hf_job *check_of(const char *dir, const hf_space_check_opts *opts,
                        hf_space_check_outcome *out)
{
    hf_job *job = NULL;
    hf_error err;
    assert_int_equal(hf_space_check_start(ctx, &job, dir, opts, &err), HF_OK);
    assert_int_equal(hf_job_wait(job, UINT64_MAX, &err), HF_OK);
    out->size = sizeof *out;
    assert_int_equal(hf_space_check_result(job, out, &err), HF_OK);
    return job;
}

static hf_space_check_opts all_of_b(void)
{
    hf_space_check_opts opts = HF_SPACE_CHECK_OPTS_INIT;
    opts.scrypt_n = 16;
    return opts;
}

static void whole_set_is_good(void **state)
{
    (void)state;
    hf_space_check_opts opts = all_of_b();
    hf_space_check_outcome got;
    hf_job *job = check_of(HF_VECTORS "/space/post/b-3files-uneven", &opts,
                           &got);
    assert_true(got.labels_checked == 1500);
    assert_true(got.labels_bad == 0 && got.range_count == 0);
    hf_job_free(job);
}

static void every_bad_label_is_listed(void **state)
{
    (void)state;
    static const hf_space_bad_range wanted[] = {
        {0, 0, 1},        {0, 510 * 16, 2}, {1, 0, 3},
        {2, 100 * 16, 1}, {2, 102 * 16, 1}, {2, 475 * 16, 1}};
    hf_space_check_opts opts = all_of_b();
    hf_space_check_outcome got;
    char *dir = copy_set();
    for (size_t i = 0; i < 6; i++)
        for (uint64_t k = 0; k < wanted[i].labels; k++)
            spoil(dir, b_files[1 + wanted[i].file], wanted[i].offset / 16 + k);
    hf_job *job = check_of(dir, &opts, &got);
    assert_true(got.labels_checked == 1500 && got.labels_bad == 9);
    assert_true(got.range_count == 6 && got.ranges_total == 6);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(got.ranges[i].file, wanted[i].file);
        assert_true(got.ranges[i].offset == wanted[i].offset);
        assert_true(got.ranges[i].labels == wanted[i].labels);
    }
    hf_job_free(job);

    opts.max_ranges = 2;
    job = check_of(dir, &opts, &got);
    assert_true(got.range_count == 2 && got.ranges_total == 6);
    assert_true(got.ranges[1].offset == 510 * 16 && got.labels_bad == 9);
    hf_job_free(job);

    opts.first_only = true;
    opts.from_file = opts.to_file = 2;
    job = check_of(dir, &opts, &got);
    assert_true(got.range_count == 1 && got.ranges[0].file == 2);
    assert_true(got.ranges[0].offset == 100 * 16);
    hf_job_free(job);
    assert_int_equal(temp_count(dir), 4);
    temp_folder_remove(dir);
}

/* 10 % of 512, 512 and 476 are 51, 51 and 47. */
static void sample_counts_and_repeats(void **state)
{
    (void)state;
    hf_space_check_opts opts = all_of_b();
    hf_space_check_outcome first, again;
    char *dir = copy_set();
    for (uint64_t i = 0; i < 512; i++)
        spoil(dir, "postdata_0.bin", i);
    opts.percent = 10;
    hf_job *job = check_of(dir, &opts, &first);
    assert_true(first.labels_checked == 149);
    assert_true(first.labels_bad == 51 && first.seed != 0);
    opts.seed = first.seed;
    hf_job *second = check_of(dir, &opts, &again);
    assert_true(again.seed == first.seed);
    assert_int_equal(again.range_count, first.range_count);
    assert_memory_equal(again.ranges, first.ranges,
                        first.range_count * sizeof *first.ranges);
    hf_job_free(second);
    opts.seed++;
    second = check_of(dir, &opts, &again);
    assert_true(again.range_count != first.range_count ||
                memcmp(again.ranges, first.ranges,
                       first.range_count * sizeof *first.ranges) != 0);
    hf_job_free(second);
    hf_job_free(job);
    opts.percent = 0.1; /* no whole label of any file */
    job = check_of(dir, &opts, &again);
    assert_true(again.labels_checked == 0);
    hf_job_free(job);
    temp_folder_remove(dir);
}

/* Over many seeds each label of a file comes up. */
static void sample_reaches_every_label(void **state)
{
    (void)state;
    hf_space_check_opts opts = all_of_b();
    bool seen[512] = {false};
    char *dir = copy_set();
    for (uint64_t i = 0; i < 512; i++)
        spoil(dir, "postdata_0.bin", i);
    opts.percent = 30;
    opts.to_file = 0;
    for (opts.seed = 1; opts.seed < 60; opts.seed++) {
        hf_space_check_outcome got;
        hf_job *job = check_of(dir, &opts, &got);
        for (size_t i = 0; i < got.range_count; i++)
            for (uint64_t k = 0; k < got.ranges[i].labels; k++)
                seen[got.ranges[i].offset / 16 + k] = true;
        hf_job_free(job);
    }
    for (size_t i = 0; i < 512; i++)
        assert_true(seen[i]);
    temp_folder_remove(dir);
}

static void check_end(const char *dir, const hf_space_check_opts *opts,
                      hf_status wanted, const char *text)
{
    hf_job *job = NULL;
    hf_error err;
    assert_int_equal(hf_space_check_start(ctx, &job, dir, opts, &err), HF_OK);
    assert_int_equal(hf_job_wait(job, UINT64_MAX, &err), wanted);
    assert_non_null(strstr(err.message, text));
    hf_job_free(job);
}

static void missing_and_short_files_are_named(void **state)
{
    (void)state;
    hf_space_check_opts opts = all_of_b();
    hf_space_check_outcome got;
    char *dir = copy_set();
    char path[TEMP_PATH];
    size_t bytes;
    temp_path(path, dir, "postdata_1.bin");
    char *data = temp_read(path, &bytes);
    temp_write(path, data, bytes - 16);
    check_end(dir, &opts, HF_E_STATE, "postdata_1.bin");
    assert_int_equal(remove(path), 0);
    check_end(dir, &opts, HF_E_STATE, "postdata_1.bin");
    opts.from_file = opts.to_file = 2; /* without the one that is gone */
    hf_job *job = check_of(dir, &opts, &got);
    assert_true(got.labels_checked == 476 && got.labels_bad == 0);
    hf_job_free(job);
    temp_write(path, data, bytes);
    free(data);
    data = calloc(1, 5000);
    temp_write(temp_path(path, dir, "postdata_3.bin"), data, 5000);
    opts = all_of_b(); /* surplus: a warning */
    job = check_of(dir, &opts, &got);
    assert_true(got.labels_bad == 0);
    hf_job_free(job);
    free(data);
    opts.to_file = 3;
    check_end(dir, &opts, HF_E_ARGUMENT, "not in the set");
    opts.to_file = 1;
    opts.from_file = 2;
    check_end(dir, &opts, HF_E_ARGUMENT, "not in the set");
    check_end(HF_VECTORS, NULL, HF_E_IO, "postdata_metadata.json");
    temp_folder_remove(dir);
}

static void check_arguments(void **state)
{
    (void)state;
    static const double bad[] = {-1, NAN, INFINITY, -INFINITY};
    hf_space_check_opts opts = all_of_b();
    hf_job *job = NULL;
    hf_error err;
    for (size_t i = 0; i < 4; i++) {
        opts.percent = bad[i];
        assert_int_equal(hf_space_check_start(ctx, &job, "x", &opts, &err),
                         HF_E_ARGUMENT);
    }
    opts = all_of_b();
    opts.scrypt_n = 7;
    assert_int_equal(hf_space_check_start(ctx, &job, "x", &opts, &err),
                     HF_E_ARGUMENT);
    opts = all_of_b();
    opts.max_ranges = UINT64_MAX;
    assert_int_equal(hf_space_check_start(ctx, &job, "x", &opts, &err),
                     HF_E_ARGUMENT);
    assert_int_equal(hf_space_check_start(ctx, &job, NULL, NULL, &err),
                     HF_E_ARGUMENT);
    assert_null(job);
}

/* ---- RandomX ahead of time, providers --------------------------------------- */

static void warm_up_holds_memory(void **state)
{
    (void)state;
    hf_space_warm_opts opts = HF_SPACE_WARM_OPTS_INIT;
    hf_context_info info = {.size = sizeof info};
    hf_job *job = NULL;
    hf_error err;
    opts.randomx = HF_SPACE_RANDOMX_LIGHT;
    assert_int_equal(hf_space_warm_start(ctx, &job, &opts, &err), HF_OK);
    assert_int_equal(hf_job_wait(job, UINT64_MAX, &err), HF_OK);
    hf_job_free(job);
    assert_int_equal(hf_context_get_info(ctx, &info), HF_OK);
    assert_true(info.memory_used >= (uint64_t)256 << 20);
    hf_context_trim(ctx);
    assert_int_equal(hf_context_get_info(ctx, &info), HF_OK);
    assert_true(info.memory_used < (uint64_t)256 << 20);
    hf_context_opts small = HF_CONTEXT_OPTS_INIT;
    small.memory_budget = (uint64_t)100 << 20;
    hf_context *other = NULL;
    assert_int_equal(hf_context_open(&other, &small, &err), HF_OK);
    assert_int_equal(hf_space_warm_start(other, &job, &opts, &err),
                     HF_E_MEMORY);
    hf_context_close(other);
}

static void cpu_is_listed(void **state)
{
    (void)state;
    hf_provider p = {.size = sizeof p};
    hf_error err;
    uint32_t count = hf_context_provider_count(ctx);
    assert_true(count >= 1);
    assert_int_equal(hf_context_provider_get(ctx, count - 1, &p, &err), HF_OK);
    assert_string_equal(p.id, "cpu");
    assert_string_equal(p.kind, "cpu");
    assert_int_equal(hf_context_provider_get(ctx, count, &p, &err),
                     HF_E_ARGUMENT);
    p.size = 0;
    assert_int_equal(hf_context_provider_get(ctx, 0, &p, &err), HF_E_ARGUMENT);
    assert_int_equal(hf_context_provider_count(NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_match),
        cmocka_unit_test(ranges_match),
        cmocka_unit_test(nonces_match),
        cmocka_unit_test(long_range_is_whole),
        cmocka_unit_test(label_arguments),
        cmocka_unit_test(labels_can_be_cancelled),
        cmocka_unit_test(whole_set_is_good),
        cmocka_unit_test(every_bad_label_is_listed),
        cmocka_unit_test(sample_counts_and_repeats),
        cmocka_unit_test(sample_reaches_every_label),
        cmocka_unit_test(missing_and_short_files_are_named),
        cmocka_unit_test(check_arguments),
        cmocka_unit_test(warm_up_holds_memory),
        cmocka_unit_test(cpu_is_listed),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}

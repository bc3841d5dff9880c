/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Initialisation: the recorded sets byte for byte, then stopping and resuming,
 * and everything that is refused.
 */
#include "space/init_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const hfi_env env;

/* ---- recorded sets ------------------------------------------------------ */

/* Made anew: data, metadata and nonce. */
static void make_recorded(uint32_t workers, uint64_t batch_labels)
{
    for (size_t i = 0; i < KIT_RECORDED; i++) {
        kit_set s = kit_recorded(i);
        char *dir = temp_folder();
        char expected[TEMP_PATH];
        char set[TEMP_PATH];
        hf_context *ctx = kit_context(workers);
        hf_space_init_opts o = kit_opts(&s);
        o.batch_labels = batch_labels;
        kit_recorded_path(expected, &s);
        hf_space_init_outcome out = kit_must(
            ctx, temp_path(set, dir, "new/set"), &o);
        assert_int_equal(out.labels_written, kit_labels(&s));
        assert_int_equal(out.labels_found, 0);
        assert_int_equal(out.labels_beyond, 0);
        assert_true(out.meta.has_nonce);
        kit_same(set, expected);
        kit_nothing_pending(set);
        hf_context_close(ctx);
        temp_folder_remove(dir);
    }
}

static void test_recorded(void **state)
{
    (void)state;
    make_recorded(2, 0);
}

static void test_recorded_host_driven(void **state)
{
    (void)state;
    make_recorded(0, 0);
}

static void test_recorded_small_batches(void **state)
{
    (void)state;
    make_recorded(2, 7);
}

/* What was made by the present tool is gone on with, and left as it is. */
static void test_recorded_resumed(void **state)
{
    (void)state;
    hf_context *ctx = kit_context(2);
    for (size_t i = 0; i < KIT_RECORDED; i++) {
        kit_set s = kit_recorded(i);
        char *dir = temp_folder();
        char expected[TEMP_PATH];
        char set[TEMP_PATH];
        hf_space_init_opts o = HF_SPACE_INIT_OPTS_INIT;
        o.scrypt_n = s.n;
        kit_recorded_path(expected, &s);
        kit_copy(temp_path(set, dir, "set"), expected);
        hf_space_init_outcome out = kit_must(ctx, set, &o);
        assert_int_equal(out.labels_written, 0);
        assert_int_equal(out.labels_found, kit_labels(&s));
        kit_same(set, expected); /* nothing to do but to keep N */
        uint64_t before = kit_fingerprint(set);
        (void)kit_must(ctx, set, &o);
        assert_true(kit_fingerprint(set) == before);

        uint64_t bytes = kit_size(set, 0);
        kit_truncate(set, 0, bytes / 2 / 16 * 16 + 5);
        out = kit_must(ctx, set, &o);
        assert_int_equal(out.bytes_torn, 5);
        assert_int_equal(out.labels_written, bytes / 16 - bytes / 2 / 16);
        kit_same(set, expected);
        temp_folder_remove(dir);
    }
    hf_context_close(ctx);
}

/* Every label again, by the portable definition. */
static void test_labels(void **state)
{
    (void)state;
    kit_set s = kit_made(2, 1000, 4099, 8, 3);
    char *dir = temp_folder();
    hf_context *ctx = kit_context(2);
    hf_space_init_opts o = kit_opts(&s);
    (void)kit_must(ctx, dir, &o);
    kit_check_labels(dir, &s);
    hf_context_close(ctx);
    temp_folder_remove(dir);
}

static void test_modes(void **state)
{
    (void)state;
    kit_set s = kit_made(1, 300, 2048, 2, 3);
    char *dir = temp_folder();
    char set[TEMP_PATH];
    char path[TEMP_PATH];
    struct stat st;
    hf_context *ctx = kit_context(1);
    hf_space_init_opts o = kit_opts(&s);
    mode_t old = umask(0);
    (void)kit_must(ctx, temp_path(set, dir, "deep/set"), &o);
    (void)umask(old);
    assert_int_equal(stat(set, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_int_equal(stat(kit_file(path, set, 1), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(stat(temp_path(path, set, HFI_META_NAME), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(stat(temp_path(path, set, HFI_SIDECAR_NAME), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    hf_context_close(ctx);
    temp_folder_remove(dir);
}

/* 64 files, so small that a batch spans many: names, order, contents; the same
 * whatever the batches and checkpoints. */
static void test_many_files(void **state)
{
    (void)state;
    kit_set s = kit_made(64, 64, 1024, 2, 9);
    char *dir = temp_folder();
    char set[TEMP_PATH];
    char other[TEMP_PATH];
    hf_context *ctx = kit_context(2);
    hf_space_init_opts o = kit_opts(&s);
    (void)temp_path(set, dir, "set");
    assert_int_equal(kit_must(ctx, set, &o).labels_written, 4096);
    kit_check_labels(set, &s);
    o.batch_labels = 100;
    o.checkpoint_bytes = 1;
    (void)kit_must(ctx, temp_path(other, dir, "other"), &o);
    kit_same(other, set);
    hf_context_close(ctx);
    temp_folder_remove(dir);
}

/* ---- stopping and going on ---------------------------------------------- */

static void random_stop(hf_context *ctx, const char *dir,
                        const hf_space_init_opts *o, uint64_t after_us)
{
    hf_job *job = NULL;
    hf_error err = {0};
    hf_space_init_outcome out = {.size = sizeof out};
    assert_int_equal(hf_space_init_start(ctx, &job, dir, o, &err), HF_OK);
    (void)usleep((useconds_t)after_us);
    hf_job_cancel(job);
    uint64_t asked = hfi_now_ns();
    hf_status s = hf_job_wait(job, UINT64_MAX, &err);
    assert_true(hfi_now_ns() - asked < UINT64_C(2000000000));
    assert_true(s == HF_E_CANCELLED || s == HF_OK);
    assert_int_equal(hf_space_init_result(job, &out, NULL), HF_OK);
    hf_job_free(job);
    if (access(dir, F_OK) != 0)
        return;
    /* Stopped cleanly: all that is stored is whole and accounted for. */
    hf_space_status st = {.size = sizeof st};
    if (hf_space_get_status(&st, dir, &err) != HF_OK)
        return; /* stopped before there was a set */
    assert_int_equal(st.bytes_torn, 0);
    assert_int_equal(st.files_too_long, 0);
    assert_int_equal(st.labels_stored, out.labels_found + out.labels_written);
}

/* A finished set without a sidecar: N, told once, is asked no more. */
static void test_n_is_kept(void **state)
{
    (void)state;
    hf_context *ctx = kit_context(2);
    char recorded[TEMP_PATH], dir[TEMP_PATH];
    char *temp = temp_folder();
    temp_path(dir, temp, "set");
    kit_set set = kit_recorded(1);
    kit_recorded_path(recorded, &set);
    kit_copy(dir, recorded);
    hf_space_init_opts only_dir = HF_SPACE_INIT_OPTS_INIT;
    assert_int_equal(kit_run(ctx, dir, &only_dir, NULL, NULL), HF_E_STATE);
    hf_space_init_opts o = only_dir;
    o.scrypt_n = set.n;
    assert_int_equal(kit_must(ctx, dir, &o).labels_written, 0);
    kit_must(ctx, dir, &only_dir);
    kit_same(dir, recorded);
    hf_context_close(ctx);
    temp_folder_remove(temp);
}

static void test_cancel_and_resume(void **state)
{
    (void)state;
    kit_set s = kit_made(4, 5000, 16 * 3001, 64, 21);
    char *dir = temp_folder();
    char whole[TEMP_PATH];
    char set[TEMP_PATH];
    hf_context *ctx = kit_context(2);
    hf_space_init_opts o = kit_opts(&s);
    uint64_t seed = 11;
    (void)kit_must(ctx, temp_path(whole, dir, "whole"), &o);
    o.batch_labels = 150;
    for (int round = 0; round < 3; round++) {
        kit_copy(temp_path(set, dir, "set"), whole);
        char command[2 * TEMP_PATH];
        (void)snprintf(command, sizeof command, "rm -rf '%s'", set);
        assert_int_equal(system(command), 0);
        for (int stop = 0; stop < 12; stop++) {
            seed = seed * UINT64_C(6364136223846793005) + 99;
            random_stop(ctx, set, &o, (seed >> 40) % 12000);
        }
        (void)kit_must(ctx, set, &o);
        kit_same(set, whole);
        kit_nothing_pending(set);
    }
    hf_context_close(ctx);
    temp_folder_remove(dir);
}

/* Labels that take long: a stop waits for one leaf, not for the batch. */
static void test_cancel_slow_labels(void **state)
{
    (void)state;
    kit_set s = kit_made(1, 4096, 65536, UINT64_C(1) << 17, 8);
    char *dir = temp_folder();
    uint8_t id[32] = {1};
    uint8_t out[32];
    size_t count;
    hf_context *ctx = kit_context(1);
    hf_space_init_opts o = kit_opts(&s);
    hf_job *job = NULL;
    hf_progress p = {.size = sizeof p};
    o.batch_labels = 1024;
    uint64_t begin = hfi_now_ns();
    assert_int_equal(
        hfi_label_one(hfi_label_kernels(&count)[0], id, 0, 17, out, NULL),
        HF_OK);
    uint64_t one = hfi_now_ns() - begin;
    assert_int_equal(hf_space_init_start(ctx, &job, dir, &o, NULL), HF_OK);
    do {
        hfi_sleep_ms(5);
        assert_int_equal(hf_job_progress(job, &p), HF_OK);
    } while (strcmp(p.phase, "labels") != 0);
    hfi_sleep_ms(100);
    begin = hfi_now_ns();
    hf_job_cancel(job);
    assert_int_equal(hf_job_wait(job, UINT64_MAX, NULL), HF_E_CANCELLED);
    /* A batch would be a thousand times this. */
    assert_true(hfi_now_ns() - begin < 100 * one + UINT64_C(2000000000));
    hf_job_free(job);
    assert_int_equal(kit_size(dir, 0) % 16, 0);
    kit_nothing_pending(dir);
    hf_context_close(ctx);
    temp_folder_remove(dir);
}

/* Torn labels of every length, in the middle and at the end of a file. */
static void test_torn_tails(void **state)
{
    (void)state;
    kit_set s = kit_recorded(1);
    char expected[TEMP_PATH];
    char *dir = temp_folder();
    hf_context *ctx = kit_context(1);
    hf_space_init_opts o = HF_SPACE_INIT_OPTS_INIT;
    o.scrypt_n = s.n;
    kit_recorded_path(expected, &s);
    for (uint32_t torn = 1; torn < 16; torn++) {
        char set[TEMP_PATH];
        kit_copy(temp_path(set, dir, "set"), expected);
        kit_truncate(set, 1, torn * 33 * 16 + torn);
        kit_truncate(set, 2, torn);                   /* not even one label */
        kit_append(set, 0, "0123456789abcdef", torn); /* behind the share */
        hf_space_init_outcome out = kit_must(ctx, set, &o);
        assert_int_equal(out.bytes_torn, 3 * torn);
        kit_same(set, expected);
    }
    hf_context_close(ctx);
    temp_folder_remove(dir);
}

/*
 * A tail that is whole but wrong, as a file system leaves it that has grown a
 * file and lost its blocks: found, cut, made again; the right part stays.
 */
static void test_wrong_tails(void **state)
{
    (void)state;
    static const uint8_t zeros[16 * 512];
    static const struct {
        uint64_t right;
        uint64_t wrong;
        uint64_t most_made; /* labels at most made again */
    } cases[] = {{100, 1, 512 - 96},    {96, 32, 512 - 96},
                 {1, 300, 512 - 0},     {64, 448, 512 - 64},
                 {300, 100, 512 - 288}, {511, 1, 512 - 480}};
    kit_set s = kit_recorded(1);
    char expected[TEMP_PATH];
    char *dir = temp_folder();
    hf_context *ctx = kit_context(2);
    hf_space_init_opts o = HF_SPACE_INIT_OPTS_INIT;
    o.scrypt_n = s.n;
    kit_recorded_path(expected, &s);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char set[TEMP_PATH];
        kit_copy(temp_path(set, dir, "set"), expected);
        kit_truncate(set, 1, cases[i].right * 16);
        kit_append(set, 1, zeros, cases[i].wrong * 16);
        if (cases[i].right + cases[i].wrong == 512)
            kit_truncate(set, 2, 0); /* the last complete file is checked */
        hf_space_init_outcome out = kit_must(ctx, set, &o);
        uint64_t made = out.labels_written -
                        (kit_size(set, 2) / 16) *
                            (cases[i].right + cases[i].wrong == 512);
        assert_true(made <= cases[i].most_made);
        kit_same(set, expected);
    }
    hf_context_close(ctx);
    temp_folder_remove(dir);
}

/*
 * After a crash: labels of a pending range are there but some of their sectors
 * never reached the disk, and the metadata know no nonce yet.
 */
static void test_pending_range(void **state)
{
    (void)state;
    static const uint8_t zeros[512];
    kit_set s = kit_recorded(1);
    char expected[TEMP_PATH];
    char *dir = temp_folder();
    hf_context *ctx = kit_context(2);
    hf_space_init_opts o = HF_SPACE_INIT_OPTS_INIT;
    kit_recorded_path(expected, &s);
    for (uint64_t hole = 0; hole < 46; hole++) {
        char set[TEMP_PATH];
        hf_space_meta m = {.size = sizeof m};
        hfi_sidecar side = {.scrypt_n = s.n};
        kit_copy(temp_path(set, dir, "set"), expected);
        assert_int_equal(hfi_meta_load(&m, &env, set, NULL), HF_OK);
        m.has_nonce = m.has_nonce_value = false;
        assert_int_equal(hfi_meta_save(&m, &env, set, NULL), HF_OK);
        assert_int_equal(hfi_ranges_add(&side.pending, &env, 0, 1500, NULL),
                         HF_OK);
        assert_int_equal(hfi_sidecar_save(&side, &env, set, NULL), HF_OK);
        hfi_sidecar_wipe(&side, &env);
        /* Hole 0: everything arrived, all complete, only the nonce is lost. */
        if (hole > 0) {
            uint64_t at = (hole - 1) * 512;
            uint32_t file = (uint32_t)(at / 8192);
            kit_overwrite(set, file, at % 8192, zeros, 512);
            if (file == 2 && at % 8192 + 512 > 476 * 16)
                kit_truncate(set, 2, 476 * 16);
        }
        (void)kit_must(ctx, set, &o);
        kit_same(set, expected);
        kit_nothing_pending(set);
    }
    hf_context_close(ctx);
    temp_folder_remove(dir);
}

/* ---- parts -------------------------------------------------------------- */

/* Files 2 to 3 of 10: exactly their labels, and no search for a nonce. */
static void test_subset(void **state)
{
    (void)state;
    kit_set s = kit_made(10, 128, 2048, 4, 5);
    char *dir = temp_folder();
    char whole[TEMP_PATH];
    char set[TEMP_PATH];
    hf_context *ctx = kit_context(2);
    hf_space_init_opts o = kit_opts(&s);
    (void)kit_must(ctx, temp_path(whole, dir, "whole"), &o);
    o.from_file = 2;
    o.to_file = 3;
    hf_space_init_outcome out = kit_must(ctx, temp_path(set, dir, "set"), &o);
    assert_int_equal(out.labels_written, 256);
    assert_int_equal(out.labels_beyond, 0);
    kit_same_file(set, whole, 2);
    kit_same_file(set, whole, 3);
    assert_int_equal(temp_count(set), 4); /* and metadata, sidecar */
    kit_nothing_pending(set);
    /* The rest, in two more parts: the best nonce of all remains. */
    o.from_file = 4;
    o.to_file = HF_SPACE_FILES_ALL;
    assert_int_equal(kit_must(ctx, set, &o).labels_written, 6 * 128);
    o.from_file = 0;
    o.to_file = 1;
    assert_int_equal(kit_must(ctx, set, &o).labels_written, 2 * 128);
    kit_same(set, whole);
    hf_context_close(ctx);
    temp_folder_remove(dir);
}

/* Two processes fill one folder: their metadata and nonces are merged. */
static void test_two_processes(void **state)
{
    (void)state;
    kit_set s = kit_made(10, 1000, 16 * 1000, 64, 5);
    char *dir = temp_folder();
    char whole[TEMP_PATH];
    char set[TEMP_PATH];
    hf_space_init_opts o = kit_opts(&s);
    (void)temp_path(whole, dir, "whole");
    (void)temp_path(set, dir, "set");
    o.batch_labels = 100;
    o.checkpoint_bytes = 3000;
    pid_t child = fork();
    if (child == 0) {
        o.to_file = 4;
        hf_context *ctx = kit_context(1);
        hf_status status = kit_run(ctx, set, &o, NULL, NULL);
        hf_context_close(ctx);
        _exit((int)status);
    }
    int code = -1;
    hf_context *ctx = kit_context(1);
    o.from_file = 5;
    (void)kit_must(ctx, set, &o);
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_int_equal(code, 0);
    o.from_file = 0;
    (void)kit_must(ctx, whole, &o);
    kit_same(set, whole);
    kit_nothing_pending(set);
    hf_context_close(ctx);
    temp_folder_remove(dir);
}

/* A second run on the same files is told who has them, and writes nothing. */
static void test_busy(void **state)
{
    (void)state;
    kit_set s = kit_made(1, 2000000, 16 * 1000000, 1024, 6);
    char *dir = temp_folder();
    hf_context *ctx[2] = {kit_context(1), kit_context(1)};
    hf_space_init_opts o = kit_opts(&s);
    hf_job *job = NULL;
    hf_error err = {0};
    hf_progress p = {.size = sizeof p};
    char pid[32];
    assert_int_equal(hf_space_init_start(ctx[0], &job, dir, &o, NULL), HF_OK);
    do {
        hfi_sleep_ms(2);
        assert_int_equal(hf_job_progress(job, &p), HF_OK);
    } while (strcmp(p.phase, "labels") != 0);
    assert_int_equal(kit_run(ctx[1], dir, &o, NULL, &err), HF_E_BUSY);
    (void)snprintf(pid, sizeof pid, "process %ld", (long)getpid());
    assert_non_null(strstr(err.message, pid));
    assert_non_null(strstr(err.message, "postdata_0.bin"));
    hf_job_cancel(job);
    assert_int_equal(hf_job_wait(job, UINT64_MAX, NULL), HF_E_CANCELLED);
    hf_job_free(job);
    hf_context_close(ctx[0]);
    hf_context_close(ctx[1]);
    temp_folder_remove(dir);
}

/* ---- refused ------------------------------------------------------------ */

/* Start, plan and the folder: refused with this text, nothing changed. */
static void refuse(hf_context *ctx, const char *dir,
                   const hf_space_init_opts *o, hf_status status,
                   const char *text1, const char *text2)
{
    hf_error err = {0};
    hf_space_plan plan = {.size = sizeof plan};
    uint64_t before = kit_fingerprint(dir);
    hf_status s = kit_run(ctx, dir, o, NULL, &err);
    if (s != status)
        fail_msg("%s: %s", hf_status_name(s), err.message);
    if (strstr(err.message, text1) == NULL ||
        strstr(err.message, text2) == NULL)
        fail_msg("\"%s\" and \"%s\" are not in: %s", text1, text2, err.message);
    assert_int_equal(hf_space_init_plan(ctx, &plan, dir, o, &err), status);
    assert_true(kit_fingerprint(dir) == before);
}

static void test_other_set(void **state)
{
    (void)state;
    kit_set s = kit_recorded(1);
    char *dir = temp_folder();
    char expected[TEMP_PATH];
    char set[TEMP_PATH];
    uint8_t other[32];
    hf_context *ctx = kit_context(1);
    hf_space_init_opts o = kit_opts(&s);
    kit_recorded_path(expected, &s);
    kit_copy(temp_path(set, dir, "set"), expected);
    kit_truncate(set, 2, 0); /* there would be work */
    memset(other, 0xee, sizeof other);
    o.node_id = other;
    refuse(ctx, set, &o, HF_E_STATE, "node id is 83ed12fe", "eeeeeeeeeeeeeeee");
    o = kit_opts(&s);
    o.commitment_atx_id = other;
    refuse(ctx, set, &o, HF_E_STATE, "is 75791c51", "eeeeeeeeeeeeeeee");
    o = kit_opts(&s);
    o.labels_per_unit = 499;
    refuse(ctx, set, &o, HF_E_STATE, "500", "499");
    o = kit_opts(&s);
    o.max_file_size = 8191;
    refuse(ctx, set, &o, HF_E_STATE, "8192", "8191");
    o = kit_opts(&s);
    o.num_units = 2;
    refuse(ctx, set, &o, HF_E_STATE, "3 units in 3 files",
           "2 units, which is 2 files");
    o.num_units = 4;
    refuse(ctx, set, &o, HF_E_STATE, "3 units in 3 files",
           "4 units, which is 4 files");
    o = kit_opts(&s);
    o.scrypt_n = 32; /* nothing says 16 but label 0 */
    refuse(ctx, set, &o, HF_E_STATE, "N 32", "label 0");
    o.scrypt_n = 0; /* main net's */
    refuse(ctx, set, &o, HF_E_STATE, "N 8192", "label 0");
    o = kit_opts(&s);
    (void)kit_must(ctx, set, &o);
    kit_truncate(set, 0, 0);
    kit_truncate(set, 1, 0);
    kit_truncate(set, 2, 0);
    o.scrypt_n = 32; /* now the sidecar says it */
    refuse(ctx, set, &o, HF_E_STATE, "16", "32");
    hf_context_close(ctx);
    temp_folder_remove(dir);
}

static void test_surplus_files(void **state)
{
    (void)state;
    kit_set s = kit_recorded(0); /* 4 files */
    char *dir = temp_folder();
    char expected[TEMP_PATH];
    char set[TEMP_PATH];
    hf_context *ctx = kit_context(1);
    hf_space_init_opts o = kit_opts(&s);
    kit_recorded_path(expected, &s);
    kit_copy(temp_path(set, dir, "set"), expected);
    kit_truncate(set, 1, 160);
    for (uint32_t i = 4; i < 8; i++)
        kit_truncate(set, i, 2048);
    refuse(ctx, set, &o, HF_E_STATE, "4 data files above the last",
           "make 4 files");
    o.num_units = 1;
    refuse(ctx, set, &o, HF_E_STATE, "2 units in 4 files", "1 units");
    hf_context_close(ctx);
    temp_folder_remove(dir);
}

static void test_long_files(void **state)
{
    (void)state;
    kit_set s = kit_recorded(0);
    char *dir = temp_folder();
    char expected[TEMP_PATH];
    char set[TEMP_PATH];
    hf_context *ctx = kit_context(1);
    hf_space_init_opts o = kit_opts(&s);
    kit_recorded_path(expected, &s);
    kit_copy(temp_path(set, dir, "set"), expected);
    kit_truncate(set, 3, 100 * 16);
    kit_append(set, 1, "0123456789abcdefX", 17); /* a whole label too much */
    refuse(ctx, set, &o, HF_E_STATE, "postdata_1.bin has 2065 bytes",
           "its share is 2048");
    /* Not in the range asked for: nobody's business. */
    o.from_file = 2;
    assert_int_equal(kit_must(ctx, set, &o).labels_written, 28);
    assert_int_equal(kit_size(set, 1), 2065);
    hf_context_close(ctx);
    temp_folder_remove(dir);
}

static void test_no_metadata(void **state)
{
    (void)state;
    kit_set s = kit_recorded(0);
    char *dir = temp_folder();
    hf_context *ctx = kit_context(1);
    hf_space_init_opts o = kit_opts(&s);
    kit_append(dir, 2, "0123456789abcdef", 16);
    refuse(ctx, dir, &o, HF_E_STATE, "16 bytes in data files",
           "restore it, or move");
    temp_folder_remove(dir);

    dir = temp_folder();
    o = (hf_space_init_opts)HF_SPACE_INIT_OPTS_INIT;
    refuse(ctx, dir, &o, HF_E_ARGUMENT, "no data set", "node id");
    o.node_id = s.node_id;
    refuse(ctx, dir, &o, HF_E_ARGUMENT, "no data set", "commitment");
    o.commitment_atx_id = s.node_id;
    refuse(ctx, dir, &o, HF_E_ARGUMENT, "no data set", "units");
    assert_int_equal(temp_count(dir), 0);
    temp_folder_remove(dir);
    hf_context_close(ctx);
}

/* A file that begins with labels of another set is not cut. */
static void test_foreign_file(void **state)
{
    (void)state;
    kit_set s = kit_recorded(1);
    char *dir = temp_folder();
    char expected[TEMP_PATH];
    char set[TEMP_PATH];
    hf_error err = {0};
    hf_context *ctx = kit_context(1);
    hf_space_init_opts o = kit_opts(&s);
    kit_recorded_path(expected, &s);
    kit_copy(temp_path(set, dir, "set"), expected);
    kit_truncate(set, 1, 0);
    kit_append(set, 1, "another set's label", 16);
    assert_int_equal(kit_run(ctx, set, &o, NULL, &err), HF_E_STATE);
    assert_non_null(strstr(err.message, "postdata_1.bin is not of this set"));
    assert_int_equal(kit_size(set, 1), 16);
    kit_same_file(set, expected, 2);
    hf_context_close(ctx);
    temp_folder_remove(dir);
}

static void test_arguments(void **state)
{
    (void)state;
    kit_set s = kit_recorded(0);
    char *dir = temp_folder();
    hf_context *ctx = kit_context(1);
    hf_space_init_opts good = kit_opts(&s);
    hf_space_init_opts o;
    hf_job *job = NULL;
    hf_error err;
    hf_space_plan plan = {.size = sizeof plan};

    o = good, o.scrypt_n = 3;
    refuse(ctx, dir, &o, HF_E_ARGUMENT, "N is 3", "power of two");
    o = good, o.scrypt_n = 1;
    refuse(ctx, dir, &o, HF_E_ARGUMENT, "N is 1", "power of two");
    o = good, o.scrypt_n = UINT64_C(1) << 31;
    refuse(ctx, dir, &o, HF_E_ARGUMENT, "2147483648", "power of two");
    o = good, o.max_file_size = 1023;
    refuse(ctx, dir, &o, HF_E_ARGUMENT, "1023", "1024");
    o = good, o.labels_per_unit = UINT64_C(1) << 62;
    refuse(ctx, dir, &o, HF_E_ARGUMENT, "4611686018427387904", "2^59");
    o = good, o.from_file = 3, o.to_file = 2;
    refuse(ctx, dir, &o, HF_E_ARGUMENT, "3 to 2", "first");
    o = good, o.to_file = 4;
    refuse(ctx, dir, &o, HF_E_ARGUMENT, "is 4", "0 to 3");
    o = good, o.from_file = 4;
    refuse(ctx, dir, &o, HF_E_ARGUMENT, "is 4", "0 to 3");
    o = good, o.batch_labels = UINT64_C(1) << 40;
    refuse(ctx, dir, &o, HF_E_ARGUMENT, "1099511627776", "1 to 524288");
    o = good, o.provider = "7";
    refuse(ctx, dir, &o, HF_E_ARGUMENT, "\"7\"", "\"cpu\"");
    o = good, o.provider = "cpu", o.size = 4;
    refuse(ctx, dir, &o, HF_E_ARGUMENT, "4", "HF_SPACE_INIT_OPTS_INIT");
    assert_int_equal(temp_count(dir), 0);

    assert_int_equal(hf_space_init_start(NULL, &job, dir, &good, &err),
                     HF_E_ARGUMENT);
    assert_int_equal(hf_space_init_start(ctx, NULL, dir, &good, &err),
                     HF_E_ARGUMENT);
    assert_int_equal(hf_space_init_start(ctx, &job, NULL, &good, &err),
                     HF_E_ARGUMENT);
    assert_int_equal(hf_space_init_start(ctx, &job, "", &good, &err),
                     HF_E_ARGUMENT);
    assert_int_equal(hf_space_init_start(ctx, &job, dir, NULL, &err),
                     HF_E_ARGUMENT);
    assert_int_equal(hf_space_init_plan(NULL, &plan, dir, &good, &err),
                     HF_E_ARGUMENT);
    assert_int_equal(hf_space_init_plan(ctx, NULL, dir, &good, &err),
                     HF_E_ARGUMENT);
    assert_int_equal(hf_space_init_plan(ctx, &plan, dir, NULL, &err),
                     HF_E_ARGUMENT);
    plan.size = 1;
    assert_int_equal(hf_space_init_plan(ctx, &plan, dir, &good, &err),
                     HF_E_ARGUMENT);
    assert_int_equal(hf_space_init_result(NULL, NULL, NULL), HF_E_ARGUMENT);
    assert_null(job);
    /* More memory than the budget. */
    o = good, o.scrypt_n = UINT64_C(1) << 30;
    assert_int_equal(hf_space_init_start(ctx, &job, dir, &o, &err),
                     HF_E_MEMORY);
    assert_null(job);
    /* A file where the folder should be. */
    char path[TEMP_PATH];
    temp_write(temp_path(path, dir, "file"), "x", 1);
    assert_int_equal(kit_run(ctx, path, &good, NULL, &err), HF_E_STATE);
    assert_non_null(strstr(err.message, "not a folder"));
    hf_context_close(ctx);
    temp_folder_remove(dir);
}

static void test_space_needed(void **state)
{
    (void)state;
    kit_set s = kit_made(1024, UINT64_C(1) << 40, UINT64_C(1) << 50, 2, 1);
    char *dir = temp_folder();
    char set[TEMP_PATH];
    hf_error err = {0};
    hf_context *ctx = kit_context(1);
    hf_space_init_opts o = kit_opts(&s);
    hf_space_plan plan = {.size = sizeof plan};
    (void)temp_path(set, dir, "a/b/c");
    assert_int_equal(hf_space_init_plan(ctx, &plan, set, &o, &err), HF_OK);
    assert_int_equal(plan.bytes_to_write, UINT64_C(1) << 54);
    assert_true(plan.bytes_free > 0);
    assert_false(plan.exists);
    assert_int_equal(plan.scrypt_n, 2);
    assert_int_equal(temp_count(dir), 0);
    assert_int_equal(kit_run(ctx, set, &o, NULL, &err), HF_E_IO);
    assert_int_equal(err.os_code, 28); /* ENOSPC */
    assert_non_null(strstr(err.message, "18014398509547520 bytes"));
    hf_context_close(ctx);
    temp_folder_remove(dir);
}

static void test_plan_memory(void **state)
{
    (void)state;
    kit_set s = kit_made(4, UINT64_C(1) << 32, UINT64_C(1) << 32, 8192, 1);
    char *dir = temp_folder();
    for (uint32_t workers = 1; workers <= 4; workers += 3) {
        hf_context *ctx = kit_context(workers);
        hf_space_init_opts o = kit_opts(&s);
        hf_space_plan plan = {.size = sizeof plan};
        assert_int_equal(hf_space_init_plan(ctx, &plan, dir, &o, NULL), HF_OK);
        assert_true(plan.memory_bytes <= (workers + 1) * (UINT64_C(64) << 20));
        assert_true(plan.memory_bytes >= workers * (UINT64_C(1) << 20));
        assert_int_equal(plan.last_file, 63);
        hf_context_close(ctx);
    }
    temp_folder_remove(dir);
}

/* ---- wrong labels from a provider --------------------------------------- */

static const hfi_labeler_ops *true_ops;
static hfi_labeler_ops false_ops;
static int lies_left;

/* Once for each time that a batch is computed: later it may be read at the
 * same time. */
static bool lying_idle(hfi_labeler *l, const hfi_label_batch *b)
{
    hfi_label_batch *mine = (hfi_label_batch *)(uintptr_t)b;
    if (!true_ops->idle(l, b))
        return false;
    if (lies_left > 0 && b->first + b->count > 700 && b->ended_ns != 0) {
        mine->labels[16 * (b->count - 1)] ^= 1;
        mine->ended_ns = 0;
        lies_left--;
    }
    return true;
}

static void lie(hf_context *ctx, int times)
{
    hfi_labeler *l = hfi_context_cpu_labeler(ctx);
    true_ops = l->ops;
    false_ops = *true_ops;
    false_ops.idle = lying_idle;
    lies_left = times;
    l->ops = &false_ops;
}

static void test_wrong_labels(void **state)
{
    (void)state;
    kit_set s = kit_recorded(1);
    char *dir = temp_folder();
    char expected[TEMP_PATH];
    char set[TEMP_PATH];
    hf_error err = {0};
    hf_space_init_opts o = kit_opts(&s);
    kit_recorded_path(expected, &s);
    o.batch_labels = 100;

    /* Once: made again. */
    hf_context *ctx = kit_context(1);
    lie(ctx, 1);
    (void)kit_must(ctx, temp_path(set, dir, "once"), &o);
    assert_int_equal(lies_left, 0);
    kit_same(set, expected);
    hfi_context_cpu_labeler(ctx)->ops = true_ops;
    hf_context_close(ctx);

    /* Twice and more: named, and not on disk. */
    ctx = kit_context(1);
    lie(ctx, 1000);
    assert_int_equal(kit_run(ctx, temp_path(set, dir, "often"), &o, NULL, &err),
                     HF_E_DEVICE);
    assert_non_null(strstr(err.message, "provider cpu"));
    assert_non_null(strstr(err.message, "label 799 is"));
    assert_non_null(strstr(err.message, "expected "));
    assert_int_equal(kit_size(set, 0) + kit_size(set, 1), 700 * 16);
    hfi_context_cpu_labeler(ctx)->ops = true_ops;
    (void)kit_must(ctx, set, &o); /* the context works on */
    kit_same(set, expected);
    hf_context_close(ctx);
    temp_folder_remove(dir);
}

/* ---- paths, large files ------------------------------------------------- */

static void test_paths(void **state)
{
    (void)state;
    kit_set s = kit_recorded(1);
    char *dir = temp_folder();
    char expected[TEMP_PATH];
    char set[TEMP_PATH];
    char back[TEMP_PATH];
    hf_context *ctx = kit_context(1);
    hf_space_init_opts o = kit_opts(&s);
    static const char *const names[] = {"PoST data ü 数据",
                                        "PoST data ü 数据/in/", "./relative/",
                                        "relative 2", "a//b///"};
    kit_recorded_path(expected, &s);
    assert_non_null(getcwd(back, sizeof back));
    assert_int_equal(chdir(dir), 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        hf_space_status st = {.size = sizeof st};
        (void)kit_must(ctx, names[i], &o);
        assert_int_equal(hf_space_get_status(&st, names[i], NULL), HF_OK);
        assert_int_equal(st.files_complete, 3);
        if (i > 0) /* the first holds the second */
            kit_same(temp_path(set, dir, names[i]), expected);
    }
    assert_int_equal(chdir(back), 0);
    hf_context_close(ctx);
    temp_folder_remove(dir);
}

/* The end of a file of 8 GiB, which is sparse but for its first label. */
static void test_offsets_beyond_4_gib(void **state)
{
    (void)state;
    kit_set s = kit_made(1, UINT64_C(1) << 29, UINT64_C(1) << 33, 2, 77);
    uint64_t stored = (UINT64_C(1) << 29) - 4096;
    char *dir = temp_folder();
    hf_context *ctx = kit_context(2);
    hf_space_init_opts o = kit_opts(&s);
    uint8_t commitment[32];
    uint8_t label[32];
    size_t count;
    const hfi_label_kernel *portable = hfi_label_kernels(&count)[0];
    hf_space_meta m = {.size = sizeof m,
                       .labels_per_unit = s.labels_per_unit,
                       .num_units = 1,
                       .max_file_size = s.max_file_size};
    memcpy(m.node_id, s.node_id, 32);
    memcpy(m.commitment_atx_id, s.commitment_atx_id, 32);
    assert_int_equal(hfi_meta_save(&m, &env, dir, NULL), HF_OK);
    hfi_space_commitment(commitment, s.node_id, s.commitment_atx_id);
    kit_truncate(dir, 0, stored * 16);
    for (int i = 0; i < 2; i++) { /* the first and the last stored */
        uint64_t at = i == 0 ? 0 : stored - 1;
        assert_int_equal(
            hfi_label_one(portable, commitment, at, 1, label, NULL), HF_OK);
        kit_overwrite(dir, 0, at * 16, label, 16);
    }
    o.no_nonce_search = true;
    hf_space_init_outcome out = kit_must(ctx, dir, &o);
    assert_int_equal(out.labels_found, stored);
    assert_int_equal(out.labels_written, 4096);
    assert_int_equal(kit_size(dir, 0), UINT64_C(1) << 33);
    char path[TEMP_PATH];
    FILE *f = fopen(kit_file(path, dir, 0), "rb");
    assert_non_null(f);
    for (uint64_t at = stored - 1; at < stored + 4096; at += 241) {
        uint8_t there[16];
        assert_int_equal(fseeko(f, (off_t)(at * 16), SEEK_SET), 0);
        assert_int_equal(fread(there, 16, 1, f), 1);
        assert_int_equal(
            hfi_label_one(portable, commitment, at, 1, label, NULL), HF_OK);
        assert_memory_equal(there, label, 16);
    }
    /* Nothing has wrapped to the front. */
    uint8_t front[16 * 16];
    static const uint8_t zeros[15 * 16];
    assert_int_equal(fseeko(f, 0, SEEK_SET), 0);
    assert_int_equal(fread(front, sizeof front, 1, f), 1);
    assert_memory_equal(front + 16, zeros, sizeof zeros);
    (void)fclose(f);
    hf_context_close(ctx);
    temp_folder_remove(dir);
}

/* ---- few labels --------------------------------------------------------- */

static void test_few_labels(void **state)
{
    (void)state;
    for (uint64_t labels = 1; labels <= 9; labels++) {
        kit_set s = kit_made(1, labels, 1024, 2, 40);
        char *dir = temp_folder();
        hf_context *ctx = kit_context(2);
        hf_space_init_opts o = kit_opts(&s);
        hf_space_init_outcome out = kit_must(ctx, dir, &o);
        assert_int_equal(out.labels_written, labels);
        assert_int_equal(out.meta.has_nonce, labels == 9);
        kit_check_labels(dir, &s);
        hf_context_close(ctx);
        temp_folder_remove(dir);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded),
        cmocka_unit_test(test_recorded_host_driven),
        cmocka_unit_test(test_recorded_small_batches),
        cmocka_unit_test(test_recorded_resumed),
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_modes),
        cmocka_unit_test(test_many_files),
        cmocka_unit_test(test_n_is_kept),
        cmocka_unit_test(test_cancel_and_resume),
        cmocka_unit_test(test_cancel_slow_labels),
        cmocka_unit_test(test_torn_tails),
        cmocka_unit_test(test_wrong_tails),
        cmocka_unit_test(test_pending_range),
        cmocka_unit_test(test_subset),
        cmocka_unit_test(test_two_processes),
        cmocka_unit_test(test_busy),
        cmocka_unit_test(test_other_set),
        cmocka_unit_test(test_surplus_files),
        cmocka_unit_test(test_long_files),
        cmocka_unit_test(test_no_metadata),
        cmocka_unit_test(test_foreign_file),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_space_needed),
        cmocka_unit_test(test_plan_memory),
        cmocka_unit_test(test_wrong_labels),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_offsets_beyond_4_gib),
        cmocka_unit_test(test_few_labels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

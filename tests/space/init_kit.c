/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "space/init_kit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const hfi_env env;

/* ---- sets --------------------------------------------------------------- */

void kit_recorded_path(char out[TEMP_PATH], const kit_set *s)
{
    (void)snprintf(out, TEMP_PATH, "%s/space/post/%s", HF_VECTORS, s->recorded);
}

kit_set kit_recorded(size_t i)
{
    static const kit_set table[KIT_RECORDED] = {
        {.recorded = "a-4files-even", .n = 2},
        {.recorded = "b-3files-uneven", .n = 16},
        {.recorded = "c-1file-not-multiple-of-8", .n = 4},
        {.recorded = "d-n8192", .n = 8192}};
    kit_set s = table[i];
    char path[TEMP_PATH];
    hf_space_meta m = {.size = sizeof m};
    kit_recorded_path(path, &s);
    assert_int_equal(hf_space_meta_load(&m, path, NULL), HF_OK);
    s.units = m.num_units;
    s.labels_per_unit = m.labels_per_unit;
    s.max_file_size = m.max_file_size;
    memcpy(s.node_id, m.node_id, 32);
    memcpy(s.commitment_atx_id, m.commitment_atx_id, 32);
    return s;
}

kit_set kit_made(uint32_t units, uint64_t labels_per_unit,
                 uint64_t max_file_size, uint64_t n, uint8_t seed)
{
    kit_set s = {.units = units,
                 .labels_per_unit = labels_per_unit,
                 .max_file_size = max_file_size,
                 .n = n};
    memset(s.node_id, seed, 32);
    memset(s.commitment_atx_id, (uint8_t)~seed, 32);
    return s;
}

uint64_t kit_labels(const kit_set *s)
{
    return s->units * s->labels_per_unit;
}

hf_context *kit_context(uint32_t workers)
{
    hf_context_opts o = HF_CONTEXT_OPTS_INIT;
    hf_context *ctx = NULL;
    hf_error err;
    o.workers = workers;
    o.memory_budget = UINT64_C(1) << 30;
    if (hf_context_open(&ctx, &o, &err) != HF_OK)
        fail_msg("no context: %s", err.message);
    return ctx;
}

hf_space_init_opts kit_opts(const kit_set *s)
{
    hf_space_init_opts o = HF_SPACE_INIT_OPTS_INIT;
    o.node_id = s->node_id;
    o.commitment_atx_id = s->commitment_atx_id;
    o.num_units = s->units;
    o.labels_per_unit = s->labels_per_unit;
    o.max_file_size = s->max_file_size;
    o.scrypt_n = s->n;
    return o;
}

/* ---- runs --------------------------------------------------------------- */

hf_status kit_run(hf_context *ctx, const char *dir, const hf_space_init_opts *o,
                  hf_space_init_outcome *out, hf_error *err)
{
    hf_job *job = NULL;
    hf_space_init_outcome ignored = {.size = sizeof ignored};
    hf_status s = hf_space_init_start(ctx, &job, dir, o, err);
    if (s != HF_OK)
        return s;
    s = hf_job_wait(job, UINT64_MAX, err);
    if (out == NULL)
        out = &ignored;
    out->size = sizeof *out;
    assert_int_equal(hf_space_init_result(job, out, NULL), HF_OK);
    hf_job_free(job);
    return s;
}

hf_space_init_outcome kit_must(hf_context *ctx, const char *dir,
                               const hf_space_init_opts *o)
{
    hf_error err = {0};
    hf_space_init_outcome out = {.size = sizeof out};
    if (kit_run(ctx, dir, o, &out, &err) != HF_OK)
        fail_msg("init: %s (%s)", err.message, err.cause);
    return out;
}

/* ---- folders ------------------------------------------------------------ */

char *kit_file(char out[TEMP_PATH], const char *dir, uint32_t file)
{
    (void)snprintf(out, TEMP_PATH, "%s/postdata_%u.bin", dir, file);
    return out;
}

static void same(const char *a, const char *b)
{
    size_t bytes[2];
    char *data[2] = {temp_read(a, &bytes[0]), temp_read(b, &bytes[1])};
    if (bytes[0] != bytes[1])
        fail_msg("%s has %zu bytes, %s has %zu", a, bytes[0], b, bytes[1]);
    for (size_t i = 0; i < bytes[0]; i++)
        if (data[0][i] != data[1][i])
            fail_msg("%s and %s differ at byte %zu", a, b, i);
    free(data[0]);
    free(data[1]);
}

void kit_same_file(const char *dir, const char *expected, uint32_t i)
{
    char path[2][TEMP_PATH];
    same(kit_file(path[0], dir, i), kit_file(path[1], expected, i));
}

static size_t names(const char *dir, bool data_only)
{
    size_t n = 0;
    DIR *d = opendir(dir);
    assert_non_null(d);
    for (struct dirent *e = readdir(d); e != NULL; e = readdir(d))
        if (data_only)
            n += strncmp(e->d_name, "postdata_", 9) == 0;
        else
            n += e->d_name[0] != '.' || strlen(e->d_name) > 2;
    (void)closedir(d);
    return n;
}

void kit_same(const char *dir, const char *expected)
{
    DIR *d = opendir(expected);
    size_t count = 0;
    char path[2][TEMP_PATH];
    struct stat st;
    assert_non_null(d);
    for (struct dirent *e = readdir(d); e != NULL; e = readdir(d)) {
        if (strncmp(e->d_name, "postdata_", 9) != 0)
            continue;
        same(temp_path(path[0], dir, e->d_name),
             temp_path(path[1], expected, e->d_name));
        count++;
    }
    (void)closedir(d);
    assert_int_equal(names(dir, true), count);
    if (stat(temp_path(path[0], dir, HFI_SIDECAR_NAME), &st) == 0)
        count++;
    assert_int_equal(names(dir, false), count);
}

static void run_command(const char *format, const char *a, const char *b)
{
    char command[3 * TEMP_PATH];
    (void)snprintf(command, sizeof command, format, a, b);
    assert_int_equal(system(command), 0);
}

void kit_copy(const char *to, const char *from)
{
    run_command("rm -rf '%1$s' && cp -r '%2$s' '%1$s' && chmod -R u+w '%1$s'",
                to, from);
}

void kit_check_labels(const char *dir, const kit_set *s)
{
    uint8_t commitment[32];
    hf_space_meta m = {.num_units = s->units,
                       .labels_per_unit = s->labels_per_unit,
                       .max_file_size = s->max_file_size};
    hfi_layout l;
    uint32_t log_n;
    size_t count;
    const hfi_label_kernel *portable = hfi_label_kernels(&count)[0];
    assert_int_equal(hfi_layout_of(&l, &m, false, NULL), HF_OK);
    assert_int_equal(hfi_space_log_n(&log_n, s->n, NULL), HF_OK);
    hfi_space_commitment(commitment, s->node_id, s->commitment_atx_id);
    for (uint32_t i = 0; i < l.files; i++) {
        char path[TEMP_PATH];
        size_t bytes;
        char *data = temp_read(kit_file(path, dir, i), &bytes);
        assert_int_equal(bytes, 16 * hfi_layout_file_labels(&l, i));
        for (uint64_t j = 0; j < bytes / 16; j++) {
            uint8_t out[32];
            assert_int_equal(hfi_label_one(portable, commitment,
                                           hfi_layout_file_first(&l, i) + j,
                                           log_n, out, NULL),
                             HF_OK);
            assert_memory_equal(data + 16 * j, out, 16);
        }
        free(data);
    }
}

void kit_nothing_pending(const char *dir)
{
    hfi_sidecar s = {0};
    assert_int_equal(hfi_sidecar_load(&s, &env, dir, NULL), HF_OK);
    assert_true(s.present);
    assert_int_equal(s.pending.count, 0);
    hfi_sidecar_wipe(&s, &env);
}

uint64_t kit_size(const char *dir, uint32_t file)
{
    char path[TEMP_PATH];
    struct stat st;
    return stat(kit_file(path, dir, file), &st) == 0 ? (uint64_t)st.st_size : 0;
}

void kit_truncate(const char *dir, uint32_t file, uint64_t bytes)
{
    char path[TEMP_PATH];
    int fd = open(kit_file(path, dir, file), O_RDWR | O_CREAT, 0600);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
    assert_int_equal(close(fd), 0);
}

void kit_overwrite(const char *dir, uint32_t file, uint64_t at,
                   const void *data, size_t bytes)
{
    char path[TEMP_PATH];
    int fd = open(kit_file(path, dir, file), O_RDWR | O_CREAT, 0600);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, data, bytes, (off_t)at), bytes);
    assert_int_equal(close(fd), 0);
}

void kit_append(const char *dir, uint32_t file, const void *data, size_t bytes)
{
    kit_overwrite(dir, file, kit_size(dir, file), data, bytes);
}

static uint64_t mix(uint64_t h, const void *data, size_t bytes)
{
    const uint8_t *p = data;
    for (size_t i = 0; i < bytes; i++)
        h = (h ^ p[i]) * UINT64_C(0x100000001b3);
    return h;
}

uint64_t kit_fingerprint(const char *dir)
{
    uint64_t sum = 1;
    DIR *d = opendir(dir);
    assert_non_null(d);
    for (struct dirent *e = readdir(d); e != NULL; e = readdir(d)) {
        char path[TEMP_PATH];
        size_t bytes;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        char *data = temp_read(temp_path(path, dir, e->d_name), &bytes);
        uint64_t h = mix(UINT64_C(0xcbf29ce484222325), e->d_name,
                         strlen(e->d_name) + 1);
        sum += mix(h, data, bytes);
        free(data);
    }
    (void)closedir(d);
    return sum;
}

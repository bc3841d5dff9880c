/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Hides where benchmark data lie and how they are made. */
#include "bench_set.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/backend.h"
#include "hash/hash.h"

const uint8_t bench_set_id[32] = "an identity of the benchmarks";

hf_status bench_set_open(struct bench_set *set, const struct bench_opts *opts,
                         hf_error *err)
{
    *set = (struct bench_set){0};
    hf_context_opts c = HF_CONTEXT_OPTS_INIT;
    c.workers = opts->threads;
    hf_status s = hf_context_open(&set->ctx, &c, err);
    if (s != HF_OK)
        return s;
    snprintf(set->dir, sizeof set->dir, "%s/holdfast-bench-XXXXXX", opts->dir);
    if (mkdtemp(set->dir) == NULL) {
        set->dir[0] = '\0';
        return hfi_error_os(err, HF_E_IO, errno, "no folder in %s", opts->dir);
    }
    return HF_OK;
}

void bench_set_clear(struct bench_set *set)
{
    DIR *d = set->dir[0] ? opendir(set->dir) : NULL;
    const struct dirent *e;
    while (d && (e = readdir(d)) != NULL) {
        char path[1024];
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", set->dir, e->d_name);
        unlink(path);
    }
    if (d)
        closedir(d);
}

void bench_set_close(struct bench_set *set)
{
    hf_context_close(set->ctx);
    bench_set_clear(set);
    if (set->dir[0])
        rmdir(set->dir);
    *set = (struct bench_set){0};
}

static hf_status write_metadata(struct bench_set *set, uint64_t labels,
                                hf_error *err)
{
    char path[600], text[1024], id[64];
    hfi_env env = {0};
    hfi_base64_encode(id, bench_set_id, 32);
    int n = snprintf(text, sizeof text,
                     "{\n\t\"NodeId\": \"%s\",\n\t\"CommitmentAtxId\": "
                     "\"%s\",\n\t\"LabelsPerUnit\": %" PRIu64
                     ",\n\t\"NumUnits\": 1,\n\t\"MaxFileSize\": %" PRIu64 "\n}",
                     id, id, labels, labels * 16);
    snprintf(path, sizeof path, "%s/postdata_metadata.json", set->dir);
    return hfi_file_replace(&env, path, text, (size_t)n, err);
}

static hf_status write_labels(hfi_file *f, const char *path, uint64_t labels,
                              const uint8_t first[16], hf_error *err)
{
    enum { CHUNK = 1 << 20 };
    uint64_t x = 88172645463325252u;
    uint8_t *chunk = malloc(CHUNK);
    hf_status s = chunk ? HF_OK : hfi_error(err, HF_E_MEMORY, "no memory");
    for (uint64_t at = 0; s == HF_OK && at < labels * 16; at += CHUNK) {
        for (size_t i = 0; i < CHUNK; i += 8) {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            hfi_store_u64(chunk + i, x);
        }
        if (at == 0)
            memcpy(chunk, first, 16);
        uint64_t left = labels * 16 - at;
        s = hfi_file_write_at(f, path, at, chunk,
                              left < CHUNK ? (size_t)left : CHUNK, err);
    }
    free(chunk);
    return s;
}

hf_status bench_set_fill(struct bench_set *set, uint64_t labels, hf_error *err)
{
    char path[600];
    uint8_t ids[64], commitment[32], label[32];
    size_t count;
    memcpy(ids, bench_set_id, 32);
    memcpy(ids + 32, bench_set_id, 32);
    hfi_blake3_hash(commitment, ids, sizeof ids);
    hf_status s = hfi_label_one(hfi_label_kernels(&count)[0], commitment, 0, 13,
                                label, err);
    if (s == HF_OK)
        s = write_metadata(set, labels, err);
    if (s != HF_OK)
        return s;
    hfi_file f = HFI_FILE_CLOSED;
    snprintf(path, sizeof path, "%s/postdata_0.bin", set->dir);
    s = hfi_file_open(&f, path, HFI_OPEN_CREATE, err);
    if (s != HF_OK)
        return s;
    s = write_labels(&f, path, labels, label, err);
    hf_error late;
    hf_status closed = hfi_file_close(&f, path, &late);
    if (s == HF_OK && closed != HF_OK) {
        *err = late;
        s = closed;
    }
    return s;
}

hf_status bench_set_init(struct bench_set *set, uint64_t labels, hf_error *err)
{
    hf_job *job = NULL;
    hf_space_init_opts opts = HF_SPACE_INIT_OPTS_INIT;
    opts.node_id = bench_set_id;
    opts.commitment_atx_id = bench_set_id;
    opts.num_units = 1;
    opts.labels_per_unit = labels;
    opts.max_file_size = labels * 16 / 8;
    opts.no_nonce_search = true; /* a fixed amount of work */
    hf_status s = hf_space_init_start(set->ctx, &job, set->dir, &opts, err);
    if (s == HF_OK)
        s = hf_job_wait(job, UINT64_MAX, err);
    hf_job_free(job);
    return s;
}

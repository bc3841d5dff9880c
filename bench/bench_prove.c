/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * space.prove: the proving pass in GB of labels a second. Kernel lines scan
 * labels in memory, against the portable kernel; the end-to-end line runs a
 * whole proof over files and is a share of the kernel's rate.
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_set.h"

enum {
    KERNELS_MOST = 6,
    CHUNK = 4096,      /* labels: 64 KiB */
    REGION = 16 << 20, /* bytes of each thread, beyond any private cache */
    GROUPS_MOST = 18,
    NONCES = 128,        /* of the end-to-end line */
    SET_LABELS = 1 << 26 /* 1 GiB */
};

struct region {
    uint8_t *labels;
    uint32_t *hits;
    size_t at; /* label */
};

struct scan_bench {
    const hfi_aes_kernel *kernel;
    uint32_t groups;
    hfi_scan *scan; /* GROUPS_MOST */
    uint32_t threads;
    struct region *region;
};

static void fill(uint8_t *to, size_t bytes, uint64_t seed)
{
    for (size_t i = 0; i < bytes; i += 8) { /* xorshift64* */
        seed ^= seed >> 12;
        seed ^= seed << 25;
        seed ^= seed >> 27;
        hfi_store_u64(to + i, seed * UINT64_C(2685821657736338717));
    }
}

static void scan_free(struct scan_bench *b)
{
    for (uint32_t i = 0; b->region && i < b->threads; i++) {
        hfi_scratch_unmap(b->region[i].labels, REGION);
        free(b->region[i].hits);
    }
    free(b->region);
    free(b->scan);
}

static bool scan_new(struct scan_bench *b, uint32_t threads)
{
    *b = (struct scan_bench){.threads = threads};
    b->scan = aligned_alloc(64, GROUPS_MOST * sizeof *b->scan + 64 -
                                    GROUPS_MOST * sizeof *b->scan % 64);
    b->region = calloc(threads, sizeof *b->region);
    bool fine = b->scan && b->region;
    for (uint32_t i = 0; fine && i < threads; i++) {
        struct region *r = &b->region[i];
        r->labels = hfi_scratch_map(REGION);
        r->hits = malloc((size_t)16 * CHUNK * sizeof *r->hits);
        fine = r->labels && r->hits;
        if (fine)
            fill(r->labels, REGION, 88172645463325252u + i);
    }
    if (!fine)
        scan_free(b);
    return fine;
}

/* Difficulty as of a set of 2^34 labels: the top byte is 0, and one label in
 * 16 needs a second look. */
static void set_keys(struct scan_bench *b, const hfi_aes_kernel *kernel)
{
    uint8_t key[16];
    b->kernel = kernel;
    for (uint32_t g = 0; g < GROUPS_MOST; g++) {
        fill(key, sizeof key, 1000 + g);
        kernel->expand(&b->scan[g].group, key);
        for (uint32_t i = 0; i < 16; i++) {
            fill(key, sizeof key, 2000 + 16 * g + i);
            kernel->expand(&b->scan[g].lazy[i], key);
        }
        b->scan[g].msb = 0;
        b->scan[g].lsb56 = UINT64_C(26) << 30;
    }
}

static uint64_t scan_once(void *user, uint32_t thread)
{
    struct scan_bench *b = user;
    struct region *r = &b->region[thread];
    for (uint32_t g = 0; g < b->groups; g++)
        b->kernel->scan(&b->scan[g], r->labels + 16 * r->at, CHUNK, r->hits);
    r->at = (r->at + CHUNK) % (REGION / 16);
    return (uint64_t)CHUNK * 16;
}

static double scan_rate(struct scan_bench *b, const hfi_aes_kernel *kernel,
                        uint32_t groups, uint32_t threads, uint32_t ms)
{
    set_keys(b, kernel);
    b->groups = groups;
    return bench_rate(threads, ms, scan_once, b) / 1e9;
}

static void kernel_lines(const struct bench_opts *opts, struct scan_bench *b,
                         uint32_t groups, uint32_t threads)
{
    size_t count, n = 0;
    const hfi_aes_kernel *const *all = hfi_aes_kernels(&count);
    const hfi_aes_kernel *k[KERNELS_MOST] = {all[0]};
    static double rates[KERNELS_MOST][BENCH_ROUNDS_MOST];
    for (size_t i = 0; i < count && n < KERNELS_MOST; i++) {
        if (hfi_aes_kernel_runs(all[i], &opts->machine.cpu))
            k[n++] = all[i];
    }
    for (uint32_t r = 0; r < opts->rounds; r++) {
        for (size_t i = 0; i < n; i++)
            rates[i][r] = scan_rate(b, k[i], groups, threads, opts->ms);
    }
    char against[64];
    snprintf(against, sizeof against, "%s", k[0]->name);
    for (size_t i = 0; i < n; i++) {
        char variant[64];
        snprintf(variant, sizeof variant, "%s, %u nonces", k[i]->name,
                 (unsigned)groups * 16);
        struct bench_line line = {"space.prove", variant, threads, "GB/s",
                                  i == 0 ? NULL : against};
        bench_emit(&line, rates[i], rates[0], opts->rounds);
    }
}

/* ---- end to end ---------------------------------------------------------- */

/* A job's work step is trivial here, and the proof is not verified: labels are
 * not real, what counts is the pass. */
static hf_status prove_once(struct bench_set *set, double *seconds,
                            hf_error *err)
{
    static const uint8_t challenge[32] = "a challenge of the benchmark";
    uint8_t easy[32];
    hf_job *job = NULL;
    hf_space_prove_opts opts = HF_SPACE_PROVE_OPTS_INIT;
    memset(easy, 0xff, sizeof easy);
    opts.nonces = NONCES;
    opts.pow_difficulty = easy;
    opts.randomx = HF_SPACE_RANDOMX_LIGHT;
    opts.no_self_check = true;
    uint64_t start = hfi_now_ns();
    hf_status s = hf_space_prove_start(set->ctx, &job, set->dir, challenge,
                                       &opts, err);
    if (s == HF_OK)
        s = hf_job_wait(job, UINT64_MAX, err);
    *seconds = (double)(hfi_now_ns() - start) / 1e9;
    hf_job_free(job);
    return s;
}

static int end_to_end(const struct bench_opts *opts, struct scan_bench *b)
{
    struct bench_set set;
    hf_error err = {.code = HF_OK};
    hfi_kernels kernels;
    double rates[BENCH_ROUNDS_MOST], kernel[BENCH_ROUNDS_MOST], seconds;
    if (hfi_kernels_select(&kernels, &opts->machine.cpu, NULL, &err) != HF_OK)
        return bench_fail("space.prove", "%s", err.message);
    hf_status s = bench_set_open(&set, opts, &err);
    if (s == HF_OK)
        s = bench_set_fill(&set, SET_LABELS, &err);
    /* The first run builds the RandomX cache and brings files into memory. */
    if (s == HF_OK)
        s = prove_once(&set, &seconds, &err);
    for (uint32_t r = 0; s == HF_OK && r < opts->rounds; r++) {
        kernel[r] = scan_rate(b, kernels.aes, NONCES / 16, opts->threads,
                              4 * opts->ms);
        s = prove_once(&set, &seconds, &err);
        rates[r] = (double)SET_LABELS * 16 / seconds / 1e9;
    }
    if (s == HF_OK) {
        char variant[64], against[64];
        snprintf(variant, sizeof variant, "%s, %d nonces, end to end",
                 kernels.aes->name, NONCES);
        snprintf(against, sizeof against, "%s, %d nonces", kernels.aes->name,
                 NONCES);
        struct bench_line line = {"space.prove", variant, opts->threads, "GB/s",
                                  against};
        bench_emit(&line, rates, kernel, opts->rounds);
    }
    bench_set_close(&set);
    return s == HF_OK
               ? 0
               : bench_fail("space.prove", "%s (%s)", err.message, err.cause);
}

int bench_space_prove(const struct bench_opts *opts)
{
    static const uint32_t groups[] = {4, 8, GROUPS_MOST};
    struct scan_bench b;
    if (!scan_new(&b, opts->threads))
        return bench_fail("space.prove", "no memory for labels");
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        kernel_lines(opts, &b, groups[i], 1);
        if (opts->threads > 1)
            kernel_lines(opts, &b, groups[i], opts->threads);
    }
    int failed = end_to_end(opts, &b);
    scan_free(&b);
    return failed;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * space.init: labels a second from start to completion of an initialisation at
 * N = 8192, files and syncs included, as a share of what the kernel alone does
 * on all cores just before and just after.
 * space.verify: whole proofs a second, one after another.
 */
#include "bench_set.h"

#include <stdio.h>
#include <string.h>

enum { KERNEL_MS = 1000, INIT_SECONDS = 3 };

/* ---- space.init ---------------------------------------------------------- */

struct init_bench {
    const struct bench_opts *opts;
    struct bench_label *label;
    const hfi_label_kernel *kernel;
    uint32_t shape;
    struct bench_set set;
};

static double kernel_rate(struct init_bench *b)
{
    return bench_label_rate(b->label, b->kernel, b->shape, b->opts->threads,
                            KERNEL_MS);
}

static hf_status init_rate(struct init_bench *b, uint64_t labels, double *rate,
                           hf_error *err)
{
    bench_set_clear(&b->set);
    uint64_t start = hfi_now_ns();
    hf_status s = bench_set_init(&b->set, labels, err);
    *rate = (double)labels * 1e9 / (double)(hfi_now_ns() - start);
    return s;
}

static hf_status init_rounds(struct init_bench *b, hf_error *err)
{
    static double rates[BENCH_ROUNDS_MOST], ratios[BENCH_ROUNDS_MOST];
    double before = kernel_rate(b), warm;
    /* A multiple of what 8 files of whole labels and lanes need. */
    uint64_t labels = (uint64_t)(before * INIT_SECONDS) / 8192 * 8192;
    labels = labels < 8192 ? 8192 : labels;
    /* The first run of a context measures how many labels to compute at once,
     * and its scratch is new. */
    hf_status s = init_rate(b, labels / 4, &warm, err);
    before = kernel_rate(b);
    for (uint32_t r = 0; s == HF_OK && r < b->opts->rounds; r++) {
        s = init_rate(b, labels, &rates[r], err);
        double after = kernel_rate(b);
        ratios[r] = rates[r] / ((before + after) / 2);
        before = after;
    }
    if (s != HF_OK)
        return s;
    char variant[64], against[64];
    snprintf(variant, sizeof variant, "%s, files and all", b->kernel->name);
    snprintf(against, sizeof against, "%s, %u labels", b->kernel->name,
             (unsigned)b->kernel->shapes[b->shape].lanes);
    struct bench_line line = {"space.init", variant, b->opts->threads,
                              "labels/s", against};
    bench_emit_ratios(&line, rates, ratios, b->opts->rounds);
    return HF_OK;
}

int bench_space_init(const struct bench_opts *opts)
{
    struct init_bench b = {.opts = opts};
    hf_error err = {.code = HF_OK};
    hfi_kernels kernels;
    hf_status s = hfi_kernels_select(&kernels, &opts->machine.cpu, NULL, &err);
    if (s != HF_OK)
        return bench_fail("space.init", "%s", err.message);
    b.kernel = kernels.label;
    b.label = bench_label_new(opts->threads);
    if (b.label == NULL)
        return bench_fail("space.init", "no memory for scratch");
    b.shape = bench_label_tune(b.label, b.kernel, opts->threads, opts->ms);
    s = bench_set_open(&b.set, opts, &err);
    if (s == HF_OK)
        s = init_rounds(&b, &err);
    bench_set_close(&b.set);
    bench_label_free(b.label);
    return s == HF_OK
               ? 0
               : bench_fail("space.init", "%s (%s)", err.message, err.cause);
}

/* ---- space.verify -------------------------------------------------------- */

enum { VERIFY_LABELS = 8192 };

static hf_status make_proof(struct bench_set *set, hf_job **job,
                            const hf_space_proof **proof,
                            const uint8_t easy[32], hf_error *err)
{
    static const uint8_t challenge[32] = "a challenge of the benchmark";
    hf_space_prove_opts opts = HF_SPACE_PROVE_OPTS_INIT;
    opts.pow_difficulty = easy;
    opts.randomx = HF_SPACE_RANDOMX_LIGHT;
    hf_status s = bench_set_init(set, VERIFY_LABELS, err);
    if (s == HF_OK)
        s = hf_space_prove_start(set->ctx, job, set->dir, challenge, &opts,
                                 err);
    if (s == HF_OK)
        s = hf_job_wait(*job, UINT64_MAX, err);
    if (s == HF_OK)
        s = hf_space_prove_result(*job, proof, err);
    return s;
}

static hf_status verify_rate(struct bench_set *set, double *rate,
                             const hf_space_proof *proof,
                             const hf_space_verify_opts *opts, uint32_t ms,
                             hf_error *err)
{
    uint64_t start = hfi_now_ns(), now = start, count = 0;
    while (now - start < (uint64_t)ms * 1000000) {
        hf_space_verdict verdict = {.size = sizeof verdict};
        hf_status s = hf_space_verify(set->ctx, proof, opts, &verdict, err);
        if (s != HF_OK)
            return s;
        if (verdict.kind != HF_SPACE_VALID)
            return hfi_error(err, HF_E_INTERNAL, "the proof does not hold: %s",
                             verdict.reason);
        count++;
        now = hfi_now_ns();
    }
    *rate = (double)count * 1e9 / (double)(now - start);
    return HF_OK;
}

static hf_status verify_rounds(const struct bench_opts *opts,
                               struct bench_set *set,
                               const hf_space_proof *proof,
                               const uint8_t easy[32], hf_error *err)
{
    double rates[BENCH_ROUNDS_MOST];
    hf_context_info info = {.size = sizeof info};
    hf_space_verify_opts v = {.size = sizeof v};
    v.network.size = sizeof v.network;
    hf_space_network_mainnet(&v.network);
    v.network.min_units = v.network.max_units = 1;
    v.network.labels_per_unit = VERIFY_LABELS;
    memcpy(v.network.pow_difficulty, easy, 32);
    hf_status s = hf_context_get_info(set->ctx, &info);
    for (uint32_t r = 0; s == HF_OK && r < opts->rounds; r++)
        s = verify_rate(set, &rates[r], proof, &v, 4 * opts->ms, err);
    if (s != HF_OK)
        return s;
    char variant[64];
    snprintf(variant, sizeof variant, "%s, 37 labels and the work step",
             info.label_kernel);
    struct bench_line line = {"space.verify", variant, opts->threads,
                              "proofs/s", NULL};
    bench_emit(&line, rates, NULL, opts->rounds);
    return HF_OK;
}

int bench_space_verify(const struct bench_opts *opts)
{
    struct bench_set set;
    hf_error err = {.code = HF_OK};
    hf_job *job = NULL;
    const hf_space_proof *proof = NULL;
    uint8_t easy[32];
    memset(easy, 0xff, sizeof easy);
    hf_status s = bench_set_open(&set, opts, &err);
    if (s == HF_OK)
        s = make_proof(&set, &job, &proof, easy, &err);
    if (s == HF_OK)
        s = verify_rounds(opts, &set, proof, easy, &err);
    hf_job_free(job);
    bench_set_close(&set);
    return s == HF_OK
               ? 0
               : bench_fail("space.verify", "%s (%s)", err.message, err.cause);
}

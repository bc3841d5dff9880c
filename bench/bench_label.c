/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * space.label: labels a second of each variant at N = 8192, on one core and on
 * all, against one label at a time in 128-bit rows, which is about what people
 * run today.
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOG_N = 13, KERNELS_MOST = 8, SHAPES_MOST = 16, TRIALS = 3 };

struct lane {
    void *scratch;
    hfi_label_req *reqs;
    uint8_t *out;
    uint64_t next;
};

struct bench_label {
    uint32_t threads;
    const hfi_label_shape *shape; /* of the measurement that runs */
    uint8_t commitment[32];
    uint32_t lanes_most;
    struct lane *lane;
};

static uint32_t lanes_most(void)
{
    size_t count;
    uint32_t most = 1;
    const hfi_label_kernel *const *kernels = hfi_label_kernels(&count);
    for (size_t i = 0; i < count; i++) {
        for (uint32_t s = 0; s < kernels[i]->shape_count; s++) {
            if (kernels[i]->shapes[s].lanes > most)
                most = kernels[i]->shapes[s].lanes;
        }
    }
    return most;
}

void bench_label_free(struct bench_label *l)
{
    for (uint32_t i = 0; l && i < l->threads; i++) {
        hfi_scratch_unmap(l->lane[i].scratch, HFI_LABEL_SCRATCH_MOST);
        free(l->lane[i].reqs);
        free(l->lane[i].out);
    }
    if (l)
        free(l->lane);
    free(l);
}

struct bench_label *bench_label_new(uint32_t threads)
{
    struct bench_label *l = calloc(1, sizeof *l);
    if (l == NULL || (l->lane = calloc(threads, sizeof *l->lane)) == NULL) {
        free(l);
        return NULL;
    }
    l->threads = threads;
    l->lanes_most = lanes_most();
    memset(l->commitment, 0x5c, sizeof l->commitment);
    for (uint32_t i = 0; i < threads; i++) {
        struct lane *lane = &l->lane[i];
        lane->scratch = hfi_scratch_map(HFI_LABEL_SCRATCH_MOST);
        lane->reqs = calloc(l->lanes_most, sizeof *lane->reqs);
        lane->out = malloc((size_t)32 * l->lanes_most);
        lane->next = (uint64_t)i << 32;
        if (!lane->scratch || !lane->reqs || !lane->out) {
            bench_label_free(l);
            return NULL;
        }
        memset(lane->scratch, 1, HFI_LABEL_SCRATCH_MOST); /* pages are there */
    }
    return l;
}

static uint64_t label_once(void *user, uint32_t thread)
{
    struct bench_label *l = user;
    struct lane *lane = &l->lane[thread];
    for (uint32_t i = 0; i < l->shape->lanes; i++)
        lane->reqs[i] = (hfi_label_req){l->commitment, lane->next++};
    l->shape->run(lane->reqs, l->shape->lanes, LOG_N, lane->out, lane->scratch);
    return l->shape->lanes;
}

double bench_label_rate(struct bench_label *l, const hfi_label_kernel *k,
                        uint32_t shape, uint32_t threads, uint32_t ms)
{
    l->shape = &k->shapes[shape];
    return bench_rate(threads, ms, label_once, l);
}

uint32_t bench_label_tune(struct bench_label *l, const hfi_label_kernel *k,
                          uint32_t threads, uint32_t ms)
{
    double best_rate = 0, rates[SHAPES_MOST][TRIALS];
    uint32_t best = 0, shapes = k->shape_count;
    shapes = shapes > SHAPES_MOST ? SHAPES_MOST : shapes;
    for (uint32_t t = 0; t < TRIALS; t++) {
        for (uint32_t s = 0; s < shapes; s++) {
            size_t bytes = hfi_label_scratch_bytes(&k->shapes[s], LOG_N);
            rates[s][t] = bytes > HFI_LABEL_SCRATCH_MOST
                              ? 0
                              : bench_label_rate(l, k, s, threads, ms);
        }
    }
    for (uint32_t s = 0; s < shapes; s++) {
        double rate = bench_median(rates[s], TRIALS);
        if (rate > best_rate) {
            best_rate = rate;
            best = s;
        }
    }
    return best;
}

/* One label at a time in 128-bit rows; where there is no such kernel, the
 * smallest shape of the portable one. */
static const hfi_label_kernel *yardstick(const hfi_cpu *cpu)
{
    size_t count;
    const hfi_label_kernel *const *kernels = hfi_label_kernels(&count);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(kernels[i]->name, "sse2") == 0 &&
            hfi_label_kernel_runs(kernels[i], cpu))
            return kernels[i];
    }
    return kernels[0];
}

static void measure(const struct bench_opts *opts, struct bench_label *l,
                    uint32_t threads)
{
    size_t count;
    const hfi_cpu *cpu = &opts->machine.cpu;
    const hfi_label_kernel *const *all = hfi_label_kernels(&count);
    const hfi_label_kernel *one = yardstick(cpu), *k[KERNELS_MOST];
    static double base[BENCH_ROUNDS_MOST];
    static double rates[KERNELS_MOST][BENCH_ROUNDS_MOST];
    uint32_t shape[KERNELS_MOST];
    size_t n = 0;
    for (size_t i = 0; i < count && n < KERNELS_MOST; i++) {
        if (!hfi_label_kernel_runs(all[i], cpu))
            continue;
        shape[n] = bench_label_tune(l, all[i], threads, opts->ms / 2);
        k[n++] = all[i];
    }
    for (uint32_t r = 0; r < opts->rounds; r++) {
        base[r] = bench_label_rate(l, one, 0, threads, opts->ms);
        for (size_t i = 0; i < n; i++)
            rates[i][r] = k[i] == one && shape[i] == 0
                              ? base[r]
                              : bench_label_rate(l, k[i], shape[i], threads,
                                                 opts->ms);
    }
    char against[64];
    snprintf(against, sizeof against, "%s, 1 label", one->name);
    for (size_t i = 0; i < n; i++) {
        char variant[64];
        uint32_t lanes = k[i]->shapes[shape[i]].lanes;
        bool itself = k[i] == one && shape[i] == 0;
        snprintf(variant, sizeof variant, "%s, %u label%s", k[i]->name,
                 (unsigned)lanes, lanes == 1 ? "" : "s");
        struct bench_line line = {"space.label", variant, threads, "labels/s",
                                  itself ? NULL : against};
        bench_emit(&line, rates[i], base, opts->rounds);
    }
}

int bench_space_label(const struct bench_opts *opts)
{
    struct bench_label *l = bench_label_new(opts->threads);
    if (l == NULL)
        return bench_fail("space.label", "no memory for scratch");
    measure(opts, l, 1);
    if (opts->threads > 1)
        measure(opts, l, opts->threads);
    bench_label_free(l);
    return 0;
}

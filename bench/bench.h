/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What the benchmarks share: rounds, threads, lines. A benchmark alternates
 * what it compares, round by round, so that a machine that is busy for a while
 * is so for both sides; figures are medians of the rounds, ratios are medians
 * of the rounds' own ratios.
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "kernel/kernel.h"

enum { BENCH_ROUNDS_LEAST = 7, BENCH_ROUNDS_MOST = 101 };

struct bench_opts {
    uint32_t rounds;  /* of every line, at least BENCH_ROUNDS_LEAST */
    uint32_t ms;      /* of one measurement */
    uint32_t threads; /* "all" */
    const char *dir;  /* for data, on the file system to be measured */
    hfi_machine machine;
};

struct bench_line {
    const char *name;
    const char *variant; /* begins with a kernel's file suffix if it is one */
    uint32_t threads;
    const char *unit;
    const char *against; /* NULL: nothing is compared */
};

/*
 * Prints one JSON line: median of `values`, their spread, and if `against` is
 * set the median of values[i] / rivals[i]. For times, swap: lower is better
 * there, and a ratio is always "how many times better".
 */
void bench_emit(const struct bench_line *line, const double *values,
                const double *rivals, size_t count);
/* The same where the rounds' ratios are given. */
void bench_emit_ratios(const struct bench_line *line, const double *values,
                       const double *ratios, size_t count);

double bench_median(const double *values, size_t count);

/*
 * Units a second of `threads` threads that call `once` for at least `ms`.
 * `once` does a short piece of work and returns its units.
 */
double bench_rate(uint32_t threads, uint32_t ms,
                  uint64_t (*once)(void *user, uint32_t thread), void *user);

/* Says why a benchmark cannot run; returns 1. */
int bench_fail(const char *name, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Scratch and buffers to run label kernels on so many threads. */
struct bench_label;
struct bench_label *bench_label_new(uint32_t threads); /* NULL: no memory */
void bench_label_free(struct bench_label *l);
/* Best shape within the library's limit of scratch, by a short trial. */
uint32_t bench_label_tune(struct bench_label *l, const hfi_label_kernel *k,
                          uint32_t threads, uint32_t ms);
/* Labels a second of kernel and shape. */
double bench_label_rate(struct bench_label *l, const hfi_label_kernel *k,
                        uint32_t shape, uint32_t threads, uint32_t ms);

/* Each prints its lines and returns 0, or 1 if something failed. */
int bench_space_label(const struct bench_opts *opts);
int bench_space_init(const struct bench_opts *opts);
int bench_space_prove(const struct bench_opts *opts);
int bench_space_verify(const struct bench_opts *opts);
int bench_pow_hash(const struct bench_opts *opts);
int bench_sched_gap(const struct bench_opts *opts);
int bench_sched_urgent(const struct bench_opts *opts);

#endif

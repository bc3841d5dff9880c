/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A data set in a temporary folder, and a context to work on it. */
#ifndef BENCH_BENCH_SET_H
#define BENCH_BENCH_SET_H

#include <holdfast/space.h>

#include "bench.h"

struct bench_set {
    hf_context *ctx;
    char dir[512]; /* "": none was made */
};

/* On an error everything is taken back; closing is fine all the same. */
hf_status bench_set_open(struct bench_set *set, const struct bench_opts *opts,
                         hf_error *err);
/* Removes the data. */
void bench_set_close(struct bench_set *set);
/* Removes data files and metadata, keeps the folder. */
void bench_set_clear(struct bench_set *set);
/*
 * Metadata, and so many labels in one file, of which only the first is real:
 * enough for a proof that nobody verifies.
 */
hf_status bench_set_fill(struct bench_set *set, uint64_t labels, hf_error *err);
/* Initialises so many real labels with N = 8192, in 8 files. */
hf_status bench_set_init(struct bench_set *set, uint64_t labels, hf_error *err);

/* Identity and commitment of all these sets. */
extern const uint8_t bench_set_id[32];

#endif

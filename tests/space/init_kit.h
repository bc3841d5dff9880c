/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * For tests of initialisation: the recorded sets and others, a run in one call,
 * folders compared byte for byte.
 */
#ifndef TESTS_SPACE_INIT_KIT_H
#define TESTS_SPACE_INIT_KIT_H

#include "space/space.h"
#include "support/vectors.h"

typedef struct kit_set {
    const char *recorded; /* folder below vectors/space/post; NULL: none */
    uint32_t units;
    uint64_t labels_per_unit;
    uint64_t max_file_size;
    uint64_t n;
    uint8_t node_id[32];
    uint8_t commitment_atx_id[32];
} kit_set;

#define KIT_RECORDED 4u
/* Recorded set number i, its identity read from its metadata. */
kit_set kit_recorded(size_t i);
/* A set of this shape; the seed makes its identity. */
kit_set kit_made(uint32_t units, uint64_t labels_per_unit,
                 uint64_t max_file_size, uint64_t n, uint8_t seed);
uint64_t kit_labels(const kit_set *s);
void kit_recorded_path(char out[TEMP_PATH], const kit_set *s);

hf_context *kit_context(uint32_t workers);
hf_space_init_opts kit_opts(const kit_set *s);

/* Runs to the end; returns the job's status. out and err may be NULL. */
hf_status kit_run(hf_context *ctx, const char *dir, const hf_space_init_opts *o,
                  hf_space_init_outcome *out, hf_error *err);
/* The same, which must succeed. */
hf_space_init_outcome kit_must(hf_context *ctx, const char *dir,
                               const hf_space_init_opts *o);

/*
 * The files of the set are the same in both folders, and in `dir` there is
 * nothing else but a sidecar.
 */
void kit_same(const char *dir, const char *expected);
/* Without metadata: file i alone. */
void kit_same_file(const char *dir, const char *expected, uint32_t i);
void kit_copy(const char *to, const char *from);
/* Label by label from the definition (a slow check of everything). */
void kit_check_labels(const char *dir, const kit_set *s);
/* What is pending by the sidecar: none. */
void kit_nothing_pending(const char *dir);

uint64_t kit_size(const char *dir, uint32_t file);
void kit_truncate(const char *dir, uint32_t file, uint64_t bytes);
void kit_append(const char *dir, uint32_t file, const void *data, size_t bytes);
void kit_overwrite(const char *dir, uint32_t file, uint64_t at,
                   const void *data, size_t bytes);
char *kit_file(char out[TEMP_PATH], const char *dir, uint32_t file);

/* A fingerprint of all names, sizes and contents: has anything changed? */
uint64_t kit_fingerprint(const char *dir);

#endif

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The records of proofs.json as what the library takes. Whatever goes wrong in
 * here fails the running test.
 */
#ifndef TESTS_SPACE_RECORDS_H
#define TESTS_SPACE_RECORDS_H

#include <holdfast/space.h>

#include "support/vectors.h"

#define RECORD_INDICES 4096

typedef struct record {
    char name[96];
    char dir[TEMP_PATH]; /* of the data in tests/vectors */
    uint8_t challenge[32];
    uint32_t nonces;
    bool has_proof;
    uint8_t indices[RECORD_INDICES];
    hf_space_proof proof; /* its indices are those above */
    hf_space_verify_opts opts;
    uint8_t seed[256];
} record;

void record_read(record *r, const hfi_json *node);
/* Replaces what `changed` of a check names; and takes its mode. */
void record_change(record *r, const hfi_json *check);
/* The record with that name. */
void record_find(record *r, const char *name);
/* All of it, the list of indices too. */
void record_copy(record *to, const record *from);

/* A context with so many workers; no log. */
hf_context *context_with(uint32_t workers);

/* hf_space_verify that has to come to a verdict. */
hf_space_verdict verdict_of(hf_context *ctx, const record *r);

#endif

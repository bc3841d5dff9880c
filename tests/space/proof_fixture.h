/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Reads the vector files of tests/vectors/space for the tests of proofs. All
 * calls fail the running test when the file is not as they expect.
 */
#ifndef TESTS_SPACE_PROOF_FIXTURE_H
#define TESTS_SPACE_PROOF_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/base.h"

extern const hfi_env plain_env; /* the C library's allocator, no log */

typedef struct vectors {
    hfi_json_doc *doc;
    const hfi_json *root;
    char *text;
} vectors;

/* `name` below tests/vectors/space. */
vectors vectors_open(const char *name);
void vectors_close(vectors *v);

const hfi_json *want(const hfi_json *object, const char *key);
/* First element of an array member. */
const hfi_json *want_list(const hfi_json *object, const char *key);
/* A number, or a string of decimal digits. */
uint64_t node_u64(const hfi_json *node);
uint64_t want_u64(const hfi_json *object, const char *key);
const char *want_text(const hfi_json *object, const char *key);
/* Exactly `bytes` bytes of hex. */
void want_hex(const hfi_json *object, const char *key, void *out,
              size_t bytes);
/* Any number of bytes, freed with free(); *bytes is their number. */
uint8_t *node_hex(const hfi_json *node, size_t *bytes);

#endif

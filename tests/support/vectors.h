/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Helpers of the tests: known answers from tests/vectors, temporary folders,
 * allocations that fail. Whatever goes wrong in here fails the running test.
 */
#ifndef TEST_SUPPORT_VECTORS_H
#define TEST_SUPPORT_VECTORS_H

#include "base/base.h"

/* ---- known answers ----------------------------------------------------- */

struct vectors {
    hfi_json_doc *doc;
    const hfi_json *root;
};

/* `name` is below tests/vectors: "space/labels.json". */
void vectors_load(struct vectors *v, const char *name);
void vectors_free(struct vectors *v);

/* The member, which must be there. */
const hfi_json *vectors_member(const hfi_json *object, const char *key);
bool vectors_is_null(const hfi_json *object, const char *key);
/* Number, or decimal string. */
uint64_t vectors_u64(const hfi_json *object, const char *key);
uint64_t vectors_u64_of(const hfi_json *node);
/* String. */
const char *vectors_text(const hfi_json *object, const char *key);
/* Hex string of at most `capacity` bytes; returns how many. */
size_t vectors_hex(const hfi_json *object, const char *key, void *out,
                   size_t capacity);
/* Hex string of exactly `bytes`. */
void vectors_hex_exact(const hfi_json *object, const char *key, void *out,
                       size_t bytes);

/* ---- files ------------------------------------------------------------- */

/*
 * A new empty folder under $TMPDIR, or in the build folder. Freed, with all
 * that is in it, by temp_folder_remove.
 */
char *temp_folder(void);
void temp_folder_remove(char *path);
/* "<dir>/<name>" in a buffer of the caller's; returns it. */
#define TEMP_PATH 4096
const char *temp_path(char out[TEMP_PATH], const char *dir, const char *name);
/* Writes a file, the folders above it too, without the library. */
void temp_write(const char *path, const void *data, size_t bytes);
/* Whole file, terminated, freed with free(); *bytes may be NULL. */
char *temp_read(const char *path, size_t *bytes);
/* How many entries a folder has. */
size_t temp_count(const char *dir);

/* ---- allocations that fail --------------------------------------------- */

/*
 * An environment whose allocations are counted: `live` pieces are not yet
 * released. test_env_done fails the test if there are any.
 */
struct test_env {
    hfi_env env;
    long live;
};
void test_env_init(struct test_env *t);
void test_env_done(struct test_env *t);

/*
 * From now on the nth allocation of the library fails (from 1; 0: none), and
 * only that one. alloc_fail_end switches it off and says whether it failed.
 */
void alloc_fail_start(uint64_t nth);
bool alloc_fail_end(void);

#endif

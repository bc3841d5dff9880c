/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Helpers of the tests. Files are written and read without the library, so
 * that its tests do not rest on itself; vectors are read by its JSON reader.
 */
#include "support/vectors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef HF_TEST_TMP
#define HF_TEST_TMP "/tmp"
#endif

/* ---- known answers ----------------------------------------------------- */

void vectors_load(struct vectors *v, const char *name)
{
    char path[TEMP_PATH];
    hf_error err;
    size_t bytes;
    char *text = temp_read(temp_path(path, HF_VECTORS, name), &bytes);
    if (hfi_json_parse(&v->doc, &v->root, NULL, path, text, bytes, &err) !=
        HF_OK)
        fail_msg("%s", err.message);
    free(text);
}

void vectors_free(struct vectors *v)
{
    hfi_json_free(v->doc);
    *v = (struct vectors){0};
}

const hfi_json *vectors_member(const hfi_json *object, const char *key)
{
    const hfi_json *m = hfi_json_member(object, key);
    if (m == NULL)
        fail_msg("no member \"%s\"", key);
    return m;
}

bool vectors_is_null(const hfi_json *object, const char *key)
{
    return vectors_member(object, key)->type == HFI_JSON_NULL;
}

uint64_t vectors_u64_of(const hfi_json *node)
{
    char *end;
    if (node->type != HFI_JSON_NUMBER && node->type != HFI_JSON_STRING)
        fail_msg("neither a number nor a string");
    errno = 0;
    unsigned long long v = strtoull(node->text, &end, 10);
    if (errno != 0 || end == node->text || *end != '\0' || node->text[0] == '-')
        fail_msg("\"%s\" is not a number of 64 bits", node->text);
    return v;
}

uint64_t vectors_u64(const hfi_json *object, const char *key)
{
    return vectors_u64_of(vectors_member(object, key));
}

const char *vectors_text(const hfi_json *object, const char *key)
{
    const hfi_json *m = vectors_member(object, key);
    if (m->type != HFI_JSON_STRING)
        fail_msg("\"%s\" is not a string", key);
    return m->text;
}

size_t vectors_hex(const hfi_json *object, const char *key, void *out,
                   size_t capacity)
{
    const char *text = vectors_text(object, key);
    size_t length = strlen(text);
    if (length / 2 > capacity || !hfi_hex_decode(out, length / 2, text, length))
        fail_msg("\"%s\" is not hex of at most %zu bytes", key, capacity);
    return length / 2;
}

void vectors_hex_exact(const hfi_json *object, const char *key, void *out,
                       size_t bytes)
{
    size_t got = vectors_hex(object, key, out, bytes);
    if (got != bytes)
        fail_msg("\"%s\" has %zu bytes, not %zu", key, got, bytes);
}

/* ---- files ------------------------------------------------------------- */

char *temp_folder(void)
{
    char path[TEMP_PATH];
    const char *base = getenv("TMPDIR");
    if (base == NULL || base[0] == '\0')
        base = HF_TEST_TMP;
    (void)temp_path(path, base, "holdfast-test-XXXXXX");
    if (mkdtemp(path) == NULL)
        fail_msg("cannot make %s: %s", path, strerror(errno));
    return strdup(path);
}

static int remove_one(const char *path, const struct stat *st, int type,
                      struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static int open_up(const char *path, const struct stat *st, int type,
                   struct FTW *ftw)
{
    (void)st, (void)ftw;
    if (type == FTW_D || type == FTW_DNR)
        (void)chmod(path, 0700);
    return 0;
}

void temp_folder_remove(char *path)
{
    if (path == NULL)
        return;
    (void)nftw(path, open_up, 8, FTW_PHYS);
    (void)nftw(path, remove_one, 8, FTW_PHYS | FTW_DEPTH);
    free(path);
}

const char *temp_path(char out[TEMP_PATH], const char *dir, const char *name)
{
    int n = snprintf(out, TEMP_PATH, "%s/%s", dir, name);
    if (n < 0 || n >= TEMP_PATH)
        fail_msg("the path is too long");
    return out;
}

static void make_folders_above(const char *path)
{
    char part[TEMP_PATH];
    (void)snprintf(part, sizeof part, "%s", path);
    for (char *p = strchr(part + 1, '/'); p != NULL; p = strchr(p + 1, '/')) {
        *p = '\0';
        if (mkdir(part, 0700) != 0 && errno != EEXIST)
            fail_msg("cannot make %s: %s", part, strerror(errno));
        *p = '/';
    }
}

void temp_write(const char *path, const void *data, size_t bytes)
{
    make_folders_above(path);
    FILE *f = fopen(path, "wb");
    if (f == NULL)
        fail_msg("cannot write %s: %s", path, strerror(errno));
    size_t put = fwrite(data, 1, bytes, f);
    if (fclose(f) != 0 || put != bytes)
        fail_msg("cannot write %s", path);
}

char *temp_read(const char *path, size_t *bytes)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL)
        fail_msg("cannot read %s: %s", path, strerror(errno));
    size_t capacity = 4096;
    size_t used = 0;
    char *data = malloc(capacity);
    while (data != NULL) {
        used += fread(data + used, 1, capacity - 1 - used, f);
        if (used < capacity - 1)
            break;
        capacity *= 2;
        data = realloc(data, capacity);
    }
    (void)fclose(f);
    if (data == NULL)
        fail_msg("no memory");
    data[used] = '\0';
    if (bytes != NULL)
        *bytes = used;
    return data;
}

size_t temp_count(const char *dir)
{
    size_t n = 0;
    DIR *d = opendir(dir);
    if (d == NULL)
        fail_msg("cannot open %s: %s", dir, strerror(errno));
    for (struct dirent *e = readdir(d); e != NULL; e = readdir(d))
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    (void)closedir(d);
    return n;
}

/* ---- allocations that fail --------------------------------------------- */

static void *counted_alloc(void *user, size_t bytes)
{
    struct test_env *t = user;
    void *ptr = malloc(bytes);
    if (ptr != NULL) {
        memset(ptr, 0xa5, bytes); /* the library must not count on zeros */
        (void)__atomic_add_fetch(&t->live, 1, __ATOMIC_SEQ_CST);
    }
    return ptr;
}

static void counted_release(void *user, void *ptr)
{
    struct test_env *t = user;
    (void)__atomic_sub_fetch(&t->live, 1, __ATOMIC_SEQ_CST);
    free(ptr);
}

void test_env_init(struct test_env *t)
{
    *t = (struct test_env){.env.alloc = {counted_alloc, counted_release, t}};
}

void test_env_done(struct test_env *t)
{
    assert_int_equal(t->live, 0);
}

static uint64_t alloc_countdown;
static bool alloc_failed;

static bool countdown_hook(void *user, size_t bytes)
{
    (void)user, (void)bytes;
    if (__atomic_load_n(&alloc_countdown, __ATOMIC_SEQ_CST) == 0 ||
        __atomic_sub_fetch(&alloc_countdown, 1, __ATOMIC_SEQ_CST) != 0)
        return true;
    alloc_failed = true;
    return false;
}

void alloc_fail_start(uint64_t nth)
{
    alloc_countdown = nth;
    alloc_failed = false;
    hfi_alloc_hook = countdown_hook;
}

bool alloc_fail_end(void)
{
    hfi_alloc_hook = NULL;
    return alloc_failed;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * alloc.c: the only caller of malloc, and of mmap for scratch.
 *
 * Invariant: memory handed out is zeroed, sizes never wrap around, and every
 * way to get memory asks the test hook first.
 */
#include "base/internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HUGE_PAGE ((size_t)2 << 20)

bool (*hfi_alloc_hook)(void *user, size_t bytes);
void *hfi_alloc_hook_user;

static bool allowed(size_t bytes)
{
    return hfi_alloc_hook == NULL || hfi_alloc_hook(hfi_alloc_hook_user, bytes);
}

bool hfi_mul_size(size_t *out, size_t a, size_t b)
{
    return !__builtin_mul_overflow(a, b, out);
}

bool hfi_add_size(size_t *out, size_t a, size_t b)
{
    return !__builtin_add_overflow(a, b, out);
}

void *hfi_calloc(const hfi_env *env, size_t count, size_t size)
{
    size_t bytes;
    if (!hfi_mul_size(&bytes, count, size) || bytes > PTRDIFF_MAX)
        return NULL;
    if (bytes == 0)
        bytes = 1; /* NULL means failure, so even nothing has an address */
    if (!allowed(bytes))
        return NULL;
    if (env == NULL || env->alloc.alloc == NULL)
        return calloc(1, bytes);
    void *ptr = env->alloc.alloc(env->alloc.user, bytes);
    if (ptr != NULL)
        memset(ptr, 0, bytes);
    return ptr;
}

void *hfi_grow(const hfi_env *env, void *ptr, size_t old_count,
               size_t new_count, size_t size)
{
    void *grown = hfi_calloc(env, new_count, size);
    if (grown == NULL)
        return NULL;
    size_t kept = old_count < new_count ? old_count : new_count;
    if (ptr != NULL && kept > 0)
        memcpy(grown, ptr, kept * size);
    hfi_free(env, ptr);
    return grown;
}

char *hfi_strdup(const hfi_env *env, const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = hfi_calloc(env, bytes, 1);
    if (copy != NULL)
        memcpy(copy, text, bytes);
    return copy;
}

void hfi_free(const hfi_env *env, void *ptr)
{
    if (ptr == NULL)
        return;
    if (env == NULL || env->alloc.release == NULL)
        free(ptr);
    else
        env->alloc.release(env->alloc.user, ptr);
}

void hfi_wipe(void *ptr, size_t bytes)
{
    if (ptr == NULL || bytes == 0)
        return;
    memset(ptr, 0, bytes);
    /* The memory counts as read here, so the stores above stay. */
    __asm__ __volatile__("" : : "r"(ptr) : "memory");
}

/* Whole pages; 0 if the size wraps around. */
static size_t page_round(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t up;
    if (bytes == 0)
        bytes = 1;
    if (!hfi_add_size(&up, bytes, page - 1) || up > PTRDIFF_MAX)
        return 0;
    return up & ~(page - 1);
}

static void *map_pages(size_t bytes)
{
    void *ptr = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return ptr == MAP_FAILED ? NULL : ptr;
}

/* Maps too much, then gives back what lies before and after. */
static void *map_aligned(size_t bytes)
{
    size_t more;
    if (!hfi_add_size(&more, bytes, HUGE_PAGE))
        return NULL;
    uint8_t *raw = map_pages(more);
    if (raw == NULL)
        return NULL;
    size_t head = (HUGE_PAGE - (uintptr_t)raw % HUGE_PAGE) % HUGE_PAGE;
    size_t tail = HUGE_PAGE - head;
    if (head > 0)
        (void)munmap(raw, head);
    if (tail > 0)
        (void)munmap(raw + head + bytes, tail);
    return raw + head;
}

void *hfi_scratch_map(size_t bytes)
{
    size_t whole = page_round(bytes);
    if (whole == 0 || !allowed(whole))
        return NULL;
    if (whole < HUGE_PAGE)
        return map_pages(whole);
    void *ptr = map_aligned(whole);
#if defined(MADV_HUGEPAGE)
    if (ptr != NULL)
        (void)madvise(ptr, whole, MADV_HUGEPAGE);
#endif
    return ptr;
}

void hfi_scratch_unmap(void *ptr, size_t bytes)
{
    if (ptr != NULL)
        (void)munmap(ptr, page_round(bytes));
}

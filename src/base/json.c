/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * json.c: a strict layer over libyajl that builds a tree.
 *
 * libyajl lets through what RFC 8259 forbids or leaves open: overlong UTF-8,
 * lone surrogates, an unfinished string after the value. These, and zero
 * characters, are refused by a scan of our own before it sees the text. It
 * does not look at what its allocator returns either; so it allocates from an
 * arena of ours, and where that finds no memory, we leave it by longjmp: all
 * it owned lies in the arena, nothing leaks.
 *
 * Invariant: *doc and *root are set only for a text that is wholly accepted.
 */
#include "base/internal.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <yajl/yajl_parse.h>

#define MAX_DEPTH 64
#define MAX_BYTES ((size_t)256 << 20)

/* ---- arena ------------------------------------------------------------- */

#define ALIGNMENT     16u
#define FIRST_BLOCK   ((size_t)4 << 10)
#define LARGEST_BLOCK ((size_t)1 << 20)

struct block {
    struct block *next;
    size_t bytes; /* after this header */
    size_t used;
    size_t unused_for_alignment;
};

_Static_assert(sizeof(struct block) % ALIGNMENT == 0, "block alignment");

struct arena {
    struct block *blocks; /* the newest first */
};

static void *arena_take(struct arena *a, const hfi_env *env, size_t bytes)
{
    struct block *b = a->blocks;
    if (bytes > SIZE_MAX / 2)
        return NULL;
    bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (b == NULL || bytes > b->bytes - b->used) {
        size_t size = b == NULL ? FIRST_BLOCK : 2 * b->bytes;
        if (size > LARGEST_BLOCK)
            size = LARGEST_BLOCK;
        if (size < bytes)
            size = bytes;
        struct block *fresh = hfi_calloc(env, 1, sizeof *fresh + size);
        if (fresh == NULL)
            return NULL;
        fresh->bytes = size;
        fresh->next = b;
        a->blocks = b = fresh;
    }
    void *ptr = (uint8_t *)(b + 1) + b->used;
    b->used += bytes;
    return ptr;
}

static void arena_free(struct arena *a, const hfi_env *env)
{
    while (a->blocks != NULL) {
        struct block *b = a->blocks;
        a->blocks = b->next;
        hfi_free(env, b);
    }
}

/* ---- parser state ------------------------------------------------------ */

struct hfi_json_doc {
    hfi_env env;
    struct arena arena;
};

struct node {
    hfi_json pub; /* first: a node is handed out as its public part */
    size_t offset;
    struct node *last; /* child */
};

struct parser {
    hfi_json_doc *doc;
    struct arena temp; /* of libyajl, and lists of keys */
    yajl_handle yajl;
    jmp_buf no_memory;
    const char *what;
    const char *text;
    size_t bytes;
    hf_error *err;
    hf_status status; /* of a callback that stopped */
    struct node *root;
    struct node *open[MAX_DEPTH];
    size_t depth;
    const char *key; /* read, its value is not */
    size_t key_offset;
};

static hf_status fail_at(struct parser *p, size_t offset, const char *problem)
{
    unsigned long long line = 1;
    for (size_t i = 0; i < offset && i < p->bytes; i++)
        line += p->text[i] == '\n';
    p->status = hfi_error(p->err, HF_E_FORMAT, "%s, line %llu, byte %llu: %s",
                          p->what, line, (unsigned long long)offset, problem);
    return p->status;
}

static hf_status fail_memory(struct parser *p)
{
    p->status = hfi_error(p->err, HF_E_MEMORY, "no memory to read %s", p->what);
    return p->status;
}

/* ---- what libyajl does not check --------------------------------------- */

/* The value of "uXXXX" at `at`; -1 if it is none (libyajl complains). */
static int32_t escape_unit(const struct parser *p, size_t at)
{
    uint8_t b[2];
    if (at + 5 > p->bytes || p->text[at] != 'u' ||
        !hfi_hex_decode(b, 2, p->text + at + 1, 4))
        return -1;
    return b[0] << 8 | b[1];
}

/* An escape at `*at`, which is moved behind it. */
static hf_status scan_escape(struct parser *p, size_t *at)
{
    int32_t unit = escape_unit(p, *at + 1);
    if (unit < 0) {
        *at += 2; /* at most one past the end; the caller looks */
        return HF_OK;
    }
    if (unit == 0)
        return fail_at(p, *at, "a zero character in a string");
    if (unit >= 0xd800 && unit <= 0xdfff) {
        int32_t low = -1;
        if (unit < 0xdc00 && *at + 6 < p->bytes && p->text[*at + 6] == '\\')
            low = escape_unit(p, *at + 7);
        if (low < 0xdc00 || low > 0xdfff)
            return fail_at(p, *at, "half of a surrogate pair");
        *at += 6;
    }
    *at += 6;
    return HF_OK;
}

static hf_status scan(struct parser *p)
{
    const uint8_t *text = (const uint8_t *)p->text;
    bool inside = false;
    size_t start = 0;
    size_t at = 0;
    while (at < p->bytes) {
        size_t n = hfi_utf8_length(text + at, p->bytes - at);
        if (n == 0)
            return fail_at(p, at, "bytes that are not UTF-8");
        if (inside && text[at] < 0x20)
            return fail_at(p, at, "a control character in a string");
        if (inside && text[at] == '\\') {
            hf_status s = scan_escape(p, &at);
            if (s != HF_OK)
                return s;
            continue;
        }
        if (text[at] == '"') {
            inside = !inside;
            start = at;
        }
        at += n;
    }
    return inside ? fail_at(p, start, "a string without an end") : HF_OK;
}

/* ---- duplicate keys ---------------------------------------------------- */

static bool sorts_after(const struct node *a, const struct node *b)
{
    int c = strcmp(a->pub.key, b->pub.key);
    return c > 0 || (c == 0 && a->offset > b->offset);
}

static void sift_down(struct node **heap, size_t i, size_t count)
{
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= count)
            return;
        if (child + 1 < count && sorts_after(heap[child + 1], heap[child]))
            child++;
        if (!sorts_after(heap[child], heap[i]))
            return;
        struct node *swap = heap[i];
        heap[i] = heap[child];
        heap[child] = swap;
        i = child;
    }
}

/* Heap sort: no recursion, and no input makes it slow. */
static void sort_members(struct node **nodes, size_t count)
{
    for (size_t i = count / 2; i-- > 0;)
        sift_down(nodes, i, count);
    for (size_t n = count; n > 1; n--) {
        struct node *swap = nodes[0];
        nodes[0] = nodes[n - 1];
        nodes[n - 1] = swap;
        sift_down(nodes, 0, n - 1);
    }
}

static hf_status check_keys(struct parser *p, const struct node *object)
{
    size_t count = object->pub.count;
    if (count < 2)
        return HF_OK;
    struct node **nodes = arena_take(&p->temp, &p->doc->env,
                                     count * sizeof *nodes);
    if (nodes == NULL)
        return fail_memory(p);
    size_t n = 0;
    for (const hfi_json *m = object->pub.child; m != NULL; m = m->next)
        nodes[n++] = (struct node *)(uintptr_t)m;
    sort_members(nodes, count);
    for (size_t i = 1; i < count; i++) {
        if (strcmp(nodes[i - 1]->pub.key, nodes[i]->pub.key) != 0)
            continue;
        char problem[128];
        (void)snprintf(problem, sizeof problem,
                       "the key \"%.80s\" a second "
                       "time",
                       nodes[i]->pub.key);
        return fail_at(p, nodes[i]->offset, problem);
    }
    return HF_OK;
}

/* ---- callbacks of libyajl: 0 stops ------------------------------------- */

static char *keep_text(struct parser *p, const char *text, size_t length)
{
    char *copy = arena_take(&p->doc->arena, &p->doc->env, length + 1);
    if (copy == NULL) {
        (void)fail_memory(p);
        return NULL;
    }
    if (length > 0)
        memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

static struct node *add_node(struct parser *p, hfi_json_type type)
{
    struct node *n = arena_take(&p->doc->arena, &p->doc->env, sizeof *n);
    if (n == NULL) {
        (void)fail_memory(p);
        return NULL;
    }
    *n = (struct node){.pub = {.type = type, .key = p->key}};
    n->offset = p->key != NULL ? p->key_offset
                               : yajl_get_bytes_consumed(p->yajl);
    p->key = NULL;
    if (p->depth == 0) {
        p->root = n;
        return n;
    }
    struct node *parent = p->open[p->depth - 1];
    if (parent->last == NULL)
        parent->pub.child = &n->pub;
    else
        parent->last->pub.next = &n->pub;
    parent->last = n;
    parent->pub.count++;
    return n;
}

static int add_text(struct parser *p, hfi_json_type type, const char *text,
                    size_t length)
{
    char *copy = keep_text(p, text, length);
    struct node *n = copy == NULL ? NULL : add_node(p, type);
    if (n == NULL)
        return 0;
    n->pub.text = copy;
    n->pub.length = length;
    return 1;
}

static int on_null(void *ctx)
{
    return add_node(ctx, HFI_JSON_NULL) != NULL;
}

static int on_boolean(void *ctx, int truth)
{
    struct node *n = add_node(ctx, HFI_JSON_BOOL);
    if (n != NULL)
        n->pub.truth = truth != 0;
    return n != NULL;
}

static int on_number(void *ctx, const char *text, size_t length)
{
    return add_text(ctx, HFI_JSON_NUMBER, text, length);
}

static int on_string(void *ctx, const unsigned char *text, size_t length)
{
    return add_text(ctx, HFI_JSON_STRING, (const char *)text, length);
}

static int on_key(void *ctx, const unsigned char *text, size_t length)
{
    struct parser *p = ctx;
    p->key = keep_text(p, (const char *)text, length);
    p->key_offset = yajl_get_bytes_consumed(p->yajl);
    return p->key != NULL;
}

static int open_node(struct parser *p, hfi_json_type type)
{
    if (p->depth == MAX_DEPTH) {
        (void)fail_at(p, yajl_get_bytes_consumed(p->yajl),
                      "nested deeper than 64 levels");
        return 0;
    }
    struct node *n = add_node(p, type);
    if (n == NULL)
        return 0;
    p->open[p->depth++] = n;
    return 1;
}

static int on_start_map(void *ctx)
{
    return open_node(ctx, HFI_JSON_OBJECT);
}

static int on_start_array(void *ctx)
{
    return open_node(ctx, HFI_JSON_ARRAY);
}

static int on_end_map(void *ctx)
{
    struct parser *p = ctx;
    return check_keys(p, p->open[--p->depth]) == HF_OK;
}

static int on_end_array(void *ctx)
{
    struct parser *p = ctx;
    p->depth--;
    return 1;
}

/* ---- memory of libyajl ------------------------------------------------- */

/* In front of each piece, so that it can be grown. */
struct piece {
    size_t bytes;
    size_t unused_for_alignment;
};

_Static_assert(sizeof(struct piece) == ALIGNMENT, "piece alignment");

static void *yajl_take(void *ctx, size_t bytes)
{
    struct parser *p = ctx;
    struct piece *piece = NULL;
    if (bytes < SIZE_MAX / 4)
        piece = arena_take(&p->temp, &p->doc->env, sizeof *piece + bytes);
    if (piece == NULL)
        longjmp(p->no_memory, 1);
    piece->bytes = bytes;
    return piece + 1;
}

static void *yajl_again(void *ctx, void *ptr, size_t bytes)
{
    void *fresh = yajl_take(ctx, bytes);
    if (ptr != NULL) {
        size_t old = ((struct piece *)ptr)[-1].bytes;
        memcpy(fresh, ptr, old < bytes ? old : bytes);
    }
    return fresh;
}

static void yajl_drop(void *ctx, void *ptr)
{
    (void)ctx; /* goes with the arena */
    (void)ptr;
}

/* ---- the whole --------------------------------------------------------- */

/* An error of libyajl's own; its text ends in a line feed. */
static hf_status fail_yajl(struct parser *p, size_t offset)
{
    char problem[128];
    unsigned char *said = yajl_get_error(p->yajl, 0, NULL, 0);
    const char *text = said == NULL ? "not JSON" : (const char *)said;
    (void)snprintf(problem, sizeof problem, "%.*s", (int)strcspn(text, "\n"),
                   text);
    yajl_free_error(p->yajl, said);
    return fail_at(p, offset, problem);
}

static hf_status run_yajl(struct parser *p)
{
    static const yajl_callbacks callbacks = {
        .yajl_null = on_null,
        .yajl_boolean = on_boolean,
        .yajl_number = on_number,
        .yajl_string = on_string,
        .yajl_start_map = on_start_map,
        .yajl_map_key = on_key,
        .yajl_end_map = on_end_map,
        .yajl_start_array = on_start_array,
        .yajl_end_array = on_end_array,
    };
    yajl_alloc_funcs memory = {yajl_take, yajl_again, yajl_drop, p};

    if (setjmp(p->no_memory) != 0)
        return fail_memory(p);
    p->yajl = yajl_alloc(&callbacks, &memory, p);
    if (p->yajl == NULL)
        return fail_memory(p);
    size_t offset = p->bytes;
    yajl_status s = yajl_parse(p->yajl, (const unsigned char *)p->text,
                               p->bytes);
    if (s == yajl_status_error)
        offset = yajl_get_bytes_consumed(p->yajl);
    if (s == yajl_status_ok)
        s = yajl_complete_parse(p->yajl);
    if (s == yajl_status_client_canceled)
        return p->status;
    if (s != yajl_status_ok)
        return fail_yajl(p, offset);
    return p->root != NULL ? HF_OK : fail_at(p, p->bytes, "no value");
}

hf_status hfi_json_parse(hfi_json_doc **doc, const hfi_json **root,
                         const hfi_env *env, const char *what, const char *text,
                         size_t bytes, hf_error *err)
{
    struct parser p = {.what = what, .text = text, .bytes = bytes, .err = err};
    if (bytes > MAX_BYTES)
        return hfi_error(err, HF_E_FORMAT, "%s is longer than %llu bytes", what,
                         (unsigned long long)MAX_BYTES);
    p.doc = hfi_calloc(env, 1, sizeof *p.doc);
    if (p.doc == NULL)
        return fail_memory(&p);
    if (env != NULL)
        p.doc->env = *env;
    hf_status s = scan(&p);
    if (s == HF_OK)
        s = run_yajl(&p);
    arena_free(&p.temp, &p.doc->env);
    if (s != HF_OK) {
        hfi_json_free(p.doc);
        return s;
    }
    *doc = p.doc;
    *root = &p.root->pub;
    return HF_OK;
}

void hfi_json_free(hfi_json_doc *doc)
{
    if (doc == NULL)
        return;
    hfi_env env = doc->env;
    arena_free(&doc->arena, &env);
    hfi_free(&env, doc);
}

const hfi_json *hfi_json_member(const hfi_json *object, const char *key)
{
    if (object == NULL || object->type != HFI_JSON_OBJECT)
        return NULL;
    for (const hfi_json *m = object->child; m != NULL; m = m->next)
        if (strcmp(m->key, key) == 0)
            return m;
    return NULL;
}

bool hfi_json_u64(const hfi_json *node, uint64_t *out)
{
    uint64_t v = 0;
    if (node == NULL || node->type != HFI_JSON_NUMBER)
        return false;
    for (const char *p = node->text; *p != '\0'; p++)
        if (*p < '0' || *p > '9' || __builtin_mul_overflow(v, 10u, &v) ||
            __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
            return false;
    *out = v;
    return true;
}

bool hfi_json_u32(const hfi_json *node, uint32_t *out)
{
    uint64_t v;
    if (!hfi_json_u64(node, &v) || v > UINT32_MAX)
        return false;
    *out = (uint32_t)v;
    return true;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * text.c: a growing text, with JSON strings.
 *
 * Invariant: data is NULL or terminated at `bytes`; after a failure it stays
 * as it was before the append that failed.
 */
#include "base/internal.h"

#include <stdio.h>
#include <string.h>

void hfi_text_init(hfi_text *t, const hfi_env *env)
{
    *t = (hfi_text){.env = env};
}

void hfi_text_free(hfi_text *t)
{
    hfi_free(t->env, t->data);
    t->data = NULL;
    t->bytes = t->capacity = 0;
}

/* Room for `more` bytes and the terminating zero. */
static bool make_room(hfi_text *t, size_t more)
{
    size_t need;
    if (t->failed || !hfi_add_size(&need, t->bytes, more) ||
        !hfi_add_size(&need, need, 1)) {
        t->failed = true;
        return false;
    }
    if (need <= t->capacity)
        return true;
    size_t capacity = t->capacity < 64 ? 64 : t->capacity;
    while (capacity < need)
        if (!hfi_mul_size(&capacity, capacity, 2))
            capacity = need;
    char *grown = hfi_grow(t->env, t->data, t->capacity, capacity, 1);
    if (grown == NULL) {
        t->failed = true;
        return false;
    }
    t->data = grown;
    t->capacity = capacity;
    return true;
}

static void add_bytes(hfi_text *t, const char *text, size_t bytes)
{
    if (!make_room(t, bytes))
        return;
    memcpy(t->data + t->bytes, text, bytes);
    t->bytes += bytes;
    t->data[t->bytes] = '\0';
}

void hfi_text_add(hfi_text *t, const char *text)
{
    add_bytes(t, text, strlen(text));
}

void hfi_text_addf(hfi_text *t, const char *fmt, ...)
{
    va_list args;
    va_list again;
    va_start(args, fmt);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, args);
    if (n < 0)
        t->failed = true;
    else if (make_room(t, (size_t)n)) {
        (void)vsnprintf(t->data + t->bytes, (size_t)n + 1, fmt, again);
        t->bytes += (size_t)n;
    }
    va_end(again);
    va_end(args);
}

/* The short escape of a character (RFC 8259 section 7), or 0. */
static char short_escape(uint8_t c)
{
    switch (c) {
    case '"':
    case '\\':
        return (char)c;
    case '\b':
        return 'b';
    case '\f':
        return 'f';
    case '\n':
        return 'n';
    case '\r':
        return 'r';
    case '\t':
        return 't';
    default:
        return 0;
    }
}

void hfi_text_add_json(hfi_text *t, const char *text)
{
    const uint8_t *p = (const uint8_t *)text;
    size_t left = strlen(text);
    add_bytes(t, "\"", 1);
    while (left > 0 && !t->failed) {
        size_t n = hfi_utf8_length(p, left);
        char escape = short_escape(p[0]);
        if (n == 0)
            add_bytes(t, "\xef\xbf\xbd", 3);
        else if (escape != 0)
            add_bytes(t, (char[]){'\\', escape}, 2);
        else if (p[0] < 0x20)
            hfi_text_addf(t, "\\u%04x", p[0]);
        else
            add_bytes(t, (const char *)p, n);
        p += n == 0 ? 1 : n;
        left -= n == 0 ? 1 : n;
    }
    add_bytes(t, "\"", 1);
}

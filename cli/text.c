/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Hides how texts grow and how numbers are written. Every text that comes from
 * outside leaves as valid JSON: what is not UTF-8 becomes U+FFFD.
 */
#include "text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- UTF-8 -------------------------------------------------------------- */

/* Length of the valid sequence at `s`, 0 if there is none. The terminating
 * zero is no continuation byte, so a cut sequence is never read past. */
static size_t sequence(const unsigned char *s)
{
    if (s[0] < 0x80)
        return 1;
    size_t n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc2 || s[0] > 0xf4)
        return 0;
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    }
    /* Overlong forms, surrogates and what lies above U+10FFFF. */
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
        (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return n;
}

/* The same for a character that takes its place and does nothing else: C0 and
 * C1 control characters are none. */
static size_t printable(const unsigned char *s)
{
    if (s[0] < 0x20 || s[0] == 0x7f || (s[0] == 0xc2 && s[1] < 0xa0))
        return 0;
    return sequence(s);
}

/* ---- the buffer --------------------------------------------------------- */

static bool reserve(struct text *t, size_t more)
{
    if (t->failed)
        return false;
    if (t->capacity - t->bytes > more)
        return true;
    size_t want = t->capacity ? t->capacity : 256;
    while (want - t->bytes <= more)
        want *= 2;
    char *grown = realloc(t->data, want);
    if (grown == NULL) {
        t->failed = true;
        return false;
    }
    t->data = grown;
    t->capacity = want;
    return true;
}

void text_free(struct text *t)
{
    free(t->data);
    *t = (struct text){0};
}

void text_add_bytes(struct text *t, const char *part, size_t bytes)
{
    if (!reserve(t, bytes))
        return;
    memcpy(t->data + t->bytes, part, bytes);
    t->bytes += bytes;
    t->data[t->bytes] = '\0';
}

void text_add(struct text *t, const char *part)
{
    text_add_bytes(t, part, strlen(part));
}

void text_addf(struct text *t, const char *fmt, ...)
{
    va_list list;
    va_start(list, fmt);
    int need = vsnprintf(NULL, 0, fmt, list);
    va_end(list);
    if (need < 0 || !reserve(t, (size_t)need))
        return;
    va_start(list, fmt);
    vsnprintf(t->data + t->bytes, (size_t)need + 1, fmt, list);
    va_end(list);
    t->bytes += (size_t)need;
}

void text_tame(struct text *t)
{
    for (size_t i = 0; i < t->bytes;) {
        size_t n = printable((const unsigned char *)t->data + i);
        if (n == 0)
            t->data[i] = '?';
        i += n ? n : 1;
    }
}

static void add_ansi_quoted(struct text *t, const char *word)
{
    text_add(t, "$'");
    for (const unsigned char *p = (const unsigned char *)word; *p; p++) {
        if (*p == '\'' || *p == '\\')
            text_addf(t, "\\%c", *p);
        else if (*p < 0x20 || *p >= 0x7f)
            text_addf(t, "\\%03o", *p);
        else
            text_add_bytes(t, (const char *)p, 1);
    }
    text_add(t, "'");
}

void text_add_quoted(struct text *t, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_-+=./:,@%";
    if (word[0] != '\0' && word[strspn(word, plain)] == '\0') {
        text_add(t, word);
        return;
    }
    for (const unsigned char *s = (const unsigned char *)word; *s;) {
        size_t n = printable(s);
        if (n == 0) {
            add_ansi_quoted(t, word);
            return;
        }
        s += n;
    }
    text_add(t, "'");
    for (const char *p = word; *p; p++) {
        if (*p == '\'')
            text_add(t, "'\\''");
        else
            text_add_bytes(t, p, 1);
    }
    text_add(t, "'");
}

size_t text_columns(const char *s)
{
    size_t columns = 0;
    for (; *s; s++) {
        if (((unsigned char)*s & 0xc0) != 0x80)
            columns++;
    }
    return columns;
}

/* ---- JSON --------------------------------------------------------------- */

static void add_escaped(struct text *t, const char *value)
{
    const unsigned char *s = (const unsigned char *)value;
    text_add(t, "\"");
    while (*s) {
        size_t n = sequence(s);
        if (n == 0) {
            text_add(t, "\xef\xbf\xbd");
            n = 1;
        } else if (*s == '"' || *s == '\\') {
            text_addf(t, "\\%c", *s);
        } else if (*s < 0x20 || *s == 0x7f) {
            text_addf(t, "\\u%04x", *s);
        } else {
            text_add_bytes(t, (const char *)s, n);
        }
        s += n;
    }
    text_add(t, "\"");
}

static void add_key(struct text *t, const char *key)
{
    if (t->comma)
        text_add(t, ",");
    if (key) {
        add_escaped(t, key);
        text_add(t, ":");
    }
    t->comma = true;
}

void json_begin(struct text *t, const char *key)
{
    add_key(t, key);
    text_add(t, "{");
    t->comma = false;
}

void json_end(struct text *t)
{
    text_add(t, "}");
    t->comma = true;
}

void json_text(struct text *t, const char *key, const char *value)
{
    add_key(t, key);
    add_escaped(t, value);
}

void json_number(struct text *t, const char *key, uint64_t value)
{
    add_key(t, key);
    text_addf(t, "%" PRIu64, value);
}

void json_real(struct text *t, const char *key, double value, int digits)
{
    add_key(t, key);
    /* JSON knows neither infinity nor "not a number". */
    if (value != value || value > 1e300 || value < -1e300)
        text_add(t, "null");
    else
        text_addf(t, "%.*f", digits, value);
}

void json_bool(struct text *t, const char *key, bool value)
{
    add_key(t, key);
    text_add(t, value ? "true" : "false");
}

void json_null(struct text *t, const char *key)
{
    add_key(t, key);
    text_add(t, "null");
}

void json_hex(struct text *t, const char *key, const uint8_t *data,
              size_t bytes)
{
    static const char digits[] = "0123456789abcdef";
    add_key(t, key);
    text_add(t, "\"");
    for (size_t i = 0; i < bytes; i++) {
        char pair[2] = {digits[data[i] >> 4], digits[data[i] & 15]};
        text_add_bytes(t, pair, 2);
    }
    text_add(t, "\"");
}

/* ---- forms for people ---------------------------------------------------- */

char *form_count(char out[FORM_BYTES], uint64_t n)
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%" PRIu64, n);
    size_t at = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at] = '\0';
    return out;
}

char *form_size(char out[FORM_BYTES], uint64_t bytes)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB",
                                        "TiB",   "PiB", "EiB"};
    unsigned unit = 0;
    uint64_t whole = bytes;
    while (whole >= 1024 && unit < 6) {
        whole >>= 10;
        unit++;
    }
    double value = (double)bytes / (double)(1ull << (10 * unit));
    if (unit == 0)
        snprintf(out, FORM_BYTES, bytes == 1 ? "1 byte" : "%" PRIu64 " bytes",
                 bytes);
    else if ((bytes & ((1ull << (10 * unit)) - 1)) == 0 || value >= 100)
        snprintf(out, FORM_BYTES, "%.0f %s", value, units[unit]);
    else
        snprintf(out, FORM_BYTES, value >= 10 ? "%.1f %s" : "%.2f %s", value,
                 units[unit]);
    return out;
}

char *form_duration(char out[FORM_BYTES], uint64_t ms)
{
    uint64_t s = (ms + 500) / 1000, m = s / 60, h = m / 60, d = h / 24;
    if (ms < 1000)
        snprintf(out, FORM_BYTES, "%" PRIu64 " ms", ms);
    else if (s < 60)
        snprintf(out, FORM_BYTES, "%" PRIu64 " s", s);
    else if (h == 0)
        snprintf(out, FORM_BYTES, "%" PRIu64 " min %02" PRIu64 " s", m, s % 60);
    else if (d == 0)
        snprintf(out, FORM_BYTES, "%" PRIu64 " h %02" PRIu64 " min", h, m % 60);
    else if (d < 1000)
        snprintf(out, FORM_BYTES, "%" PRIu64 " d %" PRIu64 " h", d, h % 24);
    else
        snprintf(out, FORM_BYTES, "%" PRIu64 " years", d / 365);
    return out;
}

char *form_percent(char out[FORM_BYTES], uint64_t part, uint64_t whole)
{
    double percent = whole ? 100.0 * (double)part / (double)whole : 0;
    /* 100 % is said when all is there, not before. */
    if (part < whole && percent > 99.9)
        percent = 99.9;
    snprintf(out, FORM_BYTES, "%.1f %%", percent);
    return out;
}

char *form_hex(char *out, const uint8_t *data, size_t bytes)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < bytes; i++) {
        out[2 * i] = digits[data[i] >> 4];
        out[2 * i + 1] = digits[data[i] & 15];
    }
    out[2 * bytes] = '\0';
    return out;
}

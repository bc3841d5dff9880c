/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Hides the forms in which numbers, sizes, times and identities are written.
 * Nothing is guessed: a text is wholly of a form or refused, and what does not
 * fit 64 bits is refused, too.
 */
#include "parse.h"

#include <string.h>
#include <strings.h>

static bool digits(uint64_t *out, const char **s)
{
    const char *p = *s;
    uint64_t n = 0;
    if (*p < '0' || *p > '9')
        return false;
    for (; *p >= '0' && *p <= '9'; p++) {
        uint64_t digit = (uint64_t)(*p - '0');
        if (n > (UINT64_MAX - digit) / 10)
            return false;
        n = 10 * n + digit;
    }
    *out = n;
    *s = p;
    return true;
}

bool parse_number(uint64_t *out, const char *s)
{
    uint64_t n;
    if (!digits(&n, &s) || *s != '\0')
        return false;
    *out = n;
    return true;
}

/* ---- sizes and times ----------------------------------------------------- */

/* Multiplies whole.fraction (9 decimal places) by a unit, rounding down. */
static bool scale(uint64_t *out, uint64_t whole, uint64_t nano, uint64_t unit)
{
    const uint64_t billion = 1000000000;
    if (whole > UINT64_MAX / unit)
        return false;
    /* nano < 2^30; in two halves the products stay within 64 bits. */
    uint64_t high = unit >> 32, low = unit & 0xffffffff;
    uint64_t top = high * nano;
    uint64_t rest = ((top % billion) << 32) + low * nano;
    uint64_t part = ((top / billion) << 32) + rest / billion;
    uint64_t product = whole * unit;
    if (product > UINT64_MAX - part)
        return false;
    *out = product + part;
    return true;
}

static bool fraction(uint64_t *nano, const char **s)
{
    const char *p = *s;
    uint64_t unit = 100000000;
    *nano = 0;
    if (*p != '.')
        return true;
    p++;
    if (*p < '0' || *p > '9')
        return false;
    for (; *p >= '0' && *p <= '9'; p++) {
        if (unit == 0 && *p != '0')
            return false;
        *nano += unit * (uint64_t)(*p - '0');
        unit /= 10;
    }
    *s = p;
    return true;
}

static bool size_unit(uint64_t *unit, const char *s)
{
    static const char prefixes[] = "kmgtpe";
    *unit = 1;
    if (*s == '\0' || strcasecmp(s, "b") == 0 || strcasecmp(s, "byte") == 0 ||
        strcasecmp(s, "bytes") == 0)
        return true;
    char lower = (char)(*s | 0x20);
    const char *at = strchr(prefixes, lower);
    if (at == NULL || lower == '\0')
        return false;
    uint64_t base = 1024;
    if (strcasecmp(s + 1, "b") == 0)
        base = 1000;
    else if (s[1] != '\0' && strcasecmp(s + 1, "ib") != 0 &&
             strcasecmp(s + 1, "i") != 0)
        return false;
    for (const char *p = prefixes; p <= at; p++)
        *unit *= base;
    return true;
}

bool parse_size(uint64_t *out, const char *s)
{
    uint64_t whole, nano, unit;
    if (!digits(&whole, &s) || !fraction(&nano, &s))
        return false;
    while (*s == ' ')
        s++;
    return size_unit(&unit, s) && scale(out, whole, nano, unit);
}

bool parse_duration(uint64_t *out_ms, const char *s)
{
    static const struct {
        const char *name;
        uint64_t ms;
    } units[] = {{"", 1000},     {"ms", 1},      {"s", 1000},    {"m", 60000},
                 {"min", 60000}, {"h", 3600000}, {"d", 86400000}};
    uint64_t whole, nano;
    if (!digits(&whole, &s) || !fraction(&nano, &s))
        return false;
    while (*s == ' ')
        s++;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(s, units[i].name) == 0)
            return scale(out_ms, whole, nano, units[i].ms);
    }
    return false;
}

/* ---- bytes --------------------------------------------------------------- */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

bool parse_hex(uint8_t *out, size_t *bytes, const char *s)
{
    if (s[0] == '0' && (s[1] == 'x' || s[1] == 'X'))
        s += 2;
    size_t length = strlen(s);
    if (length % 2 != 0)
        return false;
    for (size_t i = 0; i < length / 2; i++) {
        int high = hex_digit(s[2 * i]), low = hex_digit(s[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        out[i] = (uint8_t)(high << 4 | low);
    }
    *bytes = length / 2;
    return true;
}

static int base64_digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* 44 characters: ten groups of three bytes, then two bytes and one "=". */
static bool base64_32(uint8_t out[32], const char *s)
{
    uint32_t bits = 0;
    size_t at = 0;
    if (s[43] != '=')
        return false;
    for (size_t i = 0; i < 43; i++) {
        int digit = base64_digit(s[i]);
        if (digit < 0)
            return false;
        bits = bits << 6 | (uint32_t)digit;
        if (i % 4 == 3) {
            out[at++] = (uint8_t)(bits >> 16);
            out[at++] = (uint8_t)(bits >> 8);
            out[at++] = (uint8_t)bits;
            bits = 0;
        }
    }
    /* Three digits are left: 18 bits, of which the last two must be zero. */
    if (bits & 3)
        return false;
    out[at++] = (uint8_t)(bits >> 10);
    out[at++] = (uint8_t)(bits >> 2);
    return at == 32;
}

bool parse_bytes32(uint8_t out[32], const char *s)
{
    uint8_t bytes[33];
    size_t length = strlen(s), got;
    if (length == 44)
        return base64_32(out, s);
    if ((length != 64 && length != 66) || !parse_hex(bytes, &got, s) ||
        got != 32)
        return false;
    memcpy(out, bytes, 32);
    return true;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * cursor.c: bounded reading of bytes; hex and base64.
 *
 * Invariant: at <= bytes always; once a read failed the cursor gives zeros, so
 * a parser may read a whole record and look at `failed` once.
 */
#include "base/base.h"

void hfi_cursor_init(hfi_cursor *c, const void *data, size_t bytes)
{
    *c = (hfi_cursor){.data = data, .bytes = bytes};
}

const uint8_t *hfi_cursor_bytes(hfi_cursor *c, size_t bytes)
{
    if (c->failed || bytes > c->bytes - c->at) {
        c->failed = true;
        return NULL;
    }
    const uint8_t *p = c->data + c->at;
    c->at += bytes;
    return p;
}

uint8_t hfi_cursor_u8(hfi_cursor *c)
{
    const uint8_t *p = hfi_cursor_bytes(c, 1);
    return p == NULL ? 0 : p[0];
}

uint32_t hfi_cursor_u32(hfi_cursor *c)
{
    const uint8_t *p = hfi_cursor_bytes(c, 4);
    return p == NULL ? 0 : hfi_load_u32(p);
}

uint64_t hfi_cursor_u64(hfi_cursor *c)
{
    const uint8_t *p = hfi_cursor_bytes(c, 8);
    return p == NULL ? 0 : hfi_load_u64(p);
}

void hfi_hex_encode(char *out, const void *data, size_t bytes)
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t *p = data;
    for (size_t i = 0; i < bytes; i++) {
        *out++ = digits[p[i] >> 4];
        *out++ = digits[p[i] & 15];
    }
    *out = '\0';
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

bool hfi_hex_decode(void *out, size_t bytes, const char *text, size_t length)
{
    uint8_t *p = out;
    if (length % 2 != 0 || length / 2 != bytes)
        return false;
    for (size_t i = 0; i < length; i++)
        if (hex_value(text[i]) < 0)
            return false;
    for (size_t i = 0; i < bytes; i++)
        p[i] = (uint8_t)(hex_value(text[2 * i]) << 4 |
                         hex_value(text[2 * i + 1]));
    return true;
}

static const char base64_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void hfi_base64_encode(char *out, const void *data, size_t bytes)
{
    const uint8_t *p = data;
    while (bytes > 0) {
        size_t n = bytes < 3 ? bytes : 3;
        uint32_t v = (uint32_t)p[0] << 16;
        if (n > 1)
            v |= (uint32_t)p[1] << 8;
        if (n > 2)
            v |= p[2];
        *out++ = base64_digits[v >> 18];
        *out++ = base64_digits[v >> 12 & 63];
        *out++ = n > 1 ? base64_digits[v >> 6 & 63] : '=';
        *out++ = n > 2 ? base64_digits[v & 63] : '=';
        p += n;
        bytes -= n;
    }
    *out = '\0';
}

static int base64_value(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == '+')
        return 62;
    return c == '/' ? 63 : -1;
}

/*
 * The digits of one group of n bytes, 1 to 3, as 24 bits; negative if they
 * are not the one spelling of these bytes (RFC 4648 section 3.5).
 */
static int32_t base64_group(const char *text, size_t n)
{
    uint32_t v = 0;
    for (size_t i = 0; i < 4; i++) {
        int digit = i <= n ? base64_value(text[i]) : 0;
        if (digit < 0 || (i > n && text[i] != '='))
            return -1;
        v = v << 6 | (uint32_t)digit;
    }
    uint32_t unused = n == 3 ? 0 : (1u << (8 * (3 - n))) - 1;
    return (v & unused) != 0 ? -1 : (int32_t)v;
}

bool hfi_base64_decode(void *out, size_t bytes, const char *text, size_t length)
{
    uint8_t *p = out;
    if (length % 4 != 0 || length / 4 != bytes / 3 + (bytes % 3 != 0))
        return false;
    /* Twice, so that a wrong text leaves the output untouched. */
    for (int pass = 0; pass < 2; pass++) {
        for (size_t at = 0; at < bytes; at += 3) {
            size_t n = bytes - at < 3 ? bytes - at : 3;
            int32_t v = base64_group(text + at / 3 * 4, n);
            if (v < 0)
                return false;
            for (size_t i = 0; pass == 1 && i < n; i++)
                p[at + i] = (uint8_t)(v >> (16 - 8 * i));
        }
    }
    return true;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * error.c: filling and wrapping hf_error, status names, version.
 *
 * Invariant: both texts of a filled error are terminated, valid UTF-8 and one
 * line, whatever went in. Nothing here allocates, so it works without memory.
 */
#include "base/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Longer than the field, so that the cut falls in our hands. */
#define FORMAT_BYTES 1024

const char *hf_version(void)
{
    return HF_VERSION;
}

const char *hf_status_name(hf_status status)
{
    switch (status) {
#define STATUS_NAME(name, number, text)                                        \
    case name:                                                                 \
        return #name;
        HF_STATUS_LIST(STATUS_NAME)
#undef STATUS_NAME
    }
    return "HF_E_UNKNOWN";
}

const char *hf_status_text(hf_status status)
{
    switch (status) {
#define STATUS_TEXT(name, number, text)                                        \
    case name:                                                                 \
        return text;
        HF_STATUS_LIST(STATUS_TEXT)
#undef STATUS_TEXT
    }
    return "not a status code of this version";
}

static bool is_continuation(uint8_t c)
{
    return (c & 0xc0) == 0x80;
}

size_t hfi_utf8_length(const uint8_t *p, size_t bytes)
{
    if (bytes == 0)
        return 0;
    if (p[0] < 0x80)
        return 1;
    if (p[0] >= 0xc2 && p[0] <= 0xdf)
        return bytes >= 2 && is_continuation(p[1]) ? 2 : 0;
    if ((p[0] & 0xf0) == 0xe0) {
        if (bytes < 3 || !is_continuation(p[1]) || !is_continuation(p[2]))
            return 0;
        if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f))
            return 0; /* overlong, surrogate */
        return 3;
    }
    if (p[0] >= 0xf0 && p[0] <= 0xf4) {
        if (bytes < 4 || !is_continuation(p[1]) || !is_continuation(p[2]) ||
            !is_continuation(p[3]))
            return 0;
        if ((p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
            return 0; /* overlong, above U+10FFFF */
        return 4;
    }
    return 0;
}

/* C1 controls and the line and paragraph separators break lines too. */
static bool breaks_line(const uint8_t *p, size_t length)
{
    if (length == 2)
        return p[0] == 0xc2 && p[1] < 0xa0;
    return length == 3 && p[0] == 0xe2 && p[1] == 0x80 &&
           (p[2] == 0xa8 || p[2] == 0xa9);
}

/*
 * One character from `in` to `out` (4 bytes): sets what it took and returns
 * what it gave.
 */
static size_t clean_step(char out[4], const uint8_t *in, size_t bytes,
                         size_t *taken)
{
    size_t length = hfi_utf8_length(in, bytes);
    *taken = length == 0 ? 1 : length;
    if (length == 1 && (in[0] == '\n' || in[0] == '\r' || in[0] == '\t')) {
        out[0] = ' ';
        return 1;
    }
    if (length == 0 || (length == 1 && (in[0] < 0x20 || in[0] == 0x7f)) ||
        breaks_line(in, length)) {
        out[0] = '?';
        return 1;
    }
    memcpy(out, in, length);
    return length;
}

void hfi_one_line(char *out, size_t capacity, const char *text)
{
    const uint8_t *in = (const uint8_t *)text;
    size_t bytes = strlen(text);
    size_t used = 0;
    size_t cut = 0; /* where "..." still fits */

    while (bytes > 0) {
        char one[4];
        size_t taken;
        size_t given = clean_step(one, in, bytes, &taken);
        if (used + given >= capacity) {
            memcpy(out + cut, "...", 4);
            return;
        }
        memcpy(out + used, one, given);
        used += given;
        if (used + 4 <= capacity)
            cut = used;
        in += taken;
        bytes -= taken;
    }
    out[used] = '\0';
}

static void put_text(char *out, size_t capacity, const char *fmt, va_list args)
    HFI_PRINTF(3, 0);

static void put_text(char *out, size_t capacity, const char *fmt, va_list args)
{
    char raw[FORMAT_BYTES];
    int n = vsnprintf(raw, sizeof raw, fmt, args);
    if (n < 0) {
        hfi_one_line(out, capacity, "(message could not be formatted)");
        return;
    }
    hfi_one_line(out, capacity, raw);
}

hf_status hfi_error(hf_error *err, hf_status code, const char *fmt, ...)
{
    if (err == NULL)
        return code;
    char message[sizeof err->message];
    va_list args;
    va_start(args, fmt);
    put_text(message, sizeof message, fmt, args);
    va_end(args);
    /* Only now: an argument may point into *err. */
    memset(err, 0, sizeof *err);
    err->code = code;
    memcpy(err->message, message, strlen(message) + 1);
    return code;
}

static void put_os_text(char *out, size_t capacity, int os_code)
{
    char buffer[128] = "";
#if defined(__GLIBC__)
    /* The GNU form: the text may or may not be in the buffer. */
    const char *text = strerror_r(os_code, buffer, sizeof buffer);
#else
    const char *text = buffer;
    if (strerror_r(os_code, buffer, sizeof buffer) != 0)
        (void)snprintf(buffer, sizeof buffer, "system error %d", os_code);
#endif
    hfi_one_line(out, capacity, text);
}

hf_status hfi_error_os(hf_error *err, hf_status code, int os_code,
                       const char *fmt, ...)
{
    if (err == NULL)
        return code;
    char message[sizeof err->message];
    va_list args;
    va_start(args, fmt);
    put_text(message, sizeof message, fmt, args);
    va_end(args);
    memset(err, 0, sizeof *err);
    err->code = code;
    err->os_code = os_code;
    memcpy(err->message, message, strlen(message) + 1);
    if (os_code != 0)
        put_os_text(err->cause, sizeof err->cause, os_code);
    return code;
}

/* The old message, with its cause if both fit, becomes the cause. */
static void sink_message(hf_error *err)
{
    char both[sizeof err->cause];
    size_t message = strlen(err->message);
    size_t cause = strlen(err->cause);

    memcpy(both, err->message, message + 1);
    if (message == 0)
        memcpy(both, err->cause, cause + 1);
    else if (cause > 0 && message + 2 + cause < sizeof both) {
        memcpy(both + message, ": ", 2);
        memcpy(both + message + 2, err->cause, cause + 1);
    }
    memset(err->cause, 0, sizeof err->cause);
    memcpy(err->cause, both, strlen(both) + 1);
}

hf_status hfi_error_wrap(hf_error *err, hf_status code, const char *fmt, ...)
{
    if (err == NULL)
        return code;
    char message[sizeof err->message];
    va_list args;
    va_start(args, fmt);
    put_text(message, sizeof message, fmt, args);
    va_end(args);
    sink_message(err);
    err->code = code;
    memset(err->message, 0, sizeof err->message);
    memcpy(err->message, message, strlen(message) + 1);
    return code;
}

hf_status hfi_status_of_errno(int os_code)
{
    return os_code == ENOMEM ? HF_E_MEMORY : HF_E_IO;
}

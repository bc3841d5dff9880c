/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Hides what counts as a number on the command line of a Go program. Its main
 * invariant: what is not read to its last character is refused.
 */
#include "numbers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'Z' ? c - 'A' + 10 : 99;
}

/* Takes the sign of the base away; *separable: a _ may follow. */
static int base_of(const char **text, bool *separable)
{
    const char *s = *text;
    *separable = false;
    if (s[0] != '0')
        return 10;
    *separable = true;
    if (strlen(s) >= 3) {
        int base = s[1] == 'x' || s[1] == 'X'   ? 16
                   : s[1] == 'o' || s[1] == 'O' ? 8
                   : s[1] == 'b' || s[1] == 'B' ? 2
                                                : 0;
        if (base) {
            *text = s + 2;
            return base;
        }
    }
    *text = s + 1;
    return 8;
}

enum number number_unsigned(uint64_t *out, const char *text)
{
    bool separable;
    const char *s = text;
    uint64_t value = 0;
    if (*text == '\0')
        return NUMBER_SYNTAX;
    int base = base_of(&s, &separable);
    for (; *s; s++) {
        int digit = digit_value(*s);
        if (*s == '_' && separable && digit_value(s[1]) < base) {
            separable = false;
            continue;
        }
        if (digit >= base)
            return NUMBER_SYNTAX;
        if (value > (UINT64_MAX - (unsigned)digit) / (unsigned)base)
            return NUMBER_RANGE;
        value = value * (unsigned)base + (unsigned)digit;
        separable = true;
    }
    *out = value;
    return NUMBER_FINE;
}

enum number number_signed(int64_t *out, const char *text)
{
    bool minus = *text == '-';
    uint64_t value;
    enum number end = number_unsigned(&value,
                                      text + (minus || *text == '+' ? 1 : 0));
    if (end != NUMBER_FINE)
        return end;
    if (value > (uint64_t)INT64_MAX + minus)
        return NUMBER_RANGE;
    *out = minus ? (int64_t)(0 - value) : (int64_t)value;
    return NUMBER_FINE;
}

enum number number_float(double *out, const char *text)
{
    char *end;
    if (*text == '\0' || strchr(" \t\n\v\f\r", *text) || strchr(text, '('))
        return NUMBER_SYNTAX;
    errno = 0;
    double value = strtod(text, &end);
    if (*end != '\0')
        return NUMBER_SYNTAX;
    if (errno == ERANGE && (value > 1 || value < -1))
        return NUMBER_RANGE;
    *out = value;
    return NUMBER_FINE;
}

bool number_bool(bool *out, const char *text)
{
    static const char *const words[2][6] = {
        {"0", "f", "F", "false", "FALSE", "False"},
        {"1", "t", "T", "true", "TRUE", "True"}};
    for (int value = 0; value < 2; value++)
        for (int i = 0; i < 6; i++)
            if (strcmp(text, words[value][i]) == 0) {
                *out = value;
                return true;
            }
    return false;
}

bool hex_read(uint8_t *out, size_t capacity, size_t *bytes, const char *text)
{
    size_t digits = strlen(text);
    if (digits % 2 != 0 || digits / 2 > capacity)
        return false;
    for (size_t i = 0; i < digits; i++) {
        int digit = digit_value(text[i]);
        if (digit > 15)
            return false;
        out[i / 2] = (uint8_t)(i % 2 ? out[i / 2] | digit : digit << 4);
    }
    *bytes = digits / 2;
    return true;
}

char *hex_form(char *out, const uint8_t *data, size_t bytes)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < bytes; i++) {
        out[2 * i] = digits[data[i] >> 4];
        out[2 * i + 1] = digits[data[i] & 15];
    }
    out[2 * bytes] = '\0';
    return out;
}

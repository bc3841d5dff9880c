/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Text to values, by the rules of Go's strconv. */
#ifndef POSTCLI_NUMBERS_H
#define POSTCLI_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum number { NUMBER_FINE, NUMBER_SYNTAX, NUMBER_RANGE };

/* 0x, 0o, 0b and a leading 0 choose the base; _ may stand between digits. */
enum number number_unsigned(uint64_t *out, const char *text);
enum number number_signed(int64_t *out, const char *text);
enum number number_float(double *out, const char *text);
bool number_bool(bool *out, const char *text);

/* At most `capacity` bytes; *bytes is how many. False: no hex, or too long. */
bool hex_read(uint8_t *out, size_t capacity, size_t *bytes, const char *text);
/* 2 * bytes digits and a terminator. Returns out. */
char *hex_form(char *out, const uint8_t *data, size_t bytes);

#endif

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Texts of the tool: a growing buffer, JSON on top of it, and the forms in
 * which people read numbers. Nothing here prints.
 */
#ifndef CLI_TEXT_H
#define CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Grows as needed. After a failed allocation it stays as it was and `failed`
 * is set: one look at the end is enough. Start from {0}. */
struct text {
    char *data; /* terminated; NULL while empty */
    size_t bytes;
    size_t capacity;
    bool failed;
    bool comma; /* the next JSON member needs one before it */
};

void text_free(struct text *t);
void text_add(struct text *t, const char *part);
void text_add_bytes(struct text *t, const char *part, size_t bytes);
void text_addf(struct text *t, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Replaces by "?" what would steer a terminal or break a line: control
 * characters and what is not UTF-8. For texts that may hold names of files. */
void text_tame(struct text *t);
/* As a word of a shell command, quoted where needed; a word with control
 * characters as $'...', which bash, zsh and ksh take. */
void text_add_quoted(struct text *t, const char *word);

/* JSON members; `key` NULL for the outermost object. */
void json_begin(struct text *t, const char *key);
void json_end(struct text *t);
void json_text(struct text *t, const char *key, const char *value);
void json_number(struct text *t, const char *key, uint64_t value);
void json_real(struct text *t, const char *key, double value, int digits);
void json_bool(struct text *t, const char *key, bool value);
void json_null(struct text *t, const char *key);
void json_hex(struct text *t, const char *key, const uint8_t *data,
              size_t bytes);

/* Forms for people; each fills `out` and returns it. */
#define FORM_BYTES 48u

char *form_count(char out[FORM_BYTES], uint64_t n);     /* 1,234,567 */
char *form_size(char out[FORM_BYTES], uint64_t bytes);  /* 1.50 GiB */
char *form_duration(char out[FORM_BYTES], uint64_t ms); /* 3 min 20 s */
char *form_percent(char out[FORM_BYTES], uint64_t part, uint64_t whole);
char *form_hex(char *out, const uint8_t *data, size_t bytes); /* 2n + 1 */

/* Columns a UTF-8 text takes, one a character. */
size_t text_columns(const char *s);

#endif

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Values as people write them; each returns false if `s` is none of the kind. */
#ifndef CLI_PARSE_H
#define CLI_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decimal digits only. */
bool parse_number(uint64_t *out, const char *s);
/* 4096, 8TiB, 1.5 GiB, 512MB, 64k: KB, MB ... are powers of 1000, K and KiB,
 * M and MiB ... of 1024. */
bool parse_size(uint64_t *out, const char *s);
/* 90, 90s, 10m, 8h, 2d: milliseconds. */
bool parse_duration(uint64_t *out_ms, const char *s);
/* 64 hex digits, the same after 0x, or 44 characters of base64. */
bool parse_bytes32(uint8_t out[32], const char *s);
/* Any even number of hex digits, 0x allowed; `out` has strlen(s) / 2 bytes. */
bool parse_hex(uint8_t *out, size_t *bytes, const char *s);

#endif

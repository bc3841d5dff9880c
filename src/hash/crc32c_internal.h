/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The ways to compute a CRC32C; private to src/hash and its test. */
#ifndef HFI_HASH_CRC32C_INTERNAL_H
#define HFI_HASH_CRC32C_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

/* The definition. */
uint32_t hfi_crc32c_portable(uint32_t crc, const void *data, size_t bytes);

/* Needs SSE4.2 and PCLMULQDQ. */
uint32_t hfi_crc32c_sse42(uint32_t crc, const void *data, size_t bytes);

#endif

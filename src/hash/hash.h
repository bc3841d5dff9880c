/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Door of src/hash: BLAKE3 (hash mode and extendable output, for small inputs;
 * BLAKE3 specification, section 2) and CRC32C (Castagnoli; RFC 3720, B.4).
 * Pure functions, any thread, no allocation.
 */
#ifndef HFI_HASH_HASH_H
#define HFI_HASH_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Incremental BLAKE3; plain data, may be copied to fork a state. */
typedef struct hfi_blake3 {
    uint32_t cv_stack[54][8];
    uint32_t chunk_cv[8];
    uint64_t chunk_counter;
    uint8_t block[64];
    uint8_t block_len;
    uint8_t blocks_compressed;
    uint8_t stack_len;
} hfi_blake3;

void hfi_blake3_init(hfi_blake3 *h);
void hfi_blake3_update(hfi_blake3 *h, const void *data, size_t bytes);
/* Writes output bytes [offset, offset + bytes) of the extendable output. */
void hfi_blake3_xof(const hfi_blake3 *h, uint64_t offset, void *out,
                    size_t bytes);
/* One-shot, 32 bytes. */
void hfi_blake3_hash(uint8_t out[32], const void *data, size_t bytes);

/* Extends a CRC32C; start with 0. Hardware instruction where there is one. */
uint32_t hfi_crc32c(uint32_t crc, const void *data, size_t bytes);

#endif

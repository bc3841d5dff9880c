/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Labels in plain C, one at a time: the definition the other variants are
 * compared with. scrypt (RFC 7914, section 3) with r = p = 1, ChaCha20/8 in
 * place of Salsa20/8, and HMAC-Keccak-512 in place of HMAC-SHA-256.
 */
#include "kernel/kernel_internal.h"

#include <string.h>

typedef uint64_t KV;
#define KV_LANES         1
#define KV_SET(x)        (x)
#define KV_LOAD(p)       (*(p))
#define KV_STORE(p, v)   (*(p) = (v))
#define KV_XOR(a, b)     ((a) ^ (b))
#define KV_XOR3(a, b, c) ((a) ^ (b) ^ (c))
#define KV_CHI(a, b, c)  ((a) ^ (~(b) & (c)))
#define KV_ROL(a, n)     ((a) << (n) | (a) >> (64 - (n)))
#define LABEL_LE64(x)    (little_endian(x))

/* The word whose bytes in memory are those of x, least significant first. */
static inline uint64_t little_endian(uint64_t x)
{
    uint8_t bytes[8];
    uint64_t word;
    hfi_store_u64(bytes, x);
    memcpy(&word, bytes, sizeof word);
    return word;
}

#include "kernel/keccak.inc"
#include "kernel/label_core.inc"

/* The 128 bytes of scrypt's state: two ChaCha blocks. */
typedef struct mix_state {
    uint32_t word[32];
} mix_state;

static inline uint32_t rol32(uint32_t x, unsigned n)
{
    return x << n | x >> (32 - n);
}

static inline void quarter(uint32_t x[16], size_t a, size_t b, size_t c,
                           size_t d)
{
    x[a] += x[b], x[d] = rol32(x[d] ^ x[a], 16);
    x[c] += x[d], x[b] = rol32(x[b] ^ x[c], 12);
    x[a] += x[b], x[d] = rol32(x[d] ^ x[a], 8);
    x[c] += x[d], x[b] = rol32(x[b] ^ x[c], 7);
}

/* block = ChaCha20/8(block ^ with), the words' input added at the end. */
static void chacha_block(uint32_t block[16], const uint32_t with[16])
{
    uint32_t x[16];
    for (size_t i = 0; i < 16; ++i)
        x[i] = block[i] ^= with[i];
    for (int i = 0; i < 4; ++i) {
        quarter(x, 0, 4, 8, 12);
        quarter(x, 1, 5, 9, 13);
        quarter(x, 2, 6, 10, 14);
        quarter(x, 3, 7, 11, 15);
        quarter(x, 0, 5, 10, 15);
        quarter(x, 1, 6, 11, 12);
        quarter(x, 2, 7, 8, 13);
        quarter(x, 3, 4, 9, 14);
    }
    for (size_t i = 0; i < 16; ++i)
        block[i] += x[i];
}

static void block_mix(mix_state *s)
{
    chacha_block(s->word, s->word + 16);
    chacha_block(s->word + 16, s->word);
}

/* V holds states as they are: it is private to this function. */
static void ro_mix(mix_state *s, mix_state *v, uint32_t log_n)
{
    const size_t n = (size_t)1 << log_n;
    for (size_t i = 0; i < n; ++i) {
        v[i] = *s;
        block_mix(s);
    }
    for (size_t i = 0; i < n; ++i) {
        /* N is at most 2^30: the low word of the last block suffices. */
        const mix_state *row = &v[s->word[16] & (n - 1)];
        for (size_t w = 0; w < 32; ++w)
            s->word[w] ^= row->word[w];
        block_mix(s);
    }
}

static void run_1(const hfi_label_req *reqs, size_t count, uint32_t log_n,
                  uint8_t *out32, void *scratch)
{
    mix_state *v = (mix_state *)((uint8_t *)scratch + HFI_LABEL_SCRATCH_FIXED);
    uint64_t blocks[16];
    mix_state s;
    label_expand(blocks, reqs, count);
    for (size_t w = 0; w < 32; ++w)
        s.word[w] = hfi_load_u32((const uint8_t *)blocks + 4 * w);
    ro_mix(&s, v, log_n);
    for (size_t w = 0; w < 32; ++w)
        hfi_store_u32((uint8_t *)blocks + 4 * w, s.word[w]);
    label_finish(out32, reqs, count, blocks);
}

static const hfi_label_shape shapes[] = {{1, run_1}};

const hfi_label_kernel hfi_label_portable = {"portable", shapes, 1, 0};

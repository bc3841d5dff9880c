/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Labels with the 128-bit vectors that every x86-64 has, in rows: a vector is
 * one row of a ChaCha block. The single lane is the yardstick of the
 * benchmarks; the other shape interleaves four labels.
 */
#include "kernel/kernel_internal.h"

#include <emmintrin.h>

typedef __m128i KV;
#define KV_LANES 2
#define KV_SET(x) _mm_set1_epi64x((long long)(x))
#define KV_LOAD(p) _mm_load_si128((const __m128i *)(p))
#define KV_STORE(p, v) _mm_store_si128((__m128i *)(p), v)
#define KV_XOR(a, b) _mm_xor_si128(a, b)
#define KV_XOR3(a, b, c) _mm_xor_si128(a, _mm_xor_si128(b, c))
#define KV_CHI(a, b, c) _mm_xor_si128(a, _mm_andnot_si128(b, c))
#define KV_ROL(a, n)                                                           \
    _mm_or_si128(_mm_slli_epi64(a, n), _mm_srli_epi64(a, 64 - (n)))
#define LABEL_LE64(x) (x)

#include "kernel/keccak.inc"
#include "kernel/label_core.inc"

#define ROL(x, n) _mm_or_si128(_mm_slli_epi32(x, n), _mm_srli_epi32(x, 32 - n))
#define ROL16(x) _mm_shufflehi_epi16(_mm_shufflelo_epi16(x, 0xb1), 0xb1)

/* The state of one label: rows of two ChaCha blocks. */
typedef struct row_state {
    __m128i row[8];
} row_state;

/* One round on four columns. */
#define ROUND()                                                                \
    do {                                                                       \
        a = _mm_add_epi32(a, b), d = ROL16(_mm_xor_si128(d, a));               \
        c = _mm_add_epi32(c, d), b = _mm_xor_si128(b, c), b = ROL(b, 12);      \
        a = _mm_add_epi32(a, b), d = _mm_xor_si128(d, a), d = ROL(d, 8);       \
        c = _mm_add_epi32(c, d), b = _mm_xor_si128(b, c), b = ROL(b, 7);       \
    } while (0)

/*
 * out = ChaCha20/8(in). Row b is ready last in each round, so it stays where
 * it is and the other rows turn: no shuffle lies on the longest path.
 */
static inline void chacha(__m128i x[4])
{
    __m128i a = x[0], b = x[1], c = x[2], d = x[3];
    for (int i = 0; i < 4; ++i) {
        ROUND();
        a = _mm_shuffle_epi32(a, 0x93);
        d = _mm_shuffle_epi32(d, 0x4e);
        c = _mm_shuffle_epi32(c, 0x39);
        ROUND();
        a = _mm_shuffle_epi32(a, 0x39);
        d = _mm_shuffle_epi32(d, 0x4e);
        c = _mm_shuffle_epi32(c, 0x93);
    }
    x[0] = _mm_add_epi32(x[0], a);
    x[1] = _mm_add_epi32(x[1], b);
    x[2] = _mm_add_epi32(x[2], c);
    x[3] = _mm_add_epi32(x[3], d);
}

static inline void block_mix(__m128i x[8])
{
    for (size_t r = 0; r < 4; ++r)
        x[r] = _mm_xor_si128(x[r], x[4 + r]);
    chacha(x);
    for (size_t r = 0; r < 4; ++r)
        x[4 + r] = _mm_xor_si128(x[4 + r], x[r]);
    chacha(x + 4);
}

static void ro_mix(row_state *s, row_state *v, uint32_t log_n)
{
    const size_t n = (size_t)1 << log_n;
    __m128i x[8];
    for (size_t r = 0; r < 8; ++r)
        x[r] = s->row[r];
    for (size_t i = 0; i < n; ++i) {
        for (size_t r = 0; r < 8; ++r)
            v[i].row[r] = x[r];
        block_mix(x);
    }
    for (size_t i = 0; i < n; ++i) {
        const size_t j = (uint32_t)_mm_cvtsi128_si32(x[4]) & (n - 1);
        for (size_t r = 0; r < 8; ++r)
            x[r] = _mm_xor_si128(x[r], v[j].row[r]);
        block_mix(x);
    }
    for (size_t r = 0; r < 8; ++r)
        s->row[r] = x[r];
}

static void run_1(const hfi_label_req *reqs, size_t count, uint32_t log_n,
                  uint8_t *out32, void *scratch)
{
    row_state *v = (row_state *)((uint8_t *)scratch + HFI_LABEL_SCRATCH_FIXED);
    row_state *s = scratch;
    uint64_t *blocks = (uint64_t *)scratch;
    label_expand(blocks, reqs, count);
    ro_mix(s, v, log_n);
    label_finish(out32, reqs, count, blocks);
}

static const hfi_label_shape shapes[] = {{1, run_1}};

const hfi_label_kernel hfi_label_sse2 = {"sse2", shapes, 1, 0};

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Labels with the 128-bit vectors that every x86-64 has, in rows: a vector is
 * one row of a ChaCha block. The single lane is the yardstick of benchmarks.
 */
#include "kernel/kernel_internal.h"

#include <emmintrin.h>

typedef __m128i KV;
#define KV_LANES         2
#define KV_SET(x)        _mm_set1_epi64x((long long)(x))
#define KV_LOAD(p)       _mm_load_si128((const __m128i *)(p))
#define KV_STORE(p, v)   _mm_store_si128((__m128i *)(p), v)
#define KV_XOR(a, b)     _mm_xor_si128(a, b)
#define KV_XOR3(a, b, c) _mm_xor_si128(a, _mm_xor_si128(b, c))
#define KV_CHI(a, b, c)  _mm_xor_si128(a, _mm_andnot_si128(b, c))
#define KV_ROL(a, n)                                                           \
    _mm_or_si128(_mm_slli_epi64(a, n), _mm_srli_epi64(a, 64 - (n)))
#define LABEL_LE64(x) (x)

#include "kernel/keccak.inc"
#include "kernel/label_core.inc"

typedef __m128i RV;
#define RV_LANES     1
#define RV_ADD(a, b) _mm_add_epi32(a, b)
#define RV_XOR(a, b) _mm_xor_si128(a, b)
#define RV_ROL(x, n)                                                           \
    ((n) == 16                                                                 \
         ? _mm_shufflehi_epi16(_mm_shufflelo_epi16(x, 0xb1), 0xb1)             \
         : _mm_or_si128(_mm_slli_epi32(x, n), _mm_srli_epi32(x, 32 - (n))))
#define RV_TURN(x, imm) _mm_shuffle_epi32(x, imm)

static inline void rows_first(uint32_t first[1], RV x)
{
    first[0] = (uint32_t)_mm_cvtsi128_si32(x);
}

static inline RV rows_load(const uint8_t *const row[1], size_t offset)
{
    return _mm_load_si128((const __m128i *)(row[0] + offset));
}

static inline void rows_store(uint8_t *to, RV x)
{
    _mm_store_si128((__m128i *)to, x);
}

#include "kernel/label_rows.inc"

static const hfi_label_shape shapes[] = {{1, run_rows}};

const hfi_label_kernel hfi_label_sse2 = {"sse2", shapes, 1, 0};

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Labels with AVX2: eight labels to a set, in columns.
 */
#include "kernel/kernel_internal.h"

#include <immintrin.h>

typedef __m256i KV;
#define KV_LANES 4
#define KV_SET(x) _mm256_set1_epi64x((long long)(x))
#define KV_LOAD(p) _mm256_load_si256((const __m256i *)(p))
#define KV_STORE(p, v) _mm256_store_si256((__m256i *)(p), v)
#define KV_XOR(a, b) _mm256_xor_si256(a, b)
#define KV_XOR3(a, b, c) _mm256_xor_si256(a, _mm256_xor_si256(b, c))
#define KV_CHI(a, b, c) _mm256_xor_si256(a, _mm256_andnot_si256(b, c))
#define KV_ROL(a, n)                                                           \
    _mm256_or_si256(_mm256_slli_epi64(a, n), _mm256_srli_epi64(a, 64 - (n)))
#define LABEL_LE64(x) (x)

#include "kernel/keccak.inc"
#include "kernel/label_core.inc"

typedef __m256i CV;
#define CV_LANES 8
#define CV_ADD(a, b) _mm256_add_epi32(a, b)
#define CV_XOR(a, b) _mm256_xor_si256(a, b)
#define CV_XOR3(a, b, c) _mm256_xor_si256(a, _mm256_xor_si256(b, c))
#define CV_ROL(x, n)                                                           \
    ((n) % 8 == 0 ? _mm256_shuffle_epi8(x, (n) == 16 ? rol16() : rol8())       \
                  : _mm256_or_si256(_mm256_slli_epi32(x, n),                   \
                                    _mm256_srli_epi32(x, 32 - (n))))
#define CV_STORE(p, v) _mm256_store_si256((__m256i *)(p), v)
#define LABEL_PREFETCH(p) _mm_prefetch((const char *)(p), _MM_HINT_T1)
#define MAX_SETS 8

/* Byte orders of the rotations by whole bytes. */
static inline __m256i rol16(void)
{
    return _mm256_set_epi8(13, 12, 15, 14, 9, 8, 11, 10, 5, 4, 7, 6, 1, 0, 3, 2,
                           13, 12, 15, 14, 9, 8, 11, 10, 5, 4, 7, 6, 1, 0, 3,
                           2);
}

static inline __m256i rol8(void)
{
    return _mm256_set_epi8(14, 13, 12, 15, 10, 9, 8, 11, 6, 5, 4, 7, 2, 1, 0, 3,
                           14, 13, 12, 15, 10, 9, 8, 11, 6, 5, 4, 7, 2, 1, 0,
                           3);
}

/* Transposes 8 x 8 words. */
static inline void transpose(CV x[8])
{
    CV t[8];
    for (size_t i = 0; i < 8; i += 4) {
        const CV a = _mm256_unpacklo_epi32(x[i], x[i + 1]);
        const CV b = _mm256_unpackhi_epi32(x[i], x[i + 1]);
        const CV c = _mm256_unpacklo_epi32(x[i + 2], x[i + 3]);
        const CV d = _mm256_unpackhi_epi32(x[i + 2], x[i + 3]);
        t[i] = _mm256_unpacklo_epi64(a, c);
        t[i + 1] = _mm256_unpackhi_epi64(a, c);
        t[i + 2] = _mm256_unpacklo_epi64(b, d);
        t[i + 3] = _mm256_unpackhi_epi64(b, d);
    }
    for (size_t i = 0; i < 4; ++i) {
        x[i] = _mm256_permute2x128_si256(t[i], t[i + 4], 0x20);
        x[i + 4] = _mm256_permute2x128_si256(t[i], t[i + 4], 0x31);
    }
}

static inline void load_block(CV x[16], const uint8_t *const row[8],
                              size_t offset)
{
    for (size_t l = 0; l < 8; ++l) {
        const __m256i *from = (const __m256i *)(row[l] + offset);
        x[l] = _mm256_load_si256(from);
        x[8 + l] = _mm256_load_si256(from + 1);
    }
    transpose(x);
    transpose(x + 8);
}

static inline void stream_block(uint8_t *to, const CV x[16])
{
    CV t[16];
    for (size_t w = 0; w < 16; ++w)
        t[w] = x[w];
    transpose(t);
    transpose(t + 8);
    for (size_t l = 0; l < 8; ++l) {
        __m256i *at = (__m256i *)(to + 128 * l);
        _mm256_stream_si256(at, t[l]);
        _mm256_stream_si256(at + 1, t[8 + l]);
    }
}

#include "kernel/label_columns.inc"

static void run(const hfi_label_req *reqs, size_t count, uint32_t log_n,
                uint8_t *out32, void *scratch)
{
    run_columns(reqs, count, log_n, out32, scratch);
}

static const hfi_label_shape shapes[] = {
    {8, run}, {16, run}, {24, run}, {32, run}, {48, run}, {64, run}};

const hfi_label_kernel hfi_label_avx2 = {"avx2", shapes, 6, 4};

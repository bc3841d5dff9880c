/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Labels with AVX2: eight labels to a set, in columns; two in rows.
 */
#include "kernel/kernel_internal.h"

#include <immintrin.h>

typedef __m256i KV;
#define KV_LANES         4
#define KV_SET(x)        _mm256_set1_epi64x((long long)(x))
#define KV_LOAD(p)       _mm256_load_si256((const __m256i *)(p))
#define KV_STORE(p, v)   _mm256_store_si256((__m256i *)(p), v)
#define KV_XOR(a, b)     _mm256_xor_si256(a, b)
#define KV_XOR3(a, b, c) _mm256_xor_si256(a, _mm256_xor_si256(b, c))
#define KV_CHI(a, b, c)  _mm256_xor_si256(a, _mm256_andnot_si256(b, c))
#define KV_ROL(a, n)                                                           \
    _mm256_or_si256(_mm256_slli_epi64(a, n), _mm256_srli_epi64(a, 64 - (n)))
#define LABEL_LE64(x) (x)

#include "kernel/keccak.inc"
#include "kernel/label_core.inc"

typedef __m256i RV;
#define RV_LANES     2
#define RV_ADD(a, b) _mm256_add_epi32(a, b)
#define RV_XOR(a, b) _mm256_xor_si256(a, b)
#define RV_ROL(x, n)                                                           \
    ((n) == 16  ? _mm256_shuffle_epi8(x, turned(2))                            \
     : (n) == 8 ? _mm256_shuffle_epi8(x, turned(3))                            \
                : _mm256_or_si256(_mm256_slli_epi32(x, n),                     \
                                  _mm256_srli_epi32(x, 32 - (n))))
#define RV_TURN(x, imm) _mm256_shuffle_epi32(x, imm)

static inline void rows_first(uint32_t first[2], RV x)
{
    first[0] = (uint32_t)_mm256_extract_epi32(x, 0);
    first[1] = (uint32_t)_mm256_extract_epi32(x, 4);
}

/* Bytes of each word from `first` on: a rotation by whole bytes. */
static inline __m256i turned(int first)
{
    const int order = first | ((first + 1) & 3) << 8 | ((first + 2) & 3) << 16 |
                      ((first + 3) & 3) << 24;
    return _mm256_add_epi32(_mm256_set1_epi32(order),
                            _mm256_setr_epi32(0, 0x04040404, 0x08080808,
                                              0x0c0c0c0c, 0, 0x04040404,
                                              0x08080808, 0x0c0c0c0c));
}

static inline RV rows_load(const uint8_t *const row[2], size_t offset)
{
    return _mm256_inserti128_si256(
        _mm256_castsi128_si256(
            _mm_load_si128((const __m128i *)(row[0] + offset))),
        _mm_load_si128((const __m128i *)(row[1] + offset)), 1);
}

static inline void rows_store(uint8_t *to, RV x)
{
    _mm_store_si128((__m128i *)to, _mm256_castsi256_si128(x));
    _mm_store_si128((__m128i *)(to + 128), _mm256_extracti128_si256(x, 1));
}

#include "kernel/label_rows.inc"

typedef __m256i CV;
#define CV_LANES       8
#define CV_STORE(p, v) _mm256_store_si256((__m256i *)(p), v)
#define MAX_SETS       8

/* Generated code; see label_columns.inc. */
struct column_set;
void hfi_label_avx2_fill(struct column_set *set, uint8_t *to, CV work[32]);
void hfi_label_avx2_mix_alone(struct column_set *set, void *unused,
                              CV work[32]);
void hfi_label_avx2_mix(struct column_set *set, struct column_set *other,
                        CV work[32]);
#define fill_step(s, to, work)        hfi_label_avx2_fill(s, to, work)
#define mix_step(s, work)             hfi_label_avx2_mix_alone(s, NULL, work)
#define mix_find_step(s, other, work) hfi_label_avx2_mix(s, other, work)

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
        const __m256i *from = (const __m256i *)(row[l] + 128 * l + offset);
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

static const hfi_label_shape shapes[] = {
    {2, run_rows},     {8, run_columns},  {16, run_columns}, {24, run_columns},
    {32, run_columns}, {48, run_columns}, {64, run_columns}};

const hfi_label_kernel hfi_label_avx2 = {"avx2", shapes, 7, 4};

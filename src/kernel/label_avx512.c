/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Labels with AVX-512: 16 labels to a set, in columns.
 */
#include "kernel/kernel_internal.h"

#include <immintrin.h>

typedef __m512i KV;
#define KV_LANES 8
#define KV_SET(x) _mm512_set1_epi64((long long)(x))
#define KV_LOAD(p) _mm512_load_si512(p)
#define KV_STORE(p, v) _mm512_store_si512(p, v)
#define KV_XOR(a, b) _mm512_xor_si512(a, b)
#define KV_XOR3(a, b, c) _mm512_ternarylogic_epi64(a, b, c, 0x96)
#define KV_CHI(a, b, c) _mm512_ternarylogic_epi64(a, b, c, 0xd2)
#define KV_ROL(a, n) _mm512_rol_epi64(a, n)
#define LABEL_LE64(x) (x)

#include "kernel/keccak.inc"
#include "kernel/label_core.inc"

typedef __m512i CV;
#define CV_LANES 16
#define CV_ADD(a, b) _mm512_add_epi32(a, b)
#define CV_XOR(a, b) _mm512_xor_si512(a, b)
#define CV_XOR3(a, b, c) _mm512_ternarylogic_epi32(a, b, c, 0x96)
#define CV_ROL(x, n) _mm512_rol_epi32(x, n)
#define CV_STORE(p, v) _mm512_store_si512(p, v)
#define LABEL_PREFETCH(p) _mm_prefetch((const char *)(p), _MM_HINT_T1)
#define MAX_SETS 4

/* Transposes 16 x 16 words. */
static inline void transpose(CV x[16])
{
    CV t[16];
    for (size_t i = 0; i < 16; i += 4) {
        const CV a = _mm512_unpacklo_epi32(x[i], x[i + 1]);
        const CV b = _mm512_unpackhi_epi32(x[i], x[i + 1]);
        const CV c = _mm512_unpacklo_epi32(x[i + 2], x[i + 3]);
        const CV d = _mm512_unpackhi_epi32(x[i + 2], x[i + 3]);
        t[i] = _mm512_unpacklo_epi64(a, c);
        t[i + 1] = _mm512_unpackhi_epi64(a, c);
        t[i + 2] = _mm512_unpacklo_epi64(b, d);
        t[i + 3] = _mm512_unpackhi_epi64(b, d);
    }
    for (size_t i = 0; i < 4; ++i) {
        const CV a = _mm512_shuffle_i32x4(t[i], t[i + 4], 0x88);
        const CV b = _mm512_shuffle_i32x4(t[i], t[i + 4], 0xdd);
        const CV c = _mm512_shuffle_i32x4(t[i + 8], t[i + 12], 0x88);
        const CV d = _mm512_shuffle_i32x4(t[i + 8], t[i + 12], 0xdd);
        x[i] = _mm512_shuffle_i32x4(a, c, 0x88);
        x[i + 4] = _mm512_shuffle_i32x4(b, d, 0x88);
        x[i + 8] = _mm512_shuffle_i32x4(a, c, 0xdd);
        x[i + 12] = _mm512_shuffle_i32x4(b, d, 0xdd);
    }
}

static inline void load_block(CV x[16], const uint8_t *const row[16],
                              size_t offset)
{
    for (size_t l = 0; l < 16; ++l)
        x[l] = _mm512_load_si512(row[l] + offset);
    transpose(x);
}

static inline void stream_block(uint8_t *to, const CV x[16])
{
    CV t[16];
    for (size_t w = 0; w < 16; ++w)
        t[w] = x[w];
    transpose(t);
    for (size_t l = 0; l < 16; ++l)
        _mm512_stream_si512((void *)(to + 128 * l), t[l]);
}

#include "kernel/label_columns.inc"

static void run(const hfi_label_req *reqs, size_t count, uint32_t log_n,
                uint8_t *out32, void *scratch)
{
    run_columns(reqs, count, log_n, out32, scratch);
}

static const hfi_label_shape shapes[] = {
    {16, run}, {32, run}, {48, run}, {64, run}};

const hfi_label_kernel hfi_label_avx512 = {"avx512", shapes, 4, 2};

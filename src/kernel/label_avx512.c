/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Labels with AVX-512: 16 labels to a set, in columns; four in rows.
 */
#include "kernel/kernel_internal.h"

#include <immintrin.h>

typedef __m512i KV;
#define KV_LANES         8
#define KV_SET(x)        _mm512_set1_epi64((long long)(x))
#define KV_LOAD(p)       _mm512_load_si512(p)
#define KV_STORE(p, v)   _mm512_store_si512(p, v)
#define KV_XOR(a, b)     _mm512_xor_si512(a, b)
#define KV_XOR3(a, b, c) _mm512_ternarylogic_epi64(a, b, c, 0x96)
#define KV_CHI(a, b, c)  _mm512_ternarylogic_epi64(a, b, c, 0xd2)
#define KV_ROL(a, n)     _mm512_rol_epi64(a, n)
#define LABEL_LE64(x)    (x)

#include "kernel/keccak.inc"
#include "kernel/label_core.inc"

typedef __m512i RV;
#define RV_LANES        4
#define RV_ADD(a, b)    _mm512_add_epi32(a, b)
#define RV_XOR(a, b)    _mm512_xor_si512(a, b)
#define RV_ROL(x, n)    _mm512_rol_epi32(x, n)
#define RV_TURN(x, imm) _mm512_shuffle_epi32(x, (_MM_PERM_ENUM)(imm))

static inline void rows_first(uint32_t first[4], RV x)
{
    first[0] = (uint32_t)_mm_cvtsi128_si32(_mm512_castsi512_si128(x));
    first[1] = (uint32_t)_mm_cvtsi128_si32(_mm512_extracti32x4_epi32(x, 1));
    first[2] = (uint32_t)_mm_cvtsi128_si32(_mm512_extracti32x4_epi32(x, 2));
    first[3] = (uint32_t)_mm_cvtsi128_si32(_mm512_extracti32x4_epi32(x, 3));
}

static inline RV rows_load(const uint8_t *const row[4], size_t offset)
{
    RV x = _mm512_castsi128_si512(
        _mm_load_si128((const __m128i *)(row[0] + offset)));
    for (int l = 1; l < 4; ++l) {
        const __m128i *from = (const __m128i *)(row[l] + offset);
        x = _mm512_mask_broadcast_i32x4(x, (__mmask16)(0xf << 4 * l),
                                        _mm_load_si128(from));
    }
    return x;
}

static inline void rows_store(uint8_t *to, RV x)
{
    _mm_store_si128((__m128i *)to, _mm512_castsi512_si128(x));
    _mm_store_si128((__m128i *)(to + 128), _mm512_extracti32x4_epi32(x, 1));
    _mm_store_si128((__m128i *)(to + 256), _mm512_extracti32x4_epi32(x, 2));
    _mm_store_si128((__m128i *)(to + 384), _mm512_extracti32x4_epi32(x, 3));
}

#include "kernel/label_rows.inc"

typedef __m512i CV;
#define CV_LANES       16
#define CV_XOR(a, b)   _mm512_xor_si512(a, b)
#define CV_STORE(p, v) _mm512_store_si512(p, v)
#define MAX_SETS       4

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
        x[l] = _mm512_load_si512(row[l] + 128 * l + offset);
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

/*
 * Generated code, one step of `set`. `fill`: the state of `done` goes to `to`
 * meanwhile. `mix`: `next` takes in its rows and those of `done` are found; in
 * the place of x0 it finds and leaves x0 ^ x1.
 */
struct column_set;
void hfi_label_avx512_step(struct column_set *set, void *unused, void *unused2,
                           CV work[32]);
void hfi_label_avx512_fill(struct column_set *set,
                           const struct column_set *done, uint8_t *to,
                           CV work[32]);
void hfi_label_avx512_mix(struct column_set *set, struct column_set *done,
                          struct column_set *next, CV work[32]);

static void take_in(struct column_set *s);
static void stream_state(uint8_t *to, const CV x[32]);

#define fill_step(s, to, work)                                                 \
    (stream_state(to, (s)->x), hfi_label_avx512_step(s, NULL, NULL, work))
#define mix_step(s, work)                                                      \
    (take_in(s), hfi_label_avx512_step(s, NULL, NULL, work))

#include "kernel/label_columns.inc"

/* Adds each label's row to its state. */
static void take_in(column_set *s)
{
    for (size_t half = 0; half < 2; ++half) {
        CV *x = &s->x[16 * half];
        CV t[16];
        load_block(t, s->row, 64 * half);
        for (size_t w = 0; w < 16; ++w)
            x[w] = CV_XOR(x[w], t[w]);
    }
}

/* Row j of each set goes to V during the step of the set after it. */
static void woven_fill(column_scratch *c, size_t sets, size_t n)
{
    const column_set *done = &c->set[sets - 1];
    uint8_t *to = done->v;
    for (size_t i = 0; i + 1 < sets; ++i)
        stream_state(c->set[i].v, c->set[i].x);
    for (size_t j = 1; j <= n; ++j)
        for (size_t i = 0; i < sets; ++i) {
            column_set *s = &c->set[i];
            hfi_label_avx512_fill(s, done, to, c->work);
            done = s;
            /* Row N exists only as the state. */
            to = j < n ? s->v + j * CV_ROW : c->spare;
        }
}

static void woven_mix(column_scratch *c, size_t sets, size_t n)
{
    for (size_t i = 0; i < sets; ++i)
        find_rows(&c->set[i]);
    take_in(&c->set[0]);
    /* The generated code wants x0 ^ x1 in the place of x0. */
    for (size_t w = 0; w < 16; ++w)
        c->set[0].x[w] = CV_XOR(c->set[0].x[w], c->set[0].x[16 + w]);
    c->idle = c->set[0];
    for (size_t j = 0; j < n; ++j)
        for (size_t i = 0; i < sets; ++i) {
            column_set *done = &c->set[(i == 0 ? sets : i) - 1];
            column_set *next = &c->set[i + 1 < sets ? i + 1 : 0];
            if (j + 1 == n && i + 1 == sets)
                next = &c->idle;
            hfi_label_avx512_mix(&c->set[i], done, next, c->work);
        }
}

/* The fast shapes: the sets must be three, to be different in every call. */
static void run_woven(const hfi_label_req *reqs, size_t count, uint32_t log_n,
                      uint8_t *out32, void *scratch)
{
    column_scratch *c = scratch;
    const size_t sets = open_sets(c, 3, reqs, count, log_n);
    woven_fill(c, sets, (size_t)1 << log_n);
    woven_mix(c, sets, (size_t)1 << log_n);
    close_sets(c, reqs, count, out32);
}

static const hfi_label_shape shapes[] = {
    {4, run_rows},   {16, run_columns}, {32, run_columns},
    {48, run_woven}, {64, run_woven},
};

const hfi_label_kernel hfi_label_avx512 = {"avx512", shapes, 5, 4};

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
#define CV_XOR(a, b) _mm512_xor_si512(a, b)
#define CV_STORE(p, v) _mm512_store_si512(p, v)
#define MAX_SETS 2

/* The generated code below. */
void hfi_label_avx512_step(CV x[32], CV *unused, CV *unused2, CV work[32]);
#define mix_blocks(x, work) hfi_label_avx512_step(x, NULL, NULL, work)

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

/*
 * The fast shapes: three or four sets in rotation, each step one call of
 * generated code, which moves the data of two other sets meanwhile.
 */
typedef struct woven_set {
    CV x[32]; /* the state: word w of all labels */
    uint8_t *v;
    uint64_t mask;                /* N - 1 */
    const uint8_t *row[CV_LANES]; /* rows of V taken in next, less 128 * l */
} woven_set;

enum { WOVEN_MIN = 3, WOVEN_MAX = 4 };

typedef struct woven_scratch {
    woven_set set[WOVEN_MAX];
    woven_set idle; /* stands in where no set has work */
    CV work[32];
    _Alignas(64) uint64_t blocks[16 * CV_LANES * WOVEN_MAX];
    _Alignas(64) uint8_t spare[CV_ROW];
} woven_scratch;

_Static_assert(sizeof(woven_scratch) <= HFI_LABEL_SCRATCH_FIXED,
               "the fixed part of the scratch is too small");
_Static_assert(offsetof(woven_set, v) == 2048 &&
                   offsetof(woven_set, mask) == 2056 &&
                   offsetof(woven_set, row) == 2064 && CV_ROW == 1 << 11,
               "the generated code knows these");

void hfi_label_avx512_fill(woven_set *set, const woven_set *done, uint8_t *to,
                           CV *work);
void hfi_label_avx512_mix(woven_set *set, woven_set *done, woven_set *next,
                          CV *work);

/* Row j of each set goes to V during the step of the set after it. */
static void woven_fill(woven_scratch *c, size_t sets, size_t n)
{
    const woven_set *done = &c->set[sets - 1];
    uint8_t *to = done->v;
    for (size_t i = 0; i + 1 < sets; ++i)
        stream_state(c->set[i].v, c->set[i].x);
    for (size_t j = 1; j <= n; ++j)
        for (size_t i = 0; i < sets; ++i) {
            woven_set *s = &c->set[i];
            hfi_label_avx512_fill(s, done, to, c->work);
            done = s;
            /* Row N exists only as the state. */
            to = j < n ? s->v + j * CV_ROW : c->spare;
        }
}

/* Finds the rows of a set for the first step. */
static void first_rows(woven_set *s)
{
    _Alignas(64) uint32_t j[CV_LANES];
    CV_STORE(j, s->x[16]);
    for (size_t l = 0; l < CV_LANES; ++l)
        s->row[l] = s->v + (j[l] & s->mask) * CV_ROW;
}

static void take_in_first(woven_set *s)
{
    const uint8_t *row[CV_LANES];
    for (size_t l = 0; l < CV_LANES; ++l)
        row[l] = s->row[l] + 128 * l;
    take_in(s->x, row);
}

static void woven_mix(woven_scratch *c, size_t sets, size_t n)
{
    for (size_t i = 0; i < sets; ++i)
        first_rows(&c->set[i]);
    take_in_first(&c->set[0]);
    c->idle = c->set[0];
    for (size_t j = 0; j < n; ++j)
        for (size_t i = 0; i < sets; ++i) {
            woven_set *done = &c->set[i == 0 ? sets - 1 : i - 1];
            woven_set *next = i + 1 < sets   ? &c->set[i + 1]
                              : j + 1 < n ? &c->set[0]
                                             : &c->idle;
            hfi_label_avx512_mix(&c->set[i], done, next, c->work);
        }
}

static void run_woven(const hfi_label_req *reqs, size_t count, uint32_t log_n,
                      uint8_t *out32, void *scratch)
{
    woven_scratch *c = scratch;
    const size_t n = (size_t)1 << log_n;
    const size_t full = (count + CV_LANES - 1) / CV_LANES;
    const size_t sets = full < WOVEN_MIN ? (size_t)WOVEN_MIN : full;
    label_expand(c->blocks, reqs, count);
    for (size_t i = 0; i < sets; ++i) {
        woven_set *s = &c->set[i];
        const uint8_t *row[CV_LANES];
        for (size_t l = 0; l < CV_LANES; ++l)
            row[l] = (uint8_t *)&c->blocks[16 * (CV_LANES * i + l)];
        s->v = (uint8_t *)scratch + HFI_LABEL_SCRATCH_FIXED + i * n * CV_ROW;
        s->mask = n - 1;
        load_state(s->x, row);
    }
    woven_fill(c, sets, n);
    woven_mix(c, sets, n);
    for (size_t i = 0; i < full; ++i)
        stream_state((uint8_t *)&c->blocks[16 * CV_LANES * i], c->set[i].x);
    label_finish(out32, reqs, count, c->blocks);
}

static const hfi_label_shape shapes[] = {
    {16, run_columns}, {32, run_columns}, {48, run_woven}, {64, run_woven}};

const hfi_label_kernel hfi_label_avx512 = {"avx512", shapes, 4, 3};

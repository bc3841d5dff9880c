/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The scan by the AES instructions of x86-64, eight blocks in flight (latency
 * four cycles, two a cycle). With real difficulties `msb` is 0, so one label in
 * 16 has a byte that the second cipher must settle. A branch on that would be
 * mispredicted all the time, hence two passes over a piece of labels: the
 * first collects such bytes as candidates without branching, the second
 * settles eight of them at a time.
 */
#include "kernel/kernel_internal.h"

#include <smmintrin.h>
#include <string.h>
#include <wmmintrin.h>

enum { PIECE = 512, LANES = 8 };

/* Labels of a piece whose group bytes are not above `msb`. */
typedef struct piece {
    size_t count;
    uint32_t candidate[16 * PIECE + LANES]; /* as hit words, ascending */
    uint16_t below[PIECE]; /* bit i: byte i is below msb, no need to settle */
} piece;

static inline __m128i round_key(const hfi_aes_key *key, int r)
{
    return _mm_load_si128((const __m128i *)key->round[r]);
}

static inline __m128i load(const uint8_t *p)
{
    return _mm_loadu_si128((const __m128i *)p);
}

static void expand(hfi_aes_key *key, const uint8_t bytes[16])
{
    hfi_aes_portable.expand(key, bytes);
}

static inline __m128i encrypt_one(const hfi_aes_key *key, __m128i x)
{
    x = _mm_xor_si128(x, round_key(key, 0));
    for (int r = 1; r < 10; r++)
        x = _mm_aesenc_si128(x, round_key(key, r));
    return _mm_aesenclast_si128(x, round_key(key, 10));
}

static inline void encrypt_lanes(const hfi_aes_key *key, __m128i x[LANES],
                                 const uint8_t *in)
{
    __m128i k = round_key(key, 0);

    for (int i = 0; i < LANES; i++)
        x[i] = _mm_xor_si128(load(in + 16 * i), k);
    for (int r = 1; r < 10; r++) {
        k = round_key(key, r);
        for (int i = 0; i < LANES; i++)
            x[i] = _mm_aesenc_si128(x[i], k);
    }
    k = round_key(key, 10);
    for (int i = 0; i < LANES; i++)
        x[i] = _mm_aesenclast_si128(x[i], k);
}

static void encrypt(const hfi_aes_key *key, uint8_t *out, const uint8_t *in,
                    size_t blocks)
{
    __m128i x[LANES];

    for (; blocks >= LANES; blocks -= LANES) {
        encrypt_lanes(key, x, in);
        for (int i = 0; i < LANES; i++)
            _mm_storeu_si128((__m128i *)(out + 16 * i), x[i]);
        in += 16 * LANES;
        out += 16 * LANES;
    }
    for (; blocks > 0; blocks--, in += 16, out += 16)
        _mm_storeu_si128((__m128i *)out, encrypt_one(key, load(in)));
}

/*
 * Appends the set bits of four labels' masks. Mostly none or one is set and
 * two hardly ever exceeded, so two are taken without a branch; what is written
 * beyond `count` is overwritten or ignored.
 */
static inline size_t collect(uint32_t *candidate, size_t count, uint64_t bits,
                             uint32_t first)
{
    const uint64_t guard = UINT64_C(1) << 63; /* ctz of 0 is undefined */

    candidate[count] = first + (uint32_t)__builtin_ctzll(bits | guard);
    count += bits != 0;
    bits &= bits - 1;
    candidate[count] = first + (uint32_t)__builtin_ctzll(bits | guard);
    count += bits != 0;
    bits &= bits - 1;
    while (__builtin_expect(bits != 0, 0)) {
        candidate[count++] = first + (uint32_t)__builtin_ctzll(bits);
        bits &= bits - 1;
    }
    return count;
}

static inline uint64_t mask(__m128i bytes)
{
    return (uint64_t)(uint32_t)_mm_movemask_epi8(bytes);
}

/* Eight labels at position `at` of the piece, of which `valid` count. */
static inline void scan_lanes(piece *p, const hfi_scan *scan,
                              const uint8_t *labels, size_t at, size_t valid,
                              bool msb_is_zero)
{
    const __m128i msb = _mm_set1_epi8((char)scan->msb);
    uint64_t bits[2] = {0, 0};
    __m128i x[LANES];

    encrypt_lanes(&scan->group, x, labels);
    for (int i = 0; i < LANES; i++) {
        __m128i le = _mm_cmpeq_epi8(_mm_min_epu8(x[i], msb), x[i]);
        bits[i / 4] |= mask(le) << 16 * (i % 4);
        if (!msb_is_zero) {
            __m128i lt = _mm_andnot_si128(_mm_cmpeq_epi8(x[i], msb), le);
            p->below[at + (size_t)i] = (uint16_t)mask(lt);
        }
    }
    if (valid < LANES) { /* valid >= 1 */
        uint64_t keep = UINT64_MAX >> 16 * (3 - (valid - 1) % 4);
        bits[1] = valid > 4 ? bits[1] & keep : 0;
        bits[0] = valid < 4 ? bits[0] & keep : bits[0];
    }
    p->count = collect(p->candidate, p->count, bits[0], (uint32_t)at << 4);
    p->count = collect(p->candidate, p->count, bits[1], (uint32_t)at << 4 | 64);
}

static inline void scan_piece(piece *p, const hfi_scan *scan,
                              const uint8_t *labels, size_t count,
                              bool msb_is_zero)
{
    size_t at = 0;

    p->count = 0;
    for (; count - at >= LANES; at += LANES)
        scan_lanes(p, scan, labels + 16 * at, at, LANES, msb_is_zero);
    if (at < count) {
        uint8_t last[16 * LANES] = {0};

        memcpy(last, labels + 16 * at, 16 * (count - at));
        scan_lanes(p, scan, last, at, count - at, msb_is_zero);
    }
}

/* The low 56 bits of eight labels, each under the cipher of its nonce. */
static inline void settle_lanes(uint64_t value[LANES], const hfi_scan *scan,
                                const uint8_t *labels, const uint32_t *words)
{
    const hfi_aes_key *key[LANES];
    __m128i x[LANES];

    for (int i = 0; i < LANES; i++) {
        key[i] = &scan->lazy[words[i] & 15];
        x[i] = _mm_xor_si128(load(labels + (words[i] & ~15u)),
                             round_key(key[i], 0));
    }
    for (int r = 1; r < 10; r++)
        for (int i = 0; i < LANES; i++)
            x[i] = _mm_aesenc_si128(x[i], round_key(key[i], r));
    for (int i = 0; i < LANES; i++) {
        x[i] = _mm_aesenclast_si128(x[i], round_key(key[i], 10));
        value[i] = (uint64_t)_mm_cvtsi128_si64(x[i]) & (UINT64_MAX >> 8);
    }
}

/*
 * Writes the hits among the candidates; `first` is the piece's position. A hit
 * word is written before it is known to be one, which stays within the room
 * for `hits`: there are never more hits than candidates before it.
 */
static size_t settle_piece(piece *p, const hfi_scan *scan,
                           const uint8_t *labels, uint32_t first,
                           uint32_t *hits)
{
    size_t n = 0;

    for (int i = 0; i < LANES; i++)
        p->candidate[p->count + (size_t)i] = 0; /* fill the last eight */
    for (size_t at = 0; at < p->count; at += LANES) {
        const uint32_t *word = p->candidate + at;
        size_t left = p->count - at < LANES ? p->count - at : LANES;
        uint64_t value[LANES];

        settle_lanes(value, scan, labels, word);
        for (size_t i = 0; i < left; i++) {
            unsigned below = p->below[word[i] >> 4] >> (word[i] & 15);
            hits[n] = word[i] + (first << 4);
            n += (value[i] < scan->lsb56) | (below & 1);
        }
    }
    return n;
}

static size_t scan_labels(const hfi_scan *scan, const uint8_t *labels,
                          size_t count, uint32_t *hits)
{
    piece p;
    size_t n = 0;

    memset(p.below, 0, sizeof p.below);
    for (size_t at = 0; at < count; at += PIECE) {
        size_t take = count - at < PIECE ? count - at : PIECE;
        const uint8_t *part = labels + 16 * at;

        if (scan->msb == 0)
            scan_piece(&p, scan, part, take, true);
        else
            scan_piece(&p, scan, part, take, false);
        n += settle_piece(&p, scan, part, (uint32_t)at, hits + n);
    }
    return n;
}

const hfi_aes_kernel hfi_aes_ni = {"ni", expand, encrypt, scan_labels};

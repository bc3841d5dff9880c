/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * CRC32C by the SSE4.2 instruction. Its latency is three cycles and one can
 * start in each, so long inputs run as three streams; a stream's value is then
 * moved over the n bytes that follow it by a product with x^(8n) mod P.
 */
#include "hash/crc32c_internal.h"

#include <nmmintrin.h>
#include <string.h>
#include <wmmintrin.h>

/*
 * Bytes of one stream, and x^(8n - 33) mod P, reflected, for one and for two
 * streams' bytes. The 33 are given back by the instruction (32) and by the
 * reflected product, which is one bit short of 64 (1).
 */
enum { LONG_BYTES = 2048, SHORT_BYTES = 128 };
#define LONG_ONE  0xa51b6135
#define LONG_TWO  0x82f89c77
#define SHORT_ONE 0x0d3b6092
#define SHORT_TWO 0xb9e02b86

static inline uint64_t load(const uint8_t *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof v);
    return v;
}

static inline uint64_t times(uint64_t a, uint64_t b)
{
    __m128i p = _mm_clmulepi64_si128(_mm_cvtsi64_si128((long long)a),
                                     _mm_cvtsi64_si128((long long)b), 0);

    return (uint64_t)_mm_cvtsi128_si64(p);
}

/* Three adjacent streams of `n` bytes. */
static inline uint64_t streams(uint64_t crc, const uint8_t *p, size_t n,
                               uint64_t one, uint64_t two)
{
    uint64_t b = 0;
    uint64_t c = 0;

    for (size_t i = 0; i < n; i += 8) {
        crc = _mm_crc32_u64(crc, load(p + i));
        b = _mm_crc32_u64(b, load(p + n + i));
        c = _mm_crc32_u64(c, load(p + 2 * n + i));
    }
    return _mm_crc32_u64(0, times(crc, two) ^ times(b, one)) ^ c;
}

uint32_t hfi_crc32c_sse42(uint32_t crc, const void *data, size_t bytes)
{
    const uint8_t *p = data;
    uint64_t c = ~crc & 0xffffffffu;

    for (; bytes >= 3 * LONG_BYTES; bytes -= 3 * LONG_BYTES) {
        c = streams(c, p, LONG_BYTES, LONG_ONE, LONG_TWO);
        p += 3 * LONG_BYTES;
    }
    for (; bytes >= 3 * SHORT_BYTES; bytes -= 3 * SHORT_BYTES) {
        c = streams(c, p, SHORT_BYTES, SHORT_ONE, SHORT_TWO);
        p += 3 * SHORT_BYTES;
    }
    for (; bytes >= 8; bytes -= 8, p += 8)
        c = _mm_crc32_u64(c, load(p));
    for (; bytes > 0; bytes--, p++)
        c = _mm_crc32_u8((uint32_t)c, *p);
    return ~(uint32_t)c;
}

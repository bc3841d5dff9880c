/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * CRC32C (polynomial 0x1edc6f41, reflected, all ones in and out), eight bytes
 * a step by tables, or by the CPU's instruction where there is one. The state
 * between calls is the finished value, so pieces chain.
 */
#include "hash/hash.h"

#include "base/base.h"
#include "hash/crc32c_internal.h"

/*
 * Row k holds the CRC of each byte followed by k zero bytes. The rows are
 * linear, so the entries of the eight single bits give all 256.
 */
#define T1(x, a)             (x), (x) ^ (a)
#define T2(x, a, b)          T1(x, a), T1((x) ^ (b), a)
#define T3(x, a, b, c)       T2(x, a, b), T2((x) ^ (c), a, b)
#define T4(x, a, b, c, d)    T3(x, a, b, c), T3((x) ^ (d), a, b, c)
#define T5(x, a, b, c, d, e) T4(x, a, b, c, d), T4((x) ^ (e), a, b, c, d)
#define T6(x, a, b, c, d, e, f)                                                \
    T5(x, a, b, c, d, e), T5((x) ^ (f), a, b, c, d, e)
#define T7(x, a, b, c, d, e, f, g)                                             \
    T6(x, a, b, c, d, e, f), T6((x) ^ (g), a, b, c, d, e, f)
#define T8(x, a, b, c, d, e, f, g, h)                                          \
    T7(x, a, b, c, d, e, f, g), T7((x) ^ (h), a, b, c, d, e, f, g)

static const uint32_t table[8][256] = {
    {T8(0u, 0xf26b8303u, 0xe13b70f7u, 0xc79a971fu, 0x8ad958cfu, 0x105ec76fu,
        0x20bd8edeu, 0x417b1dbcu, 0x82f63b78u)},
    {T8(0u, 0x13a29877u, 0x274530eeu, 0x4e8a61dcu, 0x9d14c3b8u, 0x3fc5f181u,
        0x7f8be302u, 0xff17c604u, 0xfbc3faf9u)},
    {T8(0u, 0xa541927eu, 0x4f6f520du, 0x9edea41au, 0x38513ec5u, 0x70a27d8au,
        0xe144fb14u, 0xc76580d9u, 0x8b277743u)},
    {T8(0u, 0xdd45aab8u, 0xbf672381u, 0x7b2231f3u, 0xf64463e6u, 0xe964b13du,
        0xd725148bu, 0xaba65fe7u, 0x52a0c93fu)},
    {T8(0u, 0x38116facu, 0x7022df58u, 0xe045beb0u, 0xc5670b91u, 0x8f2261d3u,
        0x1ba8b557u, 0x37516aaeu, 0x6ea2d55cu)},
    {T8(0u, 0xef306b19u, 0xdb8ca0c3u, 0xb2f53777u, 0x6006181fu, 0xc00c303eu,
        0x85f4168du, 0x0e045bebu, 0x1c08b7d6u)},
    {T8(0u, 0x68032cc8u, 0xd0065990u, 0xa5e0c5d1u, 0x4e2dfd53u, 0x9c5bfaa6u,
        0x3d5b83bdu, 0x7ab7077au, 0xf56e0ef4u)},
    {T8(0u, 0x493c7d27u, 0x9278fa4eu, 0x211d826du, 0x423b04dau, 0x847609b4u,
        0x0d006599u, 0x1a00cb32u, 0x34019664u)},
};

uint32_t hfi_crc32c_portable(uint32_t crc, const void *data, size_t bytes)
{
    const uint8_t *p = data;

    crc = ~crc;
    for (; bytes >= 8; bytes -= 8, p += 8) {
        uint32_t a = crc ^ hfi_load_u32(p);
        uint32_t b = hfi_load_u32(p + 4);
        crc = table[7][a & 255] ^ table[6][a >> 8 & 255] ^
              table[5][a >> 16 & 255] ^ table[4][a >> 24] ^ table[3][b & 255] ^
              table[2][b >> 8 & 255] ^ table[1][b >> 16 & 255] ^
              table[0][b >> 24];
    }
    for (; bytes > 0; bytes--, p++)
        crc = crc >> 8 ^ table[0][(crc ^ *p) & 255];
    return ~crc;
}

uint32_t hfi_crc32c(uint32_t crc, const void *data, size_t bytes)
{
#ifdef HFI_CRC32C_SSE42
    /* Reads what the compiler's start-up code found; no state of ours. */
    if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul"))
        return hfi_crc32c_sse42(crc, data, bytes);
#endif
    return hfi_crc32c_portable(crc, data, bytes);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* BLAKE3 and CRC32C: known answers first, then properties. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"
#include "hash/crc32c_internal.h"
#include "hash/hash.h"
#include "support/vectors.h"

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

static void assert_hex(const uint8_t *got, size_t bytes, const char *hex)
{
    char text[257];

    assert_true(2 * bytes < sizeof text);
    hfi_hex_encode(text, got, bytes);
    assert_string_equal(text, hex);
}

/* Bytes 0, 1 .. 250, 0, 1 ...: the input of the official BLAKE3 vectors. */
static uint8_t *pattern(size_t bytes)
{
    uint8_t *p = malloc(bytes + 1);

    assert_non_null(p);
    for (size_t i = 0; i < bytes; i++)
        p[i] = (uint8_t)(i % 251);
    return p;
}

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/*
 * Lengths of the official test_vectors.json and a few others; hashes by the
 * official implementation (Python package blake3).
 */
static const struct {
    size_t bytes;
    const char *hash;
} blake3_known[] = {
    {0, "af1349b9f5f9a1a6a0404dea36dcc949"
        "9bcb25c9adc112b7cc9a93cae41f3262"},
    {1, "2d3adedff11b61f14c886e35afa03673"
        "6dcd87a74d27b5c1510225d0f592e213"},
    {2, "7b7015bb92cf0b318037702a6cdd81de"
        "e41224f734684c2c122cd6359cb1ee63"},
    {3, "e1be4d7a8ab5560aa4199eea339849ba"
        "8e293d55ca0a81006726d184519e647f"},
    {7, "3f8770f387faad08faa9d8414e9f449a"
        "c68e6ff0417f673f602a646a891419fe"},
    {63, "e9bc37a594daad83be9470df7f7b3798"
         "297c3d834ce80ba85d6e207627b7db7b"},
    {64, "4eed7141ea4a5cd4b788606bd23f46e2"
         "12af9cacebacdc7d1f4c6dc7f2511b98"},
    {65, "de1e5fa0be70df6d2be8fffd0e99ceaa"
         "8eb6e8c93a63f2d8d1c30ecb6b263dee"},
    {127, "d81293fda863f008c09e92fc382a81f5"
          "a0b4a1251cba1634016a0f86a6bd640d"},
    {128, "f17e570564b26578c33bb7f44643f539"
          "624b05df1a76c81f30acd548c44b45ef"},
    {129, "683aaae9f3c5ba37eaaf072aed0f9e30"
          "bac0865137bae68b1fde4ca2aebdcb12"},
    {1023, "10108970eeda3eb932baac1428c7a216"
           "3b0e924c9a9e25b35bba72b28f70bd11"},
    {1024, "42214739f095a406f3fc83deb889744a"
           "c00df831c10daa55189b5d121c855af7"},
    {1025, "d00278ae47eb27b34faecf67b4fe263f"
           "82d5412916c1ffd97c8cb7fb814b8444"},
    {2048, "e776b6028c7cd22a4d0ba182a8bf6220"
           "5d2ef576467e838ed6f2529b85fba24a"},
    {2049, "5f4d72f40d7a5f82b15ca2b2e44b1de3"
           "c2ef86c426c95c1af0b6879522563030"},
    {3072, "b98cb0ff3623be03326b373de6b90952"
           "18513e64f1ee2edd2525c7ad1e5cffd2"},
    {3073, "7124b49501012f81cc7f11ca069ec922"
           "6cecb8a2c850cfe644e327d22d3e1cd3"},
    {5127, "80155bfcdc40aa0d13634d590494a0b9"
           "92bd79865e55ad6ef25b005746808607"},
    {8192, "aae792484c8efe4f19e2ca7d371d8c46"
           "7ffb10748d8a5a1ae579948f718a2a63"},
    {8193, "bab6c09cb8ce8cf459261398d2e7aef3"
           "5700bf488116ceb94a36d0f5f1b7bc3b"},
    {31744, "62b6960e1a44bcc1eb1a611a8d6235b6"
            "b4b78f32e7abc4fb4c6cdcce94895c47"},
    {102400, "bc3e3d41a1146b069abffad3c0d44860"
             "cf664390afce4d9661f7902e7943e085"},
};

static void test_blake3_known(void **state)
{
    uint8_t *data = pattern(102400);
    uint8_t out[32];

    (void)state;
    for (size_t i = 0; i < COUNT(blake3_known); i++) {
        hfi_blake3_hash(out, data, blake3_known[i].bytes);
        assert_hex(out, 32, blake3_known[i].hash);
    }
    free(data);
}

/* Data of tests/vectors/space/prover.json, prover_hits, and their hashes. */
static void test_blake3_xof_known(void **state)
{
    static const struct {
        size_t labels;
        const char *hash;
    } known[] = {
        {1024, "479d06ced2ee43d1dff7782900b27d0f"
               "37d737db5d0849406c8797f690b37e8c"},
        {4096, "6ce17480d6be242cabd8092a88f968a9"
               "69c2fb163b9434c54ddfbbb6721663bb"},
        {1003, "871e20ddd365d88100b0b9ca8d6d52ac"
               "65549d1c5baa74a90d0e20f9ed86d47f"},
    };
    static const char seed[] = "space vectors prover data";
    uint8_t *data = malloc(16 * 4096);
    uint8_t out[32];
    hfi_blake3 h;

    (void)state;
    assert_non_null(data);
    hfi_blake3_init(&h);
    hfi_blake3_update(&h, seed, strlen(seed));
    for (size_t i = 0; i < COUNT(known); i++) {
        hfi_blake3_xof(&h, 0, data, 16 * known[i].labels);
        hfi_blake3_hash(out, data, 16 * known[i].labels);
        assert_hex(out, 32, known[i].hash);
    }
    free(data);
}

/* labels.json: commitments, and ranges of labels that are written out. */
static void test_blake3_vectors(void **state)
{
    uint8_t in[2048], want[32], got[32];
    struct vectors v;
    size_t ranges = 0;

    (void)state;
    vectors_load(&v, "space/labels.json");
    const hfi_json *all = vectors_member(v.root, "commitments");
    assert_true(all->count >= 6);
    for (const hfi_json *c = all->child; c != NULL; c = c->next) {
        vectors_hex_exact(c, "node_id", in, 32);
        vectors_hex_exact(c, "commitment_atx_id", in + 32, 32);
        vectors_hex_exact(c, "commitment", want, 32);
        hfi_blake3_hash(got, in, 64);
        assert_memory_equal(got, want, 32);
    }
    all = vectors_member(v.root, "ranges");
    for (const hfi_json *r = all->child; r != NULL; r = r->next) {
        if (vectors_is_null(r, "labels16_concat"))
            continue;
        size_t n = vectors_hex(r, "labels16_concat", in, sizeof in);
        vectors_hex_exact(r, "labels16_concat_blake3", want, 32);
        hfi_blake3_hash(got, in, n);
        assert_memory_equal(got, want, 32);
        ranges++;
    }
    assert_int_equal(ranges, 2);
    vectors_free(&v);
}

/* Across output block 2^32, so that both words of the counter count. */
static void test_blake3_xof_far(void **state)
{
    uint8_t *data = pattern(1025);
    uint8_t out[40];
    hfi_blake3 h;

    (void)state;
    hfi_blake3_init(&h);
    hfi_blake3_update(&h, data, 1025);
    hfi_blake3_xof(&h, (UINT64_C(1) << 38) - 20, out, sizeof out);
    assert_hex(out, sizeof out,
               "3b3e66eeae3515acf621bf8eee6b4836409df10a"
               "e54e45687e25a1673882cb09f828f13b3f9e8b74");
    free(data);
}

/* A fork of the state at `first` bytes, finished, equals the one-shot hash. */
static void check_split(const hfi_blake3 *fork, const uint8_t *data,
                        size_t first, size_t bytes, const uint8_t want[32])
{
    hfi_blake3 h = *fork;
    uint8_t got[32];

    hfi_blake3_update(&h, data + first, bytes - first);
    hfi_blake3_xof(&h, 0, got, sizeof got);
    assert_memory_equal(got, want, sizeof got);
}

static void test_blake3_incremental(void **state)
{
    static const size_t lengths[] = {0,    1,    63,   64,   65,   1023,
                                     1024, 1025, 2048, 3072, 5127, 31 * 1024};
    uint8_t *data = pattern(31 * 1024);

    (void)state;
    for (size_t i = 0; i < COUNT(lengths); i++) {
        size_t n = lengths[i];
        /* All split points of the short ones; else a sample with the edges. */
        size_t stride = n > 6000 ? 37 : 1;
        uint8_t want[32];
        hfi_blake3 h;

        hfi_blake3_hash(want, data, n);
        hfi_blake3_init(&h);
        for (size_t at = 0; at <= n; at++) {
            if (at % stride == 0 || at % 1024 <= 1 || at % 1024 == 1023)
                check_split(&h, data, at, n, want);
            if (at < n)
                hfi_blake3_update(&h, data + at, 1);
        }
    }
    free(data);
}

static void test_blake3_seek(void **state)
{
    enum { TOTAL = 700 };
    uint8_t *data = pattern(3000);
    uint8_t whole[TOTAL];
    uint8_t part[TOTAL + 2];
    hfi_blake3 h;

    (void)state;
    hfi_blake3_init(&h);
    hfi_blake3_update(&h, data, 3000);
    hfi_blake3_xof(&h, 0, whole, TOTAL);
    for (size_t at = 0; at < TOTAL; at++) {
        size_t n = (at * 7) % (TOTAL - at + 1);

        memset(part, 0xa5, sizeof part);
        hfi_blake3_xof(&h, at, part + 1, n);
        assert_memory_equal(part + 1, whole + at, n);
        assert_int_equal(part[0], 0xa5);
        assert_int_equal(part[n + 1], 0xa5);
    }
    free(data);
}

typedef uint32_t (*crc_fn)(uint32_t crc, const void *data, size_t bytes);

/* RFC 3720, B.4, and the check value of the CRC catalogue. */
static void crc_known(crc_fn crc)
{
    uint8_t data[32];

    assert_int_equal(crc(0, "", 0), 0);
    assert_int_equal(crc(0, "123456789", 9), 0xe3069283u);
    memset(data, 0, sizeof data);
    assert_int_equal(crc(0, data, sizeof data), 0x8a9136aau);
    memset(data, 0xff, sizeof data);
    assert_int_equal(crc(0, data, sizeof data), 0x62a8ab43u);
    for (int i = 0; i < 32; i++)
        data[i] = (uint8_t)i;
    assert_int_equal(crc(0, data, sizeof data), 0x46dd794eu);
    for (int i = 0; i < 32; i++)
        data[i] = (uint8_t)(31 - i);
    assert_int_equal(crc(0, data, sizeof data), 0x113fdb5cu);
}

/* Bit by bit from the polynomial: shares nothing with the implementation. */
static uint32_t crc_bitwise(uint32_t crc, const uint8_t *data, size_t bytes)
{
    crc = ~crc;
    for (size_t i = 0; i < bytes; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
    }
    return ~crc;
}

static void crc_awkward(crc_fn crc)
{
    enum { BYTES = 16384 };
    uint8_t *data = malloc(BYTES);
    uint32_t seed = 1;

    assert_non_null(data);
    for (size_t i = 0; i < BYTES; i++)
        data[i] = (uint8_t)next_random(&seed);
    for (size_t n = 0; n < 1300; n++)
        assert_int_equal(crc(0x12345678u, data + n % 19, n),
                         crc_bitwise(0x12345678u, data + n % 19, n));
    for (int i = 0; i < 300; i++) {
        size_t at = next_random(&seed) % BYTES;
        size_t n = next_random(&seed) % (BYTES - at + 1);
        uint32_t start = next_random(&seed) << 8;
        assert_int_equal(crc(start, data + at, n),
                         crc_bitwise(start, data + at, n));
        assert_int_equal(crc(crc(start, data, at), data + at, n),
                         crc(start, data, at + n));
    }
    free(data);
}

static void test_crc32c(void **state)
{
    (void)state;
    crc_known(hfi_crc32c);
    crc_awkward(hfi_crc32c);
}

static void test_crc32c_portable(void **state)
{
    (void)state;
    crc_known(hfi_crc32c_portable);
    crc_awkward(hfi_crc32c_portable);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blake3_known),
        cmocka_unit_test(test_blake3_xof_known),
        cmocka_unit_test(test_blake3_vectors),
        cmocka_unit_test(test_blake3_xof_far),
        cmocka_unit_test(test_blake3_incremental),
        cmocka_unit_test(test_blake3_seek),
        cmocka_unit_test(test_crc32c),
        cmocka_unit_test(test_crc32c_portable),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

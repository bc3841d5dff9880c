/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * AES-128 encryption (FIPS 197) and the scan of labels, on any machine. This
 * is the definition of the scan. Columns are little-endian words of the state
 * whatever the machine's byte order. Table lookups depend on data: neither
 * keys nor labels are secrets here.
 */
#include "kernel/kernel_internal.h"

/* The S-box, FIPS 197, figure 7. */
/* clang-format off */
#define SBOX(X)                                                               \
    X(0x63) X(0x7c) X(0x77) X(0x7b) X(0xf2) X(0x6b) X(0x6f) X(0xc5)           \
    X(0x30) X(0x01) X(0x67) X(0x2b) X(0xfe) X(0xd7) X(0xab) X(0x76)           \
    X(0xca) X(0x82) X(0xc9) X(0x7d) X(0xfa) X(0x59) X(0x47) X(0xf0)           \
    X(0xad) X(0xd4) X(0xa2) X(0xaf) X(0x9c) X(0xa4) X(0x72) X(0xc0)           \
    X(0xb7) X(0xfd) X(0x93) X(0x26) X(0x36) X(0x3f) X(0xf7) X(0xcc)           \
    X(0x34) X(0xa5) X(0xe5) X(0xf1) X(0x71) X(0xd8) X(0x31) X(0x15)           \
    X(0x04) X(0xc7) X(0x23) X(0xc3) X(0x18) X(0x96) X(0x05) X(0x9a)           \
    X(0x07) X(0x12) X(0x80) X(0xe2) X(0xeb) X(0x27) X(0xb2) X(0x75)           \
    X(0x09) X(0x83) X(0x2c) X(0x1a) X(0x1b) X(0x6e) X(0x5a) X(0xa0)           \
    X(0x52) X(0x3b) X(0xd6) X(0xb3) X(0x29) X(0xe3) X(0x2f) X(0x84)           \
    X(0x53) X(0xd1) X(0x00) X(0xed) X(0x20) X(0xfc) X(0xb1) X(0x5b)           \
    X(0x6a) X(0xcb) X(0xbe) X(0x39) X(0x4a) X(0x4c) X(0x58) X(0xcf)           \
    X(0xd0) X(0xef) X(0xaa) X(0xfb) X(0x43) X(0x4d) X(0x33) X(0x85)           \
    X(0x45) X(0xf9) X(0x02) X(0x7f) X(0x50) X(0x3c) X(0x9f) X(0xa8)           \
    X(0x51) X(0xa3) X(0x40) X(0x8f) X(0x92) X(0x9d) X(0x38) X(0xf5)           \
    X(0xbc) X(0xb6) X(0xda) X(0x21) X(0x10) X(0xff) X(0xf3) X(0xd2)           \
    X(0xcd) X(0x0c) X(0x13) X(0xec) X(0x5f) X(0x97) X(0x44) X(0x17)           \
    X(0xc4) X(0xa7) X(0x7e) X(0x3d) X(0x64) X(0x5d) X(0x19) X(0x73)           \
    X(0x60) X(0x81) X(0x4f) X(0xdc) X(0x22) X(0x2a) X(0x90) X(0x88)           \
    X(0x46) X(0xee) X(0xb8) X(0x14) X(0xde) X(0x5e) X(0x0b) X(0xdb)           \
    X(0xe0) X(0x32) X(0x3a) X(0x0a) X(0x49) X(0x06) X(0x24) X(0x5c)           \
    X(0xc2) X(0xd3) X(0xac) X(0x62) X(0x91) X(0x95) X(0xe4) X(0x79)           \
    X(0xe7) X(0xc8) X(0x37) X(0x6d) X(0x8d) X(0xd5) X(0x4e) X(0xa9)           \
    X(0x6c) X(0x56) X(0xf4) X(0xea) X(0x65) X(0x7a) X(0xae) X(0x08)           \
    X(0xba) X(0x78) X(0x25) X(0x2e) X(0x1c) X(0xa6) X(0xb4) X(0xc6)           \
    X(0xe8) X(0xdd) X(0x74) X(0x1f) X(0x4b) X(0xbd) X(0x8b) X(0x8a)           \
    X(0x70) X(0x3e) X(0xb5) X(0x66) X(0x48) X(0x03) X(0xf6) X(0x0e)           \
    X(0x61) X(0x35) X(0x57) X(0xb9) X(0x86) X(0xc1) X(0x1d) X(0x9e)           \
    X(0xe1) X(0xf8) X(0x98) X(0x11) X(0x69) X(0xd9) X(0x8e) X(0x94)           \
    X(0x9b) X(0x1e) X(0x87) X(0xe9) X(0xce) X(0x55) X(0x28) X(0xdf)           \
    X(0x8c) X(0xa1) X(0x89) X(0x0d) X(0xbf) X(0xe6) X(0x42) X(0x68)           \
    X(0x41) X(0x99) X(0x2d) X(0x0f) X(0xb0) X(0x54) X(0xbb) X(0x16)

/* clang-format on */

#define DOUBLE(s) (((s) << 1 ^ ((s) >> 7) * 0x11bu) & 0xffu)
#define COLUMN(a, b, c, d)                                                     \
    ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 |                \
     (uint32_t)(d) << 24)

/* MixColumns of SubBytes of one byte, for each of the four rows. */
#define ROW0(s) COLUMN(DOUBLE(s), s, s, DOUBLE(s) ^ (s)),
#define ROW1(s) COLUMN(DOUBLE(s) ^ (s), DOUBLE(s), s, s),
#define ROW2(s) COLUMN(s, DOUBLE(s) ^ (s), DOUBLE(s), s),
#define ROW3(s) COLUMN(s, s, DOUBLE(s) ^ (s), DOUBLE(s)),
#define BYTE(s) s,

static const uint32_t mixed[4][256] = {
    {SBOX(ROW0)}, {SBOX(ROW1)}, {SBOX(ROW2)}, {SBOX(ROW3)}};
static const uint8_t sbox[256] = {SBOX(BYTE)};

static uint32_t sub_word(uint32_t w)
{
    return COLUMN(sbox[w & 255], sbox[w >> 8 & 255], sbox[w >> 16 & 255],
                  sbox[w >> 24]);
}

static void expand(hfi_aes_key *key, const uint8_t bytes[16])
{
    uint32_t w[4];
    uint32_t rcon = 1;

    for (int i = 0; i < 4; i++)
        w[i] = hfi_load_u32(bytes + 4 * i);
    for (int r = 0; r < 11; r++) {
        for (int i = 0; i < 4; i++)
            hfi_store_u32(key->round[r] + 4 * i, w[i]);
        w[0] ^= sub_word(w[3] >> 8 | w[3] << 24) ^ rcon;
        w[1] ^= w[0];
        w[2] ^= w[1];
        w[3] ^= w[2];
        rcon = DOUBLE(rcon);
    }
}

/* Column i after ShiftRows takes row j from column i + j. */
static inline uint32_t middle_round(const uint32_t s[4], int i)
{
    return mixed[0][s[i] & 255] ^ mixed[1][s[(i + 1) & 3] >> 8 & 255] ^
           mixed[2][s[(i + 2) & 3] >> 16 & 255] ^
           mixed[3][s[(i + 3) & 3] >> 24];
}

static inline uint32_t last_round(const uint32_t s[4], int i)
{
    return COLUMN(sbox[s[i] & 255], sbox[s[(i + 1) & 3] >> 8 & 255],
                  sbox[s[(i + 2) & 3] >> 16 & 255], sbox[s[(i + 3) & 3] >> 24]);
}

static inline void add_key(uint32_t s[4], const uint8_t key[16])
{
    s[0] ^= hfi_load_u32(key);
    s[1] ^= hfi_load_u32(key + 4);
    s[2] ^= hfi_load_u32(key + 8);
    s[3] ^= hfi_load_u32(key + 12);
}

/* Columns are written out: a compiler that does not unroll loses a half. */
static void encrypt_block(const hfi_aes_key *key, uint8_t *out,
                          const uint8_t *in)
{
    uint32_t s[4] = {hfi_load_u32(in), hfi_load_u32(in + 4),
                     hfi_load_u32(in + 8), hfi_load_u32(in + 12)};

    add_key(s, key->round[0]);
    for (int r = 1; r < 10; r++) {
        uint32_t t[4] = {middle_round(s, 0), middle_round(s, 1),
                         middle_round(s, 2), middle_round(s, 3)};
        add_key(t, key->round[r]);
        s[0] = t[0];
        s[1] = t[1];
        s[2] = t[2];
        s[3] = t[3];
    }
    uint32_t t[4] = {last_round(s, 0), last_round(s, 1), last_round(s, 2),
                     last_round(s, 3)};
    add_key(t, key->round[10]);
    for (int i = 0; i < 4; i++)
        hfi_store_u32(out + 4 * i, t[i]);
}

static void encrypt(const hfi_aes_key *key, uint8_t *out, const uint8_t *in,
                    size_t blocks)
{
    for (size_t i = 0; i < blocks; i++)
        encrypt_block(key, out + 16 * i, in + 16 * i);
}

static bool lazy_hit(const hfi_scan *scan, unsigned nonce, const uint8_t *label)
{
    uint8_t out[16];

    encrypt_block(&scan->lazy[nonce], out, label);
    return (hfi_load_u64(out) & (UINT64_MAX >> 8)) < scan->lsb56;
}

static size_t scan_labels(const hfi_scan *scan, const uint8_t *labels,
                          size_t count, uint32_t *hits)
{
    size_t n = 0;

    for (size_t at = 0; at < count; at++) {
        const uint8_t *label = labels + 16 * at;
        uint8_t out[16];

        encrypt_block(&scan->group, out, label);
        for (unsigned i = 0; i < 16; i++) {
            if (out[i] > scan->msb)
                continue;
            if (out[i] == scan->msb && !lazy_hit(scan, i, label))
                continue;
            hits[n++] = (uint32_t)(at << 4 | i);
        }
    }
    return n;
}

const hfi_aes_kernel hfi_aes_portable = {"portable", expand, encrypt,
                                         scan_labels};

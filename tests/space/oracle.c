/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "space/oracle.h"

#include "hash/hash.h"

#include <stdlib.h>
#include <string.h>

/* ---- AES-128 from FIPS 197, its S-box from the definition ----------------- */

static uint8_t times(uint8_t a, uint8_t b)
{
    uint8_t sum = 0;
    for (; b; b >>= 1) {
        if (b & 1)
            sum ^= a;
        a = (uint8_t)(a << 1 ^ (a & 0x80 ? 0x1b : 0));
    }
    return sum;
}

static uint8_t sbox[256];

static void fill_sbox(void)
{
    for (int i = 0; i < 256; i++) {
        uint8_t inverse = 0;
        for (int j = 1; j < 256 && i; j++)
            if (times((uint8_t)i, (uint8_t)j) == 1)
                inverse = (uint8_t)j;
        unsigned s = 0;
        for (int turn = 0; turn < 5; turn++)
            s ^= (unsigned)inverse << turn | (unsigned)inverse >> (8 - turn);
        sbox[i] = (uint8_t)(s ^ 0x63);
    }
}

typedef uint8_t schedule[176];

static void expand(schedule w, const uint8_t key[16])
{
    uint8_t constant = 1;
    if (sbox[0] == 0)
        fill_sbox();
    memcpy(w, key, 16);
    for (int i = 16; i < 176; i += 4) {
        uint8_t t[4];
        memcpy(t, w + i - 4, 4);
        if (i % 16 == 0) {
            uint8_t first = t[0];
            t[0] = sbox[t[1]] ^ constant;
            t[1] = sbox[t[2]];
            t[2] = sbox[t[3]];
            t[3] = sbox[first];
            constant = times(constant, 2);
        }
        for (int j = 0; j < 4; j++)
            w[i + j] = w[i + j - 16] ^ t[j];
    }
}

static uint8_t doubled(uint8_t a)
{
    return (uint8_t)(a << 1 ^ (a & 0x80 ? 0x1b : 0));
}

static void mix(uint8_t c[4])
{
    uint8_t all = c[0] ^ c[1] ^ c[2] ^ c[3];
    uint8_t first = c[0];
    for (int i = 0; i < 4; i++) {
        uint8_t next = i < 3 ? c[i + 1] : first;
        c[i] ^= all ^ doubled(c[i] ^ next);
    }
}

static void encrypt(const schedule w, uint8_t out[16], const uint8_t in[16])
{
    uint8_t s[16];
    for (int i = 0; i < 16; i++)
        s[i] = in[i] ^ w[i];
    for (int round = 1; round <= 10; round++) {
        uint8_t t[16];
        for (int i = 0; i < 16; i++)
            t[i] = sbox[s[(i + 4 * (i % 4)) % 16]];
        for (int i = 0; round < 10 && i < 16; i += 4)
            mix(t + i);
        for (int i = 0; i < 16; i++)
            s[i] = t[i] ^ w[16 * round + i];
    }
    memcpy(out, s, 16);
}

/* ---- the rule ---------------------------------------------------------------- */

static void cipher(schedule w, const uint8_t challenge[32], uint64_t pow,
                   uint32_t group, const uint32_t *nonce)
{
    uint8_t input[48], hash[32];
    memcpy(input, challenge, 32);
    for (int i = 0; i < 4; i++)
        input[32 + i] = (uint8_t)(group >> 8 * i);
    for (int i = 0; i < 8; i++)
        input[36 + i] = (uint8_t)(pow >> 8 * i);
    for (int i = 0; i < 4 && nonce; i++)
        input[44 + i] = (uint8_t)(*nonce >> 8 * i);
    hfi_blake3_hash(hash, input, nonce ? 48 : 44);
    expand(w, hash);
}

/* floor(2^64 * k1 / count), for counts below 2^32 */
static uint64_t difficulty_of(uint32_t k1, size_t count)
{
    uint64_t high = ((uint64_t)k1 << 32) / count;
    uint64_t rest = ((uint64_t)k1 << 32) % count;
    return (high << 32) + (rest << 32) / count;
}

static bool good(const schedule lazy, uint8_t top, const uint8_t label[16],
                 uint64_t difficulty)
{
    uint8_t out[16];
    uint64_t low = 0;
    if (top != difficulty >> 56)
        return top < difficulty >> 56;
    encrypt(lazy, out, label);
    for (int i = 6; i >= 0; i--)
        low = low << 8 | out[i];
    return low < (difficulty & 0xffffffffffffff);
}

bool oracle_good(const uint8_t label[16], const uint8_t challenge[32],
                 uint32_t nonce, uint64_t pow, uint64_t difficulty)
{
    schedule group, lazy;
    uint8_t out[16];
    cipher(group, challenge, pow, nonce / 16, NULL);
    cipher(lazy, challenge, pow, nonce / 16, &nonce);
    encrypt(group, out, label);
    return good(lazy, out[nonce % 16], label, difficulty);
}

/* `tops`: the labels under the group's cipher, 16 bytes each. */
static size_t list(const uint8_t *labels, const uint8_t *tops, size_t count,
                   const uint8_t challenge[32], uint32_t nonce, uint64_t pow,
                   uint64_t difficulty, uint32_t k2, uint64_t *indices)
{
    schedule lazy;
    size_t found = 0;
    cipher(lazy, challenge, pow, nonce / 16, &nonce);
    for (size_t i = 0; i < count && found < k2; i++)
        if (good(lazy, tops[16 * i + nonce % 16], labels + 16 * i, difficulty))
            indices[found++] = i;
    return found;
}

static uint8_t *tops_of(const uint8_t *labels, size_t count,
                        const uint8_t challenge[32], uint32_t group,
                        uint64_t pow)
{
    schedule w;
    uint8_t *tops = malloc(16 * count);
    cipher(w, challenge, pow, group, NULL);
    for (size_t i = 0; tops && i < count; i++)
        encrypt(w, tops + 16 * i, labels + 16 * i);
    return tops;
}

size_t oracle_list(const uint8_t *labels, size_t count,
                   const uint8_t challenge[32], uint32_t nonce, uint64_t pow,
                   uint32_t k1, uint32_t k2, uint64_t *indices)
{
    uint8_t *tops = tops_of(labels, count, challenge, nonce / 16, pow);
    size_t found = 0;
    if (tops)
        found = list(labels, tops, count, challenge, nonce, pow,
                     difficulty_of(k1, count), k2, indices);
    free(tops);
    return found;
}

bool oracle_prove(const uint8_t *labels, size_t count,
                  const uint8_t challenge[32], uint32_t nonces, uint32_t k1,
                  uint32_t k2, uint64_t pow, uint32_t *nonce, uint64_t *indices)
{
    uint64_t difficulty = difficulty_of(k1, count);
    bool won = false;
    for (uint32_t g = 0; g < nonces / 16 && !won; g++) {
        uint8_t *tops = tops_of(labels, count, challenge, g, pow);
        for (uint32_t n = 16 * g; tops && n < 16 * g + 16 && !won; n++) {
            *nonce = n;
            won = list(labels, tops, count, challenge, n, pow, difficulty, k2,
                       indices) == k2;
        }
        free(tops);
    }
    return won;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The formulas of the protocol: difficulties, cipher keys, packing of indices,
 * the seeded choice of positions. Pure arithmetic on plain values; nothing here
 * depends on the width of a machine word or on the host's floating point.
 */
#include "space/space.h"

#include <string.h>

void hfi_space_commitment(uint8_t out[32], const uint8_t node_id[32],
                          const uint8_t commitment_atx_id[32])
{
    uint8_t both[64];
    memcpy(both, node_id, 32);
    memcpy(both + 32, commitment_atx_id, 32);
    hfi_blake3_hash(out, both, sizeof both);
}

/*
 * One step of schoolbook division in base 2: the next quotient bit of
 * rest * 2 / divisor, for rest < divisor.
 */
static uint64_t quotient_bit(uint64_t *rest, uint64_t divisor)
{
    bool carry = (*rest >> 63) != 0;
    uint64_t doubled = *rest << 1;
    if (!carry && doubled < divisor) {
        *rest = doubled;
        return 0;
    }
    *rest = doubled - divisor;
    return 1;
}

bool hfi_space_vrf_difficulty(uint8_t out[32], uint64_t labels)
{
    if (labels < 9)
        return false;
    uint64_t rest = 1;
    uint8_t quotient[32];
    for (size_t i = 0; i < sizeof quotient; i++) {
        unsigned byte = 0;
        for (int bit = 0; bit < 8; bit++)
            byte = byte << 1 | (unsigned)quotient_bit(&rest, labels);
        quotient[i] = (uint8_t)byte;
    }
    /* Times 8: with 9 labels or more the top three bits are zero. */
    for (size_t i = 0; i < sizeof quotient; i++) {
        unsigned low = i + 1 < sizeof quotient ? quotient[i + 1] >> 5 : 0;
        out[i] = (uint8_t)((unsigned)quotient[i] << 3 | low);
    }
    return true;
}

bool hfi_space_proving_difficulty(uint64_t *out, uint32_t k1, uint64_t labels)
{
    if (labels <= k1)
        return false;
    uint64_t rest = k1;
    uint64_t quotient = 0;
    for (int i = 0; i < 64; i++)
        quotient = quotient << 1 | quotient_bit(&rest, labels);
    *out = quotient;
    return true;
}

uint32_t hfi_space_index_bits(uint64_t labels)
{
    uint32_t bits = 0;
    for (; labels != 0; labels >>= 1)
        bits++;
    return bits;
}

/* BLAKE3 over challenge || group || pow || nonce, of which the last may lack. */
static void cipher_key(uint8_t out[16], const uint8_t challenge[32],
                       uint32_t group, uint64_t pow, const uint32_t *nonce)
{
    uint8_t input[32 + 4 + 8 + 4];
    uint8_t hash[32];
    size_t bytes = 32 + 4 + 8;
    memcpy(input, challenge, 32);
    hfi_store_u32(input + 32, group);
    hfi_store_u64(input + 36, pow);
    if (nonce) {
        hfi_store_u32(input + 44, *nonce);
        bytes += 4;
    }
    hfi_blake3_hash(hash, input, bytes);
    memcpy(out, hash, 16);
}

void hfi_space_group_key(uint8_t out[16], const uint8_t challenge[32],
                         uint32_t group, uint64_t pow)
{
    cipher_key(out, challenge, group, pow, NULL);
}

void hfi_space_lazy_key(uint8_t out[16], const uint8_t challenge[32],
                        uint32_t group, uint64_t pow, uint32_t nonce)
{
    cipher_key(out, challenge, group, pow, &nonce);
}

bool hfi_space_packed_bytes(size_t *out, uint32_t bits, uint64_t count)
{
    /* Eight indices fill `bits` whole bytes. */
    uint64_t eights = count / 8;
    size_t whole;
    if (eights > SIZE_MAX || !hfi_mul_size(&whole, (size_t)eights, bits))
        return false;
    size_t rest = ((size_t)(count % 8) * bits + 7) / 8;
    return hfi_add_size(out, whole, rest);
}

void hfi_space_pack(uint8_t *out, uint32_t bits, const uint64_t *indices,
                    size_t count)
{
    size_t bytes;
    if (!hfi_space_packed_bytes(&bytes, bits, count))
        return;
    memset(out, 0, bytes);
    uint64_t at = 0;
    for (size_t i = 0; i < count; i++)
        for (uint32_t bit = 0; bit < bits; bit++, at++)
            if (indices[i] >> bit & 1)
                out[at / 8] = (uint8_t)(out[at / 8] | 1u << at % 8);
}

uint64_t hfi_space_unpack(const uint8_t *packed, uint32_t bits, uint64_t at)
{
    uint64_t value = 0;
    uint64_t from = at * bits;
    for (uint32_t bit = 0; bit < bits; bit++, from++)
        value |= (uint64_t)(packed[from / 8] >> from % 8 & 1) << bit;
    return value;
}

/* Draws are 16 bits wide: from more than that nothing can be picked. */
#define SUBSET_MAX 65535u

/* The expanded seed as a stream of 16-bit numbers. */
typedef struct draw {
    hfi_blake3 hash;
    uint64_t offset;
    uint8_t block[64];
    size_t at;
} draw;

static uint32_t draw_u16(draw *d)
{
    if (d->at == sizeof d->block) {
        hfi_blake3_xof(&d->hash, d->offset, d->block, sizeof d->block);
        d->offset += sizeof d->block;
        d->at = 0;
    }
    const uint8_t *p = d->block + d->at;
    d->at += 2;
    return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

/* Without bias: what does not divide evenly is thrown away. 0 < below < 2^16 */
static uint32_t draw_below(draw *d, uint32_t below)
{
    uint32_t limit = 65535u - 65535u % below;
    uint32_t value;
    do
        value = draw_u16(d);
    while (value >= limit);
    return value % below;
}

hf_status hfi_space_subset(uint64_t **out, size_t *count, const hfi_env *env,
                           const hfi_bytes *seed_parts, size_t parts,
                           uint64_t n, uint64_t k3, hf_error *err)
{
    if (n > SUBSET_MAX && k3 > 0)
        return hfi_error(err, HF_E_ARGUMENT,
                         "a subset is picked from at most %u indices, not "
                         "from k2 = %llu",
                         SUBSET_MAX, (unsigned long long)n);
    if (k3 > n)
        k3 = n;
    uint64_t *list = hfi_calloc(env, k3 > 0 ? (size_t)n : 1, sizeof *list);
    if (!list)
        return hfi_error(err, HF_E_MEMORY, "no memory to pick %llu indices",
                         (unsigned long long)k3);
    draw d = {.at = sizeof d.block};
    hfi_blake3_init(&d.hash);
    for (size_t i = 0; i < parts; i++)
        if (seed_parts[i].bytes > 0)
            hfi_blake3_update(&d.hash, seed_parts[i].data, seed_parts[i].bytes);
    for (uint64_t i = 0; k3 > 0 && i < n; i++)
        list[i] = i;
    for (uint64_t i = 0; i < k3; i++) {
        uint64_t other = i + draw_below(&d, (uint32_t)(n - i));
        uint64_t picked = list[other];
        list[other] = list[i];
        list[i] = picked;
    }
    *out = list;
    *count = (size_t)k3;
    return HF_OK;
}

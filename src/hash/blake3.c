/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * BLAKE3 in hash mode, portable, after the BLAKE3 paper, section 2. Hides the
 * chunk tree. Invariant between calls: the last chunk is kept open, even when
 * it is full, because only its successor tells whether it is the root; and
 * cv_stack holds one chaining value for every set bit of chunk_counter, the
 * largest subtree first.
 */
#include "hash/hash.h"

#include <string.h>

#include "base/base.h"

enum {
    BLOCK_BYTES = 64,
    CHUNK_BLOCKS = 16,
    CHUNK_START = 1,
    CHUNK_END = 2,
    PARENT = 4,
    ROOT = 8
};

static const uint32_t iv[8] = {0x6a09e667u, 0xbb67ae85u, 0x3c6ef372u,
                               0xa54ff53au, 0x510e527fu, 0x9b05688cu,
                               0x1f83d9abu, 0x5be0cd19u};

/* Row r: the message permutation of section 2.2 applied r times. */
static const uint8_t schedule[7][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8},
    {3, 4, 10, 12, 13, 2, 7, 14, 6, 5, 9, 0, 11, 15, 8, 1},
    {10, 7, 12, 9, 14, 3, 13, 15, 4, 0, 11, 2, 5, 8, 1, 6},
    {12, 13, 9, 11, 15, 10, 14, 8, 7, 2, 5, 3, 0, 1, 6, 4},
    {9, 14, 11, 5, 8, 12, 15, 1, 13, 3, 0, 10, 2, 6, 4, 7},
    {11, 15, 5, 0, 1, 9, 8, 6, 14, 10, 2, 12, 3, 4, 7, 13},
};

/* The arguments of one compression, kept back until its flags are known. */
typedef struct node {
    uint32_t cv[8];
    uint8_t block[BLOCK_BYTES];
    uint64_t counter;
    uint32_t block_len;
    uint32_t flags;
} node;

static inline uint32_t rotr(uint32_t x, unsigned n)
{
    return x >> n | x << (32 - n);
}

static inline void mix(uint32_t v[16], int a, int b, int c, int d, uint32_t x,
                       uint32_t y)
{
    v[a] += v[b] + x;
    v[d] = rotr(v[d] ^ v[a], 16);
    v[c] += v[d];
    v[b] = rotr(v[b] ^ v[c], 12);
    v[a] += v[b] + y;
    v[d] = rotr(v[d] ^ v[a], 8);
    v[c] += v[d];
    v[b] = rotr(v[b] ^ v[c], 7);
}

static inline void rounds(uint32_t v[16], const uint32_t m[16], int r)
{
    const uint8_t *s = schedule[r];

    mix(v, 0, 4, 8, 12, m[s[0]], m[s[1]]);
    mix(v, 1, 5, 9, 13, m[s[2]], m[s[3]]);
    mix(v, 2, 6, 10, 14, m[s[4]], m[s[5]]);
    mix(v, 3, 7, 11, 15, m[s[6]], m[s[7]]);
    mix(v, 0, 5, 10, 15, m[s[8]], m[s[9]]);
    mix(v, 1, 6, 11, 12, m[s[10]], m[s[11]]);
    mix(v, 2, 7, 8, 13, m[s[12]], m[s[13]]);
    mix(v, 3, 4, 9, 14, m[s[14]], m[s[15]]);
}

/* Section 2.2; `out` is the full state: 16 words, the chaining value first. */
static void compress(uint32_t out[16], const uint32_t cv[8],
                     const uint8_t block[BLOCK_BYTES], uint64_t counter,
                     uint32_t block_len, uint32_t flags)
{
    uint32_t m[16];
    uint32_t v[16];

    for (int i = 0; i < 16; i++)
        m[i] = hfi_load_u32(block + 4 * i);
    memcpy(v, cv, 32);
    memcpy(v + 8, iv, 16);
    v[12] = (uint32_t)counter;
    v[13] = (uint32_t)(counter >> 32);
    v[14] = block_len;
    v[15] = flags;
    /* Written out so that the schedule becomes constants. */
    rounds(v, m, 0);
    rounds(v, m, 1);
    rounds(v, m, 2);
    rounds(v, m, 3);
    rounds(v, m, 4);
    rounds(v, m, 5);
    rounds(v, m, 6);
    for (int i = 0; i < 8; i++) {
        out[i] = v[i] ^ v[i + 8];
        out[i + 8] = v[i + 8] ^ cv[i];
    }
}

static void node_cv(uint32_t cv[8], const node *n)
{
    uint32_t out[16];

    compress(out, n->cv, n->block, n->counter, n->block_len, n->flags);
    memcpy(cv, out, 32);
}

static void make_parent(node *n, const uint32_t left[8],
                        const uint32_t right[8])
{
    memcpy(n->cv, iv, sizeof iv);
    for (int i = 0; i < 8; i++) {
        hfi_store_u32(n->block + 4 * i, left[i]);
        hfi_store_u32(n->block + 32 + 4 * i, right[i]);
    }
    n->counter = 0;
    n->block_len = BLOCK_BYTES;
    n->flags = PARENT;
}

static uint32_t start_flag(const hfi_blake3 *h)
{
    return h->blocks_compressed == 0 ? CHUNK_START : 0;
}

/* The open chunk, taken to be finished. */
static void make_chunk(node *n, const hfi_blake3 *h)
{
    memcpy(n->cv, h->chunk_cv, sizeof n->cv);
    memcpy(n->block, h->block, BLOCK_BYTES);
    n->counter = h->chunk_counter;
    n->block_len = h->block_len;
    n->flags = start_flag(h) | CHUNK_END;
}

static void open_chunk(hfi_blake3 *h)
{
    memcpy(h->chunk_cv, iv, sizeof iv);
    memset(h->block, 0, BLOCK_BYTES);
    h->block_len = 0;
    h->blocks_compressed = 0;
}

/* Closes a chunk that is not the last and joins all subtrees it completes. */
static void close_chunk(hfi_blake3 *h)
{
    uint32_t cv[8];
    node n;

    make_chunk(&n, h);
    node_cv(cv, &n);
    h->chunk_counter++;
    for (uint64_t count = h->chunk_counter; (count & 1) == 0; count >>= 1) {
        make_parent(&n, h->cv_stack[--h->stack_len], cv);
        node_cv(cv, &n);
    }
    memcpy(h->cv_stack[h->stack_len++], cv, sizeof cv);
    open_chunk(h);
}

void hfi_blake3_init(hfi_blake3 *h)
{
    h->chunk_counter = 0;
    h->stack_len = 0;
    open_chunk(h);
}

/* More input follows: makes room in the full block. */
static void flush_block(hfi_blake3 *h)
{
    uint32_t out[16];

    if (h->blocks_compressed == CHUNK_BLOCKS - 1) {
        close_chunk(h);
        return;
    }
    compress(out, h->chunk_cv, h->block, h->chunk_counter, BLOCK_BYTES,
             start_flag(h));
    memcpy(h->chunk_cv, out, sizeof h->chunk_cv);
    h->blocks_compressed++;
    memset(h->block, 0, BLOCK_BYTES);
    h->block_len = 0;
}

void hfi_blake3_update(hfi_blake3 *h, const void *data, size_t bytes)
{
    const uint8_t *p = data;

    while (bytes > 0) {
        if (h->block_len == BLOCK_BYTES)
            flush_block(h);
        size_t take = (size_t)BLOCK_BYTES - h->block_len;
        if (take > bytes)
            take = bytes;
        memcpy(h->block + h->block_len, p, take);
        h->block_len = (uint8_t)(h->block_len + take);
        p += take;
        bytes -= take;
    }
}

static void make_root(node *n, const hfi_blake3 *h)
{
    uint32_t cv[8];

    make_chunk(n, h);
    for (unsigned i = h->stack_len; i-- > 0;) {
        node_cv(cv, n);
        make_parent(n, h->cv_stack[i], cv);
    }
    n->flags |= ROOT;
}

void hfi_blake3_xof(const hfi_blake3 *h, uint64_t offset, void *out,
                    size_t bytes)
{
    uint8_t *p = out;
    size_t skip = (size_t)(offset % BLOCK_BYTES);
    node n;

    make_root(&n, h);
    n.counter = offset / BLOCK_BYTES;
    while (bytes > 0) {
        uint32_t words[16];
        uint8_t block[BLOCK_BYTES];

        compress(words, n.cv, n.block, n.counter, n.block_len, n.flags);
        for (int i = 0; i < 16; i++)
            hfi_store_u32(block + 4 * i, words[i]);
        size_t take = (size_t)BLOCK_BYTES - skip;
        if (take > bytes)
            take = bytes;
        memcpy(p, block + skip, take);
        p += take;
        bytes -= take;
        skip = 0;
        n.counter++;
    }
}

void hfi_blake3_hash(uint8_t out[32], const void *data, size_t bytes)
{
    hfi_blake3 h;

    hfi_blake3_init(&h);
    hfi_blake3_update(&h, data, bytes);
    hfi_blake3_xof(&h, 0, out, 32);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * AES variants: known answers of FIPS 197 and of the reference prover, then
 * every variant against a plain loop at awkward counts, with the labels and
 * the room for hits ending at a guard page.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/base.h"
#include "hash/hash.h"
#include "kernel/kernel.h"
#include "support/vectors.h"

#define COUNT(a)   (sizeof(a) / sizeof(a)[0])
#define LSB56_MAX  (UINT64_MAX >> 8)
#define MAX_LABELS 4096

/* Runs `check` for every variant that this CPU can run. */
static void each_variant(void (*check)(const hfi_aes_kernel *k))
{
    size_t count;
    const hfi_aes_kernel *const *all = hfi_aes_kernels(&count);
    hfi_cpu cpu;

    hfi_cpu_detect(&cpu);
    assert_true(count >= 1);
    for (size_t i = 0; i < count; i++) {
        if (hfi_aes_kernel_runs(all[i], &cpu))
            check(all[i]);
        else
            print_message("not on this CPU: aes %s\n", all[i]->name);
    }
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return *state >> 16 ^ *state << 41;
}

static void random_bytes(uint8_t *out, size_t bytes, uint64_t *state)
{
    for (size_t i = 0; i < bytes; i++)
        out[i] = (uint8_t)next_random(state);
}

/* `bytes` of memory that end where a page without access begins. */
typedef struct guarded {
    uint8_t *map;
    size_t map_bytes;
    uint8_t *data;
} guarded;

static guarded guarded_new(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    guarded g;

    g.map_bytes = (bytes + page - 1) / page * page + page;
    g.map = mmap(NULL, g.map_bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(g.map, MAP_FAILED);
    assert_int_equal(mprotect(g.map + g.map_bytes - page, page, PROT_NONE), 0);
    g.data = g.map + g.map_bytes - page - bytes;
    return g;
}

static void guarded_free(guarded *g)
{
    assert_int_equal(munmap(g->map, g->map_bytes), 0);
}

static void unhex(uint8_t *out, size_t bytes, const char *hex)
{
    assert_true(hfi_hex_decode(out, bytes, hex, strlen(hex)));
}

/* ---- FIPS 197 ---------------------------------------------------------- */

static void check_fips(const hfi_aes_kernel *k)
{
    static const struct {
        const char *key, *plain, *cipher, *last_round_key;
    } known[] = {
        /* Appendices A.1 and B. */
        {"2b7e151628aed2a6abf7158809cf4f3c", "3243f6a8885a308d313198a2e0370734",
         "3925841d02dc09fbdc118597196a0b32",
         "d014f9a8c9ee2589e13f0cc8b6630ca6"},
        /* Appendix C.1. */
        {"000102030405060708090a0b0c0d0e0f", "00112233445566778899aabbccddeeff",
         "69c4e0d86a7b0430d8cdb78070b4c55a",
         "13111d7fe3944a17f307a78b4d2b30c5"},
    };

    for (size_t i = 0; i < COUNT(known); i++) {
        uint8_t in[16], want[16], out[16], bytes[16], last[16];
        hfi_aes_key key;

        unhex(bytes, 16, known[i].key);
        unhex(in, 16, known[i].plain);
        unhex(want, 16, known[i].cipher);
        unhex(last, 16, known[i].last_round_key);
        k->expand(&key, bytes);
        assert_memory_equal(key.round[0], bytes, 16);
        assert_memory_equal(key.round[10], last, 16);
        k->encrypt(&key, out, in, 1);
        assert_memory_equal(out, want, 16);
    }
}

static void test_fips(void **state)
{
    (void)state;
    each_variant(check_fips);
}

/* Many blocks are each block; nothing beyond is read or written. */
static void check_counts(const hfi_aes_kernel *k)
{
    enum { MOST = 40 };
    uint64_t seed = 1;
    uint8_t bytes[16];
    hfi_aes_key key;

    random_bytes(bytes, sizeof bytes, &seed);
    k->expand(&key, bytes);
    for (size_t n = 0; n <= MOST; n++) {
        guarded in = guarded_new(16 * n);
        guarded out = guarded_new(16 * n);

        random_bytes(in.data, 16 * n, &seed);
        k->encrypt(&key, out.data, in.data, n);
        for (size_t i = 0; i < n; i++) {
            uint8_t one[16];
            k->encrypt(&key, one, in.data + 16 * i, 1);
            assert_memory_equal(out.data + 16 * i, one, 16);
        }
        guarded_free(&in);
        guarded_free(&out);
    }
}

static void test_counts(void **state)
{
    (void)state;
    each_variant(check_counts);
}

/* ---- the reference prover ---------------------------------------------- */

/* First 16 bytes of BLAKE3(challenge, group, pow), and the nonce if any. */
static void derive_key(uint8_t out[16], const uint8_t challenge[32],
                       uint32_t group, uint64_t pow, const uint32_t *nonce)
{
    uint8_t number[8];
    hfi_blake3 h;

    hfi_blake3_init(&h);
    hfi_blake3_update(&h, challenge, 32);
    hfi_store_u32(number, group);
    hfi_blake3_update(&h, number, 4);
    hfi_store_u64(number, pow);
    hfi_blake3_update(&h, number, 8);
    if (nonce != NULL) {
        hfi_store_u32(number, *nonce);
        hfi_blake3_update(&h, number, 4);
    }
    hfi_blake3_xof(&h, 0, out, 16);
}

/* `lazy_first`: the nonce of lazy[0], as a rule 16 * group. */
static void make_scan(hfi_scan *scan, const hfi_aes_kernel *k,
                      const uint8_t challenge[32], uint32_t group, uint64_t pow,
                      uint32_t lazy_first)
{
    uint8_t bytes[16];

    derive_key(bytes, challenge, group, pow, NULL);
    k->expand(&scan->group, bytes);
    for (uint32_t i = 0; i < 16; i++) {
        uint32_t nonce = lazy_first + i;
        derive_key(bytes, challenge, nonce / 16, pow, &nonce);
        k->expand(&scan->lazy[i], bytes);
    }
}

static void check_cipher_block(const hfi_aes_kernel *k, const hfi_scan *scan,
                               uint32_t nonce, const hfi_json *block)
{
    uint8_t in[16], out[16], want[16];

    vectors_hex_exact(block, "block", in, 16);
    vectors_hex_exact(block, "group_cipher_out", want, 16);
    k->encrypt(&scan->group, out, in, 1);
    assert_memory_equal(out, want, 16);
    assert_int_equal(out[nonce % 16], vectors_u64(block, "msb"));
    vectors_hex_exact(block, "lazy_cipher_out", want, 16);
    k->encrypt(&scan->lazy[nonce % 16], out, in, 1);
    assert_memory_equal(out, want, 16);
    assert_int_equal(hfi_load_u64(out) & LSB56_MAX,
                     vectors_u64(block, "lsb56"));
}

static void check_ciphers(const hfi_aes_kernel *k)
{
    struct vectors v;

    vectors_load(&v, "space/prover.json");
    const hfi_json *all = vectors_member(v.root, "ciphers");

    assert_true(all->count >= 24);
    for (const hfi_json *c = all->child; c != NULL; c = c->next) {
        uint32_t group = (uint32_t)vectors_u64(c, "nonce_group");
        uint32_t nonce = (uint32_t)vectors_u64(c, "nonce");
        uint8_t challenge[32], want[16];
        hfi_scan scan;

        assert_int_equal(nonce / 16, group);
        vectors_hex_exact(c, "challenge", challenge, 32);
        make_scan(&scan, k, challenge, group, vectors_u64(c, "pow"),
                  16 * group);
        vectors_hex_exact(c, "group_key", want, 16);
        assert_memory_equal(scan.group.round[0], want, 16);
        vectors_hex_exact(c, "lazy_key", want, 16);
        assert_memory_equal(scan.lazy[nonce % 16].round[0], want, 16);
        const hfi_json *blocks = vectors_member(c, "blocks");
        for (const hfi_json *b = blocks->child; b != NULL; b = b->next)
            check_cipher_block(k, &scan, nonce, b);
    }
    vectors_free(&v);
}

static void test_ciphers(void **state)
{
    (void)state;
    each_variant(check_ciphers);
}

/* The data of a record; hits outlive the labels they were found in. */
typedef struct pass {
    uint8_t labels[16 * MAX_LABELS];
    uint32_t hits[16 * MAX_LABELS];
    hfi_scan scan[8];
    uint32_t first_group;
    uint32_t groups;
    size_t count;
    uint64_t first_index;
} pass;

static void load_data(pass *p, const hfi_json *data)
{
    const hfi_json *seed = vectors_member(data, "xof_seed_ascii");
    uint8_t want[32], got[32];
    hfi_blake3 h;

    p->count = vectors_u64(data, "labels");
    assert_true(p->count <= MAX_LABELS);
    hfi_blake3_init(&h);
    hfi_blake3_update(&h, seed->text, seed->length);
    hfi_blake3_xof(&h, 0, p->labels, 16 * p->count);
    hfi_blake3_hash(got, p->labels, 16 * p->count);
    vectors_hex_exact(data, "blake3_of_data", want, 32);
    assert_memory_equal(got, want, 32);
}

/*
 * The reference looks the lazy cipher of nonce n up at n modulo the length of
 * the range, but makes it for the nonce that far from the start. In real runs
 * the start is a multiple of the length and both agree; one record starts at 16
 * with 32 nonces, so the two halves have each other's ciphers there.
 */
static void load_scans(pass *p, const hfi_aes_kernel *k, const hfi_json *record)
{
    uint32_t start = (uint32_t)vectors_u64(record, "nonce_start");
    uint32_t end = (uint32_t)vectors_u64(record, "nonce_end_exclusive");
    uint64_t difficulty = vectors_u64(record, "difficulty");
    uint8_t challenge[32];

    vectors_hex_exact(record, "challenge", challenge, 32);
    p->first_index = vectors_u64(record, "index_of_first_label");
    p->first_group = start / 16;
    p->groups = (end - start) / 16;
    assert_true(p->groups >= 1 && p->groups <= COUNT(p->scan));
    assert_string_equal(vectors_text(record, "pow_of_group"), "1000 + 7*group");
    for (uint32_t i = 0; i < p->groups; i++) {
        uint32_t group = p->first_group + i;
        make_scan(&p->scan[i], k, challenge, group, 1000 + 7 * group,
                  start + 16 * group % (end - start));
        p->scan[i].msb = (uint8_t)(difficulty >> 56);
        p->scan[i].lsb56 = difficulty & LSB56_MAX;
    }
}

static const hfi_json *expect_hit(const hfi_json *want, const pass *p,
                                  uint32_t group, size_t base, uint32_t word)
{
    uint64_t nonce, index;

    assert_non_null(want);
    assert_true(hfi_json_u64(want->child, &nonce));
    assert_true(hfi_json_u64(want->child->next, &index));
    assert_int_equal(16 * (p->first_group + group) + (word & 15), nonce);
    assert_int_equal(p->first_index + base + (word >> 4), index);
    return want->next;
}

/*
 * Eight labels at a time, group by group, is the reference's order and leaves
 * out what it leaves out.
 */
static void check_in_order(const pass *p, const hfi_aes_kernel *k,
                           const hfi_json *want)
{
    uint32_t hits[16 * 8];

    for (size_t at = 0; at + 8 <= p->count; at += 8) {
        for (uint32_t g = 0; g < p->groups; g++) {
            size_t n = k->scan(&p->scan[g], p->labels + 16 * at, 8, hits);
            for (size_t i = 0; i < n; i++)
                want = expect_hit(want, p, g, at, hits[i]);
        }
    }
    assert_null(want);
}

/* All labels at once give as many, in ascending order. */
static void check_at_once(pass *p, const hfi_aes_kernel *k, size_t want)
{
    size_t total = 0;

    for (uint32_t g = 0; g < p->groups; g++) {
        size_t n = k->scan(&p->scan[g], p->labels, p->count / 8 * 8, p->hits);
        for (size_t i = 1; i < n; i++)
            assert_true(p->hits[i - 1] < p->hits[i]);
        total += n;
    }
    assert_int_equal(total, want);
}

static void check_prover_hits(const hfi_aes_kernel *k)
{
    struct vectors v;
    void *memory = NULL;

    vectors_load(&v, "space/prover.json");
    const hfi_json *all = vectors_member(v.root, "prover_hits");
    assert_int_equal(posix_memalign(&memory, 64, sizeof(pass)), 0);
    assert_true(all->count >= 4);
    for (const hfi_json *r = all->child; r != NULL; r = r->next) {
        pass *p = memory;
        const hfi_json *want = vectors_member(r, "hits_nonce_index_in_order");

        load_data(p, vectors_member(r, "data"));
        load_scans(p, k, r);
        assert_true(want->count > 0);
        check_in_order(p, k, want->child);
        check_at_once(p, k, want->count);
    }
    free(memory);
    vectors_free(&v);
}

static void test_prover_hits(void **state)
{
    (void)state;
    each_variant(check_prover_hits);
}

/* ---- every variant against a plain loop -------------------------------- */

static size_t plain_scan(const hfi_aes_kernel *k, const hfi_scan *scan,
                         const uint8_t *labels, size_t count, uint32_t *hits)
{
    size_t n = 0;

    for (uint32_t at = 0; at < count; at++) {
        uint8_t byte[16], lazy[16];

        k->encrypt(&scan->group, byte, labels + 16 * at, 1);
        for (uint32_t i = 0; i < 16; i++) {
            k->encrypt(&scan->lazy[i], lazy, labels + 16 * at, 1);
            uint64_t low = hfi_load_u64(lazy) & LSB56_MAX;
            if (byte[i] < scan->msb ||
                (byte[i] == scan->msb && low < scan->lsb56))
                hits[n++] = at << 4 | i;
        }
    }
    return n;
}

static void check_one(const hfi_aes_kernel *k, const hfi_scan *scan,
                      const uint8_t *labels, size_t count, uint32_t *hits,
                      uint32_t *want)
{
    size_t n = k->scan(scan, labels, count, hits);

    assert_int_equal(n, plain_scan(k, scan, labels, count, want));
    assert_memory_equal(hits, want, n * sizeof *hits);
}

static void random_scan(hfi_scan *scan, const hfi_aes_kernel *k, uint64_t *seed)
{
    uint8_t bytes[16];

    random_bytes(bytes, sizeof bytes, seed);
    k->expand(&scan->group, bytes);
    for (int i = 0; i < 16; i++) {
        random_bytes(bytes, sizeof bytes, seed);
        k->expand(&scan->lazy[i], bytes);
    }
}

/* Difficulty number `i`: all pairs of the edges, then random ones. */
static void set_difficulty(hfi_scan *scan, size_t i, uint64_t *seed)
{
    static const uint8_t msb[] = {0, 1, 127, 128, 254, 255};
    static const uint64_t lsb56[] = {0, 1, LSB56_MAX / 2, LSB56_MAX};

    if (i < COUNT(msb) * COUNT(lsb56)) {
        scan->msb = msb[i % COUNT(msb)];
        scan->lsb56 = lsb56[i / COUNT(msb)];
    } else {
        scan->msb = (uint8_t)(next_random(seed) >> (next_random(seed) & 7));
        scan->lsb56 = next_random(seed) & LSB56_MAX;
    }
}

static void check_awkward(const hfi_aes_kernel *k)
{
    static uint32_t want[16 * 1100];
    uint64_t seed = 2;
    hfi_scan scan;

    for (size_t i = 0; i < 145; i++) {
        size_t count = i <= 130 ? i : 400 + 50 * (i - 131);
        guarded labels = guarded_new(16 * count);
        guarded hits = guarded_new(64 * count);

        random_bytes(labels.data, 16 * count, &seed);
        random_scan(&scan, k, &seed);
        for (size_t d = 0; d<30; d += count> 130 ? 3 : 1) {
            set_difficulty(&scan, d, &seed);
            check_one(k, &scan, labels.data, count, (uint32_t *)hits.data,
                      want);
        }
        guarded_free(&labels);
        guarded_free(&hits);
    }
}

static void test_awkward(void **state)
{
    (void)state;
    each_variant(check_awkward);
}

/* At the border: the value itself is no hit, one more is. */
static void check_border(const hfi_aes_kernel *k)
{
    uint8_t label[16], byte[16], lazy[16];
    uint32_t hits[16];
    uint64_t seed = 5;
    hfi_scan scan;

    random_scan(&scan, k, &seed);
    for (uint32_t i = 0; i < 64; i++) {
        random_bytes(label, sizeof label, &seed);
        k->encrypt(&scan.group, byte, label, 1);
        k->encrypt(&scan.lazy[i % 16], lazy, label, 1);
        scan.msb = byte[i % 16];
        scan.lsb56 = hfi_load_u64(lazy) & LSB56_MAX;
        size_t n = k->scan(&scan, label, 1, hits);
        for (size_t h = 0; h < n; h++)
            assert_int_not_equal(hits[h], i % 16);
        scan.lsb56++;
        assert_int_equal(k->scan(&scan, label, 1, hits), n + 1);
    }
}

static void test_border(void **state)
{
    (void)state;
    each_variant(check_border);
}

/* Every byte hits: the room for hits is used to the last word. */
static void check_all_hit(const hfi_aes_kernel *k)
{
    uint64_t seed = 3;
    hfi_scan scan;

    random_scan(&scan, k, &seed);
    scan.msb = 255;
    scan.lsb56 = LSB56_MAX + 1;
    for (size_t count = 0; count < 1100; count += 1 + count / 9) {
        guarded labels = guarded_new(16 * count);
        guarded hits = guarded_new(64 * count);
        uint32_t *word = (uint32_t *)hits.data;

        random_bytes(labels.data, 16 * count, &seed);
        assert_int_equal(k->scan(&scan, labels.data, count, word), 16 * count);
        for (uint32_t i = 0; i < 16 * count; i++)
            assert_int_equal(word[i], i);
        guarded_free(&labels);
        guarded_free(&hits);
    }
}

static void test_all_hit(void **state)
{
    (void)state;
    each_variant(check_all_hit);
}

/* Labels may lie at any address. */
static void check_unaligned(const hfi_aes_kernel *k)
{
    enum { LABELS = 77 };
    uint8_t memory[16 * LABELS + 16];
    uint32_t hits[16 * LABELS], want[16 * LABELS];
    uint64_t seed = 4;
    hfi_scan scan;

    random_bytes(memory, sizeof memory, &seed);
    random_scan(&scan, k, &seed);
    scan.msb = 3;
    scan.lsb56 = LSB56_MAX / 3;
    for (size_t at = 0; at < 16; at++)
        check_one(k, &scan, memory + at, LABELS, hits, want);
}

static void test_unaligned(void **state)
{
    (void)state;
    each_variant(check_unaligned);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fips),      cmocka_unit_test(test_counts),
        cmocka_unit_test(test_ciphers),   cmocka_unit_test(test_prover_hits),
        cmocka_unit_test(test_awkward),   cmocka_unit_test(test_all_hit),
        cmocka_unit_test(test_unaligned), cmocka_unit_test(test_border),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The formulas of the protocol against prover.json and labels.json, which the
 * reference system made, and at their borders.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "hash/hash.h"
#include "kernel/kernel.h"
#include "pow/pow.h"
#include "space/space.h"
#include "support/vectors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const hfi_env plain_env = {0};

/* First element of an array member. */
static const hfi_json *list_of(const hfi_json *object, const char *key)
{
    return vectors_member(object, key)->child;
}

/* Any number of bytes, freed with free(). */
static uint8_t *hex_of(const hfi_json *node, size_t *bytes)
{
    *bytes = node->length / 2;
    uint8_t *out = malloc(*bytes + 1);
    assert_non_null(out);
    assert_true(hfi_hex_decode(out, *bytes, node->text, node->length));
    return out;
}

static void commitments_match(void **state)
{
    (void)state;
    struct vectors v;
    vectors_load(&v, "space/labels.json");
    size_t count = 0;
    for (const hfi_json *n = list_of(v.root, "commitments"); n;
         n = n->next, count++) {
        uint8_t node_id[32], atx[32], commitment[32], got[32];
        vectors_hex_exact(n, "node_id", node_id, 32);
        vectors_hex_exact(n, "commitment_atx_id", atx, 32);
        vectors_hex_exact(n, "commitment", commitment, 32);
        hfi_space_commitment(got, node_id, atx);
        assert_memory_equal(got, commitment, 32);
    }
    assert_int_equal(count, 6);
    vectors_free(&v);
}

static void vrf_difficulties_match(void **state)
{
    (void)state;
    struct vectors v;
    vectors_load(&v, "space/labels.json");
    size_t count = 0;
    for (const hfi_json *n = list_of(v.root, "vrf_difficulty"); n;
         n = n->next, count++) {
        uint8_t difficulty[32], got[32];
        vectors_hex_exact(n, "difficulty", difficulty, 32);
        assert_true(
            hfi_space_vrf_difficulty(got, vectors_u64(n, "num_labels")));
        assert_memory_equal(got, difficulty, 32);
    }
    assert_int_equal(count, 18);
    uint8_t none[32];
    for (uint64_t labels = 0; labels < 9; labels++)
        assert_false(hfi_space_vrf_difficulty(none, labels));
    vectors_free(&v);
}

static void proving_difficulties_match(void **state)
{
    (void)state;
    struct vectors v;
    vectors_load(&v, "space/prover.json");
    size_t count = 0;
    for (const hfi_json *n = list_of(v.root, "proving_difficulty"); n;
         n = n->next, count++) {
        uint32_t k1 = (uint32_t)vectors_u64(n, "k1");
        uint64_t labels = vectors_u64(n, "num_labels");
        uint64_t got = 0;
        bool ok = hfi_space_proving_difficulty(&got, k1, labels);
        if (hfi_json_member(n, "error")) {
            assert_false(ok);
            continue;
        }
        assert_true(ok);
        assert_true(got == vectors_u64(n, "difficulty"));
        assert_true(got >> 56 == vectors_u64(n, "msb"));
        assert_true((got & UINT64_MAX >> 8) == vectors_u64(n, "lsb56"));
    }
    assert_int_equal(count, 26);
    vectors_free(&v);
}

/* Keys, and both ciphers under them, as the scan uses them. */
static void cipher_keys_match(void **state)
{
    (void)state;
    struct vectors v;
    vectors_load(&v, "space/prover.json");
    size_t kernels = 0, count = 0;
    const hfi_aes_kernel *aes = hfi_aes_kernels(&kernels)[0];
    for (const hfi_json *n = list_of(v.root, "ciphers"); n;
         n = n->next, count++) {
        uint8_t challenge[32], key[16], got[16];
        uint32_t nonce = (uint32_t)vectors_u64(n, "nonce");
        uint64_t pow = vectors_u64(n, "pow");
        hfi_aes_key group, lazy;
        vectors_hex_exact(n, "challenge", challenge, 32);
        assert_int_equal(vectors_u64(n, "nonce_group"), nonce / 16);
        vectors_hex_exact(n, "group_key", key, 16);
        hfi_space_group_key(got, challenge, nonce / 16, pow);
        assert_memory_equal(got, key, 16);
        aes->expand(&group, got);
        vectors_hex_exact(n, "lazy_key", key, 16);
        hfi_space_lazy_key(got, challenge, nonce / 16, pow, nonce);
        assert_memory_equal(got, key, 16);
        aes->expand(&lazy, got);
        for (const hfi_json *b = list_of(n, "blocks"); b; b = b->next) {
            uint8_t block[16];
            vectors_hex_exact(b, "block", block, 16);
            aes->encrypt(&group, got, block, 1);
            assert_int_equal(got[nonce % 16], vectors_u64(b, "msb"));
            aes->encrypt(&lazy, got, block, 1);
            assert_true((hfi_load_u64(got) & UINT64_MAX >> 8) ==
                        vectors_u64(b, "lsb56"));
        }
    }
    assert_int_equal(count, 24);
    vectors_free(&v);
}

static void pow_difficulties_match(void **state)
{
    (void)state;
    struct vectors v;
    vectors_load(&v, "space/prover.json");
    size_t count = 0;
    for (const hfi_json *n = list_of(v.root, "pow_difficulty_scaled"); n;
         n = n->next, count++) {
        uint8_t difficulty[32], scaled[32], got[32];
        vectors_hex_exact(n, "difficulty", difficulty, 32);
        vectors_hex_exact(n, "scaled", scaled, 32);
        hfi_pow_scale(got, difficulty, (uint32_t)vectors_u64(n, "num_units"));
        assert_memory_equal(got, scaled, 32);
    }
    assert_int_equal(count, 36);
    vectors_free(&v);
}

static void index_bits_match(void **state)
{
    (void)state;
    struct vectors v;
    vectors_load(&v, "space/prover.json");
    size_t count = 0;
    for (const hfi_json *n = list_of(v.root, "required_bits"); n;
         n = n->next, count++)
        assert_int_equal(hfi_space_index_bits(vectors_u64(n, "value")),
                         vectors_u64(n, "bits"));
    assert_int_equal(count, 12);
    vectors_free(&v);
}

static void one_packing_matches(const hfi_json *n)
{
    uint64_t indices[64] = {0};
    size_t indices_count = 0, bytes = 0, packed_bytes = 0;
    uint32_t bits = hfi_space_index_bits(vectors_u64(n, "num_labels"));
    assert_int_equal(bits, vectors_u64(n, "bits"));
    for (const hfi_json *i = list_of(n, "indices"); i; i = i->next) {
        assert_true(indices_count < 64);
        indices[indices_count++] = vectors_u64_of(i);
    }
    uint8_t *packed = hex_of(vectors_member(n, "packed"), &packed_bytes);
    assert_true(hfi_space_packed_bytes(&bytes, bits, indices_count));
    assert_int_equal(bytes, vectors_u64(n, "expected_bytes"));
    assert_int_equal(bytes, packed_bytes);
    uint8_t *got = malloc(bytes + 1);
    assert_non_null(got);
    got[bytes] = 0x5a;
    hfi_space_pack(got, bits, indices, indices_count);
    assert_memory_equal(got, packed, bytes);
    assert_int_equal(got[bytes], 0x5a);
    size_t at = 0;
    for (const hfi_json *i = list_of(n, "unpacked_again"); i; i = i->next, at++)
        assert_true(hfi_space_unpack(packed, bits, at) == vectors_u64_of(i));
    assert_int_equal(at, indices_count);
    free(got);
    free(packed);
}

static void packings_match(void **state)
{
    (void)state;
    struct vectors v;
    vectors_load(&v, "space/prover.json");
    size_t count = 0;
    for (const hfi_json *n = list_of(v.root, "index_packing"); n;
         n = n->next, count++)
        one_packing_matches(n);
    assert_int_equal(count, 6);
    vectors_free(&v);
}

static void packed_bytes_do_not_overflow(void **state)
{
    (void)state;
    size_t bytes = 0;
    assert_true(hfi_space_packed_bytes(&bytes, 64, UINT32_MAX));
    assert_true(bytes == (size_t)UINT32_MAX * 8);
    assert_true(hfi_space_packed_bytes(&bytes, 8, UINT64_MAX));
    assert_true(bytes == SIZE_MAX);
    assert_false(hfi_space_packed_bytes(&bytes, 9, UINT64_MAX));
    assert_false(hfi_space_packed_bytes(&bytes, 64, UINT64_MAX));
    assert_true(hfi_space_packed_bytes(&bytes, 0, UINT64_MAX));
    assert_int_equal(bytes, 0);
}

static void one_subset_matches(const hfi_json *n)
{
    hfi_bytes parts[8];
    uint8_t *data[8];
    size_t part_count = 0, count = 0, at = 0;
    uint64_t *picked = NULL;
    for (const hfi_json *p = list_of(n, "seed_parts"); p; p = p->next) {
        assert_true(part_count < 8);
        data[part_count] = hex_of(p, &parts[part_count].bytes);
        parts[part_count].data = data[part_count];
        part_count++;
    }
    assert_int_equal(hfi_space_subset(&picked, &count, &plain_env, parts,
                                      part_count, vectors_u64(n, "n"),
                                      vectors_u64(n, "k3"), NULL),
                     HF_OK);
    for (const hfi_json *p = list_of(n, "picked_positions"); p;
         p = p->next, at++) {
        assert_true(at < count);
        assert_true(picked[at] == vectors_u64_of(p));
    }
    assert_int_equal(at, count);
    hfi_free(&plain_env, picked);
    for (size_t i = 0; i < part_count; i++)
        free(data[i]);
}

static void subsets_match(void **state)
{
    (void)state;
    struct vectors v;
    vectors_load(&v, "space/prover.json");
    size_t count = 0;
    for (const hfi_json *n = list_of(v.root, "subset_selection"); n;
         n = n->next, count++)
        one_subset_matches(n);
    assert_int_equal(count, 7);
    vectors_free(&v);
}

static void subset_borders(void **state)
{
    (void)state;
    uint64_t *picked = NULL;
    size_t count = 7;
    hf_error err;
    hfi_bytes no_seed = {NULL, 0};
    assert_int_equal(
        hfi_space_subset(&picked, &count, &plain_env, &no_seed, 1, 0, 5, &err),
        HF_OK);
    assert_int_equal(count, 0);
    hfi_free(&plain_env, picked);
    assert_int_equal(hfi_space_subset(&picked, &count, &plain_env, &no_seed, 1,
                                      UINT64_MAX, 0, &err),
                     HF_OK);
    assert_int_equal(count, 0);
    hfi_free(&plain_env, picked);
    assert_int_equal(hfi_space_subset(&picked, &count, &plain_env, &no_seed, 1,
                                      65535, 65535, &err),
                     HF_OK);
    assert_int_equal(count, 65535);
    uint8_t *seen = calloc(65535, 1);
    assert_non_null(seen);
    for (size_t i = 0; i < count; i++) {
        assert_true(picked[i] < 65535 && !seen[picked[i]]);
        seen[picked[i]] = 1;
    }
    free(seen);
    hfi_free(&plain_env, picked);
    /* Where the present tools end the process. */
    assert_int_equal(hfi_space_subset(&picked, &count, &plain_env, &no_seed, 1,
                                      65536, 3, &err),
                     HF_E_ARGUMENT);
    assert_non_null(strstr(err.message, "65536"));
    assert_non_null(strstr(err.message, "65535"));
}

/*
 * Which nonce's second cipher a recorded pass used. The reference looks it up
 * at place nonce mod (number of nonces) of its list: the nonce itself in every
 * pass that starts at a multiple of its width, as all of a prover's do, but not
 * in the one record of nonces 16 to 47.
 */
static uint32_t lazy_nonce(uint32_t nonce, uint32_t first, uint32_t end)
{
    return first + nonce % (end - first);
}

/*
 * The keys drive the scan: every hit that one pass of the reference reports
 * over pseudo-random data, as a set; it looks at whole chunks of 8 labels only.
 */
static void one_pass_matches(const hfi_json *n)
{
    const hfi_json *data = vectors_member(n, "data");
    const char *seed = vectors_text(data, "xof_seed_ascii");
    size_t labels = (size_t)vectors_u64(data, "labels"), kernels = 0;
    uint32_t first = (uint32_t)vectors_u64(n, "nonce_start");
    uint32_t end = (uint32_t)vectors_u64(n, "nonce_end_exclusive");
    uint64_t base = vectors_u64(n, "index_of_first_label");
    uint64_t difficulty = vectors_u64(n, "difficulty");
    const hfi_aes_kernel *const *all = hfi_aes_kernels(&kernels);
    const hfi_aes_kernel *aes = all[0];
    uint8_t challenge[32], key[16];
    vectors_hex_exact(n, "challenge", challenge, 32);

    uint8_t *stored = malloc(labels * 16);
    uint32_t *hits = malloc(labels * 16 * sizeof *hits);
    uint8_t *good = calloc(labels, end);
    assert_true(stored && hits && good);
    hfi_blake3 h;
    hfi_blake3_init(&h);
    hfi_blake3_update(&h, seed, strlen(seed));
    hfi_blake3_xof(&h, 0, stored, labels * 16);

    size_t found = 0, wanted = 0, whole = labels / 8 * 8;
    for (uint32_t group = first / 16; group < end / 16; group++) {
        uint64_t pow = 1000 + 7 * (uint64_t)group;
        hfi_scan scan = {.msb = (uint8_t)(difficulty >> 56),
                         .lsb56 = difficulty & UINT64_MAX >> 8};
        hfi_space_group_key(key, challenge, group, pow);
        aes->expand(&scan.group, key);
        for (uint32_t i = 0; i < 16; i++) {
            uint32_t lazy = lazy_nonce(16 * group + i, first, end);
            hfi_space_lazy_key(key, challenge, lazy / 16, pow, lazy);
            aes->expand(&scan.lazy[i], key);
        }
        size_t count = aes->scan(&scan, stored, whole, hits);
        for (size_t i = 0; i < count; i++)
            good[(hits[i] >> 4) * end + 16 * group + hits[i] % 16] = 1;
        found += count;
    }
    for (const hfi_json *p = list_of(n, "hits_nonce_index_in_order"); p;
         p = p->next, wanted++) {
        size_t nonce = (size_t)vectors_u64_of(p->child);
        size_t at = (size_t)(vectors_u64_of(p->child->next) - base);
        assert_true(nonce >= first && nonce < end && at < whole);
        assert_int_equal(good[at * end + nonce], 1);
    }
    assert_int_equal(found, wanted);
    free(good);
    free(hits);
    free(stored);
}

static void passes_match(void **state)
{
    (void)state;
    struct vectors v;
    vectors_load(&v, "space/prover.json");
    size_t count = 0;
    for (const hfi_json *n = list_of(v.root, "prover_hits"); n;
         n = n->next, count++)
        one_pass_matches(n);
    assert_int_equal(count, 4);
    vectors_free(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commitments_match),
        cmocka_unit_test(vrf_difficulties_match),
        cmocka_unit_test(proving_difficulties_match),
        cmocka_unit_test(cipher_keys_match),
        cmocka_unit_test(pow_difficulties_match),
        cmocka_unit_test(index_bits_match),
        cmocka_unit_test(packings_match),
        cmocka_unit_test(packed_bytes_do_not_overflow),
        cmocka_unit_test(subsets_match),
        cmocka_unit_test(subset_borders),
        cmocka_unit_test(passes_match),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

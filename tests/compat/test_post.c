/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The foreign interface against what the reference system gave: labels, VRF
 * nonces, folders, proofs and verdicts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hash/hash.h"
#include "holdfast_post.h"
#include "space/records.h"

static Verifier *verifier;
static bool every_record;       /* "all": those that take many hashes too */
static uint64_t check_step = 1; /* "some": one check in so many */

static int open_verifier(void **state)
{
    (void)state;
    return new_verifier(recommended_pow_flags(), &verifier) !=
           NewVerifierResult_Ok;
}

static int close_verifier(void **state)
{
    (void)state;
    free_verifier(verifier);
    return 0;
}

/* ---- labels ---------------------------------------------------------------- */

static void labels_match(void **state)
{
    (void)state;
    struct vectors v;
    size_t count = 0;
    vectors_load(&v, "space/labels.json");
    for (const hfi_json *l = vectors_member(v.root, "labels")->child; l;
         l = l->next, count++) {
        uint8_t commitment[32], wanted[32], all[32], got[16];
        uint64_t nonce = 1;
        memset(all, 0xff, 32);
        vectors_hex_exact(l, "commitment", commitment, 32);
        vectors_hex_exact(l, "label32", wanted, 32);
        uint64_t index = vectors_u64(l, "index");
        Initializer *i = new_initializer(CPU_PROVIDER_ID, vectors_u64(l, "n"),
                                         commitment, all);
        assert_non_null(i);
        assert_int_equal(initialize(i, index, index, got, &nonce),
                         InitializeResult_Ok);
        assert_memory_equal(got, wanted, 16);
        assert_true(nonce == index);
        free_initializer(i);
    }
    assert_int_equal(count, 300);
    vectors_free(&v);
}

static void ranges_match(void **state)
{
    (void)state;
    struct vectors v;
    vectors_load(&v, "space/labels.json");
    for (const hfi_json *r = vectors_member(v.root, "ranges")->child; r;
         r = r->next) {
        uint8_t commitment[32], wanted[32], hash[32];
        uint64_t nonce = 77;
        vectors_hex_exact(r, "commitment", commitment, 32);
        vectors_hex_exact(r, "labels16_concat_blake3", wanted, 32);
        uint64_t start = vectors_u64(r, "start");
        uint64_t end = vectors_u64(r, "end_exclusive");
        uint8_t *labels = malloc((end - start) * 16 + 1);
        assert_non_null(labels);
        labels[(end - start) * 16] = 0xa5;
        Initializer *i = new_initializer(CPU_PROVIDER_ID, vectors_u64(r, "n"),
                                         commitment, NULL);
        assert_int_equal(initialize(i, start, end - 1, labels, NULL),
                         InitializeResult_Ok);
        hfi_blake3 b;
        hfi_blake3_init(&b);
        hfi_blake3_update(&b, labels, (end - start) * 16);
        hfi_blake3_xof(&b, 0, hash, 32);
        assert_memory_equal(hash, wanted, 32);
        assert_int_equal(labels[(end - start) * 16], 0xa5);
        /* Without a difficulty there is no nonce to be found. */
        assert_int_equal(initialize(i, start, end - 1, labels, &nonce),
                         InitializeResult_OkNonceNotFound);
        assert_true(nonce == 77);
        free_initializer(i);
        free(labels);
    }
    vectors_free(&v);
}

/* One initializer is used three times: it does not remember. */
static void nonces_match(void **state)
{
    (void)state;
    struct vectors v;
    size_t count = 0;
    static uint8_t labels[4096 * 16];
    vectors_load(&v, "space/labels.json");
    for (const hfi_json *r = vectors_member(v.root, "vrf_nonce")->child; r;
         r = r->next, count++) {
        uint8_t commitment[32], difficulty[32];
        vectors_hex_exact(r, "commitment", commitment, 32);
        vectors_hex_exact(r, "difficulty", difficulty, 32);
        uint64_t start = vectors_u64(r, "start");
        uint64_t end = vectors_u64(r, "end_exclusive") - 1;
        assert_true(end - start < 4096);
        Initializer *i = new_initializer(CPU_PROVIDER_ID, vectors_u64(r, "n"),
                                         commitment, difficulty);
        for (int again = 0; again < 3; again++) {
            uint64_t nonce = 99;
            InitializeResult got = initialize(i, start, end, labels, &nonce);
            if (vectors_is_null(r, "nonce")) {
                assert_int_equal(got, InitializeResult_OkNonceNotFound);
                assert_true(nonce == 99);
            } else {
                assert_int_equal(got, InitializeResult_Ok);
                assert_true(nonce == vectors_u64(r, "nonce"));
            }
        }
        assert_int_equal(initialize(i, start, end, labels, NULL),
                         InitializeResult_Ok);
        free_initializer(i);
    }
    assert_int_equal(count, 40);
    vectors_free(&v);
}

/* More than a piece; the lowest of all pieces is the nonce. */
static void pieces_make_a_range(void **state)
{
    (void)state;
    const uint64_t count = (UINT64_C(1) << 21) + 5;
    uint8_t commitment[32] = {3}, difficulty[32], part[16 * 64];
    uint8_t *labels = malloc(count * 16);
    uint64_t nonce = 0, least = 0, low = UINT64_MAX;
    assert_non_null(labels);
    memset(difficulty, 0xff, 32);
    Initializer *i = new_initializer(CPU_PROVIDER_ID, 2, commitment,
                                     difficulty);
    assert_int_equal(initialize(i, 9, 9 + count - 1, labels, &nonce),
                     InitializeResult_Ok);
    for (uint64_t k = 0; k < count; k++) {
        uint64_t value = 0; /* big-endian */
        for (int j = 0; j < 8; j++)
            value = value << 8 | labels[16 * k + j];
        if (value < low) {
            low = value;
            least = 9 + k;
        }
    }
    assert_true(nonce == least);
    static const uint64_t places[] = {0, (1 << 20) - 32, (1 << 21) - 59};
    for (size_t k = 0; k < 3; k++) {
        assert_int_equal(
            initialize(i, 9 + places[k], 9 + places[k] + 63, part, NULL),
            InitializeResult_Ok);
        assert_memory_equal(part, labels + 16 * places[k], sizeof part);
    }
    free_initializer(i);
    free(labels);
}

/* ---- verdicts ---------------------------------------------------------------- */

static Proof proof_of(record *r)
{
    return (Proof){.nonce = r->proof.nonce,
                   .pow = r->proof.pow,
                   .indices = {r->proof.indices_bytes > 0 ? r->indices : NULL,
                               r->proof.indices_bytes, 0}};
}

static ProofMetadata metadata_of(const record *r)
{
    ProofMetadata m = {.num_units = r->proof.num_units};
    memcpy(m.node_id, r->proof.node_id, 32);
    memcpy(m.commitment_atx_id, r->proof.commitment_atx_id, 32);
    memcpy(m.challenge, r->proof.challenge, 32);
    return m;
}

static ProofConfig config_of(const record *r)
{
    ProofConfig c = {.k1 = r->opts.network.k1, .k2 = r->opts.network.k2};
    memcpy(c.pow_difficulty, r->opts.network.pow_difficulty, 32);
    return c;
}

static InitConfig init_of(const record *r)
{
    return (InitConfig){.min_num_units = r->opts.network.min_units,
                        .max_num_units = r->opts.network.max_units,
                        .labels_per_unit = r->opts.network.labels_per_unit,
                        .scrypt = {r->opts.network.scrypt_n, 1, 1}};
}

static VerifyResult judge(record *r)
{
    ProofMetadata m = metadata_of(r);
    switch (r->opts.mode) {
    case HF_SPACE_VERIFY_ONE:
        return verify_proof_index(verifier, proof_of(r), &m, config_of(r),
                                  init_of(r), r->opts.index);
    case HF_SPACE_VERIFY_SUBSET:
        return verify_proof_subset(verifier, proof_of(r), &m, config_of(r),
                                   init_of(r), r->opts.k3, r->opts.seed,
                                   r->opts.seed_bytes);
    default:
        return verify_proof(verifier, proof_of(r), &m, config_of(r),
                            init_of(r));
    }
}

static void check_one(const record *base, const hfi_json *check)
{
    static const char *const names[] = {"Ok", "Invalid", "InvalidIndex",
                                        "InvalidArgument"};
    static record r;
    const hfi_json *expect = vectors_member(check, "expect");
    record_copy(&r, base);
    record_change(&r, check);
    VerifyResult got = judge(&r);
    assert_true(got.tag <= VerifyResult_InvalidArgument);
    if (strcmp(names[got.tag], vectors_text(expect, "result")) != 0)
        fail_msg("%s, %s: %s, wanted %s", r.name, vectors_text(check, "note"),
                 names[got.tag], vectors_text(expect, "result"));
    if (got.tag == VerifyResult_InvalidIndex)
        assert_true(got.invalid_index.index_id ==
                    vectors_u64(expect, "index_id"));
}

static void verdicts_match(void **state)
{
    (void)state;
    struct vectors v;
    static record r;
    size_t count = 0;
    vectors_load(&v, "space/proofs.json");
    for (const hfi_json *n = v.root->child; n; n = n->next) {
        const hfi_json *checks = hfi_json_member(n, "checks");
        record_read(&r, n);
        for (const hfi_json *c = checks ? checks->child : NULL; c;
             c = c->next, count++)
            if (count % check_step == 0)
                check_one(&r, c);
    }
    assert_int_equal(count, 440);
    vectors_free(&v);
}

/* What ends the reference's process. */
static void verdicts_without_end(void **state)
{
    (void)state;
    static record r;
    record_find(&r, "a1");
    ProofMetadata m = metadata_of(&r);
    Proof p = proof_of(&r);
    ProofConfig c = config_of(&r);
    static const ScryptParams bad[] = {{0, 1, 1},
                                       {1, 1, 1},
                                       {2, 0, 1},
                                       {2, 1, 0},
                                       {2, 2, 1},
                                       {2, 1, 4},
                                       {(uintptr_t)1 << 31, 1, 1},
                                       {UINTPTR_MAX, 1, 1}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        InitConfig init = init_of(&r);
        init.scrypt = bad[i];
        assert_int_equal(verify_proof(verifier, p, &m, c, init).tag,
                         VerifyResult_InvalidArgument);
        m.num_units = 1; /* below the least: no label is looked at */
        assert_int_equal(verify_proof(verifier, p, &m, c, init).tag,
                         VerifyResult_Invalid);
        m.num_units = 2;
    }
    InitConfig init = init_of(&r);
    init.scrypt.n = 1;
    assert_int_equal(verify_proof_index(verifier, p, &m, c, init, 20).tag,
                     VerifyResult_Ok);
    assert_int_equal(
        verify_proof_subset(verifier, p, &m, c, init, 0, NULL, 0).tag,
        VerifyResult_Ok);
    init.scrypt.n = 3; /* the next lower power of two is meant */
    assert_int_equal(verify_proof(verifier, p, &m, c, init).tag,
                     VerifyResult_Ok);
    init.min_num_units = 0;
    m.num_units = 0;
    assert_int_equal(verify_proof(verifier, p, &m, c, init).tag,
                     VerifyResult_Invalid);
    m.num_units = 2;
    init = init_of(&r);
    init.labels_per_unit = UINT64_MAX;
    assert_int_equal(verify_proof(verifier, p, &m, c, init).tag,
                     VerifyResult_Invalid);
}

static void subset_of_65536(void **state)
{
    (void)state;
    static record r;
    static uint8_t list[65536 * 10 / 8];
    record_find(&r, "a1");
    ProofMetadata m = metadata_of(&r);
    Proof p = proof_of(&r);
    ProofConfig c = config_of(&r);
    p.indices = (ArrayU8){list, sizeof list, sizeof list};
    c.k2 = 65536;
    assert_int_equal(
        verify_proof_subset(verifier, p, &m, c, init_of(&r), 5, NULL, 0).tag,
        VerifyResult_InvalidArgument);
    assert_int_equal(
        verify_proof_subset(verifier, p, &m, c, init_of(&r), 0, NULL, 0).tag,
        VerifyResult_Ok);
    p.indices.len--; /* another length breaks an earlier rule */
    assert_int_equal(
        verify_proof_subset(verifier, p, &m, c, init_of(&r), 5, NULL, 0).tag,
        VerifyResult_Invalid);
}

/* ---- proofs ------------------------------------------------------------------ */

/* These take many hashes: run in full only. */
static bool is_long(const char *name)
{
    return strcmp(name, "a2") == 0 || strcmp(name, "b1") == 0 ||
           strcmp(name, "b2") == 0 || strncmp(name, "c2", 2) == 0;
}

static void proofs_are_made(void **state)
{
    (void)state;
    struct vectors v;
    static record r;
    size_t made = 0;
    vectors_load(&v, "space/proofs.json");
    for (const hfi_json *n = v.root->child; n; n = n->next) {
        record_read(&r, n);
        if (!every_record && is_long(r.name))
            continue;
        hf_error err;
        Proof *p = hf_post_generate_proof_ex(r.dir, r.challenge, config_of(&r),
                                             r.nonces, made % 3,
                                             recommended_pow_flags(), &err);
        if (!r.has_proof) {
            assert_null(p);
            assert_int_not_equal(err.code, HF_OK);
            assert_true(strlen(err.message) > 10);
            continue;
        }
        if (!p)
            fail_msg("%s: %s: %s", r.name, err.message, err.cause);
        assert_true(p->indices.len == r.proof.indices_bytes);
        r.proof.nonce = p->nonce;
        r.proof.pow = p->pow;
        memcpy(r.indices, p->indices.ptr, p->indices.len);
        assert_int_equal(judge(&r).tag, VerifyResult_Ok);
        /* and the whole check finds what is not so */
        r.proof.nonce ^= 1;
        assert_int_not_equal(judge(&r).tag, VerifyResult_Ok);
        free_proof(p);
        made++;
    }
    assert_int_equal(made, every_record ? 8 : 5);
    vectors_free(&v);
}

/* The same whatever the number of threads. */
static void proofs_do_not_vary(void **state)
{
    (void)state;
    static record r;
    record_find(&r, "b3");
    Proof *first = generate_proof(r.dir, r.challenge, config_of(&r), r.nonces,
                                  1, RandomXFlag_FLAG_DEFAULT);
    Proof *second = generate_proof(r.dir, r.challenge, config_of(&r), r.nonces,
                                   0, RandomXFlag_FLAG_JIT);
    assert_non_null(first);
    assert_non_null(second);
    assert_int_equal(first->nonce, second->nonce);
    assert_true(first->pow == second->pow);
    assert_true(first->indices.len == second->indices.len);
    assert_memory_equal(first->indices.ptr, second->indices.ptr,
                        first->indices.len);
    free_proof(first);
    free_proof(second);
}

static void proofs_are_refused(void **state)
{
    (void)state;
    static record r;
    hf_error err;
    record_find(&r, "a1");
    ProofConfig c = config_of(&r);
    static const uintptr_t nonces[] = {0, 8, 20, 4112, (uintptr_t)1 << 32};
    for (size_t i = 0; i < 5; i++) {
        assert_null(hf_post_generate_proof_ex(r.dir, r.challenge, c, nonces[i],
                                              0, 0, &err));
        assert_int_equal(err.code, HF_E_ARGUMENT);
        assert_non_null(strstr(err.message, "multiple of 16"));
    }
    /* Cut to 32 bits, as the reference does. */
    Proof *p = generate_proof(r.dir, r.challenge, c, ((uintptr_t)1 << 32) + 16,
                              0, 0);
    assert_non_null(p);
    free_proof(p);
    c.k1 = 0;
    assert_null(
        hf_post_generate_proof_ex(r.dir, r.challenge, c, 16, 0, 0, &err));
    assert_int_equal(err.code, HF_E_NOT_FOUND);
    c = config_of(&r);
    c.k2 = 0; /* acts like 1 */
    p = generate_proof(r.dir, r.challenge, c, 16, 0, 0);
    assert_non_null(p);
    assert_int_equal(p->indices.len, 2); /* one index of 10 bits */
    free_proof(p);
    if (every_record) { /* the last round has but 1024 nonces left */
        c = config_of(&r);
        c.k2 = 400;
        assert_null(
            hf_post_generate_proof_ex(r.dir, r.challenge, c, 3072, 0, 0, &err));
        assert_int_equal(err.code, HF_E_NOT_FOUND);
        assert_non_null(strstr(err.message, "4095"));
    }
    assert_null(generate_proof("no such folder", r.challenge, c, 16, 0, 0));
    assert_null(
        hf_post_generate_proof_ex("\xff\xfe", r.challenge, c, 16, 0, 0, &err));
    assert_non_null(strstr(err.message, "UTF-8"));
}

/* ---- stored labels ------------------------------------------------------------- */

static const char *const names[] = {"postdata_metadata.json", "postdata_0.bin",
                                    "postdata_1.bin", "postdata_2.bin",
                                    "postdata_3.bin"};
static const ScryptParams two = {2, 1, 1};

/* A copy of a-4files-even: 4 files of 128 labels, N = 2. */
static char *copy_set(void)
{
    char *dir = temp_folder();
    for (size_t i = 0; i < 5; i++) {
        char from[TEMP_PATH], to[TEMP_PATH];
        size_t bytes;
        temp_path(from, HF_VECTORS "/space/post/a-4files-even", names[i]);
        char *data = temp_read(from, &bytes);
        temp_write(temp_path(to, dir, names[i]), data, bytes);
        free(data);
    }
    return dir;
}

static void spoil(const char *dir, size_t file, size_t byte)
{
    char path[TEMP_PATH];
    size_t bytes;
    temp_path(path, dir, names[1 + file]);
    char *data = temp_read(path, &bytes);
    data[byte] ^= 0x40;
    temp_write(path, data, bytes);
    free(data);
}

static void replace_in_metadata(const char *dir, const char *what,
                                const char *with)
{
    char path[TEMP_PATH], text[1024];
    size_t bytes;
    temp_path(path, dir, names[0]);
    char *old = temp_read(path, &bytes);
    char *at = strstr(old, what);
    assert_non_null(at);
    int n = snprintf(text, sizeof text, "%.*s%s%s", (int)(at - old), old, with,
                     at + strlen(what));
    temp_write(path, text, (size_t)n);
    free(old);
}

static VerifyPosResult_Tag pos_tag(const char *dir, double fraction,
                                   ScryptParams s)
{
    return verify_pos(dir, NULL, NULL, fraction, s).tag;
}

static void good_sets_are_good(void **state)
{
    (void)state;
    static const struct {
        const char *dir;
        uintptr_t n;
    } sets[] = {{"a-4files-even", 2},
                {"b-3files-uneven", 16},
                {"c-1file-not-multiple-of-8", 4},
                {"d-n8192", 8192}};
    static const double fractions[] = {100, 1e300, 5,        0.5,       0,
                                       -1,  NAN,   INFINITY, -INFINITY, 1e-300};
    for (size_t i = 0; i < 4; i++) {
        char dir[TEMP_PATH];
        temp_path(dir, HF_VECTORS "/space/post", sets[i].dir);
        ScryptParams s = {sets[i].n, 1, 1};
        for (size_t f = 0; f < 10; f++)
            assert_int_equal(pos_tag(dir, fractions[f], s), VerifyPosResult_Ok);
        s.n *= 2;
        assert_int_equal(pos_tag(dir, 100, s), VerifyPosResult_Invalid);
        s.n = sets[i].n == 2 ? 3 : sets[i].n + 1; /* reduced */
        assert_int_equal(pos_tag(dir, 100, s), VerifyPosResult_Ok);
    }
}

static void lowest_bad_label_is_named(void **state)
{
    (void)state;
    char *dir = copy_set();
    spoil(dir, 3, 5);
    spoil(dir, 1, 127 * 16 + 15);
    spoil(dir, 1, 60 * 16);
    for (int i = 0; i < 3; i++) {
        VerifyPosResult r = verify_pos(dir, NULL, NULL, 100, two);
        assert_int_equal(r.tag, VerifyPosResult_Invalid);
        assert_int_equal(r.invalid.file, 1);
        assert_true(r.invalid.offset == 60 * 16);
    }
    uint32_t from = 2, to = 3, none = 0;
    VerifyPosResult r = verify_pos(dir, &from, NULL, 100, two);
    assert_int_equal(r.tag, VerifyPosResult_Invalid);
    assert_int_equal(r.invalid.file, 3);
    assert_true(r.invalid.offset == 0);
    assert_int_equal(verify_pos(dir, NULL, &none, 100, two).tag,
                     VerifyPosResult_Ok);
    to = 2;
    assert_int_equal(verify_pos(dir, &from, &to, 100, two).tag,
                     VerifyPosResult_Ok);
    from = 3; /* above `to` */
    assert_int_equal(verify_pos(dir, &from, &to, 100, two).tag,
                     VerifyPosResult_Ok);
    to = 4;
    assert_int_equal(verify_pos(dir, &from, &to, 100, two).tag,
                     VerifyPosResult_Failed);
    temp_folder_remove(dir);
}

/* Half of the labels are bad and half are looked at: not all are missed. */
static void samples_are_taken(void **state)
{
    (void)state;
    char *dir = copy_set();
    for (size_t i = 0; i < 128; i += 2)
        spoil(dir, 0, 16 * i);
    assert_int_equal(pos_tag(dir, 50, two), VerifyPosResult_Invalid);
    assert_int_equal(pos_tag(dir, 0.7, two), VerifyPosResult_Ok); /* none */
    temp_folder_remove(dir);
}

/* And the reason names it. */
static void no_proof_of(const char *dir, const char *what)
{
    static const unsigned char challenge[32];
    hf_error err;
    ProofConfig c = {.k1 = 20, .k2 = 5};
    memset(c.pow_difficulty, 0xff, 32);
    assert_null(hf_post_generate_proof_ex(dir, challenge, c, 16, 0, 0, &err));
    assert_int_not_equal(err.code, HF_OK);
    if (!strstr(err.message, what) && !strstr(err.cause, what))
        fail_msg("%s: %s does not tell %s", err.message, err.cause, what);
}

static void broken_folders_fail(void **state)
{
    (void)state;
    char *dir = copy_set();
    char path[TEMP_PATH];
    size_t bytes;
    assert_int_equal(pos_tag("no such folder", 5, two), VerifyPosResult_Failed);
    assert_int_equal(pos_tag("\xc3\x28", 5, two),
                     VerifyPosResult_InvalidArgument);
    temp_path(path, dir, names[2]);
    char *data = temp_read(path, &bytes);
    char *longer = calloc(1, bytes + 100);
    memcpy(longer, data, bytes);
    temp_write(path, longer, bytes + 100); /* too long passes */
    assert_int_equal(pos_tag(dir, 100, two), VerifyPosResult_Ok);
    no_proof_of(dir, "postdata_1.bin");
    temp_write(path, data, bytes - 1);
    assert_int_equal(pos_tag(dir, 100, two), VerifyPosResult_Failed);
    no_proof_of(dir, "postdata_1.bin");
    assert_int_equal(remove(path), 0);
    assert_int_equal(pos_tag(dir, 100, two), VerifyPosResult_Failed);
    no_proof_of(dir, "postdata_1.bin");
    temp_write(path, data, bytes);
    free(data);
    free(longer);
    /* Not a multiple of 16: the rest of each file is not used. */
    replace_in_metadata(dir, "\"MaxFileSize\": 2048", "\"MaxFileSize\": 2063");
    assert_int_equal(pos_tag(dir, 100, two), VerifyPosResult_Ok);
    replace_in_metadata(dir, "\"NumUnits\": 2", "\"NumUnits\": 0");
    assert_int_equal(pos_tag(dir, 100, two), VerifyPosResult_Failed);
    no_proof_of(dir, "number of units is 0");
    static const ScryptParams bad[] = {{0, 1, 1}, {1, 1, 1}, {2, 0, 1},
                                       {2, 1, 0}, {2, 2, 1}, {2, 1, 2}};
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(pos_tag(dir, 100, bad[i]),
                         VerifyPosResult_InvalidArgument);
    temp_folder_remove(dir);
}

/* Our own prover does not hand out what a verifier would refuse. */
static void bad_data_give_no_proof(void **state)
{
    (void)state;
    static record r;
    hf_error err;
    char *dir = copy_set();
    record_find(&r, "a1");
    for (size_t i = 0; i < 127; i++) /* not label 0, which tells N */
        spoil(dir, 0, 16 * (i + 1));
    for (size_t i = 0; i < 128; i++)
        spoil(dir, 1, 16 * i);
    Proof *p = hf_post_generate_proof_ex(dir, r.challenge, config_of(&r), 16, 0,
                                         0, &err);
    assert_null(p);
    assert_int_equal(err.code, HF_E_FORMAT);
    assert_non_null(strstr(err.message, "postdata_"));
    spoil(dir, 0, 0); /* nothing tells N any more */
    no_proof_of(dir, "label 0");
    temp_folder_remove(dir);
}

/* ---- jobs ---------------------------------------------------------------------- */

static void labels_as_a_job(void **state)
{
    (void)state;
    uint8_t commitment[32] = {8}, difficulty[32], direct[500 * 16];
    uint8_t got[500 * 16];
    uint64_t nonce = 0, wanted = 1;
    bool found = false;
    hf_post_job *job = NULL;
    hf_error err;
    memset(difficulty, 0xff, 32);
    Initializer *i = new_initializer(CPU_PROVIDER_ID, 16, commitment,
                                     difficulty);
    assert_int_equal(initialize(i, 7, 506, direct, &wanted),
                     InitializeResult_Ok);
    assert_int_equal(hf_post_initialize_start(&job, i, 7, 506, &err), HF_OK);
    free_initializer(i); /* the job needs it no more */
    assert_int_equal(hf_post_job_wait(job, UINT64_MAX, &err), HF_OK);
    assert_int_equal(hf_post_initialize_result(job, got, sizeof got - 1, &nonce,
                                               &found, &err),
                     HF_E_MEMORY);
    assert_int_equal(
        hf_post_initialize_result(job, got, sizeof got, &nonce, &found, &err),
        HF_OK);
    assert_memory_equal(got, direct, sizeof got);
    assert_true(found && nonce == wanted);
    hf_progress progress = {.size = sizeof progress};
    assert_int_equal(hf_post_job_progress(job, &progress), HF_OK);
    assert_true(progress.finished && progress.done == 500);
    Proof *p = NULL;
    assert_int_equal(hf_post_generate_proof_result(job, &p, &err),
                     HF_E_ARGUMENT);
    hf_post_job_free(job);
    hf_post_job_free(job);
    assert_int_equal(hf_post_job_wait(job, 0, &err), HF_E_ARGUMENT);
    i = new_initializer(CPU_PROVIDER_ID, 8192, commitment, NULL);
    assert_int_equal(hf_post_initialize_start(&job, i, 0, 10000000, &err),
                     HF_OK);
    assert_int_equal(hf_post_job_wait(job, 20, &err), HF_E_BUSY);
    assert_int_equal(
        hf_post_initialize_result(job, got, sizeof got, NULL, NULL, &err),
        HF_E_BUSY);
    hf_post_job_cancel(job);
    assert_int_equal(hf_post_job_wait(job, 20000, &err), HF_E_CANCELLED);
    hf_post_job_free(job);
    free_initializer(i);
}

static void proof_as_a_job(void **state)
{
    (void)state;
    static record r;
    hf_post_job *job = NULL;
    hf_error err;
    Proof *p = NULL;
    record_find(&r, "a1");
    ProofConfig c = config_of(&r);
    assert_int_equal(hf_post_generate_proof_start(&job, r.dir, r.challenge, c,
                                                  r.nonces, 1, 0, &err),
                     HF_OK);
    assert_int_equal(hf_post_job_wait(job, UINT64_MAX, &err), HF_OK);
    assert_int_equal(hf_post_generate_proof_result(job, &p, &err), HF_OK);
    hf_post_job_free(job); /* the proof stays */
    r.proof.nonce = p->nonce;
    r.proof.pow = p->pow;
    memcpy(r.indices, p->indices.ptr, p->indices.len);
    assert_int_equal(judge(&r).tag, VerifyResult_Ok);
    free_proof(p);
    free_proof(p);
    memset(c.pow_difficulty, 0, 32); /* never met: has to be cancelled */
    assert_int_equal(hf_post_generate_proof_start(&job, r.dir, r.challenge, c,
                                                  r.nonces, 0, 0, &err),
                     HF_OK);
    assert_int_equal(hf_post_job_wait(job, 100, &err), HF_E_BUSY);
    assert_int_equal(hf_post_generate_proof_result(job, &p, &err), HF_E_BUSY);
    hf_post_job_cancel(job);
    assert_int_equal(hf_post_job_wait(job, 20000, &err), HF_E_CANCELLED);
    hf_post_job_free(job);
    assert_int_equal(hf_post_generate_proof_start(&job, r.dir, r.challenge, c,
                                                  r.nonces, 1, 0, &err),
                     HF_OK);
    hf_post_job_free(job); /* while it runs */
}

static void all_bad_ranges(void **state)
{
    (void)state;
    hf_post_job *job = NULL;
    hf_post_bad_range got[3];
    uint64_t count = 0, checked = 0;
    hf_error err;
    char *dir = copy_set();
    spoil(dir, 0, 16 * 10);
    spoil(dir, 0, 16 * 11);
    spoil(dir, 2, 3);
    spoil(dir, 3, 16 * 127);
    assert_int_equal(
        hf_post_verify_pos_start(&job, dir, NULL, NULL, 100, two, &err), HF_OK);
    assert_int_equal(hf_post_job_wait(job, UINT64_MAX, &err), HF_OK);
    memset(got, 0, sizeof got);
    assert_int_equal(
        hf_post_verify_pos_result(job, got, 2, &count, &checked, &err), HF_OK);
    assert_true(count == 3 && checked == 512);
    assert_true(got[0].file == 0 && got[0].offset == 160 && got[0].labels == 2);
    assert_true(got[1].file == 2 && got[1].offset == 0 && got[1].labels == 1);
    assert_true(got[2].labels == 0);
    hf_post_job_free(job);
    assert_int_equal(
        hf_post_verify_pos_start(&job, dir, NULL, NULL, 0, two, &err), HF_OK);
    assert_int_equal(hf_post_job_wait(job, UINT64_MAX, &err), HF_OK);
    assert_int_equal(
        hf_post_verify_pos_result(job, NULL, 0, &count, &checked, &err), HF_OK);
    assert_true(count == 0 && checked == 0);
    hf_post_job_free(job);
    temp_folder_remove(dir);
}

/* ---- small things ---------------------------------------------------------------- */

static void providers_are_listed(void **state)
{
    (void)state;
    Provider p[4];
    uintptr_t count = get_providers_count();
    assert_true(count >= 1 && count < 4);
    memset(p, 0x11, sizeof p);
    assert_int_equal(get_providers(p, 4), InitializeResult_Ok);
    assert_int_equal(p[count - 1].id, CPU_PROVIDER_ID);
    assert_int_equal(p[count - 1].class_, DeviceClass_CPU);
    assert_string_equal(p[count - 1].name, "[CPU] scrypt-jane");
    for (uintptr_t i = 0; i + 1 < count; i++) {
        assert_int_equal(p[i].id, i);
        assert_int_equal(p[i].class_, DeviceClass_GPU);
    }
    assert_int_equal(p[count].id, 0x11111111); /* spare ones are untouched */
    memset(p, 0x11, sizeof p);
    assert_int_equal(get_providers(p, 0), InitializeResult_Ok);
    assert_int_equal(p[0].id, 0x11111111);
    assert_int_equal(get_providers(NULL, 0), InitializeResult_InvalidArgument);
    hf_error err;
    uint8_t commitment[32] = {0};
    assert_null(hf_post_new_initializer_ex(7, 2, commitment, NULL, &err));
    assert_non_null(strstr(err.message, "4294967295"));
    assert_non_null(strstr(err.message, "CPU"));
}

static void flags_are_of_the_cpu(void **state)
{
    (void)state;
    RandomXFlag flags = recommended_pow_flags();
    assert_int_equal(flags & ~(RandomXFlag)106, 0);
#if defined(__x86_64__)
    __builtin_cpu_init();
    assert_int_equal((flags & RandomXFlag_FLAG_ARGON2_AVX2) != 0,
                     __builtin_cpu_supports("avx2") != 0);
    assert_int_equal((flags & RandomXFlag_FLAG_ARGON2_SSSE3) != 0,
                     __builtin_cpu_supports("ssse3") != 0);
#endif
}

static void initializers_are_refused(void **state)
{
    (void)state;
    uint8_t commitment[32] = {0}, label[16];
    static const uintptr_t bad[] = {
        0, 1, 3, 8191, (uintptr_t)1 << 31, (uintptr_t)1 << 40, UINTPTR_MAX};
    for (size_t i = 0; i < 7; i++)
        assert_null(new_initializer(CPU_PROVIDER_ID, bad[i], commitment, NULL));
    Initializer *i = new_initializer(CPU_PROVIDER_ID, 2, commitment, NULL);
    assert_non_null(i);
    assert_int_equal(initialize(i, 0, UINT64_MAX, label, NULL),
                     InitializeResult_InvalidLabelsRange);
    assert_int_equal(initialize(i, 1, 0, label, NULL),
                     InitializeResult_InvalidLabelsRange);
    assert_int_equal(initialize(i, 0, UINT64_MAX - 1, label, NULL),
                     InitializeResult_InvalidLabelsRange);
    assert_int_equal(initialize(i, UINT64_MAX - 1, UINT64_MAX - 1, label, NULL),
                     InitializeResult_Ok);
    free_initializer(i);
}

/* A stack of 64 KiB, of which the thread library takes some. */
static void *all_calls(void *arg)
{
    record *r = arg;
    uint8_t label[16];
    uint64_t nonce;
    Provider p[2];
    Verifier *v = NULL;
    Initializer *i = new_initializer(CPU_PROVIDER_ID, 512, r->challenge,
                                     r->challenge);
    bool good = i != NULL && get_providers(p, 2) == InitializeResult_Ok &&
                initialize(i, 5, 5, label, &nonce) != InitializeResult_Error &&
                verify_pos(r->dir, NULL, NULL, 100, two).tag ==
                    VerifyPosResult_Ok &&
                new_verifier(0, &v) == NewVerifierResult_Ok &&
                judge(r).tag == VerifyResult_Ok;
    Proof *made = generate_proof(r->dir, r->challenge, config_of(r), 16, 0, 0);
    good = good && made != NULL;
    made = made != NULL ? (free_proof(made), NULL) : NULL;
    made = generate_proof("no such folder", r->challenge, config_of(r), 16, 1,
                          0);
    good = good && made == NULL;
    free_verifier(v);
    free_initializer(i);
    return good ? arg : NULL;
}

static void small_stacks_suffice(void **state)
{
    (void)state;
    static record r;
    pthread_attr_t attr;
    pthread_t thread;
    void *result = NULL;
    record_find(&r, "a1");
    assert_int_equal(pthread_attr_init(&attr), 0);
    assert_int_equal(pthread_attr_setstacksize(&attr, 64 << 10), 0);
    assert_int_equal(pthread_create(&thread, &attr, all_calls, &r), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, &r);
    pthread_attr_destroy(&attr);
}

int main(int argc, char **argv)
{
    every_record = argc > 1 && strcmp(argv[1], "all") == 0;
    check_step = argc > 1 && strcmp(argv[1], "some") == 0 ? 7 : 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_match),
        cmocka_unit_test(ranges_match),
        cmocka_unit_test(nonces_match),
        cmocka_unit_test(pieces_make_a_range),
        cmocka_unit_test(verdicts_match),
        cmocka_unit_test(verdicts_without_end),
        cmocka_unit_test(subset_of_65536),
        cmocka_unit_test(proofs_are_made),
        cmocka_unit_test(proofs_do_not_vary),
        cmocka_unit_test(proofs_are_refused),
        cmocka_unit_test(good_sets_are_good),
        cmocka_unit_test(lowest_bad_label_is_named),
        cmocka_unit_test(samples_are_taken),
        cmocka_unit_test(broken_folders_fail),
        cmocka_unit_test(bad_data_give_no_proof),
        cmocka_unit_test(labels_as_a_job),
        cmocka_unit_test(proof_as_a_job),
        cmocka_unit_test(all_bad_ranges),
        cmocka_unit_test(providers_are_listed),
        cmocka_unit_test(flags_are_of_the_cpu),
        cmocka_unit_test(initializers_are_refused),
        cmocka_unit_test(small_stacks_suffice),
    };
    return cmocka_run_group_tests(tests, open_verifier, close_verifier);
}

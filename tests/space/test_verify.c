/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The verifier against every answer that the reference gave for proofs.json and
 * k2pow.json; then what the reference cannot be asked: strict mode, reasons,
 * arguments it would end its process for, hosts of every kind.
 */
#include "space/records.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fenv.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static hf_context *shared; /* RandomX memory is made once for all tests */
static record good;        /* k1 26, k2 37, 2 units of 256 labels */

static int open_shared(void **state)
{
    (void)state;
    shared = context_with(2);
    record_find(&good, "a2");
    return 0;
}

static int close_shared(void **state)
{
    (void)state;
    hf_context_close(shared);
    return 0;
}

/* ---- the reference's answers ---------------------------------------------- */

static void one_check(hf_context *ctx, const hfi_json *node,
                      const hfi_json *check)
{
    static const char *const kinds[] = {"Ok", "Invalid", "InvalidIndex"};
    record r;
    record_read(&r, node);
    record_change(&r, check);
    hf_space_verdict got = verdict_of(ctx, &r);
    const char *note = vectors_text(check, "note");
    const hfi_json *expect = vectors_member(check, "expect");
    const char *result = vectors_text(expect, "result");
    if (strcmp(kinds[got.kind], result) != 0)
        fail_msg("%s, %s: %s (%s), wanted %s", r.name, note, kinds[got.kind],
                 got.reason, result);
    if (got.kind == HF_SPACE_INVALID_INDEX &&
        got.index_id != vectors_u64(expect, "index_id"))
        fail_msg("%s, %s: index %llu", r.name, note,
                 (unsigned long long)got.index_id);
    assert_int_equal(got.kind == HF_SPACE_VALID, got.reason[0] == '\0');
}

static void every_check_matches(void **state)
{
    (void)state;
    struct vectors v;
    size_t count = 0;
    vectors_load(&v, "space/proofs.json");
    for (const hfi_json *n = v.root->child; n; n = n->next) {
        const hfi_json *checks = hfi_json_member(n, "checks");
        for (const hfi_json *c = checks ? checks->child : NULL; c;
             c = c->next, count++)
            one_check(shared, n, c);
    }
    vectors_free(&v);
    assert_int_equal(count, 440);
}

/* Verdicts on the work alone: k2 = 0 asks for nothing else. */
static void every_work_verdict_matches(void **state)
{
    (void)state;
    struct vectors v;
    size_t count = 0;
    vectors_load(&v, "space/k2pow.json");
    for (const hfi_json *n = vectors_member(v.root, "verdicts")->child; n;
         n = n->next, count++) {
        record r = {.opts.size = sizeof r.opts};
        r.opts.network = (hf_space_network){.size = sizeof r.opts.network,
                                            .max_units = 1,
                                            .labels_per_unit = 100,
                                            .scrypt_n = 2};
        vectors_hex_exact(n, "difficulty", r.opts.network.pow_difficulty, 32);
        r.proof.num_units = 1;
        r.proof.labels_per_unit = 100;
        r.proof.pow = vectors_u64(n, "pow");
        r.proof.nonce = (uint32_t)vectors_u64(n, "nonce_group") * 16;
        vectors_hex_exact(n, "challenge8", r.proof.challenge, 8);
        vectors_hex_exact(n, "miner_id", r.proof.node_id, 32);
        hf_space_verdict got = verdict_of(shared, &r);
        if ((got.kind == HF_SPACE_VALID) != vectors_member(n, "valid")->truth)
            fail_msg("%s: %s", vectors_text(n, "note"), got.reason);
    }
    assert_int_equal(count, 72);
    vectors_free(&v);
}

static void without_workers(void **state)
{
    (void)state;
    hf_context *ctx = context_with(0);
    record r;
    record_copy(&r, &good);
    assert_int_equal(verdict_of(ctx, &r).kind, HF_SPACE_VALID);
    r.proof.nonce ^= 1;
    hf_space_verdict got = verdict_of(ctx, &r);
    assert_int_equal(got.kind, HF_SPACE_INVALID_INDEX);
    assert_int_equal(got.index_id, 0);
    hf_context_close(ctx);
}

/* ---- reasons ---------------------------------------------------------------- */

static void refused(const record *r, hf_space_verdict_kind kind,
                    const char *first, const char *second)
{
    hf_space_verdict v = verdict_of(shared, r);
    if (v.kind != kind || !strstr(v.reason, first) || !strstr(v.reason, second))
        fail_msg("kind %d, \"%s\"; wanted %d with \"%s\" and \"%s\"",
                 (int)v.kind, v.reason, (int)kind, first, second);
}

/* One wrong field at a time: named with what it is and what it may be. */
static void reasons_name_the_field(void **state)
{
    (void)state;
    record r;
    record_copy(&r, &good);
    r.opts.network.min_units = 3;
    r.opts.network.max_units = 9;
    refused(&r, HF_SPACE_INVALID, "num_units is 2", "at least 3");
    r.opts.network.min_units = 0;
    r.opts.network.max_units = 1;
    refused(&r, HF_SPACE_INVALID, "num_units is 2", "at most 1");
    record_copy(&r, &good);
    r.proof.nonce = 4096;
    refused(&r, HF_SPACE_INVALID, "nonce is 4096", "4095");
    record_copy(&r, &good);
    r.proof.pow++;
    refused(&r, HF_SPACE_INVALID, "pow is 169", "wanted below 03ff");
    record_copy(&r, &good);
    r.proof.indices_bytes--;
    refused(&r, HF_SPACE_INVALID, "indices have 46 bytes", "wanted 47");
    record_copy(&r, &good);
    r.opts.network.k1 = 512;
    refused(&r, HF_SPACE_INVALID, "512 labels", "k1 = 512");
    record_copy(&r, &good);
    r.proof.labels_per_unit++;
    refused(&r, HF_SPACE_INVALID, "labels_per_unit is 257", "wanted 256");
    record_copy(&r, &good);
    r.opts.network.k1 = 1;
    refused(&r, HF_SPACE_INVALID_INDEX, "label 40 at position 0",
            "wanted at most 0");
    assert_int_equal(verdict_of(shared, &r).label_index, 40);
}

/* ---- strict ------------------------------------------------------------------ */

static void set_index(record *r, uint64_t at, uint64_t value)
{
    for (uint32_t bit = 0; bit < 10; bit++) {
        uint64_t i = at * 10 + bit;
        r->indices[i / 8] &= (uint8_t) ~(1u << i % 8);
        if (value >> bit & 1)
            r->indices[i / 8] |= (uint8_t)(1u << i % 8);
    }
}

/* The network lets it pass; strict mode refuses it by name. */
static void strict_alone_refuses(record *r, hf_space_verdict_kind kind,
                                 const char *first, const char *second)
{
    r->opts.strict = false;
    assert_int_equal(verdict_of(shared, r).kind, HF_SPACE_VALID);
    r->opts.strict = true;
    refused(r, kind, first, second);
}

static void strict_about_options(void **state)
{
    (void)state;
    record r;
    record_copy(&r, &good);
    r.opts.strict = true;
    assert_int_equal(verdict_of(shared, &r).kind, HF_SPACE_VALID);
    r.opts.network.k2 = 0;
    r.proof.indices_bytes = 0;
    strict_alone_refuses(&r, HF_SPACE_INVALID, "k2 is 0", "at least 1");
    record_copy(&r, &good);
    r.opts.mode = HF_SPACE_VERIFY_SUBSET;
    r.opts.k3 = 38;
    strict_alone_refuses(&r, HF_SPACE_INVALID, "k3 is 38", "k2 = 37");
    record_copy(&r, &good);
    r.opts.mode = HF_SPACE_VERIFY_ONE;
    r.opts.index = 37;
    strict_alone_refuses(&r, HF_SPACE_INVALID, "index is 37", "k2 = 37");
}

static void strict_about_proofs(void **state)
{
    (void)state;
    record r;
    record_copy(&r, &good);
    r.indices[46] |= 0x80;
    strict_alone_refuses(&r, HF_SPACE_INVALID, "padding", "wanted 0");
    record_copy(&r, &good);
    set_index(&r, 36, 40);
    strict_alone_refuses(&r, HF_SPACE_INVALID_INDEX, "label 40 at position 36",
                         "repeats position 0");
    record_copy(&r, &good);
    set_index(&r, 3, 512);
    r.opts.mode = HF_SPACE_VERIFY_ONE;
    strict_alone_refuses(&r, HF_SPACE_INVALID_INDEX, "label 512 at position 3",
                         "below 512");
    record_copy(&r, &good);
    r.proof.pow |= UINT64_C(1) << 56;
    r.opts.strict = true;
    refused(&r, HF_SPACE_INVALID, "pow is 72057594037928104", "2^56");
}

/* ---- hosts -------------------------------------------------------------------- */

static void not_judged(const record *r, const char *text)
{
    hf_space_verdict v = {.size = sizeof v};
    hf_error err;
    assert_int_equal(hf_space_verify(shared, &r->proof, &r->opts, &v, &err),
                     HF_E_ARGUMENT);
    if (!strstr(err.cause, text) && !strstr(err.message, text))
        fail_msg("\"%s: %s\" lacks \"%s\"", err.message, err.cause, text);
}

/* Where the present verifier ends the process it lives in. */
static void no_way_to_end_the_host(void **state)
{
    (void)state;
    record r;
    record_copy(&r, &good);
    r.opts.network.scrypt_n = 0;
    not_judged(&r, "scrypt_n is 0");
    r.opts.network.scrypt_n = 1;
    not_judged(&r, "scrypt_n is 1");
    r.opts.network.scrypt_n = UINT64_C(1) << 40;
    not_judged(&r, "scrypt_n is 1099511627776");
    record_copy(&r, &good);
    r.proof.num_units = 0;
    r.opts.network.min_units = 0;
    refused(&r, HF_SPACE_INVALID, "num_units is 0", "at least 1");
    record_copy(&r, &good);
    r.opts.network.k2 = 65536;
    r.opts.mode = HF_SPACE_VERIFY_SUBSET;
    r.opts.k3 = 3;
    not_judged(&r, "65536");
    record_copy(&r, &good);
    r.opts.mode = (hf_space_verify_mode)3;
    not_judged(&r, "mode is 3");
    record_copy(&r, &good);
    r.opts.size--;
    not_judged(&r, "size");
}

static void sizes_without_end(void **state)
{
    (void)state;
    record r;
    record_copy(&r, &good);
    r.opts.network.labels_per_unit = r.proof.labels_per_unit = UINT64_MAX / 2 +
                                                               1;
    refused(&r, HF_SPACE_INVALID, "labels_per_unit", "64 bits");
    record_copy(&r, &good);
    r.opts.network.k2 = UINT32_MAX;
    refused(&r, HF_SPACE_INVALID, "indices have 47", "4294967295");
    record_copy(&r, &good);
    r.proof.indices_bytes = SIZE_MAX;
    refused(&r, HF_SPACE_INVALID, "indices have 18446744073709551615", "47");
    r.proof.indices_bytes = (size_t)1 << 40;
    r.opts.strict = true;
    refused(&r, HF_SPACE_INVALID, "indices have 1099511627776", "47");
}

/* N is cut to a power of two, as the network does it. */
static void n_is_reduced(void **state)
{
    (void)state;
    record r;
    record_find(&r, "b1");
    assert_int_equal(r.opts.network.scrypt_n, 16);
    r.opts.network.scrypt_n = 31;
    assert_int_equal(verdict_of(shared, &r).kind, HF_SPACE_VALID);
    r.opts.network.scrypt_n = 32;
    assert_int_equal(verdict_of(shared, &r).kind, HF_SPACE_INVALID_INDEX);
}

static void a_job_has_one_completion(void **state)
{
    (void)state;
    record r;
    hf_job *job = NULL;
    hf_completion c;
    hf_error err;
    hf_space_verdict v = {.size = sizeof v};
    const hf_space_proof *proof = NULL;
    int mark = 0;
    record_copy(&r, &good);
    r.opts.job.user = &mark;
    assert_int_equal(
        hf_space_verify_start(shared, &job, &r.proof, &r.opts, &err), HF_OK);
    memset(r.indices, 0xff, sizeof r.indices); /* it was copied */
    memset(&r.proof, 0xff, sizeof r.proof);
    struct pollfd p = {.fd = hf_context_event_fd(shared), .events = POLLIN};
    assert_int_equal(poll(&p, 1, 60000), 1);
    assert_true(hf_context_next(shared, &c));
    assert_ptr_equal(c.job, job);
    assert_ptr_equal(c.user, &mark);
    assert_int_equal(c.status, HF_OK);
    assert_false(hf_context_next(shared, &c));
    assert_int_equal(hf_space_verify_result(job, &v, &err), HF_OK);
    assert_int_equal(v.kind, HF_SPACE_VALID);
    assert_int_equal(hf_space_prove_result(job, &proof, &err), HF_E_ARGUMENT);
    hf_job_free(job);
}

/* The blocking call is its caller's alone: the host's loop sees nothing. */
static void the_blocking_call_leaves_no_completion(void **state)
{
    (void)state;
    hf_completion c;
    struct pollfd p = {.fd = hf_context_event_fd(shared), .events = POLLIN};
    (void)verdict_of(shared, &good);
    assert_false(hf_context_next(shared, &c));
    assert_int_equal(poll(&p, 1, 0), 0);
}

static void many_at_once(void **state)
{
    (void)state;
    enum { COUNT = 100 };
    hf_job *jobs[COUNT];
    hf_error err;
    record r;
    record_copy(&r, &good);
    for (uint32_t i = 0; i < COUNT; i++) {
        r.proof.nonce ^= 1; /* every other one is bad */
        assert_int_equal(
            hf_space_verify_start(shared, &jobs[i], &r.proof, &r.opts, &err),
            HF_OK);
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        hf_space_verdict v = {.size = sizeof v};
        assert_int_equal(hf_job_wait(jobs[i], 60000, &err), HF_OK);
        assert_int_equal(hf_space_verify_result(jobs[i], &v, &err), HF_OK);
        assert_int_equal(v.kind,
                         i % 2 ? HF_SPACE_VALID : HF_SPACE_INVALID_INDEX);
        hf_job_free(jobs[i]);
    }
}

static void cancel_and_free_at_any_time(void **state)
{
    (void)state;
    hf_error err;
    for (int i = 0; i < 60; i++) {
        hf_job *job = NULL;
        struct timespec wait = {.tv_nsec = i * 700000};
        assert_int_equal(
            hf_space_verify_start(shared, &job, &good.proof, &good.opts, &err),
            HF_OK);
        nanosleep(&wait, NULL);
        hf_job_cancel(job);
        if (i % 2) {
            hf_status s = hf_job_wait(job, 60000, &err);
            assert_true(s == HF_OK || s == HF_E_CANCELLED);
        }
        hf_job_free(job);
    }
}

/* A host that rounds upwards gets the same verdict and goes on rounding so. */
static void host_rounding(void **state)
{
    (void)state;
    hf_context *driven = context_with(0);
    hf_context *contexts[] = {shared, driven};
    for (int i = 0; i < 2; i++) {
        fesetround(FE_UPWARD);
        hf_space_verdict v = verdict_of(contexts[i], &good);
        int mode = fegetround();
        fesetround(FE_TONEAREST);
        assert_int_equal(mode, FE_UPWARD);
        assert_int_equal(v.kind, HF_SPACE_VALID);
    }
    hf_context_close(driven);
}

/* Each allocation fails in turn: an error, and the next call works. */
static void every_allocation_fails(void **state)
{
    (void)state;
    record r;
    hf_error err;
    uint64_t refused_count = 0, nth = 1;
    bool hit = true;
    record_copy(&r, &good);
    r.opts.mode = HF_SPACE_VERIFY_SUBSET;
    r.opts.k3 = 5;
    r.opts.strict = true;
    (void)verdict_of(shared, &r);
    for (; hit; nth++) {
        hf_space_verdict v = {.size = sizeof v};
        alloc_fail_start(nth);
        hf_status s = hf_space_verify(shared, &r.proof, &r.opts, &v, &err);
        hit = alloc_fail_end();
        assert_true(s == HF_OK || (hit && s == HF_E_MEMORY));
        if (s == HF_OK)
            assert_int_equal(v.kind, HF_SPACE_VALID);
        refused_count += s != HF_OK;
    }
    assert_true(refused_count >= 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_check_matches),
        cmocka_unit_test(every_work_verdict_matches),
        cmocka_unit_test(without_workers),
        cmocka_unit_test(reasons_name_the_field),
        cmocka_unit_test(strict_about_options),
        cmocka_unit_test(strict_about_proofs),
        cmocka_unit_test(no_way_to_end_the_host),
        cmocka_unit_test(sizes_without_end),
        cmocka_unit_test(n_is_reduced),
        cmocka_unit_test(a_job_has_one_completion),
        cmocka_unit_test(the_blocking_call_leaves_no_completion),
        cmocka_unit_test(many_at_once),
        cmocka_unit_test(cancel_and_free_at_any_time),
        cmocka_unit_test(host_rounding),
        cmocka_unit_test(every_allocation_fails),
    };
    return cmocka_run_group_tests(tests, open_shared, close_shared);
}

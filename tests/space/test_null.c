/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * NULL for each pointer argument of each function of <holdfast/space.h>, one at
 * a time: an error that says so or the default, never a signal. A function of
 * the header that is not called here fails the last test.
 */
#include "space/records.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

static hf_context *ctx;
static record good;
static hf_job *job; /* a verification that has ended */
static hf_error error;
static char called[1 << 14]; /* every call below as text */

static hf_status note(hf_status s, const char *call)
{
    assert_true(strlen(called) + strlen(call) < sizeof called);
    strcat(called, call);
    if (s == HF_E_ARGUMENT && error.message[0] == '\0')
        fail_msg("no text: %s", call);
    error = (hf_error){0};
    return s;
}

static void expect(hf_status got, hf_status wanted, const char *call)
{
    if (note(got, call) != wanted)
        fail_msg("%s: %s", call, hf_status_name(got));
}

/* With an error to fill, and without. */
#define REFUSED(call_err)                                                      \
    do {                                                                       \
        hf_error *err = &error;                                                \
        expect(call_err, HF_E_ARGUMENT, #call_err);                            \
        err = NULL;                                                            \
        error.message[0] = 'x';                                                \
        expect(call_err, HF_E_ARGUMENT, #call_err);                            \
    } while (0)

static int open_all(void **state)
{
    (void)state;
    ctx = context_with(1);
    record_find(&good, "a3 k1 so low that only the lazy cipher decides");
    if (hf_space_verify_start(ctx, &job, &good.proof, &good.opts, NULL) !=
            HF_OK ||
        hf_job_wait(job, UINT64_MAX, NULL) != HF_OK)
        return 1;
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    hf_job_free(job);
    hf_context_close(ctx);
    return 0;
}

/* ---- networks, metadata, status ------------------------------------------- */

static void reading(void **state)
{
    (void)state;
    hf_space_network network = {.size = sizeof network};
    hf_space_meta meta = {.size = sizeof meta};
    hf_space_status status = {.size = sizeof status};
    uint64_t n;
    hf_space_network_mainnet(NULL);
    strcat(called, "hf_space_network_mainnet(");
    REFUSED(hf_space_network_load(NULL, good.dir, err));
    REFUSED(hf_space_network_load(&network, NULL, err));
    REFUSED(hf_space_meta_load(NULL, good.dir, err));
    REFUSED(hf_space_meta_load(&meta, NULL, err));
    REFUSED(hf_space_get_status(NULL, good.dir, err));
    REFUSED(hf_space_get_status(&status, NULL, err));
    REFUSED(hf_space_find_scrypt_n(NULL, &n, good.dir, 2, err));
    REFUSED(hf_space_find_scrypt_n(ctx, NULL, good.dir, 2, err));
    REFUSED(hf_space_find_scrypt_n(ctx, &n, NULL, 2, err));
}

/* ---- labels ------------------------------------------------------------------ */

static void initialising(void **state)
{
    (void)state;
    hf_job *out = NULL;
    uint8_t id[32] = {1};
    hf_space_plan plan = {.size = sizeof plan};
    hf_space_init_outcome outcome = {.size = sizeof outcome};
    hf_space_init_opts o = HF_SPACE_INIT_OPTS_INIT;
    o.node_id = id;
    o.commitment_atx_id = id;
    o.num_units = 1;
    o.labels_per_unit = 64;
    o.scrypt_n = 2;
    REFUSED(hf_space_init_plan(NULL, &plan, "nowhere", &o, err));
    REFUSED(hf_space_init_plan(ctx, NULL, "nowhere", &o, err));
    REFUSED(hf_space_init_plan(ctx, &plan, NULL, &o, err));
    REFUSED(hf_space_init_start(NULL, &out, "nowhere", &o, err));
    REFUSED(hf_space_init_start(ctx, NULL, "nowhere", &o, err));
    REFUSED(hf_space_init_start(ctx, &out, NULL, &o, err));
    REFUSED(hf_space_init_result(NULL, &outcome, err));
    REFUSED(hf_space_init_result(job, NULL, err));
    REFUSED(hf_space_init_result(job, &outcome, err)); /* another kind */
    assert_null(out);
}

static void searching(void **state)
{
    (void)state;
    hf_job *out = NULL;
    uint8_t id[32] = {1};
    hf_space_meta meta = {.size = sizeof meta};
    hf_space_labels labels = {.size = sizeof labels};
    hf_space_check_outcome outcome = {.size = sizeof outcome};
    REFUSED(hf_space_nonce_start(NULL, &out, good.dir, NULL, err));
    REFUSED(hf_space_nonce_start(ctx, NULL, good.dir, NULL, err));
    REFUSED(hf_space_nonce_start(ctx, &out, NULL, NULL, err));
    REFUSED(hf_space_nonce_result(NULL, &meta, err));
    REFUSED(hf_space_nonce_result(job, NULL, err));
    REFUSED(hf_space_nonce_result(job, &meta, err));
    REFUSED(hf_space_labels_start(NULL, &out, id, 0, 1, NULL, err));
    REFUSED(hf_space_labels_start(ctx, NULL, id, 0, 1, NULL, err));
    REFUSED(hf_space_labels_start(ctx, &out, NULL, 0, 1, NULL, err));
    REFUSED(hf_space_labels_result(NULL, &labels, err));
    REFUSED(hf_space_labels_result(job, NULL, err));
    REFUSED(hf_space_labels_result(job, &labels, err));
    REFUSED(hf_space_check_start(NULL, &out, good.dir, NULL, err));
    REFUSED(hf_space_check_start(ctx, NULL, good.dir, NULL, err));
    REFUSED(hf_space_check_start(ctx, &out, NULL, NULL, err));
    REFUSED(hf_space_check_result(NULL, &outcome, err));
    REFUSED(hf_space_check_result(job, NULL, err));
    REFUSED(hf_space_check_result(job, &outcome, err));
    assert_null(out);
}

static void measuring(void **state)
{
    (void)state;
    hf_job *out = NULL;
    hf_space_bench_outcome outcome = {.size = sizeof outcome};
    REFUSED(hf_space_bench_start(NULL, &out, NULL, err));
    REFUSED(hf_space_bench_start(ctx, NULL, NULL, err));
    REFUSED(hf_space_bench_result(NULL, &outcome, err));
    REFUSED(hf_space_bench_result(job, NULL, err));
    REFUSED(hf_space_bench_result(job, &outcome, err));
    REFUSED(hf_space_warm_start(NULL, &out, NULL, err));
    REFUSED(hf_space_warm_start(ctx, NULL, NULL, err));
    assert_null(out);
}

/* ---- proofs -------------------------------------------------------------------- */

static void proofs(void **state)
{
    (void)state;
    hf_space_proof *proof = NULL;
    hf_space_proof hollow = good.proof;
    char text[4096];
    size_t need;
    hollow.indices = NULL;
    REFUSED(hf_space_proof_parse(NULL, "it", "{}", 2, err));
    REFUSED(hf_space_proof_parse(&proof, "it", NULL, 2, err));
    REFUSED(hf_space_proof_load(NULL, "nowhere", err));
    REFUSED(hf_space_proof_load(&proof, NULL, err));
    REFUSED(hf_space_proof_save(NULL, "nowhere", err));
    REFUSED(hf_space_proof_save(&good.proof, NULL, err));
    REFUSED(hf_space_proof_save(&hollow, "nowhere", err));
    REFUSED(hf_space_proof_format(NULL, text, sizeof text, &need, err));
    REFUSED(hf_space_proof_format(&good.proof, NULL, 1, &need, err));
    REFUSED(hf_space_proof_format(&good.proof, text, sizeof text, NULL, err));
    REFUSED(hf_space_proof_format(&hollow, text, sizeof text, &need, err));
    hf_space_proof_free(NULL);
    strcat(called, "hf_space_proof_free(");
    /* A text without a name is no mistake. */
    assert_int_equal(hf_space_proof_parse(&proof, NULL, "{}", 2, NULL),
                     HF_E_FORMAT);
    assert_null(proof);
}

static void proving(void **state)
{
    (void)state;
    hf_job *out = NULL;
    const hf_space_proof *proof = NULL;
    hf_space_prove_opts o = HF_SPACE_PROVE_OPTS_INIT;
    REFUSED(
        hf_space_prove_start(NULL, &out, good.dir, good.challenge, &o, err));
    REFUSED(hf_space_prove_start(ctx, NULL, good.dir, good.challenge, &o, err));
    REFUSED(hf_space_prove_start(ctx, &out, NULL, good.challenge, &o, err));
    REFUSED(hf_space_prove_start(ctx, &out, good.dir, NULL, &o, err));
    REFUSED(hf_space_prove_result(NULL, &proof, err));
    REFUSED(hf_space_prove_result(job, NULL, err));
    REFUSED(hf_space_prove_result(job, &proof, err));
    assert_null(out);
    assert_null(proof);
}

static void verifying(void **state)
{
    (void)state;
    hf_job *out = NULL;
    hf_space_verdict v = {.size = sizeof v};
    const hf_space_proof *p = &good.proof;
    const hf_space_verify_opts *o = &good.opts;
    hf_space_proof hollow = good.proof;
    hf_space_verify_opts seedless = good.opts;
    hollow.indices = NULL;
    seedless.mode = HF_SPACE_VERIFY_SUBSET;
    seedless.seed_bytes = 3;
    REFUSED(hf_space_verify_start(NULL, &out, p, o, err));
    REFUSED(hf_space_verify_start(ctx, NULL, p, o, err));
    REFUSED(hf_space_verify_start(ctx, &out, NULL, o, err));
    REFUSED(hf_space_verify_start(ctx, &out, p, NULL, err));
    REFUSED(hf_space_verify_start(ctx, &out, &hollow, o, err));
    REFUSED(hf_space_verify_start(ctx, &out, p, &seedless, err));
    REFUSED(hf_space_verify_result(NULL, &v, err));
    REFUSED(hf_space_verify_result(job, NULL, err));
    REFUSED(hf_space_verify(NULL, p, o, &v, err));
    REFUSED(hf_space_verify(ctx, NULL, o, &v, err));
    REFUSED(hf_space_verify(ctx, p, NULL, &v, err));
    REFUSED(hf_space_verify(ctx, p, o, NULL, err));
    assert_null(out);
    /* A seed of no bytes and a list of none may be NULL. */
    seedless.seed_bytes = 0;
    assert_int_equal(hf_space_verify(ctx, p, &seedless, &v, NULL), HF_OK);
    assert_int_equal(v.kind, HF_SPACE_VALID);
    hollow.indices_bytes = 0;
    assert_int_equal(hf_space_verify(ctx, &hollow, o, &v, NULL), HF_OK);
    assert_int_equal(v.kind, HF_SPACE_INVALID);
}

/* ---- all of the header ------------------------------------------------------------ */

static void nothing_is_left_out(void **state)
{
    (void)state;
    char path[TEMP_PATH], name[128];
    size_t found = 0;
    temp_path(path, HF_VECTORS, "../../include/holdfast/space.h");
    char *text = temp_read(path, NULL);
    for (const char *at = text; (at = strstr(at, "HF_API")) != NULL;) {
        at = strstr(at, "hf_space_");
        while (at && at[strcspn(at, "( *;")] != '(')
            at = strstr(at + 1, "hf_space_"); /* a type of the result */
        assert_non_null(at);
        size_t bytes = strcspn(at, "(") + 1;
        assert_true(bytes < sizeof name);
        memcpy(name, at, bytes);
        name[bytes] = '\0';
        if (!strstr(called, name))
            fail_msg("%s...) is not called with NULL", name);
        found++;
    }
    assert_true(found >= 22);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reading),   cmocka_unit_test(initialising),
        cmocka_unit_test(searching), cmocka_unit_test(measuring),
        cmocka_unit_test(proofs),    cmocka_unit_test(proving),
        cmocka_unit_test(verifying), cmocka_unit_test(nothing_is_left_out),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Opening and closing, verifying and refusing again and again leave the
 * resident size flat. With "all" as often as a long-lived node does it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "holdfast_post.h"
#include "space/records.h"

static bool everything;
static record known;
static ProofMetadata metadata;
static ProofConfig config;
static InitConfig init;

static size_t resident_kib(void)
{
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%*u %lu", &pages), 1);
    (void)fclose(f);
    return pages * (size_t)sysconf(_SC_PAGESIZE) / 1024;
}

static int often(int all, int some)
{
    return everything ? all : some;
}

static int prepare(void **state)
{
    (void)state;
    record_find(&known, "a1");
    metadata.num_units = known.proof.num_units;
    memcpy(metadata.node_id, known.proof.node_id, 32);
    memcpy(metadata.commitment_atx_id, known.proof.commitment_atx_id, 32);
    memcpy(metadata.challenge, known.proof.challenge, 32);
    config = (ProofConfig){.k1 = known.opts.network.k1,
                           .k2 = known.opts.network.k2};
    memcpy(config.pow_difficulty, known.opts.network.pow_difficulty, 32);
    init = (InitConfig){2, 2, known.opts.network.labels_per_unit, {2, 1, 1}};
    return 0;
}

static Proof known_proof(void)
{
    return (Proof){known.proof.nonce,
                   {known.indices, known.proof.indices_bytes, 0},
                   known.proof.pow};
}

/*
 * `times` rounds after a few that warm up leave at most 16 MiB more: what the C
 * library keeps of RandomX's machines, one a worker, whenever that comes up.
 */
static void stays_flat(void (*round)(int i), int times)
{
    for (int i = 0; i < 8; i++)
        round(i);
    size_t before = resident_kib();
    for (int i = 0; i < times; i++)
        round(i);
    size_t after = resident_kib();
    if (after > before + 16384)
        fail_msg("resident size rose from %zu to %zu KiB", before, after);
}

static void open_initializer(int i)
{
    uint8_t commitment[32] = {(uint8_t)i}, labels[16 * 20];
    uint64_t nonce;
    Initializer *a = new_initializer(CPU_PROVIDER_ID, 2, commitment, NULL);
    Initializer *b = new_initializer(CPU_PROVIDER_ID, 4, commitment,
                                     commitment);
    assert_int_equal(initialize(a, 0, 19, labels, NULL), InitializeResult_Ok);
    assert_int_not_equal(initialize(b, 0, 19, labels, &nonce),
                         InitializeResult_Error);
    free_initializer(a);
    free_initializer(b);
}

static void initializers_leave_nothing(void **state)
{
    (void)state;
    stays_flat(open_initializer, often(10000, 1000));
}

static void open_verifier(int i)
{
    (void)i;
    Verifier *v = NULL;
    assert_int_equal(new_verifier(0, &v), NewVerifierResult_Ok);
    free_verifier(v);
}

/* And the memory goes back with the last of them. */
static void verifiers_leave_nothing(void **state)
{
    (void)state;
    Verifier *v = NULL;
    stays_flat(open_verifier, often(1000, 3));
    size_t without = resident_kib();
    assert_int_equal(new_verifier(0, &v), NewVerifierResult_Ok);
    assert_true(resident_kib() > without + 200 * 1024);
    free_verifier(v);
    assert_true(resident_kib() < without + 16 * 1024);
}

static Verifier *held;

static void verify_once(int i)
{
    Proof p = known_proof();
    p.pow += (uint64_t)(i % 3 == 2); /* others are met as well: ff... */
    VerifyResult_Tag tag = verify_proof_index(held, p, &metadata, config, init,
                                              (uintptr_t)(i % 20))
                               .tag;
    assert_true(tag == VerifyResult_Ok || i % 3 == 2);
    tag = i % 5 != 0 && !everything
              ? VerifyResult_Ok
              : verify_proof(held, known_proof(), &metadata, config, init).tag;
    assert_int_equal(tag, VerifyResult_Ok);
}

static void refuse_once(int i)
{
    Proof p = known_proof();
    ProofMetadata m = metadata;
    if (i % 2 == 0)
        p.nonce = 4096 + (uint32_t)i;
    else
        m.num_units = 3;
    assert_int_equal(verify_proof(held, p, &m, config, init).tag,
                     VerifyResult_Invalid);
}

static void verifications_leave_nothing(void **state)
{
    (void)state;
    assert_int_equal(new_verifier(0, &held), NewVerifierResult_Ok);
    stays_flat(verify_once, often(1000, 30));
    stays_flat(refuse_once, often(100000, 5000));
    free_verifier(held);
}

static void fail_once(int i)
{
    uint8_t label[16];
    hf_post_job *job = NULL;
    const ScryptParams two = {2, 1, 1};
    assert_null(new_initializer(7, 2, known.challenge, NULL));
    assert_int_equal(initialize(NULL, 0, (uint64_t)i, label, NULL),
                     InitializeResult_InvalidArgument);
    assert_null(generate_proof("nowhere", known.challenge, config, 16, 0, 0));
    assert_null(generate_proof(known.dir, known.challenge, config, 8, 0, 0));
    assert_int_equal(verify_pos("nowhere", NULL, NULL, 5, two).tag,
                     VerifyPosResult_Failed);
    assert_int_equal(
        hf_post_verify_pos_start(&job, known.dir, NULL, NULL, 100, two, NULL),
        HF_OK);
    hf_post_job_free(job);
}

static void failures_leave_nothing(void **state)
{
    (void)state;
    stays_flat(fail_once, often(10000, 300));
}

static void prove_once(int i)
{
    Proof *p = generate_proof(known.dir, known.challenge, config, 16,
                              (uintptr_t)(i % 2), 0);
    assert_non_null(p);
    free_proof(p);
}

static void proofs_leave_nothing(void **state)
{
    (void)state;
    stays_flat(prove_once, often(200, 2));
}

int main(int argc, char **argv)
{
    everything = argc > 1 && strcmp(argv[1], "all") == 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(initializers_leave_nothing),
        cmocka_unit_test(verifiers_leave_nothing),
        cmocka_unit_test(verifications_leave_nothing),
        cmocka_unit_test(failures_leave_nothing),
        cmocka_unit_test(proofs_leave_nothing),
    };
    return cmocka_run_group_tests(tests, prepare, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Initializers, provers, verifiers and checks at once from many threads, with
 * handles shared between them; each gets the result it would get alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "holdfast_post.h"
#include "space/records.h"

enum { LABELS = 300, ROUNDS = 4, EACH = 3 };

static record known;
static Verifier *shared_verifier;
static Initializer *shared_initializer;
static uint8_t wanted[16 * LABELS];
static uint64_t wanted_nonce;
static _Atomic int wrong;
static _Atomic int told;

static ProofConfig config(void)
{
    ProofConfig c = {.k1 = known.opts.network.k1, .k2 = known.opts.network.k2};
    memcpy(c.pow_difficulty, known.opts.network.pow_difficulty, 32);
    return c;
}

static VerifyResult_Tag judge(const Verifier *v, Proof p)
{
    ProofMetadata m = {.num_units = known.proof.num_units};
    const InitConfig init = {known.opts.network.min_units,
                             known.opts.network.max_units,
                             known.opts.network.labels_per_unit,
                             {known.opts.network.scrypt_n, 1, 1}};
    memcpy(m.node_id, known.proof.node_id, 32);
    memcpy(m.commitment_atx_id, known.proof.commitment_atx_id, 32);
    memcpy(m.challenge, known.proof.challenge, 32);
    return verify_proof(v, p, &m, config(), init).tag;
}

static Proof known_proof(void)
{
    return (Proof){known.proof.nonce,
                   {known.indices, known.proof.indices_bytes, 0},
                   known.proof.pow};
}

static void want(bool right)
{
    if (!right)
        wrong++;
}

static void *label_thread(void *arg)
{
    (void)arg;
    for (int i = 0; i < ROUNDS * 3; i++) {
        uint8_t got[16 * LABELS];
        uint64_t nonce = 0;
        want(initialize(shared_initializer, 0, LABELS - 1, got, &nonce) ==
             InitializeResult_Ok);
        want(memcmp(got, wanted, sizeof got) == 0 && nonce == wanted_nonce);
        uint8_t other[32] = {(uint8_t)i};
        Initializer *own = new_initializer(CPU_PROVIDER_ID, 4, other, NULL);
        want(initialize(own, 9, 9, got, NULL) == InitializeResult_Ok);
        free_initializer(own);
    }
    return NULL;
}

static void *prove_thread(void *arg)
{
    (void)arg;
    for (int i = 0; i < 2; i++) {
        Proof *p = generate_proof(known.dir, known.challenge, config(), 16,
                                  (uintptr_t)i, 0);
        want(p != NULL && judge(shared_verifier, *p) == VerifyResult_Ok);
        free_proof(p);
    }
    return NULL;
}

static void *verify_thread(void *arg)
{
    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        Proof p = known_proof();
        want(judge(shared_verifier, p) == VerifyResult_Ok);
        p.nonce = 4096;
        want(judge(shared_verifier, p) == VerifyResult_Invalid);
    }
    return NULL;
}

static void *check_thread(void *arg)
{
    (void)arg;
    for (int i = 0; i < ROUNDS * 4; i++) {
        const ScryptParams s = {known.opts.network.scrypt_n, 1, 1};
        want(verify_pos(known.dir, NULL, NULL, 50, s).tag ==
             VerifyPosResult_Ok);
        Provider p;
        want(get_providers(&p, 1) == InitializeResult_Ok);
        want(generate_proof("nowhere", known.challenge, config(), 16, 0, 0) ==
             NULL);
    }
    return NULL;
}

/* Makes and frees verifiers while others use the memory behind them. */
static void *churn_thread(void *arg)
{
    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        Verifier *v = NULL;
        hf_post_job *job = NULL;
        want(new_verifier(0, &v) == NewVerifierResult_Ok);
        want(hf_post_generate_proof_start(&job, known.dir, known.challenge,
                                          config(), 16, 0, 0, NULL) == HF_OK);
        want(judge(v, known_proof()) == VerifyResult_Ok);
        hf_post_job_free(job); /* running or not */
        free_verifier(v);
        free_verifier(v);
    }
    return NULL;
}

static void count_record(const ExternCRecord *r)
{
    told += r->level == Level_Error;
}

static void *log_thread(void *arg)
{
    (void)arg;
    want(set_logging_callback(Level_Error, count_record) == 0 || told >= 0);
    return NULL;
}

static void all_at_once(void **state)
{
    (void)state;
    static void *(*const bodies[])(void *) = {label_thread,  prove_thread,
                                              verify_thread, check_thread,
                                              churn_thread,  log_thread};
    enum { KINDS = sizeof bodies / sizeof bodies[0] };
    pthread_t threads[KINDS * EACH];
    uint8_t difficulty[32], commitment[32] = {1};
    memset(difficulty, 0xff, 32);
    record_find(&known, "a1");
    assert_int_equal(new_verifier(0, &shared_verifier), NewVerifierResult_Ok);
    shared_initializer = new_initializer(CPU_PROVIDER_ID, 64, commitment,
                                         difficulty);
    assert_int_equal(
        initialize(shared_initializer, 0, LABELS - 1, wanted, &wanted_nonce),
        InitializeResult_Ok);
    for (int i = 0; i < KINDS * EACH; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, bodies[i % KINDS], NULL), 0);
    for (int i = 0; i < KINDS * EACH; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(wrong, 0);
    assert_true(told > 0);
    free_initializer(shared_initializer);
    free_verifier(shared_verifier);
}

/* The library is first touched by many threads at the same moment. */
static void *first_touch(void *arg)
{
    (void)arg;
    uint8_t label[16], commitment[32] = {1};
    Initializer *i = new_initializer(CPU_PROVIDER_ID, 64, commitment, NULL);
    want(initialize(i, 0, 0, label, NULL) == InitializeResult_Ok);
    free_initializer(i);
    return NULL;
}

static void first_call_from_many(void **state)
{
    (void)state;
    pthread_t threads[12];
    for (int i = 0; i < 12; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, first_touch, NULL),
                         0);
    for (int i = 0; i < 12; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(wrong, 0);
}

/*
 * All places for jobs are taken by jobs that nobody has freed: a blocking call
 * waits until there is one.
 */
enum { PLACES = 16384 };
static hf_post_job *jobs[PLACES];
static _Atomic bool done;

static void *blocked(void *arg)
{
    uint8_t label[16];
    want(initialize(arg, 5, 5, label, NULL) == InitializeResult_Ok);
    done = true;
    return NULL;
}

static void full_queue_is_waited_for(void **state)
{
    (void)state;
    uint8_t commitment[32] = {1}, label[16];
    pthread_t thread;
    hf_error err;
    Initializer *i = new_initializer(CPU_PROVIDER_ID, 2, commitment, NULL);
    for (int k = 0; k < PLACES; k++)
        assert_int_equal(hf_post_initialize_start(&jobs[k], i, (uint64_t)k,
                                                  (uint64_t)k, &err),
                         HF_OK);
    assert_int_equal(hf_post_job_wait(jobs[PLACES - 1], UINT64_MAX, &err),
                     HF_OK);
    assert_int_equal(pthread_create(&thread, NULL, blocked, i), 0);
    const struct timespec pause = {.tv_nsec = 100000000};
    nanosleep(&pause, NULL);
    assert_false(done);
    hf_post_job_free(jobs[0]);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(done && wrong == 0);
    assert_int_equal(
        hf_post_initialize_result(jobs[5], label, 16, NULL, NULL, &err), HF_OK);
    for (int k = 1; k < PLACES; k++)
        hf_post_job_free(jobs[k]);
    free_initializer(i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_call_from_many),
        cmocka_unit_test(full_queue_is_waited_for),
        cmocka_unit_test(all_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Every NULL and every range of every function of libpost, each in a process
 * of its own: the result is the one documented, nothing is printed, and the
 * process lives to say so.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "holdfast_post.h"
#include "support/vectors.h"

#define SET HF_VECTORS "/space/post/a-4files-even"

/* In a child: ends it with the line where something is wrong. */
#define WANT(condition)                                                        \
    do {                                                                       \
        if (!(condition))                                                      \
            _exit(__LINE__ % 200 + 1);                                         \
    } while (0)

static const uint8_t id[32] = {1};
static const unsigned char challenge[32];
static const ScryptParams two = {2, 1, 1};
static const InitConfig init_cfg = {1, 4, 256, {2, 1, 1}};

static ProofConfig easy(void)
{
    ProofConfig c = {.k1 = 20, .k2 = 5};
    memset(c.pow_difficulty, 0xff, 32);
    return c;
}

/* Runs `body` in a child, what it prints into a file. */
static void in_child(const char *name, void (*body)(void))
{
    char *dir = temp_folder();
    char path[TEMP_PATH];
    size_t printed;
    int status = -1;
    temp_path(path, dir, "out");
    (void)fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (freopen(path, "w", stdout) == NULL ||
            dup2(fileno(stdout), STDERR_FILENO) < 0)
            _exit(255);
        body();
        (void)fflush(NULL);
        _exit(0);
    }
    assert_true(waitpid(pid, &status, 0) == pid);
    if (WIFSIGNALED(status))
        fail_msg("%s: ended by signal %d", name, WTERMSIG(status));
    if (WEXITSTATUS(status) != 0)
        fail_msg("%s: wrong at a line that is %d modulo 200", name,
                 WEXITSTATUS(status) - 1);
    free(temp_read(path, &printed));
    if (printed != 0)
        fail_msg("%s: printed %zu bytes", name, printed);
    temp_folder_remove(dir);
}

/* ---- one body a function ------------------------------------------------------ */

static void providers(void)
{
    Provider p;
    hf_error err;
    WANT(get_providers(NULL, 0) == InitializeResult_InvalidArgument);
    WANT(get_providers(NULL, 5) == InitializeResult_InvalidArgument);
    WANT(get_providers(NULL, UINTPTR_MAX) == InitializeResult_InvalidArgument);
    WANT(get_providers(&p, 0) == InitializeResult_Ok);
    WANT(get_providers(&p, 1) == InitializeResult_Ok);
    WANT(get_providers_count() >= 1);
    WANT(hf_post_get_providers_ex(NULL, 1, &err) ==
         InitializeResult_InvalidArgument);
    WANT(err.code == HF_E_ARGUMENT);
    WANT(hf_post_get_providers_ex(NULL, 1, NULL) ==
         InitializeResult_InvalidArgument);
    WANT(hf_post_get_providers_ex(&p, 1, NULL) == InitializeResult_Ok);
}

static void initializers(void)
{
    static const uintptr_t bad[] = {0,
                                    1,
                                    3,
                                    5,
                                    8191,
                                    8193,
                                    (uintptr_t)1 << 31,
                                    (uintptr_t)1 << 40,
                                    (uintptr_t)1 << 63,
                                    UINTPTR_MAX};
    static const uint32_t ids[] = {0, 1, 7, UINT32_MAX - 1};
    Initializer *i;
    WANT(new_initializer(CPU_PROVIDER_ID, 2, NULL, NULL) == NULL);
    WANT(new_initializer(CPU_PROVIDER_ID, 2, NULL, id) == NULL);
    WANT(new_initializer(7, 0, NULL, NULL) == NULL);
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++)
        WANT(new_initializer(CPU_PROVIDER_ID, bad[k], id, NULL) == NULL);
    for (size_t k = get_providers_count() - 1; k < 4; k++)
        WANT(new_initializer(ids[k], 2, id, NULL) == NULL);
    WANT(hf_post_new_initializer_ex(CPU_PROVIDER_ID, 1, id, NULL, NULL) ==
         NULL);
    WANT(hf_post_new_initializer_ex(CPU_PROVIDER_ID, 2, NULL, NULL, NULL) ==
         NULL);
    free_initializer(NULL);
    WANT((i = new_initializer(CPU_PROVIDER_ID, 2, id, NULL)) != NULL);
    free_initializer(i);
    free_initializer(i);
    free_initializer((Initializer *)(void *)&i);
}

static void ranges(void)
{
    static const struct {
        uint64_t start, end;
    } bad[] = {{0, UINT64_MAX},
               {UINT64_MAX, UINT64_MAX},
               {1, 0},
               {UINT64_MAX, 0},
               {UINT64_MAX - 1, 5},
               {0, UINT64_MAX - 1},
               {0, UINT64_C(1) << 60},
               {5, (UINT64_C(1) << 43) + 4}};
    uint8_t out[32];
    uint64_t nonce = 5;
    Initializer *i = new_initializer(CPU_PROVIDER_ID, 2, id, id);
    WANT(i != NULL);
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        WANT(initialize(i, bad[k].start, bad[k].end, out, &nonce) ==
             InitializeResult_InvalidLabelsRange);
        WANT(initialize(i, bad[k].start, bad[k].end, out, NULL) ==
             InitializeResult_InvalidLabelsRange);
        WANT(initialize(i, bad[k].start, bad[k].end, NULL, NULL) ==
             InitializeResult_InvalidArgument);
    }
    WANT(nonce == 5);
    WANT(initialize(NULL, 0, 0, out, &nonce) ==
         InitializeResult_InvalidArgument);
    WANT(initialize(i, 0, 0, NULL, &nonce) == InitializeResult_InvalidArgument);
    WANT(initialize(NULL, 0, 0, NULL, NULL) ==
         InitializeResult_InvalidArgument);
    WANT(initialize((Initializer *)(void *)out, 0, 0, out, NULL) ==
         InitializeResult_InvalidArgument);
    WANT(initialize(i, 0, 1, out, NULL) == InitializeResult_Ok);
    WANT(hf_post_initialize_ex(i, 0, 1, out, NULL, NULL) ==
         InitializeResult_Ok);
    WANT(hf_post_initialize_ex(NULL, 0, 1, out, NULL, NULL) ==
         InitializeResult_InvalidArgument);
    free_initializer(i);
    WANT(initialize(i, 0, 1, out, NULL) == InitializeResult_InvalidArgument);
}

/* More memory than any machine has is a failure of this call alone. */
static void largest_n(void)
{
    const struct rlimit limit = {(rlim_t)2 << 30, (rlim_t)2 << 30};
    uint8_t out[16];
    Initializer *i = new_initializer(CPU_PROVIDER_ID, (uintptr_t)1 << 30, id,
                                     NULL);
    WANT(i != NULL);
    WANT(setrlimit(RLIMIT_AS, &limit) == 0);
    WANT(initialize(i, 0, 0, out, NULL) == InitializeResult_Error);
    free_initializer(i);
    i = new_initializer(CPU_PROVIDER_ID, 16, id, NULL);
    WANT(initialize(i, 0, 0, out, NULL) == InitializeResult_Ok);
}

static void proofs(void)
{
    static const uintptr_t bad[] = {
        0, 1, 8, 24, 4112, (uintptr_t)1 << 32, UINTPTR_MAX};
    ProofConfig c = easy();
    Proof *p;
    WANT(generate_proof(NULL, challenge, c, 16, 1, 0) == NULL);
    WANT(generate_proof(SET, NULL, c, 16, 1, 0) == NULL);
    WANT(generate_proof(NULL, NULL, c, 0, 0, 0) == NULL);
    WANT(generate_proof("", challenge, c, 16, 1, 0) == NULL);
    WANT(generate_proof("\xff", challenge, c, 16, 1, 0) == NULL);
    WANT(generate_proof(SET "/postdata_0.bin", challenge, c, 16, 1, 0) == NULL);
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++)
        WANT(generate_proof(SET, challenge, c, bad[k], 1, 0) == NULL);
    c.k1 = 0;
    WANT(generate_proof(SET, challenge, c, 16, 1, 0) == NULL);
    c.k1 = UINT32_MAX;
    WANT(generate_proof(SET, challenge, c, 16, 1, 0) == NULL);
    c = easy();
    c.k2 = UINT32_MAX;
    WANT(generate_proof(SET, challenge, c, 16, 1, 0) == NULL);
    WANT(hf_post_generate_proof_ex(NULL, challenge, c, 16, 1, 0, NULL) == NULL);
    free_proof(NULL);
    c = easy();
    /* all bits, also those that mean nothing; all threads and more */
    p = generate_proof(SET, challenge, c, 16, UINTPTR_MAX,
                       UINT32_MAX & ~RandomXFlag_FLAG_FULL_MEM);
    WANT(p != NULL);
    free_proof(p);
    free_proof(p);
    free_proof((Proof *)(void *)&c);
}

static void stored_labels(void)
{
    static const ScryptParams bad[] = {{0, 1, 1},
                                       {1, 1, 1},
                                       {2, 0, 1},
                                       {2, 1, 0},
                                       {0, 0, 0},
                                       {UINTPTR_MAX, 1, 1},
                                       {(uintptr_t)1 << 31, 1, 1},
                                       {2, UINTPTR_MAX, UINTPTR_MAX}};
    static const double fractions[] = {
        0, -0.0, -5, 1e-320, NAN, INFINITY, -INFINITY, 1e308, 100, 100.5};
    const uint32_t low = 0, high = 9, most = UINT32_MAX;
    WANT(verify_pos(NULL, NULL, NULL, 5, two).tag ==
         VerifyPosResult_InvalidArgument);
    WANT(verify_pos("\xff", NULL, NULL, 5, two).tag ==
         VerifyPosResult_InvalidArgument);
    WANT(verify_pos("", NULL, NULL, 5, two).tag == VerifyPosResult_Failed);
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++)
        WANT(verify_pos(SET, NULL, NULL, 5, bad[k]).tag ==
             VerifyPosResult_InvalidArgument);
    for (size_t k = 0; k < sizeof fractions / sizeof fractions[0]; k++)
        WANT(verify_pos(SET, NULL, NULL, fractions[k], two).tag ==
             VerifyPosResult_Ok);
    WANT(verify_pos(SET, &high, NULL, 5, two).tag == VerifyPosResult_Ok);
    WANT(verify_pos(SET, &high, &low, 5, two).tag == VerifyPosResult_Ok);
    WANT(verify_pos(SET, &most, &most, 5, two).tag == VerifyPosResult_Failed);
    WANT(verify_pos(SET, &low, &most, 5, two).tag == VerifyPosResult_Failed);
    WANT(verify_pos(SET, &low, &high, 5, two).tag == VerifyPosResult_Failed);
    WANT(hf_post_verify_pos_ex(NULL, NULL, NULL, 5, two, NULL).tag ==
         VerifyPosResult_InvalidArgument);
    WANT(hf_post_verify_pos_ex(SET, NULL, NULL, 5, two, NULL).tag ==
         VerifyPosResult_Ok);
}

/* A tag without a body leaves the union zero, whatever the stack had there. */
static void bodies_are_zero(const Verifier *v, const ProofMetadata *m,
                            ProofConfig none, InitConfig init)
{
    VerifyResult r = verify_proof(v, (Proof){0}, m, none, init);
    WANT(r.tag == VerifyResult_Ok && r.invalid_index.index_id == 0);
    r = verify_proof(v, (Proof){.nonce = UINT32_MAX}, m, none, init);
    WANT(r.tag == VerifyResult_Invalid && r.invalid_index.index_id == 0);
    r = verify_proof(NULL, (Proof){0}, m, none, init);
    WANT(r.tag == VerifyResult_InvalidArgument &&
         r.invalid_index.index_id == 0);
    VerifyPosResult s = verify_pos(SET, NULL, NULL, 100, two);
    WANT(s.tag == VerifyPosResult_Ok && s.invalid.file == 0 &&
         s.invalid.offset == 0);
    s = verify_pos("", NULL, NULL, 5, two);
    WANT(s.tag == VerifyPosResult_Failed && s.invalid.file == 0 &&
         s.invalid.offset == 0);
}

static void verifiers(void)
{
    Verifier *v = NULL, *untouched = (Verifier *)(void *)&v;
    ProofMetadata m = {.num_units = 0};
    uint8_t indices[7] = {0};
    Proof p = {.indices = {indices, 7, 7}};
    InitConfig init = init_cfg;
    WANT(new_verifier(0, NULL) == NewVerifierResult_InvalidArgument);
    WANT(hf_post_new_verifier_ex(0, NULL, NULL) ==
         NewVerifierResult_InvalidArgument);
    free_verifier(NULL);
    WANT(verify_proof(NULL, p, &m, easy(), init).tag ==
         VerifyResult_InvalidArgument);
    WANT(verify_proof_index(NULL, p, &m, easy(), init, 0).tag ==
         VerifyResult_InvalidArgument);
    WANT(verify_proof_subset(NULL, p, &m, easy(), init, 1, NULL, 0).tag ==
         VerifyResult_InvalidArgument);
    WANT(verify_proof(untouched, p, &m, easy(), init).tag ==
         VerifyResult_InvalidArgument);
    free_verifier(untouched);
    WANT(hf_post_verify_proof_ex(NULL, p, &m, easy(), init, NULL).tag ==
         VerifyResult_InvalidArgument);
    WANT(
        hf_post_verify_proof_index_ex(NULL, p, &m, easy(), init, 0, NULL).tag ==
        VerifyResult_InvalidArgument);
    WANT(hf_post_verify_proof_subset_ex(NULL, p, &m, easy(), init, 1, NULL, 0,
                                        NULL)
             .tag == VerifyResult_InvalidArgument);
    WANT(new_verifier(UINT32_MAX & ~RandomXFlag_FLAG_FULL_MEM, &v) ==
         NewVerifierResult_Ok);
    WANT(verify_proof(v, p, NULL, easy(), init).tag ==
         VerifyResult_InvalidArgument);
    WANT(verify_proof_index(v, p, NULL, easy(), init, 0).tag ==
         VerifyResult_InvalidArgument);
    WANT(verify_proof_subset(v, p, NULL, easy(), init, 1, NULL, 0).tag ==
         VerifyResult_InvalidArgument);
    WANT(hf_post_verify_proof_ex(v, p, NULL, easy(), init, NULL).tag ==
         VerifyResult_InvalidArgument);
    WANT(hf_post_verify_proof_index_ex(v, p, NULL, easy(), init, 0, NULL).tag ==
         VerifyResult_InvalidArgument);
    WANT(hf_post_verify_proof_subset_ex(v, p, NULL, easy(), init, 1, NULL, 0,
                                        NULL)
             .tag == VerifyResult_InvalidArgument);
    WANT(verify_proof(v, p, &m, easy(), init).tag == VerifyResult_Invalid);
    init.min_num_units = 0;
    WANT(verify_proof(v, p, &m, easy(), init).tag == VerifyResult_Invalid);
    m.num_units = 2;
    p.indices.ptr = NULL;
    WANT(verify_proof(v, p, &m, easy(), init).tag ==
         VerifyResult_InvalidArgument);
    p.indices.len = 0;
    WANT(verify_proof(v, p, &m, easy(), init).tag == VerifyResult_Invalid);
    p.indices = (ArrayU8){indices, UINTPTR_MAX, 0};
    WANT(verify_proof(v, p, &m, easy(), init).tag == VerifyResult_Invalid);
    p.indices = (ArrayU8){indices, 7, 7};
    WANT(verify_proof_subset(v, p, &m, easy(), init, 1, NULL, 1).tag ==
         VerifyResult_InvalidArgument);
    WANT(verify_proof_subset(v, p, &m, easy(), init, 0, NULL, 0).tag ==
         VerifyResult_Ok);
    WANT(verify_proof_index(v, p, &m, easy(), init, UINTPTR_MAX).tag ==
         VerifyResult_Ok);
    p.nonce = UINT32_MAX;
    WANT(verify_proof(v, p, &m, easy(), init).tag == VerifyResult_Invalid);
    ProofConfig none = easy();
    none.k2 = 0;
    p = (Proof){0};
    WANT(verify_proof(v, p, &m, none, init).tag == VerifyResult_Ok);
    bodies_are_zero(v, &m, none, init);
    free_verifier(v);
    free_verifier(v);
    WANT(verify_proof(v, p, &m, none, init).tag ==
         VerifyResult_InvalidArgument);
}

static void jobs(void)
{
    hf_post_job *job = NULL;
    hf_error err;
    uint64_t count;
    Proof *p;
    uint8_t label[16];
    Initializer *i = new_initializer(CPU_PROVIDER_ID, 2, id, NULL);
    hf_progress progress = {.size = sizeof progress};
    WANT(hf_post_job_progress(NULL, &progress) == HF_E_ARGUMENT);
    WANT(hf_post_job_progress(NULL, NULL) == HF_E_ARGUMENT);
    WANT(hf_post_job_wait(NULL, 0, NULL) == HF_E_ARGUMENT);
    WANT(hf_post_job_wait((hf_post_job *)(void *)label, 0, &err) ==
         HF_E_ARGUMENT);
    hf_post_job_cancel(NULL);
    hf_post_job_free(NULL);
    WANT(hf_post_initialize_start(NULL, i, 0, 0, &err) == HF_E_ARGUMENT);
    WANT(hf_post_initialize_start(&job, NULL, 0, 0, &err) == HF_E_ARGUMENT);
    WANT(hf_post_initialize_start(&job, i, 1, 0, NULL) == HF_E_ARGUMENT);
    WANT(hf_post_initialize_start(&job, i, 0, UINT64_C(1) << 40, &err) ==
         HF_E_MEMORY);
    WANT(hf_post_generate_proof_start(NULL, SET, challenge, easy(), 16, 0, 0,
                                      &err) == HF_E_ARGUMENT);
    WANT(hf_post_generate_proof_start(&job, NULL, challenge, easy(), 16, 0, 0,
                                      NULL) == HF_E_ARGUMENT);
    WANT(hf_post_generate_proof_start(&job, SET, NULL, easy(), 16, 0, 0,
                                      NULL) == HF_E_ARGUMENT);
    WANT(hf_post_verify_pos_start(NULL, SET, NULL, NULL, 5, two, &err) ==
         HF_E_ARGUMENT);
    WANT(hf_post_verify_pos_start(&job, NULL, NULL, NULL, 5, two, NULL) ==
         HF_E_ARGUMENT);
    WANT(hf_post_initialize_result(NULL, label, 16, NULL, NULL, &err) ==
         HF_E_ARGUMENT);
    WANT(hf_post_generate_proof_result(NULL, &p, NULL) == HF_E_ARGUMENT);
    WANT(hf_post_verify_pos_result(NULL, NULL, 0, &count, NULL, NULL) ==
         HF_E_ARGUMENT);
    WANT(job == NULL);
    WANT(hf_post_verify_pos_start(&job, SET, NULL, NULL, 100, two, &err) ==
         HF_OK);
    WANT(hf_post_job_wait(job, UINT64_MAX, NULL) == HF_OK);
    WANT(hf_post_verify_pos_result(job, NULL, 0, NULL, NULL, &err) ==
         HF_E_ARGUMENT);
    WANT(hf_post_verify_pos_result(job, NULL, 3, &count, NULL, &err) ==
         HF_E_ARGUMENT);
    WANT(hf_post_verify_pos_result(job, NULL, 0, &count, NULL, NULL) == HF_OK);
    WANT(hf_post_initialize_result(job, label, 16, NULL, NULL, NULL) ==
         HF_E_ARGUMENT);
    WANT(hf_post_generate_proof_result(job, NULL, NULL) == HF_E_ARGUMENT);
    WANT(hf_post_job_progress(job, NULL) == HF_E_ARGUMENT);
    progress.size = 1;
    WANT(hf_post_job_progress(job, &progress) == HF_E_ARGUMENT);
    hf_post_job_free(job);
    hf_post_job_free(job);
    hf_post_job_cancel(job);
    WANT(hf_post_initialize_start(&job, i, 3, 3, NULL) == HF_OK);
    WANT(hf_post_job_wait(job, UINT64_MAX, NULL) == HF_OK);
    WANT(hf_post_initialize_result(job, NULL, 16, NULL, NULL, &err) ==
         HF_E_ARGUMENT);
    WANT(hf_post_initialize_result(job, label, 15, NULL, NULL, NULL) ==
         HF_E_MEMORY);
    WANT(hf_post_initialize_result(job, label, 16, NULL, NULL, NULL) == HF_OK);
    hf_post_job_free(job);
}

/* ---- log -------------------------------------------------------------------------- */

static _Atomic int records;
static char last[700];
static char last_module[64];

static void note(const ExternCRecord *r)
{
    WANT(r->level >= Level_Error && r->level <= Level_Trace);
    WANT(r->message.ptr != NULL && r->module_path.ptr != NULL);
    WANT(r->file.ptr != NULL && r->file.len == 0 && r->line == -1);
    if (r->level != Level_Error)
        return;
    records++;
    snprintf(last, sizeof last, "%.*s", (int)r->message.len, r->message.ptr);
    snprintf(last_module, sizeof last_module, "%.*s", (int)r->module_path.len,
             r->module_path.ptr);
}

static void never(const ExternCRecord *r)
{
    (void)r;
    _exit(99);
}

static void logging(void)
{
    uint8_t out[16];
    WANT(set_logging_callback(Level_Info, NULL) == 1);
    WANT(set_logging_callback(0, note) == 1);
    WANT(set_logging_callback(6, note) == 1);
    WANT(set_logging_callback(UINTPTR_MAX, note) == 1);
    WANT(new_initializer(7, 2, id, NULL) == NULL); /* told to nobody */
    WANT(records == 0);
    WANT(set_logging_callback(Level_Trace, note) == 0);
    WANT(set_logging_callback(Level_Trace, never) == 1);
    WANT(set_logging_callback(Level_Error, note) == 1);
    WANT(new_initializer(7, 2, id, NULL) == NULL);
    WANT(records == 1 && strstr(last, "new_initializer: ") == last);
    WANT(strstr(last, "provider 7") != NULL &&
         strcmp(last_module, "post") == 0);
    WANT(generate_proof(SET, challenge, easy(), 24, 0, 0) == NULL);
    WANT(records == 2 && strstr(last, "multiple of 16") != NULL);
    WANT(generate_proof("nowhere", challenge, easy(), 16, 0, 0) == NULL);
    WANT(records == 3 && strstr(last, "nowhere") != NULL);
    WANT(initialize(NULL, 0, 0, out, NULL) == InitializeResult_InvalidArgument);
    WANT(records == 4);
    /* the reason goes to the caller of ..._ex alone */
    WANT(hf_post_generate_proof_ex(SET, challenge, easy(), 24, 0, 0, NULL) ==
         NULL);
    WANT(records == 4);
}

static void level_is_kept(void)
{
    WANT(set_logging_callback(Level_Error, note) == 0);
    ProofConfig c = easy();
    Proof *p = generate_proof(SET, challenge, c, 16, 0,
                              RandomXFlag_FLAG_LARGE_PAGES);
    WANT(p != NULL && records == 0); /* a warning, if anything */
    free_proof(p);
}

/* ---- limits of the process --------------------------------------------------------- */

static void full_memory_is_not_there(void)
{
    const struct rlimit limit = {(rlim_t)1 << 30, (rlim_t)1 << 30};
    Verifier *v = NULL;
    hf_error err;
    WANT(set_logging_callback(Level_Error, note) == 0);
    WANT(setrlimit(RLIMIT_AS, &limit) == 0);
    WANT(generate_proof(SET, challenge, easy(), 16, 0,
                        recommended_pow_flags() | RandomXFlag_FLAG_FULL_MEM) ==
         NULL);
    WANT(records == 1 && strstr(last, "memory") != NULL);
    WANT(hf_post_generate_proof_ex(SET, challenge, easy(), 16, 1,
                                   RandomXFlag_FLAG_FULL_MEM, &err) == NULL);
    WANT(err.code == HF_E_MEMORY);
    WANT(new_verifier(RandomXFlag_FLAG_FULL_MEM, &v) ==
         NewVerifierResult_Failed);
    WANT(v == NULL);
    /* and what fits still works */
    Proof *p = generate_proof(SET, challenge, easy(), 16, 0, 0);
    WANT(p != NULL);
    free_proof(p);
}

static void no_memory_at_all(void)
{
    const struct rlimit limit = {(rlim_t)100 << 20, (rlim_t)100 << 20};
    Verifier *v = NULL;
    uint8_t out[16];
    WANT(setrlimit(RLIMIT_AS, &limit) == 0);
    WANT(new_verifier(0, &v) == NewVerifierResult_Failed && v == NULL);
    WANT(generate_proof(SET, challenge, easy(), 16, 0, 0) == NULL);
    Initializer *i = new_initializer(CPU_PROVIDER_ID, 2, id, NULL);
    if (i != NULL)
        WANT(initialize(i, 0, 0, out, NULL) != InitializeResult_Ok ||
             out[0] != 0 || out[1] != 0);
}

/* The first call fails for want of threads; a later one does not. */
static void context_is_tried_again(void)
{
    struct rlimit limit, none;
    uint8_t out[16];
    WANT(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    none = limit;
    none.rlim_cur = 3;
    WANT(setrlimit(RLIMIT_NOFILE, &none) == 0);
    WANT(new_initializer(CPU_PROVIDER_ID, 2, id, NULL) == NULL);
    WANT(get_providers_count() == 1);
    WANT(recommended_pow_flags() == 0);
    Provider p;
    WANT(get_providers(&p, 1) == InitializeResult_FailedToGetProviders);
    WANT(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    Initializer *i = new_initializer(CPU_PROVIDER_ID, 2, id, NULL);
    WANT(i != NULL && initialize(i, 0, 0, out, NULL) == InitializeResult_Ok);
}

/* A child of a process that uses the library may use it as well. */
static void child_has_its_own(void)
{
    uint8_t here[16 * 50], there[16 * 50];
    Initializer *i = new_initializer(CPU_PROVIDER_ID, 16, id, NULL);
    int status = -1;
    hf_post_job *job = NULL;
    WANT(i != NULL && initialize(i, 0, 49, here, NULL) == InitializeResult_Ok);
    WANT(hf_post_initialize_start(&job, i, 0, 100000, NULL) == HF_OK);
    pid_t pid = fork();
    WANT(pid >= 0);
    if (pid == 0) {
        hf_error err;
        WANT(initialize(i, 0, 49, there, NULL) == InitializeResult_Ok);
        WANT(memcmp(here, there, sizeof here) == 0);
        WANT(hf_post_job_wait(job, 0, &err) == HF_E_STATE);
        hf_post_job_cancel(job);
        hf_post_job_free(job);
        free_initializer(i);
        _exit(0);
    }
    WANT(waitpid(pid, &status, 0) == pid);
    WANT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    WANT(hf_post_job_wait(job, UINT64_MAX, NULL) == HF_OK);
    hf_post_job_free(job);
    free_initializer(i);
}

static void workers_of_the_environment(void)
{
    static const char *const odd[] = {"0", "-1", "x",
                                      "",  "3x", "99999999999999999999"};
    uint8_t out[16];
    for (size_t k = 0; k < sizeof odd / sizeof odd[0]; k++) {
        int status = -1;
        pid_t pid = fork();
        WANT(pid >= 0);
        if (pid == 0) {
            WANT(setenv("RAYON_NUM_THREADS", odd[k], 1) == 0);
            WANT(setenv("POST_OCL_DEVICES_BLACKLIST", "(", 1) == 0);
            WANT(setenv("POST_OCL_PLATFORMS_BLACKLIST", ".*", 1) == 0);
            Initializer *i = new_initializer(CPU_PROVIDER_ID, 2, id, NULL);
            WANT(i != NULL);
            WANT(initialize(i, 0, 0, out, NULL) == InitializeResult_Ok);
            WANT(get_providers_count() == 1); /* the CPU cannot be left out */
            _exit(0);
        }
        WANT(waitpid(pid, &status, 0) == pid);
        WANT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

/* ---- the run ------------------------------------------------------------------------ */

#define CASE(body)                                                             \
    static void run_##body(void **state)                                       \
    {                                                                          \
        (void)state;                                                           \
        in_child(#body, body);                                                 \
    }

CASE(providers)
CASE(initializers)
CASE(ranges)
CASE(proofs)
CASE(stored_labels)
CASE(verifiers)
CASE(jobs)
CASE(logging)
CASE(level_is_kept)
CASE(context_is_tried_again)
CASE(workers_of_the_environment)

/*
 * A sanitizer's shadow is larger than the limits set here, and that of threads
 * lets no forked child start one.
 */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED true
#endif
#endif
#ifndef SANITIZED
#define SANITIZED false
#endif

#define LIMITED_CASE(body)                                                     \
    static void run_##body(void **state)                                       \
    {                                                                          \
        (void)state;                                                           \
        if (SANITIZED)                                                         \
            skip();                                                            \
        in_child(#body, body);                                                 \
    }

LIMITED_CASE(largest_n)
LIMITED_CASE(full_memory_is_not_there)
LIMITED_CASE(no_memory_at_all)
LIMITED_CASE(child_has_its_own)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(run_providers),
        cmocka_unit_test(run_initializers),
        cmocka_unit_test(run_ranges),
        cmocka_unit_test(run_proofs),
        cmocka_unit_test(run_stored_labels),
        cmocka_unit_test(run_verifiers),
        cmocka_unit_test(run_jobs),
        cmocka_unit_test(run_logging),
        cmocka_unit_test(run_level_is_kept),
        cmocka_unit_test(run_context_is_tried_again),
        cmocka_unit_test(run_child_has_its_own),
        cmocka_unit_test(run_workers_of_the_environment),
        cmocka_unit_test(run_largest_n),
        cmocka_unit_test(run_full_memory_is_not_there),
        cmocka_unit_test(run_no_memory_at_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

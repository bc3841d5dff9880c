/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * RandomX in light mode: the recorded hashes, searches and verdicts; hostile
 * systems (no executable memory, no huge pages, no memory, rounding modes);
 * jobs that share, cancel and take over the building. test_pow_fast.c has the
 * data set.
 */
#include <errno.h>
#include <fenv.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/vectors.h"
#include "unit/pow_kit.h"

#define COUNT(a)  (sizeof(a) / sizeof(a)[0])
#define MIB       (UINT64_C(1) << 20)
#define MOST_TEXT 1024

/* A sanitizer's shadow needs the address space that a limit takes away. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

/* Hash of one zero byte, from k2pow.json. */
static const uint8_t zero_input[1];
static const char zero_hash[] =
    "1c637883035e45c5cad2a71c4f9d65a2cbc8a2aeffed43e998cf2d96f78c70a8";

static bool is_zero_hash(const uint8_t hash[32])
{
    char text[65];

    hfi_hex_encode(text, hash, 32);
    return strcmp(text, zero_hash) == 0;
}

/* ---- no RandomX needed ---------------------------------------------------- */

static void test_scale(void **state)
{
    struct vectors v;

    (void)state;
    vectors_load(&v, "space/prover.json");
    const hfi_json *all = vectors_member(v.root, "pow_difficulty_scaled");
    assert_true(all->count >= 36);
    for (const hfi_json *r = all->child; r != NULL; r = r->next) {
        uint8_t in[32], want[32], out[32];

        vectors_hex_exact(r, "difficulty", in, 32);
        vectors_hex_exact(r, "scaled", want, 32);
        hfi_pow_scale(out, in, (uint32_t)vectors_u64(r, "num_units"));
        assert_memory_equal(out, want, 32);
    }
    vectors_free(&v);
}

static void read_input(uint8_t out[HFI_POW_INPUT], const hfi_json *r,
                       uint64_t nonce)
{
    uint8_t challenge[8], id[32];

    vectors_hex_exact(r, "challenge8", challenge, 8);
    vectors_hex_exact(r, "miner_id", id, 32);
    hfi_pow_input(out, nonce, (uint8_t)vectors_u64(r, "nonce_group"), challenge,
                  id);
}

static void test_input(void **state)
{
    struct vectors v;

    (void)state;
    vectors_load(&v, "space/k2pow.json");
    const hfi_json *all = vectors_member(v.root, "searches");
    assert_true(all->count >= 8);
    for (const hfi_json *s = all->child; s != NULL; s = s->next) {
        uint8_t got[HFI_POW_INPUT], want[HFI_POW_INPUT];

        read_input(got, s, vectors_u64(s, "smallest_nonce"));
        vectors_hex_exact(s, "input", want, sizeof want);
        assert_memory_equal(got, want, sizeof want);
        const hfi_json *first = vectors_member(s, "first_hashes");
        for (const hfi_json *f = first->child; f != NULL; f = f->next) {
            read_input(got, s, vectors_u64(f, "nonce"));
            vectors_hex_exact(f, "input", want, sizeof want);
            assert_memory_equal(got, want, sizeof want);
        }
    }
    vectors_free(&v);
}

/* ---- the recorded hashes and verdicts ------------------------------------- */

typedef struct batch {
    size_t count;
    pow_hash hash[200];
    uint8_t input[200][512];
    uint8_t want[200][32]; /* the hash, or the difficulty */
    bool valid[200];
} batch;

static void add_hash(batch *b, const hfi_json *r)
{
    size_t i = b->count++;

    assert_true(i < COUNT(b->hash));
    b->hash[i].input = b->input[i];
    b->hash[i].bytes = vectors_hex(r, "input", b->input[i], sizeof b->input[i]);
    vectors_hex_exact(r, "hash", b->want[i], 32);
}

static void run_batch(batch *b, uint32_t workers)
{
    pow_task t = {.mode = HFI_POW_LIGHT, .rounding = FE_TONEAREST};
    pow_host h;
    hf_error err;

    pow_host_open(&h, workers, 0);
    t.pow = h.pow;
    t.hashes = b->hash;
    t.hash_count = b->count;
    assert_int_equal(pow_task_run(&t, h.sched, &err), HF_OK);
    assert_int_equal(t.got, HFI_POW_LIGHT);
    pow_host_close(&h);
}

static void test_hashes(void **state)
{
    batch *b = calloc(1, sizeof *b);
    struct vectors v;

    (void)state;
    assert_non_null(b);
    vectors_load(&v, "space/k2pow.json");
    const hfi_json *all = vectors_member(v.root, "hashes");
    for (const hfi_json *r = all->child; r != NULL; r = r->next)
        add_hash(b, r);
    all = vectors_member(v.root, "searches");
    for (const hfi_json *s = all->child; s != NULL; s = s->next) {
        add_hash(b, s);
        const hfi_json *first = vectors_member(s, "first_hashes");
        for (const hfi_json *r = first->child; r != NULL; r = r->next)
            add_hash(b, r);
    }
    assert_true(b->count >= 6 + 8 + 8);
    run_batch(b, 2);
    for (size_t i = 0; i < b->count; i++)
        assert_memory_equal(b->hash[i].out, b->want[i], 32);
    vectors_free(&v);
    free(b);
}

static void test_verdicts(void **state)
{
    batch *b = calloc(1, sizeof *b);
    struct vectors v;

    (void)state;
    assert_non_null(b);
    vectors_load(&v, "space/k2pow.json");
    const hfi_json *all = vectors_member(v.root, "verdicts");
    assert_true(all->count >= 72 && all->count <= COUNT(b->hash));
    for (const hfi_json *r = all->child; r != NULL; r = r->next) {
        size_t i = b->count++;

        read_input(b->input[i], r, vectors_u64(r, "pow"));
        b->hash[i].input = b->input[i];
        b->hash[i].bytes = HFI_POW_INPUT;
        vectors_hex_exact(r, "difficulty", b->want[i], 32);
        b->valid[i] = vectors_member(r, "valid")->truth;
    }
    run_batch(b, 2);
    for (size_t i = 0; i < b->count; i++)
        assert_int_equal(memcmp(b->hash[i].out, b->want[i], 32) < 0,
                         b->valid[i]);
    vectors_free(&v);
    free(b);
}

/* ---- searches ------------------------------------------------------------- */

static void run_search(pow_host *h, const hfi_json *r)
{
    pow_task t = {.pow = h->pow, .mode = HFI_POW_LIGHT, .search = true};
    uint64_t want = vectors_u64(r, "smallest_nonce");
    hf_error err;

    t.found.group = (uint8_t)vectors_u64(r, "nonce_group");
    vectors_hex_exact(r, "challenge8", t.found.challenge, 8);
    vectors_hex_exact(r, "miner_id", t.found.node_id, 32);
    vectors_hex_exact(r, "difficulty", t.found.difficulty, 32);
    hf_job *job = pow_task_start(&t, h->sched);
    assert_int_equal(hf_job_wait(job, UINT64_MAX, &err), HF_OK);
    assert_true(t.found.found);
    assert_int_equal(t.found.nonce, want);
    assert_true(t.found.hashes > want);
    assert_true(t.found.hashes < want + 300);
    hf_progress progress = {.size = sizeof progress};
    assert_int_equal(hf_job_progress(job, &progress), HF_OK);
    assert_true(progress.done > 1000 + want); /* where the phase stood */
    assert_true(progress.done <= 1000 + t.found.hashes);
    hf_job_free(job);
}

/* The same nonce for one worker, two, and the host's own thread. */
static void test_searches(void **state)
{
    struct vectors v;

    (void)state;
    vectors_load(&v, "space/k2pow.json");
    const hfi_json *all = vectors_member(v.root, "searches");
    for (uint32_t workers = 0; workers <= 2; workers++) {
        uint64_t most = workers == 2 ? 100 : 15;
        unsigned run = 0;
        pow_host h;

        pow_host_open(&h, workers, 0);
        for (const hfi_json *r = all->child; r != NULL; r = r->next) {
            /* The long ones are test_pow_fast's. */
            if (vectors_u64(r, "smallest_nonce") <= most) {
                run_search(&h, r);
                run++;
            }
        }
        assert_true(run >= (workers == 2 ? 7 : 4));
        pow_host_close(&h);
    }
    vectors_free(&v);
}

/* What cannot be found is looked for until cancelled. */
static void test_search_cancel(void **state)
{
    pow_task t = {.mode = HFI_POW_LIGHT, .search = true};
    pow_host h;
    hf_error err;

    (void)state;
    pow_host_open(&h, 2, 0);
    t.pow = h.pow;
    hf_job *job = pow_task_start(&t, h.sched);
    while (atomic_load(&t.found.hashes) < 4)
        hfi_sleep_ms(1);
    hf_job_cancel(job);
    assert_int_equal(pow_task_end(job, &err), HF_E_CANCELLED);
    assert_false(t.found.found);
    pow_host_close(&h);
}

/* ---- sharing -------------------------------------------------------------- */

/* One pays, all use, a trim frees what nobody uses. */
static void test_share(void **state)
{
    enum { TASKS = 4 };
    pow_hash hash[TASKS] = {{0}};
    pow_task t[TASKS];
    hf_job *job[TASKS];
    pow_host h;
    hf_error err;

    (void)state;
    /* The budget has no room for a second cache. */
    pow_host_open(&h, 2, 300 * MIB);
    for (int i = 0; i < TASKS; i++) {
        hash[i] = (pow_hash){.input = zero_input, .bytes = 1};
        t[i] = (pow_task){.pow = h.pow, .hashes = &hash[i], .hash_count = 1};
        job[i] = pow_task_start(&t[i], h.sched);
    }
    uint64_t bytes = hfi_sched_memory_used(h.sched);
    assert_true(bytes > 256 * MIB && bytes < 300 * MIB);
    for (int i = 0; i < TASKS; i++) /* none waits for the end of another */
        while (atomic_load(&t[i].steps) == 0)
            hfi_sleep_ms(1);
    for (int i = 0; i < TASKS; i++) {
        assert_int_equal(pow_task_end(job[i], &err), HF_OK);
        assert_true(is_zero_hash(hash[i].out));
    }
    assert_int_equal(hfi_sched_memory_used(h.sched), bytes);
    hfi_pow_trim(h.pow);
    assert_int_equal(hfi_sched_memory_used(h.sched), 0);
    /* And it can be had again. */
    t[0] = (pow_task){.pow = h.pow, .hashes = &hash[0], .hash_count = 1};
    memset(hash[0].out, 0, 32);
    assert_int_equal(pow_task_run(&t[0], h.sched, &err), HF_OK);
    assert_true(is_zero_hash(hash[0].out));
    pow_host_close(&h);
}

/* A trim while a job searches frees nothing under it. */
static void test_trim_in_use(void **state)
{
    pow_task t = {.mode = HFI_POW_LIGHT, .search = true};
    pow_host h;
    hf_error err;

    (void)state;
    pow_host_open(&h, 2, 0);
    t.pow = h.pow;
    hf_job *job = pow_task_start(&t, h.sched);
    for (uint64_t seen = 0; seen < 6; seen = atomic_load(&t.found.hashes)) {
        hfi_pow_trim(h.pow);
        hfi_sleep_ms(1);
    }
    assert_true(hfi_sched_memory_used(h.sched) > 256 * MIB);
    hf_job_cancel(job);
    assert_int_equal(pow_task_end(job, &err), HF_E_CANCELLED);
    pow_host_close(&h);
}

/* The builder is cancelled at various moments; another job is not harmed. */
static void test_take_over(void **state)
{
    static const uint64_t delay_ms[] = {0, 1, 30, 200};

    (void)state;
    for (size_t i = 0; i < COUNT(delay_ms); i++) {
        pow_hash hash[2] = {{.input = zero_input, .bytes = 1},
                            {.input = zero_input, .bytes = 1}};
        pow_task first = {.hashes = &hash[0], .hash_count = 1};
        pow_task second = {.hashes = &hash[1], .hash_count = 1};
        pow_host h;
        hf_error err;

        pow_host_open(&h, 2, 0);
        first.pow = second.pow = h.pow;
        hf_job *a = pow_task_start(&first, h.sched);
        hf_job *b = pow_task_start(&second, h.sched);
        hfi_sleep_ms(delay_ms[i]);
        hf_job_cancel(a);
        hf_status s = pow_task_end(a, &err);
        assert_true(s == HF_E_CANCELLED || s == HF_OK);
        assert_int_equal(pow_task_end(b, &err), HF_OK);
        assert_true(is_zero_hash(hash[1].out));
        pow_host_close(&h);
    }
}

/* All are cancelled: nothing stays, nothing is counted. */
static void test_cancel_all(void **state)
{
    pow_task t[3];
    hf_job *job[3];
    pow_host h;
    hf_error err;

    (void)state;
    pow_host_open(&h, 2, 0);
    for (int i = 0; i < 3; i++) {
        t[i] = (pow_task){.pow = h.pow, .search = true};
        job[i] = pow_task_start(&t[i], h.sched);
    }
    hfi_sleep_ms(20);
    hfi_sched_cancel_all(h.sched);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pow_task_end(job[i], &err), HF_E_CANCELLED);
    pow_host_close(&h);
}

/* ---- rounding modes ------------------------------------------------------- */

/* On the host's own thread, whatever its mode: right, and left as it was. */
static void test_rounding(void **state)
{
    static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD,
                                FE_TOWARDZERO};
    pow_host h;

    (void)state;
    pow_host_open(&h, 0, 0);
    for (size_t i = 0; i < COUNT(modes); i++) {
        pow_hash hash = {.input = zero_input, .bytes = 1};
        pow_task t = {.pow = h.pow,
                      .hashes = &hash,
                      .hash_count = 1,
                      .rounding = modes[i]};
        hf_error err;

        assert_int_equal(fesetround(modes[i]), 0);
        unsigned before = pow_float_mode();
        hf_status s = pow_task_run(&t, h.sched, &err);
        unsigned after = pow_float_mode();
        fesetround(FE_TONEAREST);
        assert_int_equal(s, HF_OK);
        assert_int_equal(after, before);
        assert_false(t.lost_state);
        assert_true(is_zero_hash(hash.out));
        hfi_pow_trim(h.pow); /* the next one builds in its mode */
    }
    pow_host_close(&h);
}

/* A search leaves the worker's mode as it was for the leaves of others. */
static void test_rounding_search(void **state)
{
    pow_task search = {.mode = HFI_POW_LIGHT, .search = true};
    unsigned normal = pow_float_mode();
    pow_host h;
    hf_error err;

    (void)state;
    pow_host_open(&h, 1, 0);
    /* Nonces until about 30: the mode after a hash is any of the four. */
    memset(search.found.difficulty, 0xff, 32);
    search.found.difficulty[0] = 8;
    for (uint8_t i = 0; i < 4; i++) {
        pow_hash hash = {.input = zero_input, .bytes = 1};
        pow_task t = {.pow = h.pow, .hashes = &hash, .hash_count = 1};

        search.pow = h.pow;
        search.stage = 0;
        search.found.group = i;
        assert_int_equal(pow_task_run(&search, h.sched, &err), HF_OK);
        assert_true(search.found.found);
        assert_int_equal(pow_task_run(&t, h.sched, &err), HF_OK);
        assert_int_equal(t.entry, normal);
    }
    pow_host_close(&h);
}

/* ---- hostile systems ------------------------------------------------------ */

/* In a child of its own: what it does to itself must not stay. */
static void in_child(int (*body)(void))
{
    int status;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0)
        _exit(body());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* One hash; 0 if right, else what went wrong. For children: no asserts. */
static int hash_works(pow_host *h, hfi_pow_mode mode, bool large_pages)
{
    pow_hash hash = {.input = zero_input, .bytes = 1};
    pow_task t = {.pow = h->pow,
                  .mode = mode,
                  .large_pages = large_pages,
                  .hashes = &hash,
                  .hash_count = 1};
    hf_error err;

    if (pow_task_run(&t, h->sched, &err) != HF_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 2;
    }
    return is_zero_hash(hash.out) ? 0 : 3;
}

/* mprotect() with all of these protection bits fails from now on. */
static bool forbid_protection(uint32_t bits)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                 offsetof(struct seccomp_data, args[2])),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, bits),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, bits, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {COUNT(filter), filter};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static int expect_engine(const char *engine)
{
    pow_host h;

    pow_host_open(&h, 2, 0);
    if (strcmp(hfi_pow_engine(h.pow), engine) != 0)
        return 10;
    int rc = hash_works(&h, HFI_POW_LIGHT, false);
    pow_host_close(&h);
    return rc;
}

static int body_no_exec(void)
{
    return forbid_protection(PROT_EXEC) ? expect_engine("interpreter") : 77;
}

static int body_no_write_exec(void)
{
    return forbid_protection(PROT_WRITE | PROT_EXEC)
               ? expect_engine("secure jit")
               : 77;
}

/*
 * Forbidden only after the context was opened: found by the second probe. The
 * filter binds this thread, so this one does the work.
 */
static int body_no_exec_later(void)
{
    pow_host h;

    pow_host_open(&h, 0, 0);
    if (strcmp(hfi_pow_engine(h.pow), "jit") != 0 ||
        !forbid_protection(PROT_EXEC))
        return 77;
    int rc = hash_works(&h, HFI_POW_LIGHT, false);
    if (rc == 0 && strcmp(hfi_pow_engine(h.pow), "interpreter") != 0)
        rc = 11;
    pow_host_close(&h);
    return rc;
}

static void test_no_exec(void **state)
{
    (void)state;
    in_child(body_no_exec);
    in_child(body_no_write_exec);
    in_child(body_no_exec_later);
}

/* Whatever this CPU has; run on emulated ones as well. */
static void test_this_cpu(void **state)
{
    pow_host h;

    (void)state;
    pow_host_open(&h, 1, 0);
    assert_int_equal(hash_works(&h, HFI_POW_LIGHT, false), 0);
    pow_host_close(&h);
}

/* The CPU of the context counts, not what librandomx finds by itself. */
static void test_no_features(void **state)
{
    pow_host h;
    hf_error err;

    (void)state;
    pow_host_open(&h, 2, 0);
    hfi_pow_free(h.pow);
    h.machine.cpu.features = 0;
    assert_int_equal(hfi_pow_new(&h.pow, h.sched, &h.machine, &err), HF_OK);
    assert_int_equal(hash_works(&h, HFI_POW_LIGHT, false), 0);
    pow_host_close(&h);
}

/* Huge pages asked for: used, or one warning that says what to do. */
static void test_large_pages(void **state)
{
    char text[HFI_LOG_TEXT];
    pow_host h;

    (void)state;
    pow_host_open(&h, 2, 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(hash_works(&h, HFI_POW_LIGHT, true), 0);
        hfi_pow_trim(h.pow);
    }
    unsigned n = pow_host_warnings(&h, text);
    if (h.machine.huge_pages_free == 0) {
        assert_int_equal(n, 1);
        assert_non_null(strstr(text, "vm.nr_hugepages"));
    }
    pow_host_close(&h);
}

static uint64_t need_of(const pow_host *h, hfi_pow_mode mode)
{
    hfi_pow_use use;
    hf_error err;
    assert_int_equal(hfi_pow_use_init(&use, h->pow, mode, false, &err), HF_OK);
    uint64_t bytes = hfi_pow_use_need(&use);
    hfi_pow_use_wipe(&use);
    return bytes;
}

/* AUTO within a budget that has no place for the data set. */
static void test_small_budget(void **state)
{
    char text[HFI_LOG_TEXT];
    pow_host h;

    (void)state;
    pow_host_open(&h, 2, 2300 * MIB);
    assert_true(need_of(&h, HFI_POW_AUTO) < 300 * MIB);
    assert_true(need_of(&h, HFI_POW_FAST) > 2300 * MIB);
    assert_int_equal(pow_host_warnings(&h, text), 1);
    assert_non_null(strstr(text, "light mode"));
    assert_int_equal(hash_works(&h, HFI_POW_AUTO, false), 0);
    assert_int_equal(pow_host_warnings(&h, text), 1);
    assert_non_null(strstr(text, "light mode"));
    assert_non_null(strstr(text, "MiB"));
    pow_host_close(&h);
    pow_host_open(&h, 2, 4000 * MIB);
    assert_true(need_of(&h, HFI_POW_AUTO) > 2300 * MIB);
    pow_host_close(&h);
}

/* This process may map so much more. */
static bool limit_memory(uint64_t bytes)
{
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");

    if (f == NULL || fscanf(f, "%lu", &pages) != 1)
        return false;
    fclose(f);
    rlim_t most = pages * (rlim_t)sysconf(_SC_PAGESIZE) + bytes;
    struct rlimit limit = {most, most};
    return setrlimit(RLIMIT_AS, &limit) == 0;
}

/* The system refuses the data set: fast is an error, auto goes on in light. */
static int body_no_dataset(void)
{
    char text[HFI_LOG_TEXT];
    pow_host h;
    hf_error err;

    pow_host_open(&h, 1, 0);
    if (!limit_memory(1024 * MIB))
        return 77;
    pow_task fast = {.pow = h.pow, .mode = HFI_POW_FAST};
    if (pow_task_run(&fast, h.sched, &err) != HF_E_MEMORY)
        return 20;
    if (strstr(err.message, "data set") == NULL)
        return 21;
    if (pow_host_warnings(&h, text) != 0)
        return 22;
    int rc = hash_works(&h, HFI_POW_AUTO, false);
    if (rc != 0)
        return rc;
    if (pow_host_warnings(&h, text) != 1 || strstr(text, "light mode") == NULL)
        return 23;
    pow_host_close(&h);
    return 0;
}

/* Not even the cache: an error, and the next job may be luckier. */
static int body_no_cache(void)
{
    pow_host h;
    hf_error err;

    pow_host_open(&h, 1, 0);
    if (!limit_memory(128 * MIB))
        return 77;
    pow_task t = {.pow = h.pow, .mode = HFI_POW_LIGHT};
    if (pow_task_run(&t, h.sched, &err) != HF_E_MEMORY)
        return 30;
    if (strstr(err.message, "256 MiB") == NULL)
        return 31;
    pow_host_close(&h);
    return 0;
}

static void test_no_memory(void **state)
{
    (void)state;
    if (SANITIZED)
        skip();
    in_child(body_no_dataset);
    in_child(body_no_cache);
}

/* Each allocation of ours fails in turn. */
static void test_alloc(void **state)
{
    struct test_env env;
    hfi_sched_opts opts = {.workers = 0, .queue_length = 4};
    hfi_machine machine;
    hf_error err;

    (void)state;
    hfi_machine_detect(&machine);
    for (uint64_t nth = 1;; nth++) {
        hfi_sched *sched;
        hfi_pow *pow = NULL;
        hfi_pow_use use = {0};
        hfi_pow_search search = {0};

        test_env_init(&env);
        assert_int_equal(hfi_sched_new(&sched, &env.env, &opts, &err), HF_OK);
        alloc_fail_start(nth);
        hf_status s = hfi_pow_new(&pow, sched, &machine, &err);
        if (s == HF_OK)
            s = hfi_pow_use_init(&use, pow, HFI_POW_LIGHT, false, &err);
        if (s == HF_OK)
            s = hfi_pow_search_init(&search, &use, &err);
        bool failed = alloc_fail_end();
        /* The page of the probe may fail: then nothing is compiled. */
        assert_true(s == HF_OK || (failed && s == HF_E_MEMORY));
        hfi_pow_search_wipe(&search);
        hfi_pow_use_wipe(&use);
        hfi_pow_use_wipe(&use);
        hfi_sched_stop(sched);
        hfi_pow_free(pow);
        hfi_sched_close(sched);
        test_env_done(&env);
        if (!failed) {
            assert_true(nth > 3);
            break;
        }
    }
}

/* test_pow [NAME]: that test alone. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scale),
        cmocka_unit_test(test_input),
        cmocka_unit_test(test_hashes),
        cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_searches),
        cmocka_unit_test(test_search_cancel),
        cmocka_unit_test(test_share),
        cmocka_unit_test(test_trim_in_use),
        cmocka_unit_test(test_take_over),
        cmocka_unit_test(test_cancel_all),
        cmocka_unit_test(test_rounding),
        cmocka_unit_test(test_rounding_search),
        cmocka_unit_test(test_no_exec),
        cmocka_unit_test(test_this_cpu),
        cmocka_unit_test(test_no_features),
        cmocka_unit_test(test_large_pages),
        cmocka_unit_test(test_small_budget),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_alloc),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

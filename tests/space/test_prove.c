/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The prover against the recorded proofs and against a plain second reading of
 * its rule (oracle.c); then data that are not whole or not right, hosts that
 * cancel, round upwards, have no workers or no memory.
 */
#include "space/oracle.h"
#include "space/records.h"

#include "backend/backend.h"
#include "hash/hash.h"
#include "space/space.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fenv.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static hf_context *shared;  /* RandomX memory is made once for all tests */
static uint8_t no_work[32]; /* met by every hash: the least nonce is 0 */

static int open_shared(void **state)
{
    (void)state;
    shared = context_with(2);
    memset(no_work, 0xff, sizeof no_work);
    return 0;
}

static int close_shared(void **state)
{
    (void)state;
    hf_context_close(shared);
    return 0;
}

static hf_space_prove_opts light(uint32_t nonces, uint32_t k1, uint32_t k2,
                                 const uint8_t *difficulty, uint64_t n)
{
    hf_space_prove_opts o = HF_SPACE_PROVE_OPTS_INIT;
    o.nonces = nonces;
    o.k1 = k1;
    o.k2 = k2;
    o.pow_difficulty = difficulty;
    o.scrypt_n = n;
    o.randomx = HF_SPACE_RANDOMX_LIGHT;
    return o;
}

/* Runs a proof to its end; on HF_OK the caller frees the job. */
static hf_status run(hf_context *ctx, hf_job **job, const char *dir,
                     const uint8_t challenge[32], const hf_space_prove_opts *o,
                     const hf_space_proof **proof, hf_error *err)
{
    *job = NULL;
    hf_status s = hf_space_prove_start(ctx, job, dir, challenge, o, err);
    if (s == HF_OK)
        s = hf_job_wait(*job, UINT64_MAX, err);
    if (s == HF_OK)
        s = hf_space_prove_result(*job, proof, err);
    if (s != HF_OK) {
        hf_job_free(*job);
        *job = NULL;
    }
    return s;
}

static void must_run(hf_context *ctx, hf_job **job, const char *dir,
                     const uint8_t challenge[32], const hf_space_prove_opts *o,
                     const hf_space_proof **proof)
{
    hf_error err;
    if (run(ctx, job, dir, challenge, o, proof, &err) != HF_OK)
        fail_msg("%s: %s: %s", dir, err.message, err.cause);
}

static void must_fail(hf_context *ctx, const char *dir,
                      const uint8_t challenge[32], const hf_space_prove_opts *o,
                      hf_status status, const char *first, const char *second)
{
    hf_job *job;
    const hf_space_proof *proof;
    hf_error err;
    char both[512];
    hf_status s = run(ctx, &job, dir, challenge, o, &proof, &err);
    if (s == HF_OK)
        fail_msg("%s: a proof was made", dir);
    snprintf(both, sizeof both, "%s: %s", err.message, err.cause);
    if (s != status || !strstr(both, first) || !strstr(both, second))
        fail_msg("%s \"%s\"; wanted %s with \"%s\" and \"%s\"",
                 hf_status_name(s), both, hf_status_name(status), first,
                 second);
}

static void same_proof(const hf_space_proof *a, const hf_space_proof *b)
{
    assert_int_equal(a->nonce, b->nonce);
    assert_true(a->pow == b->pow);
    assert_int_equal(a->indices_bytes, b->indices_bytes);
    assert_memory_equal(a->indices, b->indices, a->indices_bytes);
}

/* ---- recorded proofs ---------------------------------------------------------- */

/* Smaller nonces for the work must not do: k2 = 0 asks for nothing else. */
static void work_is_least(record *r)
{
    uint64_t pow = r->proof.pow;
    r->opts.network.k2 = 0;
    r->proof.indices_bytes = 0;
    for (uint64_t i = pow > 8 ? pow - 8 : 0; i < pow; i++) {
        r->proof.pow = i;
        assert_int_equal(verdict_of(shared, r).kind, HF_SPACE_INVALID);
    }
}

/* All labels of a folder, freed with free(). */
static uint8_t *labels_of(const char *dir, size_t count)
{
    uint8_t *labels = malloc(16 * count);
    size_t at = 0;
    assert_non_null(labels);
    for (int file = 0; at < 16 * count; file++) {
        char name[64], path[TEMP_PATH];
        size_t bytes;
        snprintf(name, sizeof name, "postdata_%d.bin", file);
        char *data = temp_read(temp_path(path, dir, name), &bytes);
        assert_true(bytes > 0 && at + bytes <= 16 * count);
        memcpy(labels + at, data, bytes);
        at += bytes;
        free(data);
    }
    return labels;
}

/*
 * The reference takes another nonce, the first to have enough: but for that one
 * it lists what the oracle lists, and the oracle chooses as the library does.
 */
static void oracle_knows(const record *r)
{
    const hf_space_network *n = &r->opts.network;
    size_t count = (size_t)n->labels_per_unit * r->proof.num_units;
    uint32_t bits = hfi_space_index_bits(count);
    uint64_t indices[512];
    uint8_t *labels = labels_of(r->dir, count);
    assert_true(n->k2 <= 512);
    assert_int_equal(oracle_list(labels, count, r->challenge, r->proof.nonce,
                                 r->proof.pow, n->k1, n->k2, indices),
                     n->k2);
    for (uint32_t i = 0; i < n->k2; i++)
        assert_true(indices[i] == hfi_space_unpack(r->proof.indices, bits, i));
    free(labels);
}

/* True if ours and the recorded proof are of the same nonce and work. */
static bool one_record(const hfi_json *node)
{
    record r;
    hf_job *job;
    const hf_space_proof *proof;
    record_read(&r, node);
    if (!r.has_proof)
        return false;
    const hf_space_network *n = &r.opts.network;
    hf_space_prove_opts o = light(16, n->k1, n->k2, n->pow_difficulty,
                                  n->scrypt_n);
    oracle_knows(&r);
    must_run(shared, &job, r.dir, r.challenge, &o, &proof);
    assert_true(proof->nonce <= r.proof.nonce);
    bool same = proof->nonce == r.proof.nonce && proof->pow == r.proof.pow;
    if (same)
        same_proof(proof, &r.proof);
    assert_memory_equal(proof->challenge, r.challenge, 32);
    assert_memory_equal(proof->node_id, r.proof.node_id, 32);
    assert_memory_equal(proof->commitment_atx_id, r.proof.commitment_atx_id,
                        32);
    r.proof = *proof;
    r.opts.strict = true;
    hf_space_verdict v = verdict_of(shared, &r);
    if (v.kind != HF_SPACE_VALID)
        fail_msg("%s: %s", r.name, v.reason);
    work_is_least(&r);
    hf_job_free(job);
    return same;
}

static void every_record(void **state)
{
    (void)state;
    struct vectors v;
    size_t same = 0, count = 0;
    vectors_load(&v, "space/proofs.json");
    for (const hfi_json *n = v.root->child; n; n = n->next, count++)
        same += one_record(n);
    vectors_free(&v);
    assert_int_equal(count, 12);
    assert_true(same >= 1);
}

static void every_failure(void **state)
{
    (void)state;
    record r;
    record_find(&r, "c2 unreachable k2: the nonce groups run out");
    hf_space_prove_opts o = light(1024, 10, 300, no_work, 4);
    must_fail(shared, r.dir, r.challenge, &o, HF_E_NOT_FOUND, "k2 = 300",
              "4095");
    o.k2 = 301;
    must_fail(shared, r.dir, r.challenge, &o, HF_E_NOT_FOUND, "k2 is 301",
              "300 labels");
    o = light(16, 300, 10, no_work, 4);
    must_fail(shared, r.dir, r.challenge, &o, HF_E_ARGUMENT, "k1 is 300",
              "300 labels");
    static const uint32_t wrong[] = {8, 20, 24, 4095, 4112, UINT32_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char text[32];
        o = light(wrong[i], 10, 10, no_work, 4);
        snprintf(text, sizeof text, "nonces is %u", wrong[i]);
        must_fail(shared, r.dir, r.challenge, &o, HF_E_ARGUMENT, text,
                  "multiple of 16, from 16 to 4096");
    }
    o = light(16, 10, 10, no_work, 3);
    must_fail(shared, r.dir, r.challenge, &o, HF_E_ARGUMENT, "scrypt_n is 3",
              "power of two");
    o = light(16, 10, 10, no_work, 8);
    must_fail(shared, r.dir, r.challenge, &o, HF_E_STATE, "8", "label");
    o = light(16, 10, 10, no_work, 4);
    o.size++;
    must_fail(shared, r.dir, r.challenge, &o, HF_E_ARGUMENT, "size", "wanted");
}

/* ---- the rule ------------------------------------------------------------------- */

typedef struct set {
    char *dir;
    uint8_t *labels;
    size_t count;
    hf_space_meta meta;
} set;

static const hfi_env plain_env = {0};

/*
 * A set with labels that were never computed, but for the first, by which N is
 * known: what a pass makes of them does not depend on that.
 */
static void made_set(set *s, size_t count, uint64_t max_file_size)
{
    uint8_t label[32], commitment[32];
    size_t kernels;
    hf_error err;
    memset(s, 0, sizeof *s);
    s->dir = temp_folder();
    s->count = count;
    s->labels = malloc(16 * count);
    assert_non_null(s->labels);
    s->meta = (hf_space_meta){.size = sizeof s->meta,
                              .labels_per_unit = count,
                              .num_units = 1,
                              .max_file_size = max_file_size};
    memset(s->meta.node_id, 0x17, 32);
    memset(s->meta.commitment_atx_id, 0x29, 32);
    hfi_blake3 h;
    hfi_blake3_init(&h);
    hfi_blake3_update(&h, "labels", 6);
    hfi_blake3_xof(&h, 0, s->labels, 16 * count);
    hfi_space_commitment(commitment, s->meta.node_id,
                         s->meta.commitment_atx_id);
    assert_int_equal(hfi_label_one(hfi_label_kernels(&kernels)[0], commitment,
                                   0, 1, label, &err),
                     HF_OK);
    memcpy(s->labels, label, 16);
    assert_int_equal(hfi_meta_save(&s->meta, &plain_env, s->dir, &err), HF_OK);
    size_t per_file = (size_t)(max_file_size / 16);
    for (size_t at = 0; at < count; at += per_file) {
        char name[64], path[TEMP_PATH];
        size_t left = count - at;
        snprintf(name, sizeof name, "postdata_%zu.bin", at / per_file);
        temp_write(temp_path(path, s->dir, name), s->labels + 16 * at,
                   16 * (left < per_file ? left : per_file));
    }
}

static void drop_set(set *s)
{
    temp_folder_remove(s->dir);
    free(s->labels);
}

static void agrees(hf_context *ctx, const set *s, uint32_t nonces, uint32_t k1,
                   uint32_t k2, uint32_t *nonce, uint64_t *last)
{
    uint8_t challenge[32] = {1, 2, 3};
    uint64_t *indices = malloc(k2 * sizeof *indices);
    hf_space_prove_opts o = light(nonces, k1, k2, no_work, 2);
    hf_job *job;
    const hf_space_proof *proof;
    o.no_self_check = true;
    assert_non_null(indices);
    assert_true(oracle_prove(s->labels, s->count, challenge, 4096, k1, k2, 0,
                             nonce, indices));
    must_run(ctx, &job, s->dir, challenge, &o, &proof);
    assert_int_equal(proof->nonce, *nonce);
    assert_true(proof->pow == 0);
    uint32_t bits = hfi_space_index_bits(s->count);
    assert_int_equal(proof->indices_bytes, (bits * k2 + 7) / 8);
    for (uint32_t i = 0; i < k2; i++)
        assert_true(hfi_space_unpack(proof->indices, bits, i) == indices[i]);
    *last = indices[k2 - 1];
    hf_job_free(job);
    free(indices);
}

/* Widths of a round, k1 and k2 of every kind; odd counts; tiny files. */
static void small_sets(void **state)
{
    (void)state;
    uint32_t nonce;
    uint64_t last;
    set s;
    made_set(&s, 1003, 1024);
    agrees(shared, &s, 16, 26, 37, &nonce, &last);
    agrees(shared, &s, 1024, 26, 37, &nonce, &last);
    assert_true(nonce >= 16); /* so that there was a second round */
    agrees(shared, &s, 16, 1, 1, &nonce, &last);
    agrees(shared, &s, 16, 1, 4, &nonce, &last);
    agrees(shared, &s, 64, 1002, 1001, &nonce, &last);
    agrees(shared, &s, 48, 500, 540, &nonce, &last);
    drop_set(&s);
}

/* The reference skips what is beyond the last multiple of 8; here all count. */
static void the_last_labels_count(void **state)
{
    (void)state;
    uint32_t nonce, beyond = 0;
    uint64_t last;
    set s;
    made_set(&s, 303, 1 << 20);
    for (uint32_t k2 = 40; k2 < 58; k2 += 2) {
        agrees(shared, &s, 16, 45, k2, &nonce, &last);
        beyond += last >= 296;
    }
    assert_true(beyond > 0);
    drop_set(&s);
}

/* Several chunks in each of several files; any number of workers. */
static void larger_sets(void **state)
{
    (void)state;
    uint32_t nonce, again;
    uint64_t last;
    set s;
    made_set(&s, 200003, 16 * 70001);
    agrees(shared, &s, 64, 26, 34, &nonce, &last);
    for (uint32_t workers = 0; workers < 6; workers += 1 + (workers > 0) * 2) {
        hf_context *ctx = context_with(workers);
        agrees(ctx, &s, 32, 26, 34, &again, &last);
        assert_int_equal(again, nonce);
        hf_context_close(ctx);
    }
    drop_set(&s);
}

/* ---- data that are not whole ------------------------------------------------------ */

/* Set b: files of 8192, 8192 and 7616 bytes. */
static char *copied_set(record *r, const char *name)
{
    static const char *const names[] = {"postdata_metadata.json",
                                        "postdata_0.bin", "postdata_1.bin",
                                        "postdata_2.bin"};
    char from[TEMP_PATH], to[TEMP_PATH], folder[TEMP_PATH];
    char *dir = temp_folder();
    record_find(r, "b1");
    memcpy(r->opts.network.pow_difficulty, no_work, 32);
    temp_path(folder, dir, name);
    for (size_t i = 0; i < 4; i++) {
        size_t bytes;
        char *data = temp_read(temp_path(from, r->dir, names[i]), &bytes);
        temp_write(temp_path(to, folder, names[i]), data, bytes);
        free(data);
    }
    snprintf(r->dir, sizeof r->dir, "%s", folder);
    return dir;
}

static hf_space_prove_opts opts_of(const record *r)
{
    const hf_space_network *n = &r->opts.network;
    return light(16, n->k1, n->k2, n->pow_difficulty, n->scrypt_n);
}

static void incomplete_data(void **state)
{
    (void)state;
    record r;
    char path[TEMP_PATH];
    char *dir = copied_set(&r, "set");
    hf_space_prove_opts o = opts_of(&r);
    temp_path(path, r.dir, "postdata_2.bin");
    assert_int_equal(truncate(path, 7600), 0);
    must_fail(shared, r.dir, r.challenge, &o, HF_E_STATE,
              "postdata_2.bin has "
              "7600 bytes",
              "wanted 7616");
    assert_int_equal(truncate(path, 7632), 0);
    must_fail(shared, r.dir, r.challenge, &o, HF_E_STATE,
              "postdata_2.bin has "
              "7632 bytes",
              "wanted 7616");
    assert_int_equal(truncate(path, 7616), 0);
    temp_path(path, r.dir, "postdata_1.bin");
    assert_int_equal(truncate(path, 0), 0);
    must_fail(shared, r.dir, r.challenge, &o, HF_E_STATE,
              "postdata_1.bin has "
              "0 bytes",
              "wanted 8192");
    assert_int_equal(unlink(path), 0);
    must_fail(shared, r.dir, r.challenge, &o, HF_E_STATE,
              "postdata_1.bin is "
              "missing",
              "8192");
    temp_path(path, r.dir, "postdata_metadata.json");
    assert_int_equal(unlink(path), 0);
    must_fail(shared, r.dir, r.challenge, &o, HF_E_IO, "postdata_metadata", "");
    temp_folder_remove(dir);
}

/* Files above the last are told of, with both counts, and left alone. */
static void surplus_files(void **state)
{
    (void)state;
    record r;
    char path[TEMP_PATH];
    char *dir = copied_set(&r, "set");
    hf_context_opts co = HF_CONTEXT_OPTS_INIT;
    hf_context *ctx;
    hf_error err;
    hf_job *job;
    const hf_space_proof *proof;
    hf_log_record log;
    hf_space_prove_opts o = opts_of(&r);
    bool told = false;
    temp_write(temp_path(path, r.dir, "postdata_3.bin"), "abc", 3);
    temp_write(temp_path(path, r.dir, "postdata_7.bin"), "abc", 3);
    co.workers = 1;
    co.log_level = HF_LOG_WARN;
    assert_int_equal(hf_context_open(&ctx, &co, &err), HF_OK);
    must_run(ctx, &job, r.dir, r.challenge, &o, &proof);
    while (hf_context_next_log(ctx, &log))
        told |= log.level == HF_LOG_WARN && strstr(log.text, " 3 files") &&
                strstr(log.text, "2 more");
    assert_true(told);
    hf_job_free(job);
    hf_context_close(ctx);
    assert_int_equal(temp_count(r.dir), 6);
    temp_folder_remove(dir);
}

/* ---- data that are not right -------------------------------------------------------- */

/*
 * Writes a label of our own making, good for the winning nonce, at a place
 * below all that were chosen; so it is chosen.
 */
static uint64_t plant_bad_label(const record *r, const hf_space_proof *proof,
                                uint64_t place)
{
    uint64_t difficulty;
    uint8_t label[16] = {0};
    char path[TEMP_PATH];
    size_t bytes;
    assert_true(
        hfi_space_proving_difficulty(&difficulty, r->opts.network.k1, 1500));
    while (
        !oracle_good(label, r->challenge, proof->nonce, proof->pow, difficulty))
        for (int i = 0; i < 16 && ++label[i] == 0; i++)
            ;
    temp_path(path, r->dir, "postdata_1.bin");
    char *data = temp_read(path, &bytes);
    memcpy(data + 16 * (place - 512), label, 16);
    temp_write(path, data, bytes);
    free(data);
    return place;
}

static bool lists(const hf_space_proof *proof, uint64_t index, uint32_t k2)
{
    for (uint32_t i = 0; i < k2; i++)
        if (hfi_space_unpack(proof->indices, 11, i) == index)
            return true;
    return false;
}

static void a_bad_label_is_named(void **state)
{
    (void)state;
    record r;
    char *dir = copied_set(&r, "set");
    hf_job *job;
    const hf_space_proof *proof;
    hf_space_prove_opts o = opts_of(&r);
    uint64_t place = 512;
    must_run(shared, &job, r.dir, r.challenge, &o, &proof);
    while (lists(proof, place, o.k2))
        place++;
    plant_bad_label(&r, proof, place);
    hf_job_free(job);
    char label[32], offset[64];
    snprintf(label, sizeof label, "label %d is wrong", (int)place);
    snprintf(offset, sizeof offset, "at byte %d of postdata_1.bin",
             (int)(16 * (place - 512)));
    must_fail(shared, r.dir, r.challenge, &o, HF_E_FORMAT, label, offset);
    /* Without the check it would have gone out, and been refused. */
    o.no_self_check = true;
    must_run(shared, &job, r.dir, r.challenge, &o, &proof);
    assert_true(lists(proof, place, o.k2));
    r.proof = *proof;
    hf_space_verdict v = verdict_of(shared, &r);
    assert_int_equal(v.kind, HF_SPACE_INVALID_INDEX);
    assert_true(v.label_index == place);
    hf_job_free(job);
    temp_folder_remove(dir);
}

/* ---- disks that fail ------------------------------------------------------------------ */

/* Reads of so many bytes fail with EIO from now on, in this thread. */
static bool spoil_reads(uint32_t bytes)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pread64, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                 offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, bytes, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EIO),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/*
 * In a child, which drives the job itself: the last file, of 7616 bytes, cannot
 * be read. 0 if the error says all of it.
 */
static int last_file_unreadable(const record *r)
{
    hf_space_prove_opts o = opts_of(r);
    hf_context *ctx = context_with(0);
    hf_job *job;
    hf_error err;
    const hf_space_proof *proof = NULL;
    if (!spoil_reads(7616))
        return 77;
    hf_status s = run(ctx, &job, r->dir, r->challenge, &o, &proof, &err);
    hf_context_close(ctx);
    if (s != HF_E_IO || err.os_code != EIO || proof)
        return 1;
    if (!strstr(err.message, "at byte 0 of postdata_2.bin"))
        return 2;
    return strstr(err.cause, strerror(EIO)) ? 0 : 3;
}

static void read_errors(void **state)
{
    (void)state;
    record r;
    int code;
    char *dir = copied_set(&r, "set");
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(last_file_unreadable(&r));
    assert_int_equal(waitpid(child, &code, 0), child);
    temp_folder_remove(dir);
    assert_true(WIFEXITED(code));
    if (WEXITSTATUS(code) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(code), 0);
}

/* A file gets shorter while its set is read. */
static void files_that_shrink(void **state)
{
    (void)state;
    record r;
    char path[TEMP_PATH];
    char *dir = copied_set(&r, "set");
    hf_space_prove_opts o = opts_of(&r);
    hf_context *ctx = context_with(0);
    hf_job *job;
    hf_error err;
    hf_progress p = {.size = sizeof p};
    assert_int_equal(
        hf_space_prove_start(ctx, &job, r.dir, r.challenge, &o, &err), HF_OK);
    do {
        (void)hf_context_run(ctx, 0);
        assert_int_equal(hf_job_progress(job, &p), HF_OK);
        assert_false(p.finished);
    } while (strcmp(p.phase, "scan") != 0);
    temp_path(path, r.dir, "postdata_2.bin");
    assert_int_equal(truncate(path, 7600), 0);
    assert_int_equal(hf_job_wait(job, UINT64_MAX, &err), HF_E_FORMAT);
    assert_non_null(strstr(err.message, "postdata_2.bin"));
    assert_non_null(strstr(err.cause, "ends at byte 7600"));
    hf_job_free(job);
    hf_context_close(ctx);
    temp_folder_remove(dir);
}

/* ---- paths and media ------------------------------------------------------------------ */

static void any_path(void **state)
{
    (void)state;
    record r;
    char *dir = copied_set(&r, "PoST data ü 数据");
    char slash[TEMP_PATH + 1], home[TEMP_PATH];
    const char *const names[] = {r.dir, slash, "PoST data ü 数据",
                                 "./PoST data ü 数据/"};
    hf_space_prove_opts o = opts_of(&r);
    hf_job *jobs[4];
    const hf_space_proof *proofs[4];
    snprintf(slash, sizeof slash, "%s/", r.dir);
    assert_non_null(getcwd(home, sizeof home));
    assert_int_equal(chdir(dir), 0);
    for (int i = 0; i < 4; i++) {
        must_run(shared, &jobs[i], names[i], r.challenge, &o, &proofs[i]);
        same_proof(proofs[i], proofs[0]);
    }
    assert_int_equal(chdir(home), 0);
    for (int i = 0; i < 4; i++)
        hf_job_free(jobs[i]);
    temp_folder_remove(dir);
}

/* Nothing in the folder changes, whether it could or not. */
static void read_only_media(void **state)
{
    (void)state;
    static const char *const names[] = {".", "postdata_0.bin", "postdata_1.bin",
                                        "postdata_2.bin",
                                        "postdata_metadata.json"};
    record r;
    struct stat before[5], after;
    char path[TEMP_PATH];
    char *dir = copied_set(&r, "set");
    hf_job *job;
    const hf_space_proof *proof;
    hf_space_prove_opts o = opts_of(&r);
    for (int i = 4; i >= 0; i--) {
        temp_path(path, r.dir, names[i]);
        assert_int_equal(chmod(path, i ? 0444 : 0555), 0);
        assert_int_equal(stat(path, &before[i]), 0);
    }
    must_run(shared, &job, r.dir, r.challenge, &o, &proof);
    r.proof = *proof;
    assert_int_equal(verdict_of(shared, &r).kind, HF_SPACE_VALID);
    hf_job_free(job);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(stat(temp_path(path, r.dir, names[i]), &after), 0);
        assert_memory_equal(&after.st_mtim, &before[i].st_mtim,
                            sizeof after.st_mtim);
        assert_memory_equal(&after.st_ctim, &before[i].st_ctim,
                            sizeof after.st_ctim);
    }
    assert_int_equal(temp_count(r.dir), 4);
    chmod(r.dir, 0755);
    temp_folder_remove(dir);
}

/* ---- hosts ---------------------------------------------------------------------------- */

static uint64_t memory_used(void)
{
    hf_context_info info = {.size = sizeof info};
    assert_int_equal(hf_context_get_info(shared, &info), HF_OK);
    return info.memory_used;
}

/* RandomX and the workers' scratch are the context's and stay. */
static uint64_t memory_before(void)
{
    hf_space_warm_opts o = HF_SPACE_WARM_OPTS_INIT;
    hf_job *job;
    hf_error err;
    o.randomx = HF_SPACE_RANDOMX_LIGHT;
    assert_int_equal(hf_space_warm_start(shared, &job, &o, &err), HF_OK);
    assert_int_equal(hf_job_wait(job, UINT64_MAX, &err), HF_OK);
    hf_job_free(job);
    return memory_used() + (1 << 20);
}

/* Until the job is in that phase; then for so long. */
static void wait_in_phase(hf_job *job, const char *phase, uint64_t ms)
{
    hf_progress p = {.size = sizeof p};
    uint64_t start = hfi_now_ns();
    do {
        assert_int_equal(hf_job_progress(job, &p), HF_OK);
        assert_false(p.finished);
        hfi_sleep_ms(1);
        assert_true(hfi_now_ns() - start < UINT64_C(60000000000));
    } while (strcmp(p.phase, phase) != 0);
    hfi_sleep_ms(ms);
}

static void cancelled_soon(hf_job *job)
{
    hf_error err;
    uint64_t start = hfi_now_ns();
    hf_job_cancel(job);
    assert_int_equal(hf_job_wait(job, 60000, &err), HF_E_CANCELLED);
    assert_true(hfi_now_ns() - start < 1000000000);
}

static void cancel_during_the_pass(void **state)
{
    (void)state;
    set s;
    char path[TEMP_PATH];
    hf_error err;
    hf_job *job;
    uint8_t challenge[32] = {5};
    hf_space_prove_opts o = light(128, 26, 37, no_work, 2);
    hf_progress p = {.size = sizeof p};
    made_set(&s, 64, 1024);
    s.meta.labels_per_unit = UINT64_C(1) << 29;
    s.meta.max_file_size = UINT64_C(1) << 32;
    assert_int_equal(hfi_meta_save(&s.meta, &plain_env, s.dir, &err), HF_OK);
    for (int i = 0; i < 2; i++) {
        temp_path(path, s.dir, i ? "postdata_1.bin" : "postdata_0.bin");
        if (i)
            temp_write(path, "", 0);
        assert_int_equal(truncate(path, (off_t)1 << 32), 0);
    }
    uint64_t used = memory_before();
    assert_int_equal(
        hf_space_prove_start(shared, &job, s.dir, challenge, &o, &err), HF_OK);
    wait_in_phase(job, "scan", 1000);
    assert_int_equal(hf_job_progress(job, &p), HF_OK);
    assert_true(p.done > 0 && p.done < p.total);
    assert_true(p.total == UINT64_C(1) << 33);
    assert_true(memory_used() > used);
    cancelled_soon(job);
    assert_true(memory_used() <= used);
    hf_job_free(job);
    drop_set(&s);
}

static void cancel_during_the_work(void **state)
{
    (void)state;
    record r;
    hf_error err;
    hf_job *job;
    uint8_t never[32] = {0};
    record_find(&r, "b1");
    hf_space_prove_opts o = light(64, 26, 30, never, 16);
    uint64_t used = memory_before();
    assert_int_equal(
        hf_space_prove_start(shared, &job, r.dir, r.challenge, &o, &err),
        HF_OK);
    wait_in_phase(job, "work", 300);
    cancelled_soon(job);
    assert_true(memory_used() <= used);
    hf_job_free(job);
}

static void cancel_and_free_at_any_time(void **state)
{
    (void)state;
    record r;
    hf_error err;
    record_find(&r, "c1");
    hf_space_prove_opts o = light(64, 60, 70, no_work, 4);
    for (int i = 0; i < 60; i++) {
        hf_job *job = NULL;
        struct timespec wait = {.tv_nsec = i * 1000000};
        assert_int_equal(
            hf_space_prove_start(shared, &job, r.dir, r.challenge, &o, &err),
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

/* The handle and the proof it lends outlive the context. */
static void the_handle_outlives_the_context(void **state)
{
    (void)state;
    record r;
    hf_job *job;
    const hf_space_proof *proof, *again;
    hf_error err;
    record_find(&r, "b1");
    hf_space_prove_opts o = light(64, 26, 30, no_work, 16);
    hf_context *ctx = context_with(1);
    must_run(ctx, &job, r.dir, r.challenge, &o, &proof);
    hf_context_close(ctx);
    assert_int_equal(hf_space_prove_result(job, &again, &err), HF_OK);
    assert_ptr_equal(proof, again);
    r.proof = *proof;
    memcpy(r.opts.network.pow_difficulty, no_work, 32);
    assert_int_equal(verdict_of(shared, &r).kind, HF_SPACE_VALID);
    hf_job_free(job);
}

static void host_rounding(void **state)
{
    (void)state;
    record r;
    hf_job *job, *upward;
    const hf_space_proof *proof, *other;
    record_find(&r, "c1");
    hf_space_prove_opts o = light(16, 60, 60, r.opts.network.pow_difficulty, 4);
    hf_context *driven = context_with(0);
    must_run(shared, &job, r.dir, r.challenge, &o, &proof);
    fesetround(FE_UPWARD);
    must_run(driven, &upward, r.dir, r.challenge, &o, &other);
    int mode = fegetround();
    fesetround(FE_TONEAREST);
    assert_int_equal(mode, FE_UPWARD);
    same_proof(proof, other);
    hf_job_free(upward);
    hf_job_free(job);
    hf_context_close(driven);
}

static void too_little_memory(void **state)
{
    (void)state;
    record r;
    hf_job *job = NULL;
    hf_context *ctx;
    hf_error err;
    hf_context_opts co = HF_CONTEXT_OPTS_INIT;
    record_find(&r, "b1");
    hf_space_prove_opts o = light(64, 26, 30, no_work, 16);
    co.workers = 1;
    co.memory_budget = 200 << 20;
    assert_int_equal(hf_context_open(&ctx, &co, &err), HF_OK);
    assert_int_equal(
        hf_space_prove_start(ctx, &job, r.dir, r.challenge, &o, &err),
        HF_E_MEMORY);
    assert_null(job);
    hf_context_close(ctx);
    /* Lists that no budget holds. */
    o.k1 = o.k2 = UINT32_MAX;
    o.nonces = 4096;
    assert_int_equal(
        hf_space_prove_start(shared, &job, r.dir, r.challenge, &o, &err),
        HF_E_MEMORY);
}

/* Only the sidecar says that a label takes 128 MiB; found before the pass. */
static void the_n_of_the_sidecar_is_counted(void **state)
{
    (void)state;
    set s;
    size_t kernels;
    uint8_t challenge[32] = {9}, commitment[32], label[32];
    char path[TEMP_PATH];
    hf_context *ctx;
    hf_error err;
    hf_job *job;
    const hf_space_proof *proof;
    hf_context_opts co = HF_CONTEXT_OPTS_INIT;
    hf_space_prove_opts o = light(16, 26, 37, no_work, 0);
    hfi_sidecar side = {.scrypt_n = 1 << 20};
    made_set(&s, 1003, 1 << 20);
    hfi_space_commitment(commitment, s.meta.node_id, s.meta.commitment_atx_id);
    assert_int_equal(hfi_label_one(hfi_label_kernels(&kernels)[0], commitment,
                                   0, 20, label, &err),
                     HF_OK);
    memcpy(s.labels, label, 16);
    temp_write(temp_path(path, s.dir, "postdata_0.bin"), s.labels,
               16 * s.count);
    assert_int_equal(hfi_sidecar_save(&side, &plain_env, s.dir, &err), HF_OK);
    co.workers = 1;
    co.memory_budget = 370 << 20; /* light memory, but not 128 MiB more */
    assert_int_equal(hf_context_open(&ctx, &co, &err), HF_OK);
    must_fail(ctx, s.dir, challenge, &o, HF_E_MEMORY, "N = 2^20", "budget");
    o.no_self_check = true;
    must_run(ctx, &job, s.dir, challenge, &o, &proof);
    hf_job_free(job);
    hf_context_close(ctx);
    drop_set(&s);
}

/* Each allocation fails in turn: an error, and the next proof is the same. */
/* How often one of the jobs begins to make the RandomX cache. */
static unsigned caches_made(hf_context *ctx, hf_job *const jobs[2])
{
    bool was[2] = {false, false};
    unsigned made = 0;
    bool ended = false;
    while (!ended) {
        (void)hf_context_run(ctx, 1);
        ended = true;
        for (int i = 0; i < 2; i++) {
            hf_progress p = {.size = sizeof p};
            assert_int_equal(hf_job_progress(jobs[i], &p), HF_OK);
            bool makes = strcmp(p.phase, "randomx cache") == 0;
            made += makes && !was[i];
            was[i] = makes;
            ended = ended && p.finished;
        }
    }
    return made;
}

/*
 * Proofs that are started one after the other, before the first has run: the
 * RandomX memory counts once, none waits for the other, and it is made once.
 */
static void proofs_at_once_share_randomx(void **state)
{
    (void)state;
    set s;
    uint8_t challenge[32] = {7};
    hf_space_prove_opts o = light(16, 26, 37, no_work, 2);
    hf_context_opts co = HF_CONTEXT_OPTS_INIT;
    hf_context_info info = {.size = sizeof info};
    hf_context *ctx;
    hf_job *jobs[2];
    hf_log_record log;
    hf_error err;
    o.no_self_check = true; /* they are no real labels */
    made_set(&s, 256, 4096);
    co.workers = 0;
    co.memory_budget = UINT64_C(400) << 20; /* not for two caches */
    co.log_level = HF_LOG_INFO;
    assert_int_equal(hf_context_open(&ctx, &co, &err), HF_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(
            hf_space_prove_start(ctx, &jobs[i], s.dir, challenge, &o, &err),
            HF_OK);
    while (hf_context_next_log(ctx, &log))
        assert_null(strstr(log.text, "waits for memory"));
    assert_int_equal(hf_context_get_info(ctx, &info), HF_OK);
    assert_true(info.memory_used > UINT64_C(256) << 20);
    assert_int_equal(caches_made(ctx, jobs), 1);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(hf_job_wait(jobs[i], 0, &err), HF_OK);
        hf_job_free(jobs[i]);
    }
    hf_context_close(ctx);
    drop_set(&s);
}

/* Each round's hashes are counted from 0, and are hashes, not bytes. */
static void progress_of_the_work(void **state)
{
    (void)state;
    enum { COUNT = 4096, NONCES = 16 };
    set s;
    uint8_t challenge[32] = {9};
    hf_space_prove_opts o = light(NONCES, 26, 60, no_work, 2);
    hf_context_opts co = HF_CONTEXT_OPTS_INIT;
    hf_progress p = {.size = sizeof p};
    hf_context *ctx;
    hf_job *job;
    hf_error err;
    unsigned rounds = 0;
    bool working = false;
    made_set(&s, COUNT, UINT64_C(1) << 20);
    co.workers = 0;
    assert_int_equal(hf_context_open(&ctx, &co, &err), HF_OK);
    assert_int_equal(
        hf_space_prove_start(ctx, &job, s.dir, challenge, &o, &err), HF_OK);
    while (rounds < 3) {
        (void)hf_context_run(ctx, 0);
        assert_int_equal(hf_job_progress(job, &p), HF_OK);
        assert_false(p.finished);
        assert_true(p.total == 0 || p.done <= p.total);
        bool works = strcmp(p.phase, "work") == 0;
        rounds += works && !working;
        working = works;
        if (works) /* one worker, one group a round, its first hash will do */
            assert_true(p.done <= 1);
    }
    hf_job_free(job);
    hf_context_close(ctx);
    drop_set(&s);
}

/* What was taken for a job that never ran goes with its handle. */
static void cancelled_before_it_ran(void **state)
{
    (void)state;
    set s;
    uint8_t challenge[32] = {7};
    hf_space_prove_opts o = light(16, 26, 37, no_work, 2);
    hf_context_opts co = HF_CONTEXT_OPTS_INIT;
    hf_context *ctx;
    hf_job *jobs[3];
    hf_error err;
    made_set(&s, 256, 4096);
    co.workers = 0;
    co.memory_budget = UINT64_C(280) << 20;
    assert_int_equal(hf_context_open(&ctx, &co, &err), HF_OK);
    for (int i = 0; i < 3; i++) {
        o.nonces = i == 1 ? 4096 : 16; /* waits for memory */
        assert_int_equal(
            hf_space_prove_start(ctx, &jobs[i], s.dir, challenge, &o, &err),
            HF_OK);
    }
    for (int i = 0; i < 3; i++) {
        hf_job_cancel(jobs[i]);
        assert_int_equal(hf_job_wait(jobs[i], 10000, &err), HF_E_CANCELLED);
    }
    hf_context_close(ctx);
    for (int i = 0; i < 3; i++)
        hf_job_free(jobs[i]);
    drop_set(&s);
}

static void every_allocation_fails(void **state)
{
    (void)state;
    record r;
    hf_job *job, *first;
    const hf_space_proof *proof, *wanted;
    hf_error err;
    uint64_t refused = 0;
    bool hit = true;
    record_find(&r, "c1");
    hf_space_prove_opts o = light(16, 60, 60, no_work, 4);
    must_run(shared, &first, r.dir, r.challenge, &o, &wanted);
    for (uint64_t nth = 1; hit; nth++) {
        alloc_fail_start(nth);
        hf_status s = run(shared, &job, r.dir, r.challenge, &o, &proof, &err);
        hit = alloc_fail_end();
        if (s == HF_OK)
            same_proof(proof, wanted);
        else
            assert_true(hit && s == HF_E_MEMORY);
        refused += s != HF_OK;
        hf_job_free(job);
    }
    assert_true(refused > 20);
    hf_job_free(first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_record),
        cmocka_unit_test(every_failure),
        cmocka_unit_test(small_sets),
        cmocka_unit_test(the_last_labels_count),
        cmocka_unit_test(larger_sets),
        cmocka_unit_test(incomplete_data),
        cmocka_unit_test(surplus_files),
        cmocka_unit_test(a_bad_label_is_named),
        cmocka_unit_test(read_errors),
        cmocka_unit_test(files_that_shrink),
        cmocka_unit_test(any_path),
        cmocka_unit_test(read_only_media),
        cmocka_unit_test(cancel_during_the_pass),
        cmocka_unit_test(cancel_during_the_work),
        cmocka_unit_test(cancel_and_free_at_any_time),
        cmocka_unit_test(the_handle_outlives_the_context),
        cmocka_unit_test(host_rounding),
        cmocka_unit_test(too_little_memory),
        cmocka_unit_test(the_n_of_the_sidecar_is_counted),
        cmocka_unit_test(proofs_at_once_share_randomx),
        cmocka_unit_test(progress_of_the_work),
        cmocka_unit_test(cancelled_before_it_ran),
        cmocka_unit_test(every_allocation_fails),
    };
    return cmocka_run_group_tests(tests, open_shared, close_shared);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The whole life of a space proof in a host: open, initialise, prove, verify,
 * close, return from main. Then no thread is left, and the process ends at once.
 *
 *     life FOLDER
 */
#include <holdfast/context.h>
#include <holdfast/space.h>

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LABELS = 512, N = 2, K1 = 26, K2 = 20, END_MS = 1000 };

static const uint8_t id[32] = {1}, challenge[32] = {2};

static uint64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static int threads(void)
{
    int count = 0;
    DIR *d = opendir("/proc/self/task");
    for (struct dirent *e; d && (e = readdir(d)) != NULL;)
        count += e->d_name[0] != '.';
    if (d)
        closedir(d);
    return count;
}

/* A joined thread may be seen for a moment more. */
static int threads_return_to(int count)
{
    uint64_t end = now_ms() + END_MS;
    while (threads() > count) {
        struct timespec t = {.tv_nsec = 1000000};
        if (now_ms() > end)
            return 0;
        nanosleep(&t, NULL);
    }
    return 1;
}

static hf_status end_of(hf_job *job, hf_error *err)
{
    return hf_job_wait(job, UINT64_MAX, err);
}

static hf_status initialise(hf_context *ctx, const char *dir, hf_error *err)
{
    hf_space_init_opts o = HF_SPACE_INIT_OPTS_INIT;
    hf_job *job = NULL;
    o.node_id = o.commitment_atx_id = id;
    o.num_units = 1;
    o.labels_per_unit = LABELS;
    o.scrypt_n = N;
    hf_status s = hf_space_init_start(ctx, &job, dir, &o, err);
    if (s == HF_OK)
        s = end_of(job, err);
    hf_job_free(job);
    return s;
}

static hf_status prove(hf_context *ctx, const char *dir,
                       const hf_space_network *net, hf_error *err)
{
    hf_space_prove_opts o = HF_SPACE_PROVE_OPTS_INIT;
    hf_space_verify_opts v = {.size = sizeof v, .network = *net};
    hf_space_verdict verdict = {.size = sizeof verdict};
    const hf_space_proof *proof;
    hf_job *job = NULL;
    o.k1 = net->k1;
    o.k2 = net->k2;
    o.pow_difficulty = net->pow_difficulty;
    o.randomx = HF_SPACE_RANDOMX_LIGHT;
    hf_status s = hf_space_prove_start(ctx, &job, dir, challenge, &o, err);
    if (s == HF_OK)
        s = end_of(job, err);
    if (s == HF_OK)
        s = hf_space_prove_result(job, &proof, err);
    if (s == HF_OK)
        s = hf_space_verify(ctx, proof, &v, &verdict, err);
    hf_job_free(job);
    if (s == HF_OK && verdict.kind != HF_SPACE_VALID) {
        *err = (hf_error){.code = HF_E_INTERNAL};
        memcpy(err->message, verdict.reason, sizeof err->message);
        s = HF_E_INTERNAL;
    }
    return s;
}

static int live(const char *dir)
{
    int before = threads();
    hf_error err = {0};
    hf_context *ctx = NULL;
    hf_context_opts o = HF_CONTEXT_OPTS_INIT;
    hf_space_network net = {.size = sizeof net};
    hf_space_network_mainnet(&net);
    net.min_units = 1;
    net.labels_per_unit = LABELS;
    net.scrypt_n = N;
    net.k1 = K1;
    net.k2 = K2;
    memset(net.pow_difficulty, 0xff, sizeof net.pow_difficulty);
    o.workers = 3;
    hf_status s = hf_context_open(&ctx, &o, &err);
    if (s == HF_OK)
        s = initialise(ctx, dir, &err);
    if (s == HF_OK)
        s = prove(ctx, dir, &net, &err);
    if (s == HF_OK && threads() <= before) {
        fprintf(stderr, "life: no thread was ever seen\n");
        return 1;
    }
    hf_context_close(ctx);
    if (s != HF_OK) {
        fprintf(stderr, "life: %s: %s\n", err.message, err.cause);
        return 1;
    }
    if (!threads_return_to(before)) {
        fprintf(stderr, "life: %d threads, %d before\n", threads(), before);
        return 1;
    }
    return 0;
}

/* The child lives; the time from its last word to its end is what counts. */
int main(int argc, char **argv)
{
    int ends[2], status = 1;
    char byte = 0;
    if (argc != 2 || pipe(ends) != 0)
        return 2;
    pid_t child = fork();
    if (child == 0) {
        int code = live(argv[1]);
        return write(ends[1], &byte, 1) == 1 ? code : 2;
    }
    close(ends[1]);
    if (child < 0 || read(ends[0], &byte, 1) != 1)
        return 2;
    uint64_t closed = now_ms();
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return 2;
    if (now_ms() - closed > END_MS) {
        fprintf(stderr, "life: the process ended %llu ms after its close\n",
                (unsigned long long)(now_ms() - closed));
        return 1;
    }
    return WEXITSTATUS(status);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * pow.hash: hashes a second of the library's work search, light and fast,
 * against a bare loop over librandomx on as many threads, with memory of its
 * own and the same flags. The fast lines need memory for two data sets and are
 * left out, with a word, where it is not there.
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <randomx.h>

#include <holdfast/context.h>

#include "context/context.h"
#include "pow/pow.h"

enum { TIMES_MS = 6 };

/* ---- the bare loop ------------------------------------------------------- */

struct bare {
    randomx_flags flags;
    randomx_cache *cache;
    randomx_dataset *dataset;
    randomx_vm **vm;
    uint64_t *nonce;
    uint32_t threads;
};

static void bare_free(struct bare *b)
{
    for (uint32_t i = 0; b->vm && i < b->threads; i++) {
        if (b->vm[i])
            randomx_destroy_vm(b->vm[i]);
    }
    if (b->dataset)
        randomx_release_dataset(b->dataset);
    if (b->cache)
        randomx_release_cache(b->cache);
    free(b->vm);
    free(b->nonce);
    *b = (struct bare){0};
}

struct slice {
    pthread_t thread;
    struct bare *bare;
    unsigned long first, count;
};

static void *fill_slice(void *arg)
{
    struct slice *s = arg;
    randomx_init_dataset(s->bare->dataset, s->bare->cache, s->first, s->count);
    return NULL;
}

static bool fill_dataset(struct bare *b)
{
    unsigned long items = randomx_dataset_item_count();
    struct slice *s = calloc(b->threads, sizeof *s);
    if (s == NULL)
        return false;
    for (uint32_t i = 0; i < b->threads; i++) {
        unsigned long first = items / b->threads * i;
        unsigned long end = i + 1 == b->threads ? items
                                                : items / b->threads * (i + 1);
        s[i] = (struct slice){.bare = b, .first = first, .count = end - first};
        if (pthread_create(&s[i].thread, NULL, fill_slice, &s[i]) != 0)
            abort();
    }
    for (uint32_t i = 0; i < b->threads; i++)
        pthread_join(s[i].thread, NULL);
    free(s);
    return true;
}

static bool bare_new(struct bare *b, const char *engine, bool fast,
                     uint32_t threads)
{
    static const char key[] = "spacemesh-randomx-cache-key";
    int flags = (int)randomx_get_flags() & ~(int)RANDOMX_FLAG_SECURE;
    if (strcmp(engine, "interpreter") == 0)
        flags &= ~(int)RANDOMX_FLAG_JIT;
    else if (strcmp(engine, "secure jit") == 0)
        flags |= RANDOMX_FLAG_SECURE;
    *b = (struct bare){.flags = (randomx_flags)flags, .threads = threads};
    b->vm = calloc(threads, sizeof(randomx_vm *));
    b->nonce = calloc(threads, sizeof *b->nonce);
    b->cache = randomx_alloc_cache(b->flags);
    bool fine = b->vm && b->nonce && b->cache;
    if (fine)
        randomx_init_cache(b->cache, key, sizeof key - 1);
    if (fine && fast) {
        b->dataset = randomx_alloc_dataset(b->flags);
        fine = b->dataset && fill_dataset(b);
        flags |= RANDOMX_FLAG_FULL_MEM;
    }
    for (uint32_t i = 0; fine && i < threads; i++) {
        b->vm[i] = randomx_create_vm((randomx_flags)flags, b->cache,
                                     b->dataset);
        fine = b->vm[i] != NULL;
    }
    if (!fine)
        bare_free(b);
    return fine;
}

static uint64_t bare_once(void *user, uint32_t thread)
{
    enum { PIECE = 16 };
    struct bare *b = user;
    uint8_t input[48] = {0}, hash[32];
    randomx_vm *vm = b->vm[thread];
    hfi_store_u64(input + 8, thread);
    hfi_store_u64(input, b->nonce[thread]++);
    randomx_calculate_hash_first(vm, input, sizeof input);
    for (int i = 1; i < PIECE; i++) {
        hfi_store_u64(input, b->nonce[thread]++);
        randomx_calculate_hash_next(vm, input, sizeof input, hash);
    }
    randomx_calculate_hash_last(vm, hash);
    return PIECE;
}

/* ---- the library's search ------------------------------------------------ */

struct search {
    hfi_pow_use use;
    hfi_pow_search search;
    bool started;
    bool inited;
};

static hfi_step search_step(hf_job *job, void *state)
{
    struct search *s = state;
    hf_error err;
    if (s->started)
        return hfi_pow_search_idle(&s->search) ? HFI_STEP_DONE : HFI_STEP_WAIT;
    switch (hfi_pow_use_step(&s->use, job, &err)) {
    case HFI_POW_WAIT:
        return HFI_STEP_WAIT;
    case HFI_POW_FAILED:
        (void)hfi_job_fail(job, &err);
        return HFI_STEP_DONE;
    case HFI_POW_READY:
        break;
    }
    s->started = true;
    hfi_pow_search_start(&s->search, job);
    return HFI_STEP_WAIT;
}

static void search_destroy(void *state)
{
    struct search *s = state;
    if (s->inited)
        hfi_pow_search_wipe(&s->search);
    hfi_pow_use_wipe(&s->use);
    free(s);
}

static const hfi_job_class search_class = {
    .name = "bench pow", .step = search_step, .destroy = search_destroy};

/* A search that never ends by itself: nothing is below zero. */
static hf_status search_start(hf_context *ctx, hf_job **job, bool fast,
                              hf_error *err)
{
    hfi_pow *pow = hfi_context_pow(ctx);
    hfi_pow_mode mode = fast ? HFI_POW_FAST : HFI_POW_LIGHT;
    struct search *s = calloc(1, sizeof *s);
    if (s == NULL)
        return hfi_error(err, HF_E_MEMORY, "no memory");
    hf_status status = hfi_pow_use_init(&s->use, pow, mode, false, err);
    if (status != HF_OK) {
        free(s);
        return status;
    }
    hfi_job_need need = {.held = hfi_pow_use_need(&s->use)};
    status = hfi_pow_search_init(&s->search, &s->use, err);
    s->inited = status == HF_OK;
    if (status == HF_OK)
        status = hfi_job_start(job, hfi_context_sched(ctx), &search_class, s,
                               &need, HF_PRIORITY_NORMAL, NULL, err);
    if (status != HF_OK)
        search_destroy(s);
    return status;
}

/* Waits until the count moves, and says when: leaves add what they tried when
 * they end, so a window begins and ends with one. False if the job ended. */
static bool next_count(hf_job *job, const struct search *state, uint64_t *count,
                       uint64_t *at_ns)
{
    hf_error err;
    uint64_t before = *count;
    while (hf_job_wait(job, 1, &err) == HF_E_BUSY) {
        *count = atomic_load(&state->search.hashes);
        *at_ns = hfi_now_ns();
        if (*count != before)
            return true;
    }
    return false;
}

/* Waits until hashing has begun, measures, cancels. */
static hf_status library_rate(hf_context *ctx, bool fast, uint32_t ms,
                              double *rate, hf_error *err)
{
    hf_job *job = NULL;
    hf_status s = search_start(ctx, &job, fast, err);
    if (s != HF_OK)
        return s;
    const struct search *state = hfi_job_state(job, &search_class);
    uint64_t first = 0, last = 0, begin = 0, end = 0;
    bool fine = next_count(job, state, &first, &begin);
    last = first;
    for (end = begin; fine && end - begin < (uint64_t)ms * 1000000;)
        fine = next_count(job, state, &last, &end);
    *rate = fine ? (double)(last - first) * 1e9 / (double)(end - begin) : 0;
    hf_job_cancel(job);
    s = hf_job_wait(job, UINT64_MAX, err);
    hf_job_free(job);
    return s == HF_E_CANCELLED ? HF_OK : s;
}

/* ---- lines --------------------------------------------------------------- */

static int lines(const struct bench_opts *opts, hf_context *ctx, bool fast)
{
    double rates[BENCH_ROUNDS_MOST], rivals[BENCH_ROUNDS_MOST], warm;
    hf_error err = {.code = HF_OK};
    struct bare bare;
    const char *engine = hfi_pow_engine(hfi_context_pow(ctx));
    uint32_t ms = opts->ms * TIMES_MS;
    if (!bare_new(&bare, engine, fast, opts->threads))
        return bench_fail("pow.hash", "no memory for a bare loop");
    hf_status s = library_rate(ctx, fast, 10, &warm, &err);
    for (uint32_t r = 0; s == HF_OK && r < opts->rounds; r++) {
        rivals[r] = bench_rate(opts->threads, ms, bare_once, &bare);
        s = library_rate(ctx, fast, ms, &rates[r], &err);
    }
    bare_free(&bare);
    if (s != HF_OK)
        return bench_fail("pow.hash", "%s (%s)", err.message, err.cause);
    char variant[64];
    snprintf(variant, sizeof variant, "%s, %s", engine,
             fast ? "fast" : "light");
    struct bench_line line = {"pow.hash", variant, opts->threads, "hashes/s",
                              "bare loop over librandomx"};
    bench_emit(&line, rates, rivals, opts->rounds);
    return 0;
}

int bench_pow_hash(const struct bench_opts *opts)
{
    const uint64_t two_sets = UINT64_C(6) << 30;
    hf_context *ctx = NULL;
    hf_error err = {.code = HF_OK};
    hf_context_opts c = HF_CONTEXT_OPTS_INIT;
    c.workers = opts->threads;
    if (hf_context_open(&ctx, &c, &err) != HF_OK)
        return bench_fail("pow.hash", "%s", err.message);
    int failed = lines(opts, ctx, false);
    if (opts->machine.memory_available < two_sets)
        fprintf(stderr, "pow.hash: fast is left out, it needs 6 GiB here\n");
    else if (!failed)
        failed = lines(opts, ctx, true);
    hf_context_close(ctx);
    return failed;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The search for a k2pow nonce. Pieces of nonces are given out in ascending
 * order, and a leaf ends only when the next piece lies beyond the best nonce so
 * far: so when all have ended, every smaller nonce was tried, whoever tried it.
 */
#include "pow/pow_internal.h"

#include <string.h>

#define NONCES      (UINT64_C(1) << 56) /* the top byte is not hashed */
#define LEAF_NS     UINT64_C(12000000)
#define LEAF_HASHES 256u

struct hfi_pow_search_leaf {
    hfi_leaf leaf; /* first: the address is the same */
    hfi_pow_search *search;
};

void hfi_pow_input(uint8_t out[HFI_POW_INPUT], uint64_t nonce, uint8_t group,
                   const uint8_t challenge[8], const uint8_t node_id[32])
{
    hfi_store_u64(out, nonce);
    out[7] = group;
    memcpy(out + 8, challenge, 8);
    memcpy(out + 16, node_id, 32);
}

void hfi_pow_scale(uint8_t out[32], const uint8_t difficulty[32],
                   uint32_t num_units)
{
    uint64_t rest = 0;

    for (int i = 0; i < 32; i++) {
        rest = rest << 8 | difficulty[i];
        out[i] = (uint8_t)(rest / num_units);
        rest %= num_units;
    }
}

static void lower(_Atomic uint64_t *best, uint64_t nonce)
{
    uint64_t old = atomic_load(best);

    while (nonce < old && !atomic_compare_exchange_weak(best, &old, nonce))
        ;
}

static void input_of(uint8_t out[HFI_POW_INPUT], const hfi_pow_search *s,
                     uint64_t nonce)
{
    hfi_pow_input(out, nonce, s->group, s->challenge, s->node_id);
}

/*
 * librandomx fills the scratchpad of the next hash while it reads that of the
 * last, so a piece is one chain of calls.
 */
static void try_piece(hfi_pow_search *s, randomx_vm *vm, uint64_t begin,
                      uint64_t end)
{
    uint8_t input[HFI_POW_INPUT];
    uint8_t hash[32];
    uint64_t tried = begin;
    bool met = false;
    hfi_fenv host;

    hfi_fenv_enter(&host);
    input_of(input, s, begin);
    randomx_calculate_hash_first(vm, input, sizeof input);
    while (tried < end && !met) {
        if (tried + 1 < end) {
            input_of(input, s, tried + 1);
            randomx_calculate_hash_next(vm, input, sizeof input, hash);
        } else {
            randomx_calculate_hash_last(vm, hash);
        }
        met = memcmp(hash, s->difficulty, sizeof hash) < 0;
        if (met)
            lower(&s->best, tried);
        tried++;
    }
    hfi_fenv_leave(&host);
    uint64_t before = atomic_fetch_add(&s->hashes, tried - begin);
    hfi_job_advance(s->job, s->shown + before + (tried - begin));
}

static bool leave(hfi_pow_search *s)
{
    if (atomic_fetch_sub(&s->running, 1) == 1) {
        s->nonce = atomic_load(&s->best);
        s->found = s->nonce < NONCES;
    }
    return false;
}

static bool run_leaf(hfi_leaf *leaf, hfi_worker *w)
{
    hfi_pow_search *s = ((hfi_pow_search_leaf *)(void *)leaf)->search;
    bool fast = s->use->mode == HFI_POW_FAST;
    hf_error err;

    if (hfi_job_failed(s->job) || hfi_job_cancelled(s->job))
        return false; /* never counted as at the end: nothing was found */
    uint64_t begin = atomic_fetch_add(&s->next, s->grain);
    if (begin >= atomic_load(&s->best))
        return leave(s);
    randomx_vm *vm = hfi_pow_machine(s->pow, w, fast, &err);
    if (vm == NULL) {
        (void)hfi_job_fail(s->job, &err);
        return false;
    }
    uint64_t left = NONCES - begin;
    try_piece(s, vm, begin, begin + (left < s->grain ? left : s->grain));
    return true;
}

hf_status hfi_pow_search_init(hfi_pow_search *s, hfi_pow_use *u, hf_error *err)
{
    const hfi_env *env = u->pow->env;
    uint32_t count = u->pow->workers;

    s->use = u;
    s->pow = u->pow;
    s->found = false;
    s->job = NULL;
    s->leaf_count = 0;
    atomic_init(&s->hashes, 0);
    atomic_init(&s->next, 0);
    atomic_init(&s->best, NONCES);
    atomic_init(&s->running, 0);
    s->leaves = hfi_calloc(env, count, sizeof *s->leaves);
    if (s->leaves == NULL)
        return hfi_error(err, HF_E_MEMORY,
                         "no memory to search with %u workers",
                         (unsigned)count);
    s->leaf_count = count;
    for (uint32_t i = 0; i < count; i++) {
        s->leaves[i].leaf.run = run_leaf;
        s->leaves[i].leaf.kind = HFI_LEAF_CPU;
        s->leaves[i].search = s;
    }
    return HF_OK;
}

void hfi_pow_search_start(hfi_pow_search *s, hf_job *job)
{
    uint64_t each = s->pow->hash_ns[s->use->mode == HFI_POW_FAST];

    hf_progress progress = {.size = sizeof progress};
    bool known = hf_job_progress(job, &progress) == HF_OK;

    s->job = job;
    s->shown = known ? progress.done : 0;
    s->found = false;
    atomic_store(&s->hashes, 0);
    s->grain = each < LEAF_NS ? LEAF_NS / (each + 1) : 1;
    if (s->grain > LEAF_HASHES)
        s->grain = LEAF_HASHES;
    atomic_store(&s->next, 0);
    atomic_store(&s->best, NONCES);
    atomic_store(&s->running, s->leaf_count);
    for (uint32_t i = 0; i < s->leaf_count; i++)
        hfi_leaf_submit(job, &s->leaves[i].leaf);
}

bool hfi_pow_search_idle(const hfi_pow_search *s)
{
    for (uint32_t i = 0; i < s->leaf_count; i++)
        if (!hfi_leaf_idle(&s->leaves[i].leaf))
            return false;
    return true;
}

void hfi_pow_search_wipe(hfi_pow_search *s)
{
    if (s->pow == NULL)
        return;
    hfi_free(s->pow->env, s->leaves);
    s->pow = NULL;
    s->leaves = NULL;
    s->leaf_count = 0;
}

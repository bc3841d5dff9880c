/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Computes the labels of a proof in lanes, spread over the workers, and puts
 * them to the ciphers. Invariant: when the loop has ended, `bad` is the lowest
 * bad place whatever the number of workers: a place is skipped only if a lower
 * one is known to be bad.
 */
#include "space/judge.h"

#include <inttypes.h>
#include <stdio.h>

/* Above HFI_LABEL_SCRATCH_MOST a worker takes one label at a time. */
enum { MAX_LANES = 64 };

hfi_judge_plan hfi_judge_plan_for(const hfi_kernels *kernels, uint32_t log_n,
                                  uint64_t count, uint32_t workers)
{
    const hfi_label_kernel *k = kernels->label;
    uint64_t share = count / workers + (count % workers != 0);
    const hfi_label_shape *shape = NULL;
    for (uint32_t i = 0; i < k->shape_count; i++) {
        size_t bytes = hfi_label_scratch_bytes(&k->shapes[i], log_n);
        if (bytes == 0 || bytes > HFI_LABEL_SCRATCH_MOST ||
            k->shapes[i].lanes > MAX_LANES)
            continue;
        shape = &k->shapes[i];
        if (shape->lanes >= share)
            break;
    }
    if (!shape) {
        size_t kernel_count;
        shape = hfi_label_kernels(&kernel_count)[0]->shapes;
    }
    hfi_judge_plan plan = {.shape = shape, .grain = share};
    if (plan.grain > shape->lanes)
        plan.grain = shape->lanes;
    plan.scratch = hfi_label_scratch_bytes(shape, log_n);
    return plan;
}

uint64_t hfi_judge_position(const hfi_judge *j, uint64_t place)
{
    return j->positions ? j->positions[place] : j->first + place;
}

uint64_t hfi_judge_label(const hfi_judge *j, uint64_t place)
{
    return hfi_space_unpack(j->proof->indices, j->bits,
                            hfi_judge_position(j, place));
}

/*
 * Puts one label to the ciphers; true if it is good. *value: the byte of the
 * first cipher above the 56 bits of the second, which only a tie needs.
 */
static bool judge_label(const hfi_judge *j, const uint8_t label[16],
                        uint64_t *value)
{
    const hfi_aes_kernel *aes = j->kernels->aes;
    uint64_t msb = j->difficulty >> 56;
    uint64_t lsb56 = j->difficulty & UINT64_MAX >> 8;
    uint8_t out[16];
    aes->encrypt(&j->group, out, label, 1);
    uint64_t top = out[j->proof->nonce % HFI_NONCES_PER_GROUP];
    *value = top << 56;
    if (top != msb)
        return top < msb;
    aes->encrypt(&j->lazy, out, label, 1);
    uint64_t low = hfi_load_u64(out) & UINT64_MAX >> 8;
    *value |= low;
    return low < lsb56;
}

static void note_bad(hfi_judge *j, uint64_t place)
{
    uint64_t lowest = atomic_load(&j->bad);
    while (place < lowest &&
           !atomic_compare_exchange_weak(&j->bad, &lowest, place))
        ;
}

static void judge_piece(hfi_loop *loop, uint64_t begin, uint64_t end,
                        hfi_worker *worker)
{
    hfi_judge *j = (hfi_judge *)(void *)loop;
    hfi_label_req reqs[MAX_LANES];
    uint8_t outputs[32 * MAX_LANES];
    size_t count = (size_t)(end - begin);
    if (begin > atomic_load(&j->bad))
        return;
    void *scratch = hfi_worker_scratch(worker, j->plan.scratch);
    if (!scratch) {
        hf_error err;
        hfi_error(&err, HF_E_MEMORY,
                  "no memory for %zu bytes of scratch to compute labels",
                  j->plan.scratch);
        hfi_job_fail(loop->job, &err);
        return;
    }
    for (size_t i = 0; i < count; i++)
        reqs[i] = (hfi_label_req){.commitment = j->commitment,
                                  .index = hfi_judge_label(j, begin + i)};
    j->plan.shape->run(reqs, count, j->log_n, outputs, scratch);
    for (size_t i = 0; i < count; i++)
        if (!judge_label(j, outputs + 32 * i, &j->values[begin + i]))
            note_bad(j, begin + i);
    uint64_t judged = atomic_fetch_add(&j->judged, count) + count;
    hfi_job_advance(loop->job, judged);
}

uint64_t hfi_judge_bytes(uint64_t count)
{
    return count > UINT64_MAX / 8 ? UINT64_MAX : count * 8;
}

hf_status hfi_judge_init(hfi_judge *j, hfi_sched *sched, hf_error *err)
{
    const hf_space_proof *p = j->proof;
    const hfi_aes_kernel *aes = j->kernels->aes;
    uint32_t group = p->nonce / HFI_NONCES_PER_GROUP;
    uint8_t key[16];
    j->plan = hfi_judge_plan_for(j->kernels, j->log_n, j->count,
                                 hfi_sched_workers(sched));
    if (j->plan.scratch == 0)
        return hfi_error(err, HF_E_MEMORY,
                         "labels with N = 2^%u need more memory than there "
                         "are addresses",
                         j->log_n);
    hfi_space_commitment(j->commitment, p->node_id, p->commitment_atx_id);
    hfi_space_group_key(key, p->challenge, group, p->pow);
    aes->expand(&j->group, key);
    hfi_space_lazy_key(key, p->challenge, group, p->pow, p->nonce);
    aes->expand(&j->lazy, key);
    atomic_store(&j->bad, HFI_JUDGE_ALL_GOOD);
    atomic_store(&j->judged, 0);
    j->loop.count = j->count;
    j->loop.grain = j->plan.grain;
    j->loop.body = judge_piece;
    if (j->count > SIZE_MAX ||
        !(j->values = hfi_calloc(hfi_sched_env(sched), (size_t)j->count,
                                 sizeof *j->values)))
        return hfi_error(err, HF_E_MEMORY,
                         "no memory to check %" PRIu64 " labels", j->count);
    return hfi_loop_init(&j->loop, sched, err);
}

void hfi_judge_start(hfi_judge *j, hf_job *job)
{
    hfi_loop_start(&j->loop, job);
}

bool hfi_judge_idle(const hfi_judge *j)
{
    return hfi_loop_idle(&j->loop);
}

void hfi_judge_wipe(hfi_judge *j, hfi_sched *sched)
{
    hfi_loop_wipe(&j->loop, sched);
    hfi_free(hfi_sched_env(sched), j->values);
    j->values = NULL;
}

void hfi_judge_reason(const hfi_judge *j, uint64_t place, char *out,
                      size_t bytes)
{
    uint64_t got = j->values[place];
    uint64_t wanted = j->difficulty;
    if (got >> 56 != wanted >> 56)
        snprintf(out, bytes, "top byte %" PRIu64 ", wanted at most %" PRIu64,
                 got >> 56, wanted >> 56);
    else
        snprintf(out, bytes, "low 56 bits %" PRIu64 ", wanted below %" PRIu64,
                 got & UINT64_MAX >> 8, wanted & UINT64_MAX >> 8);
}

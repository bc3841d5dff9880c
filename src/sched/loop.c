/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The parallel loop: one leaf per worker, all taking pieces from one counter.
 * Invariant: every index of [0, count) is given to at most one piece, and to
 * exactly one unless the job was cancelled or failed.
 */
#include "sched/sched_internal.h"

static bool loop_piece(hfi_leaf *leaf, hfi_worker *worker)
{
    hfi_loop_leaf *own = (hfi_loop_leaf *)(void *)leaf;
    hfi_loop *loop = own->loop;
    if (hfi_job_cancelled(loop->job) || hfi_job_failed(loop->job))
        return false;
    uint64_t begin = atomic_load(&loop->next);
    uint64_t end;
    do {
        if (begin >= loop->count)
            return false;
        uint64_t left = loop->count - begin;
        end = begin + (left < loop->grain ? left : loop->grain);
    } while (!atomic_compare_exchange_weak(&loop->next, &begin, end));
    loop->body(loop, begin, end, worker);
    return end < loop->count;
}

hf_status hfi_loop_init(hfi_loop *loop, hfi_sched *s, hf_error *err)
{
    uint32_t count = hfi_sched_workers(s);
    loop->leaves = hfi_calloc(hfi_sched_env(s), count, sizeof *loop->leaves);
    if (loop->leaves == NULL)
        return hfi_error(err, HF_E_MEMORY,
                         "no memory for a loop over %u "
                         "workers",
                         (unsigned)count);
    loop->leaf_count = count;
    for (uint32_t i = 0; i < count; i++) {
        loop->leaves[i].leaf.run = loop_piece;
        loop->leaves[i].leaf.kind = HFI_LEAF_CPU;
        loop->leaves[i].loop = loop;
    }
    return HF_OK;
}

void hfi_loop_wipe(hfi_loop *loop, hfi_sched *s)
{
    hfi_free(hfi_sched_env(s), loop->leaves);
    loop->leaves = NULL;
    loop->leaf_count = 0;
}

void hfi_loop_start(hfi_loop *loop, hf_job *job)
{
    loop->job = job;
    atomic_store(&loop->next, 0);
    if (loop->grain == 0)
        loop->grain = 1;
    uint64_t pieces = loop->count / loop->grain;
    pieces += loop->count % loop->grain != 0;
    if (pieces == 0)
        hfi_job_post(job); /* nothing to do, but the step is promised */
    for (uint32_t i = 0; i < loop->leaf_count && i < pieces; i++)
        hfi_leaf_submit(job, &loop->leaves[i].leaf);
}

bool hfi_loop_idle(const hfi_loop *loop)
{
    for (uint32_t i = 0; i < loop->leaf_count; i++)
        if (!hfi_leaf_idle(&loop->leaves[i].leaf))
            return false;
    return true;
}

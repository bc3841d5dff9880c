/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The CPU as a labeler: batches cut into leaves over the workers, and the
 * choice of how many labels a core computes at once. Invariant: every label of
 * a batch is claimed by exactly one leaf through `next`, so leaves share
 * nothing else and their lowest outputs are merged when the last has ended.
 */
#include "backend/backend.h"

#include <stdlib.h>
#include <string.h>

enum {
    LOG_N_COUNT = HFI_LABEL_MAX_LOG_N + 1,
    RUNS_EACH = 5,     /* timed leaves of each worker and shape */
    SAMPLES_MOST = 32, /* of a shape */
    LEAF_NS = 2000000, /* short runs are repeated up to here */
    RATE_WEIGHT = 16   /* of the past in the rate */
};

/*
 * The search for the best shape at one N: from the largest down, so that
 * scratch is mapped and its pages are touched once. A worker's first leaf with
 * a shape warms up and does not count.
 */
typedef struct tuning {
    bool begun;
    bool done;
    uint32_t shape; /* on trial, then the chosen one */
    uint32_t best;  /* so far */
    double best_ns; /* a label; lower quartile */
    double rate_ns; /* a label; moving average over all leaves */
    uint32_t sample_count;
    double samples[SAMPLES_MOST];
} tuning;

/* What a worker ran last. */
typedef struct warmth {
    uint32_t log_n;
    uint32_t shape;
} warmth;

typedef struct cpu_labeler {
    hfi_labeler base;
    hfi_sched *sched;
    const hfi_label_kernel *kernel;
    uint32_t workers;
    uint32_t lanes_most;
    hfi_mutex lock; /* of all below */
    warmth *warm;   /* one per worker */
    tuning tunings[LOG_N_COUNT];
} cpu_labeler;

typedef struct cpu_batch cpu_batch;

typedef struct cpu_leaf {
    hfi_leaf leaf;
    cpu_batch *batch;
    hfi_label_req *reqs; /* lanes_most */
    uint8_t *out32;      /* 32 * lanes_most */
    bool any;            /* min is set */
    uint8_t min[32];
    uint64_t min_index;
    uint64_t started_ns;
    uint64_t ended_ns;
} cpu_leaf;

struct cpu_batch {
    cpu_labeler *labeler;
    hfi_label_batch *batch;
    bool settled;
    uint32_t leaf_count; /* submitted */
    _Atomic uint64_t next;
    _Atomic bool no_memory;
    hfi_label_req *reqs;
    uint8_t *outs;
    cpu_leaf leaves[];
};

/* ---- shapes --------------------------------------------------------------- */

/* The largest shape within the limit; the smallest if none is. */
static uint32_t largest_shape(const hfi_label_kernel *k, uint32_t log_n)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < k->shape_count; i++) {
        size_t bytes = hfi_label_scratch_bytes(&k->shapes[i], log_n);
        if (bytes != 0 && bytes <= HFI_LABEL_SCRATCH_MOST)
            best = i;
    }
    return best;
}

/* The smallest shape that takes `count` labels at once. */
static uint32_t smallest_for(const hfi_label_kernel *k, uint32_t count)
{
    uint32_t i = 0;
    while (i + 1 < k->shape_count && k->shapes[i].lanes < count)
        i++;
    return i;
}

uint64_t hfi_labeler_cpu_scratch(const hfi_kernels *kernels, uint32_t log_n)
{
    const hfi_label_kernel *k = kernels->label;
    return hfi_label_scratch_bytes(&k->shapes[largest_shape(k, log_n)], log_n);
}

/* The shape to run now, and whether its time counts. */
static uint32_t pick_shape(cpu_labeler *l, uint32_t log_n, uint32_t worker,
                           bool *counts)
{
    hfi_lock(&l->lock);
    tuning *t = &l->tunings[log_n];
    if (!t->begun) {
        t->begun = true;
        t->shape = t->best = largest_shape(l->kernel, log_n);
        t->done = t->shape == 0;
    }
    warmth *w = &l->warm[worker];
    *counts = w->log_n == log_n && w->shape == t->shape;
    w->log_n = log_n;
    w->shape = t->shape;
    uint32_t shape = t->shape;
    hfi_unlock(&l->lock);
    return shape;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The shape on trial has enough samples: keep the better, try the next. */
static void judge(tuning *t)
{
    qsort(t->samples, t->sample_count, sizeof t->samples[0], compare_doubles);
    /* Whatever else the machine does only adds to the time of a leaf. */
    double ns = t->samples[t->sample_count / 4];
    if (!(t->best_ns > 0) || ns < t->best_ns) {
        t->best_ns = ns;
        t->best = t->shape;
    }
    t->sample_count = 0;
    if (t->shape > 0) {
        t->shape--;
    } else {
        t->shape = t->best;
        t->done = true;
        t->rate_ns = t->best_ns;
    }
}

static void note_time(cpu_labeler *l, uint32_t log_n, uint32_t shape,
                      double ns_per_label)
{
    uint32_t enough = RUNS_EACH * l->workers;
    if (enough > SAMPLES_MOST)
        enough = SAMPLES_MOST;
    hfi_lock(&l->lock);
    tuning *t = &l->tunings[log_n];
    t->rate_ns = t->rate_ns > 0
                     ? t->rate_ns + (ns_per_label - t->rate_ns) / RATE_WEIGHT
                     : ns_per_label;
    if (!t->done && shape == t->shape) {
        t->samples[t->sample_count++] = ns_per_label;
        if (t->sample_count >= enough)
            judge(t);
    }
    hfi_unlock(&l->lock);
}

double hfi_labeler_cpu_rate(const hfi_labeler *base, uint32_t log_n)
{
    cpu_labeler *l = (cpu_labeler *)(uintptr_t)base; /* only for the lock */
    if (log_n >= LOG_N_COUNT)
        return 0;
    hfi_lock(&l->lock);
    double ns = l->tunings[log_n].rate_ns;
    hfi_unlock(&l->lock);
    return ns > 0 ? 1e9 / ns * l->workers : 0;
}

uint32_t hfi_labeler_cpu_lanes(const hfi_labeler *base, uint32_t log_n)
{
    cpu_labeler *l = (cpu_labeler *)(uintptr_t)base; /* only for the lock */
    if (log_n >= LOG_N_COUNT)
        return 0;
    hfi_lock(&l->lock);
    const tuning *t = &l->tunings[log_n];
    uint32_t shape = t->begun ? t->shape : largest_shape(l->kernel, log_n);
    hfi_unlock(&l->lock);
    return l->kernel->shapes[shape].lanes;
}

/* ---- leaves --------------------------------------------------------------- */

static void keep_lowest(cpu_leaf *leaf, const uint8_t *out32, uint64_t index)
{
    int order = leaf->any ? memcmp(out32, leaf->min, 32) : -1;
    if (order > 0 || (order == 0 && index > leaf->min_index))
        return;
    leaf->any = true;
    memcpy(leaf->min, out32, 32);
    leaf->min_index = index;
}

/* Computes `count` labels from `at` of the batch. */
static void compute(cpu_leaf *leaf, const hfi_label_shape *shape, uint64_t at,
                    uint32_t count, void *scratch)
{
    const hfi_label_batch *b = leaf->batch->batch;
    for (uint32_t i = 0; i < count; i++) {
        leaf->reqs[i].commitment = b->run->commitment;
        leaf->reqs[i].index = b->first + at + i;
    }
    shape->run(leaf->reqs, count, b->run->log_n, leaf->out32, scratch);
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *out = leaf->out32 + 32 * (size_t)i;
        memcpy(b->labels + 16 * (at + i), out, 16);
        keep_lowest(leaf, out, leaf->reqs[i].index);
    }
}

/* Scratch for *shape or, where memory lacks, for a smaller one. */
static void *get_scratch(const hfi_label_kernel *k, uint32_t *shape,
                         uint32_t log_n, hfi_worker *worker)
{
    for (;;) {
        size_t bytes = hfi_label_scratch_bytes(&k->shapes[*shape], log_n);
        void *scratch = bytes != 0 ? hfi_worker_scratch(worker, bytes) : NULL;
        if (scratch != NULL || *shape == 0)
            return scratch;
        --*shape;
    }
}

static bool leaf_out_of_memory(cpu_leaf *leaf)
{
    atomic_store(&leaf->batch->no_memory, true);
    leaf->ended_ns = hfi_now_ns();
    return false;
}

/* One run of the shape, or some if they are short. */
static bool run_leaf(hfi_leaf *base, hfi_worker *worker)
{
    cpu_leaf *leaf = (cpu_leaf *)(void *)base;
    cpu_batch *cb = leaf->batch;
    cpu_labeler *l = cb->labeler;
    const hfi_label_kernel *k = l->kernel;
    uint32_t log_n = cb->batch->run->log_n;
    uint64_t total = cb->batch->count;
    uint64_t start = hfi_now_ns(), now = start;
    if (leaf->started_ns == 0)
        leaf->started_ns = start;

    bool counts;
    uint32_t shape = pick_shape(l, log_n, hfi_worker_index(worker), &counts);
    void *scratch = get_scratch(k, &shape, log_n, worker);
    if (scratch == NULL)
        return leaf_out_of_memory(leaf);
    uint32_t lanes = k->shapes[shape].lanes;
    uint64_t full = 0; /* labels in full runs */
    uint64_t full_ns = 0;
    bool more = true;
    while (more && now - start < LEAF_NS) {
        uint64_t at = atomic_fetch_add(&cb->next, lanes);
        more = at < total && total - at > lanes;
        if (at >= total || atomic_load(&cb->no_memory))
            break;
        uint32_t count = total - at < lanes ? (uint32_t)(total - at) : lanes;
        uint32_t use = count < lanes ? smallest_for(k, count) : shape;
        compute(leaf, &k->shapes[use], at, count, scratch);
        now = hfi_now_ns();
        if (count == lanes) {
            full += count;
            full_ns = now - start;
        }
    }
    if (full > 0 && counts)
        note_time(l, log_n, shape, (double)full_ns / (double)full);
    leaf->ended_ns = now;
    return more && !atomic_load(&cb->no_memory);
}

/* ---- batches -------------------------------------------------------------- */

static void batch_wipe(hfi_labeler *base, hfi_label_batch *b)
{
    const hfi_env *env = hfi_sched_env(((cpu_labeler *)(void *)base)->sched);
    cpu_batch *cb = b->priv;
    if (cb == NULL)
        return;
    hfi_free(env, cb->reqs);
    hfi_free(env, cb->outs);
    hfi_free(env, cb);
    b->priv = NULL;
}

static hf_status batch_init(hfi_labeler *base, hfi_label_batch *b,
                            uint32_t max_count, hf_error *err)
{
    (void)max_count; /* buffers are per leaf, whatever the batch's length */
    cpu_labeler *l = (cpu_labeler *)(void *)base;
    const hfi_env *env = hfi_sched_env(l->sched);
    size_t lanes = (size_t)l->workers * l->lanes_most;
    cpu_batch *cb = hfi_calloc(env, 1,
                               sizeof *cb + l->workers * sizeof cb->leaves[0]);
    b->priv = cb;
    if (cb != NULL) {
        cb->reqs = hfi_calloc(env, lanes, sizeof *cb->reqs);
        cb->outs = hfi_calloc(env, lanes, 32);
    }
    if (cb == NULL || cb->reqs == NULL || cb->outs == NULL) {
        batch_wipe(base, b);
        return hfi_error(err, HF_E_MEMORY, "no memory for a batch of labels");
    }
    cb->labeler = l;
    cb->settled = true;
    for (uint32_t i = 0; i < l->workers; i++) {
        cpu_leaf *leaf = &cb->leaves[i];
        leaf->leaf.run = run_leaf;
        leaf->leaf.kind = HFI_LEAF_CPU;
        leaf->batch = cb;
        leaf->reqs = cb->reqs + (size_t)i * l->lanes_most;
        leaf->out32 = cb->outs + (size_t)i * l->lanes_most * 32;
    }
    return HF_OK;
}

static void submit(hfi_labeler *base, hfi_label_batch *b, hf_job *job)
{
    cpu_labeler *l = (cpu_labeler *)(void *)base;
    cpu_batch *cb = b->priv;
    cb->batch = b;
    cb->settled = false;
    cb->leaf_count = b->count < l->workers ? b->count : l->workers;
    atomic_store(&cb->next, 0);
    atomic_store(&cb->no_memory, false);
    b->status = HF_OK;
    b->started_ns = b->ended_ns = hfi_now_ns();
    memset(b->min, 0xff, sizeof b->min);
    b->min_index = UINT64_MAX;
    for (uint32_t i = 0; i < cb->leaf_count; i++) {
        cb->leaves[i].any = false;
        cb->leaves[i].started_ns = 0;
        cb->leaves[i].ended_ns = 0;
    }
    if (cb->leaf_count == 0)
        hfi_job_post(job);
    for (uint32_t i = 0; i < cb->leaf_count; i++)
        hfi_leaf_submit(job, &cb->leaves[i].leaf);
}

static void merge_leaf(hfi_label_batch *b, const cpu_leaf *leaf)
{
    if (leaf->ended_ns > b->ended_ns)
        b->ended_ns = leaf->ended_ns;
    if (!leaf->any)
        return;
    int order = memcmp(leaf->min, b->min, 32);
    if (order > 0 || (order == 0 && leaf->min_index > b->min_index))
        return;
    memcpy(b->min, leaf->min, 32);
    b->min_index = leaf->min_index;
}

/* The last leaf has ended: the outcome of the batch. */
static void settle(cpu_batch *cb)
{
    hfi_label_batch *b = cb->batch;
    bool skipped = false;
    uint64_t started = UINT64_MAX;
    cb->settled = true;
    for (uint32_t i = 0; i < cb->leaf_count; i++) {
        const cpu_leaf *leaf = &cb->leaves[i];
        skipped |= leaf->leaf.skipped;
        merge_leaf(b, leaf);
        if (leaf->started_ns != 0 && leaf->started_ns < started)
            started = leaf->started_ns;
    }
    if (started != UINT64_MAX)
        b->started_ns = started; /* without the time in the queue */
    if (atomic_load(&cb->no_memory))
        b->status = hfi_error(&b->error, HF_E_MEMORY,
                              "no memory for the scratch of labels with "
                              "N = 2^%u",
                              (unsigned)b->run->log_n);
    else if (skipped)
        b->status = hfi_error(&b->error, HF_E_CANCELLED,
                              "the batch of labels was cancelled");
}

static bool idle(hfi_labeler *base, const hfi_label_batch *b)
{
    (void)base;
    cpu_batch *cb = b->priv;
    if (cb == NULL || cb->settled)
        return true;
    for (uint32_t i = 0; i < cb->leaf_count; i++)
        if (!hfi_leaf_idle(&cb->leaves[i].leaf))
            return false;
    settle(cb);
    return true;
}

/* ---- open and close ------------------------------------------------------- */

static void close_cpu(hfi_labeler *base)
{
    cpu_labeler *l = (cpu_labeler *)(void *)base;
    const hfi_env *env = hfi_sched_env(l->sched);
    hfi_mutex_destroy(&l->lock);
    hfi_free(env, l->warm);
    hfi_free(env, l);
}

static const hfi_labeler_ops cpu_ops = {batch_init, batch_wipe, submit, idle,
                                        close_cpu};

hf_status hfi_labeler_cpu_open(hfi_labeler **out, hfi_sched *sched,
                               const hfi_kernels *kernels, hf_error *err)
{
    const hfi_env *env = hfi_sched_env(sched);
    uint32_t workers = hfi_sched_workers(sched);
    cpu_labeler *l = hfi_calloc(env, 1, sizeof *l);
    warmth *warm = hfi_calloc(env, workers, sizeof *warm);
    hf_status status = HF_OK;
    if (l == NULL || warm == NULL)
        status = hfi_error(err, HF_E_MEMORY, "no memory for the CPU provider");
    else
        status = hfi_mutex_init(&l->lock, err);
    if (status != HF_OK) {
        hfi_free(env, warm);
        hfi_free(env, l);
        return status;
    }
    l->base.ops = &cpu_ops;
    memcpy(l->base.provider.id, "cpu", sizeof "cpu");
    memcpy(l->base.provider.name, "CPU", sizeof "CPU");
    memcpy(l->base.provider.kind, "cpu", sizeof "cpu");
    l->sched = sched;
    l->kernel = kernels->label;
    l->workers = workers;
    l->warm = warm;
    for (uint32_t i = 0; i < l->kernel->shape_count; i++)
        if (l->kernel->shapes[i].lanes > l->lanes_most)
            l->lanes_most = l->kernel->shapes[i].lanes;
    for (uint32_t i = 0; i < workers; i++)
        warm[i].log_n = LOG_N_COUNT;
    *out = &l->base;
    return HF_OK;
}

void hfi_labeler_close(hfi_labeler *l)
{
    if (l != NULL)
        l->ops->close(l);
}

hf_status hfi_label_one(const hfi_label_kernel *kernel,
                        const uint8_t commitment[32], uint64_t index,
                        uint32_t log_n, uint8_t out32[32], hf_error *err)
{
    const hfi_label_shape *shape = &kernel->shapes[0];
    size_t bytes = hfi_label_scratch_bytes(shape, log_n);
    void *scratch = bytes != 0 ? hfi_scratch_map(bytes) : NULL;
    if (scratch == NULL)
        return hfi_error(err, HF_E_MEMORY,
                         "no memory to compute a label with N = 2^%u",
                         (unsigned)log_n);
    hfi_label_req req = {.commitment = commitment, .index = index};
    shape->run(&req, 1, log_n, out32, scratch);
    hfi_scratch_unmap(scratch, bytes);
    return HF_OK;
}

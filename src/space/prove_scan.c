/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * One pass over all labels for all nonces of a round. Chunks of a file are read
 * by IO leaves, several at once, each then scanned by CPU leaves in blocks that
 * stay in the cache while group after group goes over them; the job's step
 * merges the hits.
 *
 * Invariant: hits[n] are the lowest k2 good labels for nonce n among the chunks
 * merged so far, so the order in which chunks come, and with it the number of
 * workers and the speed of disks, does not show in the end.
 */
#include "space/prove.h"

#include <inttypes.h>
#include <string.h>

enum {
    CHUNK_LABELS = 65536, /* 1 MiB: one read */
    BLOCK_LABELS = 4096,  /* 64 KiB; under 2 ms for the slowest kernel */
    EXTRA_SLOTS = 4,      /* being read while each worker scans one */
    LEAF_NS = 8000000
};
/* A chunk is made smaller where its hits would take more than this. */
#define CHUNK_HITS (UINT64_C(1) << 19)

typedef enum slot_state { SLOT_FREE, SLOT_READING, SLOT_SCANNING } slot_state;

typedef struct slot_leaf {
    hfi_leaf leaf; /* first: the leaf finds its slot by it */
    hfi_prove_slot *slot;
} slot_leaf;

struct hfi_prove_slot {
    slot_leaf read;
    slot_leaf scan;
    hfi_pass *pass;
    slot_state state;
    uint8_t *data;
    hfi_file file; /* kept open for the next chunk */
    char *path;
    uint32_t file_number;
    uint64_t first; /* label of the set */
    uint64_t offset;
    uint32_t labels;
    uint32_t block; /* where the scan goes on */
    uint32_t group;
    uint64_t *hits; /* nonce of the round << 32 | label of the chunk */
    size_t hit_count;
    size_t hit_capacity;
};

/* ---- reading ---------------------------------------------------------------- */

static hf_status open_file(hfi_prove_slot *s, uint32_t number, hf_error *err)
{
    const hfi_pass *p = s->pass;
    const hfi_env *env = hfi_sched_env(p->sched);
    if (s->file.fd >= 0 && s->file_number == number)
        return HF_OK;
    if (s->file.fd >= 0)
        (void)hfi_file_close(&s->file, s->path, NULL);
    hfi_free(env, s->path);
    s->file = HFI_FILE_CLOSED;
    s->path = hfi_space_file_path(env, p->set->dir, number);
    if (!s->path)
        return hfi_error(err, HF_E_MEMORY, "no memory for a path");
    s->file_number = number;
    return hfi_file_open(&s->file, s->path, HFI_OPEN_READ, err);
}

static hf_status read_chunk(hfi_prove_slot *s, hf_error *err)
{
    const hfi_pass *p = s->pass;
    uint64_t per_file = p->set->layout.labels_per_file;
    size_t bytes = (size_t)s->labels * HFI_LABEL_BYTES;
    hf_status status = open_file(s, (uint32_t)(s->first / per_file), err);
    if (status != HF_OK)
        return status;
    /* What comes after the chunks now in flight. */
    hfi_file_will_need(&s->file, s->offset + p->data_bytes, bytes);
    return hfi_file_read_at(&s->file, s->path, s->offset, s->data, bytes, err);
}

static bool read_leaf(hfi_leaf *leaf, hfi_worker *worker)
{
    hfi_prove_slot *s = ((slot_leaf *)(void *)leaf)->slot;
    hf_error err;
    (void)worker;
    hf_status status = read_chunk(s, &err);
    if (status == HF_OK)
        return false;
    hfi_error_wrap(&err, status,
                   "cannot read %" PRIu32 " labels at byte %" PRIu64
                   " of postdata_%" PRIu64 ".bin",
                   s->labels, s->offset,
                   s->first / s->pass->set->layout.labels_per_file);
    hfi_job_fail(leaf->job, &err);
    return false;
}

/* ---- scanning --------------------------------------------------------------- */

static bool keep_hits(hfi_prove_slot *s, const uint32_t *found, size_t count)
{
    if (s->hit_count + count > s->hit_capacity) {
        size_t capacity = 2 * (s->hit_count + count);
        uint64_t *grown = hfi_grow(hfi_sched_env(s->pass->sched), s->hits,
                                   s->hit_count, capacity, sizeof *grown);
        if (!grown)
            return false;
        s->hits = grown;
        s->hit_capacity = capacity;
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t nonce = s->group * HFI_NONCES_PER_GROUP + found[i] % 16;
        uint64_t label = s->block + (found[i] >> 4);
        s->hits[s->hit_count++] = nonce << 32 | label;
    }
    return true;
}

/* One block under one group; then on to the next that is still wanted. */
static bool scan_unit(hfi_prove_slot *s, uint32_t *found)
{
    const hfi_pass *p = s->pass;
    uint32_t left = s->labels - s->block;
    uint32_t labels = left < BLOCK_LABELS ? left : BLOCK_LABELS;
    size_t count = p->aes->scan(&p->scans[s->group],
                                s->data + (size_t)s->block * HFI_LABEL_BYTES,
                                labels, found);
    if (count > 0 && !keep_hits(s, found, count))
        return false;
    if (++s->group >= atomic_load(&p->open_groups)) {
        s->group = 0;
        s->block += labels;
    }
    return true;
}

static bool scan_leaf(hfi_leaf *leaf, hfi_worker *worker)
{
    hfi_prove_slot *s = ((slot_leaf *)(void *)leaf)->slot;
    hf_job *job = leaf->job;
    uint64_t end = hfi_now_ns() + LEAF_NS;
    uint32_t *found = hfi_worker_scratch(worker, hfi_pass_scratch());
    bool kept = found != NULL;
    while (kept && s->block < s->labels && hfi_now_ns() < end) {
        if (hfi_job_cancelled(job) || hfi_job_failed(job))
            return false;
        kept = scan_unit(s, found);
    }
    if (!kept) {
        hf_error err;
        hfi_error(&err, HF_E_MEMORY, "no memory for the hits of a chunk");
        hfi_job_fail(job, &err);
        return false;
    }
    return s->block < s->labels;
}

/* ---- merging ---------------------------------------------------------------- */

static hf_status make_room(hfi_pass *p, hfi_prove_hits *h, hf_error *err)
{
    if (h->count < h->capacity)
        return HF_OK;
    size_t capacity = h->capacity > 0 ? 2 * h->capacity : 16;
    if (capacity > p->k2)
        capacity = p->k2;
    uint64_t *grown = hfi_grow(hfi_sched_env(p->sched), h->index, h->count,
                               capacity, sizeof *grown);
    if (!grown)
        return hfi_error(err, HF_E_MEMORY, "no memory for the hits of a nonce");
    h->index = grown;
    h->capacity = capacity;
    return HF_OK;
}

/* Chunks come nearly in order: an index goes at or near the end. */
static hf_status add_hit(hfi_pass *p, uint32_t nonce, uint64_t index,
                         hf_error *err)
{
    hfi_prove_hits *h = &p->hits[nonce];
    if (h->count == p->k2) {
        if (index > h->index[h->count - 1])
            return HF_OK;
        h->count--;
    }
    hf_status s = make_room(p, h, err);
    if (s != HF_OK)
        return s;
    size_t at = h->count++;
    for (; at > 0 && h->index[at - 1] > index; at--)
        h->index[at] = h->index[at - 1];
    h->index[at] = index;
    uint32_t group = nonce / HFI_NONCES_PER_GROUP;
    if (h->count == p->k2 && atomic_load(&p->open_groups) > group + 1)
        atomic_store(&p->open_groups, group + 1);
    return HF_OK;
}

static hf_status commit(hfi_prove_slot *s, hf_error *err)
{
    hfi_pass *p = s->pass;
    hf_status status = HF_OK;
    for (size_t i = 0; i < s->hit_count && status == HF_OK; i++)
        status = add_hit(p, (uint32_t)(s->hits[i] >> 32),
                         s->first + (s->hits[i] & UINT32_MAX), err);
    p->committed += s->labels;
    s->state = SLOT_FREE;
    return status;
}

/* ---- the pass --------------------------------------------------------------- */

static void assign(hfi_prove_slot *s, hf_job *job)
{
    hfi_pass *p = s->pass;
    const hfi_layout *l = &p->set->layout;
    uint32_t file = (uint32_t)(p->next / l->labels_per_file);
    uint64_t at = p->next - hfi_layout_file_first(l, file);
    uint64_t left = hfi_layout_file_labels(l, file) - at;
    s->first = p->next;
    s->offset = at * HFI_LABEL_BYTES;
    s->labels = left < p->chunk_labels ? (uint32_t)left : p->chunk_labels;
    s->block = 0;
    s->group = 0;
    s->hit_count = 0;
    p->next += s->labels;
    s->state = SLOT_READING;
    hfi_leaf_submit(job, &s->read.leaf);
}

/* A leaf skipped on cancel leaves nothing to go on with. */
static bool has_run(const hfi_leaf *leaf)
{
    return hfi_leaf_idle(leaf) && !leaf->skipped;
}

static hf_status step_slot(hfi_prove_slot *s, hf_job *job, hf_error *err)
{
    hf_status status = HF_OK;
    if (s->state == SLOT_READING && has_run(&s->read.leaf)) {
        s->state = SLOT_SCANNING;
        hfi_leaf_submit(job, &s->scan.leaf);
    } else if (s->state == SLOT_SCANNING && has_run(&s->scan.leaf)) {
        status = commit(s, err);
    }
    if (status == HF_OK && s->state == SLOT_FREE &&
        s->pass->next < s->pass->set->layout.labels_total)
        assign(s, job);
    return status;
}

hfi_pass_state hfi_pass_step(hfi_pass *p, hf_job *job, hf_error *err)
{
    for (uint32_t i = 0; i < p->slot_count; i++) {
        /* A leaf that failed leaves data that must not be taken as read. */
        if (hfi_job_failed(job))
            return HFI_PASS_WAIT;
        if (step_slot(&p->slots[i], job, err) != HF_OK)
            return HFI_PASS_FAILED;
    }
    hfi_job_advance(job, p->committed * HFI_LABEL_BYTES);
    return p->committed == p->set->layout.labels_total ? HFI_PASS_DONE
                                                       : HFI_PASS_WAIT;
}

static void expand_group(hfi_pass *p, uint32_t at, uint64_t pow)
{
    hfi_scan *scan = &p->scans[at];
    uint32_t group = p->first_group + at;
    uint8_t key[16];
    scan->msb = (uint8_t)(p->difficulty >> 56);
    scan->lsb56 = p->difficulty & UINT64_MAX >> 8;
    hfi_space_group_key(key, p->challenge, group, pow);
    p->aes->expand(&scan->group, key);
    for (uint32_t i = 0; i < HFI_NONCES_PER_GROUP; i++) {
        hfi_space_lazy_key(key, p->challenge, group, pow,
                           group * HFI_NONCES_PER_GROUP + i);
        p->aes->expand(&scan->lazy[i], key);
    }
}

void hfi_pass_begin(hfi_pass *p, uint32_t first, uint32_t groups,
                    const uint64_t *pows)
{
    p->first_group = first;
    p->groups = groups;
    atomic_store(&p->open_groups, groups);
    p->next = 0;
    p->committed = 0;
    for (uint32_t i = 0; i < groups; i++)
        expand_group(p, i, pows[i]);
    for (uint32_t i = 0; i < p->max_groups * HFI_NONCES_PER_GROUP; i++)
        p->hits[i].count = 0;
}

bool hfi_pass_winner(const hfi_pass *p, uint32_t *nonce,
                     const uint64_t **indices)
{
    for (uint32_t i = 0; i < p->groups * HFI_NONCES_PER_GROUP; i++) {
        if (p->hits[i].count < p->k2)
            continue;
        *nonce = p->first_group * HFI_NONCES_PER_GROUP + i;
        *indices = p->hits[i].index;
        return true;
    }
    return false;
}

/* ---- memory ----------------------------------------------------------------- */

size_t hfi_pass_scratch(void)
{
    return (size_t)BLOCK_LABELS * HFI_NONCES_PER_GROUP * sizeof(uint32_t);
}

uint64_t hfi_pass_bytes(uint32_t workers, uint32_t groups, uint32_t k1,
                        uint32_t k2)
{
    uint64_t slots = (uint64_t)workers + EXTRA_SLOTS;
    /* A nonce is expected to meet k1 labels; the list doubles as it grows. */
    uint64_t hits = 4 * (uint64_t)k1 + 64;
    if (hits > k2)
        hits = k2;
    uint64_t bytes = slots * CHUNK_LABELS * HFI_LABEL_BYTES;
    bytes += groups * sizeof(hfi_scan);
    bytes += (uint64_t)groups * HFI_NONCES_PER_GROUP *
             (sizeof(hfi_prove_hits) + hits * sizeof(uint64_t));
    return bytes + slots * sizeof(hfi_prove_slot);
}

/* As many labels as are expected to give CHUNK_HITS hits in all. */
static uint32_t chunk_labels(const hfi_pass *p)
{
    uint64_t nonces = (uint64_t)p->max_groups * HFI_NONCES_PER_GROUP;
    uint64_t of_each = CHUNK_HITS / nonces;
    uint64_t labels = p->set->layout.labels_total;
    uint64_t k1 = p->k1 > 0 ? p->k1 : 1;
    if (labels / k1 >= CHUNK_LABELS / of_each)
        return CHUNK_LABELS;
    uint64_t chunk = of_each * labels / k1;
    return chunk < CHUNK_LABELS ? (uint32_t)chunk : CHUNK_LABELS;
}

static void init_slot(hfi_prove_slot *s, hfi_pass *p, uint32_t number)
{
    s->pass = p;
    s->file = HFI_FILE_CLOSED;
    s->data = p->data + (size_t)number * p->chunk_labels * HFI_LABEL_BYTES;
    s->read.slot = s->scan.slot = s;
    s->read.leaf.run = read_leaf;
    s->read.leaf.kind = HFI_LEAF_IO;
    s->scan.leaf.run = scan_leaf;
    s->scan.leaf.kind = HFI_LEAF_CPU;
}

hf_status hfi_pass_init(hfi_pass *p, hf_error *err)
{
    const hfi_env *env = hfi_sched_env(p->sched);
    uint32_t slots = hfi_sched_workers(p->sched) + EXTRA_SLOTS;
    p->chunk_labels = chunk_labels(p);
    size_t bytes = (size_t)slots * p->chunk_labels * HFI_LABEL_BYTES;
    p->scans = hfi_calloc(env, p->max_groups, sizeof *p->scans);
    p->hits = hfi_calloc(env, (size_t)p->max_groups * HFI_NONCES_PER_GROUP,
                         sizeof *p->hits);
    p->slots = hfi_calloc(env, slots, sizeof *p->slots);
    p->data = hfi_scratch_map(bytes);
    if (p->data)
        p->data_bytes = bytes;
    if (!p->scans || !p->hits || !p->slots || !p->data)
        return hfi_error(err, HF_E_MEMORY,
                         "no memory for a pass over the data, of %zu bytes",
                         bytes);
    p->slot_count = slots;
    for (uint32_t i = 0; i < slots; i++)
        init_slot(&p->slots[i], p, i);
    return HF_OK;
}

void hfi_pass_wipe(hfi_pass *p)
{
    const hfi_env *env = hfi_sched_env(p->sched);
    for (uint32_t i = 0; i < p->slot_count; i++) {
        hfi_prove_slot *s = &p->slots[i];
        if (s->file.fd >= 0)
            (void)hfi_file_close(&s->file, s->path, NULL);
        hfi_free(env, s->path);
        hfi_free(env, s->hits);
    }
    for (uint32_t i = 0; p->hits && i < p->max_groups * HFI_NONCES_PER_GROUP;
         i++)
        hfi_free(env, p->hits[i].index);
    hfi_scratch_unmap(p->data, p->data_bytes);
    hfi_free(env, p->slots);
    hfi_free(env, p->hits);
    hfi_free(env, p->scans);
    p->scans = NULL;
    p->hits = NULL;
    p->slots = NULL;
    p->slot_count = 0;
    p->data = NULL;
    p->data_bytes = 0;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * init.c: initialisation as one job.
 *
 * Batches of labels are at the labeler, being sampled by another kernel, or
 * being written; all at once, so that workers never wait for the disk. They
 * lie in a ring in the order of their labels and leave it only at its head:
 * whatever order they end in, files grow strictly from front to back. Beyond
 * the data the same ring searches for the nonce and writes nothing.
 */
#include "space/init.h"

#include <string.h>

/* Of work in a batch: long enough that its two samples cost nothing. */
#define BATCH_NS     UINT64_C(800000000)
#define RATE_NS      UINT64_C(100000000) /* the rate is taken over so long */
#define MAX_ATTEMPTS 2u

/* ---- the ring ----------------------------------------------------------- */

static hfi_init_batch *at(hfi_init_run *r, uint64_t number)
{
    return &r->batch[number % HFI_INIT_WINDOW];
}

static uint64_t splitmix(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* ---- what comes next ---------------------------------------------------- */

static uint64_t stored_labels(const hfi_init_run *r, uint32_t file)
{
    return r->plan.files.file[file].bytes / HFI_LABEL_BYTES;
}

/* Moves the cursor to a missing label; false if there is none. */
static bool find_missing(hfi_init_run *r)
{
    for (; r->next_file <= r->plan.last_file; r->next_file++) {
        uint64_t stored = stored_labels(r, r->next_file);
        if (r->next_label < stored)
            r->next_label = stored;
        if (r->next_label <
            hfi_layout_file_labels(&r->plan.layout, r->next_file))
            return true;
        r->next_label = 0;
    }
    return false;
}

/* Up to `max` missing labels in one piece; it may go on in the next files. */
static bool next_labels(hfi_init_run *r, uint32_t max, uint64_t *first,
                        uint32_t *count)
{
    const hfi_layout *l = &r->plan.layout;
    if (!find_missing(r))
        return false;
    *first = hfi_layout_file_first(l, r->next_file) + r->next_label;
    *count = 0;
    do {
        uint64_t left = hfi_layout_file_labels(l, r->next_file) - r->next_label;
        uint64_t take = left < max - *count ? left : max - *count;
        *count += (uint32_t)take;
        r->next_label += take;
        if (take < left)
            return true;
        r->next_file++;
        r->next_label = 0;
    } while (*count < max && r->next_file <= r->plan.last_file &&
             stored_labels(r, r->next_file) == 0);
    return true;
}

static bool next_beyond(hfi_init_run *r, uint32_t max, uint64_t *first,
                        uint32_t *count)
{
    uint64_t left = UINT64_MAX - 1 - r->next_label;
    *first = r->next_label;
    *count = left < max ? (uint32_t)left : max;
    r->next_label += *count;
    return *count > 0;
}

/* ---- how large a batch is ----------------------------------------------- */

static void note_rate(hfi_init_run *r, uint32_t labels)
{
    uint64_t now = hfi_now_ns();
    r->rate_labels += labels;
    if (now - r->rate_from_ns < RATE_NS)
        return;
    double rate = (double)r->rate_labels * 1e9 /
                  (double)(now - r->rate_from_ns);
    r->rate = r->rate > 0 ? (r->rate + rate) / 2 : rate;
    r->rate_from_ns = now;
    r->rate_labels = 0;
}

static uint32_t next_size(hfi_init_run *r)
{
    if (r->want.batch_labels != 0)
        return (uint32_t)r->want.batch_labels;
    uint64_t size = (uint64_t)r->batch_size * 2;
    if (r->rate > 0) {
        double wanted = r->rate * (double)BATCH_NS / 1e9;
        if (wanted < (double)size)
            size = (uint64_t)wanted;
    }
    if (size < 64)
        size = 64;
    if (size > r->plan.max_batch)
        size = r->plan.max_batch;
    r->batch_size = (uint32_t)size;
    return r->batch_size;
}

/* Small enough to be quick at any N, before anything was measured. */
static uint32_t first_size(const hfi_init_run *r)
{
    uint64_t size = (UINT64_C(1) << 20 >> r->plan.log_n) * r->host.workers;
    return size > 4096 ? 4096 : size < 1 ? 1 : (uint32_t)size;
}

/* ---- sampling ----------------------------------------------------------- */

/* The last label, one at random, and the lowest if it may become the nonce. */
static void choose_samples(hfi_init_run *r, hfi_init_batch *b)
{
    uint64_t lowest = b->b.min_index - b->b.first;
    b->sample[0] = b->b.count - 1;
    b->sample[1] = splitmix(&r->random) % b->b.count;
    b->sample_count = 2;
    b->sample_min = lowest < b->b.count &&
                    hfi_nonce_may_beat(&r->best, b->b.min);
    if (b->sample_min)
        b->sample[b->sample_count++] = lowest;
}

bool hfi_init_check_samples(hfi_leaf *leaf, hfi_worker *worker)
{
    hfi_init_batch *b = (hfi_init_batch *)(void *)((char *)leaf -
                                                   offsetof(hfi_init_batch,
                                                            check));
    const hfi_init_run *r = b->run;
    uint32_t i = --b->sample_count; /* one a turn: a label may take long */
    uint8_t out[32];
    const uint8_t *got = b->b.labels + HFI_LABEL_BYTES * b->sample[i];
    uint64_t index = b->b.first + b->sample[i];
    if (!hfi_check_label(r->kernels.label_check, &r->label_run, index, out,
                         worker)) {
        b->no_memory = true;
        return false;
    }
    bool right = memcmp(out, got, HFI_LABEL_BYTES) == 0 &&
                 (i < 2 || memcmp(out, b->b.min, sizeof out) == 0);
    if (!right) {
        b->wrong = true;
        b->wrong_index = index;
        memcpy(b->expected, out, sizeof b->expected);
        memcpy(b->got, got, sizeof b->got);
        return false;
    }
    return b->sample_count > 0;
}

static void compute(hfi_init_run *r, hfi_init_batch *b)
{
    b->state = HFI_BATCH_COMPUTING;
    b->wrong = false;
    b->attempts++;
    r->labeler->ops->submit(r->labeler, &b->b, r->job);
}

static hf_status wrong_batch(hfi_init_run *r, hfi_init_batch *b, hf_error *err)
{
    const hfi_provider *p = &r->labeler->provider;
    char hex[2][2 * HFI_LABEL_BYTES + 1];
    hfi_hex_encode(hex[0], b->got, sizeof b->got);
    hfi_hex_encode(hex[1], b->expected, sizeof b->expected);
    if (b->attempts >= MAX_ATTEMPTS)
        return hfi_error(err, HF_E_DEVICE,
                         "provider %s (%s) made a wrong label twice: label "
                         "%llu is %s, expected %s",
                         p->id, p->name, (unsigned long long)b->wrong_index,
                         hex[0], hex[1]);
    hfi_logf(r->env.log, HFI_LOG_WARN, "space",
             "provider %s made a wrong label %llu: %s, expected %s; its batch "
             "is computed again",
             p->id, (unsigned long long)b->wrong_index, hex[0], hex[1]);
    compute(r, b);
    return HF_OK;
}

/* ---- batches move on ---------------------------------------------------- */

static hf_status computed(hfi_init_run *r, hfi_init_batch *b, hf_error *err)
{
    if (b->b.status != HF_OK) {
        *err = b->b.error;
        return b->b.status;
    }
    note_rate(r, b->b.count);
    choose_samples(r, b);
    b->state = HFI_BATCH_CHECKING;
    hfi_leaf_submit(r->job, &b->check);
    return HF_OK;
}

static hf_status checked(hfi_init_run *r, hfi_init_batch *b, hf_error *err)
{
    if (b->check.skipped)
        return HF_OK; /* cancelled; the step is about to see it */
    if (b->no_memory)
        return hfi_error(err, HF_E_MEMORY,
                         "no memory to sample labels with N = 2^%u",
                         r->plan.log_n);
    if (b->wrong)
        return wrong_batch(r, b, err);
    b->state = HFI_BATCH_READY;
    return HF_OK;
}

static hf_status advance_batches(hfi_init_run *r, hf_error *err)
{
    hf_status s = HF_OK;
    for (uint64_t i = r->head; i != r->tail && s == HF_OK; i++) {
        hfi_init_batch *b = at(r, i);
        if (b->state == HFI_BATCH_COMPUTING &&
            r->labeler->ops->idle(r->labeler, &b->b))
            s = computed(r, b, err);
        else if (b->state == HFI_BATCH_CHECKING && hfi_leaf_idle(&b->check))
            s = checked(r, b, err);
    }
    return s;
}

static hf_status make_room(hfi_init_run *r, hfi_init_batch *b, uint32_t size,
                           hf_error *err)
{
    if (b->capacity >= size)
        return HF_OK;
    if (b->b.priv != NULL)
        r->labeler->ops->batch_wipe(r->labeler, &b->b);
    hfi_free(&r->env, b->b.labels);
    b->capacity = 0;
    b->b.labels = hfi_calloc(&r->env, size, HFI_LABEL_BYTES);
    if (b->b.labels == NULL)
        return hfi_error(err, HF_E_MEMORY, "no memory for a batch of %u labels",
                         size);
    hf_status s = r->labeler->ops->batch_init(r->labeler, &b->b, size, err);
    if (s == HF_OK)
        b->capacity = size;
    return s;
}

/* Keeps the labeler busy. */
static hf_status issue_batches(hfi_init_run *r, hf_error *err)
{
    uint32_t computing = 0;
    for (uint64_t i = r->head; i != r->tail; i++)
        computing += at(r, i)->state == HFI_BATCH_COMPUTING;
    while (computing < HFI_INIT_COMPUTING &&
           r->tail - r->head < HFI_INIT_WINDOW) {
        hfi_init_batch *b = at(r, r->tail);
        uint32_t size = next_size(r);
        hf_status s = make_room(r, b, size, err);
        if (s != HF_OK)
            return s;
        if (r->phase == HFI_INIT_LABELS
                ? !next_labels(r, size, &b->b.first, &b->b.count)
                : !next_beyond(r, size, &b->b.first, &b->b.count))
            return HF_OK;
        b->b.run = &r->label_run;
        b->attempts = 0;
        compute(r, b);
        r->tail++;
        computing++;
    }
    return HF_OK;
}

/* ---- labels into files -------------------------------------------------- */

static void submit_checkpoint(hfi_init_run *r);

static void submit_writer(hfi_init_run *r)
{
    r->writer.slot_limit = r->slot_begin + HFI_INIT_SLOTS;
    hfi_leaf_submit(r->job, &r->writer.leaf);
}

static void commit(hfi_init_run *r, hfi_init_batch *b)
{
    uint64_t bytes = (uint64_t)b->b.count * HFI_LABEL_BYTES;
    if (b->sample_min)
        hfi_nonce_take(&r->best, b->b.min_index, b->b.min);
    r->done_label = b->b.first + b->b.count;
    r->labels_written += b->b.count;
    r->unsynced_bytes += bytes;
    r->writer.batch = NULL;
    b->state = HFI_BATCH_FREE;
    r->head++;
    hfi_job_advance(r->job, r->labels_found + r->labels_written);
}

/* Commits what the writer has finished. */
static hf_status end_write(hfi_init_run *r, hf_error *err)
{
    hfi_writer *w = &r->writer;
    if (w->batch == NULL || !hfi_leaf_idle(&w->leaf) || w->leaf.skipped)
        return HF_OK;
    if (w->status != HF_OK) {
        r->write_failed = true;
        *err = w->error;
        return hfi_error_wrap(err, w->status, "initialisation stopped");
    }
    if (w->done == w->batch->b.count)
        commit(r, w->batch);
    return HF_OK;
}

/* Gives the writer the batch at the head, or the rest of one that lacked a
 * place for the next file. */
static void start_write(hfi_init_run *r)
{
    hfi_writer *w = &r->writer;
    if (!hfi_leaf_idle(&w->leaf))
        return;
    if (w->batch == NULL) {
        if (r->head == r->tail || at(r, r->head)->state != HFI_BATCH_READY)
            return;
        w->batch = at(r, r->head);
        w->batch->state = HFI_BATCH_WRITING;
        w->done = 0;
    }
    if (w->open || r->slot_end - r->slot_begin < HFI_INIT_SLOTS)
        submit_writer(r);
    else if (!r->point_running)
        submit_checkpoint(r);
}

/* ---- checkpoints -------------------------------------------------------- */

/* With the writer at rest. */
static void snapshot(hfi_init_run *r)
{
    hfi_checkpoint *p = &r->point;
    p->slot_begin = p->slot_keep = r->slot_begin;
    p->slot_end = r->slot_end;
    for (uint32_t i = p->slot_begin; i != p->slot_end; i++) {
        const hfi_init_file *f = &r->slot[i % HFI_INIT_SLOTS];
        p->slot_bytes[i % HFI_INIT_SLOTS] = f->bytes;
        if (f->complete)
            p->slot_keep = i + 1;
    }
    p->done_label = r->done_label;
    p->all_done = false;
    p->best = r->best;
    p->beyond = r->found_beyond;
    p->has_position = r->position_known;
    p->position = r->position;
    r->unsynced_bytes = 0;
    r->last_point_ns = hfi_now_ns();
}

static void submit_checkpoint(hfi_init_run *r)
{
    snapshot(r);
    r->point_running = true;
    hfi_leaf_submit(r->job, &r->point.leaf);
}

static hf_status end_checkpoint(hfi_init_run *r, hf_error *err)
{
    const hfi_checkpoint *p = &r->point;
    r->point_running = false;
    if (p->leaf.skipped)
        return HF_OK;
    if (p->status != HF_OK) {
        r->sync_failed = r->sync_failed || p->sync_failed;
        *err = p->error;
        return hfi_error_wrap(err, p->status, "checkpoint failed");
    }
    r->stored_meta = p->meta;
    return hfi_files_settle(r, err);
}

static hf_status care_for_checkpoints(hfi_init_run *r, hf_error *err)
{
    if (r->point_running && hfi_leaf_idle(&r->point.leaf)) {
        hf_status s = end_checkpoint(r, err);
        if (s != HF_OK)
            return s;
    }
    bool due = r->unsynced_bytes >= r->want.checkpoint_bytes ||
               hfi_now_ns() - r->last_point_ns >= r->want.checkpoint_ns;
    if (due && !r->point_running && hfi_leaf_idle(&r->writer.leaf))
        submit_checkpoint(r);
    return HF_OK;
}

/* ---- phases ------------------------------------------------------------- */

static bool whole_range(const hfi_init_run *r)
{
    return r->plan.first_file == 0 &&
           r->plan.last_file == r->plan.layout.files - 1;
}

static bool must_search(const hfi_init_run *r)
{
    return whole_range(r) && !r->want.no_nonce_search && r->best.wanted &&
           !r->best.known;
}

static bool work_to_do(const hfi_init_run *r)
{
    const hfi_init_plan *p = &r->plan;
    const hfi_label_ranges *pending = &p->sidecar.pending;
    if (must_search(r))
        return true;
    for (size_t i = 0; i < pending->count; i++)
        if (pending->range[i].from < p->end_label &&
            pending->range[i].to > p->first_label)
            return true;
    for (uint32_t i = p->first_file; i <= p->last_file; i++)
        if (p->files.file[i].bytes !=
            hfi_layout_file_labels(&p->layout, i) * HFI_LABEL_BYTES)
            return true;
    return false;
}

/* A nonce whose value the metadata lack is recomputed, to compare with. */
static hf_status start_nonce(hfi_init_run *r, hf_error *err)
{
    const hf_space_meta *m = &r->plan.meta;
    uint8_t out[32];
    hfi_nonce_start(&r->best, r->plan.layout.labels_total);
    r->best.known = m->has_nonce;
    r->best.index = m->nonce;
    memcpy(r->best.value, m->nonce_value, sizeof r->best.value);
    if (!m->has_nonce || m->has_nonce_value ||
        r->plan.labels_stored == r->plan.end_label - r->plan.first_label)
        return HF_OK;
    hf_status s = hfi_label_one(r->kernels.label_check, r->label_run.commitment,
                                m->nonce, r->plan.log_n, out, err);
    if (s == HF_OK)
        memcpy(r->best.value, out, sizeof r->best.value);
    return s;
}

static hf_status set_up(hfi_init_run *r, hf_error *err)
{
    hfi_space_commitment(r->label_run.commitment, r->plan.meta.node_id,
                         r->plan.meta.commitment_atx_id);
    r->label_run.log_n = r->plan.log_n;
    r->stored_meta = r->plan.meta;
    r->labels_found = r->plan.labels_stored;
    return start_nonce(r, err);
}

/* A finished set of the present tools: its N, once told, is kept for later. */
static void remember_n(hfi_init_run *r)
{
    hf_error err;
    if (r->want.scrypt_n == 0 || r->plan.sidecar.scrypt_n != 0)
        return;
    if (hfi_files_note_missing(r, &err) != HF_OK)
        hfi_logf(r->env.log, HFI_LOG_WARN, "space", "scrypt N is not kept: %s",
                 err.message);
}

static hf_status open_set(hfi_init_run *r, hf_error *err)
{
    hf_status s = hfi_init_plan_make(&r->plan, &r->host, r->dir, &r->want, err);
    if (s != HF_OK)
        return s;
    r->planned = true;
    s = set_up(r, err);
    if (s != HF_OK)
        return s;
    if (!work_to_do(r)) {
        remember_n(r);
        hfi_files_tidy(r);
        r->phase = HFI_INIT_END;
        return HF_OK;
    }
    s = hfi_files_claim(r, err);
    if (s == HF_OK)
        s = set_up(r, err);
    if (s == HF_OK)
        s = hfi_check_begin(r, err);
    r->phase = HFI_INIT_CHECK;
    return s;
}

static void begin_ring(hfi_init_run *r)
{
    r->batch_size = first_size(r);
    r->rate_from_ns = hfi_now_ns();
    r->rate_labels = 0;
}

static void begin_search(hfi_init_run *r)
{
    const hf_space_meta *m = &r->stored_meta;
    r->phase = must_search(r) ? HFI_INIT_SEARCH : HFI_INIT_END;
    if (r->phase == HFI_INIT_END)
        return;
    r->position = r->plan.layout.labels_total;
    if (m->has_last_position && m->last_position > r->position)
        r->position = m->last_position;
    r->position_known = true;
    r->next_label = r->position;
    hfi_job_phase(r->job, "nonce", "labels", 0, 0);
    begin_ring(r);
}

static void begin_labels(hfi_init_run *r)
{
    uint64_t total = r->plan.end_label - r->plan.first_label;
    r->phase = HFI_INIT_LABELS;
    r->labels_found = r->plan.labels_stored;
    r->next_file = r->plan.first_file;
    r->next_label = 0;
    r->done_label = r->plan.end_label;
    if (find_missing(r))
        r->done_label = hfi_layout_file_first(&r->plan.layout, r->next_file) +
                        r->next_label;
    hfi_job_phase(r->job, "labels", "labels", r->labels_found, total);
    r->labels_begin_ns = r->labels_end_ns = r->last_point_ns = hfi_now_ns();
    begin_ring(r);
}

static hf_status check_set(hfi_init_run *r, hf_error *err)
{
    bool done = false;
    hf_status s = hfi_check_step(r, &done, err);
    if (s != HF_OK || !done)
        return s;
    if (r->check.cuts > 0)
        s = hfi_files_note_missing(r, err);
    hfi_check_end(r);
    r->checked = s == HF_OK;
    if (s == HF_OK)
        begin_labels(r);
    return s;
}

static hf_status make_labels(hfi_init_run *r, hf_error *err)
{
    hf_status s = advance_batches(r, err);
    if (s == HF_OK)
        s = issue_batches(r, err); /* before the disk has its say */
    if (s == HF_OK)
        s = end_write(r, err);
    if (s == HF_OK)
        s = care_for_checkpoints(r, err);
    if (s == HF_OK)
        start_write(r);
    if (s == HF_OK)
        s = issue_batches(r, err);
    r->labels_end_ns = hfi_now_ns();
    if (s == HF_OK && r->head == r->tail && !r->point_running &&
        !find_missing(r))
        begin_search(r);
    return s;
}

/* The first label of the batch below the difficulty. */
static hf_status find_in_batch(hfi_init_run *r, hfi_init_batch *b,
                               hf_error *err)
{
    hf_status s = HF_OK;
    for (uint32_t i = 0; i < b->b.count && s == HF_OK && !r->best.known; i++) {
        const uint8_t *label = b->b.labels + HFI_LABEL_BYTES * (size_t)i;
        uint8_t out[32];
        if (!hfi_nonce_may_beat(&r->best, label))
            continue;
        s = hfi_label_one(r->kernels.label_check, r->label_run.commitment,
                          b->b.first + i, r->plan.log_n, out, err);
        if (s == HF_OK)
            hfi_nonce_take(&r->best, b->b.first + i, out);
    }
    return s;
}

static hf_status search_batch(hfi_init_run *r, hfi_init_batch *b, hf_error *err)
{
    hf_status s = b->sample_min ? find_in_batch(r, b, err) : HF_OK;
    if (s != HF_OK)
        return s;
    r->found_beyond = r->best.known;
    r->position = r->best.known ? r->best.index : b->b.first + b->b.count;
    r->labels_beyond += b->b.count;
    b->state = HFI_BATCH_FREE;
    r->head++;
    hfi_job_advance(r->job, r->labels_beyond);
    return HF_OK;
}

static hf_status search_beyond(hfi_init_run *r, hf_error *err)
{
    hf_status s = advance_batches(r, err);
    if (s == HF_OK && !r->best.known)
        s = issue_batches(r, err);
    while (s == HF_OK && r->head != r->tail && !r->best.known &&
           at(r, r->head)->state == HFI_BATCH_READY)
        s = search_batch(r, at(r, r->head), err);
    if (s == HF_OK)
        s = care_for_checkpoints(r, err);
    if (s != HF_OK)
        return s;
    if (r->best.known) {
        r->phase = HFI_INIT_END;
        return HF_OK;
    }
    /* The ring may be empty because all of it was ready at once. */
    s = issue_batches(r, err);
    if (s == HF_OK && r->head == r->tail)
        s = hfi_error(err, HF_E_NOT_FOUND,
                      "no label up to the last possible index is a nonce");
    return s;
}

/* ---- the end ------------------------------------------------------------ */

static bool at_rest(hfi_init_run *r)
{
    bool rest = hfi_leaf_idle(&r->writer.leaf) &&
                hfi_leaf_idle(&r->point.leaf) &&
                (!r->check.running || hfi_loop_idle(&r->check.loop));
    for (uint64_t i = r->head; i != r->tail; i++) {
        hfi_init_batch *b = at(r, i);
        rest = rest && r->labeler->ops->idle(r->labeler, &b->b) &&
               hfi_leaf_idle(&b->check);
    }
    return rest;
}

static void fail(hfi_init_run *r, const hf_error *err)
{
    (void)hfi_job_fail(r->job, err);
    r->phase = HFI_INIT_END;
}

/* What is in files is brought to disk and recorded, however the job ends. */
static void last_checkpoint(hfi_init_run *r)
{
    hf_error err = {0};
    hfi_checkpoint *p = &r->point;
    if (r->point_running) {
        if (end_checkpoint(r, &err) != HF_OK)
            fail(r, &err);
        r->point_running = false;
    }
    if (!r->checked || r->sync_failed)
        return;
    snapshot(r);
    p->all_done = !r->write_failed && r->writer.batch == NULL;
    (void)hfi_files_checkpoint(&p->leaf, NULL);
    p->leaf.skipped = false;
    if (end_checkpoint(r, &err) != HF_OK)
        fail(r, &err);
}

static void wipe_batches(hfi_init_run *r)
{
    for (uint32_t i = 0; i < HFI_INIT_WINDOW; i++) {
        hfi_init_batch *b = &r->batch[i];
        if (b->b.priv != NULL)
            r->labeler->ops->batch_wipe(r->labeler, &b->b);
        hfi_free(&r->env, b->b.labels);
        b->b.labels = NULL;
        b->capacity = 0;
    }
}

static hfi_step end_job(hfi_init_run *r)
{
    if (!at_rest(r))
        return HFI_STEP_WAIT;
    /* A batch that the writer has finished after a cancel counts as well. */
    hfi_writer *w = &r->writer;
    if (w->batch != NULL && !w->leaf.skipped && w->status == HF_OK &&
        w->done == w->batch->b.count)
        commit(r, w->batch);
    r->write_failed = r->write_failed || w->status != HF_OK;
    last_checkpoint(r);
    if (r->sync_failed)
        hfi_files_cut_unsynced(r);
    hfi_files_close(r);
    hfi_check_end(r);
    wipe_batches(r);
    hfi_init_plan_wipe(&r->plan, &r->env);
    r->env.log = NULL;
    return HFI_STEP_DONE;
}

hfi_step hfi_init_step(hf_job *job, void *state)
{
    hfi_init_run *r = state;
    hf_error err = {0};
    hf_status s = HF_OK;
    r->job = job;
    if (hfi_job_cancelled(job))
        r->phase = HFI_INIT_END;
    switch (r->phase) {
    case HFI_INIT_OPEN:
        hfi_job_phase(job, "preparing", "labels", 0, 0);
        s = open_set(r, &err);
        if (s == HF_OK && r->phase != HFI_INIT_END)
            return HFI_STEP_AGAIN;
        break;
    case HFI_INIT_CHECK:
        s = check_set(r, &err);
        if (s == HF_OK && r->phase == HFI_INIT_LABELS)
            return HFI_STEP_AGAIN;
        break;
    case HFI_INIT_LABELS:
        s = make_labels(r, &err);
        if (s == HF_OK && r->phase == HFI_INIT_SEARCH)
            return HFI_STEP_AGAIN;
        break;
    case HFI_INIT_SEARCH:
        s = search_beyond(r, &err);
        break;
    case HFI_INIT_END:
        break;
    }
    if (s != HF_OK)
        fail(r, &err);
    return r->phase == HFI_INIT_END ? end_job(r) : HFI_STEP_WAIT;
}

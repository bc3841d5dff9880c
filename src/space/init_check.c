/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * init_check.c: what an earlier run may have left wrong, and where files are
 * cut so that all that stays is right.
 *
 * What is looked at:
 *   - Labels in pending ranges of the sidecar were not known to be on disk. A
 *     disk writes sectors whole but in any order, so the last label of every
 *     sector is recomputed; the file is cut at the first sector that is wrong.
 *     These labels are also searched for the nonce, which metadata may lack.
 *   - Elsewhere the last whole label of each incomplete file, and of the last
 *     complete one, is recomputed. If it is wrong, a right one is searched
 *     backwards in doubling steps, and the sectors from there on are scanned.
 *   - A torn label is cut off.
 * A file whose first label is wrong without being pending is not ours to cut:
 * HF_E_STATE.
 */
#include "space/init.h"

#include <string.h>

#define SECTOR_LABELS 32u /* 512 bytes */
#define BLOCK_LABELS  UINT64_C(65536)
#define MAX_POINTS    (BLOCK_LABELS / SECTOR_LABELS + 1)

/* ---- recomputing points ------------------------------------------------- */

bool hfi_check_label(const hfi_label_kernel *kernel, const hfi_label_run *run,
                     uint64_t index, uint8_t out32[32], hfi_worker *worker)
{
    const hfi_label_shape *shape = &kernel->shapes[0];
    size_t bytes = hfi_label_scratch_bytes(shape, run->log_n);
    void *scratch = bytes != 0 ? hfi_worker_scratch(worker, bytes) : NULL;
    if (scratch == NULL)
        return false;
    hfi_label_req req = {.commitment = run->commitment, .index = index};
    shape->run(&req, 1, run->log_n, out32, scratch);
    return true;
}

/* The widest shape that the job's scratch allows. */
static uint32_t choose_shape(const hfi_init_run *r)
{
    const hfi_label_kernel *k = r->kernels.label;
    uint32_t best = 0;
    for (uint32_t i = 1; i <= k->preferred && i < k->shape_count; i++)
        if (hfi_label_scratch_bytes(&k->shapes[i], r->plan.log_n) <=
            r->plan.need.scratch)
            best = i;
    return best;
}

static void note_wrong(hfi_checker *c, uint64_t position)
{
    uint64_t worst = atomic_load(&c->worst);
    while (position < worst &&
           !atomic_compare_exchange_weak(&c->worst, &worst, position)) {
    }
}

#define MAX_LANES 64u

/* Points [begin, end), at most as many as the shape has lanes. */
static void check_points(hfi_loop *loop, uint64_t begin, uint64_t end,
                         hfi_worker *worker)
{
    hfi_init_run *r = (hfi_init_run *)(void *)((char *)loop -
                                               offsetof(hfi_init_run,
                                                        check.loop));
    hfi_checker *c = &r->check;
    const hfi_label_shape *shape = &r->kernels.label->shapes[c->shape];
    hfi_label_req reqs[MAX_LANES];
    uint8_t out[32 * MAX_LANES];
    size_t count = (size_t)(end - begin);
    void *scratch = hfi_worker_scratch(
        worker, hfi_label_scratch_bytes(shape, r->plan.log_n));
    if (scratch == NULL) {
        atomic_store(&c->no_memory, true);
        return;
    }
    uint64_t first = hfi_layout_file_first(&r->plan.layout, c->file);
    for (size_t i = 0; i < count; i++)
        reqs[i] = (hfi_label_req){r->label_run.commitment,
                                  first + c->points[begin + i]};
    shape->run(reqs, count, r->plan.log_n, out, scratch);
    for (size_t i = 0; i < count; i++) {
        uint64_t at = c->points[begin + i];
        if (memcmp(out + 32 * i,
                   c->block + HFI_LABEL_BYTES * (at - c->block_first),
                   HFI_LABEL_BYTES) != 0)
            note_wrong(c, at);
    }
}

static void start_loop(hfi_init_run *r)
{
    hfi_checker *c = &r->check;
    uint32_t lanes = r->kernels.label->shapes[c->shape].lanes;
    atomic_store(&c->worst, UINT64_MAX);
    atomic_store(&c->no_memory, false);
    c->loop.body = check_points;
    c->loop.count = c->point_count;
    c->loop.grain = lanes < MAX_LANES ? lanes : MAX_LANES;
    c->running = true;
    hfi_loop_start(&c->loop, r->job);
}

static hf_status read_block(hfi_checker *c, uint64_t first, uint64_t count,
                            hf_error *err)
{
    c->block_first = first;
    c->block_count = count;
    return hfi_file_read_at(&c->in, c->path, first * HFI_LABEL_BYTES, c->block,
                            (size_t)(count * HFI_LABEL_BYTES), err);
}

/* Reads the next block of the segment and starts with its sectors. */
static hf_status scan_block(hfi_init_run *r, hf_error *err)
{
    hfi_checker *c = &r->check;
    uint64_t end = (c->good / BLOCK_LABELS + 1) * BLOCK_LABELS;
    if (end > c->segment_end)
        end = c->segment_end;
    hf_status s = read_block(c, c->good, end - c->good, err);
    if (s != HF_OK)
        return s;
    c->point_count = 0;
    for (uint64_t at = c->good; at < end;) {
        at = (at / SECTOR_LABELS + 1) * SECTOR_LABELS;
        c->points[c->point_count++] = (at < end ? at : end) - 1;
    }
    start_loop(r);
    return HF_OK;
}

static hf_status probe(hfi_init_run *r, hf_error *err)
{
    hfi_checker *c = &r->check;
    uint64_t last = c->stored - 1;
    uint64_t at = last > c->back ? last - c->back : 0;
    hf_status s = read_block(c, at, 1, err);
    if (s != HF_OK)
        return s;
    c->points[0] = at;
    c->point_count = 1;
    start_loop(r);
    return HF_OK;
}

/* ---- one file ----------------------------------------------------------- */

static uint64_t stored_labels(const hfi_init_run *r, uint32_t file)
{
    return r->plan.files.file[file].bytes / HFI_LABEL_BYTES;
}

/* The next pending segment of the file at or above `from`; false: none. */
static bool next_pending(const hfi_init_run *r, uint64_t from,
                         hfi_label_range *out)
{
    const hfi_label_ranges *p = &r->plan.sidecar.pending;
    uint64_t first = hfi_layout_file_first(&r->plan.layout, r->check.file);
    uint64_t low = first + from;
    uint64_t high = first + r->check.stored;
    for (size_t i = 0; i < p->count; i++) {
        uint64_t a = p->range[i].from > low ? p->range[i].from : low;
        uint64_t b = p->range[i].to < high ? p->range[i].to : high;
        if (a < b) {
            *out = (hfi_label_range){a - first, b - first};
            return true;
        }
    }
    return false;
}

static void close_file(hfi_init_run *r)
{
    hfi_checker *c = &r->check;
    if (c->path != NULL)
        (void)hfi_file_close(&c->in, c->path, NULL);
    hfi_free(&r->env, c->path);
    c->path = NULL;
    c->unsynced = false;
    c->state = HFI_CHECK_FILE;
}

/* Keeps `labels` of the file under check and leaves it. */
static hf_status finish_file(hfi_init_run *r, uint64_t labels, hf_error *err)
{
    hfi_checker *c = &r->check;
    uint64_t bytes = r->plan.files.file[c->file].bytes;
    hf_status s = HF_OK;
    /* They come out of the pending ranges: now they must be on disk. */
    if (c->unsynced && labels > 0)
        s = hfi_file_sync(&c->in, c->path, err);
    close_file(r);
    if (s != HF_OK)
        return s;
    if (bytes != labels * HFI_LABEL_BYTES) {
        hfi_logf(r->env.log, HFI_LOG_WARN, "space",
                 "postdata_%u.bin: %llu bytes behind label %llu are torn or "
                 "wrong; cut and made again",
                 c->file,
                 (unsigned long long)(bytes - labels * HFI_LABEL_BYTES),
                 (unsigned long long)labels);
        s = hfi_files_cut(r, c->file, labels, err);
        c->cuts++;
    }
    c->file++;
    return s;
}

/* Whether the file holds anything to look at. */
static bool must_check(const hfi_init_run *r, uint32_t file)
{
    const hfi_checker *c = &r->check;
    hfi_label_range segment;
    uint64_t share = hfi_layout_file_labels(&r->plan.layout, file);
    if (c->stored == 0)
        return false;
    return c->stored < share || file == c->last_full ||
           next_pending(r, 0, &segment);
}

static hf_status open_next(hfi_init_run *r, bool *done, hf_error *err)
{
    hfi_checker *c = &r->check;
    if (c->file > r->plan.last_file) {
        *done = true;
        return HF_OK;
    }
    c->stored = stored_labels(r, c->file);
    if (!must_check(r, c->file))
        return finish_file(r, c->stored, err);
    c->path = hfi_space_file_path(&r->env, r->dir, c->file);
    if (c->path == NULL)
        return hfi_error(err, HF_E_MEMORY, "no memory for a path");
    c->good = 0;
    c->back = 0;
    c->tail_done = false;
    c->state = HFI_CHECK_NEXT;
    return hfi_file_open(&c->in, c->path, HFI_OPEN_READ, err);
}

/* Chooses the next segment, the probe of the tail, or the end. */
static hf_status next_in_file(hfi_init_run *r, hf_error *err)
{
    hfi_checker *c = &r->check;
    hfi_label_range segment;
    if (next_pending(r, c->good, &segment)) {
        c->good = segment.from;
        c->segment_end = segment.to;
        c->pending = true;
        c->unsynced = true;
        c->tail_done = segment.to == c->stored;
        c->state = HFI_CHECK_SCAN;
        return scan_block(r, err);
    }
    if (!c->tail_done) {
        c->state = HFI_CHECK_PROBE;
        return probe(r, err);
    }
    return finish_file(r, c->stored, err);
}

/* ---- what the loop found ------------------------------------------------ */

/*
 * Looks for the nonce among the labels of the block below `end`. A candidate is
 * recomputed; if it was wrong after all, *end moves down to its sector.
 */
static hf_status search_block(hfi_init_run *r, uint64_t *end, hf_error *err)
{
    hfi_checker *c = &r->check;
    uint64_t first = hfi_layout_file_first(&r->plan.layout, c->file);
    for (uint64_t at = c->block_first; at < *end; at++) {
        const uint8_t *label = c->block +
                               HFI_LABEL_BYTES * (at - c->block_first);
        uint8_t out[32];
        if (!hfi_nonce_may_beat(&r->best, label))
            continue;
        hf_status s = hfi_label_one(r->kernels.label_check,
                                    r->label_run.commitment, first + at,
                                    r->plan.log_n, out, err);
        if (s != HF_OK)
            return s;
        if (memcmp(out, label, HFI_LABEL_BYTES) != 0) {
            *end = at - at % SECTOR_LABELS;
            if (*end < c->block_first)
                *end = c->block_first;
            return HF_OK;
        }
        hfi_nonce_take(&r->best, first + at, out);
    }
    return HF_OK;
}

static hf_status scanned(hfi_init_run *r, hf_error *err)
{
    hfi_checker *c = &r->check;
    uint64_t block_end = c->block_first + c->block_count;
    uint64_t worst = atomic_load(&c->worst);
    uint64_t end = block_end;
    if (worst != UINT64_MAX)
        end = worst - worst % SECTOR_LABELS;
    if (end < c->block_first)
        end = c->block_first;
    hf_status s = c->pending ? search_block(r, &end, err) : HF_OK;
    if (s != HF_OK)
        return s;
    c->good = end;
    if (end < block_end)
        return finish_file(r, end, err);
    if (end < c->segment_end)
        return scan_block(r, err);
    c->state = HFI_CHECK_NEXT;
    return HF_OK;
}

static hf_status foreign(hfi_init_run *r, hf_error *err)
{
    hfi_checker *c = &r->check;
    uint64_t index = hfi_layout_file_first(&r->plan.layout, c->file);
    uint8_t label[32];
    char hex[2][2 * HFI_LABEL_BYTES + 1];
    hf_status s = hfi_label_one(r->kernels.label_check, r->label_run.commitment,
                                index, r->plan.log_n, label, err);
    if (s != HF_OK)
        return s;
    hfi_hex_encode(hex[0], c->block, HFI_LABEL_BYTES);
    hfi_hex_encode(hex[1], label, HFI_LABEL_BYTES);
    return hfi_error(err, HF_E_STATE,
                     "postdata_%u.bin is not of this set: its first label "
                     "(%llu) is %s, but %s with scrypt N %llu; move it away to "
                     "have it made again",
                     c->file, (unsigned long long)index, hex[0], hex[1],
                     1ULL << r->plan.log_n);
}

static hf_status probed(hfi_init_run *r, hf_error *err)
{
    hfi_checker *c = &r->check;
    bool right = atomic_load(&c->worst) == UINT64_MAX;
    if (right && c->back == 0) {
        c->tail_done = true;
        c->state = HFI_CHECK_NEXT;
        c->good = c->stored;
        return HF_OK;
    }
    if (right) { /* and what follows is not: find where that begins */
        c->good = c->block_first + 1;
        c->segment_end = c->stored;
        c->pending = false;
        c->tail_done = true;
        c->state = HFI_CHECK_SCAN;
        return scan_block(r, err);
    }
    if (c->block_first == 0)
        return foreign(r, err);
    c->back = c->back == 0 ? SECTOR_LABELS : 2 * c->back;
    return probe(r, err);
}

/* ---- the door ----------------------------------------------------------- */

hf_status hfi_check_begin(hfi_init_run *r, hf_error *err)
{
    hfi_checker *c = &r->check;
    c->in = HFI_FILE_CLOSED;
    c->file = r->plan.first_file;
    c->shape = choose_shape(r);
    c->last_full = UINT32_MAX;
    for (uint32_t i = r->plan.first_file; i <= r->plan.last_file; i++)
        if (stored_labels(r, i) == hfi_layout_file_labels(&r->plan.layout, i))
            c->last_full = i;
    c->block = hfi_calloc(&r->env, BLOCK_LABELS, HFI_LABEL_BYTES);
    c->points = hfi_calloc(&r->env, MAX_POINTS, sizeof *c->points);
    if (c->block == NULL || c->points == NULL)
        return hfi_error(err, HF_E_MEMORY, "no memory to check the files");
    return hfi_loop_init(&c->loop, r->sched, err);
}

hf_status hfi_check_step(hfi_init_run *r, bool *done, hf_error *err)
{
    hfi_checker *c = &r->check;
    hf_status s = HF_OK;
    if (c->running) {
        if (!hfi_loop_idle(&c->loop))
            return HF_OK;
        c->running = false;
        if (atomic_load(&c->no_memory))
            return hfi_error(err, HF_E_MEMORY,
                             "no memory to recompute labels with N = 2^%u",
                             r->plan.log_n);
        s = c->state == HFI_CHECK_SCAN ? scanned(r, err) : probed(r, err);
    }
    while (s == HF_OK && !*done && !c->running)
        s = c->state == HFI_CHECK_FILE ? open_next(r, done, err)
                                       : next_in_file(r, err);
    return s;
}

void hfi_check_end(hfi_init_run *r)
{
    hfi_checker *c = &r->check;
    close_file(r);
    hfi_free(&r->env, c->block);
    hfi_free(&r->env, c->points);
    c->block = NULL;
    c->points = NULL;
    hfi_loop_wipe(&c->loop, r->sched);
}

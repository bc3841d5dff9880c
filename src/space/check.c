/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * check.c: stored labels against computed ones, a sample or all. Reads only.
 *
 * A file's share of n labels is cut into as many strata as labels are wanted
 * of it, and one label is taken of each, by the seed: distinct, ascending,
 * spread evenly, the same for the same seed. Invariant: bad labels are noted
 * in ascending order of file and place, whatever the number of workers: a
 * batch is judged as a whole before the next.
 */
#include "space/judge.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define BATCH_LABELS   UINT64_C(16384)
#define SPAN_LABELS    UINT64_C(4096) /* read at once */
#define GAP_LABELS     UINT64_C(256)  /* read through rather than skipped */
#define MAX_LANES      64u
#define DEFAULT_N      8192u
#define DEFAULT_RANGES 65536u
#define MAX_RANGES     (UINT64_C(1) << 24)

/* Labels of one file, read and being compared. */
typedef struct block {
    uint32_t file;
    size_t count;
    uint64_t *places; /* in the file */
    uint8_t *stored;
    uint8_t *bad; /* one byte a label, set by the workers */
} block;

typedef struct checking {
    hfi_loop loop; /* first: the body finds the state by it */
    hfi_sched *sched;
    const hfi_kernels *kernels;
    char *dir;
    double percent;
    uint64_t seed;
    uint64_t wanted_n;
    uint32_t from_file;
    uint32_t to_file;
    bool first_only;
    uint64_t max_ranges;

    hf_space_meta meta;
    hfi_layout layout;
    uint32_t log_n;
    hfi_judge_plan plan;
    uint8_t commitment[32];
    bool opened;
    bool ended;

    hfi_file in; /* the file being read */
    char *path;
    uint32_t file;   /* its number, or that of the next */
    uint64_t sample; /* labels wanted of it */
    uint64_t taken;  /* of these, read */
    uint8_t *span;
    block blocks[2];
    int filled;    /* the block that was read ahead; -1: none */
    int comparing; /* -1: none */
    _Atomic uint64_t compared;
    _Atomic bool no_memory;

    uint64_t labels_total;
    uint64_t labels_checked;
    uint64_t labels_bad;
    uint64_t ranges_total;
    hf_space_bad_range *ranges;
    size_t range_count;
    size_t range_capacity;
} checking;

/* ---- which labels ------------------------------------------------------------ */

static uint64_t sample_of(const checking *c, uint32_t file)
{
    uint64_t n = hfi_layout_file_labels(&c->layout, file);
    if (c->percent >= 100)
        return n;
    double wanted = c->percent / 100 * (double)n;
    return wanted < (double)n ? (uint64_t)wanted : n;
}

/* Steele, Lea, Flood: Fast splittable pseudorandom number generators. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* The label of the i-th stratum of the file. */
static uint64_t place_of(const checking *c, uint64_t i)
{
    uint64_t n = hfi_layout_file_labels(&c->layout, c->file);
    uint64_t width = n / c->sample, longer = n % c->sample;
    uint64_t start = i * width + (i < longer ? i : longer);
    uint64_t draw = mix(mix(c->seed + c->file) + i);
    return start + draw % (width + (i < longer));
}

/* ---- reading ----------------------------------------------------------------- */

static void close_file(checking *c)
{
    if (c->path != NULL)
        (void)hfi_file_close(&c->in, c->path, NULL);
    hfi_free(hfi_sched_env(c->sched), c->path);
    c->path = NULL;
}

static hf_status open_file(checking *c, hf_error *err)
{
    const hfi_env *env = hfi_sched_env(c->sched);
    char *path = hfi_space_file_path(env, c->dir, c->file);
    if (path == NULL)
        return hfi_error(err, HF_E_MEMORY, "no memory for a path");
    hf_status s = hfi_file_open(&c->in, path, HFI_OPEN_READ, err);
    if (s != HF_OK) {
        hfi_free(env, path);
        return s;
    }
    c->path = path;
    return HF_OK;
}

/* Reads what the places [begin, end) of the block need. */
static hf_status read_span(checking *c, block *b, size_t begin, size_t end,
                           hf_error *err)
{
    uint64_t first = b->places[begin];
    uint64_t count = b->places[end - 1] - first + 1;
    hf_status s = hfi_file_read_at(&c->in, c->path, first * HFI_LABEL_BYTES,
                                   c->span, (size_t)count * HFI_LABEL_BYTES,
                                   err);
    for (size_t i = begin; s == HF_OK && i < end; i++)
        memcpy(b->stored + i * HFI_LABEL_BYTES,
               c->span + (b->places[i] - first) * HFI_LABEL_BYTES,
               HFI_LABEL_BYTES);
    return s;
}

static hf_status read_places(checking *c, block *b, hf_error *err)
{
    hf_status s = HF_OK;
    for (size_t begin = 0, end; s == HF_OK && begin < b->count; begin = end) {
        end = begin + 1;
        while (end < b->count &&
               b->places[end] - b->places[end - 1] <= GAP_LABELS &&
               b->places[end] - b->places[begin] < SPAN_LABELS)
            end++;
        s = read_span(c, b, begin, end, err);
    }
    return s;
}

/* The next file of which labels are wanted; false: all have been read. */
static bool next_file(checking *c)
{
    while (c->taken == c->sample) {
        close_file(c);
        if (c->file == c->to_file)
            return false;
        c->file++;
        c->sample = sample_of(c, c->file);
        c->taken = 0;
    }
    return true;
}

/* Fills the block that is free with the labels that come next. */
static hf_status read_ahead(checking *c, hf_error *err)
{
    if (c->filled >= 0 || !next_file(c))
        return HF_OK;
    int at = c->comparing == 0 ? 1 : 0;
    block *b = &c->blocks[at];
    hf_status s = c->path == NULL ? open_file(c, err) : HF_OK;
    if (s != HF_OK)
        return s;
    uint64_t left = c->sample - c->taken;
    b->file = c->file;
    b->count = (size_t)(left < BATCH_LABELS ? left : BATCH_LABELS);
    for (size_t i = 0; i < b->count; i++)
        b->places[i] = place_of(c, c->taken + i);
    s = read_places(c, b, err);
    if (s != HF_OK)
        return s;
    c->taken += b->count;
    c->filled = at;
    return HF_OK;
}

/* ---- comparing --------------------------------------------------------------- */

static void compare_piece(hfi_loop *loop, uint64_t begin, uint64_t end,
                          hfi_worker *worker)
{
    checking *c = (checking *)(void *)loop;
    const block *b = &c->blocks[c->comparing];
    hfi_label_req reqs[MAX_LANES];
    uint8_t out[32 * MAX_LANES];
    size_t count = (size_t)(end - begin);
    void *scratch = hfi_worker_scratch(worker, c->plan.scratch);
    if (scratch == NULL) {
        atomic_store(&c->no_memory, true);
        return;
    }
    uint64_t first = hfi_layout_file_first(&c->layout, b->file);
    for (size_t i = 0; i < count; i++)
        reqs[i] = (hfi_label_req){c->commitment, first + b->places[begin + i]};
    c->plan.shape->run(reqs, count, c->log_n, out, scratch);
    for (size_t i = 0; i < count; i++)
        b->bad[begin + i] = memcmp(out + 32 * i,
                                   b->stored + (begin + i) * HFI_LABEL_BYTES,
                                   HFI_LABEL_BYTES) != 0;
    uint64_t done = atomic_fetch_add(&c->compared, count) + count;
    hfi_job_advance(loop->job, done);
}

static void start_comparing(checking *c, hf_job *job)
{
    c->comparing = c->filled;
    c->filled = -1;
    c->loop.count = c->blocks[c->comparing].count;
    hfi_loop_start(&c->loop, job);
}

static hf_status grow_ranges(checking *c, hf_error *err)
{
    size_t capacity = c->range_capacity > 0 ? 2 * c->range_capacity : 64;
    hf_space_bad_range *grown = hfi_grow(hfi_sched_env(c->sched), c->ranges,
                                         c->range_capacity, capacity,
                                         sizeof *grown);
    if (grown == NULL)
        return hfi_error(err, HF_E_MEMORY,
                         "no memory for a list of %zu bad ranges", capacity);
    c->ranges = grown;
    c->range_capacity = capacity;
    return HF_OK;
}

/* A run of bad labels; what touches the range before is one with it. */
static hf_status note_range(checking *c, uint32_t file, uint64_t place,
                            uint64_t count, hf_error *err)
{
    uint64_t offset = place * HFI_LABEL_BYTES;
    hf_space_bad_range *last = c->range_count > 0
                                   ? &c->ranges[c->range_count - 1]
                                   : NULL;
    c->labels_bad += count;
    if (last != NULL && c->ranges_total == c->range_count &&
        last->file == file &&
        last->offset + last->labels * HFI_LABEL_BYTES == offset) {
        last->labels += count;
        return HF_OK;
    }
    c->ranges_total++;
    if (c->range_count >= c->max_ranges)
        return HF_OK;
    hf_status s = c->range_count == c->range_capacity ? grow_ranges(c, err)
                                                      : HF_OK;
    if (s == HF_OK)
        c->ranges[c->range_count++] = (hf_space_bad_range){file, offset, count};
    return s;
}

static hf_status judge_block(checking *c, hf_error *err)
{
    const block *b = &c->blocks[c->comparing];
    hf_status s = HF_OK;
    c->comparing = -1;
    c->labels_checked += b->count;
    for (size_t i = 0, end; s == HF_OK && i < b->count; i = end) {
        end = i + 1;
        if (b->bad[i] == 0)
            continue;
        while (end < b->count && b->bad[end] != 0 &&
               b->places[end] == b->places[end - 1] + 1)
            end++;
        s = note_range(c, b->file, b->places[i], end - i, err);
        if (c->first_only)
            break;
    }
    return s;
}

/* ---- opening ----------------------------------------------------------------- */

static hf_status check_file(const checking *c, const hfi_space_file *file,
                            uint32_t number, hf_error *err)
{
    uint64_t wanted = hfi_layout_file_labels(&c->layout, number) *
                      HFI_LABEL_BYTES;
    if (!file->present)
        return hfi_error(err, HF_E_STATE,
                         "postdata_%" PRIu32 ".bin is missing in %s", number,
                         c->dir);
    if (file->bytes < wanted)
        return hfi_error(err, HF_E_STATE,
                         "postdata_%" PRIu32 ".bin in %s has %" PRIu64
                         " bytes, wanted %" PRIu64,
                         number, c->dir, file->bytes, wanted);
    if (file->bytes > wanted)
        hfi_logf(hfi_sched_env(c->sched)->log, HFI_LOG_WARN, "space",
                 "postdata_%" PRIu32 ".bin in %s has %" PRIu64
                 " bytes, wanted %" PRIu64 ": what is beyond takes no part",
                 number, c->dir, file->bytes, wanted);
    return HF_OK;
}

/* Counts the sample; files of which nothing is wanted need not be there. */
static hf_status check_files(checking *c, hf_error *err)
{
    const hfi_env *env = hfi_sched_env(c->sched);
    hfi_space_files files = {0};
    hf_status s = hfi_space_files_scan(&files, env, c->dir, &c->layout, err);
    if (s != HF_OK)
        return s;
    if (files.surplus > 0)
        hfi_logf(env->log, HFI_LOG_WARN, "space",
                 "%s: the set has %" PRIu32 " file%s, and %" PRIu32
                 " more above the last: left alone, no part of the check",
                 c->dir, c->layout.files, c->layout.files == 1 ? "" : "s",
                 files.surplus);
    for (uint32_t i = c->from_file; s == HF_OK && i <= c->to_file; i++) {
        uint64_t sample = sample_of(c, i);
        c->labels_total += sample;
        if (sample > 0)
            s = check_file(c, &files.file[i], i, err);
    }
    hfi_space_files_wipe(&files, env);
    return s;
}

static hf_status choose_n(checking *c, hf_error *err)
{
    hfi_sidecar side;
    hf_status s = hfi_sidecar_load(&side, hfi_sched_env(c->sched), c->dir, err);
    if (s != HF_OK)
        return s;
    uint64_t recorded = side.scrypt_n != 0 ? side.scrypt_n : DEFAULT_N;
    hfi_sidecar_wipe(&side, hfi_sched_env(c->sched));
    return hfi_space_log_n(&c->log_n, c->wanted_n != 0 ? c->wanted_n : recorded,
                           err);
}

static hf_status check_range(checking *c, hf_error *err)
{
    if (c->to_file == HF_SPACE_FILES_ALL)
        c->to_file = c->layout.files - 1;
    if (c->from_file <= c->to_file && c->to_file < c->layout.files)
        return HF_OK;
    return hfi_error(err, HF_E_ARGUMENT,
                     "files %" PRIu32 " to %" PRIu32
                     " are not in the set, which has %" PRIu32,
                     c->from_file, c->to_file, c->layout.files);
}

static hf_status alloc_blocks(checking *c, hf_error *err)
{
    const hfi_env *env = hfi_sched_env(c->sched);
    c->span = hfi_calloc(env, SPAN_LABELS, HFI_LABEL_BYTES);
    bool good = c->span != NULL;
    for (int i = 0; i < 2; i++) {
        block *b = &c->blocks[i];
        b->places = hfi_calloc(env, BATCH_LABELS, sizeof *b->places);
        b->stored = hfi_calloc(env, BATCH_LABELS, HFI_LABEL_BYTES);
        b->bad = hfi_calloc(env, BATCH_LABELS, 1);
        good = good && b->places != NULL && b->stored != NULL && b->bad != NULL;
    }
    if (!good)
        return hfi_error(err, HF_E_MEMORY, "no memory to check labels");
    return hfi_loop_init(&c->loop, c->sched, err);
}

static hf_status open_set(checking *c, hf_job *job, hf_error *err)
{
    const hfi_env *env = hfi_sched_env(c->sched);
    c->opened = true;
    hf_status s = hfi_meta_load(&c->meta, env, c->dir, err);
    if (s == HF_OK)
        s = hfi_layout_of(&c->layout, &c->meta, true, err);
    if (s == HF_OK)
        s = check_range(c, err);
    if (s == HF_OK)
        s = choose_n(c, err);
    if (s == HF_OK)
        s = check_files(c, err);
    if (s == HF_OK)
        s = alloc_blocks(c, err);
    if (s != HF_OK)
        return s;
    hfi_space_commitment(c->commitment, c->meta.node_id,
                         c->meta.commitment_atx_id);
    c->plan = hfi_judge_plan_for(c->kernels, c->log_n, BATCH_LABELS,
                                 hfi_sched_workers(c->sched));
    if (c->plan.scratch == 0)
        return hfi_error(err, HF_E_MEMORY,
                         "labels with N = 2^%" PRIu32
                         " need more memory than there are addresses",
                         c->log_n);
    s = hfi_job_widen(job, c->plan.scratch, err);
    if (s != HF_OK)
        return hfi_error_wrap(err, s, "cannot check labels with N = 2^%" PRIu32,
                              c->log_n);
    c->loop.body = compare_piece;
    c->loop.grain = c->plan.grain < MAX_LANES ? c->plan.grain : MAX_LANES;
    c->file = c->from_file;
    c->sample = sample_of(c, c->file);
    hfi_job_phase(job, "check", "labels", 0, c->labels_total);
    return HF_OK;
}

/* ---- the job ----------------------------------------------------------------- */

static hf_status advance(checking *c, hf_job *job, hf_error *err)
{
    hf_status s = c->opened ? HF_OK : open_set(c, job, err);
    if (s == HF_OK && c->comparing >= 0) {
        if (!hfi_loop_idle(&c->loop))
            return HF_OK;
        if (atomic_load(&c->no_memory))
            return hfi_error(err, HF_E_MEMORY,
                             "no memory for %zu bytes of scratch to compute "
                             "labels",
                             c->plan.scratch);
        if (hfi_job_cancelled(job))
            return HF_OK; /* some were not looked at */
        s = judge_block(c, err);
        c->ended = c->first_only && c->labels_bad > 0;
    }
    if (s == HF_OK && !c->ended)
        s = read_ahead(c, err);
    if (s != HF_OK || c->ended)
        return s;
    c->ended = c->filled < 0;
    if (c->ended)
        return HF_OK;
    start_comparing(c, job);
    return read_ahead(c, err);
}

static void give_back(checking *c)
{
    const hfi_env *env = hfi_sched_env(c->sched);
    close_file(c);
    hfi_loop_wipe(&c->loop, c->sched);
    hfi_free(env, c->span);
    c->span = NULL;
    for (int i = 0; i < 2; i++) {
        hfi_free(env, c->blocks[i].places);
        hfi_free(env, c->blocks[i].stored);
        hfi_free(env, c->blocks[i].bad);
        c->blocks[i] = (block){0};
    }
}

static hfi_step check_step(hf_job *job, void *state)
{
    checking *c = state;
    bool stop = hfi_job_failed(job) || (!c->ended && hfi_job_cancelled(job));
    if (!stop && !c->ended) {
        hf_error err = {0};
        if (advance(c, job, &err) != HF_OK) {
            hfi_job_fail(job, &err);
            stop = true;
        }
    }
    if ((!stop && !c->ended) || hfi_job_outstanding(job) > 0)
        return HFI_STEP_WAIT;
    give_back(c);
    return HFI_STEP_DONE;
}

static void check_destroy(void *state)
{
    checking *c = state;
    const hfi_env env = *hfi_sched_env(c->sched);
    give_back(c);
    hfi_free(&env, c->ranges);
    hfi_free(&env, c->dir);
    hfi_free(&env, c);
}

static const hfi_job_class check_class = {
    .name = "check of labels", .step = check_step, .destroy = check_destroy};

/* ---- start ------------------------------------------------------------------- */

static hf_status check_options(const hf_space_check_opts *o, hf_error *err)
{
    uint32_t log_n;
    if (o->size != sizeof *o)
        return hfi_error(err, HF_E_ARGUMENT, "opts->size is %zu, wanted %zu",
                         o->size, sizeof *o);
    if (!(o->percent >= 0) || isinf(o->percent))
        return hfi_error(err, HF_E_ARGUMENT,
                         "opts->percent is %g, wanted 0 to 100", o->percent);
    if (o->max_ranges > MAX_RANGES)
        return hfi_error(err, HF_E_ARGUMENT,
                         "opts->max_ranges is %" PRIu64
                         ", wanted at most %" PRIu64,
                         o->max_ranges, MAX_RANGES);
    return o->scrypt_n != 0 ? hfi_space_log_n(&log_n, o->scrypt_n, err) : HF_OK;
}

/*
 * The sidecar may name a larger N than the one reckoned with here. Reading it
 * would block; open_set() makes up for it.
 */
static hfi_job_need need_of(const checking *c)
{
    uint64_t n = c->wanted_n != 0 ? c->wanted_n : DEFAULT_N;
    hfi_judge_plan plan = hfi_judge_plan_for(
        c->kernels, hfi_space_index_bits(n) - 1, BATCH_LABELS,
        hfi_sched_workers(c->sched));
    return (hfi_job_need){
        .bytes = sizeof *c + SPAN_LABELS * HFI_LABEL_BYTES +
                 2 * BATCH_LABELS * (sizeof(uint64_t) + HFI_LABEL_BYTES + 1) +
                 c->max_ranges * sizeof *c->ranges,
        .scratch = plan.scratch};
}

static hf_status start(hf_context *ctx, hf_job **job, const char *dir,
                       const hf_space_check_opts *o, hf_error *err)
{
    hfi_sched *sched = hfi_context_sched(ctx);
    hf_status s = check_options(o, err);
    if (s != HF_OK)
        return s;
    uint64_t seed = o->seed;
    while (s == HF_OK && seed == 0)
        s = hfi_random(&seed, sizeof seed, err);
    if (s != HF_OK)
        return s;
    checking *c = hfi_calloc(hfi_sched_env(sched), 1, sizeof *c);
    if (c == NULL)
        return hfi_error(err, HF_E_MEMORY, "no memory for a job");
    c->sched = sched;
    c->kernels = hfi_context_kernels(ctx);
    c->percent = o->percent;
    c->seed = seed;
    c->wanted_n = o->scrypt_n;
    c->from_file = o->from_file;
    c->to_file = o->to_file;
    c->first_only = o->first_only;
    c->max_ranges = o->max_ranges != 0 ? o->max_ranges : DEFAULT_RANGES;
    c->filled = c->comparing = -1;
    c->dir = hfi_strdup(hfi_sched_env(sched), dir);
    hfi_job_need need = need_of(c);
    hf_priority p = o->job.priority != HF_PRIORITY_DEFAULT
                        ? o->job.priority
                        : HF_PRIORITY_BACKGROUND;
    if (c->dir == NULL)
        s = hfi_error(err, HF_E_MEMORY, "no memory for a path");
    else
        s = hfi_job_start(job, sched, &check_class, c, &need, p, o->job.user,
                          err);
    if (s != HF_OK)
        check_destroy(c);
    return s;
}

hf_status hf_space_check_start(hf_context *ctx, hf_job **job, const char *dir,
                               const hf_space_check_opts *opts, hf_error *err)
{
    static const hf_space_check_opts defaults = HF_SPACE_CHECK_OPTS_INIT;
    hf_status s = hfi_context_check(ctx, err);
    if (s == HF_OK && (job == NULL || dir == NULL))
        s = hfi_error(err, HF_E_ARGUMENT, "%s is NULL",
                      job == NULL ? "job" : "dir");
    if (s == HF_OK)
        s = start(ctx, job, dir, opts != NULL ? opts : &defaults, err);
    if (s != HF_OK)
        return hfi_error_wrap(err, s, "cannot check labels");
    return HF_OK;
}

hf_status hf_space_check_result(const hf_job *job, hf_space_check_outcome *out,
                                hf_error *err)
{
    if (job == NULL || out == NULL)
        return hfi_error(err, HF_E_ARGUMENT, "%s is NULL",
                         job == NULL ? "job" : "out");
    if (out->size != sizeof *out)
        return hfi_error(err, HF_E_ARGUMENT, "out->size is %zu, wanted %zu",
                         out->size, sizeof *out);
    const checking *c = hfi_job_state(job, &check_class);
    if (c == NULL)
        return hfi_error(err, HF_E_ARGUMENT, "the job checks no labels");
    hf_status s = hfi_job_outcome(job, err);
    if (s == HF_OK)
        *out = (hf_space_check_outcome){.size = sizeof *out,
                                        .seed = c->seed,
                                        .labels_checked = c->labels_checked,
                                        .labels_bad = c->labels_bad,
                                        .ranges = c->ranges,
                                        .range_count = c->range_count,
                                        .ranges_total = c->ranges_total};
    return s;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * nonce.c: the VRF nonce: which label it is, and the job that finds it among
 * stored labels.
 */
#include "space/init.h"

#include <string.h>

void hfi_nonce_start(hfi_nonce_best *b, uint64_t labels_total)
{
    *b = (hfi_nonce_best){0};
    b->wanted = hfi_space_vrf_difficulty(b->difficulty, labels_total);
}

bool hfi_nonce_may_beat(const hfi_nonce_best *b,
                        const uint8_t label[HFI_LABEL_BYTES])
{
    if (!b->wanted)
        return false;
    if (b->known)
        return memcmp(label, b->value, HFI_LABEL_BYTES) < 0;
    return memcmp(label, b->difficulty, HFI_LABEL_BYTES) <= 0;
}

void hfi_nonce_take(hfi_nonce_best *b, uint64_t index, const uint8_t out32[32])
{
    if (!hfi_nonce_may_beat(b, out32) ||
        memcmp(out32, b->difficulty, sizeof b->difficulty) >= 0)
        return;
    b->known = true;
    b->improved = true;
    b->index = index;
    memcpy(b->value, out32, sizeof b->value);
}

/* ---- the job ------------------------------------------------------------ */

#define SLOTS       4u
#define SLOT_LABELS UINT64_C(262144) /* 4 MiB */
#define MAX_WRONG   16u

typedef enum slot_state { SLOT_FREE, SLOT_READING, SLOT_SCANNING } slot_state;

typedef struct nonce_run nonce_run;

/* A piece of a file on its way: read, then scanned for its lowest label. */
typedef struct slot {
    hfi_leaf read;
    hfi_leaf scan;
    nonce_run *run;
    slot_state state;
    uint32_t file;
    uint64_t at; /* in labels of the file */
    uint64_t count;
    uint64_t lowest; /* position in the piece; count: none */
    uint8_t *labels;
    hf_status status;
    hf_error error;
} slot;

struct nonce_run {
    hfi_env env; /* log only while the job runs */
    hfi_sched *sched;
    hf_job *job;
    hfi_kernels kernels;
    char *dir;
    uint64_t wanted_n;
    uint32_t first_file;
    uint32_t last_file; /* HF_SPACE_FILES_ALL until opened */
    bool opened;
    hf_space_meta meta;
    hfi_layout layout;
    hfi_space_files files;
    hfi_label_run label_run;
    hfi_nonce_best best;
    slot slots[SLOTS];
    uint32_t next_file;
    uint64_t next_label;
    uint64_t labels_done;
    _Atomic uint32_t wrong_count; /* leaves read it; entries below it stay */
    uint64_t wrong[MAX_WRONG];    /* indices of labels that are not right */
};

/* ---- pieces ------------------------------------------------------------- */

static bool read_slot(hfi_leaf *leaf, hfi_worker *worker)
{
    slot *s = (slot *)(void *)leaf;
    nonce_run *r = s->run;
    hfi_file f = HFI_FILE_CLOSED;
    char *path = hfi_space_file_path(&r->env, r->dir, s->file);
    (void)worker;
    if (path == NULL)
        s->status = hfi_error(&s->error, HF_E_MEMORY, "no memory for a path");
    else
        s->status = hfi_file_open(&f, path, HFI_OPEN_READ, &s->error);
    if (s->status == HF_OK)
        s->status = hfi_file_read_at(
            &f, path, s->at * HFI_LABEL_BYTES, s->labels,
            (size_t)(s->count * HFI_LABEL_BYTES), &s->error);
    (void)hfi_file_close(&f, path, NULL);
    hfi_free(&r->env, path);
    return false;
}

static bool known_wrong(const nonce_run *r, uint64_t index)
{
    for (uint32_t i = 0; i < r->wrong_count; i++)
        if (r->wrong[i] == index)
            return true;
    return false;
}

static uint64_t index_of(const slot *s, uint64_t position)
{
    return hfi_layout_file_first(&s->run->layout, s->file) + s->at + position;
}

static bool scan_slot(hfi_leaf *leaf, hfi_worker *worker)
{
    slot *s = (slot *)(void *)((char *)leaf - offsetof(slot, scan));
    const uint8_t *best = NULL;
    (void)worker;
    s->lowest = s->count;
    for (uint64_t i = 0; i < s->count; i++) {
        const uint8_t *label = s->labels + HFI_LABEL_BYTES * i;
        if (best != NULL && memcmp(label, best, HFI_LABEL_BYTES) >= 0)
            continue;
        if (s->run->wrong_count > 0 && known_wrong(s->run, index_of(s, i)))
            continue;
        best = label;
        s->lowest = i;
    }
    return false;
}

static hf_status wrong_label(nonce_run *r, const slot *s, const uint8_t *out,
                             hf_error *err)
{
    char hex[2][2 * HFI_LABEL_BYTES + 1];
    uint64_t offset = (s->at + s->lowest) * HFI_LABEL_BYTES;
    uint64_t index = index_of(s, s->lowest);
    hfi_hex_encode(hex[0], s->labels + HFI_LABEL_BYTES * s->lowest,
                   HFI_LABEL_BYTES);
    hfi_hex_encode(hex[1], out, HFI_LABEL_BYTES);
    if (r->wrong_count == MAX_WRONG)
        return hfi_error(err, HF_E_FORMAT,
                         "postdata_%u.bin holds more than %u wrong labels, at "
                         "byte %llu label %llu: %s, expected %s",
                         s->file, MAX_WRONG, (unsigned long long)offset,
                         (unsigned long long)index, hex[0], hex[1]);
    hfi_logf(r->env.log, HFI_LOG_WARN, "space",
             "postdata_%u.bin: wrong label %llu at byte %llu is passed over: "
             "%s, expected %s",
             s->file, (unsigned long long)index, (unsigned long long)offset,
             hex[0], hex[1]);
    uint32_t n = r->wrong_count; /* the step alone adds */
    r->wrong[n] = index;
    r->wrong_count = n + 1;
    return HF_OK;
}

/* Pieces end in any order: of equal labels the lower index is taken. */
static bool may_be_better(const nonce_run *r, uint64_t index,
                          const uint8_t *label)
{
    const hfi_nonce_best *b = &r->best;
    return hfi_nonce_may_beat(b, label) ||
           (b->known && b->improved && index < b->index &&
            memcmp(label, b->value, HFI_LABEL_BYTES) == 0);
}

/* The lowest label of a piece: recomputed before it is believed. */
static hf_status judge_slot(nonce_run *r, slot *s, hf_error *err)
{
    uint8_t out[32];
    const uint8_t *label = s->labels + HFI_LABEL_BYTES * s->lowest;
    uint64_t index = index_of(s, s->lowest);
    s->state = SLOT_FREE;
    if (s->lowest < s->count && may_be_better(r, index, label)) {
        hf_status status = hfi_label_one(r->kernels.label_check,
                                         r->label_run.commitment, index,
                                         r->label_run.log_n, out, err);
        if (status != HF_OK)
            return status;
        if (memcmp(out, label, HFI_LABEL_BYTES) != 0) {
            s->state = SLOT_SCANNING;
            return wrong_label(r, s, out, err);
        }
        if (r->best.known && memcmp(out, r->best.value, 16) == 0)
            r->best.index = index;
        hfi_nonce_take(&r->best, index, out);
    }
    r->labels_done += s->count;
    hfi_job_advance(r->job, r->labels_done);
    return HF_OK;
}

static uint64_t stored_of(const nonce_run *r, uint32_t file)
{
    uint64_t share = hfi_layout_file_labels(&r->layout, file);
    uint64_t labels = r->files.file[file].bytes / HFI_LABEL_BYTES;
    return labels < share ? labels : share;
}

static bool next_piece(nonce_run *r, slot *s)
{
    for (; r->next_file <= r->last_file; r->next_file++, r->next_label = 0) {
        uint64_t left = stored_of(r, r->next_file) - r->next_label;
        if (left == 0)
            continue;
        s->file = r->next_file;
        s->at = r->next_label;
        s->count = left < SLOT_LABELS ? left : SLOT_LABELS;
        r->next_label += s->count;
        return true;
    }
    return false;
}

static hf_status advance_slot(nonce_run *r, slot *s, hf_error *err)
{
    hf_status status = HF_OK;
    if (s->state == SLOT_READING && hfi_leaf_idle(&s->read)) {
        if (s->status != HF_OK) {
            *err = s->error;
            return s->status;
        }
        s->state = SLOT_SCANNING;
        hfi_leaf_submit(r->job, &s->scan);
        return HF_OK;
    }
    if (s->state == SLOT_SCANNING && hfi_leaf_idle(&s->scan)) {
        status = judge_slot(r, s, err);
        if (status == HF_OK && s->state == SLOT_SCANNING)
            hfi_leaf_submit(r->job, &s->scan);
    }
    if (status == HF_OK && s->state == SLOT_FREE && next_piece(r, s)) {
        s->state = SLOT_READING;
        hfi_leaf_submit(r->job, &s->read);
    }
    return status;
}

/* ---- beginning and end -------------------------------------------------- */

static hf_status settle_files(nonce_run *r, hf_error *err)
{
    uint32_t last = r->layout.files - 1;
    if (r->last_file == HF_SPACE_FILES_ALL)
        r->last_file = last;
    if (r->last_file > last || r->first_file > r->last_file)
        return hfi_error(err, HF_E_ARGUMENT,
                         "files %u to %u were asked for: the set has files 0 "
                         "to %u",
                         r->first_file, r->last_file, last);
    if (r->files.surplus > 0)
        hfi_logf(
            r->env.log, HFI_LOG_WARN, "space",
            "%s has %u data file%s above the last: up to postdata_%u.bin%s, "
            "but %u unit%s make%s %u file%s; nothing of it is touched",
            r->dir, r->files.surplus, r->files.surplus == 1 ? "" : "s",
            r->files.surplus_last,
            r->files.surplus_last == UINT32_MAX ? " or beyond" : "",
            r->meta.num_units, r->meta.num_units == 1 ? "" : "s",
            r->meta.num_units == 1 ? "s" : "", r->layout.files,
            r->layout.files == 1 ? "" : "s");
    r->next_file = r->first_file;
    return HF_OK;
}

/* A nonce of the metadata counts if it is one. */
static hf_status start_best(nonce_run *r, hf_error *err)
{
    uint8_t out[32];
    hfi_nonce_start(&r->best, r->layout.labels_total);
    if (!r->best.wanted)
        return hfi_error(err, HF_E_NOT_FOUND,
                         "a set of %llu labels has no nonce: at least 9 are "
                         "needed",
                         (unsigned long long)r->layout.labels_total);
    if (!r->meta.has_nonce)
        return HF_OK;
    hf_status s = hfi_label_one(r->kernels.label_check, r->label_run.commitment,
                                r->meta.nonce, r->label_run.log_n, out, err);
    if (s != HF_OK)
        return s;
    if (r->meta.has_nonce_value &&
        memcmp(out, r->meta.nonce_value, HFI_LABEL_BYTES) != 0)
        hfi_logf(r->env.log, HFI_LOG_WARN, "space",
                 "the metadata's value of nonce %llu is not its label",
                 (unsigned long long)r->meta.nonce);
    hfi_nonce_take(&r->best, r->meta.nonce, out);
    r->best.improved = false;
    return HF_OK;
}

static hf_status make_slots(nonce_run *r, hf_error *err)
{
    for (uint32_t i = 0; i < SLOTS; i++) {
        slot *s = &r->slots[i];
        s->run = r;
        s->read.run = read_slot;
        s->read.kind = HFI_LEAF_IO;
        s->scan.run = scan_slot;
        s->scan.kind = HFI_LEAF_CPU;
        s->labels = hfi_calloc(&r->env, SLOT_LABELS, HFI_LABEL_BYTES);
        if (s->labels == NULL)
            return hfi_error(err, HF_E_MEMORY, "no memory to read labels");
    }
    return HF_OK;
}

static hf_status open_run(nonce_run *r, hf_error *err)
{
    uint64_t total = 0;
    hf_status s = hfi_meta_load(&r->meta, &r->env, r->dir, err);
    if (s == HF_OK)
        s = hfi_layout_of(&r->layout, &r->meta, true, err);
    if (s == HF_OK)
        s = hfi_space_files_scan(&r->files, &r->env, r->dir, &r->layout, err);
    if (s == HF_OK)
        s = settle_files(r, err);
    if (s == HF_OK)
        s = hfi_space_scrypt_n(&r->label_run.log_n, &r->env, &r->kernels,
                               r->dir, &r->meta, r->wanted_n, err);
    if (s != HF_OK)
        return s;
    hfi_space_commitment(r->label_run.commitment, r->meta.node_id,
                         r->meta.commitment_atx_id);
    for (uint32_t i = r->first_file; i <= r->last_file; i++)
        total += stored_of(r, i);
    hfi_job_phase(r->job, "nonce", "labels", 0, total);
    s = start_best(r, err);
    return s == HF_OK ? make_slots(r, err) : s;
}

/* Another process may have found a better one meanwhile. */
static hf_status merge_and_save(nonce_run *r, hf_error *err)
{
    hf_space_meta now = {.size = sizeof now};
    hf_status s = hfi_meta_load(&now, &r->env, r->dir, err);
    if (s != HF_OK)
        return s;
    bool theirs = now.has_nonce && now.has_nonce_value &&
                  (!r->meta.has_nonce || now.nonce != r->meta.nonce) &&
                  memcmp(now.nonce_value, r->best.value, 16) <= 0;
    r->meta = now;
    if (theirs)
        return HF_OK;
    r->meta.has_nonce = r->meta.has_nonce_value = true;
    r->meta.nonce = r->best.index;
    memcpy(r->meta.nonce_value, r->best.value, sizeof r->meta.nonce_value);
    return hfi_meta_save(&r->meta, &r->env, r->dir, err);
}

static hf_status store(nonce_run *r, hf_error *err)
{
    hfi_file lock = HFI_FILE_CLOSED;
    if (!r->best.known)
        return hfi_error(err, HF_E_NOT_FOUND,
                         "none of the %llu labels looked at is below the "
                         "difficulty of a nonce",
                         (unsigned long long)r->labels_done);
    if (!r->best.improved)
        return HF_OK;
    hf_status s = hfi_dir_lock(&lock, r->dir, 10000, err);
    if (s == HF_OK || s == HF_E_UNSUPPORTED)
        s = merge_and_save(r, err);
    (void)hfi_file_close(&lock, r->dir, NULL);
    return s;
}

static bool resting(const nonce_run *r)
{
    for (uint32_t i = 0; i < SLOTS; i++)
        if (!hfi_leaf_idle(&r->slots[i].read) ||
            !hfi_leaf_idle(&r->slots[i].scan))
            return false;
    return true;
}

static hfi_step end_run(nonce_run *r)
{
    if (!resting(r))
        return HFI_STEP_WAIT;
    for (uint32_t i = 0; i < SLOTS; i++) {
        hfi_free(&r->env, r->slots[i].labels);
        r->slots[i].labels = NULL;
    }
    hfi_space_files_wipe(&r->files, &r->env);
    r->env.log = NULL;
    return HFI_STEP_DONE;
}

static hfi_step nonce_step(hf_job *job, void *state)
{
    nonce_run *r = state;
    hf_error err = {0};
    hf_status s = HF_OK;
    bool busy = false;
    r->job = job;
    if (hfi_job_cancelled(job) || hfi_job_failed(job))
        return end_run(r);
    if (!r->opened)
        s = open_run(r, &err);
    r->opened = true;
    for (uint32_t i = 0; i < SLOTS && s == HF_OK; i++) {
        s = advance_slot(r, &r->slots[i], &err);
        busy = busy || r->slots[i].state != SLOT_FREE;
    }
    if (s == HF_OK && busy)
        return HFI_STEP_WAIT;
    if (s == HF_OK)
        s = store(r, &err);
    if (s != HF_OK)
        (void)hfi_job_fail(job, &err);
    return end_run(r);
}

static void nonce_destroy(void *state)
{
    nonce_run *r = state;
    hfi_env env = r->env;
    hfi_free(&env, r->dir);
    hfi_free(&env, r);
}

static const hfi_job_class nonce_class = {
    .name = "nonce search", .step = nonce_step, .destroy = nonce_destroy};

/* ---- the public calls --------------------------------------------------- */

static hf_status check_nonce_call(hf_context *ctx, hf_job **job,
                                  const char *dir, const hf_space_nonce_opts *o,
                                  hf_error *err)
{
    uint32_t log_n;
    hf_status s = hfi_context_check(ctx, err);
    if (s != HF_OK)
        return s;
    if (job == NULL || dir == NULL || dir[0] == '\0')
        return hfi_error(err, HF_E_ARGUMENT, "%s",
                         job == NULL   ? "job is NULL"
                         : dir == NULL ? "dir is NULL"
                                       : "dir is empty: give the path of a "
                                         "folder");
    if (o->size < sizeof *o)
        return hfi_error(err, HF_E_ARGUMENT,
                         "opts->size is %zu: start from "
                         "HF_SPACE_NONCE_OPTS_INIT",
                         o->size);
    if (o->from_file > o->to_file)
        return hfi_error(err, HF_E_ARGUMENT,
                         "files %u to %u were asked for: the first must not be "
                         "above the last",
                         o->from_file, o->to_file);
    return o->scrypt_n != 0 ? hfi_space_log_n(&log_n, o->scrypt_n, err) : HF_OK;
}

hf_status hf_space_nonce_start(hf_context *ctx, hf_job **job, const char *dir,
                               const hf_space_nonce_opts *opts, hf_error *err)
{
    static const hf_space_nonce_opts defaults = HF_SPACE_NONCE_OPTS_INIT;
    const hf_space_nonce_opts *o = opts != NULL ? opts : &defaults;
    hf_status s = check_nonce_call(ctx, job, dir, o, err);
    if (s != HF_OK)
        return s;
    const hfi_env *env = hfi_context_env(ctx);
    nonce_run *r = hfi_calloc(env, 1, sizeof *r);
    if (r == NULL)
        return hfi_error(err, HF_E_MEMORY, "no memory for a job");
    r->env = *env;
    r->sched = hfi_context_sched(ctx);
    r->kernels = *hfi_context_kernels(ctx);
    r->wanted_n = o->scrypt_n;
    r->first_file = o->from_file;
    r->last_file = o->to_file;
    r->dir = hfi_strdup(env, dir);
    hfi_job_need need = {.bytes = SLOTS * SLOT_LABELS * HFI_LABEL_BYTES +
                                  sizeof *r};
    if (r->dir == NULL)
        s = hfi_error(err, HF_E_MEMORY, "no memory for a path");
    else
        s = hfi_job_start(job, r->sched, &nonce_class, r, &need,
                          o->job.priority, o->job.user, err);
    if (s != HF_OK)
        nonce_destroy(r);
    return s;
}

hf_status hf_space_nonce_result(const hf_job *job, hf_space_meta *out,
                                hf_error *err)
{
    if (job == NULL || out == NULL)
        return hfi_error(err, HF_E_ARGUMENT, "%s is NULL",
                         job == NULL ? "job" : "out");
    if (out->size < sizeof *out)
        return hfi_error(err, HF_E_ARGUMENT,
                         "out->size is %zu: set it to sizeof(hf_space_meta)",
                         out->size);
    const nonce_run *r = hfi_job_state(job, &nonce_class);
    if (r == NULL)
        return hfi_error(err, HF_E_ARGUMENT, "the job is no nonce search");
    hf_status s = hfi_job_outcome(job, err);
    if (s != HF_OK)
        return s;
    size_t size = out->size;
    *out = r->meta;
    out->size = size;
    return HF_OK;
}

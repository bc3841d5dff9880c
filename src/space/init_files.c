/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * init_files.c: labels into files, and what is recorded about them.
 *
 * Invariant: what metadata or sidecar say about a label is written only after
 * that label is on disk. A range is noted as pending in the sidecar before its
 * first label is written, and taken out after its last one is synced and the
 * nonce among them is in the metadata. Both are re-read under the folder's lock
 * before they are replaced, so that processes filling different files of one
 * folder keep each other's entries.
 */
#include "space/init.h"

#include <errno.h>
#include <string.h>

#define DIR_LOCK_MS  10000u
#define SPACE_MARGIN UINT64_C(65536) /* for metadata and sidecar */

/* ---- locks -------------------------------------------------------------- */

/* A file system without locks is told of once, and gone on with. */
static hf_status without_locks(hfi_init_run *r, hf_status s)
{
    if (s != HF_E_UNSUPPORTED)
        return s;
    if (!r->warned_locks)
        hfi_logf(r->env.log, HFI_LOG_WARN, "space",
                 "the file system of %.200s has no locks: make sure that no "
                 "other process writes there",
                 r->dir);
    r->warned_locks = true;
    return HF_OK;
}

static hf_status lock_dir(hfi_init_run *r, hfi_file *lock, hf_error *err)
{
    return without_locks(r, hfi_dir_lock(lock, r->dir, DIR_LOCK_MS, err));
}

static hf_status tell_holder(hfi_init_run *r, uint32_t number, hf_error *err)
{
    hfi_sidecar s = {0};
    if (hfi_sidecar_load(&s, &r->env, r->dir, NULL) != HF_OK ||
        s.writer_pid == 0) {
        hfi_sidecar_wipe(&s, &r->env);
        return hfi_error_wrap(err, HF_E_BUSY,
                              "postdata_%u.bin is being written by another "
                              "process",
                              number);
    }
    hf_status status = hfi_error_wrap(
        err, HF_E_BUSY,
        "postdata_%u.bin is being written by another process (last writer: "
        "process %llu on host %s)",
        number, (unsigned long long)s.writer_pid, s.writer_host);
    hfi_sidecar_wipe(&s, &r->env);
    return status;
}

/* Opens, makes if it is missing, and locks a data file. */
static hf_status open_locked(hfi_init_run *r, uint32_t number, hfi_file *f,
                             char **path, hf_error *err)
{
    *path = hfi_space_file_path(&r->env, r->dir, number);
    if (*path == NULL)
        return hfi_error(err, HF_E_MEMORY, "no memory for a path");
    hf_status s = hfi_file_open(f, *path, HFI_OPEN_CREATE, err);
    if (s == HF_OK) {
        s = without_locks(r, hfi_file_lock(f, *path, err));
        if (s == HF_E_BUSY)
            s = tell_holder(r, number, err);
        if (s != HF_OK)
            (void)hfi_file_close(f, *path, NULL);
    }
    if (s != HF_OK) {
        hfi_free(&r->env, *path);
        *path = NULL;
    }
    return s;
}

/* ---- the claim ---------------------------------------------------------- */

static uint64_t stored_labels(const hfi_init_run *r, uint32_t file)
{
    return r->plan.files.file[file].bytes / HFI_LABEL_BYTES;
}

static uint64_t missing_labels(const hfi_init_run *r, uint32_t file)
{
    return hfi_layout_file_labels(&r->plan.layout, file) -
           stored_labels(r, file);
}

static hf_status check_space(const hfi_init_run *r, hf_error *err)
{
    uint64_t labels = r->plan.end_label - r->plan.first_label -
                      r->plan.labels_stored;
    uint64_t bytes = labels * HFI_LABEL_BYTES + SPACE_MARGIN;
    if (labels == 0 || bytes <= r->plan.bytes_free)
        return HF_OK;
    return hfi_error_os(err, HF_E_IO, ENOSPC,
                        "%llu bytes are needed in %.100s, %llu are free: free "
                        "some, or make only part of the files here",
                        (unsigned long long)bytes, r->dir,
                        (unsigned long long)r->plan.bytes_free);
}

/* The first file that lacks labels keeps other processes out. */
static hf_status claim_file(hfi_init_run *r, hf_error *err)
{
    hfi_claim *c = &r->claim;
    uint32_t i = r->plan.first_file;
    char *path;
    while (i <= r->plan.last_file && missing_labels(r, i) == 0)
        i++;
    if (i > r->plan.last_file)
        return HF_OK;
    hf_status s = open_locked(r, i, &c->file, &path, err);
    if (s != HF_OK)
        return s;
    hfi_free(&r->env, path);
    c->held = true;
    c->created = !r->plan.files.file[i].present;
    c->number = i;
    return HF_OK;
}

static hf_status add_missing(hfi_init_run *r, hfi_label_ranges *pending,
                             hf_error *err)
{
    const hfi_layout *l = &r->plan.layout;
    hf_status s = HF_OK;
    for (uint32_t i = r->plan.first_file; i <= r->plan.last_file && s == HF_OK;
         i++) {
        uint64_t first = hfi_layout_file_first(l, i);
        s = hfi_ranges_add(pending, &r->env, first + stored_labels(r, i),
                           first + hfi_layout_file_labels(l, i), err);
    }
    return s;
}

static void sign(hfi_sidecar *s)
{
    s->writer_pid = hfi_pid();
    s->writer_start = hfi_process_start(s->writer_pid);
    hfi_host_name(s->writer_host, sizeof s->writer_host);
}

/* With the folder locked. */
static hf_status note_missing(hfi_init_run *r, hf_error *err)
{
    hfi_sidecar s = {0};
    hf_status status = hfi_sidecar_load(&s, &r->env, r->dir, err);
    if (status != HF_OK)
        return status;
    sign(&s);
    s.scrypt_n = UINT64_C(1) << r->plan.log_n;
    if (!r->plan.exists) /* left from a start that never got to its set */
        s.pending.count = 0;
    status = add_missing(r, &s.pending, err);
    if (status == HF_OK)
        status = hfi_sidecar_save(&s, &r->env, r->dir, err);
    hfi_sidecar_wipe(&s, &r->env);
    return status;
}

hf_status hfi_files_note_missing(hfi_init_run *r, hf_error *err)
{
    hfi_file lock = HFI_FILE_CLOSED;
    hf_status s = lock_dir(r, &lock, err);
    if (s == HF_OK)
        s = note_missing(r, err);
    (void)hfi_file_close(&lock, r->dir, NULL);
    return s;
}

/* A process that was killed may have left one of these. */
static const char *const left_over[] = {"." HFI_META_NAME ".tmp",
                                        "." HFI_SIDECAR_NAME ".tmp"};

static bool is_there(hfi_init_run *r, const char *name, char **path)
{
    hfi_path_kind kind = HFI_PATH_NONE;
    *path = hfi_path_join(&r->env, r->dir, name);
    return *path != NULL && hfi_path_stat(*path, &kind, NULL, NULL) == HF_OK &&
           kind == HFI_PATH_FILE;
}

/* With the folder locked: nobody is about to rename one. */
static void remove_left_over(hfi_init_run *r)
{
    for (size_t i = 0; i < sizeof left_over / sizeof *left_over; i++) {
        char *path;
        if (is_there(r, left_over[i], &path))
            (void)hfi_file_remove(path, NULL);
        hfi_free(&r->env, path);
    }
}

void hfi_files_tidy(hfi_init_run *r)
{
    hfi_file lock = HFI_FILE_CLOSED;
    bool any = false;
    for (size_t i = 0; i < sizeof left_over / sizeof *left_over; i++) {
        char *path;
        any = is_there(r, left_over[i], &path) || any;
        hfi_free(&r->env, path);
    }
    if (any && lock_dir(r, &lock, NULL) == HF_OK)
        remove_left_over(r);
    (void)hfi_file_close(&lock, r->dir, NULL);
}

/* With the folder locked: what is there now decides, not what was planned. */
static hf_status claim_locked(hfi_init_run *r, hf_error *err)
{
    hfi_init_plan now;
    hf_status s = hfi_init_plan_make(&now, &r->host, r->dir, &r->want, err);
    if (s != HF_OK)
        return s;
    hfi_init_plan_wipe(&r->plan, &r->env);
    r->plan = now;
    s = check_space(r, err);
    if (s == HF_OK)
        s = claim_file(r, err);
    if (s != HF_OK)
        return s;
    remove_left_over(r);
    if (!r->plan.exists)
        s = hfi_meta_save(&r->plan.meta, &r->env, r->dir, err);
    return s == HF_OK ? note_missing(r, err) : s;
}

hf_status hfi_files_claim(hfi_init_run *r, hf_error *err)
{
    hfi_file lock = HFI_FILE_CLOSED;
    hf_status s = hfi_dir_make(&r->env, r->dir, err);
    if (s == HF_OK)
        s = lock_dir(r, &lock, err);
    if (s != HF_OK)
        return s;
    s = claim_locked(r, err);
    (void)hfi_file_close(&lock, r->dir, NULL);
    return s;
}

/* ---- cutting ------------------------------------------------------------ */

hf_status hfi_files_cut(hfi_init_run *r, uint32_t file, uint64_t labels,
                        hf_error *err)
{
    hfi_space_file *known = &r->plan.files.file[file];
    hfi_claim *c = &r->claim;
    uint64_t bytes = labels * HFI_LABEL_BYTES;
    hfi_file own = HFI_FILE_CLOSED;
    hf_status s = HF_OK;
    char *path = NULL;
    if (c->held && c->number == file) {
        path = hfi_space_file_path(&r->env, r->dir, file);
        if (path == NULL)
            return hfi_error(err, HF_E_MEMORY, "no memory for a path");
        s = hfi_file_truncate(&c->file, path, bytes, err);
    } else {
        s = open_locked(r, file, &own, &path, err);
        if (s == HF_OK)
            s = hfi_file_truncate(&own, path, bytes, err);
        if (path != NULL)
            (void)hfi_file_close(&own, path, NULL);
    }
    hfi_free(&r->env, path);
    if (s != HF_OK)
        return s;
    r->bytes_torn += known->bytes - bytes;
    r->plan.labels_stored -= known->bytes / HFI_LABEL_BYTES - labels;
    known->bytes = bytes;
    return HF_OK;
}

/* ---- writing ------------------------------------------------------------ */

static hfi_init_file *slot(hfi_init_run *r, uint32_t number)
{
    return &r->slot[number % HFI_INIT_SLOTS];
}

/* A file of another length than we know has another writer. */
static hf_status check_length(const hfi_init_run *r, hfi_init_file *f,
                              hf_error *err)
{
    uint64_t bytes;
    uint64_t known = r->plan.files.file[f->number].bytes;
    hf_status s = hfi_file_size(&f->file, f->path, &bytes, err);
    if (s != HF_OK || bytes == known)
        return s;
    return hfi_error(err, HF_E_BUSY,
                     "postdata_%u.bin has %llu bytes, %llu were expected: "
                     "another process has written to it",
                     f->number, (unsigned long long)bytes,
                     (unsigned long long)known);
}

static hf_status open_slot(hfi_init_run *r, uint32_t number, hfi_init_file *f,
                           hf_error *err)
{
    hfi_claim *c = &r->claim;
    hfi_init_file n = {.number = number,
                       .file = HFI_FILE_CLOSED,
                       .bytes = r->plan.files.file[number].bytes};
    hf_status s;
    if (c->held && c->number == number) {
        n.path = hfi_space_file_path(&r->env, r->dir, number);
        if (n.path == NULL)
            return hfi_error(err, HF_E_MEMORY, "no memory for a path");
        n.file = c->file;
        n.created = c->created;
        c->held = false;
    } else {
        s = open_locked(r, number, &n.file, &n.path, err);
        if (s != HF_OK)
            return s;
        n.created = !r->plan.files.file[number].present;
    }
    n.synced_bytes = n.bytes;
    s = check_length(r, &n, err);
    if (s != HF_OK) {
        (void)hfi_file_close(&n.file, n.path, NULL);
        hfi_free(&r->env, n.path);
        return s;
    }
    *f = n;
    return HF_OK;
}

/* Writes what of the batch falls into the file that its next label is in;
 * *full if no slot is left for that file. */
static hf_status write_piece(hfi_init_run *r, hfi_writer *w, bool *full,
                             hf_error *err)
{
    const hfi_layout *l = &r->plan.layout;
    const hfi_label_batch *b = &w->batch->b;
    uint64_t label = b->first + w->done;
    uint32_t number = (uint32_t)(label / l->labels_per_file);
    uint64_t at = label - hfi_layout_file_first(l, number);
    uint64_t share = hfi_layout_file_labels(l, number);
    hfi_init_file *f = slot(r, r->slot_end - 1);
    if (!w->open) {
        if (r->slot_end == w->slot_limit) {
            *full = true;
            return HF_OK;
        }
        f = slot(r, r->slot_end);
        hf_status s = open_slot(r, number, f, err);
        if (s != HF_OK)
            return s;
        r->slot_end++;
        w->open = true;
    }
    uint64_t count = b->count - w->done;
    if (count > share - at)
        count = share - at;
    hf_status s = hfi_file_write_at(&f->file, f->path, at * HFI_LABEL_BYTES,
                                    b->labels + w->done * HFI_LABEL_BYTES,
                                    (size_t)(count * HFI_LABEL_BYTES), err);
    if (s != HF_OK)
        return s;
    f->bytes = (at + count) * HFI_LABEL_BYTES;
    f->complete = at + count == share;
    w->open = !f->complete;
    w->done += count;
    return HF_OK;
}

bool hfi_files_write(hfi_leaf *leaf, hfi_worker *worker)
{
    hfi_writer *w = (hfi_writer *)(void *)leaf;
    bool full = false;
    (void)worker;
    w->status = HF_OK;
    while (w->done < w->batch->b.count && !full && w->status == HF_OK)
        w->status = write_piece(w->run, w, &full, &w->error);
    return false;
}

/* ---- checkpoints -------------------------------------------------------- */

static hf_status sync_files(hfi_init_run *r, hfi_checkpoint *p, hf_error *err)
{
    hf_status s = HF_OK;
    bool created = false;
    for (uint32_t i = p->slot_begin; i != p->slot_end && s == HF_OK; i++) {
        hfi_init_file *f = slot(r, i);
        uint64_t bytes = p->slot_bytes[i % HFI_INIT_SLOTS];
        s = hfi_file_sync(&f->file, f->path, err);
        if (s == HF_OK && bytes > f->synced_bytes)
            hfi_file_dont_need(&f->file, f->synced_bytes,
                               bytes - f->synced_bytes);
        created = created || f->created;
    }
    if (s == HF_OK && created)
        s = hfi_dir_sync(r->dir, err);
    return s;
}

static bool same_set(const hf_space_meta *a, const hf_space_meta *b)
{
    return memcmp(a->node_id, b->node_id, 32) == 0 &&
           memcmp(a->commitment_atx_id, b->commitment_atx_id, 32) == 0 &&
           a->labels_per_unit == b->labels_per_unit &&
           a->num_units == b->num_units && a->max_file_size == b->max_file_size;
}

/* Whether our nonce goes into these metadata. */
static bool ours_is_better(const hf_space_meta *m, const hfi_checkpoint *p)
{
    const hfi_nonce_best *b = &p->best;
    if (!b->improved)
        return false;
    if (m->has_nonce && m->has_nonce_value)
        return !p->beyond &&
               memcmp(b->value, m->nonce_value, HFI_LABEL_BYTES) < 0;
    return !m->has_nonce || m->nonce != b->index;
}

static hf_status save_meta(hfi_init_run *r, hfi_checkpoint *p, hf_error *err)
{
    hf_space_meta m = {.size = sizeof m};
    bool changed = false;
    hf_status s = hfi_meta_load(&m, &r->env, r->dir, err);
    if (s != HF_OK)
        return s;
    if (!same_set(&m, &r->plan.meta))
        return hfi_error(err, HF_E_STATE,
                         "%s in %.150s was changed to another set meanwhile",
                         HFI_META_NAME, r->dir);
    if (ours_is_better(&m, p)) {
        m.has_nonce = true;
        m.nonce = p->best.index;
        m.has_nonce_value = !p->beyond;
        memset(m.nonce_value, 0, sizeof m.nonce_value);
        if (m.has_nonce_value)
            memcpy(m.nonce_value, p->best.value, sizeof m.nonce_value);
        changed = true;
    }
    if (p->has_position &&
        (!m.has_last_position || m.last_position != p->position)) {
        m.has_last_position = true;
        m.last_position = p->position;
        changed = true;
    }
    if (changed)
        s = hfi_meta_save(&m, &r->env, r->dir, err);
    if (s == HF_OK)
        p->meta = m;
    return s;
}

static hf_status save_sidecar(hfi_init_run *r, const hfi_checkpoint *p,
                              hf_error *err)
{
    uint64_t end = p->all_done ? r->plan.end_label : p->done_label;
    hfi_sidecar s = {0};
    hf_status status = hfi_sidecar_load(&s, &r->env, r->dir, err);
    if (status == HF_OK)
        status = hfi_ranges_remove(&s.pending, &r->env, r->plan.first_label,
                                   end, err);
    sign(&s);
    s.scrypt_n = UINT64_C(1) << r->plan.log_n;
    if (status == HF_OK)
        status = hfi_sidecar_save(&s, &r->env, r->dir, err);
    hfi_sidecar_wipe(&s, &r->env);
    return status;
}

static hf_status save_records(hfi_init_run *r, hfi_checkpoint *p, hf_error *err)
{
    hfi_file lock = HFI_FILE_CLOSED;
    hf_status s = lock_dir(r, &lock, err);
    if (s == HF_OK)
        s = save_meta(r, p, err);
    if (s == HF_OK)
        s = save_sidecar(r, p, err);
    (void)hfi_file_close(&lock, r->dir, NULL);
    return s;
}

bool hfi_files_checkpoint(hfi_leaf *leaf, hfi_worker *worker)
{
    hfi_checkpoint *p = (hfi_checkpoint *)(void *)leaf;
    (void)worker;
    p->sync_failed = false;
    p->status = sync_files(p->run, p, &p->error);
    p->sync_failed = p->status != HF_OK;
    if (p->status == HF_OK)
        p->status = save_records(p->run, p, &p->error);
    return false;
}

static void wipe_slot(hfi_init_run *r, hfi_init_file *f)
{
    hfi_free(&r->env, f->path);
    *f = (hfi_init_file){.file = HFI_FILE_CLOSED};
}

hf_status hfi_files_settle(hfi_init_run *r, hf_error *err)
{
    const hfi_checkpoint *p = &r->point;
    hf_status s = HF_OK;
    for (uint32_t i = p->slot_begin; i != p->slot_end; i++) {
        hfi_init_file *f = slot(r, i);
        f->synced_bytes = p->slot_bytes[i % HFI_INIT_SLOTS];
        f->created = false;
    }
    for (; r->slot_begin != p->slot_keep; r->slot_begin++) {
        hfi_init_file *f = slot(r, r->slot_begin);
        hf_status closed = hfi_file_close(&f->file, f->path,
                                          s == HF_OK ? err : NULL);
        s = s == HF_OK ? closed : s;
        wipe_slot(r, f);
    }
    return s;
}

/*
 * A failed sync drops its report and perhaps its data: pages may be marked
 * clean without being on disk, and a later sync would say nothing. So what was
 * written since the last good one goes, and is made again.
 */
void hfi_files_cut_unsynced(hfi_init_run *r)
{
    for (uint32_t i = r->slot_begin; i != r->slot_end; i++) {
        hfi_init_file *f = slot(r, i);
        if (f->bytes > f->synced_bytes &&
            hfi_file_truncate(&f->file, f->path, f->synced_bytes, NULL) ==
                HF_OK)
            f->bytes = f->synced_bytes;
    }
}

void hfi_files_close(hfi_init_run *r)
{
    for (; r->slot_begin != r->slot_end; r->slot_begin++) {
        hfi_init_file *f = slot(r, r->slot_begin);
        (void)hfi_file_close(&f->file, f->path, NULL);
        wipe_slot(r, f);
    }
    if (r->claim.held)
        (void)hfi_file_close(&r->claim.file, r->dir, NULL);
    r->claim.held = false;
}

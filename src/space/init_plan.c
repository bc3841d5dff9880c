/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * init_plan.c: what is wanted against what is there. Everything that refuses an
 * initialisation is here, before anything is written.
 *
 * Invariant: a plan that was made names a layout in which each file of the
 * range holds a prefix of its share (with at most a torn label behind it), and
 * no file lies above the last.
 */
#include "space/init.h"

#include <errno.h>
#include <string.h>

#define DEFAULT_LABELS_PER_UNIT  (UINT64_C(1) << 32)
#define DEFAULT_FILE_SIZE        (UINT64_C(1) << 32)
#define DEFAULT_N                UINT64_C(8192)
#define DEFAULT_CHECKPOINT_BYTES (UINT64_C(1) << 30)
#define DEFAULT_CHECKPOINT_MS    60000u
#define FIXED_BYTES              (UINT64_C(2) << 20) /* buffers, state */

/* ---- options ------------------------------------------------------------ */

static hf_status check_numbers(const hf_space_init_opts *o, hf_error *err)
{
    uint32_t log_n;
    if (o->scrypt_n != 0 && hfi_space_log_n(&log_n, o->scrypt_n, err) != HF_OK)
        return HF_E_ARGUMENT;
    if (o->from_file > o->to_file)
        return hfi_error(err, HF_E_ARGUMENT,
                         "files %u to %u were asked for: the first must not be "
                         "above the last",
                         o->from_file, o->to_file);
    if (o->batch_labels > HFI_INIT_MAX_BATCH)
        return hfi_error(err, HF_E_ARGUMENT,
                         "batch of %llu labels: give 1 to %u, or 0 to have it "
                         "chosen",
                         (unsigned long long)o->batch_labels,
                         HFI_INIT_MAX_BATCH);
    if (o->max_file_size != 0 && o->max_file_size < 1024)
        return hfi_error(err, HF_E_ARGUMENT,
                         "largest file size is %llu: give at least 1024 bytes",
                         (unsigned long long)o->max_file_size);
    if (o->provider != NULL && strcmp(o->provider, "cpu") != 0)
        return hfi_error(err, HF_E_ARGUMENT,
                         "there is no provider \"%.80s\": available is \"cpu\"",
                         o->provider);
    return HF_OK;
}

/* If the options describe a whole set, it must be possible. */
static hf_status check_set(const hf_space_init_opts *o, hf_error *err)
{
    hf_space_meta m = {.num_units = o->num_units,
                       .labels_per_unit = o->labels_per_unit,
                       .max_file_size = o->max_file_size};
    hfi_layout l;
    if (m.num_units == 0)
        return HF_OK;
    if (m.labels_per_unit == 0)
        m.labels_per_unit = 1;
    if (m.max_file_size == 0)
        m.max_file_size = (uint64_t)INT64_MAX;
    return hfi_layout_of(&l, &m, false, err);
}

hf_status hfi_init_want_copy(hfi_init_want *w, const hf_space_init_opts *o,
                             hf_error *err)
{
    if (o->size < sizeof *o)
        return hfi_error(err, HF_E_ARGUMENT,
                         "opts->size is %zu: start from "
                         "HF_SPACE_INIT_OPTS_INIT",
                         o->size);
    hf_status s = check_numbers(o, err);
    if (s == HF_OK)
        s = check_set(o, err);
    if (s != HF_OK)
        return s;
    uint32_t ms = o->checkpoint_ms != 0 ? o->checkpoint_ms
                                        : DEFAULT_CHECKPOINT_MS;
    *w = (hfi_init_want){.has_node_id = o->node_id != NULL,
                         .has_commitment_atx_id = o->commitment_atx_id != NULL,
                         .no_nonce_search = o->no_nonce_search,
                         .num_units = o->num_units,
                         .from_file = o->from_file,
                         .to_file = o->to_file,
                         .labels_per_unit = o->labels_per_unit,
                         .max_file_size = o->max_file_size,
                         .scrypt_n = o->scrypt_n,
                         .batch_labels = o->batch_labels,
                         .checkpoint_bytes = o->checkpoint_bytes != 0
                                                 ? o->checkpoint_bytes
                                                 : DEFAULT_CHECKPOINT_BYTES,
                         .checkpoint_ns = (uint64_t)ms * 1000000u};
    if (o->node_id != NULL)
        memcpy(w->node_id, o->node_id, sizeof w->node_id);
    if (o->commitment_atx_id != NULL)
        memcpy(w->commitment_atx_id, o->commitment_atx_id,
               sizeof w->commitment_atx_id);
    return HF_OK;
}

/* ---- the set: what the folder says, what is wanted ---------------------- */

static hf_status new_meta(hf_space_meta *m, const hfi_init_want *w,
                          const char *dir, hf_error *err)
{
    const char *missing = !w->has_node_id             ? "node id"
                          : !w->has_commitment_atx_id ? "commitment ATX id"
                          : w->num_units == 0         ? "number of units"
                                                      : NULL;
    if (missing != NULL)
        return hfi_error(err, HF_E_ARGUMENT,
                         "there is no data set in %.120s yet: for a new one "
                         "give its %s",
                         dir, missing);
    *m = (hf_space_meta){
        .size = sizeof *m,
        .num_units = w->num_units,
        .labels_per_unit = w->labels_per_unit != 0 ? w->labels_per_unit
                                                   : DEFAULT_LABELS_PER_UNIT,
        .max_file_size = w->max_file_size != 0 ? w->max_file_size
                                               : DEFAULT_FILE_SIZE};
    memcpy(m->node_id, w->node_id, sizeof m->node_id);
    memcpy(m->commitment_atx_id, w->commitment_atx_id,
           sizeof m->commitment_atx_id);
    return HF_OK;
}

static hf_status other_id(const char *name, const uint8_t there[32],
                          const uint8_t given[32], hf_error *err)
{
    char hex[2][65];
    hfi_hex_encode(hex[0], there, 32);
    hfi_hex_encode(hex[1], given, 32);
    return hfi_error(err, HF_E_STATE,
                     "the folder holds another set: its %s is %s, given was %s",
                     name, hex[0], hex[1]);
}

static hf_status other_number(const char *name, uint64_t there, uint64_t given,
                              hf_error *err)
{
    return hfi_error(err, HF_E_STATE,
                     "the folder holds another set: its %s is %llu, given was "
                     "%llu",
                     name, (unsigned long long)there,
                     (unsigned long long)given);
}

static uint32_t files_of(const hf_space_meta *m, uint32_t units)
{
    hf_space_meta other = *m;
    hfi_layout l;
    other.num_units = units;
    return hfi_layout_of(&l, &other, false, NULL) == HF_OK ? l.files : 0;
}

static hf_status other_units(const hf_space_meta *m, uint32_t given,
                             hf_error *err)
{
    return hfi_error(err, HF_E_STATE,
                     "the folder holds another set: it has %u units in %u "
                     "files, given were %u units, which is %u files; nothing "
                     "was changed",
                     m->num_units, files_of(m, m->num_units), given,
                     files_of(m, given));
}

static hf_status compare_set(const hf_space_meta *m, const hfi_init_want *w,
                             hf_error *err)
{
    if (w->has_node_id && memcmp(m->node_id, w->node_id, 32) != 0)
        return other_id("node id", m->node_id, w->node_id, err);
    if (w->has_commitment_atx_id &&
        memcmp(m->commitment_atx_id, w->commitment_atx_id, 32) != 0)
        return other_id("commitment ATX id", m->commitment_atx_id,
                        w->commitment_atx_id, err);
    if (w->labels_per_unit != 0 && w->labels_per_unit != m->labels_per_unit)
        return other_number("number of labels per unit", m->labels_per_unit,
                            w->labels_per_unit, err);
    if (w->max_file_size != 0 && w->max_file_size != m->max_file_size)
        return other_number("largest file size", m->max_file_size,
                            w->max_file_size, err);
    return w->num_units != 0 && w->num_units != m->num_units
               ? other_units(m, w->num_units, err)
               : HF_OK;
}

/* ---- the files ---------------------------------------------------------- */

static hf_status check_no_metadata(const hfi_init_plan *p, const char *dir,
                                   hf_error *err)
{
    uint64_t bytes = p->files.surplus_bytes;
    for (uint32_t i = 0; i < p->layout.files; i++)
        bytes += p->files.file[i].bytes;
    if (bytes == 0)
        return HF_OK;
    return hfi_error(err, HF_E_STATE,
                     "%.100s holds %llu bytes in data files but no %s: restore "
                     "it, or move the data files away",
                     dir, (unsigned long long)bytes, HFI_META_NAME);
}

static hf_status check_surplus(const hfi_init_plan *p, const char *dir,
                               hf_error *err)
{
    if (p->files.surplus == 0)
        return HF_OK;
    return hfi_error(err, HF_E_STATE,
                     "%.80s has %u data file%s above the last: up to "
                     "postdata_%u.bin%s, but %u unit%s make%s %u file%s; "
                     "nothing was changed",
                     dir, p->files.surplus, p->files.surplus == 1 ? "" : "s",
                     p->files.surplus_last,
                     p->files.surplus_last == UINT32_MAX ? " or beyond" : "",
                     p->meta.num_units, p->meta.num_units == 1 ? "" : "s",
                     p->meta.num_units == 1 ? "s" : "", p->layout.files,
                     p->layout.files == 1 ? "" : "s");
}

static hf_status settle_range(hfi_init_plan *p, const hfi_init_want *w,
                              hf_error *err)
{
    uint32_t last = p->layout.files - 1;
    if (w->to_file != HF_SPACE_FILES_ALL && w->to_file > last)
        return hfi_error(err, HF_E_ARGUMENT,
                         "last file is %u: the set has files 0 to %u",
                         w->to_file, last);
    if (w->from_file > last)
        return hfi_error(err, HF_E_ARGUMENT,
                         "first file is %u: the set has files 0 to %u",
                         w->from_file, last);
    p->first_file = w->from_file;
    p->last_file = w->to_file == HF_SPACE_FILES_ALL ? last : w->to_file;
    p->first_label = hfi_layout_file_first(&p->layout, p->first_file);
    p->end_label = hfi_layout_file_first(&p->layout, p->last_file) +
                   hfi_layout_file_labels(&p->layout, p->last_file);
    return HF_OK;
}

/* Counts what is stored; whole labels beyond a share are nobody's to cut. */
static hf_status count_stored(hfi_init_plan *p, hf_error *err)
{
    for (uint32_t i = p->first_file; i <= p->last_file; i++) {
        uint64_t share = hfi_layout_file_labels(&p->layout, i);
        uint64_t labels = p->files.file[i].bytes / HFI_LABEL_BYTES;
        if (labels > share)
            return hfi_error(err, HF_E_STATE,
                             "postdata_%u.bin has %llu bytes, its share is "
                             "%llu: it is not of this set, or labels in it are "
                             "shifted; move it away to have it made again",
                             i, (unsigned long long)p->files.file[i].bytes,
                             (unsigned long long)(share * HFI_LABEL_BYTES));
        p->labels_stored += labels;
    }
    return HF_OK;
}

/* ---- N, and the first label there is ------------------------------------ */

bool hfi_ranges_hold(const hfi_label_ranges *r, uint64_t label)
{
    for (size_t i = 0; i < r->count; i++)
        if (label >= r->range[i].from && label < r->range[i].to)
            return true;
    return false;
}

static hf_status settle_n(hfi_init_plan *p, const hfi_init_want *w,
                          hf_error *err)
{
    uint64_t recorded = p->sidecar.scrypt_n;
    if (w->scrypt_n != 0 && recorded != 0 && w->scrypt_n != recorded)
        return other_number("scrypt N", recorded, w->scrypt_n, err);
    uint64_t n = w->scrypt_n != 0 ? w->scrypt_n : recorded;
    return hfi_space_log_n(&p->log_n, n != 0 ? n : DEFAULT_N, err);
}

static hf_status compare_label(const hfi_init_plan *p,
                               const hfi_init_host *host, uint32_t file,
                               const uint8_t *stored, hf_error *err)
{
    uint64_t index = hfi_layout_file_first(&p->layout, file);
    uint8_t commitment[32];
    uint8_t label[32];
    char hex[2][2 * HFI_LABEL_BYTES + 1];
    hfi_space_commitment(commitment, p->meta.node_id,
                         p->meta.commitment_atx_id);
    hf_status s = hfi_label_one(host->kernels->label_check, commitment, index,
                                p->log_n, label, err);
    if (s != HF_OK || memcmp(label, stored, HFI_LABEL_BYTES) == 0)
        return s;
    hfi_hex_encode(hex[0], stored, HFI_LABEL_BYTES);
    hfi_hex_encode(hex[1], label, HFI_LABEL_BYTES);
    return hfi_error(err, HF_E_STATE,
                     "label %llu in postdata_%u.bin is %s, but %s with scrypt "
                     "N %llu: the data were made with another N or identity",
                     (unsigned long long)index, file, hex[0], hex[1],
                     1ULL << p->log_n);
}

static hf_status read_first(const hfi_env *env, const char *dir, uint32_t file,
                            uint8_t label[HFI_LABEL_BYTES], hf_error *err)
{
    hfi_file f = HFI_FILE_CLOSED;
    char *path = hfi_space_file_path(env, dir, file);
    if (path == NULL)
        return hfi_error(err, HF_E_MEMORY, "no memory for a path");
    hf_status s = hfi_file_open(&f, path, HFI_OPEN_READ, err);
    if (s == HF_OK)
        s = hfi_file_read_at(&f, path, 0, label, HFI_LABEL_BYTES, err);
    (void)hfi_file_close(&f, path, NULL);
    hfi_free(env, path);
    return s;
}

/*
 * The first label stored anywhere decides whether identity and N are the right
 * ones; unless it is pending: then it may never have reached the disk.
 */
static hf_status check_first_label(const hfi_init_plan *p,
                                   const hfi_init_host *host, const char *dir,
                                   hf_error *err)
{
    uint8_t label[HFI_LABEL_BYTES];
    uint32_t i = 0;
    while (i < p->layout.files && p->files.file[i].bytes < HFI_LABEL_BYTES)
        i++;
    if (i == p->layout.files || p->need.scratch > host->memory_budget ||
        hfi_ranges_hold(&p->sidecar.pending,
                        hfi_layout_file_first(&p->layout, i)))
        return HF_OK;
    hf_status s = read_first(host->env, dir, i, label, err);
    return s == HF_OK ? compare_label(p, host, i, label, err) : s;
}

/* ---- memory and space --------------------------------------------------- */

/*
 * A batch is less than a second of work. 2^14 labels are more than a core
 * makes in that time at N = 8192, and the time grows with N.
 */
void hfi_init_memory(hfi_job_need *need, uint32_t *max_batch,
                     const hfi_init_host *host, uint32_t log_n,
                     const hfi_init_want *want)
{
    uint64_t labels = (uint64_t)host->workers * (UINT64_C(1) << 27 >> log_n);
    if (labels < 1024)
        labels = 1024;
    if (labels > HFI_INIT_MAX_BATCH)
        labels = HFI_INIT_MAX_BATCH;
    if (want->batch_labels != 0)
        labels = want->batch_labels;
    uint64_t scratch = hfi_labeler_cpu_scratch(host->kernels, log_n);
    uint64_t check = hfi_label_scratch_bytes(
        &host->kernels->label_check->shapes[0], log_n);
    *max_batch = (uint32_t)labels;
    *need = (hfi_job_need){.bytes = FIXED_BYTES +
                                    HFI_INIT_WINDOW * HFI_LABEL_BYTES * labels,
                           .scratch = scratch > check ? scratch : check};
}

/* Free bytes where the folder is, or is going to be. */
static hf_status free_space(uint64_t *bytes, const hfi_env *env,
                            const char *dir, hf_error *err)
{
    hfi_path_kind kind = HFI_PATH_NONE;
    char *path = hfi_strdup(env, dir);
    hf_status s = HF_OK;
    if (path == NULL)
        return hfi_error(err, HF_E_MEMORY, "no memory for a path");
    for (;;) {
        s = hfi_path_stat(path, &kind, NULL, err);
        if (s != HF_OK || kind != HFI_PATH_NONE)
            break;
        size_t end = strlen(path);
        while (end > 0 && path[end - 1] == '/')
            end--;
        while (end > 0 && path[end - 1] != '/')
            end--;
        while (end > 1 && path[end - 1] == '/')
            end--;
        path[end] = '\0';
        if (end == 0)
            break;
    }
    if (s == HF_OK)
        s = hfi_path_free_space(path[0] != '\0' ? path : ".", bytes, err);
    hfi_free(env, path);
    return s;
}

/* ---- the plan ----------------------------------------------------------- */

static hf_status look_for_set(hfi_init_plan *p, const hfi_env *env,
                              const char *dir, hf_error *err)
{
    hfi_path_kind kind;
    char *path = hfi_path_join(env, dir, HFI_META_NAME);
    if (path == NULL)
        return hfi_error(err, HF_E_MEMORY, "no memory for a path");
    hf_status s = hfi_path_stat(path, &kind, NULL, err);
    if (s == HF_OK && kind != HFI_PATH_NONE) {
        p->exists = true;
        s = hfi_meta_load(&p->meta, env, path, err);
    }
    hfi_free(env, path);
    return s;
}

static hf_status look(hfi_init_plan *p, const hfi_env *env, const char *dir,
                      const hfi_init_want *want, hf_error *err)
{
    hfi_path_kind kind;
    hf_status s = hfi_path_stat(dir, &kind, NULL, err);
    if (s == HF_OK && kind != HFI_PATH_NONE && kind != HFI_PATH_DIR)
        return hfi_error(err, HF_E_STATE, "%.200s is not a folder", dir);
    if (s == HF_OK && kind == HFI_PATH_DIR)
        s = look_for_set(p, env, dir, err);
    if (s == HF_OK)
        s = p->exists ? compare_set(&p->meta, want, err)
                      : new_meta(&p->meta, want, dir, err);
    if (s == HF_OK)
        s = hfi_layout_of(&p->layout, &p->meta, p->exists, err);
    if (s == HF_OK && kind == HFI_PATH_DIR)
        s = hfi_space_files_scan(&p->files, env, dir, &p->layout, err);
    if (s == HF_OK && p->exists)
        s = hfi_sidecar_load(&p->sidecar, env, dir, err);
    if (s != HF_OK || kind == HFI_PATH_DIR)
        return s;
    p->files.file = hfi_calloc(env, p->layout.files, sizeof *p->files.file);
    if (p->files.file == NULL)
        return hfi_error(err, HF_E_MEMORY, "no memory for a list of %u files",
                         p->layout.files);
    return HF_OK;
}

static hf_status judge(hfi_init_plan *p, const hfi_init_host *host,
                       const char *dir, const hfi_init_want *want,
                       hf_error *err)
{
    hf_status s = p->exists ? HF_OK : check_no_metadata(p, dir, err);
    if (s == HF_OK)
        s = check_surplus(p, dir, err);
    if (s == HF_OK)
        s = settle_n(p, want, err);
    if (s == HF_OK)
        s = settle_range(p, want, err);
    if (s == HF_OK)
        s = count_stored(p, err);
    if (s != HF_OK)
        return s;
    hfi_init_memory(&p->need, &p->max_batch, host, p->log_n, want);
    s = check_first_label(p, host, dir, err);
    if (s == HF_OK)
        s = free_space(&p->bytes_free, host->env, dir, err);
    return s;
}

hf_status hfi_init_plan_make(hfi_init_plan *out, const hfi_init_host *host,
                             const char *dir, const hfi_init_want *want,
                             hf_error *err)
{
    hfi_init_plan p = {0};
    hf_status s = look(&p, host->env, dir, want, err);
    if (s == HF_OK)
        s = judge(&p, host, dir, want, err);
    if (s != HF_OK) {
        hfi_init_plan_wipe(&p, host->env);
        return s;
    }
    *out = p;
    return HF_OK;
}

void hfi_init_plan_wipe(hfi_init_plan *p, const hfi_env *env)
{
    hfi_space_files_wipe(&p->files, env);
    hfi_sidecar_wipe(&p->sidecar, env);
}

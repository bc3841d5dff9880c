/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * layout.c: how the labels of a set are spread over files, what lies in a
 * folder, and the parameters of a network.
 *
 * Invariant: a layout that was given out has at least one label, at most 2^24
 * files and less than 2^59 labels, so that no product of its numbers, in labels
 * or bytes, leaves 64 bits.
 */
#include "space/space.h"

#include <string.h>

#define MIN_FILE_BYTES    UINT64_C(1024)
#define MAX_LABELS        (UINT64_C(1) << 59)
#define MAX_FILES         (UINT64_C(1) << 24)
#define MAX_NETWORK_BYTES ((size_t)1 << 16)

/* ---- layout ------------------------------------------------------------- */

hf_status hfi_layout_of(hfi_layout *out, const hf_space_meta *meta,
                        bool for_file, hf_error *err)
{
    hf_status bad = for_file ? HF_E_FORMAT : HF_E_ARGUMENT;
    uint64_t units = meta->num_units;
    if (units == 0)
        return hfi_error(err, bad, "number of units is 0: give 1 or more");
    if (meta->labels_per_unit == 0)
        return hfi_error(err, bad, "labels per unit are 0: give 1 or more");
    if (meta->labels_per_unit >= MAX_LABELS / units)
        return hfi_error(err, bad,
                         "%llu units of %llu labels are too many: fewer than "
                         "2^59 labels in all are possible",
                         (unsigned long long)units,
                         (unsigned long long)meta->labels_per_unit);
    if (meta->max_file_size < MIN_FILE_BYTES ||
        meta->max_file_size > (uint64_t)INT64_MAX)
        return hfi_error(
            err, bad, "largest file size is %llu: give %llu to %lld bytes",
            (unsigned long long)meta->max_file_size,
            (unsigned long long)MIN_FILE_BYTES, (long long)INT64_MAX);
    uint64_t total = units * meta->labels_per_unit;
    uint64_t per_file = meta->max_file_size / HFI_LABEL_BYTES;
    uint64_t files = (total - 1) / per_file + 1;
    if (files > MAX_FILES)
        return hfi_error(
            err, bad,
            "%llu labels in files of %llu bytes need %llu files, "
            "more than %llu: give a larger file size",
            (unsigned long long)total, (unsigned long long)meta->max_file_size,
            (unsigned long long)files, (unsigned long long)MAX_FILES);
    *out = (hfi_layout){.labels_total = total,
                        .labels_per_file = per_file,
                        .files = (uint32_t)files};
    return HF_OK;
}

uint64_t hfi_layout_file_first(const hfi_layout *l, uint32_t file)
{
    return (uint64_t)file * l->labels_per_file;
}

uint64_t hfi_layout_file_labels(const hfi_layout *l, uint32_t file)
{
    if (file >= l->files)
        return 0;
    uint64_t left = l->labels_total - hfi_layout_file_first(l, file);
    return left < l->labels_per_file ? left : l->labels_per_file;
}

char *hfi_space_file_path(const hfi_env *env, const char *dir, uint32_t file)
{
    hfi_text name;
    hfi_text_init(&name, env);
    hfi_text_addf(&name, "postdata_%u.bin", file);
    char *path = name.failed ? NULL : hfi_path_join(env, dir, name.data);
    hfi_text_free(&name);
    return path;
}

/* ---- what lies in a folder ---------------------------------------------- */

/*
 * The number in "postdata_<number>.bin" as the present tools write it: decimal
 * without leading zeros. Beyond 32 bits it is UINT32_MAX.
 */
static bool file_number(const char *name, uint32_t *out)
{
    static const char head[] = "postdata_";
    if (strncmp(name, head, sizeof head - 1) != 0)
        return false;
    const char *digit = name + sizeof head - 1;
    uint64_t number = 0;
    size_t digits = 0;
    if (digit[0] == '0' && digit[1] != '.')
        return false;
    for (; digit[digits] >= '0' && digit[digits] <= '9'; digits++) {
        number = number * 10 + (uint64_t)(digit[digits] - '0');
        if (number > UINT32_MAX)
            number = UINT32_MAX;
    }
    if (digits == 0 || strcmp(digit + digits, ".bin") != 0)
        return false;
    *out = (uint32_t)number;
    return true;
}

typedef struct scan {
    hfi_space_files *files;
    const hfi_env *env;
    const char *dir;
    const hfi_layout *layout;
    hf_status status;
    hf_error *err;
} scan;

static void note_file(scan *s, uint32_t number, uint64_t bytes)
{
    hfi_space_files *f = s->files;
    if (number < s->layout->files) {
        f->file[number].present = true;
        f->file[number].bytes = bytes;
        return;
    }
    f->surplus++;
    f->surplus_bytes += bytes;
    if (number > f->surplus_last)
        f->surplus_last = number;
}

static bool scan_entry(void *user, const char *name)
{
    scan *s = user;
    uint32_t number;
    hfi_path_kind kind = HFI_PATH_NONE;
    uint64_t bytes = 0;
    if (!file_number(name, &number))
        return true;
    char *path = hfi_path_join(s->env, s->dir, name);
    if (path == NULL)
        s->status = hfi_error(s->err, HF_E_MEMORY, "no memory for a path");
    else
        s->status = hfi_path_stat(path, &kind, &bytes, s->err);
    if (s->status == HF_OK && kind != HFI_PATH_NONE && kind != HFI_PATH_FILE)
        s->status = hfi_error(s->err, HF_E_STATE,
                              "%s is not a file, or a link to one that is not "
                              "there: move it away, or mount what it lies on",
                              path);
    if (s->status == HF_OK && kind == HFI_PATH_FILE)
        note_file(s, number, bytes);
    hfi_free(s->env, path);
    return s->status == HF_OK;
}

hf_status hfi_space_files_scan(hfi_space_files *out, const hfi_env *env,
                               const char *dir, const hfi_layout *l,
                               hf_error *err)
{
    hfi_space_files f = {0};
    scan s = {&f, env, dir, l, HF_OK, err};
    f.file = hfi_calloc(env, l->files, sizeof *f.file);
    if (f.file == NULL)
        return hfi_error(err, HF_E_MEMORY, "no memory for a list of %u files",
                         l->files);
    hf_status status = hfi_dir_each(dir, scan_entry, &s, err);
    if (status == HF_OK)
        status = s.status;
    if (status != HF_OK) {
        hfi_space_files_wipe(&f, env);
        return status;
    }
    *out = f;
    return HF_OK;
}

void hfi_space_files_wipe(hfi_space_files *f, const hfi_env *env)
{
    hfi_free(env, f->file);
    f->file = NULL;
}

/* ---- networks ----------------------------------------------------------- */

void hf_space_network_mainnet(hf_space_network *out)
{
    if (out == NULL)
        return;
    *out = (hf_space_network){
        .size = sizeof *out,
        .min_units = 4,
        .max_units = 1048576,
        .labels_per_unit = UINT64_C(1) << 32,
        .scrypt_n = 8192,
        .k1 = 26,
        .k2 = 37,
        .pow_difficulty = {0x00, 0x0d, 0xfb, 0x23, 0xb0, 0x97, 0x9b, 0x4b}};
}

static hf_status wrong_member(const char *path, const hfi_json *m,
                              const char *range, hf_error *err)
{
    bool text = m->type == HFI_JSON_NUMBER || m->type == HFI_JSON_STRING;
    return hfi_error(err, HF_E_FORMAT, "%s: %s is %.80s: %s", path, m->key,
                     text ? m->text : "not a number or text", range);
}

/* A member holding a number of 32 bits; false leaves the others to try. */
static bool member_u32(const hfi_json *m, const char *key, uint32_t *out,
                       bool *good)
{
    if (strcmp(m->key, key) != 0)
        return false;
    *good = hfi_json_u32(m, out);
    return true;
}

static hf_status network_member(hf_space_network *n, const char *path,
                                const hfi_json *m, hf_error *err)
{
    bool good = true;
    uint32_t log_n;
    if (member_u32(m, "min_units", &n->min_units, &good) ||
        member_u32(m, "max_units", &n->max_units, &good) ||
        member_u32(m, "k1", &n->k1, &good) ||
        member_u32(m, "k2", &n->k2, &good))
        return good ? HF_OK
                    : wrong_member(path, m, "give 0 to 4294967295", err);
    if (strcmp(m->key, "labels_per_unit") == 0) {
        if (hfi_json_u64(m, &n->labels_per_unit) && n->labels_per_unit > 0)
            return HF_OK;
        return wrong_member(path, m, "give 1 or more", err);
    }
    if (strcmp(m->key, "scrypt_n") == 0) {
        if (hfi_json_u64(m, &n->scrypt_n) &&
            hfi_space_log_n(&log_n, n->scrypt_n, NULL) == HF_OK)
            return HF_OK;
        return wrong_member(path, m, "give a power of two from 2 to 2^30", err);
    }
    if (strcmp(m->key, "pow_difficulty") == 0) {
        if (m->type == HFI_JSON_STRING &&
            hfi_hex_decode(n->pow_difficulty, sizeof n->pow_difficulty, m->text,
                           m->length))
            return HF_OK;
        return wrong_member(path, m, "give 64 hex digits", err);
    }
    return hfi_error(err, HF_E_FORMAT,
                     "%s: unknown member %.80s: known are min_units, "
                     "max_units, labels_per_unit, scrypt_n, k1, k2 and "
                     "pow_difficulty",
                     path, m->key);
}

static hf_status network_members(hf_space_network *n, const char *path,
                                 const hfi_json *root, hf_error *err)
{
    if (root->type != HFI_JSON_OBJECT)
        return hfi_error(err, HF_E_FORMAT, "%s is not a JSON object", path);
    for (const hfi_json *m = root->child; m != NULL; m = m->next) {
        hf_status s = network_member(n, path, m, err);
        if (s != HF_OK)
            return s;
    }
    if (n->min_units > n->max_units)
        return hfi_error(err, HF_E_FORMAT,
                         "%s: min_units %u is above max_units %u", path,
                         n->min_units, n->max_units);
    return HF_OK;
}

hf_status hfi_network_parse(hf_space_network *out, const hfi_env *env,
                            const char *what, const char *text, size_t bytes,
                            hf_error *err)
{
    hfi_json_doc *doc = NULL;
    const hfi_json *root = NULL;
    hf_space_network n;
    hf_space_network_mainnet(&n);
    hf_status s = hfi_json_parse(&doc, &root, env, what, text, bytes, err);
    if (s == HF_OK)
        s = network_members(&n, what, root, err);
    if (s == HF_OK)
        *out = n;
    hfi_json_free(doc);
    return s;
}

hf_status hf_space_network_load(hf_space_network *out, const char *path,
                                hf_error *err)
{
    hfi_env env = {0};
    char *text = NULL;
    size_t bytes = 0;
    if (out == NULL || path == NULL)
        return hfi_error(err, HF_E_ARGUMENT, "%s is NULL",
                         out == NULL ? "out" : "path");
    hf_status s = hfi_file_load(&env, path, MAX_NETWORK_BYTES, &text, &bytes,
                                err);
    if (s == HF_OK)
        s = hfi_network_parse(out, &env, path, text, bytes, err);
    hfi_free(&env, text);
    return s;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * meta.c: postdata_metadata.json, byte for byte as the present tools write it,
 * and the state of a folder.
 *
 * Invariant: metadata that were read describe a possible layout, whatever the
 * file held; what is saved reads back the same. Members that are unknown are
 * ignored when reading and not written: the form has no place for them.
 */
#include "space/space.h"

#include <string.h>

#define MAX_META_BYTES ((size_t)1 << 16)

/* ---- reading ------------------------------------------------------------ */

typedef struct reader {
    const char *what;
    const hfi_json *root;
    hf_error *err;
} reader;

static hf_status wrong(const reader *r, const char *key, const char *range)
{
    const hfi_json *m = hfi_json_member(r->root, key);
    if (m == NULL || m->type == HFI_JSON_NULL)
        return hfi_error(r->err, HF_E_FORMAT, "%s has no %s: %s", r->what, key,
                         range);
    bool text = m->type == HFI_JSON_NUMBER || m->type == HFI_JSON_STRING;
    return hfi_error(r->err, HF_E_FORMAT, "%s: %s is %s%.80s%s: %s", r->what,
                     key, text ? "\"" : "", text ? m->text : "of another type",
                     text ? "\"" : "", range);
}

static hf_status read_id(const reader *r, const char *key, uint8_t out[32])
{
    const hfi_json *m = hfi_json_member(r->root, key);
    if (m == NULL || m->type != HFI_JSON_STRING ||
        !hfi_base64_decode(out, 32, m->text, m->length))
        return wrong(r, key, "base64 of 32 bytes is expected");
    return HF_OK;
}

static hf_status read_u64(const reader *r, const char *key, uint64_t *out)
{
    if (!hfi_json_u64(hfi_json_member(r->root, key), out))
        return wrong(r, key, "a whole number of 64 bits is expected");
    return HF_OK;
}

/* A member that may be missing or null. */
static const hfi_json *optional(const reader *r, const char *key)
{
    const hfi_json *m = hfi_json_member(r->root, key);
    return m == NULL || m->type == HFI_JSON_NULL ? NULL : m;
}

static hf_status read_optional(const reader *r, const char *key, bool *has,
                               uint64_t *out)
{
    if (optional(r, key) == NULL)
        return HF_OK;
    *has = true;
    return read_u64(r, key, out);
}

static hf_status read_nonce_value(const reader *r, hf_space_meta *m)
{
    const hfi_json *v = optional(r, "NonceValue");
    if (v == NULL || (v->type == HFI_JSON_STRING && v->length == 0))
        return HF_OK;
    if (v->type != HFI_JSON_STRING ||
        !hfi_hex_decode(m->nonce_value, sizeof m->nonce_value, v->text,
                        v->length))
        return wrong(r, "NonceValue", "32 hex digits are expected");
    m->has_nonce_value = true;
    return HF_OK;
}

static hf_status read_members(const reader *r, hf_space_meta *m)
{
    hf_status s = read_id(r, "NodeId", m->node_id);
    if (s == HF_OK)
        s = read_id(r, "CommitmentAtxId", m->commitment_atx_id);
    if (s == HF_OK)
        s = read_u64(r, "LabelsPerUnit", &m->labels_per_unit);
    if (s == HF_OK &&
        !hfi_json_u32(hfi_json_member(r->root, "NumUnits"), &m->num_units))
        s = wrong(r, "NumUnits", "a whole number of 32 bits is expected");
    if (s == HF_OK)
        s = read_u64(r, "MaxFileSize", &m->max_file_size);
    if (s == HF_OK)
        s = read_optional(r, "Nonce", &m->has_nonce, &m->nonce);
    if (s == HF_OK)
        s = read_nonce_value(r, m);
    if (s == HF_OK)
        s = read_optional(r, "LastPosition", &m->has_last_position,
                          &m->last_position);
    return s;
}

hf_status hfi_meta_parse(hf_space_meta *out, const hfi_env *env,
                         const char *what, const char *text, size_t bytes,
                         hf_error *err)
{
    hfi_json_doc *doc = NULL;
    reader r = {what, NULL, err};
    hf_space_meta m = {.size = sizeof m};
    hfi_layout layout;
    hf_status s = hfi_json_parse(&doc, &r.root, env, what, text, bytes, err);
    if (s != HF_OK)
        return s;
    if (r.root->type != HFI_JSON_OBJECT)
        s = hfi_error(err, HF_E_FORMAT, "%s is not a JSON object", what);
    if (s == HF_OK)
        s = read_members(&r, &m);
    hfi_json_free(doc);
    if (s == HF_OK && hfi_layout_of(&layout, &m, true, err) != HF_OK)
        s = hfi_error_wrap(err, HF_E_FORMAT, "%s describes no data set", what);
    if (s == HF_OK)
        *out = m;
    return s;
}

static hf_status load_file(hf_space_meta *out, const hfi_env *env,
                           const char *path, hf_error *err)
{
    char *text = NULL;
    size_t bytes = 0;
    hf_status s = hfi_file_load(env, path, MAX_META_BYTES, &text, &bytes, err);
    if (s == HF_OK)
        s = hfi_meta_parse(out, env, path, text, bytes, err);
    hfi_free(env, text);
    return s;
}

hf_status hfi_meta_load(hf_space_meta *out, const hfi_env *env,
                        const char *path, hf_error *err)
{
    hfi_path_kind kind;
    uint64_t bytes;
    hf_status s = hfi_path_stat(path, &kind, &bytes, err);
    if (s != HF_OK)
        return s;
    if (kind != HFI_PATH_DIR)
        return load_file(out, env, path, err);
    char *file = hfi_path_join(env, path, HFI_META_NAME);
    if (file == NULL)
        return hfi_error(err, HF_E_MEMORY, "no memory for a path");
    s = load_file(out, env, file, err);
    hfi_free(env, file);
    return s;
}

/*
 * What is written to a struct of the host: no more than the host's version of
 * it has room for. `size` stays the host's.
 */
static bool fits_host(size_t host, size_t ours)
{
    return host >= ours;
}

hf_status hf_space_meta_load(hf_space_meta *out, const char *path,
                             hf_error *err)
{
    hfi_env env = {0};
    hf_space_meta m;
    if (out == NULL || path == NULL)
        return hfi_error(err, HF_E_ARGUMENT, "%s is NULL",
                         out == NULL ? "out" : "path");
    if (!fits_host(out->size, sizeof *out))
        return hfi_error(err, HF_E_ARGUMENT,
                         "out->size is %zu: set it to sizeof(hf_space_meta)",
                         out->size);
    hf_status s = hfi_meta_load(&m, &env, path, err);
    if (s == HF_OK) {
        m.size = out->size;
        *out = m;
    }
    return s;
}

/* ---- writing ------------------------------------------------------------ */

void hfi_meta_format(hfi_text *t, const hf_space_meta *meta)
{
    char id[2][4 * 11 + 1];
    char value[2 * sizeof meta->nonce_value + 1];
    hfi_base64_encode(id[0], meta->node_id, sizeof meta->node_id);
    hfi_base64_encode(id[1], meta->commitment_atx_id,
                      sizeof meta->commitment_atx_id);
    hfi_text_addf(t,
                  "{\n\t\"NodeId\": \"%s\",\n\t\"CommitmentAtxId\": \"%s\",\n"
                  "\t\"LabelsPerUnit\": %llu,\n\t\"NumUnits\": %u,\n"
                  "\t\"MaxFileSize\": %llu",
                  id[0], id[1], (unsigned long long)meta->labels_per_unit,
                  meta->num_units, (unsigned long long)meta->max_file_size);
    if (meta->has_nonce)
        hfi_text_addf(t, ",\n\t\"Nonce\": %llu",
                      (unsigned long long)meta->nonce);
    if (meta->has_nonce_value) {
        hfi_hex_encode(value, meta->nonce_value, sizeof meta->nonce_value);
        hfi_text_addf(t, ",\n\t\"NonceValue\": \"%s\"", value);
    }
    if (meta->has_last_position)
        hfi_text_addf(t, ",\n\t\"LastPosition\": %llu",
                      (unsigned long long)meta->last_position);
    hfi_text_add(t, "\n}");
}

hf_status hfi_meta_save(const hf_space_meta *meta, const hfi_env *env,
                        const char *dir, hf_error *err)
{
    hfi_text t;
    char *path = hfi_path_join(env, dir, HFI_META_NAME);
    hf_status s;
    hfi_text_init(&t, env);
    hfi_meta_format(&t, meta);
    if (path == NULL || t.failed)
        s = hfi_error(err, HF_E_MEMORY, "no memory to write the metadata");
    else
        s = hfi_file_replace(env, path, t.data, t.bytes, err);
    hfi_text_free(&t);
    hfi_free(env, path);
    return s;
}

/* ---- the state of a folder ---------------------------------------------- */

static void count_file(hf_space_status *st, const hfi_layout *l,
                       const hfi_space_files *files, uint32_t i)
{
    uint64_t share = hfi_layout_file_labels(l, i);
    uint64_t bytes = files->file[i].bytes;
    uint64_t labels = bytes / HFI_LABEL_BYTES;
    if (bytes > share * HFI_LABEL_BYTES)
        st->files_too_long++;
    else
        st->bytes_torn += bytes % HFI_LABEL_BYTES;
    if (labels >= share) {
        st->files_complete++;
        st->labels_stored += share;
        return;
    }
    st->labels_stored += labels;
    if (bytes > 0)
        st->files_partial++;
    if (st->first_incomplete == l->files)
        st->first_incomplete = i;
}

static hf_status count_files(hf_space_status *st, const hfi_env *env,
                             const char *dir, hf_error *err)
{
    hfi_layout l;
    hfi_space_files files;
    hf_status s = hfi_layout_of(&l, &st->meta, true, err);
    if (s == HF_OK)
        s = hfi_space_files_scan(&files, env, dir, &l, err);
    if (s != HF_OK)
        return s;
    st->labels_total = l.labels_total;
    st->files_total = l.files;
    st->first_incomplete = l.files;
    st->files_surplus = files.surplus;
    st->bytes_surplus = files.surplus_bytes;
    for (uint32_t i = 0; i < l.files; i++)
        count_file(st, &l, &files, i);
    hfi_space_files_wipe(&files, env);
    return HF_OK;
}

static void tell_writer(hf_space_status *st, const hfi_sidecar *side)
{
    char host[sizeof side->writer_host];
    hfi_host_name(host, sizeof host);
    st->scrypt_n = side->scrypt_n;
    st->writer_pid = side->writer_pid;
    memcpy(st->writer_host, side->writer_host, sizeof st->writer_host);
    st->writer_alive = side->writer_pid != 0 &&
                       strcmp(host, side->writer_host) == 0 &&
                       side->writer_start != 0 &&
                       hfi_process_start(side->writer_pid) ==
                           side->writer_start;
}

hf_status hf_space_get_status(hf_space_status *out, const char *dir,
                              hf_error *err)
{
    hfi_env env = {0};
    hf_space_status st = {.size = sizeof st};
    hfi_sidecar side;
    hfi_path_kind kind;
    uint64_t bytes;
    if (out == NULL || dir == NULL)
        return hfi_error(err, HF_E_ARGUMENT, "%s is NULL",
                         out == NULL ? "out" : "dir");
    if (!fits_host(out->size, sizeof *out))
        return hfi_error(err, HF_E_ARGUMENT,
                         "out->size is %zu: set it to sizeof(hf_space_status)",
                         out->size);
    hf_status s = hfi_path_stat(dir, &kind, &bytes, err);
    if (s == HF_OK && kind == HFI_PATH_NONE)
        s = hfi_error(err, HF_E_IO, "there is no folder %s", dir);
    else if (s == HF_OK && kind != HFI_PATH_DIR)
        s = hfi_error(err, HF_E_IO, "%s is not a folder", dir);
    if (s == HF_OK)
        s = hfi_meta_load(&st.meta, &env, dir, err);
    if (s == HF_OK)
        s = count_files(&st, &env, dir, err);
    if (s == HF_OK)
        s = hfi_sidecar_load(&side, &env, dir, err);
    if (s != HF_OK)
        return s;
    tell_writer(&st, &side);
    hfi_sidecar_wipe(&side, &env);
    st.size = out->size;
    *out = st;
    return HF_OK;
}

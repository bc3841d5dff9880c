/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * sidecar.c: holdfast.json, what the metadata of the present tools have no
 * field for; and the N of a set, which stands there.
 *
 * Invariant: a folder works without it. What we do not know in the file stays
 * in it when we write; a version above ours is neither read nor overwritten.
 */
#include "space/space.h"

#include <string.h>

#define SIDECAR_VERSION   1u
#define MAX_SIDECAR_BYTES ((size_t)4 << 20)
#define MAX_PENDING       65536u
#define DEFAULT_N         UINT64_C(8192)
/* Label 0 is recomputed up to this N: 512 MiB. */
#define MAX_CHECKED_LOG_N 22u

/* ---- ranges ------------------------------------------------------------- */

void hfi_ranges_wipe(hfi_label_ranges *r, const hfi_env *env)
{
    hfi_free(env, r->range);
    *r = (hfi_label_ranges){0};
}

/* Puts `count` ranges in the place of [begin, end) of the list. */
static hf_status splice(hfi_label_ranges *r, const hfi_env *env, size_t begin,
                        size_t end, const hfi_label_range *with, size_t count,
                        hf_error *err)
{
    size_t total = r->count - (end - begin) + count;
    if (total > r->capacity) {
        size_t capacity = 2 * total + 6;
        hfi_label_range *grown = hfi_grow(env, r->range, r->capacity, capacity,
                                          sizeof *grown);
        if (grown == NULL)
            return hfi_error(err, HF_E_MEMORY,
                             "no memory for a list of label ranges");
        r->range = grown;
        r->capacity = capacity;
    }
    if (r->count > end)
        memmove(r->range + begin + count, r->range + end,
                (r->count - end) * sizeof *r->range);
    if (count > 0)
        memcpy(r->range + begin, with, count * sizeof *with);
    r->count = total;
    return HF_OK;
}

hf_status hfi_ranges_add(hfi_label_ranges *r, const hfi_env *env, uint64_t from,
                         uint64_t to, hf_error *err)
{
    hfi_label_range whole = {from, to};
    size_t begin = 0;
    if (from >= to)
        return HF_OK;
    while (begin < r->count && r->range[begin].to < from)
        begin++;
    size_t end = begin;
    for (; end < r->count && r->range[end].from <= to; end++) {
        if (r->range[end].from < whole.from)
            whole.from = r->range[end].from;
        if (r->range[end].to > whole.to)
            whole.to = r->range[end].to;
    }
    return splice(r, env, begin, end, &whole, 1, err);
}

hf_status hfi_ranges_remove(hfi_label_ranges *r, const hfi_env *env,
                            uint64_t from, uint64_t to, hf_error *err)
{
    hfi_label_range rest[2];
    size_t rests = 0;
    size_t begin = 0;
    while (begin < r->count && r->range[begin].to <= from)
        begin++;
    size_t end = begin;
    while (end < r->count && r->range[end].from < to)
        end++;
    if (from >= to || begin == end)
        return HF_OK;
    if (r->range[begin].from < from)
        rest[rests++] = (hfi_label_range){r->range[begin].from, from};
    if (r->range[end - 1].to > to)
        rest[rests++] = (hfi_label_range){to, r->range[end - 1].to};
    return splice(r, env, begin, end, rest, rests, err);
}

/* ---- reading ------------------------------------------------------------ */

void hfi_sidecar_wipe(hfi_sidecar *s, const hfi_env *env)
{
    hfi_ranges_wipe(&s->pending, env);
    *s = (hfi_sidecar){0};
}

static hf_status wrong(const char *what, const char *member, hf_error *err)
{
    return hfi_error(err, HF_E_FORMAT,
                     "%s: %s is missing or not of its form: if the file is "
                     "damaged, move it away and give N yourself",
                     what, member);
}

static hf_status read_writer(hfi_sidecar *s, const char *what,
                             const hfi_json *writer, hf_error *err)
{
    if (writer == NULL)
        return HF_OK;
    const hfi_json *host = hfi_json_member(writer, "host");
    if (writer->type != HFI_JSON_OBJECT || host == NULL ||
        host->type != HFI_JSON_STRING ||
        !hfi_json_u64(hfi_json_member(writer, "pid"), &s->writer_pid) ||
        !hfi_json_u64(hfi_json_member(writer, "start"), &s->writer_start))
        return wrong(what, "writer", err);
    size_t bytes = host->length;
    if (bytes > sizeof s->writer_host - 1)
        bytes = sizeof s->writer_host - 1;
    memcpy(s->writer_host, host->text, bytes);
    return HF_OK;
}

static bool read_range(const hfi_json *pair, hfi_label_range *out)
{
    return pair->type == HFI_JSON_ARRAY && pair->count == 2 &&
           hfi_json_u64(pair->child, &out->from) &&
           hfi_json_u64(pair->child->next, &out->to) && out->from < out->to;
}

static hf_status read_pending(hfi_sidecar *s, const hfi_env *env,
                              const char *what, const hfi_json *list,
                              hf_error *err)
{
    uint64_t last = 0;
    if (list == NULL)
        return HF_OK;
    if (list->type != HFI_JSON_ARRAY || list->count > MAX_PENDING)
        return wrong(what, "pending", err);
    for (const hfi_json *p = list->child; p != NULL; p = p->next) {
        hfi_label_range r;
        if (!read_range(p, &r) || r.from < last)
            return wrong(what, "pending", err);
        hf_status status = hfi_ranges_add(&s->pending, env, r.from, r.to, err);
        if (status != HF_OK)
            return status;
        last = r.to;
    }
    return HF_OK;
}

static hf_status read_version(const char *what, const hfi_json *root,
                              hf_error *err)
{
    uint64_t version;
    if (root->type != HFI_JSON_OBJECT ||
        !hfi_json_u64(hfi_json_member(root, "version"), &version) ||
        version == 0)
        return wrong(what, "version", err);
    if (version > SIDECAR_VERSION)
        return hfi_error(err, HF_E_UNSUPPORTED,
                         "%s has version %llu, this library knows %u: use a "
                         "newer holdfast",
                         what, (unsigned long long)version, SIDECAR_VERSION);
    return HF_OK;
}

static hf_status read_members(hfi_sidecar *s, const hfi_env *env,
                              const char *what, const hfi_json *root,
                              hf_error *err)
{
    const hfi_json *n = hfi_json_member(root, "scrypt_n");
    uint32_t log_n;
    if (n != NULL && (!hfi_json_u64(n, &s->scrypt_n) ||
                      hfi_space_log_n(&log_n, s->scrypt_n, NULL) != HF_OK))
        return wrong(what, "scrypt_n", err);
    hf_status status = read_writer(s, what, hfi_json_member(root, "writer"),
                                   err);
    if (status == HF_OK)
        status = read_pending(s, env, what, hfi_json_member(root, "pending"),
                              err);
    return status;
}

hf_status hfi_sidecar_parse(hfi_sidecar *out, const hfi_env *env,
                            const char *what, const char *text, size_t bytes,
                            hf_error *err)
{
    hfi_json_doc *doc = NULL;
    const hfi_json *root = NULL;
    hfi_sidecar s = {.present = true};
    hf_status status = hfi_json_parse(&doc, &root, env, what, text, bytes, err);
    if (status == HF_OK)
        status = read_version(what, root, err);
    if (status == HF_OK)
        status = read_members(&s, env, what, root, err);
    hfi_json_free(doc);
    if (status != HF_OK) {
        hfi_sidecar_wipe(&s, env);
        return status;
    }
    *out = s;
    return HF_OK;
}

/* *text stays NULL if there is no such file. */
static hf_status load_text(char **text, size_t *bytes, const hfi_env *env,
                           const char *path, hf_error *err)
{
    hfi_path_kind kind;
    uint64_t size;
    hf_status s = hfi_path_stat(path, &kind, &size, err);
    if (s != HF_OK || kind == HFI_PATH_NONE)
        return s;
    return hfi_file_load(env, path, MAX_SIDECAR_BYTES, text, bytes, err);
}

hf_status hfi_sidecar_load(hfi_sidecar *out, const hfi_env *env,
                           const char *dir, hf_error *err)
{
    char *text = NULL;
    size_t bytes = 0;
    char *path = hfi_path_join(env, dir, HFI_SIDECAR_NAME);
    if (path == NULL)
        return hfi_error(err, HF_E_MEMORY, "no memory for a path");
    hf_status s = load_text(&text, &bytes, env, path, err);
    if (s == HF_OK && text == NULL)
        *out = (hfi_sidecar){0};
    else if (s == HF_OK)
        s = hfi_sidecar_parse(out, env, path, text, bytes, err);
    hfi_free(env, text);
    hfi_free(env, path);
    return s;
}

/* ---- writing ------------------------------------------------------------ */

/* A value again as text; depth is bounded by the parser. */
static void add_value(hfi_text *t, const hfi_json *v)
{
    const char *open = v->type == HFI_JSON_ARRAY ? "[" : "{";
    switch (v->type) {
    case HFI_JSON_NULL:
        hfi_text_add(t, "null");
        break;
    case HFI_JSON_BOOL:
        hfi_text_add(t, v->truth ? "true" : "false");
        break;
    case HFI_JSON_NUMBER:
        hfi_text_add(t, v->text);
        break;
    case HFI_JSON_STRING:
        hfi_text_add_json(t, v->text);
        break;
    case HFI_JSON_ARRAY:
    case HFI_JSON_OBJECT:
        hfi_text_add(t, open);
        for (const hfi_json *c = v->child; c != NULL; c = c->next) {
            if (c->key != NULL) {
                hfi_text_add_json(t, c->key);
                hfi_text_add(t, ": ");
            }
            add_value(t, c);
            if (c->next != NULL)
                hfi_text_add(t, ", ");
        }
        hfi_text_add(t, v->type == HFI_JSON_ARRAY ? "]" : "}");
        break;
    }
}

static void add_known(hfi_text *t, const hfi_sidecar *s)
{
    hfi_text_addf(t, "{\n\t\"version\": %u", SIDECAR_VERSION);
    if (s->scrypt_n != 0)
        hfi_text_addf(t, ",\n\t\"scrypt_n\": %llu",
                      (unsigned long long)s->scrypt_n);
    if (s->writer_pid != 0) {
        hfi_text_add(t, ",\n\t\"writer\": {\"host\": ");
        hfi_text_add_json(t, s->writer_host);
        hfi_text_addf(t, ", \"pid\": %llu, \"start\": %llu}",
                      (unsigned long long)s->writer_pid,
                      (unsigned long long)s->writer_start);
    }
    for (size_t i = 0; i < s->pending.count; i++)
        hfi_text_addf(t, "%s[%llu, %llu]",
                      i == 0 ? ",\n\t\"pending\": [" : ", ",
                      (unsigned long long)s->pending.range[i].from,
                      (unsigned long long)s->pending.range[i].to);
    if (s->pending.count > 0)
        hfi_text_add(t, "]");
}

static void add_unknown(hfi_text *t, const hfi_json *root)
{
    static const char *const known[] = {"version", "scrypt_n", "writer",
                                        "pending"};
    for (const hfi_json *m = root->child; m != NULL; m = m->next) {
        bool ours = false;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            ours = ours || strcmp(m->key, known[i]) == 0;
        if (ours)
            continue;
        hfi_text_add(t, ",\n\t");
        hfi_text_add_json(t, m->key);
        hfi_text_add(t, ": ");
        add_value(t, m);
    }
}

/* Carries over what the file holds beyond our members. */
static hf_status add_old(hfi_text *t, const hfi_env *env, const char *path,
                         hf_error *err)
{
    char *old = NULL;
    size_t bytes = 0;
    hfi_json_doc *doc = NULL;
    const hfi_json *root = NULL;
    hf_status s = load_text(&old, &bytes, env, path, err);
    if (s == HF_OK && old != NULL) {
        s = hfi_json_parse(&doc, &root, env, path, old, bytes, err);
        if (s == HF_OK)
            s = read_version(path, root, err);
        if (s == HF_OK)
            add_unknown(t, root);
    }
    hfi_json_free(doc);
    hfi_free(env, old);
    return s;
}

hf_status hfi_sidecar_save(const hfi_sidecar *side, const hfi_env *env,
                           const char *dir, hf_error *err)
{
    hfi_text t;
    char *path = hfi_path_join(env, dir, HFI_SIDECAR_NAME);
    hf_status s = HF_OK;
    hfi_text_init(&t, env);
    add_known(&t, side);
    if (path != NULL)
        s = add_old(&t, env, path, err);
    hfi_text_add(&t, "\n}\n");
    if (s == HF_OK && (path == NULL || t.failed))
        s = hfi_error(err, HF_E_MEMORY, "no memory to write the sidecar");
    if (s == HF_OK)
        s = hfi_file_replace(env, path, t.data, t.bytes, err);
    hfi_text_free(&t);
    hfi_free(env, path);
    return s;
}

/* ---- N ------------------------------------------------------------------ */

hf_status hfi_space_log_n(uint32_t *log_n, uint64_t n, hf_error *err)
{
    uint32_t log = HFI_LABEL_MIN_LOG_N;
    while (log <= HFI_LABEL_MAX_LOG_N && UINT64_C(1) << log != n)
        log++;
    if (log > HFI_LABEL_MAX_LOG_N)
        return hfi_error(err, HF_E_ARGUMENT,
                         "scrypt N is %llu: give a power of two from 2 to "
                         "%llu (main net: 8192)",
                         (unsigned long long)n, 1ULL << HFI_LABEL_MAX_LOG_N);
    *log_n = log;
    return HF_OK;
}

/* *stored is false if there is no label 0. */
static hf_status read_label_0(const hfi_env *env, const char *dir, bool *stored,
                              uint8_t label[HFI_LABEL_BYTES], hf_error *err)
{
    hfi_file f = HFI_FILE_CLOSED;
    hfi_path_kind kind;
    uint64_t bytes;
    size_t got = 0;
    *stored = false;
    char *path = hfi_space_file_path(env, dir, 0);
    if (path == NULL)
        return hfi_error(err, HF_E_MEMORY, "no memory for a path");
    hf_status s = hfi_path_stat(path, &kind, &bytes, err);
    if (s == HF_OK && kind == HFI_PATH_FILE && bytes >= HFI_LABEL_BYTES) {
        s = hfi_file_open(&f, path, HFI_OPEN_READ, err);
        if (s == HF_OK)
            s = hfi_file_read_some(&f, path, 0, label, HFI_LABEL_BYTES, &got,
                                   err);
        *stored = got == HFI_LABEL_BYTES;
        (void)hfi_file_close(&f, path, NULL);
    }
    hfi_free(env, path);
    return s;
}

static hf_status check_label_0(const hfi_kernels *kernels,
                               const hf_space_meta *meta, const char *dir,
                               uint32_t log_n, const uint8_t *stored,
                               hf_error *err)
{
    uint8_t commitment[32];
    uint8_t label[32];
    char hex[2][2 * HFI_LABEL_BYTES + 1];
    hfi_space_commitment(commitment, meta->node_id, meta->commitment_atx_id);
    hf_status s = hfi_label_one(kernels->label_check, commitment, 0, log_n,
                                label, err);
    if (s != HF_OK || memcmp(label, stored, HFI_LABEL_BYTES) == 0)
        return s;
    hfi_hex_encode(hex[0], stored, HFI_LABEL_BYTES);
    hfi_hex_encode(hex[1], label, HFI_LABEL_BYTES);
    return hfi_error(err, HF_E_STATE,
                     "label 0 in %.60s is %s, but %s with N %llu: the set was "
                     "made with another N or identity",
                     dir, hex[0], hex[1], 1ULL << log_n);
}

hf_status hfi_space_scrypt_n(uint32_t *log_n, const hfi_env *env,
                             const hfi_kernels *kernels, const char *dir,
                             const hf_space_meta *meta, uint64_t wanted,
                             hf_error *err)
{
    hfi_sidecar side;
    uint8_t label[HFI_LABEL_BYTES];
    bool stored = false;
    uint32_t log = 0;
    hf_status s = hfi_sidecar_load(&side, env, dir, err);
    if (s != HF_OK)
        return s;
    uint64_t recorded = side.scrypt_n;
    hfi_sidecar_wipe(&side, env);
    if (wanted != 0 && recorded != 0 && wanted != recorded)
        return hfi_error(err, HF_E_STATE,
                         "scrypt N %llu was given, the set in %.100s has %llu",
                         (unsigned long long)wanted, dir,
                         (unsigned long long)recorded);
    uint64_t n = wanted != 0 ? wanted : recorded != 0 ? recorded : DEFAULT_N;
    s = hfi_space_log_n(&log, n, err);
    if (s == HF_OK)
        s = read_label_0(env, dir, &stored, label, err);
    if (s == HF_OK && stored && log <= MAX_CHECKED_LOG_N)
        s = check_label_0(kernels, meta, dir, log, label, err);
    if (s == HF_OK)
        *log_n = log;
    return s;
}

hf_status hf_space_find_scrypt_n(hf_context *ctx, uint64_t *scrypt_n,
                                 const char *dir, uint64_t wanted,
                                 hf_error *err)
{
    hf_space_meta meta = {.size = sizeof meta};
    uint32_t log_n;
    hf_status s = hfi_context_check(ctx, err);
    if (s != HF_OK)
        return s;
    if (scrypt_n == NULL || dir == NULL)
        return hfi_error(err, HF_E_ARGUMENT, "%s is NULL",
                         scrypt_n == NULL ? "scrypt_n" : "dir");
    const hfi_env *env = hfi_context_env(ctx);
    s = hfi_meta_load(&meta, env, dir, err);
    if (s == HF_OK)
        s = hfi_space_scrypt_n(&log_n, env, hfi_context_kernels(ctx), dir,
                               &meta, wanted, err);
    if (s == HF_OK)
        *scrypt_n = UINT64_C(1) << log_n;
    return s;
}

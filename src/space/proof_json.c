/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Proofs as JSON, read from hands that are not trusted: a text is refused by
 * its length before anything is allocated for it, and each member by name.
 * Whether a well-formed proof holds is for verification to say.
 */
#include "space/space.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PROOF_VERSION 1u
/* Some million indices; a proof of main net has 37, in under 500 bytes. */
#define MAX_TEXT ((size_t)16 << 20)

/* These calls belong to no context. */
static const hfi_env no_context = {0};

static const char *const member_names[] = {
    "version",        "nonce",   "indices",           "pow",
    "challenge",      "node_id", "commitment_atx_id", "num_units",
    "labels_per_unit"};

typedef struct reader {
    const char *what;
    const hfi_json *root;
    hf_error *err;
} reader;

/* Numbers and strings as they stand, cut; of others the type. */
static const char *shown(const hfi_json *node)
{
    switch (node->type) {
    case HFI_JSON_NUMBER:
    case HFI_JSON_STRING:
        return node->text;
    case HFI_JSON_BOOL:
        return node->truth ? "true" : "false";
    case HFI_JSON_ARRAY:
        return "an array";
    case HFI_JSON_OBJECT:
        return "an object";
    default:
        return "null";
    }
}

static hf_status wrong(const reader *r, const char *key, const hfi_json *node,
                       const char *allowed)
{
    return hfi_error(r->err, HF_E_FORMAT, "%s: %s is %.40s%s; allowed is %s",
                     r->what, key, shown(node), node->length > 40 ? "..." : "",
                     allowed);
}

static hf_status find(const reader *r, const char *key, const hfi_json **node)
{
    *node = hfi_json_member(r->root, key);
    if (!*node)
        return hfi_error(r->err, HF_E_FORMAT, "%s: %s is missing", r->what,
                         key);
    return HF_OK;
}

static hf_status read_u32(const reader *r, const char *key, uint32_t *out)
{
    const hfi_json *node;
    hf_status s = find(r, key, &node);
    if (s == HF_OK && !hfi_json_u32(node, out))
        s = wrong(r, key, node, "a number from 0 to 4294967295");
    return s;
}

static hf_status read_u64(const reader *r, const char *key, uint64_t *out)
{
    const hfi_json *node;
    hf_status s = find(r, key, &node);
    if (s == HF_OK && !hfi_json_u64(node, out))
        s = wrong(r, key, node, "a number from 0 to 18446744073709551615");
    return s;
}

/* Decimal digits in a string, since other readers of JSON would round it. */
static bool decimal(uint64_t *out, const hfi_json *node)
{
    uint64_t value = 0;
    if (node->type != HFI_JSON_STRING || node->length == 0 ||
        node->length > 20 || (node->length > 1 && node->text[0] == '0'))
        return false;
    for (size_t i = 0; i < node->length; i++) {
        if (node->text[i] < '0' || node->text[i] > '9')
            return false;
        uint64_t digit = (uint64_t)(node->text[i] - '0');
        if (value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *out = value;
    return true;
}

static hf_status read_pow(const reader *r, uint64_t *out)
{
    const hfi_json *node;
    hf_status s = find(r, "pow", &node);
    if (s == HF_OK && !decimal(out, node))
        s = wrong(r, "pow", node,
                  "a string of decimal digits, at most "
                  "\"18446744073709551615\"");
    return s;
}

static hf_status read_id(const reader *r, const char *key, uint8_t out[32])
{
    const hfi_json *node;
    hf_status s = find(r, key, &node);
    if (s == HF_OK && (node->type != HFI_JSON_STRING ||
                       !hfi_hex_decode(out, 32, node->text, node->length)))
        s = wrong(r, key, node, "a string of 64 hex digits");
    return s;
}

static hf_status check_members(const reader *r)
{
    uint32_t version = 0;
    if (r->root->type != HFI_JSON_OBJECT)
        return hfi_error(r->err, HF_E_FORMAT,
                         "%s: a proof is a JSON object, not %.40s", r->what,
                         shown(r->root));
    const size_t names = sizeof member_names / sizeof member_names[0];
    for (const hfi_json *m = r->root->child; m; m = m->next) {
        size_t i = 0;
        while (i < names && strcmp(m->key, member_names[i]) != 0)
            i++;
        if (i == names)
            return hfi_error(r->err, HF_E_FORMAT,
                             "%s: %.40s is no member of a proof", r->what,
                             m->key);
    }
    hf_status s = read_u32(r, "version", &version);
    if (s == HF_OK && version != PROOF_VERSION)
        s = hfi_error(r->err, HF_E_FORMAT, "%s: version is %u; allowed is %u",
                      r->what, version, PROOF_VERSION);
    return s;
}

static hf_status read_members(const reader *r, hf_space_proof *p)
{
    hf_status s = read_u32(r, "nonce", &p->nonce);
    if (s == HF_OK)
        s = read_pow(r, &p->pow);
    if (s == HF_OK)
        s = read_id(r, "challenge", p->challenge);
    if (s == HF_OK)
        s = read_id(r, "node_id", p->node_id);
    if (s == HF_OK)
        s = read_id(r, "commitment_atx_id", p->commitment_atx_id);
    if (s == HF_OK)
        s = read_u32(r, "num_units", &p->num_units);
    if (s == HF_OK)
        s = read_u64(r, "labels_per_unit", &p->labels_per_unit);
    return s;
}

/* The proof and the bytes of its indices are one piece of memory. */
static hf_status make_proof(hf_space_proof **out, const reader *r,
                            const hf_space_proof *head)
{
    const hfi_json *node;
    hf_status s = find(r, "indices", &node);
    if (s != HF_OK)
        return s;
    if (node->type != HFI_JSON_STRING || node->length % 2 != 0)
        return wrong(r, "indices", node, "a string of pairs of hex digits");
    size_t bytes = node->length / 2;
    hf_space_proof *p = hfi_calloc(&no_context, 1, sizeof *p + bytes);
    if (!p)
        return hfi_error(r->err, HF_E_MEMORY,
                         "%s: no memory for %zu bytes of indices", r->what,
                         bytes);
    *p = *head;
    uint8_t *indices = (uint8_t *)(p + 1);
    if (!hfi_hex_decode(indices, bytes, node->text, node->length)) {
        hfi_free(&no_context, p);
        return wrong(r, "indices", node, "a string of pairs of hex digits");
    }
    p->indices = indices;
    p->indices_bytes = bytes;
    *out = p;
    return HF_OK;
}

hf_status hf_space_proof_parse(hf_space_proof **proof, const char *what,
                               const char *json, size_t bytes, hf_error *err)
{
    if (!proof || !json)
        return hfi_error(err, HF_E_ARGUMENT, "%s is NULL",
                         proof ? "json" : "proof");
    if (!what)
        what = "proof";
    if (bytes > MAX_TEXT)
        return hfi_error(err, HF_E_FORMAT,
                         "%s: a text of %zu bytes; a proof has at most %zu",
                         what, bytes, MAX_TEXT);
    hfi_json_doc *doc = NULL;
    reader r = {.what = what, .err = err};
    hf_space_proof head = {0};
    hf_status s = hfi_json_parse(&doc, &r.root, &no_context, what, json, bytes,
                                 err);
    if (s == HF_OK)
        s = check_members(&r);
    if (s == HF_OK)
        s = read_members(&r, &head);
    if (s == HF_OK)
        s = make_proof(proof, &r, &head);
    hfi_json_free(doc);
    return s;
}

hf_status hf_space_proof_load(hf_space_proof **proof, const char *path,
                              hf_error *err)
{
    if (!proof || !path)
        return hfi_error(err, HF_E_ARGUMENT, "%s is NULL",
                         proof ? "path" : "proof");
    char *text = NULL;
    size_t bytes = 0;
    hf_status s = hfi_file_load(&no_context, path, MAX_TEXT, &text, &bytes,
                                err);
    if (s != HF_OK)
        return hfi_error_wrap(err, s, "cannot read proof %s", path);
    s = hf_space_proof_parse(proof, path, text, bytes, err);
    hfi_free(&no_context, text);
    return s;
}

void hf_space_proof_free(hf_space_proof *proof)
{
    hfi_free(&no_context, proof);
}

/* ---- writing --------------------------------------------------------------- */

enum { PART = 512 }; /* what stands before or after the indices fits */

static size_t format_tail(char out[PART], const hf_space_proof *p)
{
    char challenge[65], node_id[65], atx[65];
    hfi_hex_encode(challenge, p->challenge, 32);
    hfi_hex_encode(node_id, p->node_id, 32);
    hfi_hex_encode(atx, p->commitment_atx_id, 32);
    return (size_t)snprintf(out, PART,
                            "\",\n"
                            "  \"pow\": \"%" PRIu64 "\",\n"
                            "  \"challenge\": \"%s\",\n"
                            "  \"node_id\": \"%s\",\n"
                            "  \"commitment_atx_id\": \"%s\",\n"
                            "  \"num_units\": %" PRIu32 ",\n"
                            "  \"labels_per_unit\": %" PRIu64 "\n"
                            "}\n",
                            p->pow, challenge, node_id, atx, p->num_units,
                            p->labels_per_unit);
}

hf_status hf_space_proof_format(const hf_space_proof *proof, char *buffer,
                                size_t capacity, size_t *need, hf_error *err)
{
    if (!proof || !need || (!buffer && capacity > 0) ||
        (!proof->indices && proof->indices_bytes > 0))
        return hfi_error(err, HF_E_ARGUMENT, "%s is NULL",
                         !proof                    ? "proof"
                         : !need                   ? "need"
                         : !buffer && capacity > 0 ? "buffer"
                                                   : "proof->indices");
    char head[PART], tail[PART];
    size_t head_bytes = (size_t)snprintf(
        head, sizeof head,
        "{\n  \"version\": %u,\n  \"nonce\": %" PRIu32 ",\n  \"indices\": \"",
        PROOF_VERSION, proof->nonce);
    size_t tail_bytes = format_tail(tail, proof);
    size_t hex;
    if (!hfi_mul_size(&hex, proof->indices_bytes, 2) ||
        !hfi_add_size(need, hex, head_bytes + tail_bytes + 1))
        return hfi_error(err, HF_E_ARGUMENT,
                         "proof->indices_bytes is %zu: too large for a text",
                         proof->indices_bytes);
    if (capacity < *need)
        return hfi_error(err, HF_E_MEMORY,
                         "the proof as text needs %zu bytes, the buffer has "
                         "%zu",
                         *need, capacity);
    memcpy(buffer, head, head_bytes);
    hfi_hex_encode(buffer + head_bytes, proof->indices, proof->indices_bytes);
    memcpy(buffer + head_bytes + hex, tail, tail_bytes + 1);
    return HF_OK;
}

hf_status hf_space_proof_save(const hf_space_proof *proof, const char *path,
                              hf_error *err)
{
    if (!proof || !path)
        return hfi_error(err, HF_E_ARGUMENT, "%s is NULL",
                         proof ? "path" : "proof");
    size_t need = 0;
    hf_error refused; /* the buffer of 0 bytes always is */
    hf_status s = hf_space_proof_format(proof, NULL, 0, &need, &refused);
    if (s != HF_E_MEMORY) {
        if (err)
            *err = refused;
        return s;
    }
    char *text = hfi_calloc(&no_context, need, 1);
    if (!text)
        return hfi_error(err, HF_E_MEMORY,
                         "no memory for a proof as text of %zu bytes", need);
    s = hf_space_proof_format(proof, text, need, &need, err);
    if (s == HF_OK)
        s = hfi_file_replace(&no_context, path, text, need - 1, err);
    hfi_free(&no_context, text);
    if (s != HF_OK)
        return hfi_error_wrap(err, s, "cannot write proof %s", path);
    return HF_OK;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "space/proof_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const hfi_env plain_env = {0};

vectors vectors_open(const char *name)
{
    vectors v = {0};
    char path[1024];
    size_t bytes = 0;
    hf_error err;
    snprintf(path, sizeof path, "%s/space/%s", HF_VECTORS, name);
    if (hfi_file_load(&plain_env, path, 1u << 24, &v.text, &bytes, &err) !=
            HF_OK ||
        hfi_json_parse(&v.doc, &v.root, &plain_env, path, v.text, bytes,
                       &err) != HF_OK)
        fail_msg("%s: %s", err.message, err.cause);
    return v;
}

void vectors_close(vectors *v)
{
    hfi_json_free(v->doc);
    hfi_free(&plain_env, v->text);
    memset(v, 0, sizeof *v);
}

const hfi_json *want(const hfi_json *object, const char *key)
{
    const hfi_json *node = hfi_json_member(object, key);
    if (!node)
        fail_msg("a vector has no member %s", key);
    return node;
}

const hfi_json *want_list(const hfi_json *object, const char *key)
{
    const hfi_json *node = want(object, key);
    assert_int_equal(node->type, HFI_JSON_ARRAY);
    return node->child;
}

uint64_t node_u64(const hfi_json *node)
{
    assert_true(node->type == HFI_JSON_NUMBER ||
                node->type == HFI_JSON_STRING);
    char *end = NULL;
    uint64_t value = strtoull(node->text, &end, 10);
    if (end == node->text || *end != 0)
        fail_msg("%s is no whole number", node->text);
    return value;
}

uint64_t want_u64(const hfi_json *object, const char *key)
{
    return node_u64(want(object, key));
}

const char *want_text(const hfi_json *object, const char *key)
{
    const hfi_json *node = want(object, key);
    assert_int_equal(node->type, HFI_JSON_STRING);
    return node->text;
}

void want_hex(const hfi_json *object, const char *key, void *out, size_t bytes)
{
    const hfi_json *node = want(object, key);
    if (!hfi_hex_decode(out, bytes, node->text, node->length))
        fail_msg("%s is not %zu bytes of hex: %s", key, bytes, node->text);
}

uint8_t *node_hex(const hfi_json *node, size_t *bytes)
{
    assert_int_equal(node->type, HFI_JSON_STRING);
    *bytes = node->length / 2;
    uint8_t *out = malloc(*bytes + 1);
    assert_non_null(out);
    assert_true(hfi_hex_decode(out, *bytes, node->text, node->length));
    return out;
}

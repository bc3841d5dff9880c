/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Any bytes as JSON: refused with an error that has a text, or a tree that is
 * sound: depth, counts, terminated texts, distinct keys in each object.
 */
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void check_node(const hfi_json *node, int depth)
{
    size_t count = 0;
    uint64_t number;
    require(depth <= 64);
    if (node->type == HFI_JSON_STRING || node->type == HFI_JSON_NUMBER)
        require(node->text != NULL && strlen(node->text) == node->length);
    else
        require(node->text == NULL);
    (void)hfi_json_u64(node, &number);
    for (const hfi_json *m = node->child; m != NULL; m = m->next, count++) {
        require((m->key != NULL) == (node->type == HFI_JSON_OBJECT));
        if (m->key != NULL && count < 64) /* the search is linear */
            require(hfi_json_member(node, m->key) == m);
        check_node(m, depth + 1);
    }
    require(count == node->count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hfi_json_doc *doc = NULL;
    const hfi_json *root = NULL;
    hf_error err = {0};
    /* A copy of this size, so that a read past the end is seen. */
    char *text = malloc(size > 0 ? size : 1);
    if (text == NULL)
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    hf_status s = hfi_json_parse(&doc, &root, NULL, "input", text, size, &err);
    free(text);
    if (s == HF_OK) {
        check_node(root, 0);
        hfi_json_free(doc);
    } else
        require(s == HF_E_FORMAT && doc == NULL && err.message[0] != '\0');
    return 0;
}

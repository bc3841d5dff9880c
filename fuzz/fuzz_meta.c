/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Any bytes as metadata of a set: refused with an error that has a text, or
 * metadata that describe a possible layout and, written and read again, come
 * out the same.
 */
#include "space/space.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void check_layout(const hf_space_meta *m)
{
    hfi_layout l;
    uint64_t sum = 0;
    require(hfi_layout_of(&l, m, true, NULL) == HF_OK);
    require(l.files > 0 && l.labels_per_file > 0);
    uint32_t last = l.files - 1;
    sum = hfi_layout_file_first(&l, last) + hfi_layout_file_labels(&l, last);
    require(sum == l.labels_total && hfi_layout_file_labels(&l, last) > 0);
}

static void check_round_trip(const hf_space_meta *m)
{
    static const hfi_env env;
    hf_space_meta again;
    hfi_text t;
    hfi_text_init(&t, &env);
    hfi_meta_format(&t, m);
    require(!t.failed);
    require(hfi_meta_parse(&again, &env, "again", t.data, t.bytes, NULL) ==
            HF_OK);
    hfi_text_free(&t);
    require(memcmp(again.node_id, m->node_id, 32) == 0 &&
            memcmp(again.commitment_atx_id, m->commitment_atx_id, 32) == 0 &&
            again.labels_per_unit == m->labels_per_unit &&
            again.num_units == m->num_units &&
            again.max_file_size == m->max_file_size &&
            again.has_nonce == m->has_nonce && again.nonce == m->nonce &&
            again.has_nonce_value == m->has_nonce_value &&
            memcmp(again.nonce_value, m->nonce_value, 16) == 0 &&
            again.has_last_position == m->has_last_position &&
            again.last_position == m->last_position);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const hfi_env env;
    hf_error err = {0};
    hf_space_meta m;
    char *text = malloc(size > 0 ? size : 1);
    if (text == NULL)
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    hf_status s = hfi_meta_parse(&m, &env, "input", text, size, &err);
    free(text);
    if (s == HF_OK) {
        check_layout(&m);
        check_round_trip(&m);
    } else
        require(s == HF_E_FORMAT && err.message[0] != '\0');
    return 0;
}

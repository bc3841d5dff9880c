/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Any bytes as a proof in JSON: refused with an error that has a text, or a
 * proof that, written and read again, is the same; and whose list can be read
 * to its end at any width.
 */
#include <holdfast/space.h>

#include "space/space.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void check_list(const hf_space_proof *p)
{
    size_t bits = p->indices_bytes * 8;
    for (uint32_t width = 1; width <= 64; width += 21) {
        uint64_t sum = 0;
        for (size_t i = 0; i < bits / width && i < 1000; i++)
            sum |= hfi_space_unpack(p->indices, width, i);
        require(width == 64 || sum >> width == 0);
    }
}

static void check_again(const hf_space_proof *p)
{
    size_t need = 0;
    hf_space_proof *again = NULL;
    require(hf_space_proof_format(p, NULL, 0, &need, NULL) == HF_E_MEMORY);
    char *text = malloc(need);
    if (text == NULL)
        return;
    require(hf_space_proof_format(p, text, need, &need, NULL) == HF_OK);
    require(strlen(text) + 1 == need);
    require(hf_space_proof_parse(&again, "again", text, need - 1, NULL) ==
            HF_OK);
    require(again->nonce == p->nonce && again->pow == p->pow &&
            again->num_units == p->num_units &&
            again->labels_per_unit == p->labels_per_unit &&
            again->indices_bytes == p->indices_bytes);
    require(memcmp(again->indices, p->indices, p->indices_bytes) == 0);
    require(memcmp(again->challenge, p->challenge, 32) == 0);
    require(memcmp(again->node_id, p->node_id, 32) == 0);
    require(memcmp(again->commitment_atx_id, p->commitment_atx_id, 32) == 0);
    hf_space_proof_free(again);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hf_space_proof *proof = NULL;
    hf_error err = {0};
    /* A copy of this size, so that a read past the end is seen. */
    char *text = malloc(size > 0 ? size : 1);
    if (text == NULL)
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    hf_status s = hf_space_proof_parse(&proof, "input", text, size, &err);
    free(text);
    if (s == HF_OK) {
        check_list(proof);
        check_again(proof);
    } else {
        require(s == HF_E_FORMAT && proof == NULL && err.message[0] != '\0');
    }
    hf_space_proof_free(proof);
    return 0;
}

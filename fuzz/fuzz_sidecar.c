/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Any bytes as a sidecar: refused with an error that has a text, or values in
 * range and pending ranges in order, and the ranges survive being taken apart.
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

static void check_ranges(const hfi_label_ranges *r)
{
    for (size_t i = 0; i < r->count; i++) {
        require(r->range[i].from < r->range[i].to);
        require(i == 0 || r->range[i - 1].to < r->range[i].from);
    }
}

static void check_sidecar(hfi_sidecar *s)
{
    static const hfi_env env;
    uint32_t log_n;
    require(s->present);
    require(s->scrypt_n == 0 ||
            hfi_space_log_n(&log_n, s->scrypt_n, NULL) == HF_OK);
    require(memchr(s->writer_host, '\0', sizeof s->writer_host) != NULL);
    check_ranges(&s->pending);
    if (s->pending.count == 0)
        return;
    uint64_t from = s->pending.range[0].from;
    uint64_t to = s->pending.range[s->pending.count - 1].to;
    uint64_t middle = from + (to - from) / 2;
    require(hfi_ranges_remove(&s->pending, &env, middle, to, NULL) == HF_OK);
    check_ranges(&s->pending);
    require(hfi_ranges_add(&s->pending, &env, from, to, NULL) == HF_OK);
    require(s->pending.count == 1 && s->pending.range[0].from == from &&
            s->pending.range[0].to == to);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const hfi_env env;
    hf_error err = {0};
    hfi_sidecar s;
    char *text = malloc(size > 0 ? size : 1);
    if (text == NULL)
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    hf_status status = hfi_sidecar_parse(&s, &env, "input", text, size, &err);
    free(text);
    if (status == HF_OK) {
        check_sidecar(&s);
        hfi_sidecar_wipe(&s, &env);
    } else
        require((status == HF_E_FORMAT || status == HF_E_UNSUPPORTED) &&
                err.message[0] != '\0');
    return 0;
}

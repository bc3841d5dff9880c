/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Any bytes as a network file: refused with an error that has a text, or
 * parameters in their ranges.
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const hfi_env env;
    hf_error err = {0};
    uint32_t log_n;
    hf_space_network n;
    char *text = malloc(size > 0 ? size : 1);
    if (text == NULL)
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    hf_status s = hfi_network_parse(&n, &env, "input", text, size, &err);
    free(text);
    if (s != HF_OK) {
        require(s == HF_E_FORMAT && err.message[0] != '\0');
        return 0;
    }
    require(n.size == sizeof n && n.min_units <= n.max_units &&
            n.labels_per_unit > 0 &&
            hfi_space_log_n(&log_n, n.scrypt_n, NULL) == HF_OK);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A host of libholdfast: threads come and go. */
#include <holdfast/holdfast.h>

#include <stdio.h>
#include <string.h>

int main(void)
{
    hf_context *ctx = NULL;
    hf_error err;
    if (strcmp(hf_version(), HF_VERSION) != 0) {
        fprintf(stderr, "header %s, library %s\n", HF_VERSION, hf_version());
        return 1;
    }
    if (hf_context_open(&ctx, NULL, &err) != HF_OK) {
        fprintf(stderr, "%s: %s\n", err.message, err.cause);
        return 1;
    }
    hf_context_close(ctx);
    puts("libholdfast works");
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A host outside the tree, built against an installed holdfast. */
#include <holdfast/holdfast.h>

#include <stdio.h>
#include <string.h>

int main(void)
{
    if (strcmp(hf_version(), HF_VERSION) != 0) {
        fprintf(stderr, "header %s, library %s\n", HF_VERSION, hf_version());
        return 1;
    }
    puts(hf_status_name(HF_OK));
    return 0;
}

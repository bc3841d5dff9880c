/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A host of libpost: two labels of N = 2, a known answer. */
#include <holdfast_post.h>
#include <post.h>

#include <stdio.h>
#include <string.h>

int main(void)
{
    /* tests/vectors/space/labels.json: commitment 00..00 */
    static const uint8_t expected[32] = {
        0xff, 0x29, 0xde, 0xee, 0x25, 0x78, 0x17, 0x6c, 0x8c, 0x7d, 0x94,
        0x95, 0x16, 0x4e, 0x88, 0x21, 0xeb, 0x66, 0x5e, 0x43, 0x8d, 0xcd,
        0x38, 0x36, 0x3f, 0x8b, 0x73, 0xe7, 0x10, 0x5d, 0xc8, 0x4c,
    };
    static const uint8_t commitment[32];
    uint8_t labels[32] = {0};
    if (strstr(version(), hf_post_version()) == NULL) {
        fprintf(stderr, "%s is not of %s\n", version(), hf_post_version());
        return 1;
    }
    Initializer *init = new_initializer(CPU_PROVIDER_ID, 2, commitment, NULL);
    if (init == NULL || initialize(init, 0, 1, labels, NULL) >
                            InitializeResult_OkNonceNotFound) {
        fputs("no labels\n", stderr);
        return 1;
    }
    free_initializer(init);
    if (memcmp(labels, expected, sizeof expected) != 0) {
        fputs("wrong labels\n", stderr);
        return 1;
    }
    puts("libpost works");
    return 0;
}

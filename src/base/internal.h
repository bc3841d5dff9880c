/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Shared by the files of src/base only, and by its tests.
 */
#ifndef HFI_BASE_INTERNAL_H
#define HFI_BASE_INTERNAL_H

#include "base/base.h"

/*
 * Length of the valid UTF-8 sequence at `p` (shortest form, no surrogates, at
 * most U+10FFFF), 0 if there is none in the `bytes` that are left.
 */
size_t hfi_utf8_length(const uint8_t *p, size_t bytes);

/*
 * Copies `text` as one line of valid UTF-8: control characters and bytes that
 * are no UTF-8 become '?', line ends and tabs become spaces. What does not fit
 * is cut at a character and marked with "...". `capacity` is 8 or more.
 */
void hfi_one_line(char *out, size_t capacity, const char *text);

/*
 * A descriptor above 2 in place of `fd`, close-on-exec; -1 with errno if there
 * is none (`fd` is closed then). A negative `fd` is passed on.
 */
int hfi_fd_above_stdio(int fd);

/*
 * The parts of hfi_machine_detect that read files, with every path below
 * `root` ("" for the real ones), and the defaults drawn from all numbers.
 */
void hfi_machine_read_files(hfi_machine *m, const char *root);
void hfi_machine_defaults(hfi_machine *m);

#endif

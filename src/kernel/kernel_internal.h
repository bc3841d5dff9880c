/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The variants that are compiled in; private to src/kernel. */
#ifndef HFI_KERNEL_KERNEL_INTERNAL_H
#define HFI_KERNEL_KERNEL_INTERNAL_H

#include "kernel/kernel.h"

extern const hfi_label_kernel hfi_label_portable;
extern const hfi_label_kernel hfi_label_sse2;
extern const hfi_label_kernel hfi_label_avx2;
extern const hfi_label_kernel hfi_label_avx512;

extern const hfi_aes_kernel hfi_aes_portable;
extern const hfi_aes_kernel hfi_aes_ni;

#endif

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Door of src/context, layer 3: what modules above get from a context.
 * Implements <holdfast/context.h>.
 */
#ifndef HFI_CONTEXT_CONTEXT_H
#define HFI_CONTEXT_CONTEXT_H

#include <holdfast/context.h>

#include "backend/backend.h"
#include "base/base.h"
#include "kernel/kernel.h"
#include "pow/pow.h"
#include "sched/sched.h"

/*
 * HF_E_STATE if ctx is unusable here (NULL is HF_E_ARGUMENT; a forked child).
 * Every public call on a context begins with it.
 */
hf_status hfi_context_check(const hf_context *ctx, hf_error *err);

const hfi_env *hfi_context_env(const hf_context *ctx);
hfi_sched *hfi_context_sched(hf_context *ctx);
const hfi_kernels *hfi_context_kernels(const hf_context *ctx);
const hfi_machine *hfi_context_machine(const hf_context *ctx);
hfi_pow *hfi_context_pow(hf_context *ctx);
/* The CPU's labeler, made with the context and held by it. */
hfi_labeler *hfi_context_cpu_labeler(hf_context *ctx);

#endif

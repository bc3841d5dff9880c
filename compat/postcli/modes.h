/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The modes of the tool; each returns the exit status. */
#ifndef POSTCLI_MODES_H
#define POSTCLI_MODES_H

#include "flags.h"
#include "folder.h"
#include "host.h"

/* Refused, or failed: 1. Where the foreign tool panics: 2. */
enum { END_FINE = 0, END_FAILED = 1, END_PANIC = 2 };

int mode_providers(void);
int mode_num_files(const struct flags *f);
int mode_config(const struct flags *f);

int mode_verify(struct host *h);
int mode_nonce(struct host *h);
int mode_init(struct host *h); /* and -reset, -genproof */

/* Part of mode_init: everything but the last question was answered. */
int reset_run(struct host *h, const struct folder *folder);

#define CPU_PROVIDER UINT32_MAX

/*
 * The provider of a foreign number: GPUs are 0, 1, ..., the CPU is
 * CPU_PROVIDER. False if there is none; `tell` lists those there are.
 */
bool provider_find(hf_context *ctx, uint64_t number, hf_provider *out);
void provider_tell(hf_context *ctx);

#endif

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The set to be proved. Nothing is written and no lock is taken: a folder on
 * read-only media is as good as any. Invariant: a set that was opened has every
 * file at its exact size, so that a label's place follows from its index.
 */
#include "space/prove.h"

#include <inttypes.h>

static void warn_surplus(const hfi_prove_set *set, const hfi_env *env,
                         const hfi_space_files *files)
{
    if (files->surplus == 0)
        return;
    hfi_logf(env->log, HFI_LOG_WARN, "space",
             "%s: the set has %" PRIu32 " file%s, and %" PRIu32
             " more above the last, up to postdata_%" PRIu32
             ".bin%s: left alone, no part of the proof",
             set->dir, set->layout.files, set->layout.files == 1 ? "" : "s",
             files->surplus, files->surplus_last,
             files->surplus_last == UINT32_MAX ? " or beyond" : "");
}

static hf_status check_file(const hfi_prove_set *set,
                            const hfi_space_file *file, uint32_t number,
                            hf_error *err)
{
    uint64_t wanted = hfi_layout_file_labels(&set->layout, number) *
                      HFI_LABEL_BYTES;
    if (file->present && file->bytes == wanted)
        return HF_OK;
    if (!file->present)
        hfi_error(err, HF_E_STATE,
                  "postdata_%" PRIu32 ".bin is missing: wanted %" PRIu64
                  " bytes; initialise the set to its end",
                  number, wanted);
    else if (file->bytes < wanted)
        hfi_error(err, HF_E_STATE,
                  "postdata_%" PRIu32 ".bin has %" PRIu64
                  " bytes, wanted %" PRIu64 ": initialise the set to its end",
                  number, file->bytes, wanted);
    else
        hfi_error(err, HF_E_STATE,
                  "postdata_%" PRIu32 ".bin has %" PRIu64
                  " bytes, wanted %" PRIu64
                  ": too long, so the metadata or the file are of "
                  "another set",
                  number, file->bytes, wanted);
    return hfi_error_wrap(err, HF_E_STATE, "the data in %s are not complete",
                          set->dir);
}

static hf_status check_files(const hfi_prove_set *set, const hfi_env *env,
                             hf_error *err)
{
    hfi_space_files files = {0};
    hf_status s = hfi_space_files_scan(&files, env, set->dir, &set->layout,
                                       err);
    if (s != HF_OK)
        return s;
    warn_surplus(set, env, &files);
    for (uint32_t i = 0; i < set->layout.files && s == HF_OK; i++)
        s = check_file(set, &files.file[i], i, err);
    hfi_space_files_wipe(&files, env);
    return s;
}

hf_status hfi_prove_set_open(hfi_prove_set *set, const hfi_env *env,
                             const hfi_kernels *kernels, uint64_t scrypt_n,
                             hf_error *err)
{
    hf_status s = hfi_meta_load(&set->meta, env, set->dir, err);
    if (s == HF_OK)
        s = hfi_layout_of(&set->layout, &set->meta, true, err);
    if (s == HF_OK)
        s = check_files(set, env, err);
    if (s == HF_OK)
        s = hfi_space_scrypt_n(&set->log_n, env, kernels, set->dir, &set->meta,
                               scrypt_n, err);
    return s;
}

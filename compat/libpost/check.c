/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Stored labels against computed ones, by sample: verify_pos. */
#include "post_internal.h"

#include <inttypes.h>
#include <string.h>

uint64_t hfp_floor_n(uint64_t n)
{
    while ((n & (n - 1)) != 0)
        n &= n - 1;
    return n;
}

/* What a call asks for. */
typedef struct wish {
    const char *datadir;
    const uint32_t *from_file;
    const uint32_t *to_file;
    double fraction; /* percent */
    const ScryptParams *scrypt;
    bool first_only;
} wish;

static hf_status check_wish(const wish *w, hf_error *err)
{
    const ScryptParams *s = w->scrypt;
    uint64_t n = hfp_floor_n(s->n);
    if (w->datadir == NULL)
        return hfp_error(err, HF_E_ARGUMENT, "datadir is NULL");
    if (!hfp_is_utf8(w->datadir))
        return hfp_error(err, HF_E_ARGUMENT, "datadir is not UTF-8");
    if (n < 2 || n > UINT64_C(1) << 30 || s->r != 1 || s->p != 1)
        return hfp_error(err, HF_E_ARGUMENT,
                         "scrypt has n %" PRIuPTR ", r %" PRIuPTR
                         ", p %" PRIuPTR ": wanted n from 2 to 2^30, r and p 1",
                         s->n, s->r, s->p);
    return HF_OK;
}

/* Which files and how much of them; *nothing: no label is wanted. */
static hf_status choose_files(hf_space_check_opts *opts, bool *nothing,
                              const wish *w, hf_error *err)
{
    hf_space_meta meta = {.size = sizeof meta};
    hf_status s = hf_space_meta_load(&meta, w->datadir, err);
    if (s != HF_OK)
        return s;
    uint64_t labels = meta.labels_per_unit * meta.num_units;
    uint64_t last = (labels - 1) / (meta.max_file_size / 16);
    uint64_t to = w->to_file != NULL ? *w->to_file : last;
    opts->from_file = w->from_file != NULL ? *w->from_file : 0;
    *nothing = opts->from_file > to || !(w->fraction > 0);
    if (*nothing)
        return HF_OK;
    if (to > last)
        return hfp_error(err, HF_E_STATE,
                         "postdata_%" PRIu64 ".bin is not part of the set: "
                         "its last file is number %" PRIu64,
                         to, last);
    opts->to_file = (uint32_t)to;
    opts->percent = w->fraction < 100 ? w->fraction : 100;
    return HF_OK;
}

/* *job stays NULL if there is nothing to be checked. */
static hf_status start(hf_job **job, const wish *w, hf_error *err)
{
    hf_space_check_opts opts = HF_SPACE_CHECK_OPTS_INIT;
    bool nothing = false;
    hf_status s = choose_files(&opts, &nothing, w, err);
    if (s != HF_OK || nothing)
        return s;
    hf_context *ctx = hfp_context(err);
    if (ctx == NULL)
        return err->code;
    opts.scrypt_n = hfp_floor_n(w->scrypt->n);
    opts.first_only = w->first_only;
    do
        s = hf_space_check_start(ctx, job, w->datadir, &opts, err);
    while (hfp_again(s));
    return s;
}

static hf_status run(hf_space_bad_range *first, bool *bad, const wish *w,
                     hf_error *err)
{
    hf_job *job = NULL;
    hf_space_check_outcome found = {.size = sizeof found};
    hf_status s = start(&job, w, err);
    if (s == HF_OK && job != NULL)
        s = hf_job_wait(job, UINT64_MAX, err);
    if (s == HF_OK && job != NULL)
        s = hf_space_check_result(job, &found, err);
    *bad = s == HF_OK && found.range_count > 0;
    if (*bad)
        *first = found.ranges[0];
    hf_job_free(job);
    return s;
}

VerifyPosResult hf_post_verify_pos_ex(const char *datadir,
                                      const uint32_t *from_file,
                                      const uint32_t *to_file, double fraction,
                                      ScryptParams scrypt, hf_error *err)
{
    const wish w = {datadir, from_file, to_file, fraction, &scrypt, true};
    hf_space_bad_range first;
    VerifyPosResult r;
    bool bad;
    hf_error own;
    if (err == NULL)
        err = &own;
    *err = (hf_error){0};
    memset(&r, 0, sizeof r);
    if (check_wish(&w, err) != HF_OK) {
        r.tag = VerifyPosResult_InvalidArgument;
    } else if (run(&first, &bad, &w, err) != HF_OK) {
        r.tag = VerifyPosResult_Failed;
    } else if (bad) {
        r.tag = VerifyPosResult_Invalid;
        r.invalid.file = first.file;
        r.invalid.offset = first.offset;
        hfp_error(err, HF_OK,
                  "the label at byte %" PRIu64 " of postdata_%" PRIu32
                  ".bin is wrong",
                  first.offset, first.file);
    } else {
        r.tag = VerifyPosResult_Ok;
    }
    return r;
}

VerifyPosResult verify_pos(const char *datadir, const uint32_t *from_file,
                           const uint32_t *to_file, double fraction,
                           ScryptParams scrypt)
{
    hf_error err;
    VerifyPosResult r = hf_post_verify_pos_ex(datadir, from_file, to_file,
                                              fraction, scrypt, &err);
    hfp_report("verify_pos", &err);
    return r;
}

/* ---- as a job ------------------------------------------------------------------ */

hf_status hf_post_verify_pos_start(hf_post_job **job, const char *datadir,
                                   const uint32_t *from_file,
                                   const uint32_t *to_file, double fraction,
                                   ScryptParams scrypt, hf_error *err)
{
    const wish w = {datadir, from_file, to_file, fraction, &scrypt, false};
    hf_job *inner = NULL;
    hf_error own;
    if (err == NULL)
        err = &own;
    *err = (hf_error){0};
    if (job == NULL)
        return hfp_error(err, HF_E_ARGUMENT, "job is NULL");
    hf_status s = check_wish(&w, err);
    if (s == HF_OK)
        s = start(&inner, &w, err);
    if (s != HF_OK)
        return s;
    hf_post_job *j = hfp_job_new(HFP_CHECK, inner, err);
    if (j == NULL)
        return err->code;
    *job = j;
    return HF_OK;
}

hf_status hf_post_verify_pos_result(hf_post_job *job, hf_post_bad_range *out,
                                    size_t capacity, uint64_t *count,
                                    uint64_t *checked, hf_error *err)
{
    hf_space_check_outcome found = {.size = sizeof found};
    hf_post_job *j = hfp_job_get(job, HFP_CHECK, err);
    if (j == NULL)
        return HF_E_ARGUMENT;
    hf_status s = HF_OK;
    if (count == NULL || (out == NULL && capacity > 0))
        s = hfp_error(err, HF_E_ARGUMENT, "%s is NULL",
                      count == NULL ? "count" : "out");
    if (s == HF_OK && j->job != NULL)
        s = hf_space_check_result(j->job, &found, err);
    if (s == HF_OK) {
        for (size_t i = 0; i < capacity && i < found.range_count; i++)
            out[i] = (hf_post_bad_range){found.ranges[i].file,
                                         found.ranges[i].offset,
                                         found.ranges[i].labels};
        *count = found.ranges_total;
        if (checked != NULL)
            *checked = found.labels_checked;
    }
    hfp_handle_put(j);
    return s;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Labels of a range into the host's buffer. An Initializer is constant once
 * made, so several threads may use one. Invariant: a range is computed in
 * pieces, so the memory taken beside the host's buffer does not grow with it.
 */
#include "post_internal.h"

#include <inttypes.h>
#include <string.h>

#define PIECE_LABELS (UINT64_C(1) << 20)
#define LABEL_BYTES  16u
/* The address space of a process: no buffer has so many bytes. */
#define MOST_BYTES (UINT64_C(1) << 47)
#define MOST_N     (UINT64_C(1) << 30)

struct Initializer {
    hfp_handle handle;
    char provider[32];
    uint64_t n;
    uint8_t commitment[32];
    bool search;
    uint8_t difficulty[32];
};

static void destroy(hfp_handle *h)
{
    free(h);
}

static hf_status check_n(uintptr_t n, hf_error *err)
{
    if (n >= 2 && (n & (n - 1)) == 0 && n <= MOST_N)
        return HF_OK;
    return hfp_error(
        err, HF_E_ARGUMENT,
        "n is %" PRIuPTR ": it must be a power of two from 2 to 2^30", n);
}

Initializer *hf_post_new_initializer_ex(uint32_t provider_id, uintptr_t n,
                                        const uint8_t *commitment,
                                        const uint8_t *vrf_difficulty,
                                        hf_error *err)
{
    hf_provider p;
    hf_error own;
    if (err == NULL)
        err = &own;
    *err = (hf_error){0};
    if (commitment == NULL) {
        hfp_error(err, HF_E_ARGUMENT, "commitment is NULL");
        return NULL;
    }
    if (check_n(n, err) != HF_OK ||
        hfp_provider_find(&p, provider_id, err) != HF_OK)
        return NULL;
    Initializer *i = calloc(1, sizeof *i);
    if (i == NULL) {
        hfp_error(err, HF_E_MEMORY, "no memory for an initializer");
        return NULL;
    }
    memcpy(i->provider, p.id, sizeof i->provider);
    i->n = n;
    memcpy(i->commitment, commitment, 32);
    i->search = vrf_difficulty != NULL;
    if (i->search)
        memcpy(i->difficulty, vrf_difficulty, 32);
    hfp_handle_add(&i->handle, i, HFP_INITIALIZER, destroy);
    return i;
}

Initializer *new_initializer(uint32_t provider_id, uintptr_t n,
                             const uint8_t *commitment,
                             const uint8_t *vrf_difficulty)
{
    hf_error err;
    Initializer *i = hf_post_new_initializer_ex(provider_id, n, commitment,
                                                vrf_difficulty, &err);
    hfp_report("new_initializer", &err);
    return i;
}

void free_initializer(Initializer *initializer)
{
    (void)hfp_handle_drop(initializer, HFP_INITIALIZER);
}

/* ---- a range ----------------------------------------------------------------- */

static hf_status check_range(uint64_t start, uint64_t end, hf_error *err)
{
    if (end == UINT64_MAX)
        return hfp_error(err, HF_E_ARGUMENT,
                         "end is 2^64 - 1: the last label is 2^64 - 2");
    if (start > end)
        return hfp_error(err, HF_E_ARGUMENT,
                         "start %" PRIu64 " is above end %" PRIu64, start, end);
    if (end - start >= MOST_BYTES / LABEL_BYTES - 1)
        return hfp_error(err, HF_E_ARGUMENT,
                         "labels %" PRIu64 " to %" PRIu64 " fit into no buffer",
                         start, end);
    return HF_OK;
}

/* The lowest output so far, to be beaten; the host's out_nonce. */
typedef struct lowest {
    bool search;
    bool found;
    uint64_t nonce;
    uint8_t output[32];
} lowest;

static hf_status start_piece(hf_job **job, const Initializer *i, uint64_t start,
                             uint64_t count, const uint8_t *difficulty,
                             hf_error *err)
{
    hf_space_labels_opts opts = HF_SPACE_LABELS_OPTS_INIT;
    hf_context *ctx = hfp_context(err);
    hf_status s;
    if (ctx == NULL)
        return err->code;
    opts.scrypt_n = i->n;
    opts.provider = i->provider;
    opts.vrf_difficulty = difficulty;
    do
        s = hf_space_labels_start(ctx, job, i->commitment, start, count, &opts,
                                  err);
    while (hfp_again(s));
    return s;
}

static hf_status run_piece(const Initializer *i, uint64_t start, uint64_t count,
                           uint8_t *out, lowest *low, hf_error *err)
{
    hf_job *job = NULL;
    hf_space_labels labels = {.size = sizeof labels};
    hf_status s = start_piece(&job, i, start, count,
                              low->search ? low->output : NULL, err);
    if (s == HF_OK)
        s = hf_job_wait(job, UINT64_MAX, err);
    if (s == HF_OK)
        s = hf_space_labels_result(job, &labels, err);
    if (s == HF_OK) {
        memcpy(out, labels.labels, (size_t)count * LABEL_BYTES);
        if (labels.has_nonce) {
            low->found = true;
            low->nonce = labels.nonce;
            memcpy(low->output, labels.nonce_output, 32);
        }
    }
    hf_job_free(job);
    return s;
}

static InitializeResult run_range(const Initializer *i, uint64_t start,
                                  uint64_t end, uint8_t *out,
                                  uint64_t *out_nonce, hf_error *err)
{
    lowest low = {.search = i->search && out_nonce != NULL};
    uint64_t left = end - start + 1;
    if (low.search)
        memcpy(low.output, i->difficulty, 32);
    while (left > 0) {
        uint64_t count = left < PIECE_LABELS ? left : PIECE_LABELS;
        if (run_piece(i, start, count, out, &low, err) != HF_OK)
            return InitializeResult_Error;
        start += count;
        left -= count;
        out += count * LABEL_BYTES;
    }
    if (out_nonce == NULL)
        return InitializeResult_Ok;
    if (!low.found)
        return InitializeResult_OkNonceNotFound;
    *out_nonce = low.nonce;
    return InitializeResult_Ok;
}

InitializeResult hf_post_initialize_ex(Initializer *initializer, uint64_t start,
                                       uint64_t end, uint8_t *out_buffer,
                                       uint64_t *out_nonce, hf_error *err)
{
    hf_error own;
    if (err == NULL)
        err = &own;
    *err = (hf_error){0};
    Initializer *i = hfp_handle_get(initializer, HFP_INITIALIZER);
    InitializeResult r;
    if (i == NULL || out_buffer == NULL) {
        hfp_error(err, HF_E_ARGUMENT, "%s",
                  i == NULL ? "initializer is NULL, or was freed"
                            : "out_buffer is NULL");
        r = InitializeResult_InvalidArgument;
    } else if (check_range(start, end, err) != HF_OK) {
        r = InitializeResult_InvalidLabelsRange;
    } else {
        r = run_range(i, start, end, out_buffer, out_nonce, err);
    }
    hfp_handle_put(i);
    return r;
}

enum InitializeResult initialize(Initializer *initializer, uint64_t start,
                                 uint64_t end, uint8_t *out_buffer,
                                 uint64_t *out_nonce)
{
    hf_error err;
    InitializeResult r = hf_post_initialize_ex(initializer, start, end,
                                               out_buffer, out_nonce, &err);
    hfp_report("initialize", &err);
    return r;
}

/* ---- as a job ------------------------------------------------------------------ */

hf_status hf_post_initialize_start(hf_post_job **job, Initializer *initializer,
                                   uint64_t start, uint64_t end, hf_error *err)
{
    hf_error own;
    if (err == NULL)
        err = &own;
    *err = (hf_error){0};
    if (job == NULL)
        return hfp_error(err, HF_E_ARGUMENT, "job is NULL");
    Initializer *i = hfp_handle_get(initializer, HFP_INITIALIZER);
    if (i == NULL)
        return hfp_error(err, HF_E_ARGUMENT,
                         "initializer is NULL, or was freed");
    hf_job *inner = NULL;
    hf_status s = check_range(start, end, err);
    if (s == HF_OK)
        s = start_piece(&inner, i, start, end - start + 1,
                        i->search ? i->difficulty : NULL, err);
    hfp_handle_put(i);
    if (s != HF_OK)
        return s;
    *job = hfp_job_new(HFP_LABELS, inner, err);
    return *job != NULL ? HF_OK : err->code;
}

static hf_status copy_labels(const hf_post_job *j, uint8_t *out,
                             size_t out_bytes, uint64_t *out_nonce, bool *found,
                             hf_error *err)
{
    hf_space_labels labels = {.size = sizeof labels};
    hf_status s = hf_space_labels_result(j->job, &labels, err);
    if (s != HF_OK)
        return s;
    if (out == NULL)
        return hfp_error(err, HF_E_ARGUMENT, "out_buffer is NULL");
    if (out_bytes / LABEL_BYTES < labels.count)
        return hfp_error(err, HF_E_MEMORY,
                         "out_buffer has %zu bytes, %" PRIu64
                         " labels need %" PRIu64,
                         out_bytes, labels.count, labels.count * LABEL_BYTES);
    memcpy(out, labels.labels, (size_t)labels.count * LABEL_BYTES);
    if (labels.has_nonce && out_nonce != NULL)
        *out_nonce = labels.nonce;
    if (found != NULL)
        *found = labels.has_nonce;
    return HF_OK;
}

hf_status hf_post_initialize_result(hf_post_job *job, uint8_t *out_buffer,
                                    size_t out_bytes, uint64_t *out_nonce,
                                    bool *found, hf_error *err)
{
    hf_post_job *j = hfp_job_get(job, HFP_LABELS, err);
    if (j == NULL)
        return HF_E_ARGUMENT;
    hf_status s = copy_labels(j, out_buffer, out_bytes, out_nonce, found, err);
    hfp_handle_put(j);
    return s;
}

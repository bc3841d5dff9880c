/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * holdfast_post.h: what holdfast's libpost offers beyond post.h. Find these
 * functions with dlsym(): where hf_post_version is missing, the library is
 * another. They need no other library of holdfast's, only these headers.
 *
 * `..._ex` are the functions of post.h with the reason of a failure: *err is
 * filled (or NULL is passed); its code is HF_OK if nothing failed, and then its
 * message says why a proof does not hold ("" if it does). A failure is not
 * logged as well.
 *
 * `..._start` return at once with a job. It is asked for its progress, told to
 * stop, waited for, asked for its result, and freed; from any thread, but not
 * freed while another thread uses it. In a forked child jobs of the parent
 * cannot be used.
 */
#ifndef HOLDFAST_POST_H
#define HOLDFAST_POST_H

#include <holdfast/base.h>
#include <holdfast/job.h>

#include "post.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of holdfast itself, "0.1.0". Static. */
const char *hf_post_version(void);

/* ---- with the reason ------------------------------------------------------ */

InitializeResult hf_post_get_providers_ex(Provider *out, uintptr_t out_len,
                                          hf_error *err);
Initializer *hf_post_new_initializer_ex(uint32_t provider_id, uintptr_t n,
                                        const uint8_t *commitment,
                                        const uint8_t *vrf_difficulty,
                                        hf_error *err);
InitializeResult hf_post_initialize_ex(Initializer *initializer, uint64_t start,
                                       uint64_t end, uint8_t *out_buffer,
                                       uint64_t *out_nonce, hf_error *err);
Proof *hf_post_generate_proof_ex(const char *datadir,
                                 const unsigned char *challenge,
                                 ProofConfig cfg, uintptr_t nonces,
                                 uintptr_t threads, RandomXFlag pow_flags,
                                 hf_error *err);
VerifyPosResult hf_post_verify_pos_ex(const char *datadir,
                                      const uint32_t *from_file,
                                      const uint32_t *to_file, double fraction,
                                      ScryptParams scrypt, hf_error *err);
NewVerifierResult hf_post_new_verifier_ex(RandomXFlag flags, Verifier **out,
                                          hf_error *err);
VerifyResult hf_post_verify_proof_ex(const Verifier *verifier, Proof proof,
                                     const ProofMetadata *metadata,
                                     ProofConfig cfg, InitConfig init_cfg,
                                     hf_error *err);
VerifyResult hf_post_verify_proof_index_ex(const Verifier *verifier,
                                           Proof proof,
                                           const ProofMetadata *metadata,
                                           ProofConfig cfg, InitConfig init_cfg,
                                           uintptr_t index, hf_error *err);
VerifyResult hf_post_verify_proof_subset_ex(
    const Verifier *verifier, Proof proof, const ProofMetadata *metadata,
    ProofConfig cfg, InitConfig init_cfg, uintptr_t k3, const uint8_t *seed,
    uintptr_t seed_len, hf_error *err);

/* ---- as a job ------------------------------------------------------------- */

typedef struct hf_post_job hf_post_job;

/* fills *out, whose size is set by the caller */
hf_status hf_post_job_progress(hf_post_job *job, hf_progress *out);
/* Asks it to stop and returns at once. NULL is fine. */
void hf_post_job_cancel(hf_post_job *job);
/* At most timeout_ms (UINT64_MAX: for ever). HF_E_BUSY: it still runs; else the
 * job's own end. */
hf_status hf_post_job_wait(hf_post_job *job, uint64_t timeout_ms,
                           hf_error *err);
/* Cancels a job that runs; a proof is also waited for, up to half a second
 * while RandomX is set up. NULL, and what is freed already, is fine. */
void hf_post_job_free(hf_post_job *job);

/*
 * The labels lie in the job's memory, 16 bytes each, until it is freed: choose
 * ranges that fit.  gives *job
 */
hf_status hf_post_initialize_start(hf_post_job **job, Initializer *initializer,
                                   uint64_t start, uint64_t end, hf_error *err);
/*
 * Copies the labels (out_bytes: room at out_buffer; HF_E_MEMORY if too small).
 * *found says whether *out_nonce was set; both may be NULL.
 *   fills out_buffer, *out_nonce, *found;  HF_E_BUSY while the job runs
 */
hf_status hf_post_initialize_result(hf_post_job *job, uint8_t *out_buffer,
                                    size_t out_bytes, uint64_t *out_nonce,
                                    bool *found, hf_error *err);

/* gives *job */
hf_status hf_post_generate_proof_start(hf_post_job **job, const char *datadir,
                                       const unsigned char *challenge,
                                       ProofConfig cfg, uintptr_t nonces,
                                       uintptr_t threads, RandomXFlag pow_flags,
                                       hf_error *err);
/* gives *proof (free_proof);  HF_E_BUSY while the job runs */
hf_status hf_post_generate_proof_result(hf_post_job *job, Proof **proof,
                                        hf_error *err);

/* All bad labels of the sample, not only the lowest.  gives *job */
hf_status hf_post_verify_pos_start(hf_post_job **job, const char *datadir,
                                   const uint32_t *from_file,
                                   const uint32_t *to_file, double fraction,
                                   ScryptParams scrypt, hf_error *err);

typedef struct hf_post_bad_range {
    uint32_t file;
    uint64_t offset; /* bytes */
    uint64_t labels;
} hf_post_bad_range;

/*
 * The lowest `capacity` bad ranges, ascending; *count is how many there are in
 * all. *checked: labels looked at; may be NULL.
 *   fills out (NULL with capacity 0), *count, *checked;  HF_E_BUSY while the
 *   job runs
 */
hf_status hf_post_verify_pos_result(hf_post_job *job, hf_post_bad_range *out,
                                    size_t capacity, uint64_t *count,
                                    uint64_t *checked, hf_error *err);

#ifdef __cplusplus
}
#endif

#endif

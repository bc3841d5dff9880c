/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Private shared types of src/space; no other directory includes this. Layout
 * and metadata on disk, the sidecar, the formulas of the protocol.
 */
#ifndef HFI_SPACE_SPACE_H
#define HFI_SPACE_SPACE_H

#include <holdfast/space.h>

#include "context/context.h"
#include "hash/hash.h"

#define HFI_LABEL_BYTES      16u
#define HFI_META_NAME        "postdata_metadata.json"
#define HFI_SIDECAR_NAME     "holdfast.json"
#define HFI_NONCES_PER_GROUP 16u

/* ---- layout.c: files, metadata ------------------------------------------ */

typedef struct hfi_layout {
    uint64_t labels_total;
    uint64_t labels_per_file;
    uint32_t files; /* at least 1 */
} hfi_layout;

/* Checks ranges and products; HF_E_ARGUMENT or, for_file, HF_E_FORMAT. */
hf_status hfi_layout_of(hfi_layout *out, const hf_space_meta *meta,
                        bool for_file, hf_error *err);
uint64_t hfi_layout_file_labels(const hfi_layout *l, uint32_t file);
uint64_t hfi_layout_file_first(const hfi_layout *l, uint32_t file);

/* "<dir>/postdata_<file>.bin"; freed with hfi_free. NULL without memory. */
char *hfi_space_file_path(const hfi_env *env, const char *dir, uint32_t file);

/* Parses metadata text; every member checked, unknown ones ignored. */
hf_status hfi_meta_parse(hf_space_meta *out, const hfi_env *env,
                         const char *what, const char *text, size_t bytes,
                         hf_error *err);
/* `path` is a folder or a metadata file. */
hf_status hfi_meta_load(hf_space_meta *out, const hfi_env *env,
                        const char *path, hf_error *err);
/* Atomic; the exact form of the present tools. */
hf_status hfi_meta_save(const hf_space_meta *meta, const hfi_env *env,
                        const char *dir, hf_error *err);
/* The text of the file, in `t`, which the caller has initialised. */
void hfi_meta_format(hfi_text *t, const hf_space_meta *meta);

/* Parses the text of a network file; unknown members are refused. */
hf_status hfi_network_parse(hf_space_network *out, const hfi_env *env,
                            const char *what, const char *text, size_t bytes,
                            hf_error *err);

/* What lies in the folder: files of the set and those above. */
typedef struct hfi_space_file {
    uint64_t bytes;
    bool present;
} hfi_space_file;

typedef struct hfi_space_files {
    hfi_space_file *file; /* layout.files entries */
    uint32_t surplus;
    uint64_t surplus_bytes;
    uint32_t surplus_last; /* highest number seen; UINT32_MAX: or more */
} hfi_space_files;
hf_status hfi_space_files_scan(hfi_space_files *out, const hfi_env *env,
                               const char *dir, const hfi_layout *l,
                               hf_error *err);
void hfi_space_files_wipe(hfi_space_files *f, const hfi_env *env);

/* ---- sidecar.c: holdfast.json ------------------------------------------- */

/* Labels [from, to) of the set. */
typedef struct hfi_label_range {
    uint64_t from;
    uint64_t to;
} hfi_label_range;

/* Disjoint ranges in ascending order, none empty, none touching. */
typedef struct hfi_label_ranges {
    hfi_label_range *range;
    size_t count;
    size_t capacity;
} hfi_label_ranges;

hf_status hfi_ranges_add(hfi_label_ranges *r, const hfi_env *env, uint64_t from,
                         uint64_t to, hf_error *err);
hf_status hfi_ranges_remove(hfi_label_ranges *r, const hfi_env *env,
                            uint64_t from, uint64_t to, hf_error *err);
void hfi_ranges_wipe(hfi_label_ranges *r, const hfi_env *env);

/*
 * `pending`: labels there, where they are stored, may not be on disk after a
 * power loss and may not yet have been looked at for the VRF nonce. A range is
 * noted before its first label is written and taken out once its labels are
 * synced and metadata speak of the nonce among them.
 */
typedef struct hfi_sidecar {
    bool present;
    uint64_t scrypt_n; /* 0: not recorded */
    uint64_t writer_pid;
    uint64_t writer_start;
    char writer_host[64];
    hfi_label_ranges pending;
} hfi_sidecar;
/* Parses its text; unknown members are ignored. */
hf_status hfi_sidecar_parse(hfi_sidecar *out, const hfi_env *env,
                            const char *what, const char *text, size_t bytes,
                            hf_error *err);
/* A missing sidecar is no error; a broken one is HF_E_FORMAT, one of a later
 * version HF_E_UNSUPPORTED. */
hf_status hfi_sidecar_load(hfi_sidecar *out, const hfi_env *env,
                           const char *dir, hf_error *err);
/* Atomic; members we do not know are kept as they are in the file. */
hf_status hfi_sidecar_save(const hfi_sidecar *s, const hfi_env *env,
                           const char *dir, hf_error *err);
void hfi_sidecar_wipe(hfi_sidecar *s, const hfi_env *env);

/*
 * The N of a set: `wanted` if not 0, else the sidecar's, else 8192; log_n of
 * it. Label 0, if stored, is recomputed: HF_E_STATE names N and both labels if
 * it differs.
 */
hf_status hfi_space_scrypt_n(uint32_t *log_n, const hfi_env *env,
                             const hfi_kernels *kernels, const char *dir,
                             const hf_space_meta *meta, uint64_t wanted,
                             hf_error *err);
/* log2 of N; HF_E_ARGUMENT unless N is a power of two from 2 to 2^30. */
hf_status hfi_space_log_n(uint32_t *log_n, uint64_t n, hf_error *err);

/* ---- proof.c: formulas of the protocol ---------------------------------- */

void hfi_space_commitment(uint8_t out[32], const uint8_t node_id[32],
                          const uint8_t commitment_atx_id[32]);
/* 8 * floor(2^256 / labels), big-endian; false for fewer than 9 labels. */
bool hfi_space_vrf_difficulty(uint8_t out[32], uint64_t labels);
/* floor(2^64 * k1 / labels); false unless labels > k1. */
bool hfi_space_proving_difficulty(uint64_t *out, uint32_t k1, uint64_t labels);
/* Width of a packed index: bits needed for the number of labels itself. */
uint32_t hfi_space_index_bits(uint64_t labels);
/* First 16 bytes of BLAKE3(challenge || group || pow [|| nonce]). */
void hfi_space_group_key(uint8_t out[16], const uint8_t challenge[32],
                         uint32_t group, uint64_t pow);
void hfi_space_lazy_key(uint8_t out[16], const uint8_t challenge[32],
                        uint32_t group, uint64_t pow, uint32_t nonce);
/* Ceil(bits * count / 8) without overflow; false if that does not fit. */
bool hfi_space_packed_bytes(size_t *out, uint32_t bits, uint64_t count);
void hfi_space_pack(uint8_t *out, uint32_t bits, const uint64_t *indices,
                    size_t count);
/* Index at list position `at` of a packed list long enough for it. */
uint64_t hfi_space_unpack(const uint8_t *packed, uint32_t bits, uint64_t at);
/*
 * Positions picked by the seeded partial shuffle of 0 ... n - 1: k3 of them
 * (all n, shuffled, if k3 > n). seed_parts are hashed one after another.
 */
typedef struct hfi_bytes {
    const void *data;
    size_t bytes;
} hfi_bytes;
hf_status hfi_space_subset(uint64_t **out, size_t *count, const hfi_env *env,
                           const hfi_bytes *seed_parts, size_t parts,
                           uint64_t n, uint64_t k3, hf_error *err);

#endif

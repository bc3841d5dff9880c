/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * holdfast/space.h: space proofs (proof of space-time over scrypt labels).
 *
 * A data set is a folder with `postdata_<i>.bin` (labels of 16 bytes, no
 * header) and `postdata_metadata.json`, byte for byte as the present tools
 * write and read them, and a sidecar `holdfast.json` for what those have no
 * field for. A label: the first half of the 32-byte output of scrypt (ChaCha20/8
 * mixing, Keccak-512, r = p = 1) over commitment || index (64-bit
 * little-endian) || 32 zero bytes; commitment = BLAKE3(node id || commitment
 * ATX id).
 *
 * Identities, challenges and difficulties are 32 bytes; difficulties are
 * compared bytewise, first byte most significant, "met" meaning strictly below.
 *
 * All functions here may be called from any thread. Those that take no context
 * allocate with malloc and block on files alone. A start call returns at once,
 * and every one may fail with
 *   HF_E_ARGUMENT  a pointer is NULL or an option out of range: the text names
 *                  it, with the value and what is wanted
 *   HF_E_MEMORY    the job needs more than the whole budget: both are named
 *   HF_E_BUSY      every place for jobs is taken
 *   HF_E_STATE     the context is being closed, or belongs to a parent process
 * How the job itself may end stands at each. A result call with a job of
 * another operation is HF_E_ARGUMENT. In an opts struct 0 and NULL mean the
 * default; `size` is sizeof that struct, and the ..._OPTS_INIT set it.
 */
#ifndef HOLDFAST_SPACE_H
#define HOLDFAST_SPACE_H

#include <holdfast/base.h>
#include <holdfast/context.h>
#include <holdfast/job.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HF_SPACE_ID_BYTES    32
#define HF_SPACE_LABEL_BYTES 16
#define HF_SPACE_MAX_NONCES  4096u

/* ---- network parameters ------------------------------------------------- */

typedef struct hf_space_network {
    size_t size; /* sizeof(hf_space_network) */
    uint32_t min_units;
    uint32_t max_units;
    uint64_t labels_per_unit;
    uint64_t scrypt_n; /* a power of two */
    uint32_t k1;
    uint32_t k2;
    uint8_t pow_difficulty[32]; /* before division by the units */
} hf_space_network;

/*
 * Main net: units 4 to 1048576, 2^32 labels a unit, N 8192, k1 26, k2 37,
 * difficulty 000dfb23b0979b4b followed by zeros.  fills *out
 */
HF_API void hf_space_network_mainnet(hf_space_network *out);

/*
 * Reads a JSON object with any of min_units, max_units, labels_per_unit,
 * scrypt_n, k1, k2, pow_difficulty (hex); what is missing is main net's.
 *   borrows path;  fills *out
 *   HF_E_IO, HF_E_FORMAT (an unknown or wrong member is named)
 */
HF_API HF_CHECKED hf_status hf_space_network_load(hf_space_network *out,
                                                  const char *path,
                                                  hf_error *err);

/* ---- metadata and status ------------------------------------------------ */

typedef struct hf_space_meta {
    size_t size; /* in: sizeof(hf_space_meta) */
    uint8_t node_id[32];
    uint8_t commitment_atx_id[32];
    uint64_t labels_per_unit;
    uint32_t num_units;
    uint64_t max_file_size; /* bytes; floor(/16) labels a file */
    bool has_nonce;         /* VRF nonce: index of its label */
    uint64_t nonce;
    bool has_nonce_value; /* first 16 bytes of that label */
    uint8_t nonce_value[16];
    bool has_last_position; /* where the search beyond the data goes on */
    uint64_t last_position;
} hf_space_meta;

/*
 * Reads the metadata of a data set, or a metadata file itself.
 *   borrows path (folder or file);  fills *out
 *   HF_E_IO (not there), HF_E_FORMAT (member, value and range are named)
 */
HF_API HF_CHECKED hf_status hf_space_meta_load(hf_space_meta *out,
                                               const char *path, hf_error *err);

typedef struct hf_space_status {
    size_t size; /* in: sizeof(hf_space_status) */
    hf_space_meta meta;
    uint64_t scrypt_n;      /* 0: not recorded (a set of the present tools) */
    uint64_t labels_total;  /* of the whole set */
    uint64_t labels_stored; /* whole labels in the files that belong to it */
    uint32_t files_total;
    uint32_t files_complete;
    uint32_t files_partial;
    uint32_t files_surplus; /* above the last file: never touched */
    uint64_t bytes_surplus;
    uint64_t bytes_torn;       /* beyond the last whole label of a file */
    uint32_t files_too_long;   /* longer than their share */
    uint32_t first_incomplete; /* number of the first such file; files_total
                                  if all are complete */
    uint64_t writer_pid;       /* of the process that last wrote; 0: unknown */
    bool writer_alive;         /* on this host, and still there */
    char writer_host[64];
} hf_space_status;

/*
 * What is in a folder: reads metadata, sidecar and file sizes, no label. Quick;
 * blocks only on the file system.  borrows dir;  fills *out
 */
HF_API HF_CHECKED hf_status hf_space_get_status(hf_space_status *out,
                                                const char *dir, hf_error *err);

/*
 * The N of a set: `wanted` if not 0, else the sidecar's, else 8192. If label 0
 * is stored it is recomputed (N = 8192: 2 ms; not above 2^22).
 * Waits in the calling thread.
 *   borrows dir;  fills *scrypt_n
 *   HF_E_STATE  another N is recorded, or label 0 differs: both are named
 *   HF_E_IO, HF_E_FORMAT  metadata or sidecar cannot be read
 */
HF_API HF_CHECKED hf_status hf_space_find_scrypt_n(hf_context *ctx,
                                                   uint64_t *scrypt_n,
                                                   const char *dir,
                                                   uint64_t wanted,
                                                   hf_error *err);

/* ---- initialisation ----------------------------------------------------- */

#define HF_SPACE_FILES_ALL UINT32_MAX

typedef struct hf_space_init_opts {
    size_t size; /* sizeof(hf_space_init_opts) */
    hf_job_opts job;
    /* The set. For a resume node_id, commitment_atx_id, num_units,
     * labels_per_unit, max_file_size and scrypt_n may be NULL or 0: then what
     * the folder says counts. Given, they must agree with it. */
    const uint8_t *node_id;           /* borrows; 32 bytes */
    const uint8_t *commitment_atx_id; /* borrows; 32 bytes */
    uint32_t num_units;
    uint64_t labels_per_unit; /* 0 in a new set: 2^32 */
    uint64_t max_file_size;   /* bytes, at least 1024; 0: 4 GiB */
    uint64_t scrypt_n;        /* 0: the sidecar's, else 8192 */
    /* Part of the files, both included; no nonce search beyond the data. */
    uint32_t from_file;        /* 0 */
    uint32_t to_file;          /* HF_SPACE_FILES_ALL: the last */
    const char *provider;      /* borrows; NULL or "cpu" */
    bool no_nonce_search;      /* do not look for a VRF nonce beyond the data */
    uint64_t batch_labels;     /* 0: from the measured rate */
    uint64_t checkpoint_bytes; /* labels synced at least so often; 0: 1 GiB */
    uint32_t checkpoint_ms;    /* 0: 60 s */
} hf_space_init_opts;

#define HF_SPACE_INIT_OPTS_INIT                                                \
    {                                                                          \
        .size = sizeof(hf_space_init_opts), .to_file = HF_SPACE_FILES_ALL      \
    }

/* What an initialisation would do. Nothing is written, no label computed. */
typedef struct hf_space_plan {
    size_t size; /* in: sizeof(hf_space_plan) */
    hf_space_meta meta;
    uint64_t scrypt_n;
    bool exists; /* a set is there and agrees */
    uint32_t first_file;
    uint32_t last_file;
    uint64_t labels_total;  /* of these files */
    uint64_t labels_stored; /* of these, already there */
    uint64_t bytes_to_write;
    uint64_t bytes_free;   /* on the file system */
    uint64_t memory_bytes; /* largest resident size the job needs */
} hf_space_plan;

/*
 *   borrows ctx, dir, opts;  fills *out
 *   HF_E_ARGUMENT  an option is out of range
 *   HF_E_STATE     the folder belongs to another set, N differs (label 0
 *                  decides), or files exist above the last: both values named
 */
HF_API HF_CHECKED hf_status hf_space_init_plan(hf_context *ctx,
                                               hf_space_plan *out,
                                               const char *dir,
                                               const hf_space_init_opts *opts,
                                               hf_error *err);

/*
 * Starts initialising, or goes on with what an earlier run left: at every
 * moment each file is a valid prefix, labels are on disk before metadata that
 * speak of them. Default priority background. Shared context.
 *   borrows dir, opts;  gives *job (hf_job_free)
 *   HF_E_ARGUMENT, HF_E_BUSY, HF_E_MEMORY  at once
 * and as the job's end: HF_E_STATE as hf_space_init_plan(), or a file locked by
 * another process (HF_E_BUSY); HF_E_IO with the errno (also: not enough free
 * space, both numbers named); HF_E_DEVICE wrong labels, named, twice;
 * HF_E_CANCELLED. Whatever the end, a further start goes on.
 */
HF_API HF_CHECKED hf_status hf_space_init_start(hf_context *ctx, hf_job **job,
                                                const char *dir,
                                                const hf_space_init_opts *opts,
                                                hf_error *err);

typedef struct hf_space_init_outcome {
    size_t size;             /* in: sizeof(hf_space_init_outcome) */
    hf_space_meta meta;      /* as stored now */
    uint64_t labels_found;   /* already there at the start */
    uint64_t labels_written; /* by this job */
    uint64_t labels_beyond;  /* computed in search of a nonce, not stored */
    uint64_t bytes_torn;     /* cut at the start and made again */
    double labels_per_second;
} hf_space_init_outcome;

/*
 * How far the job came; also after a failure or cancel. HF_E_BUSY while it
 * runs; else HF_OK (the job's own end: hf_job_wait).  fills *out
 */
HF_API HF_CHECKED hf_status hf_space_init_result(const hf_job *job,
                                                 hf_space_init_outcome *out,
                                                 hf_error *err);

/* ---- VRF nonce ----------------------------------------------------------- */

typedef struct hf_space_nonce_opts {
    size_t size; /* sizeof(hf_space_nonce_opts) */
    hf_job_opts job;
    uint64_t scrypt_n;  /* 0: the sidecar's, else 8192 */
    uint32_t from_file; /* 0 */
    uint32_t to_file;   /* HF_SPACE_FILES_ALL */
} hf_space_nonce_opts;

#define HF_SPACE_NONCE_OPTS_INIT                                               \
    {                                                                          \
        .size = sizeof(hf_space_nonce_opts), .to_file = HF_SPACE_FILES_ALL     \
    }

/*
 * Reads the stored labels, takes the lowest, recomputes candidates and stores
 * the nonce in the metadata if it beats the one there.
 *   borrows dir, opts (NULL: defaults);  gives *job (hf_job_free)
 * The job's end: HF_E_NOT_FOUND  no label is below the difficulty; HF_E_STATE
 * N differs; HF_E_ARGUMENT  files outside the set; HF_E_FORMAT; HF_E_IO;
 * HF_E_MEMORY; HF_E_CANCELLED.
 */
HF_API HF_CHECKED hf_status
hf_space_nonce_start(hf_context *ctx, hf_job **job, const char *dir,
                     const hf_space_nonce_opts *opts, hf_error *err);

/* The metadata with the nonce found. HF_E_BUSY while the job runs, its error
 * if it failed.  fills *out */
HF_API HF_CHECKED hf_status hf_space_nonce_result(const hf_job *job,
                                                  hf_space_meta *out,
                                                  hf_error *err);

/* ---- labels in memory ----------------------------------------------------- */

typedef struct hf_space_labels_opts {
    size_t size; /* sizeof(hf_space_labels_opts) */
    hf_job_opts job;
    uint64_t scrypt_n;             /* 0: 8192 */
    const char *provider;          /* borrows; NULL or "cpu" */
    const uint8_t *vrf_difficulty; /* borrows; 32 bytes; NULL: no search */
} hf_space_labels_opts;

#define HF_SPACE_LABELS_OPTS_INIT                                              \
    {                                                                          \
        .size = sizeof(hf_space_labels_opts)                                   \
    }

/*
 * Starts computing labels [first, first + count) of a commitment (32 bytes)
 * into memory that the job owns: 16 bytes a label, counted against the budget.
 * The last index is at most 2^64 - 2. Default priority background. Shared
 * context.
 *   borrows commitment, opts (NULL: defaults);  gives *job (hf_job_free)
 * The job's end: HF_E_MEMORY; HF_E_CANCELLED.
 */
HF_API HF_CHECKED hf_status hf_space_labels_start(
    hf_context *ctx, hf_job **job, const uint8_t *commitment, uint64_t first,
    uint64_t count, const hf_space_labels_opts *opts, hf_error *err);

typedef struct hf_space_labels {
    size_t size;           /* in: sizeof(hf_space_labels) */
    const uint8_t *labels; /* 16 * count bytes, lent until hf_job_free() */
    uint64_t first;
    uint64_t count;
    bool has_nonce; /* the lowest 32-byte output is below the difficulty */
    uint64_t nonce; /* its index; the lowest of equals */
    uint8_t nonce_output[32];
} hf_space_labels;

/* HF_E_BUSY while the job runs, its error if it failed.  fills *out */
HF_API HF_CHECKED hf_status hf_space_labels_result(const hf_job *job,
                                                   hf_space_labels *out,
                                                   hf_error *err);

/* ---- proofs -------------------------------------------------------------- */

typedef struct hf_space_proof {
    uint32_t nonce;
    uint64_t pow;
    const uint8_t *indices; /* packed, least significant bit first, each as
                               wide as the number of labels needs */
    size_t indices_bytes;
    uint8_t challenge[32];
    uint8_t node_id[32];
    uint8_t commitment_atx_id[32];
    uint32_t num_units;
    uint64_t labels_per_unit;
} hf_space_proof;

/*
 * JSON form: version, nonce, indices (hex of the packed bytes), pow (decimal
 * string), challenge, node_id, commitment_atx_id (hex), num_units,
 * labels_per_unit. `what` names the text in errors. Unknown members are
 * refused.  borrows what, json;  gives *proof (hf_space_proof_free)
 *   HF_E_FORMAT  what is wrong is named: member, value, wanted
 *   HF_E_MEMORY
 */
HF_API HF_CHECKED hf_status hf_space_proof_parse(hf_space_proof **proof,
                                                 const char *what,
                                                 const char *json, size_t bytes,
                                                 hf_error *err);
/* The same from a file; HF_E_IO as well.
 *   borrows path;  gives *proof (hf_space_proof_free) */
HF_API HF_CHECKED hf_status hf_space_proof_load(hf_space_proof **proof,
                                                const char *path,
                                                hf_error *err);
/* Atomic, mode 0600; HF_E_IO: what was there is as it was.
 *   borrows proof, path */
HF_API HF_CHECKED hf_status hf_space_proof_save(const hf_space_proof *proof,
                                                const char *path,
                                                hf_error *err);
/*
 * The JSON text, terminated. *need is its length with the terminator; with
 * less capacity (or buffer NULL and capacity 0) nothing is written and
 * HF_E_MEMORY is returned.  borrows proof;  fills buffer, *need
 */
HF_API HF_CHECKED hf_status hf_space_proof_format(const hf_space_proof *proof,
                                                  char *buffer, size_t capacity,
                                                  size_t *need, hf_error *err);
/* Frees what parse and load gave. NULL is fine. */
HF_API void hf_space_proof_free(hf_space_proof *proof);

typedef enum hf_space_randomx {
    HF_SPACE_RANDOMX_AUTO = 0, /* fast; light with a warning if memory lacks */
    HF_SPACE_RANDOMX_FAST = 1, /* 2336 MiB, held by the context */
    HF_SPACE_RANDOMX_LIGHT = 2 /* 256 MiB */
} hf_space_randomx;

typedef struct hf_space_prove_opts {
    size_t size; /* sizeof(hf_space_prove_opts) */
    hf_job_opts job;
    uint32_t nonces; /* in one pass: a multiple of 16, 16 to 4096; 0: 128 */
    uint32_t k1;     /* 0: 26 */
    uint32_t k2;     /* 0: 37 */
    const uint8_t *pow_difficulty; /* borrows; 32 bytes; NULL: main net's */
    uint64_t scrypt_n;             /* 0: the sidecar's, else 8192 */
    hf_space_randomx randomx;
    bool large_pages;   /* explicit huge pages for RandomX if there are any */
    bool no_self_check; /* hand the proof out without verifying it */
} hf_space_prove_opts;

#define HF_SPACE_PROVE_OPTS_INIT                                               \
    {                                                                          \
        .size = sizeof(hf_space_prove_opts)                                    \
    }

/*
 * Starts proving: work step for each nonce group, then a pass over the data for
 * all nonces of a round, rounds up to nonce 4095. The proof is the lowest
 * nonce of the round that has k2 good labels, its lowest indices ascending: it
 * does not depend on the number of workers. Writes nothing. Default priority
 * normal. Shared context.
 *   borrows dir, challenge (32 bytes), opts (NULL: defaults);
 *   gives *job (hf_job_free)
 * The job's end: HF_E_NOT_FOUND  no nonce up to 4095 has k2 good labels;
 * HF_E_STATE  data incomplete, or N differs; HF_E_FORMAT  a bad label was used:
 * file, offset and index are named; HF_E_IO; HF_E_MEMORY; HF_E_CANCELLED.
 */
HF_API HF_CHECKED hf_status hf_space_prove_start(
    hf_context *ctx, hf_job **job, const char *dir, const uint8_t *challenge,
    const hf_space_prove_opts *opts, hf_error *err);

/* The proof, lent until hf_job_free(). HF_E_BUSY while the job runs, its error
 * if it failed.  fills *proof */
HF_API HF_CHECKED hf_status hf_space_prove_result(const hf_job *job,
                                                  const hf_space_proof **proof,
                                                  hf_error *err);

/* ---- verification --------------------------------------------------------- */

typedef enum hf_space_verify_mode {
    HF_SPACE_VERIFY_ALL = 0,
    HF_SPACE_VERIFY_ONE = 1,   /* the index at position `index` of the list */
    HF_SPACE_VERIFY_SUBSET = 2 /* k3 positions picked by `seed` */
} hf_space_verify_mode;

typedef struct hf_space_verify_opts {
    size_t size; /* sizeof(hf_space_verify_opts) */
    hf_job_opts job;
    hf_space_network network; /* bounds and parameters that bind */
    hf_space_verify_mode mode;
    uint64_t index;      /* with ONE, from 0; if not below k2 none is checked */
    uint64_t k3;         /* with SUBSET; more than k2: all of them */
    const uint8_t *seed; /* borrows; NULL only with 0 bytes */
    size_t seed_bytes;
    /* Also refuse what the network lets pass: repeated or out-of-range
     * indices, padding bits, top byte of pow, k2 = 0, k3 > k2, index >= k2. */
    bool strict;
    bool large_pages;
} hf_space_verify_opts;

typedef enum hf_space_verdict_kind {
    HF_SPACE_VALID = 0,
    HF_SPACE_INVALID = 1,
    HF_SPACE_INVALID_INDEX = 2 /* the label at list position index_id */
} hf_space_verdict_kind;

typedef struct hf_space_verdict {
    size_t size; /* in: sizeof(hf_space_verdict) */
    hf_space_verdict_kind kind;
    uint64_t index_id;    /* position in the list, in the reference's count */
    uint64_t label_index; /* the label there */
    char reason[252];     /* names field, value, wanted; "" if valid */
} hf_space_verdict;

/*
 * Verifies by the network's rules exactly. A proof that does not hold is no
 * error: the job ends with HF_OK and a verdict. Light RandomX memory is held by
 * the context. Default priority normal. Shared context.
 *   borrows proof, opts;  gives *job (hf_job_free)
 * The job's end: HF_E_MEMORY; HF_E_CANCELLED.
 */
HF_API HF_CHECKED hf_status hf_space_verify_start(
    hf_context *ctx, hf_job **job, const hf_space_proof *proof,
    const hf_space_verify_opts *opts, hf_error *err);

/* HF_E_BUSY while the job runs, its error if it failed.  fills *out */
HF_API HF_CHECKED hf_status hf_space_verify_result(const hf_job *job,
                                                   hf_space_verdict *out,
                                                   hf_error *err);

/* The same, waiting in the calling thread. borrows proof, opts;  fills *out */
HF_API HF_CHECKED hf_status hf_space_verify(hf_context *ctx,
                                            const hf_space_proof *proof,
                                            const hf_space_verify_opts *opts,
                                            hf_space_verdict *out,
                                            hf_error *err);

/* ---- checking stored labels ------------------------------------------------ */

typedef struct hf_space_check_opts {
    size_t size; /* sizeof(hf_space_check_opts) */
    hf_job_opts job;
    uint64_t scrypt_n;   /* 0: the sidecar's, else 8192 */
    uint32_t from_file;  /* 0 */
    uint32_t to_file;    /* HF_SPACE_FILES_ALL: the last */
    double percent;      /* of each file's labels, cut to whole labels; 100 and
                            more: all */
    uint64_t seed;       /* of the sample; 0: random */
    uint64_t max_ranges; /* bad ranges kept; 0: 65536, at most 2^24 */
    bool first_only;     /* stop at the first bad label */
} hf_space_check_opts;

#define HF_SPACE_CHECK_OPTS_INIT                                               \
    {                                                                          \
        .size = sizeof(hf_space_check_opts), .to_file = HF_SPACE_FILES_ALL,    \
        .percent = 100                                                         \
    }

/*
 * Starts comparing stored labels with computed ones: the same sample for the
 * same seed, spread evenly over each file. Writes nothing, takes no lock. Bad
 * labels are no error: the job ends with HF_OK and a list. Files of which no
 * label is wanted need not be there. Surplus and too long files are warned of.
 * Default priority background. Shared context.
 *   borrows dir, opts (NULL: defaults);  gives *job (hf_job_free)
 * The job's end: HF_E_ARGUMENT  files outside the set; HF_E_STATE  a file is
 * missing or short, and named; HF_E_FORMAT; HF_E_IO; HF_E_CANCELLED.
 */
HF_API HF_CHECKED hf_status
hf_space_check_start(hf_context *ctx, hf_job **job, const char *dir,
                     const hf_space_check_opts *opts, hf_error *err);

typedef struct hf_space_bad_range {
    uint32_t file;
    uint64_t offset; /* bytes in the file */
    uint64_t labels; /* so many from there on are bad */
} hf_space_bad_range;

typedef struct hf_space_check_outcome {
    size_t size;   /* in: sizeof(hf_space_check_outcome) */
    uint64_t seed; /* the one used: gives the same sample again */
    uint64_t labels_checked;
    uint64_t labels_bad;
    const hf_space_bad_range *ranges; /* ascending, the lowest max_ranges; lent
                                         until hf_job_free() */
    size_t range_count;
    uint64_t ranges_total; /* with those not kept */
} hf_space_check_outcome;

/* HF_E_BUSY while the job runs, its error if it failed.  fills *out */
HF_API HF_CHECKED hf_status hf_space_check_result(const hf_job *job,
                                                  hf_space_check_outcome *out,
                                                  hf_error *err);

/* ---- memory for proofs ahead of time --------------------------------------- */

typedef struct hf_space_warm_opts {
    size_t size; /* sizeof(hf_space_warm_opts) */
    hf_job_opts job;
    hf_space_randomx randomx;
    bool large_pages;
} hf_space_warm_opts;

#define HF_SPACE_WARM_OPTS_INIT                                                \
    {                                                                          \
        .size = sizeof(hf_space_warm_opts)                                     \
    }

/*
 * Builds the RandomX memory that proofs (FAST, AUTO) or verifications (LIGHT)
 * need; the context holds it from then on, until hf_context_trim(). A later job
 * neither waits for it nor fails for want of it. The outcome is the job's end.
 * Shared context.
 *   borrows opts (NULL: defaults);  gives *job (hf_job_free)
 *   HF_E_MEMORY  the system or the budget has no room
 */
HF_API HF_CHECKED hf_status hf_space_warm_start(hf_context *ctx, hf_job **job,
                                                const hf_space_warm_opts *opts,
                                                hf_error *err);

/* ---- measuring ------------------------------------------------------------ */

typedef struct hf_space_bench_opts {
    size_t size; /* sizeof(hf_space_bench_opts) */
    hf_job_opts job;
    uint64_t scrypt_n;    /* 0: 8192 */
    uint32_t duration_ms; /* 0: 2000 */
} hf_space_bench_opts;

typedef struct hf_space_bench_outcome {
    size_t size;              /* in: sizeof(hf_space_bench_outcome) */
    double labels_per_second; /* all workers together */
    uint32_t workers;
    uint32_t labels_in_flight; /* of one worker, as chosen */
    uint64_t scratch_bytes;    /* of one worker */
    const char *kernel;        /* file suffix of the variant */
} hf_space_bench_outcome;

/* Measures labels a second, writes nothing. Default priority normal. The job's
 * end: HF_E_MEMORY; HF_E_CANCELLED.
 *   borrows opts (NULL: defaults);  gives *job (hf_job_free) */
HF_API HF_CHECKED hf_status
hf_space_bench_start(hf_context *ctx, hf_job **job,
                     const hf_space_bench_opts *opts, hf_error *err);
/* HF_E_BUSY while the job runs, its error if it failed.  fills *out */
HF_API HF_CHECKED hf_status hf_space_bench_result(const hf_job *job,
                                                  hf_space_bench_outcome *out,
                                                  hf_error *err);

#ifdef __cplusplus
}
#endif

#endif

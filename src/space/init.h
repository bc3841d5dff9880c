/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Private to the init*.c files: what a run of initialisation is made of.
 *
 *   init_plan.c   what is wanted, what is there, what is to be done
 *   init_check.c  what a crash may have left: is it right, where is it cut
 *   init_files.c  labels into files, checkpoints
 *   init.c        the job: batches in flight, their order, the end
 */
#ifndef HFI_SPACE_INIT_H
#define HFI_SPACE_INIT_H

#include "space/space.h"

#define HFI_INIT_WINDOW    6u  /* batches there are */
#define HFI_INIT_COMPUTING 3u  /* of these, at the labeler at once */
#define HFI_INIT_SLOTS     16u /* files open between two checkpoints */
#define HFI_INIT_MAX_BATCH (UINT32_C(1) << 19)

/* ---- init_plan.c -------------------------------------------------------- */

/* The options, copied. */
typedef struct hfi_init_want {
    bool has_node_id;
    bool has_commitment_atx_id;
    bool no_nonce_search;
    uint8_t node_id[32];
    uint8_t commitment_atx_id[32];
    uint32_t num_units;
    uint32_t from_file;
    uint32_t to_file;
    uint64_t labels_per_unit;
    uint64_t max_file_size;
    uint64_t scrypt_n;
    uint64_t batch_labels;
    uint64_t checkpoint_bytes;
    uint64_t checkpoint_ns;
} hfi_init_want;

typedef struct hfi_init_plan {
    hf_space_meta meta; /* of the folder, or as it is going to be */
    hfi_layout layout;
    uint32_t log_n;
    bool exists; /* metadata are there */
    uint32_t first_file;
    uint32_t last_file;
    uint64_t first_label; /* of the range of files */
    uint64_t end_label;
    uint64_t labels_stored; /* in the range */
    uint64_t bytes_free;
    uint32_t max_batch;
    hfi_job_need need;
    hfi_space_files files;
    hfi_sidecar sidecar;
} hfi_init_plan;

/* What the plan needs to know of the machine. */
typedef struct hfi_init_host {
    const hfi_env *env;
    const hfi_kernels *kernels;
    uint32_t workers;
    uint64_t memory_budget;
} hfi_init_host;

hf_status hfi_init_want_copy(hfi_init_want *w, const hf_space_init_opts *opts,
                             hf_error *err);
/* Reads; writes nothing. */
hf_status hfi_init_plan_make(hfi_init_plan *p, const hfi_init_host *host,
                             const char *dir, const hfi_init_want *want,
                             hf_error *err);
void hfi_init_plan_wipe(hfi_init_plan *p, const hfi_env *env);
/* Largest batch and memory for this N. */
void hfi_init_memory(hfi_job_need *need, uint32_t *max_batch,
                     const hfi_init_host *host, uint32_t log_n,
                     const hfi_init_want *want);
/* Whether `label` is in a pending range of the sidecar. */
bool hfi_ranges_hold(const hfi_label_ranges *r, uint64_t label);

/* ---- the best label so far (nonce.c) ------------------------------------ */

/*
 * The VRF nonce: index of the lowest label, by its first 16 bytes, of those
 * whose 32 bytes are below the difficulty.
 */
typedef struct hfi_nonce_best {
    bool wanted; /* there is a difficulty */
    bool known;
    bool improved; /* by us */
    uint8_t difficulty[32];
    uint64_t index;
    uint8_t value[HFI_LABEL_BYTES];
} hfi_nonce_best;

void hfi_nonce_start(hfi_nonce_best *b, uint64_t labels_total);
/* Whether a label with these first 16 bytes may be better. */
bool hfi_nonce_may_beat(const hfi_nonce_best *b,
                        const uint8_t label[HFI_LABEL_BYTES]);
/* Takes a label if its 32 bytes are better. */
void hfi_nonce_take(hfi_nonce_best *b, uint64_t index, const uint8_t out32[32]);

/* ---- a run -------------------------------------------------------------- */

/* A data file that has been written to since the last checkpoint. */
typedef struct hfi_init_file {
    uint32_t number;
    hfi_file file;
    char *path;
    bool created;
    bool complete;
    uint64_t bytes;        /* its length */
    uint64_t synced_bytes; /* of these, surely on disk */
} hfi_init_file;

typedef enum hfi_batch_state {
    HFI_BATCH_FREE,
    HFI_BATCH_COMPUTING,
    HFI_BATCH_CHECKING,
    HFI_BATCH_READY,
    HFI_BATCH_WRITING
} hfi_batch_state;

#define HFI_INIT_SAMPLES 3u

typedef struct hfi_init_run hfi_init_run;

typedef struct hfi_init_batch {
    hfi_label_batch b;
    hfi_init_run *run;
    hfi_batch_state state;
    uint32_t capacity; /* labels that the buffer holds */
    uint32_t attempts;
    hfi_leaf check;
    uint32_t sample_count;
    uint64_t sample[HFI_INIT_SAMPLES]; /* positions in the batch */
    bool sample_min;                   /* the last sample is the lowest */
    bool wrong;
    bool no_memory;
    uint64_t wrong_index;
    uint8_t got[HFI_LABEL_BYTES];
    uint8_t expected[HFI_LABEL_BYTES];
} hfi_init_batch;

/* What a checkpoint makes last; a copy, since labels go on meanwhile. */
typedef struct hfi_checkpoint {
    hfi_leaf leaf;
    hfi_init_run *run;
    uint32_t slot_begin; /* files synced: [slot_begin, slot_end) */
    uint32_t slot_end;
    uint32_t slot_keep; /* slots from here on stay open */
    uint64_t slot_bytes[HFI_INIT_SLOTS];
    uint64_t done_label; /* labels of the range below it are in files */
    bool all_done;       /* nothing of the range is left pending */
    hfi_nonce_best best;
    bool beyond; /* the nonce lies beyond the data */
    bool has_position;
    uint64_t position;
    hf_space_meta meta; /* as stored then */
    hf_status status;
    bool sync_failed;
    hf_error error;
} hfi_checkpoint;

typedef struct hfi_writer {
    hfi_leaf leaf;
    hfi_init_run *run;
    hfi_init_batch *batch;
    bool open;           /* the last slot's file goes on */
    uint64_t done;       /* labels of the batch that are in files */
    uint32_t slot_limit; /* slots may be used below this number */
    hf_status status;
    hf_error error;
} hfi_writer;

typedef enum hfi_check_state {
    HFI_CHECK_FILE, /* between two files */
    HFI_CHECK_NEXT, /* what is to be looked at next in this one */
    HFI_CHECK_SCAN, /* blocks of a segment, upwards */
    HFI_CHECK_PROBE /* single labels, from the end downwards */
} hfi_check_state;

/* Checks of what is stored, see init_check.c. Positions count in labels of the
 * file under check. */
typedef struct hfi_checker {
    hfi_loop loop;
    bool running; /* the loop has been started */
    bool lacks_memory;
    bool pending;  /* the segment was pending: nonce search as well */
    bool unsynced; /* pending labels of this file were found right */
    bool tail_done;
    hfi_check_state state;
    uint32_t file;
    uint32_t last_full; /* highest complete file; UINT32_MAX: none */
    uint64_t stored;
    uint64_t good; /* looked at, up to here */
    uint64_t segment_end;
    uint64_t back; /* of the probe */
    uint64_t cuts;
    hfi_file in;
    char *path;
    uint8_t *block;
    uint64_t block_first;
    uint64_t block_count;
    uint64_t *points; /* positions to recompute */
    uint64_t point_count;
    uint32_t shape;
    _Atomic uint64_t worst; /* lowest position that was wrong */
    _Atomic bool no_memory;
} hfi_checker;

/* The file that keeps others out while nothing is written yet. */
typedef struct hfi_claim {
    bool held;
    bool created;
    uint32_t number;
    hfi_file file;
} hfi_claim;

typedef enum hfi_init_phase {
    HFI_INIT_OPEN,
    HFI_INIT_CHECK,
    HFI_INIT_LABELS,
    HFI_INIT_SEARCH,
    HFI_INIT_END
} hfi_init_phase;

struct hfi_init_run {
    hfi_env env; /* log only while the job runs */
    hfi_sched *sched;
    hf_job *job; /* set by the step */
    hfi_kernels kernels;
    hfi_labeler *labeler;
    char *dir;
    hfi_init_want want;
    hfi_init_host host;
    hfi_init_plan plan;
    bool planned;
    hfi_init_phase phase;
    bool warned_locks;
    bool checked; /* the range has been checked: pending ends with us */
    bool write_failed;
    bool sync_failed;

    hfi_label_run label_run;
    hfi_nonce_best best;
    bool found_beyond;
    uint64_t position; /* of the search beyond the data */
    bool position_known;

    hfi_claim claim;
    hfi_checker check;

    /* Work: labels missing, from a cursor upwards. */
    uint32_t next_file;
    uint64_t next_label; /* in that file */
    uint64_t done_label; /* all of the range below it is in files */

    hfi_init_batch batch[HFI_INIT_WINDOW];
    uint64_t head; /* oldest batch in use; the ring is [head, tail) */
    uint64_t tail;
    uint32_t batch_size;
    double rate;
    uint64_t rate_from_ns;
    uint64_t rate_labels;
    uint64_t random;

    hfi_init_file slot[HFI_INIT_SLOTS];
    uint32_t slot_begin; /* the step alone moves it */
    uint32_t slot_end;   /* the writer alone moves it */
    hfi_writer writer;
    hfi_checkpoint point;
    bool point_running;
    uint64_t unsynced_bytes;
    uint64_t last_point_ns;

    hf_space_meta stored_meta;
    uint64_t labels_found;
    uint64_t labels_written;
    uint64_t labels_beyond;
    uint64_t bytes_torn;
    uint64_t labels_begin_ns;
    uint64_t labels_end_ns;
};

/* ---- init.c ------------------------------------------------------------- */

hfi_step hfi_init_step(hf_job *job, void *state);
/* Of a batch: leaf of hfi_init_batch.check. */
bool hfi_init_check_samples(hfi_leaf *leaf, hfi_worker *worker);

/* ---- init_check.c ------------------------------------------------------- */

hf_status hfi_check_begin(hfi_init_run *r, hf_error *err);
/* Ends with the loop started, or with *done once all is checked and cut. */
hf_status hfi_check_step(hfi_init_run *r, bool *done, hf_error *err);
void hfi_check_end(hfi_init_run *r);
/* One label with `kernel` in a worker's scratch; false without memory. */
bool hfi_check_label(const hfi_label_kernel *kernel, const hfi_label_run *run,
                     uint64_t index, uint8_t out32[32], hfi_worker *worker);

/* ---- init_files.c ------------------------------------------------------- */

/* Under the folder's lock: claims the range, saves metadata and sidecar. */
hf_status hfi_files_claim(hfi_init_run *r, hf_error *err);
/* The same for what checks have cut: missing labels are pending. */
hf_status hfi_files_note_missing(hfi_init_run *r, hf_error *err);
/* Removes what a killed process left, where there is nothing else to do. */
void hfi_files_tidy(hfi_init_run *r);
/* Cuts a file of the range to so many labels. */
hf_status hfi_files_cut(hfi_init_run *r, uint32_t file, uint64_t labels,
                        hf_error *err);
bool hfi_files_write(hfi_leaf *leaf, hfi_worker *worker);
bool hfi_files_checkpoint(hfi_leaf *leaf, hfi_worker *worker);
/* Closes what the last checkpoint finished. */
hf_status hfi_files_settle(hfi_init_run *r, hf_error *err);
/* After a failed sync nothing since the last good one can be trusted. */
void hfi_files_cut_unsynced(hfi_init_run *r);
void hfi_files_close(hfi_init_run *r);

#endif

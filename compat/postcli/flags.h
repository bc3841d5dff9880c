/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The command line, read as Go's flag package reads it. */
#ifndef POSTCLI_FLAGS_H
#define POSTCLI_FLAGS_H

#include <stdbool.h>
#include <stdint.h>

enum flag {
    FLAG_COMMITMENT,
    FLAG_DATADIR,
    FLAG_FRACTION,
    FLAG_FROM_FILE,
    FLAG_GENPROOF,
    FLAG_ID,
    FLAG_LABELS_PER_UNIT,
    FLAG_LOG_LEVEL,
    FLAG_MAX_FILE_SIZE,
    FLAG_NUM_UNITS,
    FLAG_PRINT_CONFIG,
    FLAG_PRINT_NUM_FILES,
    FLAG_PRINT_PROVIDERS,
    FLAG_PROVIDER,
    FLAG_RESET,
    FLAG_SCRYPT_N,
    FLAG_SEARCH_FOR_NONCE,
    FLAG_TO_FILE,
    FLAG_VERIFY,
    FLAG_YES,
    FLAG_COUNT
};

struct flags {
    const char *datadir;
    const char *id;         /* hex; "" if none */
    const char *commitment; /* hex; "" if none */
    uint64_t provider;
    uint64_t num_units;
    uint64_t labels_per_unit;
    uint64_t max_file_size;
    uint64_t scrypt_n;
    int64_t from_file;
    int64_t to_file; /* counts if set */
    double fraction; /* percent */
    int log_level;   /* an hf_log_level */
    bool verify;
    bool search_for_nonce;
    bool print_providers;
    bool print_num_files;
    bool print_config;
    bool genproof;
    bool reset;
    bool yes;
    bool set[FLAG_COUNT]; /* given, even if with the default */
    const char *ignored;  /* the argument that ended the flags, or NULL */
    char home[4096];      /* holds the default of datadir */
};

enum flags_end { FLAGS_GO, FLAGS_HELP, FLAGS_WRONG };

/* Tells what is wrong, and the usage, on standard error. */
enum flags_end flags_read(struct flags *f, int argc, char **argv);

#define DEFAULT_LABELS_PER_UNIT UINT64_C(4294967296)
#define DEFAULT_SCRYPT_N        UINT64_C(8192)

#endif

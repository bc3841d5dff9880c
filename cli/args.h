/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The command line. One table of commands and one of options drive parsing,
 * help, suggestions and the manual's check.
 */
#ifndef CLI_ARGS_H
#define CLI_ARGS_H

#include <holdfast/base.h>

#include "text.h"

enum command_id {
    CMD_INIT,
    CMD_STATUS,
    CMD_NONCE,
    CMD_PROVE,
    CMD_VERIFY,
    CMD_BENCH,
    CMD_INFO,
    CMD_COUNT
};

enum option_id {
    OPT_ID,
    OPT_NEW_ID,
    OPT_COMMITMENT,
    OPT_UNITS,
    OPT_SIZE,
    OPT_LABELS_PER_UNIT,
    OPT_MAX_FILE_SIZE,
    OPT_FROM_FILE,
    OPT_TO_FILE,
    OPT_PROVIDER,
    OPT_NO_NONCE_SEARCH,
    OPT_DRY_RUN,
    OPT_SEARCH,
    OPT_CHALLENGE,
    OPT_OUT,
    OPT_NONCES,
    OPT_RANDOMX,
    OPT_NO_SELF_CHECK,
    OPT_PROOF,
    OPT_METADATA,
    OPT_SUBSET,
    OPT_SEED,
    OPT_INDEX,
    OPT_STRICT,
    OPT_K1,
    OPT_K2,
    OPT_POW_DIFFICULTY,
    OPT_LARGE_PAGES,
    OPT_DURATION,
    OPT_SCRYPT_N,
    OPT_NETWORK,
    OPT_THREADS,
    OPT_KERNEL,
    OPT_MEMORY,
    OPT_DEADLINE,
    OPT_JSON,
    OPT_QUIET,
    OPT_VERBOSE,
    OPT_COUNT
};

struct value {
    const char *text;  /* as given; NULL: not given */
    uint64_t number;   /* numbers, bytes of sizes, ms of durations, choices */
    uint8_t bytes[32]; /* of the 32-byte kinds */
};

enum args_wish { ARGS_RUN, ARGS_HELP, ARGS_VERSION };

struct args {
    enum args_wish wish;
    int command;         /* enum command_id; -1 with ARGS_HELP: the overview */
    const char *program; /* as it was called */
    const char *dir;     /* NULL where a command has none */
    struct value opt[OPT_COUNT];
    uint8_t *seed; /* decoded --seed, freed by args_free */
    size_t seed_bytes;
    bool json;      /* wanted, known even if parsing failed */
    char hint[512]; /* with an error: what to try; "" if nothing is known */
};

/* Fills *args; HF_E_ARGUMENT names thing, value and range. */
hf_status args_parse(struct args *args, int argc, char **argv, hf_error *err);
void args_free(struct args *args);

static inline bool args_has(const struct args *args, enum option_id id)
{
    return args->opt[id].text != NULL;
}

/* The number of an option, or `otherwise` if it was not given. */
static inline uint64_t args_number(const struct args *args, enum option_id id,
                                   uint64_t otherwise)
{
    return args->opt[id].text ? args->opt[id].number : otherwise;
}

/* The 32 bytes of an option; NULL if it was not given. */
static inline const uint8_t *args_bytes(const struct args *args,
                                        enum option_id id)
{
    return args->opt[id].text ? args->opt[id].bytes : NULL;
}

/* "space init" */
const char *args_command_name(int command);
/* "units" */
const char *args_option_name(enum option_id id);

/* Help of a command, or the overview for -1. */
void args_help(struct text *t, int command);

/*
 * The command that goes on where this one was stopped. With `short_form` the
 * folder knows what the set is, and only how to compute is repeated. `new_id`,
 * if not NULL, takes the place of --new-id, whose key is made by now.
 */
void args_again(struct text *t, const struct args *args, bool short_form,
                const char *new_id);

#endif

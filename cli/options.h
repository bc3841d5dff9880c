/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The tables of the command line; private to args.c and help.c. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "args.h"

enum option_kind {
    KIND_FLAG,
    KIND_NUMBER,   /* min ... max, a multiple of step if that is not 0 */
    KIND_POWER,    /* a power of two, min ... max */
    KIND_SIZE,     /* bytes, min ... max */
    KIND_DURATION, /* ms, min ... max */
    KIND_BYTES32,
    KIND_HEX,
    KIND_TEXT,
    KIND_CHOICE /* one of the words of `value`, parted by "|" */
};

enum option_group {
    GROUP_SET,
    GROUP_PROOF,
    GROUP_NETWORK,
    GROUP_WORK,
    GROUP_OUTPUT,
    GROUP_COUNT
};

/* How to compute, not what: repeated by the command that goes on. */
#define OPTION_HOW (1u << 31)

struct option {
    const char *name;  /* without dashes */
    const char *value; /* placeholder, NULL for a flag */
    const char *help;
    uint64_t min, max, step;
    enum option_kind kind;
    enum option_group group;
    uint32_t commands; /* bit per command_id, and OPTION_HOW */
};

struct command {
    const char *noun; /* NULL: none */
    const char *verb;
    const char *operand; /* "DIR" or NULL */
    bool operand_optional;
    const char *summary;  /* one line of the overview */
    const char *text;     /* paragraphs of its help */
    const char *examples; /* lines */
};

extern const struct option options[OPT_COUNT];
extern const struct command commands[CMD_COUNT];
extern const char *const group_titles[GROUP_COUNT];

#endif

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What commands and options there are. Everything else reads these tables:
 * parser, help, suggestions, and by way of --help the check of the manual.
 */
#include "options.h"

#define C(x)   (1u << CMD_##x)
#define FOLDER (C(INIT) | C(STATUS) | C(NONCE) | C(PROVE) | C(VERIFY))
#define CONTEXT                                                                \
    (C(INIT) | C(NONCE) | C(PROVE) | C(VERIFY) | C(BENCH) | C(STATUS) | C(INFO))
#define ALL   ((1u << CMD_COUNT) - 1)
#define RULES (C(PROVE) | C(VERIFY))

/* Beside the commands: tells how to compute, not what, see args_again(). */
#define HOW OPTION_HOW

#define FLAG(n, g, c, h)                                                       \
    {                                                                          \
        .name = (n), .kind = KIND_FLAG, .group = GROUP_##g, .commands = (c),   \
        .help = (h)                                                            \
    }
#define VALUE(n, v, k, g, c, h)                                                \
    {                                                                          \
        .name = (n), .value = (v), .kind = KIND_##k, .group = GROUP_##g,       \
        .commands = (c), .help = (h)                                           \
    }
#define RANGE(n, v, k, lo, hi, st, g, c, h)                                    \
    {                                                                          \
        .name = (n), .value = (v), .kind = KIND_##k, .min = (lo), .max = (hi), \
        .step = (st), .group = GROUP_##g, .commands = (c), .help = (h)         \
    }

const char *const group_titles[GROUP_COUNT] = {
    [GROUP_SET] = "The set",         [GROUP_PROOF] = "The proof",
    [GROUP_NETWORK] = "The network", [GROUP_WORK] = "The work",
    [GROUP_OUTPUT] = "Output",
};

const struct option options[OPT_COUNT] = {
    [OPT_ID] = VALUE("id", "ID", BYTES32, SET, C(INIT),
                     "Identity the data are made for: 64 hex digits, with or "
                     "without 0x, or 44 characters of base64."),
    [OPT_NEW_ID] = FLAG(
        "new-id", SET, C(INIT),
        "Make a new identity and keep its key as DIR/identity.key, "
        "which is never overwritten."),
    [OPT_COMMITMENT] = VALUE(
        "commitment-atx", "ID", BYTES32, SET, C(INIT),
        "Commitment ATX the data are bound to, in the same forms."),
    [OPT_UNITS] = RANGE("units", "N", NUMBER, 1, UINT32_MAX, 0, SET, C(INIT),
                        "Size of the set in units."),
    [OPT_SIZE] = RANGE("size", "SIZE", SIZE, 1, UINT64_MAX, 0, SET, C(INIT),
                       "The same in bytes (8TiB, 512GB), rounded down to whole "
                       "units."),
    [OPT_LABELS_PER_UNIT] = RANGE(
        "labels-per-unit", "N", NUMBER, 1, UINT64_MAX, 0, SET, C(INIT),
        "Labels of 16 bytes in a unit; default 4294967296, which is "
        "64 GiB."),
    [OPT_MAX_FILE_SIZE] = RANGE("max-file-size", "SIZE", SIZE, 1024, UINT64_MAX,
                                0, SET, C(INIT),
                                "Largest size of one data file; default 4GiB."),
    [OPT_FROM_FILE] = RANGE(
        "from-file", "I", NUMBER, 0, UINT32_MAX - 1, 0, SET,
        C(INIT) | C(NONCE) | HOW,
        "First file to work on; default 0. Several runs, on one "
        "machine or more, may share a set this way."),
    [OPT_TO_FILE] = RANGE(
        "to-file", "J", NUMBER, 0, UINT32_MAX - 1, 0, SET,
        C(INIT) | C(NONCE) | HOW,
        "Last file to work on, itself included; default: the last of "
        "the set."),
    [OPT_PROVIDER] = VALUE(
        "provider", "NAME", TEXT, WORK, C(INIT) | HOW,
        "What computes the labels, by a name that holdfast info "
        "lists; default cpu."),
    [OPT_NO_NONCE_SEARCH] = FLAG(
        "no-nonce-search", WORK, C(INIT) | HOW,
        "If the data hold no VRF nonce, do not go on looking for one "
        "beyond them."),
    [OPT_DRY_RUN] = FLAG("dry-run", WORK, C(INIT),
                         "Show what would be done, and stop there."),
    [OPT_SEARCH] = FLAG(
        "search", WORK, C(NONCE),
        "Read the data, take the best nonce in them and write it into "
        "the metadata."),
    [OPT_CHALLENGE] = VALUE(
        "challenge", "HEX32", BYTES32, PROOF, C(PROVE),
        "Challenge to answer: 32 bytes, in the forms of an identity. "
        "Required."),
    [OPT_OUT] = VALUE(
        "out", "FILE", TEXT, PROOF, C(PROVE),
        "Where the proof goes, written whole or not at all; an older "
        "file of this name is replaced. - or nothing: standard "
        "output."),
    [OPT_NONCES] = RANGE(
        "nonces", "N", NUMBER, 16, 4096, 16, PROOF, C(PROVE),
        "Nonces tried in one pass over the data; default 128. More "
        "make a second pass less likely and this one slower."),
    [OPT_RANDOMX] = VALUE(
        "randomx", "auto|fast|light", CHOICE, WORK, C(PROVE),
        "Memory of the work step: fast takes 2336 MiB, light 256 MiB "
        "and more time; auto, the default, is fast where memory "
        "allows."),
    [OPT_NO_SELF_CHECK] = FLAG(
        "no-self-check", WORK,
        C(PROVE), "Hand the proof out without verifying it first."),
    [OPT_PROOF] = VALUE("proof", "FILE", TEXT, PROOF, C(VERIFY),
                        "The proof to check; - for standard input. Required."),
    [OPT_METADATA] = VALUE(
        "metadata", "FILE", TEXT, PROOF, C(VERIFY),
        "Take the set's description from this metadata file, in "
        "place of DIR. N is what holdfast.json beside it says, else "
        "8192."),
    [OPT_SUBSET] = RANGE(
        "subset", "K3", NUMBER, 0, UINT32_MAX, 0, PROOF, C(VERIFY),
        "Check only so many of the indices, picked by --seed."),
    [OPT_SEED] = VALUE("seed", "HEX", HEX, PROOF, C(VERIFY),
                       "Seed of that choice, any number of bytes."),
    [OPT_INDEX] = RANGE(
        "index", "I", NUMBER, 0, UINT32_MAX, 0, PROOF, C(VERIFY),
        "Check only the index at this position of the proof's list, "
        "counted from 0."),
    [OPT_STRICT] = FLAG("strict", PROOF, C(VERIFY),
                        "Also refuse what the network lets pass: repeated and "
                        "out-of-range indices and the like."),
    [OPT_SCRYPT_N] = RANGE(
        "scrypt-n", "N", POWER, 2, 1u << 30, 0, NETWORK,
        FOLDER | C(BENCH) | HOW,
        "Cost of a label, a power of two; default: what the folder "
        "says, else 8192. Refused if the first label disagrees."),
    [OPT_NETWORK] = VALUE(
        "network", "mainnet|FILE", TEXT, NETWORK, FOLDER | HOW,
        "Hold the set to the rules of this network. FILE is JSON with "
        "any of min_units, max_units, labels_per_unit, scrypt_n, k1, "
        "k2, pow_difficulty."),
    [OPT_K1] = RANGE("k1", "N", NUMBER, 0, UINT32_MAX, 0, NETWORK, RULES,
                     "Labels of the set that are good for a nonce, on average; "
                     "default 26."),
    [OPT_K2] = RANGE("k2", "N", NUMBER, 0, UINT32_MAX, 0, NETWORK, RULES,
                     "Good labels a proof has to name; default 37."),
    [OPT_POW_DIFFICULTY] = VALUE(
        "pow-difficulty", "HEX32", BYTES32, NETWORK, RULES,
        "Difficulty of the work step for one unit; default that of "
        "main net."),
    [OPT_LARGE_PAGES] =
        FLAG("large-pages", WORK, RULES,
             "Use explicit 2 MiB pages for RandomX if the system has some "
             "set aside."),
    [OPT_DURATION] = RANGE("duration", "TIME", DURATION, 100, 600000, 0, WORK,
                           C(BENCH), "How long to measure; default 2s."),
    [OPT_THREADS] = RANGE(
        "threads", "T", NUMBER, 0, 1024, 0, WORK, CONTEXT | HOW,
        "Threads that compute, 1 to 1024; 0, the default: as many as "
        "the processors this process may use."),
    [OPT_KERNEL] = VALUE(
        "kernel", "NAME", TEXT, WORK, CONTEXT | HOW,
        "Force a kernel variant: portable, sse2, avx2, avx512."),
    [OPT_MEMORY] = RANGE(
        "memory", "SIZE", SIZE, 1 << 20, UINT64_MAX, 0, WORK, CONTEXT | HOW,
        "Most memory to use; default: half of what is free, or "
        "of the limit of the cgroup if that is less."),
    [OPT_DEADLINE] = RANGE(
        "deadline", "TIME", DURATION, 1, 1000ull * 86400000, 0, WORK,
        C(INIT) | C(NONCE) | C(PROVE) | C(VERIFY),
        "Stop after this time (90s, 10m, 8h) as if interrupted, with "
        "exit code 6."),
    [OPT_JSON] = FLAG("json", OUTPUT, ALL | HOW,
                      "Write JSON for programs, one object a line; the last is "
                      "\"done\" or \"error\"."),
    [OPT_QUIET] = FLAG("quiet", OUTPUT, ALL | HOW,
                       "No progress; results, warnings and errors only."),
    [OPT_VERBOSE] = FLAG(
        "verbose", OUTPUT, CONTEXT | HOW,
        "Also show the library's messages about what it does."),
};

const struct command commands[CMD_COUNT] = {
    [CMD_INIT] =
        {.noun = "space",
         .verb = "init",
         .operand = "DIR",
         .summary = "make a data set, or go on where an earlier run stopped",
         .text = "Fills a folder with the labels of a space proof. May be "
                 "stopped at any time: the same command, or just DIR, goes on. "
                 "A new set needs --id or --new-id, --commitment-atx, and "
                 "--units or --size.",
         .examples = "holdfast space init /data/post --new-id --size 1TiB \\\n"
                     "    --commitment-atx 9eeb...b86d\n"
                     "holdfast space init /data/post\n"},
    [CMD_STATUS] =
        {.noun = "space",
         .verb = "status",
         .operand = "DIR",
         .summary = "what a folder holds, and what is missing",
         .text = "Reads the metadata and the sizes of the files, no label.",
         .examples = "holdfast space status /data/post\n"},
    [CMD_NONCE] =
        {.noun = "space",
         .verb = "vrf-nonce",
         .operand = "DIR",
         .summary = "show the VRF nonce, or search for it in the data",
         .text = "Prints the VRF nonce that the metadata name; with --search "
                 "reads all the data for it.",
         .examples = "holdfast space vrf-nonce /data/post --search\n"},
    [CMD_PROVE] =
        {.noun = "space",
         .verb = "prove",
         .operand = "DIR",
         .summary = "prove that a folder keeps its data",
         .text = "Answers a challenge with a proof: the work step, then one "
                 "pass over the data. Nothing is written into DIR. The proof "
                 "does not depend on the number of threads.",
         .examples =
             "holdfast space prove /data/post --challenge 7b1f...09ac \\\n"
             "    --out proof.json\n"},
    [CMD_VERIFY] =
        {.noun = "space",
         .verb = "verify",
         .operand = "DIR",
         .operand_optional = true,
         .summary = "check a proof, by the network's rules",
         .text = "Checks a proof against the set it was made from. Neither the "
                 "data nor their machine are needed: with --metadata a copy of "
                 "postdata_metadata.json is enough. Ends with 0 if the proof "
                 "holds, with 1 if not.",
         .examples =
             "holdfast space verify /data/post --proof proof.json\n"
             "holdfast space verify --metadata copy.json --proof proof.json\n"},
    [CMD_BENCH] = {.noun = "space",
                   .verb = "bench",
                   .summary = "measure the labels a second of this machine",
                   .text = "Computes labels for a moment and writes nothing.",
                   .examples = "holdfast space bench\n"},
    [CMD_INFO] =
        {.verb = "info",
         .summary = "processors, memory and kernels, and why these",
         .text = "Shows what holdfast found on this machine, what it chose, "
                 "and where each number comes from.",
         .examples = "holdfast info\n"},
};

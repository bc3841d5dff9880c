/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What commands and options there are. Everything else reads these tables:
 * parser, help, suggestions, and by way of --help the check of the manual.
 */
#include "options.h"

#define C(x)    (1u << CMD_##x)
#define FOLDER  (C(INIT) | C(STATUS) | C(NONCE) | C(PROVE) | C(VERIFY))
#define JOBS    (C(INIT) | C(NONCE) | C(PROVE) | C(VERIFY) | C(BENCH))
#define CONTEXT (JOBS | C(STATUS) | C(INFO))
#define ALL     ((1u << CMD_COUNT) - 1)
#define RULES   (C(PROVE) | C(VERIFY))

const char *const group_titles[GROUP_COUNT] = {
    [GROUP_SET] = "The set",         [GROUP_PROOF] = "The proof",
    [GROUP_NETWORK] = "The network", [GROUP_WORK] = "The work",
    [GROUP_OUTPUT] = "Output",
};

const struct option options[OPT_COUNT] = {
    [OPT_ID] = {.name = "id",
                .value = "ID",
                .kind = KIND_BYTES32,
                .group = GROUP_SET,
                .commands = C(INIT),
                .help =
                    "Identity the data are made for: 64 hex digits, with or "
                    "without 0x, or 44 characters of base64."},
    [OPT_NEW_ID] =
        {.name = "new-id",
         .kind = KIND_FLAG,
         .group = GROUP_SET,
         .commands = C(INIT),
         .help = "Make a new identity and keep its key as DIR/identity.key, "
                 "which is never overwritten."},
    [OPT_COMMITMENT] =
        {.name = "commitment-atx",
         .value = "ID",
         .kind = KIND_BYTES32,
         .group = GROUP_SET,
         .commands = C(INIT),
         .help = "Commitment ATX the data are bound to, in the same forms."},
    [OPT_UNITS] = {.name = "units",
                   .value = "N",
                   .kind = KIND_NUMBER,
                   .min = 1,
                   .max = UINT32_MAX,
                   .group = GROUP_SET,
                   .commands = C(INIT),
                   .help = "Size of the set in units."},
    [OPT_SIZE] = {.name = "size",
                  .value = "SIZE",
                  .kind = KIND_SIZE,
                  .min = 1,
                  .max = UINT64_MAX,
                  .group = GROUP_SET,
                  .commands = C(INIT),
                  .help =
                      "The same in bytes (8TiB, 512GB), rounded down to whole "
                      "units."},
    [OPT_LABELS_PER_UNIT] =
        {.name = "labels-per-unit",
         .value = "N",
         .kind = KIND_NUMBER,
         .min = 1,
         .max = UINT64_MAX,
         .group = GROUP_SET,
         .commands = C(INIT),
         .help = "Labels of 16 bytes in a unit; default 4294967296, which is "
                 "64 GiB."},
    [OPT_MAX_FILE_SIZE] = {.name = "max-file-size",
                           .value = "SIZE",
                           .kind = KIND_SIZE,
                           .min = 1024,
                           .max = UINT64_MAX,
                           .group = GROUP_SET,
                           .commands = C(INIT),
                           .help =
                               "Largest size of one data file; default 4GiB."},
    [OPT_FROM_FILE] =
        {.name = "from-file",
         .value = "I",
         .kind = KIND_NUMBER,
         .min = 0,
         .max = UINT32_MAX - 1,
         .group = GROUP_SET,
         .commands = C(INIT) | C(NONCE),
         .how = true,
         .help = "First file to work on; default 0. Several runs, on one "
                 "machine or more, may share a set this way."},
    [OPT_TO_FILE] =
        {.name = "to-file",
         .value = "J",
         .kind = KIND_NUMBER,
         .min = 0,
         .max = UINT32_MAX - 1,
         .group = GROUP_SET,
         .commands = C(INIT) | C(NONCE),
         .how = true,
         .help = "Last file to work on, itself included; default: the last of "
                 "the set."},
    [OPT_PROVIDER] = {.name = "provider",
                      .value = "NAME",
                      .kind = KIND_TEXT,
                      .group = GROUP_WORK,
                      .commands = C(INIT),
                      .how = true,
                      .help = "What computes the labels; default cpu."},
    [OPT_NO_NONCE_SEARCH] =
        {.name = "no-nonce-search",
         .kind = KIND_FLAG,
         .group = GROUP_WORK,
         .commands = C(INIT),
         .how = true,
         .help = "If the data hold no VRF nonce, do not go on looking for one "
                 "beyond them."},
    [OPT_DRY_RUN] = {.name = "dry-run",
                     .kind = KIND_FLAG,
                     .group = GROUP_WORK,
                     .commands = C(INIT),
                     .help = "Show what would be done, and stop there."},
    [OPT_SEARCH] =
        {.name = "search",
         .kind = KIND_FLAG,
         .group = GROUP_WORK,
         .commands = C(NONCE),
         .help = "Read the data, take the best nonce in them and write it into "
                 "the metadata."},
    [OPT_CHALLENGE] =
        {.name = "challenge",
         .value = "HEX32",
         .kind = KIND_BYTES32,
         .group = GROUP_PROOF,
         .commands = C(PROVE),
         .help = "Challenge to answer: 32 bytes, in the forms of an identity. "
                 "Required."},
    [OPT_OUT] =
        {.name = "out",
         .value = "FILE",
         .kind = KIND_TEXT,
         .group = GROUP_PROOF,
         .commands = C(PROVE),
         .help = "Where the proof goes, written whole or not at all; an older "
                 "file of this name is replaced. - or nothing: standard "
                 "output."},
    [OPT_NONCES] =
        {.name = "nonces",
         .value = "N",
         .kind = KIND_NUMBER,
         .min = 16,
         .max = 4096,
         .step = 16,
         .group = GROUP_PROOF,
         .commands = C(PROVE),
         .help = "Nonces tried in one pass over the data; default 128. More "
                 "make a second pass less likely and this one slower."},
    [OPT_RANDOMX] =
        {.name = "randomx",
         .value = "auto|fast|light",
         .kind = KIND_CHOICE,
         .group = GROUP_WORK,
         .commands = C(PROVE),
         .help = "Memory of the work step: fast takes 2336 MiB, light 256 MiB "
                 "and more time; auto, the default, is fast where memory "
                 "allows."},
    [OPT_NO_SELF_CHECK] =
        {.name = "no-self-check",
         .kind = KIND_FLAG,
         .group = GROUP_WORK,
         .commands = C(PROVE),
         .help = "Hand the proof out without verifying it first."},
    [OPT_PROOF] = {.name = "proof",
                   .value = "FILE",
                   .kind = KIND_TEXT,
                   .group = GROUP_PROOF,
                   .commands = C(VERIFY),
                   .help =
                       "The proof to check; - for standard input. Required."},
    [OPT_METADATA] =
        {.name = "metadata",
         .value = "FILE",
         .kind = KIND_TEXT,
         .group = GROUP_PROOF,
         .commands = C(VERIFY),
         .help = "Take the set's description from this metadata file, in "
                 "place of DIR."},
    [OPT_SUBSET] = {.name = "subset",
                    .value = "K3",
                    .kind = KIND_NUMBER,
                    .min = 0,
                    .max = UINT32_MAX,
                    .group = GROUP_PROOF,
                    .commands = C(VERIFY),
                    .help =
                        "Check only so many of the indices, picked by --seed."},
    [OPT_SEED] = {.name = "seed",
                  .value = "HEX",
                  .kind = KIND_HEX,
                  .group = GROUP_PROOF,
                  .commands = C(VERIFY),
                  .help = "Seed of that choice, any number of bytes."},
    [OPT_INDEX] =
        {.name = "index",
         .value = "I",
         .kind = KIND_NUMBER,
         .min = 0,
         .max = UINT32_MAX,
         .group = GROUP_PROOF,
         .commands = C(VERIFY),
         .help = "Check only the index at this position of the proof's list, "
                 "counted from 0."},
    [OPT_STRICT] = {.name = "strict",
                    .kind = KIND_FLAG,
                    .group = GROUP_PROOF,
                    .commands = C(VERIFY),
                    .help =
                        "Also refuse what the network lets pass: repeated and "
                        "out-of-range indices and the like."},
    [OPT_SCRYPT_N] =
        {.name = "scrypt-n",
         .value = "N",
         .kind = KIND_POWER,
         .min = 2,
         .max = 1u << 30,
         .group = GROUP_NETWORK,
         .commands = FOLDER | C(BENCH),
         .how = true,
         .help = "Cost of a label, a power of two; default: what the folder "
                 "says, else 8192. Refused if the first label disagrees."},
    [OPT_NETWORK] =
        {.name = "network",
         .value = "mainnet|FILE",
         .kind = KIND_TEXT,
         .group = GROUP_NETWORK,
         .commands = FOLDER,
         .how = true,
         .help = "Hold the set to the rules of this network. FILE is JSON with "
                 "any of min_units, max_units, labels_per_unit, scrypt_n, k1, "
                 "k2, pow_difficulty."},
    [OPT_K1] = {.name = "k1",
                .value = "N",
                .kind = KIND_NUMBER,
                .min = 0,
                .max = UINT32_MAX,
                .group = GROUP_NETWORK,
                .commands = RULES,
                .help =
                    "Labels of the set that are good for a nonce, on average; "
                    "default 26."},
    [OPT_K2] = {.name = "k2",
                .value = "N",
                .kind = KIND_NUMBER,
                .min = 0,
                .max = UINT32_MAX,
                .group = GROUP_NETWORK,
                .commands = RULES,
                .help = "Good labels a proof has to name; default 37."},
    [OPT_POW_DIFFICULTY] =
        {.name = "pow-difficulty",
         .value = "HEX32",
         .kind = KIND_BYTES32,
         .group = GROUP_NETWORK,
         .commands = RULES,
         .help = "Difficulty of the work step for one unit; default that of "
                 "main net."},
    [OPT_LARGE_PAGES] =
        {.name = "large-pages",
         .kind = KIND_FLAG,
         .group = GROUP_WORK,
         .commands = RULES,
         .help = "Use explicit 2 MiB pages for RandomX if the system has some "
                 "set aside."},
    [OPT_DURATION] = {.name = "duration",
                      .value = "TIME",
                      .kind = KIND_DURATION,
                      .min = 100,
                      .max = 600000,
                      .group = GROUP_WORK,
                      .commands = C(BENCH),
                      .help = "How long to measure; default 2s."},
    [OPT_THREADS] =
        {.name = "threads",
         .value = "T",
         .kind = KIND_NUMBER,
         .min = 0,
         .max = 4096,
         .group = GROUP_WORK,
         .commands = CONTEXT,
         .how = true,
         .help = "Workers; 0, the default: as many as the processors this "
                 "process may use."},
    [OPT_KERNEL] =
        {.name = "kernel",
         .value = "NAME",
         .kind = KIND_TEXT,
         .group = GROUP_WORK,
         .commands = CONTEXT,
         .how = true,
         .help = "Force a kernel variant: portable, sse2, avx2, avx512."},
    [OPT_MEMORY] = {.name = "memory",
                    .value = "SIZE",
                    .kind = KIND_SIZE,
                    .min = 1 << 20,
                    .max = UINT64_MAX,
                    .group = GROUP_WORK,
                    .commands = CONTEXT,
                    .how = true,
                    .help =
                        "Most memory to use; default: half of what is there."},
    [OPT_DEADLINE] =
        {.name = "deadline",
         .value = "TIME",
         .kind = KIND_DURATION,
         .min = 1,
         .max = 1000ull * 86400000,
         .group = GROUP_WORK,
         .commands = C(INIT) | C(NONCE) | C(PROVE) | C(VERIFY),
         .help = "Stop after this time (90s, 10m, 8h) as if interrupted, with "
                 "exit code 6."},
    [OPT_JSON] = {.name = "json",
                  .kind = KIND_FLAG,
                  .group = GROUP_OUTPUT,
                  .commands = ALL,
                  .how = true,
                  .help =
                      "Write JSON for programs, one object a line; the last is "
                      "\"done\" or \"error\"."},
    [OPT_QUIET] = {.name = "quiet",
                   .kind = KIND_FLAG,
                   .group = GROUP_OUTPUT,
                   .commands = ALL,
                   .how = true,
                   .help = "No progress; results, warnings and errors only."},
    [OPT_VERBOSE] =
        {.name = "verbose",
         .kind = KIND_FLAG,
         .group = GROUP_OUTPUT,
         .commands = CONTEXT,
         .how = true,
         .help = "Also show the library's messages about what it does."},
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

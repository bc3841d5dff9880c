/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Hides the shape of the command line: one table of flags, from which reading
 * and usage both come. Its main invariant: no value is taken that was not read
 * whole, and a flag counts as set only if it was.
 */
#include "flags.h"

#include "numbers.h"

#include <holdfast/context.h>

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum kind { KIND_BOOL, KIND_UINT, KIND_INT, KIND_FLOAT, KIND_TEXT, KIND_LEVEL };

struct entry {
    const char *name;
    enum kind kind;
    size_t at;
    const char *text;
};

#define AT(member) offsetof(struct flags, member)

/* By name, as the usage lists them. */
static const struct entry table[FLAG_COUNT] = {
    [FLAG_COMMITMENT] = {"commitmentAtxId", KIND_TEXT, AT(commitment),
                         "commitment ATX id, hex of 32 bytes (required)"},
    [FLAG_DATADIR] = {"datadir", KIND_TEXT, AT(datadir), "folder of the data"},
    [FLAG_FRACTION] = {"fraction", KIND_FLOAT, AT(fraction),
                       "percent of the labels of each file that -verify "
                       "recomputes"},
    [FLAG_FROM_FILE] = {"fromFile", KIND_INT, AT(from_file),
                        "number of the first file (included)"},
    [FLAG_GENPROOF] = {"genproof", KIND_BOOL, AT(genproof),
                       "make and check a proof once the data are initialized"},
    [FLAG_ID] = {"id", KIND_TEXT, AT(id),
                 "node id (public key), hex of 32 bytes (a new key is made if "
                 "it is not given)"},
    [FLAG_LABELS_PER_UNIT] = {"labelsPerUnit", KIND_UINT, AT(labels_per_unit),
                              "labels of a unit"},
    [FLAG_LOG_LEVEL] = {"logLevel", KIND_LEVEL, AT(log_level),
                        "least level of log lines (debug, info, warn, error, "
                        "dpanic, panic, fatal)"},
    [FLAG_MAX_FILE_SIZE] = {"maxFileSize", KIND_UINT, AT(max_file_size),
                            "largest size of a file, in bytes"},
    [FLAG_NUM_UNITS] = {"numUnits", KIND_UINT, AT(num_units),
                        "number of units (required)"},
    [FLAG_PRINT_CONFIG] = {"printConfig", KIND_BOOL, AT(print_config),
                           "print the parameters in use"},
    [FLAG_PRINT_NUM_FILES] = {"printNumFiles", KIND_BOOL, AT(print_num_files),
                              "print how many files the data have"},
    [FLAG_PRINT_PROVIDERS] = {"printProviders", KIND_BOOL, AT(print_providers),
                              "print the compute providers"},
    [FLAG_PROVIDER] = {"provider", KIND_UINT, AT(provider),
                       "id of the compute provider (required)"},
    [FLAG_RESET] = {"reset", KIND_BOOL, AT(reset),
                    "delete data and metadata after a confirmation, and end"},
    [FLAG_SCRYPT_N] = {"scryptN", KIND_UINT, AT(scrypt_n),
                       "parameter N of scrypt"},
    [FLAG_SEARCH_FOR_NONCE] = {"searchForNonce", KIND_BOOL,
                               AT(search_for_nonce),
                               "search the stored labels for the VRF nonce"},
    [FLAG_TO_FILE] = {"toFile", KIND_INT, AT(to_file),
                      "number of the last file (included); the last of the "
                      "data if it is not given"},
    [FLAG_VERIFY] = {"verify", KIND_BOOL, AT(verify),
                     "compare a sample of the stored labels"},
    [FLAG_YES] = {"yes", KIND_BOOL, AT(yes),
                  "answer questions with yes, but for the deletion of "
                  "initialized data"},
};

static const struct {
    const char *name;
    int level;
} levels[] = {{"debug", HF_LOG_DEBUG}, {"info", HF_LOG_INFO},
              {"warn", HF_LOG_WARN},   {"error", HF_LOG_ERROR},
              {"dpanic", HF_LOG_OFF},  {"panic", HF_LOG_OFF},
              {"fatal", HF_LOG_OFF},   {"", HF_LOG_INFO}};

/* ---- values -------------------------------------------------------------- */

static void *member(struct flags *f, const struct entry *e)
{
    return (char *)f + e->at;
}

static bool take_level(int *out, const char *value)
{
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++)
        if (strcasecmp(levels[i].name, value) == 0) {
            *out = levels[i].level;
            return true;
        }
    fprintf(stderr,
            "invalid value \"%s\" for flag -logLevel: unrecognized level: "
            "\"%s\"\n",
            value, value);
    return false;
}

static bool take(struct flags *f, const struct entry *e, const char *value)
{
    static const char *const why[] = {
        [NUMBER_SYNTAX] = "parse error", [NUMBER_RANGE] = "value out of range"};
    enum number end = NUMBER_FINE;
    switch (e->kind) {
    case KIND_TEXT:
        memcpy(member(f, e), &value, sizeof value);
        return true;
    case KIND_LEVEL:
        return take_level(member(f, e), value);
    case KIND_BOOL:
        if (number_bool(member(f, e), value))
            return true;
        fprintf(stderr, "invalid boolean value \"%s\" for -%s: parse error\n",
                value, e->name);
        return false;
    case KIND_UINT:
        end = number_unsigned(member(f, e), value);
        break;
    case KIND_INT:
        end = number_signed(member(f, e), value);
        break;
    case KIND_FLOAT:
        end = number_float(member(f, e), value);
        break;
    }
    if (end == NUMBER_FINE)
        return true;
    fprintf(stderr, "invalid value \"%s\" for flag -%s: %s\n", value, e->name,
            why[end]);
    return false;
}

/* ---- usage --------------------------------------------------------------- */

static void tell_default(const struct flags *f, const struct entry *e)
{
    struct flags copy = *f;
    uint64_t number = 0;
    if (e->kind == KIND_TEXT && e->at == AT(datadir))
        fprintf(stderr, " (default \"%s\")", copy.datadir);
    else if (e->kind == KIND_FLOAT)
        fprintf(stderr, " (default %g)", copy.fraction);
    else if (e->kind == KIND_LEVEL)
        fprintf(stderr, " (default info)");
    else if (e->kind == KIND_UINT)
        memcpy(&number, member(&copy, e), sizeof number);
    if (number != 0)
        fprintf(stderr, " (default %llu)", (unsigned long long)number);
}

static void usage(const char *program)
{
    static const char *const kinds[] = {
        [KIND_BOOL] = "",        [KIND_UINT] = " uint",
        [KIND_INT] = " int",     [KIND_FLOAT] = " float",
        [KIND_TEXT] = " string", [KIND_LEVEL] = " value"};
    struct flags defaults;
    char *none[] = {NULL};
    flags_read(&defaults, 0, none);
    fprintf(stderr, "Usage of %s:\n", program);
    for (int i = 0; i < FLAG_COUNT; i++) {
        const struct entry *e = &table[i];
        fprintf(stderr, "  -%s%s\n    \t%s", e->name, kinds[e->kind], e->text);
        tell_default(&defaults, e);
        fprintf(stderr, "\n");
    }
}

/* ---- reading ------------------------------------------------------------- */

static void set_defaults(struct flags *f)
{
    const char *home = getenv("HOME");
    *f = (struct flags){.id = "",
                        .commitment = "",
                        .labels_per_unit = DEFAULT_LABELS_PER_UNIT,
                        .max_file_size = UINT64_C(4294967296),
                        .scrypt_n = DEFAULT_SCRYPT_N,
                        .fraction = 0.2,
                        .log_level = HF_LOG_INFO};
    snprintf(f->home, sizeof f->home, "%s%spost/data", home ? home : "",
             home && *home ? "/" : "");
    f->datadir = f->home;
}

/* The flag of so many bytes of name; FLAG_COUNT if there is none. */
static int find(const char *name, size_t bytes)
{
    int i = 0;
    while (i < FLAG_COUNT && (strncmp(table[i].name, name, bytes) != 0 ||
                              table[i].name[bytes] != '\0'))
        i++;
    return i;
}

/* Reads the argument *at, and perhaps the next. */
static enum flags_end read_one(struct flags *f, int argc, char **argv, int *at)
{
    const char *argument = argv[*at];
    const char *name = argument + (argument[1] == '-' ? 2 : 1);
    size_t bytes = strcspn(name, "=");
    const char *value = name[bytes] == '=' ? name + bytes + 1 : NULL;
    if (*name == '\0' || *name == '-' || *name == '=') {
        fprintf(stderr, "bad flag syntax: %s\n", argument);
        return FLAGS_WRONG;
    }
    int i = find(name, bytes);
    if (i == FLAG_COUNT) {
        if ((bytes == 1 && *name == 'h') ||
            (bytes == 4 && strncmp(name, "help", 4) == 0))
            return FLAGS_HELP;
        fprintf(stderr, "flag provided but not defined: -%.*s\n", (int)bytes,
                name);
        return FLAGS_WRONG;
    }
    if (value == NULL && table[i].kind == KIND_BOOL)
        value = "true";
    if (value == NULL && *at + 1 < argc)
        value = argv[++*at];
    if (value == NULL) {
        fprintf(stderr, "flag needs an argument: -%s\n", table[i].name);
        return FLAGS_WRONG;
    }
    f->set[i] = true;
    return take(f, &table[i], value) ? FLAGS_GO : FLAGS_WRONG;
}

enum flags_end flags_read(struct flags *f, int argc, char **argv)
{
    enum flags_end end = FLAGS_GO;
    int i = 1;
    set_defaults(f);
    for (; i < argc && end == FLAGS_GO; i++) {
        if (argv[i][0] != '-' || argv[i][1] == '\0')
            break;
        if (strcmp(argv[i], "--") == 0) {
            i++;
            break;
        }
        end = read_one(f, argc, argv, &i);
    }
    if (end != FLAGS_GO)
        usage(argv[0]);
    else if (i < argc)
        f->ignored = argv[i];
    return end;
}

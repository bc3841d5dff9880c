/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Hides how a command line is read. Its main invariant: what is accepted is in
 * the tables, wholly understood, and given once.
 */
#include "args.h"

#include "options.h"
#include "parse.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PRINTF(f, a) __attribute__((format(printf, f, a)))

PRINTF(3, 4)
static hf_status wrong(struct args *args, hf_error *err, const char *fmt, ...)
{
    va_list list;
    (void)args;
    *err = (hf_error){.code = HF_E_ARGUMENT};
    va_start(list, fmt);
    vsnprintf(err->message, sizeof err->message, fmt, list);
    va_end(list);
    return HF_E_ARGUMENT;
}

PRINTF(2, 3)
static void hint(struct args *args, const char *fmt, ...)
{
    va_list list;
    va_start(list, fmt);
    vsnprintf(args->hint, sizeof args->hint, fmt, list);
    va_end(list);
}

/* ---- names --------------------------------------------------------------- */

const char *args_command_name(int command)
{
    /* "noun verb", spelt out: there are few, and callers keep the pointer. */
    static const char *const names[CMD_COUNT] = {
        [CMD_INIT] = "space init",
        [CMD_STATUS] = "space status",
        [CMD_NONCE] = "space vrf-nonce",
        [CMD_PROVE] = "space prove",
        [CMD_VERIFY] = "space verify",
        [CMD_BENCH] = "space bench",
        [CMD_INFO] = "info",
    };
    return command >= 0 && command < CMD_COUNT ? names[command] : "help";
}

/* How many letters must be changed, put in, left out or swapped (Damerau). */
static size_t distance(const char *a, const char *b)
{
    enum { LIMIT = 32 };
    size_t rows[3][LIMIT + 1];
    size_t n = strlen(a), m = strlen(b);
    if (n > LIMIT || m > LIMIT)
        return SIZE_MAX;
    for (size_t j = 0; j <= m; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t *now = rows[i % 3], *up = rows[(i + 2) % 3];
        size_t *upper = rows[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t best = up[j - 1] + (a[i - 1] != b[j - 1]);
            if (up[j] + 1 < best)
                best = up[j] + 1;
            if (now[j - 1] + 1 < best)
                best = now[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
                a[i - 2] == b[j - 1] && upper[j - 2] + 1 < best)
                best = upper[j - 2] + 1;
            now[j] = best;
        }
    }
    return rows[n % 3][m];
}

/* Whether `name` is near enough to `typed` to be worth a suggestion; a name
 * begun or continued counts as near, too. */
static size_t nearness(const char *typed, const char *name)
{
    size_t d = distance(typed, name), length = strlen(typed);
    size_t most = length < 3 ? 1 : length < 6 ? 2 : 3;
    if (d <= most)
        return d;
    if (length >= 3 && (strncmp(typed, name, length) == 0 ||
                        strncmp(typed, name, strlen(name)) == 0))
        return most + 1;
    return SIZE_MAX;
}

static int nearest_option(int command, const char *typed)
{
    int best = -1;
    size_t least = SIZE_MAX;
    for (int o = 0; o < OPT_COUNT; o++) {
        if (!(options[o].commands >> command & 1))
            continue;
        size_t d = nearness(typed, options[o].name);
        if (d < least) {
            least = d;
            best = o;
        }
    }
    return best;
}

static const char *nearest_command(const char *noun, const char *typed)
{
    const char *best = NULL;
    size_t least = SIZE_MAX;
    for (int c = 0; c < CMD_COUNT; c++) {
        const char *has = commands[c].noun;
        const char *name = commands[c].verb;
        if (noun && (!has || strcmp(has, noun) != 0))
            continue;
        size_t d = nearness(typed, name);
        if (!noun && has && nearness(typed, has) < d)
            d = nearness(typed, has), name = has;
        if (d < least) {
            least = d;
            best = noun || !has || name == has ? name : args_command_name(c);
        }
    }
    return best;
}

/* ---- values -------------------------------------------------------------- */

static hf_status bad_value(struct args *args, const struct option *o,
                           const char *text, const char *wanted, hf_error *err)
{
    size_t length = strlen(text);
    /* Long values are cut: the end of the message says what was wanted. */
    return wrong(args, err, "--%s %.40s%s: %s", o->name, text,
                 length > 40 ? "..." : "", wanted);
}

static hf_status read_number(struct args *args, const struct option *o,
                             struct value *v, hf_error *err)
{
    char wanted[160];
    uint64_t n;
    bool fine = parse_number(&n, v->text) && n >= o->min && n <= o->max &&
                (o->step == 0 || n % o->step == 0);
    if (fine && o->kind == KIND_POWER)
        fine = (n & (n - 1)) == 0;
    if (fine) {
        v->number = n;
        return HF_OK;
    }
    if (o->kind == KIND_POWER)
        snprintf(wanted, sizeof wanted,
                 "must be a power of two from %" PRIu64 " to %" PRIu64, o->min,
                 o->max);
    else if (o->step)
        snprintf(wanted, sizeof wanted,
                 "must be a multiple of %" PRIu64 ", from %" PRIu64
                 " to %" PRIu64,
                 o->step, o->min, o->max);
    else
        snprintf(wanted, sizeof wanted,
                 "must be a whole number from %" PRIu64 " to %" PRIu64, o->min,
                 o->max);
    return bad_value(args, o, v->text, wanted, err);
}

static hf_status read_measure(struct args *args, const struct option *o,
                              struct value *v, hf_error *err)
{
    char wanted[160], least[FORM_BYTES], most[FORM_BYTES];
    bool time = o->kind == KIND_DURATION;
    uint64_t n;
    bool fine = time ? parse_duration(&n, v->text) : parse_size(&n, v->text);
    if (!fine)
        return bad_value(args, o, v->text,
                         time ? "must be a time, like 90s, 10m or 8h"
                              : "must be a size, like 4096, 512MB or 8TiB",
                         err);
    if (n >= o->min && n <= o->max) {
        v->number = n;
        return HF_OK;
    }
    (time ? form_duration : form_size)(least, o->min);
    (time ? form_duration : form_size)(most, o->max);
    snprintf(wanted, sizeof wanted, "must be at least %s%s%s", least,
             o->max == UINT64_MAX ? "" : " and at most ",
             o->max == UINT64_MAX ? "" : most);
    return bad_value(args, o, v->text, wanted, err);
}

static hf_status read_bytes32(struct args *args, const struct option *o,
                              struct value *v, hf_error *err)
{
    if (parse_bytes32(v->bytes, v->text))
        return HF_OK;
    char wanted[160];
    snprintf(wanted, sizeof wanted,
             "must be 32 bytes: 64 hex digits, with or without 0x, or 44 "
             "characters of base64 (these are %zu characters)",
             strlen(v->text));
    return bad_value(args, o, v->text, wanted, err);
}

static hf_status read_seed(struct args *args, const struct option *o,
                           struct value *v, hf_error *err)
{
    free(args->seed);
    args->seed = malloc(strlen(v->text) + 1);
    if (args->seed == NULL) {
        *err = (hf_error){.code = HF_E_MEMORY, .message = "no memory"};
        return HF_E_MEMORY;
    }
    if (parse_hex(args->seed, &args->seed_bytes, v->text))
        return HF_OK;
    return bad_value(args, o, v->text,
                     "must be hex: two digits a byte, with or without 0x", err);
}

static hf_status read_choice(struct args *args, const struct option *o,
                             struct value *v, hf_error *err)
{
    char wanted[160];
    size_t length = strlen(v->text);
    uint64_t which = 0;
    for (const char *s = o->value; *s; which++) {
        size_t word = strcspn(s, "|");
        if (word == length && strncmp(s, v->text, word) == 0) {
            v->number = which;
            return HF_OK;
        }
        s += word + (s[word] == '|');
    }
    snprintf(wanted, sizeof wanted, "must be one of %s", o->value);
    return bad_value(args, o, v->text, wanted, err);
}

static hf_status read_value(struct args *args, int id, const char *text,
                            hf_error *err)
{
    const struct option *o = &options[id];
    struct value *v = &args->opt[id];
    if (v->text)
        return wrong(args, err, "--%s is given twice", o->name);
    v->text = text;
    switch (o->kind) {
    case KIND_FLAG:
        return HF_OK;
    case KIND_NUMBER:
    case KIND_POWER:
        return read_number(args, o, v, err);
    case KIND_SIZE:
    case KIND_DURATION:
        return read_measure(args, o, v, err);
    case KIND_BYTES32:
        return read_bytes32(args, o, v, err);
    case KIND_HEX:
        return read_seed(args, o, v, err);
    case KIND_CHOICE:
        return read_choice(args, o, v, err);
    case KIND_TEXT:
        break;
    }
    if (text[0] == '\0')
        return wrong(args, err, "--%s: must not be empty", o->name);
    return HF_OK;
}

/* ---- options and operands ------------------------------------------------ */

static int find_option(const char *name, size_t length)
{
    for (int o = 0; o < OPT_COUNT; o++) {
        if (strlen(options[o].name) == length &&
            strncmp(options[o].name, name, length) == 0)
            return o;
    }
    return -1;
}

static hf_status unknown_option(struct args *args, const char *name,
                                size_t length, hf_error *err)
{
    char typed[64];
    const char *command = args_command_name(args->command);
    snprintf(typed, sizeof typed, "%.*s", (int)(length > 40 ? 40 : length),
             name);
    int near = nearest_option(args->command, typed);
    if (near >= 0)
        hint(args, "--%s%s%s", options[near].name,
             options[near].value ? " " : "",
             options[near].value ? options[near].value : "");
    else
        hint(args, "holdfast help %s", command);
    if (find_option(name, length) >= 0)
        return wrong(args, err, "%s has no option --%s", command, typed);
    return wrong(args, err, "unknown option --%s", typed);
}

static bool is_option(const char *word)
{
    return word[0] == '-' && word[1] == '-' &&
           find_option(word + 2, strcspn(word + 2, "=")) >= 0;
}

/* One word that begins with "--"; *i moves on over its value. */
static hf_status take_option(struct args *args, int argc, char **argv, int *i,
                             hf_error *err)
{
    const char *name = argv[*i] + 2;
    size_t length = strcspn(name, "=");
    const char *value = name[length] == '=' ? name + length + 1 : NULL;
    int id = find_option(name, length);
    if (id < 0 || !(options[id].commands >> args->command & 1))
        return unknown_option(args, name, length, err);
    const struct option *o = &options[id];
    if (o->value == NULL) {
        if (value)
            return wrong(args, err, "--%s takes no value", o->name);
        return read_value(args, id, "", err);
    }
    if (value == NULL) {
        if (*i + 1 >= argc || is_option(argv[*i + 1])) {
            hint(args, "--%s %s", o->name, o->value);
            return wrong(args, err, "--%s needs a value", o->name);
        }
        value = argv[++*i];
    }
    return read_value(args, id, value, err);
}

static hf_status take_operand(struct args *args, const char *word,
                              hf_error *err)
{
    const struct command *c = &commands[args->command];
    if (c->operand == NULL)
        return wrong(args, err, "holdfast %s takes no %s",
                     args_command_name(args->command), word);
    if (args->dir) {
        hint(args, "quotes around a name with spaces");
        return wrong(args, err, "one folder is expected, not %.60s and %.60s",
                     args->dir, word);
    }
    if (word[0] == '\0')
        return wrong(args, err, "DIR is empty");
    args->dir = word;
    return HF_OK;
}

/* Who asks for help gets it, whatever else is wrong. */
static bool wants_help(int argc, char **argv, int i)
{
    for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    }
    return false;
}

static hf_status take_rest(struct args *args, int argc, char **argv, int i,
                           hf_error *err)
{
    bool only_operands = false;
    for (; i < argc; i++) {
        const char *word = argv[i];
        hf_status s = HF_OK;
        if (only_operands || word[0] != '-' || word[1] == '\0') {
            s = take_operand(args, word, err);
        } else if (strcmp(word, "--") == 0) {
            only_operands = true;
        } else if (word[1] == '-') {
            s = take_option(args, argc, argv, &i, err);
        } else {
            hint(args, "holdfast help %s", args_command_name(args->command));
            s = wrong(args, err, "unknown option %.40s", word);
        }
        if (s != HF_OK)
            return s;
    }
    if (commands[args->command].operand &&
        !commands[args->command].operand_optional && args->dir == NULL) {
        hint(args, "holdfast %s DIR", args_command_name(args->command));
        return wrong(args, err, "which folder? DIR is missing");
    }
    return HF_OK;
}

/* ---- commands ------------------------------------------------------------ */

/* Finds the command that begins at argv[*i]; moves *i behind it. */
static hf_status take_command(struct args *args, int argc, char **argv, int *i,
                              hf_error *err)
{
    const char *first = argv[*i];
    const char *second = *i + 1 < argc ? argv[*i + 1] : NULL;
    const char *noun = NULL;
    for (int c = 0; c < CMD_COUNT; c++) {
        if (commands[c].noun == NULL) {
            if (strcmp(first, commands[c].verb) == 0) {
                args->command = c;
                *i += 1;
                return HF_OK;
            }
        } else if (strcmp(first, commands[c].noun) == 0) {
            noun = commands[c].noun;
            if (second && strcmp(second, commands[c].verb) == 0) {
                args->command = c;
                *i += 2;
                return HF_OK;
            }
        }
    }
    bool only_noun = noun && (second == NULL || second[0] == '-');
    const char *near = only_noun ? NULL
                                 : nearest_command(noun, noun ? second : first);
    if (near)
        hint(args, "holdfast %s%s%s", noun ? noun : "", noun ? " " : "", near);
    else
        hint(args, "holdfast help");
    if (only_noun)
        return wrong(args, err,
                     "%s what? init, status, vrf-nonce, prove, "
                     "verify or bench",
                     noun);
    if (first[0] == '-')
        return wrong(args, err,
                     "%.40s: the command comes first, options "
                     "after it",
                     first);
    return wrong(args, err, "unknown command %.40s%s%.40s", first,
                 noun ? " " : "", noun ? second : "");
}

static bool is_help(const char *word)
{
    return strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 ||
           strcmp(word, "-h") == 0;
}

hf_status args_parse(struct args *args, int argc, char **argv, hf_error *err)
{
    *args = (struct args){.command = -1};
    args->program = argc > 0 ? argv[0] : "holdfast";
    int i = 1;
    for (int k = 1; k < argc; k++)
        args->json = args->json || strcmp(argv[k], "--json") == 0;
    if (argc < 2) {
        hint(args, "holdfast help");
        return wrong(args, err, "which command?");
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "version") == 0) {
        args->wish = ARGS_VERSION;
        return HF_OK;
    }
    bool help = is_help(argv[1]);
    if (help)
        i++;
    bool noun_help = argc == i + 1 && strcmp(argv[i], "space") == 0 && help;
    noun_help = noun_help ||
                (argc > 2 && strcmp(argv[1], "space") == 0 && is_help(argv[2]));
    if ((help && i == argc) || noun_help) {
        args->wish = ARGS_HELP;
        return HF_OK;
    }
    hf_status s = take_command(args, argc, argv, &i, err);
    if (s != HF_OK)
        return s;
    if (help || wants_help(argc, argv, i)) {
        args->wish = ARGS_HELP;
        return HF_OK;
    }
    return take_rest(args, argc, argv, i, err);
}

void args_free(struct args *args)
{
    free(args->seed);
    args->seed = NULL;
}

const char *args_option_name(enum option_id id)
{
    return options[id].name;
}

void args_again(struct text *t, const struct args *args, bool short_form,
                const char *new_id)
{
    text_add_quoted(t, args->program);
    text_addf(t, " %s", args_command_name(args->command));
    if (args->dir) {
        text_add(t, args->dir[0] == '-' ? " ./" : " ");
        text_add_quoted(t, args->dir);
    }
    for (int o = 0; o < OPT_COUNT; o++) {
        /* A deadline was for that run alone. */
        if (!args_has(args, (enum option_id)o) || o == OPT_DEADLINE ||
            (short_form && !(options[o].commands & OPTION_HOW)))
            continue;
        if (o == OPT_NEW_ID && new_id) {
            text_addf(t, " --id %s", new_id);
            continue;
        }
        text_addf(t, " --%s", options[o].name);
        if (options[o].value) {
            text_add(t, " ");
            text_add_quoted(t, args->opt[o].text);
        }
    }
}

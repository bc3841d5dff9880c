/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Hides how help is laid out: 80 columns, all of it from the tables. */
#include "options.h"

#include <string.h>

enum { WIDTH = 79, TEXT_AT = 26 };

/* Words of `s` from column `at` on, wrapped, further lines indented. */
static void wrap(struct text *t, const char *s, size_t at, size_t indent)
{
    bool first = true;
    while (*s) {
        size_t word = strcspn(s, " ");
        if (!first && at + 1 + word > WIDTH) {
            text_addf(t, "\n%*s", (int)indent, "");
            at = indent;
        } else if (!first) {
            text_add(t, " ");
            at++;
        }
        text_add_bytes(t, s, word);
        at += word;
        s += word;
        s += strspn(s, " ");
        first = false;
    }
    text_add(t, "\n");
}

static void entry(struct text *t, const char *left, const char *right)
{
    size_t at = 2 + strlen(left);
    text_addf(t, "  %s", left);
    if (at + 2 > TEXT_AT) {
        text_addf(t, "\n%*s", TEXT_AT, "");
    } else {
        text_addf(t, "%*s", (int)(TEXT_AT - at), "");
    }
    wrap(t, right, TEXT_AT, TEXT_AT);
}

static void overview(struct text *t)
{
    text_add(t, "holdfast " HF_VERSION ": proofs that storage is kept\n\n"
                "usage: holdfast COMMAND [OPTION...]\n\n");
    for (int c = 0; c < CMD_COUNT; c++) {
        struct text left = {0};
        const char *operand = commands[c].operand;
        text_addf(&left, "%s%s%s", args_command_name(c), operand ? " " : "",
                  operand ? operand : "");
        if (left.data)
            entry(t, left.data, commands[c].summary);
        text_free(&left);
    }
    entry(t, "help COMMAND", "what a command does, and its options");
    text_add(t, "\n");
    entry(t, "--version", "version, and nothing else");
    entry(t, "-h, --help", "after a command: its help");
    text_add(
        t,
        "\nA set is made, proved and checked like this:\n\n"
        "  holdfast space init /data/post --new-id --commitment-atx ID "
        "--size 1TiB\n"
        "  holdfast space prove /data/post --challenge HEX32 --out proof.json\n"
        "  holdfast space verify /data/post --proof proof.json\n\n"
        "Exit codes: 0 all is right, 1 a proof or check does not hold, "
        "2 arguments,\n3 data are not what they should be, 4 files or space, "
        "5 device, memory or\nbusy, 6 deadline, 70 a fault in holdfast, "
        "130 interrupted. More: man holdfast\n");
}

static void usage(struct text *t, int command)
{
    const struct command *c = &commands[command];
    text_addf(t, "usage: holdfast %s", args_command_name(command));
    if (c->operand)
        text_addf(t, c->operand_optional ? " [%s]" : " %s", c->operand);
    text_add(t, " [OPTION...]\n\n");
    wrap(t, c->text, 0, 0);
}

void args_help(struct text *t, int command)
{
    if (command < 0) {
        overview(t);
        return;
    }
    usage(t, command);
    for (int g = 0; g < GROUP_COUNT; g++) {
        bool titled = false;
        for (int o = 0; o < OPT_COUNT; o++) {
            const struct option *opt = &options[o];
            if ((int)opt->group != g || !(opt->commands >> command & 1))
                continue;
            if (!titled)
                text_addf(t, "\n%s\n", group_titles[g]);
            titled = true;
            struct text left = {0};
            text_addf(&left, "--%s%s%s", opt->name, opt->value ? " " : "",
                      opt->value ? opt->value : "");
            if (left.data)
                entry(t, left.data, opt->help);
            text_free(&left);
        }
    }
    entry(t, "-h, --help", "This text.");
    text_add(t, "\nExample\n");
    for (const char *s = commands[command].examples; *s;) {
        size_t line = strcspn(s, "\n");
        text_addf(t, "  %.*s\n", (int)line, s);
        s += line + (s[line] == '\n');
    }
}

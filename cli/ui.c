/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Hides the terminal, the JSON lines and the words of errors. Its main
 * invariant: standard output carries results (or JSON) and nothing else, and a
 * write to it that fails is never overlooked.
 */
#include "ui.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void ui_init(struct ui *ui, bool json)
{
    const char *term = getenv("TERM");
    const char *no_color = getenv("NO_COLOR");
    *ui = (struct ui){.json = json};
    setlocale(LC_CTYPE, "");
    ui->utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    ui->terminal = isatty(STDERR_FILENO) && term && term[0] != '\0' &&
                   strcmp(term, "dumb") != 0;
    ui->color = ui->terminal && (no_color == NULL || no_color[0] == '\0');
}

uint64_t ui_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* ---- standard output ----------------------------------------------------- */

static void note_failure(struct ui *ui)
{
    if (!ui->failed) {
        ui->failed = true;
        ui->failed_os = errno;
    }
}

static void put(struct ui *ui, const char *data, size_t bytes)
{
    if (fwrite(data, 1, bytes, stdout) != bytes || fflush(stdout) != 0)
        note_failure(ui);
}

static void format(struct text *t, const char *fmt, va_list list)
{
    va_list again;
    va_copy(again, list);
    int need = vsnprintf(NULL, 0, fmt, list);
    char *line = need < 0 ? NULL : malloc((size_t)need + 1);
    if (line) {
        vsnprintf(line, (size_t)need + 1, fmt, again);
        text_add_bytes(t, line, (size_t)need);
    }
    va_end(again);
    free(line);
}

void ui_out(struct ui *ui, const char *fmt, ...)
{
    struct text t = {0};
    va_list list;
    va_start(list, fmt);
    format(&t, fmt, list);
    va_end(list);
    ui_progress_end(ui);
    if (t.data)
        put(ui, t.data, t.bytes);
    text_free(&t);
}

void ui_json(struct ui *ui, struct text *t)
{
    text_add(t, "\n");
    if (t->failed) {
        errno = ENOMEM;
        note_failure(ui);
    } else {
        put(ui, t->data, t->bytes);
    }
    text_free(t);
}

int ui_finish(struct ui *ui, int code)
{
    ui_progress_end(ui);
    if (fclose(stdout) != 0)
        note_failure(ui);
    if (!ui->failed)
        return code;
    fprintf(stderr, "holdfast: cannot write standard output\n  why: %s\n",
            strerror(ui->failed_os));
    return code == EXIT_FINE || code == EXIT_INTERRUPTED ? EXIT_IO : code;
}

/* ---- standard error ------------------------------------------------------ */

static void put_error(struct ui *ui, struct text *t)
{
    ui_progress_end(ui);
    if (t->data) {
        size_t done = 0;
        while (done < t->bytes) {
            ssize_t n = write(STDERR_FILENO, t->data + done, t->bytes - done);
            if (n < 0 && errno == EINTR)
                continue;
            if (n <= 0)
                break; /* nobody to tell */
            done += (size_t)n;
        }
    }
    text_free(t);
}

/* A line of words: with the results or beside them. */
static void say(struct ui *ui, struct text *t)
{
    text_tame(t);
    text_add(t, "\n");
    if (!ui->results) {
        put_error(ui, t);
        return;
    }
    if (t->data)
        put(ui, t->data, t->bytes);
    text_free(t);
}

void ui_say(struct ui *ui, const char *fmt, ...)
{
    if (ui->json || (ui->quiet && !ui->results))
        return;
    struct text t = {0};
    va_list list;
    va_start(list, fmt);
    format(&t, fmt, list);
    va_end(list);
    say(ui, &t);
}

void ui_row(struct ui *ui, const char *name, const char *fmt, ...)
{
    if (ui->json || (ui->quiet && !ui->results))
        return;
    struct text t = {0};
    va_list list;
    text_addf(&t, "  %-13s", name);
    va_start(list, fmt);
    format(&t, fmt, list);
    va_end(list);
    say(ui, &t);
}

static const char *level_name(hf_log_level level)
{
    static const char *const names[] = {"off",  "error", "warning",
                                        "info", "debug", "trace"};
    return (unsigned)level < 6 ? names[level] : "log";
}

static void log_line(struct ui *ui, hf_log_level level, const char *module,
                     const char *words)
{
    struct text t = {0};
    if (ui->json) {
        json_begin(&t, NULL);
        json_begin(&t, "log");
        json_text(&t, "level", level_name(level));
        json_text(&t, "module", module);
        json_text(&t, "text", words);
        json_end(&t);
        json_end(&t);
        ui_json(ui, &t);
        return;
    }
    bool loud = ui->color && level <= HF_LOG_WARN;
    text_add(&t, loud ? "\033[33m" : "");
    text_add(&t, level_name(level));
    text_add(&t, loud ? ":\033[0m " : ": ");
    struct text body = {0};
    text_add(&body, words);
    text_tame(&body);
    text_add(&t, body.data ? body.data : "");
    text_free(&body);
    text_add(&t, "\n");
    put_error(ui, &t);
}

void ui_warn(struct ui *ui, const char *fmt, ...)
{
    struct text t = {0};
    va_list list;
    va_start(list, fmt);
    format(&t, fmt, list);
    va_end(list);
    log_line(ui, HF_LOG_WARN, "tool", t.data ? t.data : "");
    text_free(&t);
}

void ui_log(struct ui *ui, const hf_log_record *record)
{
    if (record->dropped)
        ui_warn(ui, "%u messages came too fast and are lost", record->dropped);
    log_line(ui, record->level, record->module, record->text);
}

/* ---- errors -------------------------------------------------------------- */

int ui_exit_code(hf_status status)
{
    switch (status) {
    case HF_OK:
        return EXIT_FINE;
    case HF_E_NOT_FOUND:
        return EXIT_FALSE;
    case HF_E_ARGUMENT:
    case HF_E_UNSUPPORTED:
        return EXIT_ARGUMENT;
    case HF_E_STATE:
    case HF_E_FORMAT:
        return EXIT_DATA;
    case HF_E_IO:
        return EXIT_IO;
    case HF_E_DEVICE:
    case HF_E_MEMORY:
    case HF_E_BUSY:
        return EXIT_DEVICE;
    case HF_E_CANCELLED:
        return EXIT_INTERRUPTED;
    case HF_E_INTERNAL:
        break;
    }
    return EXIT_INTERNAL;
}

/* Whether the same command may succeed: at once, once the cause is gone, or
 * not without a change. */
static const char *retry_of(hf_status status)
{
    switch (status) {
    case HF_E_CANCELLED:
        return "now";
    case HF_E_MEMORY:
    case HF_E_IO:
    case HF_E_DEVICE:
    case HF_E_BUSY:
        return "later";
    default:
        return "never";
    }
}

static const char *usual_advice(const hf_error *err)
{
    switch (err->code) {
    case HF_E_FORMAT:
        if (strstr(err->message, "holdfast.json"))
            return "restore it, or move it away: a set works without it, but "
                   "an N other than 8192 must then be given by --scrypt-n";
        return NULL;
    case HF_E_IO:
        if (err->os_code == ENOSPC || err->os_code == EDQUOT)
            return "free space on that file system, then the same command "
                   "again: it goes on where it stopped";
        if (err->os_code == EACCES || err->os_code == EPERM)
            return "run as the owner of the files, or correct their "
                   "permissions";
        if (err->os_code == EROFS)
            return "a folder on a file system that may be written";
        if (err->os_code == EIO)
            return "look at the disk (dmesg, smartctl), then the same command "
                   "again";
        return NULL;
    case HF_E_MEMORY:
        return "free memory, fewer --threads, or a larger --memory";
    case HF_E_BUSY:
        return "wait for the other process to end, then the same command "
               "again";
    case HF_E_DEVICE:
        return "another --provider, or the same command again";
    case HF_E_INTERNAL:
        return "please report this, with the command and its output";
    default:
        return NULL;
    }
}

/*
 * The library names files and offsets in its words: "... at byte 4096 of
 * postdata_3.bin ...". Copies the word that names a file of a set.
 */
static bool file_in(char *out, size_t capacity, const char *words)
{
    static const char *const names[] = {"postdata_", "holdfast.json",
                                        "identity.key"};
    const char *at = NULL;
    for (size_t i = 0; i < 3 && at == NULL; i++)
        at = strstr(words, names[i]);
    if (at == NULL)
        return false;
    const char *begin = at, *end = at;
    while (begin > words && begin[-1] != ' ' && begin[-1] != '"' &&
           begin[-1] != '(')
        begin--;
    while (*end && strchr(" :,;\")", *end) == NULL)
        end++;
    size_t length = (size_t)(end - begin);
    if (length >= capacity)
        return false;
    memcpy(out, begin, length);
    out[length] = '\0';
    return true;
}

static bool offset_in(uint64_t *out, const char *words)
{
    static const char *const before[] = {"offset ", "at byte "};
    for (size_t i = 0; i < 2; i++) {
        const char *at = strstr(words, before[i]);
        at = at ? at + strlen(before[i]) : "";
        if (*at >= '0' && *at <= '9') {
            *out = strtoull(at, NULL, 10);
            return true;
        }
    }
    return false;
}

bool ui_file_named(char *out, size_t capacity, const hf_error *err)
{
    return file_in(out, capacity, err->message) ||
           file_in(out, capacity, err->cause);
}

static void error_json(struct ui *ui, const hf_error *err, const char *where)
{
    struct text t = {0};
    char file[256];
    uint64_t offset;
    json_begin(&t, NULL);
    json_begin(&t, "error");
    json_text(&t, "code", hf_status_name(err->code));
    json_text(&t, "message", err->message);
    json_text(&t, "cause", err->cause);
    if (ui_file_named(file, sizeof file, err))
        json_text(&t, "file", file);
    else if (where)
        json_text(&t, "file", where);
    else
        json_null(&t, "file");
    if (offset_in(&offset, err->message) || offset_in(&offset, err->cause))
        json_number(&t, "offset", offset);
    else
        json_null(&t, "offset");
    json_text(&t, "retry", retry_of(err->code));
    json_end(&t);
    json_end(&t);
    ui_json(ui, &t);
}

/* A line whose words are from outside. */
static void add_tamed(struct text *t, const char *head, const char *words)
{
    struct text body = {0};
    text_add(&body, words);
    text_tame(&body);
    text_addf(t, "%s%s\n", head, body.data ? body.data : "");
    text_free(&body);
}

int ui_error(struct ui *ui, const hf_error *err, const char *where,
             const char *advice)
{
    if (advice == NULL || advice[0] == '\0')
        advice = usual_advice(err);
    if (ui->json) {
        ui_progress_end(ui);
        error_json(ui, err, where);
        return ui_exit_code(err->code);
    }
    struct text t = {0};
    text_addf(&t, "%sholdfast:%s ", ui->color ? "\033[31m" : "",
              ui->color ? "\033[0m" : "");
    add_tamed(&t, "",
              err->message[0] ? err->message : hf_status_text(err->code));
    if (err->cause[0])
        add_tamed(&t, "  why: ", err->cause);
    if (advice)
        add_tamed(&t, "  try: ", advice);
    put_error(ui, &t);
    return ui_exit_code(err->code);
}

void ui_stopped(struct ui *ui, const char *message, const char *again)
{
    struct text t = {0};
    add_tamed(&t, "holdfast: ", message);
    if (again)
        add_tamed(&t, "  to go on: ", again);
    put_error(ui, &t);
}

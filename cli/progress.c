/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Hides how progress is shown: one line rewritten in place on a terminal, in
 * one write so that nothing flickers; a plain line now and then elsewhere;
 * JSON once a second with --json.
 */
#include "ui.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
    TERMINAL_MS = 100,
    JSON_MS = 1000,
    PLAIN_MS = 10000,
    PLAIN_LEAST_MS = 1000,
    BAR_MOST = 24
};

static size_t terminal_width(void)
{
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return 80;
    return size.ws_col;
}

/* "14,850 labels/s", "3.10 GiB/s" */
static void rate_words(char out[64], const hf_progress *p)
{
    char form[FORM_BYTES];
    if (!(p->rate > 0))
        out[0] = '\0';
    else if (strcmp(p->unit, "bytes") == 0)
        snprintf(out, 64, "%s/s", form_size(form, (uint64_t)p->rate));
    else
        snprintf(out, 64, "%s %s/s", form_count(form, (uint64_t)p->rate),
                 p->unit);
}

/* "1.20 GiB of 2 GiB"; labels are shown as what they take on disk. */
static void amount_words(char out[112], const hf_progress *p)
{
    char done[FORM_BYTES], total[FORM_BYTES];
    bool labels = strcmp(p->unit, "labels") == 0;
    bool bytes = labels || strcmp(p->unit, "bytes") == 0;
    uint64_t factor = labels && p->total < UINT64_MAX / 16 ? 16 : 1;
    (bytes ? form_size : form_count)(done, p->done * factor);
    (bytes ? form_size : form_count)(total, p->total * factor);
    if (p->total)
        snprintf(out, 112, "%s of %s%s%s", done, total, bytes ? "" : " ",
                 bytes ? "" : p->unit);
    else
        snprintf(out, 112, "%s%s%s", done, bytes ? "" : " ",
                 bytes ? "" : p->unit);
}

static void bar(struct text *t, const struct ui *ui, const hf_progress *p,
                size_t cells)
{
    size_t full = 0;
    if (p->total)
        full = (size_t)((double)p->done / (double)p->total * (double)cells);
    full = full > cells ? cells : full;
    if (ui->color)
        text_add(t, "\033[32m");
    for (size_t i = 0; i < full; i++)
        text_add(t, ui->utf8 ? "\xe2\x94\x81" : "#");
    if (ui->color)
        text_add(t, "\033[90m");
    for (size_t i = full; i < cells; i++)
        text_add(t, ui->utf8 ? (ui->color ? "\xe2\x94\x81" : "\xe2\x94\x80")
                             : "-");
    if (ui->color)
        text_add(t, "\033[0m");
}

struct line {
    char head[64];
    char amount[112];
    char rate[64];
    char left[64];
};

static void line_of(struct line *l, const hf_progress *p)
{
    char form[FORM_BYTES];
    if (p->total)
        snprintf(l->head, sizeof l->head, "%-9s %7s", p->phase,
                 form_percent(form, p->done, p->total));
    else
        snprintf(l->head, sizeof l->head, "%-9s", p->phase);
    amount_words(l->amount, p);
    rate_words(l->rate, p);
    l->left[0] = '\0';
    if (p->remaining_ms != UINT64_MAX && p->total && p->done < p->total)
        snprintf(l->left, sizeof l->left, "%s left",
                 form_duration(form, p->remaining_ms));
}

/*
 * As much as fits, most important first: percentage, time left, rate, bar,
 * amount. The last column stays free: some terminals wrap there.
 */
static void terminal_line(struct text *t, const struct ui *ui,
                          const hf_progress *p)
{
    struct line l;
    size_t width = terminal_width() - 1;
    line_of(&l, p);
    size_t used = strlen(l.head);
    bool with_left = l.left[0] && used + 2 + strlen(l.left) <= width;
    used += with_left ? 2 + strlen(l.left) : 0;
    bool with_rate = l.rate[0] && used + 2 + strlen(l.rate) <= width;
    used += with_rate ? 2 + strlen(l.rate) : 0;
    bool with_amount = l.amount[0] && used + 2 + strlen(l.amount) + 12 <= width;
    used += with_amount ? 2 + strlen(l.amount) : 0;
    size_t cells = width > used + 10 ? width - used - 2 : 0;
    cells = cells > BAR_MOST ? BAR_MOST : cells;
    text_addf(t, "%.*s", (int)width, l.head);
    if (cells && p->total) {
        text_add(t, "  ");
        bar(t, ui, p, cells);
    }
    if (with_amount)
        text_addf(t, "  %s", l.amount);
    if (with_rate)
        text_addf(t, "  %s", l.rate);
    if (with_left)
        text_addf(t, "  %s", l.left);
}

static void put(struct text *t)
{
    /* Progress that cannot be shown is no reason to stop the work. */
    if (t->data && write(STDERR_FILENO, t->data, t->bytes) < 0)
        t->failed = true;
    text_free(t);
}

static void show_terminal(struct ui *ui, const hf_progress *p)
{
    struct text t = {0};
    text_add(&t, "\r");
    terminal_line(&t, ui, p);
    text_add(&t, "\033[K");
    put(&t);
    ui->line_open = true;
}

static void show_plain(const hf_progress *p)
{
    struct line l;
    struct text t = {0};
    line_of(&l, p);
    text_addf(&t, "%s  %s", l.head, l.amount);
    if (l.rate[0])
        text_addf(&t, "  %s", l.rate);
    if (l.left[0])
        text_addf(&t, "  %s", l.left);
    text_add(&t, "\n");
    put(&t);
}

static void show_json(struct ui *ui, const hf_progress *p)
{
    struct text t = {0};
    json_begin(&t, NULL);
    json_begin(&t, "progress");
    json_text(&t, "phase", p->phase);
    json_text(&t, "unit", p->unit);
    json_number(&t, "done", p->done);
    if (p->total) {
        json_number(&t, "total", p->total);
        json_real(&t, "percent", 100.0 * (double)p->done / (double)p->total, 2);
    } else {
        json_null(&t, "total");
        json_null(&t, "percent");
    }
    json_real(&t, "rate", p->rate, 1);
    json_number(&t, "elapsed_ms", p->elapsed_ms);
    if (p->remaining_ms == UINT64_MAX)
        json_null(&t, "remaining_ms");
    else
        json_number(&t, "remaining_ms", p->remaining_ms);
    json_end(&t);
    json_end(&t);
    ui_json(ui, &t);
}

static uint64_t tenth_of(const hf_progress *p)
{
    return p->total ? (uint64_t)((double)p->done * 10.0 / (double)p->total) : 0;
}

/* Plain lines: every ten seconds, and at each tenth of the way unless that
 * would be more than one a second. */
static bool plain_due(const struct ui *ui, const hf_progress *p, uint64_t now)
{
    uint64_t since = now - ui->shown_ms;
    return since >= PLAIN_MS ||
           (tenth_of(p) != ui->shown_tenth && since >= PLAIN_LEAST_MS);
}

void ui_progress(struct ui *ui, const hf_progress *p)
{
    uint64_t now = ui_now_ms();
    if (ui->quiet && !ui->json)
        return;
    if (ui->phase != p->phase) {
        ui_progress_end(ui);
        ui->phase = p->phase;
        ui->shown_ms = ui->json || ui->terminal ? 0 : now;
        ui->shown_tenth = tenth_of(p);
    }
    if (ui->json) {
        if (now - ui->shown_ms < JSON_MS)
            return;
        show_json(ui, p);
    } else if (ui->terminal) {
        if (now - ui->shown_ms < TERMINAL_MS)
            return;
        show_terminal(ui, p);
    } else {
        if (!plain_due(ui, p, now))
            return;
        show_plain(p);
    }
    ui->shown_ms = now;
    ui->shown_tenth = tenth_of(p);
}

void ui_progress_end(struct ui *ui)
{
    if (!ui->line_open)
        return;
    ui->line_open = false;
    struct text t = {0};
    text_add(&t, "\r\033[K");
    put(&t);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* `holdfast space status`, `vrf-nonce` and `bench`. */
#include "commands.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- status -------------------------------------------------------------- */

static void status_files(struct ui *ui, const hf_space_status *s)
{
    char a[FORM_BYTES], b[FORM_BYTES], c[FORM_BYTES];
    uint32_t absent = s->files_total - s->files_complete - s->files_partial;
    ui_row(ui, "stored", "%s of %s (%s)",
           form_size(a, s->labels_stored * HF_SPACE_LABEL_BYTES),
           form_size(b, s->labels_total * HF_SPACE_LABEL_BYTES),
           form_percent(c, s->labels_stored, s->labels_total));
    ui_row(ui, "files",
           "%" PRIu32 " complete, %" PRIu32 " partial, %" PRIu32
           " missing, %" PRIu32 " surplus",
           s->files_complete, s->files_partial, absent, s->files_surplus);
    if (s->first_incomplete < s->files_total)
        ui_row(ui, "next", "postdata_%" PRIu32 ".bin", s->first_incomplete);
    if (s->bytes_torn)
        ui_row(ui, "torn", "%s at the end of a file, cut by the next init",
               form_size(a, s->bytes_torn));
}

static void status_rest(struct ui *ui, const hf_space_status *s)
{
    char hex[33];
    const hf_space_meta *m = &s->meta;
    if (!m->has_nonce)
        ui_row(ui, "VRF nonce", "none yet");
    else if (m->has_nonce_value)
        ui_row(ui, "VRF nonce", "%" PRIu64 " (label %s)", m->nonce,
               form_hex(hex, m->nonce_value, 16));
    else
        ui_row(ui, "VRF nonce", "%" PRIu64, m->nonce);
    if (m->has_last_position)
        ui_row(ui, "searched to", "%" PRIu64 ", beyond the data",
               m->last_position);
    if (s->writer_alive)
        ui_row(ui, "writer", "process %" PRIu64 " on %s is at work",
               s->writer_pid, s->writer_host);
    else if (s->writer_pid)
        ui_row(ui, "writer", "none now; last process %" PRIu64 " on %s",
               s->writer_pid, s->writer_host);
    else
        ui_row(ui, "writer", "unknown");
}

static void status_json(struct ui *ui, const char *dir,
                        const hf_space_status *s)
{
    struct text t = {0};
    json_begin(&t, NULL);
    json_begin(&t, "done");
    json_text(&t, "dir", dir);
    set_json(&t, &s->meta);
    if (s->scrypt_n)
        json_number(&t, "scrypt_n", s->scrypt_n);
    else
        json_null(&t, "scrypt_n");
    json_bool(&t, "complete", s->labels_stored == s->labels_total);
    json_number(&t, "labels_total", s->labels_total);
    json_number(&t, "labels_stored", s->labels_stored);
    json_number(&t, "files_total", s->files_total);
    json_number(&t, "files_complete", s->files_complete);
    json_number(&t, "files_partial", s->files_partial);
    json_number(&t, "files_surplus", s->files_surplus);
    json_number(&t, "files_too_long", s->files_too_long);
    json_number(&t, "bytes_surplus", s->bytes_surplus);
    json_number(&t, "bytes_torn", s->bytes_torn);
    json_number(&t, "first_incomplete", s->first_incomplete);
    json_begin(&t, "writer");
    json_number(&t, "pid", s->writer_pid);
    json_text(&t, "host", s->writer_host);
    json_bool(&t, "alive", s->writer_alive);
    json_end(&t);
    json_end(&t);
    json_end(&t);
    ui_json(ui, &t);
}

int cmd_status(struct ui *ui, const struct args *args)
{
    struct rules rules;
    hf_error err = {.code = HF_OK};
    hf_space_status status = {.size = sizeof status};
    status.meta.size = sizeof status.meta;
    hf_status s = rules_load(&rules, args, &err);
    if (s != HF_OK)
        return ui_error(ui, &err, args->opt[OPT_NETWORK].text, NULL);
    s = hf_space_get_status(&status, args->dir, &err);
    if (s == HF_OK)
        s = rules_check_n(&rules, args, &err);
    if (s != HF_OK)
        return ui_error(ui, &err, args->dir, NULL);
    set_warn(ui, args->dir, &status);
    rules_warn(ui, &rules, &status.meta);
    if (ui->json) {
        status_json(ui, args->dir, &status);
        return EXIT_FINE;
    }
    ui->results = true;
    ui_say(ui, "%s: %s", args->dir,
           status.labels_stored == status.labels_total ? "complete"
                                                       : "not complete");
    set_rows(ui, &status.meta, status.scrypt_n);
    status_files(ui, &status);
    status_rest(ui, &status);
    return EXIT_FINE;
}

/* ---- vrf-nonce ----------------------------------------------------------- */

static int show_nonce(struct ui *ui, const struct args *args,
                      const hf_space_meta *meta)
{
    char hex[33];
    if (!meta->has_nonce) {
        hf_error err;
        complain(&err, HF_E_NOT_FOUND, "no VRF nonce is known for %.180s",
                 args->dir);
        return ui_error(ui, &err, args->dir,
                        "--search, or holdfast space init to complete the set");
    }
    if (ui->json) {
        struct text t = {0};
        json_begin(&t, NULL);
        json_begin(&t, "done");
        json_text(&t, "dir", args->dir);
        set_json(&t, meta);
        json_end(&t);
        json_end(&t);
        ui_json(ui, &t);
    } else if (meta->has_nonce_value) {
        ui_out(ui, "%" PRIu64 " (label %s)\n", meta->nonce,
               form_hex(hex, meta->nonce_value, 16));
    } else {
        ui_out(ui, "%" PRIu64 "\n", meta->nonce);
    }
    return EXIT_FINE;
}

static int search_nonce(struct ui *ui, const struct args *args,
                        const struct rules *rules, hf_space_meta *meta)
{
    struct host host;
    hf_error err = {.code = HF_OK};
    hf_job *job = NULL;
    hf_space_nonce_opts opts = HF_SPACE_NONCE_OPTS_INIT;
    opts.scrypt_n = rules_scrypt_n(rules, args);
    opts.from_file = (uint32_t)args_number(args, OPT_FROM_FILE, 0);
    opts.to_file = (uint32_t)args_number(args, OPT_TO_FILE, HF_SPACE_FILES_ALL);
    hf_status s = host_open(&host, ui, args, &err);
    if (s == HF_OK)
        s = hf_space_nonce_start(host.ctx, &job, args->dir, &opts, &err);
    if (s == HF_OK)
        s = host_wait(&host, job, true, &err);
    if (s == HF_OK)
        s = hf_space_nonce_result(job, meta, &err);
    int code = EXIT_FINE;
    if (s != HF_OK) {
        struct text again = {0};
        args_again(&again, args, false, NULL);
        code = host_error(&host, &err, args->dir, NULL, again.data);
        text_free(&again);
    }
    hf_job_free(job);
    host_close(&host);
    return code;
}

int cmd_nonce(struct ui *ui, const struct args *args)
{
    struct rules rules;
    hf_error err = {.code = HF_OK};
    hf_space_status status = {.size = sizeof status};
    status.meta.size = sizeof status.meta;
    hf_status s = rules_load(&rules, args, &err);
    if (s != HF_OK)
        return ui_error(ui, &err, args->opt[OPT_NETWORK].text, NULL);
    s = hf_space_get_status(&status, args->dir, &err);
    if (s == HF_OK)
        s = rules_check_n(&rules, args, &err);
    if (s != HF_OK)
        return ui_error(ui, &err, args->dir, NULL);
    if (!args_has(args, OPT_SEARCH)) /* the search warns itself */
        set_warn(ui, args->dir, &status);
    rules_warn(ui, &rules, &status.meta);
    if (args_has(args, OPT_SEARCH)) {
        int code = search_nonce(ui, args, &rules, &status.meta);
        if (code != EXIT_FINE)
            return code;
    }
    return show_nonce(ui, args, &status.meta);
}

/* ---- bench --------------------------------------------------------------- */

static void bench_json(struct ui *ui, const hf_space_bench_outcome *o,
                       uint64_t n)
{
    struct text t = {0};
    json_begin(&t, NULL);
    json_begin(&t, "done");
    json_number(&t, "scrypt_n", n);
    json_real(&t, "labels_per_second", o->labels_per_second, 1);
    json_number(&t, "threads", o->workers);
    json_text(&t, "kernel", o->kernel);
    json_number(&t, "labels_in_flight", o->labels_in_flight);
    json_number(&t, "scratch_bytes", o->scratch_bytes);
    json_end(&t);
    json_end(&t);
    ui_json(ui, &t);
}

static void bench_rows(struct ui *ui, const hf_space_bench_outcome *o,
                       uint64_t n)
{
    char a[FORM_BYTES];
    double unit = 4294967296.0; /* labels, on main net */
    ui->results = true;
    ui_say(ui, "%s labels/s at N = %" PRIu64,
           form_count(a, (uint64_t)(o->labels_per_second + 0.5)), n);
    ui_row(ui, "threads", "%" PRIu32, o->workers);
    ui_row(ui, "kernel", "%s, %" PRIu32 " labels in flight on each thread",
           o->kernel, o->labels_in_flight);
    ui_row(ui, "memory", "%s on each thread", form_size(a, o->scratch_bytes));
    if (o->labels_per_second > 0)
        ui_row(
            ui, "one unit", "64 GiB in about %s",
            form_duration(a, (uint64_t)(unit / o->labels_per_second * 1000.0)));
}

int cmd_bench(struct ui *ui, const struct args *args)
{
    struct host host;
    hf_error err = {.code = HF_OK};
    hf_job *job = NULL;
    uint64_t n = args_number(args, OPT_SCRYPT_N, 8192);
    hf_space_bench_opts opts = {
        .size = sizeof opts,
        .scrypt_n = n,
        .duration_ms = (uint32_t)args_number(args, OPT_DURATION, 2000)};
    hf_space_bench_outcome outcome = {.size = sizeof outcome};
    hf_status s = host_open(&host, ui, args, &err);
    if (s == HF_OK)
        s = hf_space_bench_start(host.ctx, &job, &opts, &err);
    if (s == HF_OK)
        s = host_wait(&host, job, true, &err);
    if (s == HF_OK)
        s = hf_space_bench_result(job, &outcome, &err);
    int code = EXIT_FINE;
    if (s != HF_OK)
        code = host_error(&host, &err, NULL, NULL, NULL);
    else if (ui->json)
        bench_json(ui, &outcome, n);
    else
        bench_rows(ui, &outcome, n);
    hf_job_free(job);
    host_close(&host);
    return code;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * `holdfast space init`: what is asked, what is there, what it will take; then
 * the job. Nothing is written before all questions are settled, and the key of
 * a new identity is on disk before the first label is.
 */
#include "commands.h"
#include "identity.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct init {
    struct ui *ui;
    const struct args *args;
    struct rules rules;
    struct host host;
    bool exists; /* metadata are there and could be read */
    hf_space_meta meta;
    hf_space_init_opts opts;
    hf_space_plan plan;
    struct identity key; /* with --new-id */
    double rate;         /* labels a second as measured; 0: not */
    char advice[320];
};

/* ---- what is asked ------------------------------------------------------- */

static void advise(struct init *in, const char *fmt, const char *what)
{
    snprintf(in->advice, sizeof in->advice, fmt, what);
}

static hf_status units_of_size(struct init *in, hf_error *err)
{
    const struct args *args = in->args;
    char size[FORM_BYTES], one[FORM_BYTES], whole[FORM_BYTES];
    uint64_t bytes = args->opt[OPT_SIZE].number;
    uint64_t labels = in->rules.bind ? in->rules.net.labels_per_unit
                                     : UINT64_C(1) << 32;
    labels = in->exists ? in->meta.labels_per_unit : labels;
    labels = args_number(args, OPT_LABELS_PER_UNIT, labels);
    if (labels > UINT64_MAX / HF_SPACE_LABEL_BYTES)
        return complain(err, HF_E_ARGUMENT,
                        "--labels-per-unit %" PRIu64 ": at most %" PRIu64,
                        labels, UINT64_MAX / HF_SPACE_LABEL_BYTES);
    uint64_t unit = labels * HF_SPACE_LABEL_BYTES, units = bytes / unit;
    form_size(one, unit);
    if (units == 0)
        return complain(err, HF_E_ARGUMENT,
                        "--size %s: is less than one unit, which is %s",
                        args->opt[OPT_SIZE].text, one);
    if (units > UINT32_MAX)
        return complain(err, HF_E_ARGUMENT,
                        "--size %s: is more than %" PRIu32 " units of %s",
                        args->opt[OPT_SIZE].text, UINT32_MAX, one);
    if (bytes % unit != 0)
        ui_say(in->ui,
               "--size %s is rounded down to %" PRIu64 " unit%s of %s: %s",
               form_size(size, bytes), units, units == 1 ? "" : "s", one,
               form_size(whole, units * unit));
    in->opts.num_units = (uint32_t)units;
    return HF_OK;
}

/* A new set must be described; all that is missing is named at once. */
static hf_status check_complete(struct init *in, hf_error *err)
{
    const struct args *args = in->args;
    unsigned char id[32];
    char missing[128] = "", hex[65];
    bool no_id = !args_has(args, OPT_ID) && !args_has(args, OPT_NEW_ID);
    if (no_id)
        strcat(missing, ", --id (or --new-id)");
    if (!args_has(args, OPT_COMMITMENT))
        strcat(missing, ", --commitment-atx");
    if (!args_has(args, OPT_UNITS) && !args_has(args, OPT_SIZE))
        strcat(missing, ", --units (or --size)");
    if (missing[0] == '\0')
        return HF_OK;
    if (no_id && identity_read(id, args->dir))
        snprintf(in->advice, sizeof in->advice,
                 "--id %s (the key that is in this folder)",
                 form_hex(hex, id, 32));
    else
        advise(in, "%s", "holdfast help space init");
    complain(err, HF_E_ARGUMENT, "a new set needs %s", missing + 2);
    snprintf(err->cause, sizeof err->cause, "there is no set in %.200s",
             args->dir);
    return HF_E_ARGUMENT;
}

static hf_status check_new_id(struct init *in, hf_error *err)
{
    unsigned char id[32];
    char hex[65];
    if (in->exists) {
        advise(in, "holdfast space init %s, without --new-id, goes on",
               in->args->dir);
        return complain(err, HF_E_STATE,
                        "the set in %.120s is that of identity %s",
                        in->args->dir, form_hex(hex, in->meta.node_id, 32));
    }
    if (identity_read(id, in->args->dir)) {
        snprintf(in->advice, sizeof in->advice,
                 "--id %s to use it, or another folder", form_hex(hex, id, 32));
        return complain(err, HF_E_STATE,
                        "%.180s/identity.key is there already, and is never "
                        "overwritten",
                        in->args->dir);
    }
    hf_status s = identity_new(&in->key, err);
    in->opts.node_id = in->key.id;
    return s;
}

/* Only a context knows the providers. */
static hf_status check_provider(struct init *in, hf_error *err)
{
    const char *wanted = in->opts.provider;
    hf_context *ctx = in->host.ctx;
    hf_provider p = {.size = sizeof p};
    hf_error ignored;
    char known[180] = "";
    uint32_t count = hf_context_provider_count(ctx);
    if (wanted == NULL)
        return HF_OK;
    for (uint32_t i = 0; i < count; i++) {
        if (hf_context_provider_get(ctx, i, &p, &ignored) != HF_OK)
            continue;
        if (strcmp(p.id, wanted) == 0)
            return HF_OK;
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "",
                 p.id);
    }
    advise(in, "--provider %s", p.id);
    complain(err, HF_E_UNSUPPORTED, "there is no provider %.60s here", wanted);
    snprintf(err->cause, sizeof err->cause, "those there are: %s", known);
    return HF_E_UNSUPPORTED;
}

static hf_status check_network(struct init *in, hf_error *err)
{
    const struct rules *r = &in->rules;
    uint32_t units = in->opts.num_units;
    if (!r->bind || units == 0 ||
        (units >= r->net.min_units && units <= r->net.max_units))
        return HF_OK;
    return complain(
        err, HF_E_ARGUMENT,
        "%" PRIu32 " unit%s: the network takes %" PRIu32 " to %" PRIu32, units,
        units == 1 ? "" : "s", r->net.min_units, r->net.max_units);
}

/* From the command line to the options of the job. */
static hf_status read_wishes(struct init *in, hf_error *err)
{
    const struct args *args = in->args;
    in->opts = (hf_space_init_opts)HF_SPACE_INIT_OPTS_INIT;
    in->opts.node_id = args_bytes(args, OPT_ID);
    in->opts.commitment_atx_id = args_bytes(args, OPT_COMMITMENT);
    in->opts.num_units = (uint32_t)args_number(args, OPT_UNITS, 0);
    in->opts.labels_per_unit = args_number(
        args, OPT_LABELS_PER_UNIT,
        in->rules.bind ? in->rules.net.labels_per_unit : 0);
    in->opts.max_file_size = args_number(args, OPT_MAX_FILE_SIZE, 0);
    in->opts.scrypt_n = rules_scrypt_n(&in->rules, args);
    in->opts.from_file = (uint32_t)args_number(args, OPT_FROM_FILE, 0);
    in->opts.to_file = (uint32_t)args_number(args, OPT_TO_FILE,
                                             HF_SPACE_FILES_ALL);
    in->opts.no_nonce_search = args_has(args, OPT_NO_NONCE_SEARCH);
    if (args_has(args, OPT_ID) && args_has(args, OPT_NEW_ID))
        return complain(err, HF_E_ARGUMENT,
                        "--id and --new-id: only one of "
                        "them can be meant");
    if (args_has(args, OPT_UNITS) && args_has(args, OPT_SIZE))
        return complain(err, HF_E_ARGUMENT,
                        "--units and --size: only one of "
                        "them can be meant");
    if (in->opts.to_file < in->opts.from_file)
        return complain(err, HF_E_ARGUMENT,
                        "--to-file %" PRIu32 ": is before --from-file %" PRIu32,
                        in->opts.to_file, in->opts.from_file);
    in->opts.provider = args->opt[OPT_PROVIDER].text;
    hf_status s = HF_OK;
    if (args_has(args, OPT_SIZE))
        s = units_of_size(in, err);
    if (s == HF_OK)
        s = check_network(in, err);
    if (s == HF_OK && !in->exists)
        s = check_complete(in, err);
    if (s == HF_OK && args_has(args, OPT_NEW_ID))
        s = check_new_id(in, err);
    return s;
}

/* ---- what it will take --------------------------------------------------- */

/* New sets that main net would not take are legal, but seldom meant. */
static void warn_network(struct init *in)
{
    const hf_space_meta *meta = &in->plan.meta;
    hf_space_network net = {.size = sizeof net};
    hf_space_network_mainnet(&net);
    rules_warn(in->ui, &in->rules, meta);
    if (in->rules.bind || in->plan.exists)
        return;
    if (meta->num_units < net.min_units || meta->num_units > net.max_units)
        ui_warn(in->ui,
                "main net takes sets of %" PRIu32 " to %" PRIu32
                " units, not of %" PRIu32,
                net.min_units, net.max_units, meta->num_units);
    if (meta->labels_per_unit != net.labels_per_unit)
        ui_warn(in->ui,
                "a unit of main net has %" PRIu64 " labels, not %" PRIu64,
                net.labels_per_unit, meta->labels_per_unit);
    if (in->plan.scrypt_n != net.scrypt_n)
        ui_warn(in->ui, "main net's N is %" PRIu64 ", not %" PRIu64,
                net.scrypt_n, in->plan.scrypt_n);
}

/* A short measurement, unless the whole work takes no longer than it would. */
static hf_status measure(struct init *in, hf_error *err)
{
    enum { MEASURE_MS = 500 };
    const hf_space_plan *plan = &in->plan;
    uint64_t left = plan->labels_total - plan->labels_stored;
    if (left < 32 * 1024 && left * plan->scrypt_n < 4096u * 8192u)
        return HF_OK;
    hf_space_bench_opts opts = {.size = sizeof opts,
                                .scrypt_n = plan->scrypt_n,
                                .duration_ms = MEASURE_MS};
    hf_space_bench_outcome outcome = {.size = sizeof outcome};
    hf_job *job = NULL;
    hf_status s = hf_space_bench_start(in->host.ctx, &job, &opts, err);
    if (s == HF_OK)
        s = host_wait(&in->host, job, false, err);
    if (s == HF_OK)
        s = hf_space_bench_result(job, &outcome, err);
    if (s == HF_OK)
        in->rate = outcome.labels_per_second;
    hf_job_free(job);
    return s;
}

static void show_time(struct init *in, uint64_t left)
{
    char time[FORM_BYTES], rate[FORM_BYTES];
    hf_context_info info = {.size = sizeof info};
    if (hf_context_get_info(in->host.ctx, &info) != HF_OK)
        return;
    ui_row(in->ui, "computed by", "cpu, %" PRIu32 " thread%s, kernel %s",
           info.workers, info.workers == 1 ? "" : "s", info.label_kernel);
    if (left == 0)
        ui_row(in->ui, "time", "none: nothing is left to do");
    else if (!(in->rate > 0))
        ui_row(in->ui, "time", "a few seconds");
    else
        ui_row(in->ui, "time", "about %s at %s labels/s",
               form_duration(time, (uint64_t)((double)left / in->rate * 1e3)),
               form_count(rate, (uint64_t)in->rate));
}

static void show_plan(struct init *in)
{
    const hf_space_plan *p = &in->plan;
    char a[FORM_BYTES], b[FORM_BYTES], c[FORM_BYTES];
    uint64_t left = p->labels_total - p->labels_stored;
    uint64_t per_file = p->meta.max_file_size / HF_SPACE_LABEL_BYTES;
    uint64_t labels = p->meta.labels_per_unit * p->meta.num_units;
    ui_say(in->ui, "%s %s",
           p->exists ? "Going on with the set in" : "A new set in",
           in->args->dir);
    set_rows(in->ui, &p->meta, p->scrypt_n);
    if (p->first_file != 0 ||
        (per_file &&
         (uint64_t)p->last_file + 1 < (labels + per_file - 1) / per_file))
        ui_row(in->ui, "files", "%" PRIu32 " to %" PRIu32 " in this run",
               p->first_file, p->last_file);
    if (p->labels_stored == 0)
        ui_row(in->ui, "found", "nothing yet");
    else
        ui_row(in->ui, "found", "%s of %s (%s)",
               form_size(a, p->labels_stored * HF_SPACE_LABEL_BYTES),
               form_size(b, p->labels_total * HF_SPACE_LABEL_BYTES),
               form_percent(c, p->labels_stored, p->labels_total));
    ui_row(in->ui, "to write", "%s, free are %s%s",
           form_size(a, p->bytes_to_write), form_size(b, p->bytes_free),
           p->bytes_to_write > p->bytes_free ? ": too little" : "");
    ui_row(in->ui, "memory", "at most %s", form_size(a, p->memory_bytes));
    show_time(in, left);
}

static void plan_json(struct init *in, const char *key)
{
    const hf_space_plan *p = &in->plan;
    struct text t = {0};
    json_begin(&t, NULL);
    json_begin(&t, key);
    json_text(&t, "dir", in->args->dir);
    set_json(&t, &p->meta);
    json_number(&t, "scrypt_n", p->scrypt_n);
    json_bool(&t, "exists", p->exists);
    json_number(&t, "first_file", p->first_file);
    json_number(&t, "last_file", p->last_file);
    json_number(&t, "labels_total", p->labels_total);
    json_number(&t, "labels_stored", p->labels_stored);
    json_number(&t, "bytes_to_write", p->bytes_to_write);
    json_number(&t, "bytes_free", p->bytes_free);
    json_number(&t, "memory_bytes", p->memory_bytes);
    if (in->rate > 0) {
        json_real(&t, "labels_per_second", in->rate, 1);
        json_real(&t, "expected_seconds",
                  (double)(p->labels_total - p->labels_stored) / in->rate, 1);
    } else {
        json_null(&t, "labels_per_second");
        json_null(&t, "expected_seconds");
    }
    json_end(&t);
    json_end(&t);
    ui_json(in->ui, &t);
}

/* ---- doing it ------------------------------------------------------------ */

static hf_status save_key(struct init *in, hf_error *err)
{
    if (!args_has(in->args, OPT_NEW_ID))
        return HF_OK;
    hf_status s = identity_save(&in->key, in->args->dir, err);
    if (s != HF_OK)
        return s;
    ui_warn(in->ui,
            "back up %s/identity.key and keep it secret: without this key "
            "the set is worth nothing",
            in->args->dir);
    return HF_OK;
}

static void outcome_json(struct init *in, const hf_space_init_outcome *o)
{
    struct text t = {0};
    json_begin(&t, NULL);
    json_begin(&t, "done");
    json_text(&t, "dir", in->args->dir);
    set_json(&t, &o->meta);
    json_number(&t, "scrypt_n", in->plan.scrypt_n);
    json_number(&t, "labels_total", in->plan.labels_total);
    json_number(&t, "labels_found", o->labels_found);
    json_number(&t, "labels_written", o->labels_written);
    json_number(&t, "labels_beyond", o->labels_beyond);
    json_number(&t, "bytes_torn", o->bytes_torn);
    json_real(&t, "labels_per_second", o->labels_per_second, 1);
    json_end(&t);
    json_end(&t);
    ui_json(in->ui, &t);
}

static void show_outcome(struct init *in, const hf_space_init_outcome *o)
{
    char a[FORM_BYTES], b[FORM_BYTES], hex[33];
    if (in->ui->json) {
        outcome_json(in, o);
        return;
    }
    if (o->bytes_torn)
        ui_say(in->ui, "%s at the end of a file were torn, and are made anew",
               form_size(a, o->bytes_torn));
    if (o->labels_written + o->labels_beyond == 0)
        ui_out(in->ui, "complete: nothing was left to do\n");
    else
        ui_out(in->ui, "complete: %s written, at %s labels/s\n",
               form_size(a, o->labels_written * HF_SPACE_LABEL_BYTES),
               form_count(b, (uint64_t)o->labels_per_second));
    if (!o->meta.has_nonce)
        ui_out(in->ui, "VRF nonce: none yet\n");
    else if (o->meta.has_nonce_value)
        ui_out(in->ui, "VRF nonce: %" PRIu64 " (label %s)\n", o->meta.nonce,
               form_hex(hex, o->meta.nonce_value, 16));
    else
        ui_out(in->ui, "VRF nonce: %" PRIu64 " (beyond the data)\n",
               o->meta.nonce);
}

/* Says how far a run came that did not end well, and how to go on. */
static int tell_stop(struct init *in, const hf_error *err,
                     const hf_space_init_outcome *o)
{
    char a[FORM_BYTES], b[FORM_BYTES], hex[65];
    struct text again = {0};
    hf_space_meta meta = {.size = sizeof meta};
    hf_error ignored;
    bool known = hf_space_meta_load(&meta, in->args->dir, &ignored) == HF_OK;
    uint64_t safe = o ? o->labels_found + o->labels_written : 0;
    args_again(&again, in->args, known,
               args_has(in->args, OPT_NEW_ID) ? form_hex(hex, in->key.id, 32)
                                              : NULL);
    if (o && err->code == HF_E_CANCELLED)
        ui_say(in->ui, "%s of %s are safe on disk",
               form_size(a, safe * HF_SPACE_LABEL_BYTES),
               form_size(b, in->plan.labels_total * HF_SPACE_LABEL_BYTES));
    int code = host_error(&in->host, err, in->args->dir, NULL, again.data);
    text_free(&again);
    return code;
}

/* Before anything is written, a new key included. */
static hf_status check_space(struct init *in, hf_error *err)
{
    const hf_space_plan *p = &in->plan;
    char need[FORM_BYTES], have[FORM_BYTES];
    if (p->bytes_to_write <= p->bytes_free)
        return HF_OK;
    complain(err, HF_E_IO, "%.120s: %s are to be written, %s are free",
             in->args->dir, form_size(need, p->bytes_to_write),
             form_size(have, p->bytes_free));
    err->os_code = ENOSPC;
    snprintf(err->cause, sizeof err->cause,
             "%" PRIu64 " bytes, of which %" PRIu64 " are free",
             p->bytes_to_write, p->bytes_free);
    return HF_E_IO;
}

static int run(struct init *in)
{
    hf_error err = {.code = HF_OK};
    hf_job *job = NULL;
    hf_space_init_outcome outcome = {.size = sizeof outcome};
    hf_status s = check_space(in, &err);
    if (s != HF_OK)
        return ui_error(in->ui, &err, in->args->dir,
                        "another folder, fewer units, or --from-file and "
                        "--to-file for a part of the set");
    s = save_key(in, &err);
    if (s != HF_OK)
        return ui_error(in->ui, &err, in->args->dir, NULL);
    s = hf_space_init_start(in->host.ctx, &job, in->args->dir, &in->opts, &err);
    if (s != HF_OK)
        return tell_stop(in, &err, NULL);
    s = host_wait(&in->host, job, true, &err);
    hf_error ignored;
    bool known = hf_space_init_result(job, &outcome, &ignored) == HF_OK;
    hf_job_free(job);
    if (s != HF_OK)
        return tell_stop(in, &err, known ? &outcome : NULL);
    if (known)
        show_outcome(in, &outcome);
    return EXIT_FINE;
}

/* Context, plan, measurement; then the work. */
static int prepare_and_run(struct init *in)
{
    hf_error err = {.code = HF_OK};
    hf_status s = host_open(&in->host, in->ui, in->args, &err);
    if (s != HF_OK)
        return ui_error(in->ui, &err, NULL, NULL);
    s = check_provider(in, &err);
    if (s != HF_OK)
        return ui_error(in->ui, &err, NULL, in->advice);
    in->plan.size = sizeof in->plan;
    s = hf_space_init_plan(in->host.ctx, &in->plan, in->args->dir, &in->opts,
                           &err);
    if (s == HF_OK && in->rules.bind)
        s = rules_check(&in->rules, &in->plan.meta, &err);
    if (s != HF_OK)
        return host_error(&in->host, &err, in->args->dir, NULL, NULL);
    s = measure(in, &err);
    if (s != HF_OK) {
        struct text again = {0};
        args_again(&again, in->args, false, NULL);
        int code = host_error(&in->host, &err, NULL, NULL, again.data);
        text_free(&again);
        return code;
    }
    bool dry = args_has(in->args, OPT_DRY_RUN);
    warn_network(in);
    in->ui->results = dry;
    show_plan(in);
    if (in->ui->json)
        plan_json(in, dry ? "done" : "plan");
    return dry ? EXIT_FINE : run(in);
}

int cmd_init(struct ui *ui, const struct args *args)
{
    struct init in = {.ui = ui,
                      .args = args,
                      .meta.size = sizeof in.meta,
                      .host = HOST_CLOSED(ui, args)};
    hf_error err = {.code = HF_OK};
    hf_status s = rules_load(&in.rules, args, &err);
    if (s != HF_OK)
        return ui_error(ui, &err, args->opt[OPT_NETWORK].text, NULL);
    struct stat st;
    if (stat(args->dir, &st) == 0 && !S_ISDIR(st.st_mode)) {
        complain(&err, HF_E_IO, "%.200s is not a folder", args->dir);
        return ui_error(ui, &err, args->dir, NULL);
    }
    /* What else than "not there" keeps the metadata from being read is for the
     * plan to say. */
    in.exists = hf_space_meta_load(&in.meta, args->dir, &err) == HF_OK;
    if (!in.exists && (err.code != HF_E_IO || err.os_code != ENOENT))
        return ui_error(ui, &err, args->dir, NULL);
    s = read_wishes(&in, &err);
    if (s != HF_OK)
        return ui_error(ui, &err, args->dir, in.advice);
    int code = prepare_and_run(&in);
    host_close(&in.host);
    identity_wipe(&in.key);
    return code;
}

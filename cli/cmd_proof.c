/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * `holdfast space prove` and `verify`. A proof that does not hold is a result
 * on standard output, with exit code 1; an error means that it could not be
 * told.
 */
#include "commands.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- where a proof goes -------------------------------------------------- */

enum target { TO_STDOUT, TO_FILE, TO_STREAM };

static hf_status fail_path(hf_error *err, const char *what, const char *path)
{
    int os_code = errno;
    complain(err, HF_E_IO, "%s %.180s", what, path);
    err->os_code = os_code;
    snprintf(err->cause, sizeof err->cause, "%s", strerror(os_code));
    return HF_E_IO;
}

/* Looked at before hours of work: whether the file can be written at all. */
static hf_status find_target(enum target *out, const char *path, hf_error *err)
{
    struct stat st;
    *out = TO_STDOUT;
    if (path == NULL || strcmp(path, "-") == 0)
        return HF_OK;
    *out = TO_FILE;
    if (stat(path, &st) == 0) {
        if (S_ISDIR(st.st_mode))
            return complain(err, HF_E_ARGUMENT,
                            "--out %.180s: is a folder, a file is wanted",
                            path);
        /* A device or pipe is written to, never replaced by a file. */
        if (!S_ISREG(st.st_mode))
            *out = TO_STREAM;
    } else if (errno != ENOENT) {
        return fail_path(err, "cannot write", path);
    }
    if (*out == TO_STREAM)
        return HF_OK;
    struct text folder = {0};
    const char *slash = strrchr(path, '/');
    if (slash == NULL)
        text_add(&folder, ".");
    else
        text_add_bytes(&folder, path, (size_t)(slash - path) + 1);
    bool fine = folder.data && access(folder.data, W_OK | X_OK) == 0;
    text_free(&folder);
    return fine ? HF_OK : fail_path(err, "cannot write", path);
}

/* The proof as JSON text; NULL without memory. */
static char *proof_text(const hf_space_proof *proof, hf_error *err)
{
    size_t need = 0;
    hf_status s = hf_space_proof_format(proof, NULL, 0, &need, err);
    char *text = s == HF_E_MEMORY && need > 0 ? malloc(need) : NULL;
    if (text && hf_space_proof_format(proof, text, need, &need, err) == HF_OK)
        return text;
    free(text);
    return NULL;
}

static hf_status write_stream(const char *path, const char *text, hf_error *err)
{
    FILE *f = fopen(path, "we");
    if (f == NULL)
        return fail_path(err, "cannot write", path);
    bool fine = fputs(text, f) >= 0;
    fine = fclose(f) == 0 && fine;
    return fine ? HF_OK : fail_path(err, "cannot write", path);
}

static hf_status deliver(struct ui *ui, enum target target, const char *path,
                         const hf_space_proof *proof, hf_error *err)
{
    if (target == TO_FILE) {
        /* A link stays one: what it points to is replaced. */
        char *real = realpath(path, NULL);
        hf_status s = hf_space_proof_save(proof, real ? real : path, err);
        free(real);
        return s;
    }
    if (target == TO_STDOUT && ui->json)
        return HF_OK; /* it is part of "done" */
    char *text = proof_text(proof, err);
    if (text == NULL)
        return complain(err, HF_E_MEMORY, "no memory for the proof's text");
    hf_status s = HF_OK;
    if (target == TO_STREAM)
        s = write_stream(path, text, err);
    else
        ui_out(ui, "%s%s", text,
               text[0] && text[strlen(text) - 1] == '\n' ? "" : "\n");
    free(text);
    return s;
}

/* ---- prove --------------------------------------------------------------- */

static void proof_json(struct ui *ui, const char *path, const hf_space_proof *p)
{
    struct text t = {0};
    char pow[24];
    snprintf(pow, sizeof pow, "%" PRIu64, p->pow);
    json_begin(&t, NULL);
    json_begin(&t, "done");
    if (path)
        json_text(&t, "out", path);
    else
        json_null(&t, "out");
    json_begin(&t, "proof");
    json_number(&t, "version", 1);
    json_number(&t, "nonce", p->nonce);
    json_hex(&t, "indices", p->indices, p->indices_bytes);
    json_text(&t, "pow", pow);
    json_hex(&t, "challenge", p->challenge, 32);
    json_hex(&t, "node_id", p->node_id, 32);
    json_hex(&t, "commitment_atx_id", p->commitment_atx_id, 32);
    json_number(&t, "num_units", p->num_units);
    json_number(&t, "labels_per_unit", p->labels_per_unit);
    json_end(&t);
    json_end(&t);
    json_end(&t);
    ui_json(ui, &t);
}

static hf_status prove_options(hf_space_prove_opts *opts,
                               const struct rules *rules,
                               const struct args *args, hf_error *err)
{
    static const hf_space_randomx modes[] = {
        HF_SPACE_RANDOMX_AUTO, HF_SPACE_RANDOMX_FAST, HF_SPACE_RANDOMX_LIGHT};
    *opts = (hf_space_prove_opts)HF_SPACE_PROVE_OPTS_INIT;
    opts->nonces = (uint32_t)args_number(args, OPT_NONCES, 0);
    opts->k1 = rules->net.k1;
    opts->k2 = rules->net.k2;
    opts->pow_difficulty = rules->net.pow_difficulty;
    opts->scrypt_n = rules_scrypt_n(rules, args);
    opts->randomx = modes[args_number(args, OPT_RANDOMX, 0)];
    opts->large_pages = args_has(args, OPT_LARGE_PAGES);
    opts->no_self_check = args_has(args, OPT_NO_SELF_CHECK);
    if (!args_has(args, OPT_CHALLENGE))
        return complain(err, HF_E_ARGUMENT,
                        "which challenge? --challenge HEX32 is missing");
    if (opts->k1 == 0 || opts->k2 == 0)
        return complain(err, HF_E_ARGUMENT,
                        "--%s 0: must be at least 1 to make a proof",
                        opts->k1 == 0 ? "k1" : "k2");
    return HF_OK;
}

static hf_status prove_start(struct host *host, hf_job **job,
                             const struct rules *rules,
                             const hf_space_prove_opts *opts, hf_error *err)
{
    const struct args *args = host->args;
    char hex[65];
    hf_space_status status = {.size = sizeof status};
    status.meta.size = sizeof status.meta;
    hf_status s = hf_space_get_status(&status, args->dir, err);
    if (s != HF_OK)
        return s;
    if (rules->bind)
        s = rules_check(rules, &status.meta, err);
    if (s != HF_OK)
        return s;
    rules_warn(host->ui, rules, &status.meta);
    uint64_t n;
    s = hf_space_find_scrypt_n(host->ctx, &n, args->dir, opts->scrypt_n, err);
    if (s != HF_OK)
        return s;
    ui_say(host->ui, "Proving %s", args->dir);
    set_rows(host->ui, &status.meta, n);
    ui_row(host->ui, "challenge", "%s",
           form_hex(hex, args->opt[OPT_CHALLENGE].bytes, 32));
    return hf_space_prove_start(host->ctx, job, args->dir,
                                args->opt[OPT_CHALLENGE].bytes, opts, err);
}

static void say_delivered(struct ui *ui, const char *path, uint32_t nonce,
                          const char *verified)
{
    struct text name = {0};
    text_add(&name, path);
    text_tame(&name);
    ui_out(ui, "%s: proof with nonce %" PRIu32 ", %s\n",
           name.data ? name.data : "", nonce, verified);
    text_free(&name);
}

static hf_status prove(struct host *host, hf_job **job,
                       const struct rules *rules, hf_error *err)
{
    const struct args *args = host->args;
    const char *path = args->opt[OPT_OUT].text;
    const hf_space_proof *proof = NULL;
    hf_space_prove_opts opts;
    enum target target;
    hf_status s = prove_options(&opts, rules, args, err);
    if (s == HF_OK)
        s = find_target(&target, path, err);
    if (s == HF_OK)
        s = host_open(host, host->ui, args, err);
    if (s == HF_OK)
        s = prove_start(host, job, rules, &opts, err);
    if (s == HF_OK)
        s = host_wait(host, *job, true, err);
    if (s == HF_OK)
        s = hf_space_prove_result(*job, &proof, err);
    if (s == HF_OK)
        s = deliver(host->ui, target, path, proof, err);
    if (s != HF_OK)
        return s;
    if (host->ui->json)
        proof_json(host->ui, target == TO_STDOUT ? NULL : path, proof);
    else if (target != TO_STDOUT)
        say_delivered(host->ui, path, proof->nonce,
                      opts.no_self_check ? "not verified" : "verified");
    return HF_OK;
}

/* What helps against data that are incomplete or damaged: a command. */
static void repair_advice(struct text *t, const struct args *args,
                          const hf_error *err)
{
    char file[256];
    uint32_t number;
    if (err->code != HF_E_FORMAT || !ui_file_named(file, sizeof file, err))
        return;
    const char *name = strstr(file, "postdata_");
    if (name == NULL || sscanf(name, "postdata_%" SCNu32 ".bin", &number) != 1)
        return;
    text_addf(t, "move %s away, then: ", file);
    text_add_quoted(t, args->program);
    text_add(t, " space init ");
    text_add_quoted(t, args->dir);
    text_addf(t, " --from-file %" PRIu32 " --to-file %" PRIu32, number, number);
}

int cmd_prove(struct ui *ui, const struct args *args)
{
    struct host host = HOST_CLOSED(ui, args);
    struct rules rules;
    hf_error err = {.code = HF_OK};
    hf_job *job = NULL;
    const char *where = args->opt[OPT_NETWORK].text;
    hf_status s = rules_load(&rules, args, &err);
    if (s == HF_OK) {
        where = args->dir;
        s = prove(&host, &job, &rules, &err);
    }
    int code = EXIT_FINE;
    if (s != HF_OK) {
        struct text again = {0}, advice = {0};
        args_again(&again, args, false, NULL);
        repair_advice(&advice, args, &err);
        code = host_error(&host, &err, where, advice.data, again.data);
        text_free(&advice);
        text_free(&again);
    }
    hf_job_free(job);
    host_close(&host);
    return code;
}

/* ---- verify -------------------------------------------------------------- */

struct verify {
    struct ui *ui;
    const struct args *args;
    struct rules rules;
    struct host host;
    hf_space_proof *proof;
    hf_space_meta meta;
    hf_space_verify_opts opts;
    uint64_t scrypt_n;
    bool guessed_n; /* it is 8192 because nothing says anything else */
    const char *where;
};

static hf_status read_stdin(hf_space_proof **proof, hf_error *err)
{
    enum { MOST = 1 << 20 };
    struct text t = {0};
    char part[4096];
    size_t n;
    while (t.bytes <= MOST && (n = fread(part, 1, sizeof part, stdin)) > 0)
        text_add_bytes(&t, part, n);
    hf_status s;
    if (ferror(stdin))
        s = fail_path(err, "cannot read", "standard input");
    else if (t.failed || t.bytes > MOST)
        s = complain(err, HF_E_FORMAT,
                     "standard input: is no proof, which "
                     "has at most 1 MiB");
    else
        s = hf_space_proof_parse(proof, "standard input", t.data ? t.data : "",
                                 t.bytes, err);
    text_free(&t);
    return s;
}

static hf_status verify_options(struct verify *v, hf_error *err)
{
    const struct args *args = v->args;
    v->opts.size = sizeof v->opts;
    v->opts.strict = args_has(args, OPT_STRICT);
    v->opts.large_pages = args_has(args, OPT_LARGE_PAGES);
    if (!args_has(args, OPT_PROOF))
        return complain(err, HF_E_ARGUMENT,
                        "which proof? --proof FILE is missing");
    if ((args->dir != NULL) == args_has(args, OPT_METADATA))
        return complain(err, HF_E_ARGUMENT,
                        args->dir ? "DIR and --metadata: only one of them can "
                                    "be meant"
                                  : "of which set? DIR or --metadata "
                                    "FILE is missing");
    if (args_has(args, OPT_SUBSET) && args_has(args, OPT_INDEX))
        return complain(err, HF_E_ARGUMENT,
                        "--subset and --index: only one "
                        "of them can be meant");
    if (args_has(args, OPT_SUBSET) != args_has(args, OPT_SEED))
        return complain(err, HF_E_ARGUMENT,
                        "--subset and --seed belong together: --%s is missing",
                        args_has(args, OPT_SUBSET) ? "seed" : "subset");
    if (args_has(args, OPT_SUBSET)) {
        v->opts.mode = HF_SPACE_VERIFY_SUBSET;
        v->opts.k3 = args->opt[OPT_SUBSET].number;
        v->opts.seed = args->seed;
        v->opts.seed_bytes = args->seed_bytes;
    } else if (args_has(args, OPT_INDEX)) {
        v->opts.mode = HF_SPACE_VERIFY_ONE;
        v->opts.index = args->opt[OPT_INDEX].number;
    }
    return HF_OK;
}

/* N of the set whose metadata lie at `path`: what is recorded beside them if
 * they still bear their name; 0: unknown. */
static uint64_t recorded_n(const char *path)
{
    static const char own[] = "postdata_metadata.json";
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    hf_space_status status = {.size = sizeof status};
    status.meta.size = sizeof status.meta;
    struct text folder = {0};
    hf_error ignored;
    if (strcmp(name, own) != 0)
        return 0;
    if (slash)
        text_add_bytes(&folder, path, (size_t)(name - path));
    else
        text_add(&folder, ".");
    bool known = folder.data &&
                 hf_space_get_status(&status, folder.data, &ignored) == HF_OK;
    text_free(&folder);
    return known ? status.scrypt_n : 0;
}

static hf_status load_metadata(struct verify *v, hf_error *err)
{
    v->where = v->args->opt[OPT_METADATA].text;
    v->meta.size = sizeof v->meta;
    hf_status s = hf_space_meta_load(&v->meta, v->where, err);
    if (s != HF_OK || v->scrypt_n)
        return s;
    v->scrypt_n = recorded_n(v->where);
    v->guessed_n = v->scrypt_n == 0;
    if (v->guessed_n)
        v->scrypt_n = 8192;
    return HF_OK;
}

/* Reads proof and set. */
static hf_status verify_load(struct verify *v, hf_error *err)
{
    const struct args *args = v->args;
    const char *path = args->opt[OPT_PROOF].text;
    hf_space_status status = {.size = sizeof status};
    status.meta.size = sizeof status.meta;
    v->where = path;
    hf_status s = strcmp(path, "-") == 0
                      ? read_stdin(&v->proof, err)
                      : hf_space_proof_load(&v->proof, path, err);
    if (s != HF_OK)
        return s;
    v->scrypt_n = rules_scrypt_n(&v->rules, args);
    if (args->dir == NULL)
        return load_metadata(v, err);
    v->where = args->dir;
    s = hf_space_get_status(&status, args->dir, err);
    if (s != HF_OK)
        return s;
    set_warn(v->ui, args->dir, &status);
    v->meta = status.meta;
    return HF_OK;
}

/* "" if the proof is of this set, else which field differs, with both values.
 */
static void mismatch(char out[252], const hf_space_proof *p,
                     const hf_space_meta *m)
{
    char a[65], b[65];
    out[0] = '\0';
    if (memcmp(p->node_id, m->node_id, 32) != 0)
        snprintf(out, 252, "node_id of the proof is %s, of the set %s",
                 form_hex(a, p->node_id, 32), form_hex(b, m->node_id, 32));
    else if (memcmp(p->commitment_atx_id, m->commitment_atx_id, 32) != 0)
        snprintf(out, 252,
                 "commitment_atx_id of the proof is %s, of the set %s",
                 form_hex(a, p->commitment_atx_id, 32),
                 form_hex(b, m->commitment_atx_id, 32));
    else if (p->num_units != m->num_units)
        snprintf(out, 252,
                 "num_units of the proof is %" PRIu32 ", of the set %" PRIu32,
                 p->num_units, m->num_units);
    else if (p->labels_per_unit != m->labels_per_unit)
        snprintf(out, 252,
                 "labels_per_unit of the proof is %" PRIu64
                 ", of the set %" PRIu64,
                 p->labels_per_unit, m->labels_per_unit);
}

static const char *verdict_name(hf_space_verdict_kind kind)
{
    switch (kind) {
    case HF_SPACE_VALID:
        return "valid";
    case HF_SPACE_INVALID_INDEX:
        return "invalid_index";
    case HF_SPACE_INVALID:
        break;
    }
    return "invalid";
}

static int show_verdict(struct verify *v, const hf_space_verdict *d)
{
    bool valid = d->kind == HF_SPACE_VALID;
    bool index = d->kind == HF_SPACE_INVALID_INDEX;
    if (index && v->guessed_n)
        ui_warn(v->ui, "nothing tells this set's N, so 8192 is taken; if it "
                       "has another, give it with --scrypt-n");
    if (v->ui->json) {
        struct text t = {0};
        json_begin(&t, NULL);
        json_begin(&t, "done");
        json_bool(&t, "valid", valid);
        json_text(&t, "verdict", verdict_name(d->kind));
        json_text(&t, "reason", d->reason);
        if (index) {
            json_number(&t, "index_id", d->index_id);
            json_number(&t, "label_index", d->label_index);
        } else {
            json_null(&t, "index_id");
            json_null(&t, "label_index");
        }
        json_end(&t);
        json_end(&t);
        ui_json(v->ui, &t);
    } else if (valid) {
        ui_out(v->ui, "valid\n");
    } else {
        ui_out(v->ui, "invalid: %s\n",
               d->reason[0] ? d->reason : "the proof does not hold");
    }
    return valid ? EXIT_FINE : EXIT_FALSE;
}

static hf_status verify(struct verify *v, hf_job **job,
                        hf_space_verdict *verdict, hf_error *err)
{
    hf_status s = verify_options(v, err);
    if (s == HF_OK)
        s = verify_load(v, err);
    if (s != HF_OK)
        return s;
    mismatch(verdict->reason, v->proof, &v->meta);
    if (verdict->reason[0]) {
        verdict->kind = HF_SPACE_INVALID;
        return HF_OK;
    }
    s = host_open(&v->host, v->ui, v->args, err);
    if (s == HF_OK && v->args->dir)
        s = hf_space_find_scrypt_n(v->host.ctx, &v->scrypt_n, v->args->dir,
                                   v->scrypt_n, err);
    if (s != HF_OK)
        return s;
    v->opts.network = v->rules.net;
    v->opts.network.scrypt_n = v->scrypt_n;
    if (!v->rules.bind) {
        v->opts.network.min_units = v->meta.num_units;
        v->opts.network.max_units = v->meta.num_units;
        v->opts.network.labels_per_unit = v->meta.labels_per_unit;
    }
    s = hf_space_verify_start(v->host.ctx, job, v->proof, &v->opts, err);
    if (s == HF_OK)
        s = host_wait(&v->host, *job, true, err);
    if (s == HF_OK)
        s = hf_space_verify_result(*job, verdict, err);
    return s;
}

int cmd_verify(struct ui *ui, const struct args *args)
{
    struct verify v = {.ui = ui, .args = args, .host = HOST_CLOSED(ui, args)};
    hf_space_verdict verdict = {.size = sizeof verdict};
    hf_error err = {.code = HF_OK};
    hf_job *job = NULL;
    v.where = args->opt[OPT_NETWORK].text;
    hf_status s = rules_load(&v.rules, args, &err);
    if (s == HF_OK)
        s = verify(&v, &job, &verdict, &err);
    int code;
    if (s == HF_OK) {
        code = show_verdict(&v, &verdict);
    } else {
        struct text again = {0};
        args_again(&again, args, false, NULL);
        code = host_error(&v.host, &err, v.where, NULL, again.data);
        text_free(&again);
    }
    hf_job_free(job);
    host_close(&v.host);
    hf_space_proof_free(v.proof);
    return code;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The mode without a name: initialising, with what must be given, asked and
 * agreed before. Its main invariant: until every question is answered and the
 * plan is made nothing is written, and no label that is stored is ever deleted
 * or cut off here.
 */
#include "identity.h"
#include "modes.h"
#include "numbers.h"
#include "say.h"

#include <holdfast/space.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { GO_ON = -1, ID_BYTES = 32, MOST_ID_BYTES = 256 };

struct id {
    uint8_t data[MOST_ID_BYTES];
    size_t bytes; /* 0: not known */
};

struct run {
    struct host *h;
    const struct flags *f;
    struct folder folder;
    hf_space_meta meta;
    bool has_meta;
    struct id id;
    struct id commitment;
    struct key key;
    bool new_key;
    hf_provider provider;
    hf_space_network net; /* bounds of the units as answered */
    hf_space_init_opts opts;
};

/* ---- what is there, and whose it is ------------------------------------------ */

static int load_set(struct run *r)
{
    hf_error err = {.code = HF_OK};
    if (r->f->datadir[0] == '\0') {
        say("-datadir is empty");
        return END_FAILED;
    }
    if (!folder_scan(&r->folder, r->f->datadir))
        return END_FAILED;
    if (!r->folder.has_meta)
        return GO_ON;
    if (hf_space_meta_load(&r->meta, r->f->datadir, &err) != HF_OK) {
        say_error("failed to load metadata:", &err);
        return END_FAILED;
    }
    r->has_meta = true;
    return GO_ON;
}

static bool same_id(const struct id *id, const uint8_t *other)
{
    return id->bytes == ID_BYTES && memcmp(id->data, other, ID_BYTES) == 0;
}

static void set_id(struct id *id, const uint8_t *data)
{
    memcpy(id->data, data, ID_BYTES);
    id->bytes = ID_BYTES;
}

static int other_value(const struct run *r, const char *name,
                       const uint8_t *there, const char *given)
{
    char hex[2 * ID_BYTES + 1];
    say("WARNING: it appears that %s was previously initialized with a "
        "different `%s` value.",
        r->f->datadir, name);
    say("\tCurrent value: %s", hex_form(hex, there, ID_BYTES));
    say("\tValue passed to postcli: %s", given);
    say("aborting");
    return END_FAILED;
}

static int settle_id(struct run *r)
{
    struct id *id = &r->id;
    if (r->f->id[0] != '\0' &&
        !hex_read(id->data, sizeof id->data, &id->bytes, r->f->id)) {
        say("failed to decode id %s: it is not hex", r->f->id);
        return END_FAILED;
    }
    if (!r->has_meta)
        return GO_ON;
    if (r->f->id[0] == '\0')
        set_id(id, r->meta.node_id);
    return same_id(id, r->meta.node_id)
               ? GO_ON
               : other_value(r, "id", r->meta.node_id, r->f->id);
}

static int settle_key(struct run *r)
{
    uint8_t id[ID_BYTES];
    char hex[2 * ID_BYTES + 1];
    enum key_end end = key_load(id, r->f->datadir);
    if (end != KEY_FINE)
        return end == KEY_NONE ? GO_ON : END_FAILED;
    if (r->has_meta && memcmp(id, r->meta.node_id, sizeof id) != 0) {
        say("WARNING: inconsistent state: " KEY_NAME
            " file does not match metadata in %s",
            r->f->datadir);
        return END_FAILED;
    }
    if (r->f->id[0] == '\0') {
        set_id(&r->id, id);
        return GO_ON;
    }
    if (same_id(&r->id, id))
        return GO_ON;
    say("WARNING: it appears that %s was previously initialized with a "
        "generated key.",
        r->f->datadir);
    say("The provided id does not match the generated key.");
    say("\tCurrent value: %s", hex_form(hex, id, sizeof id));
    say("\tValue passed to postcli: %s", r->f->id);
    say("aborting");
    return END_FAILED;
}

/* ---- what must be given, what is asked ---------------------------------------- */

static uint64_t files_of(const hf_space_meta *m, uint64_t units)
{
    uint64_t labels = units * m->labels_per_unit; /* units: 32 bits, checked */
    uint64_t per_file = m->max_file_size / LABEL_BYTES;
    return labels / per_file + (labels % per_file != 0);
}

/* Nothing that is stored is given up, whatever the answer. */
static int refuse_fewer(const struct run *r)
{
    say("cli: initialization error: %s holds data of %" PRIu32
        " units in %" PRIu64 " files; %" PRIu64 " units are %" PRIu64 " files",
        r->f->datadir, r->meta.num_units, files_of(&r->meta, r->meta.num_units),
        r->f->num_units, files_of(&r->meta, r->f->num_units));
    say("%zu data files with %" PRIu64 " bytes are there; none was changed. "
        "Fewer units would erase data: only -reset deletes, and all of it.",
        r->folder.count, r->folder.bytes);
    return END_FAILED;
}

static int ask_units(struct run *r)
{
    uint64_t units = r->f->num_units;
    if (!r->f->set[FLAG_NUM_UNITS] && r->has_meta) {
        say("-numUnits must be specified to perform initialization.");
        return END_FAILED;
    }
    if (!r->has_meta || units == r->meta.num_units)
        return GO_ON;
    say("WARNING: it appears that %s was previously initialized with a "
        "different `numUnits` value.",
        r->f->datadir);
    say("\tCurrent value: %" PRIu32, r->meta.num_units);
    say("\tValue passed to postcli: %" PRIu64, units);
    if (units < r->meta.num_units && r->folder.labels > 0 && !r->f->reset)
        return refuse_fewer(r);
    return host_ask(r->h, true) ? GO_ON : END_FAILED;
}

static void tell_incompatible(const struct run *r)
{
    if (!r->f->yes)
        say("CONTINUING WILL INITIALIZE DATA INCOMPATIBLE WITH MAINNET. MAKE "
            "ABSOLUTELY SURE YOU WANT TO DO THIS.");
}

static int ask_bounds(struct run *r)
{
    uint64_t units = r->f->num_units;
    if (!r->f->set[FLAG_NUM_UNITS] ||
        (units >= r->net.min_units && units <= r->net.max_units))
        return GO_ON;
    say("WARNING: numUnits is outside of range valid for mainnet (min: %" PRIu32
        " max: %" PRIu32 " )",
        r->net.min_units, r->net.max_units);
    tell_incompatible(r);
    if (!host_ask(r->h, true))
        return END_FAILED;
    r->net.min_units = r->net.max_units = (uint32_t)units;
    return GO_ON;
}

static int settle_commitment(struct run *r)
{
    struct id *c = &r->commitment;
    const char *hex = r->f->commitment;
    if (!r->f->set[FLAG_COMMITMENT] && r->has_meta) {
        say("-commitmentAtxId must be specified to perform initialization.");
        return END_FAILED;
    }
    if (!hex_read(c->data, sizeof c->data, &c->bytes, hex)) {
        say("failed to decode commitmentAtxId %s: it is not hex", hex);
        return END_FAILED;
    }
    return !r->has_meta || same_id(c, r->meta.commitment_atx_id)
               ? GO_ON
               : other_value(r, "commitmentAtxId", r->meta.commitment_atx_id,
                             hex);
}

static int need_provider(struct run *r)
{
    if (r->f->set[FLAG_PROVIDER])
        return GO_ON;
    say("-provider flag is required");
    return END_FAILED;
}

static int ask_unusual(struct run *r, const char *name)
{
    say("WARNING: %s is set to a non-default value.", name);
    say("If you're trying to initialize for mainnet, please remove the -%s "
        "flag",
        name);
    tell_incompatible(r);
    return host_ask(r->h, true) ? GO_ON : END_FAILED;
}

static int ask_labels(struct run *r)
{
    return r->f->labels_per_unit == DEFAULT_LABELS_PER_UNIT
               ? GO_ON
               : ask_unusual(r, "labelsPerUnit");
}

static int ask_n(struct run *r)
{
    return r->f->scrypt_n == DEFAULT_SCRYPT_N ? GO_ON
                                              : ask_unusual(r, "scryptN");
}

static int need_id(struct run *r)
{
    if (r->id.bytes != 0 || (r->f->from_file == 0 && !r->f->set[FLAG_TO_FILE]))
        return GO_ON;
    say("-id flag is required when using -fromFile or -toFile");
    return END_FAILED;
}

/* ---- values, and the set that is there ------------------------------------------ */

/* What the foreign tool panics at. */
static int check_values(struct run *r)
{
    const struct flags *f = r->f;
    uint64_t units = f->num_units;
    if (r->id.bytes != 0 && r->id.bytes != ID_BYTES)
        say("invalid `nodeId` length; expected: 32, given: %zu", r->id.bytes);
    else if (r->commitment.bytes != ID_BYTES)
        say("invalid `commitmentAtxId` length; expected: 32, given: %zu",
            r->commitment.bytes);
    else if (units < r->net.min_units || units == 0)
        say("invalid `opts.NumUnits`; expected: >= %" PRIu32
            ", given: %" PRIu64,
            r->net.min_units ? r->net.min_units : 1, units);
    else if (units > r->net.max_units || units > UINT32_MAX)
        say("invalid `opts.NumUnits`; expected: <= %" PRIu32
            ", given: %" PRIu64,
            units > UINT32_MAX ? UINT32_MAX : r->net.max_units, units);
    else if (f->max_file_size < 1024)
        say("invalid `opts.MaxFileSize`; expected: >= 1024, given: %" PRIu64,
            f->max_file_size);
    else if (f->labels_per_unit == 0)
        say("invalid `cfg.LabelsPerUnit`; expected: > 0, given: 0");
    else if (f->labels_per_unit > UINT64_MAX / units / r->net.k1)
        say("uint64 overflow: `cfg.LabelsPerUnit` (%" PRIu64
            ") * `opts.NumUnits` (%" PRIu64 ") * `cfg.K1` (%" PRIu32
            ") exceeds the range allowed by uint64",
            f->labels_per_unit, units, r->net.k1);
    else if (f->scrypt_n < 2)
        say("scrypt parameter N cannot be %" PRIu64, f->scrypt_n);
    else
        return GO_ON;
    return END_PANIC;
}

static int mismatch(const struct run *r, const char *name, const char *relation,
                    uint64_t wanted, uint64_t found)
{
    say("`%s` config mismatch; expected: %s%" PRIu64 ", found: %" PRIu64
        ", datadir: %s",
        name, relation, wanted, found, r->f->datadir);
    return END_PANIC;
}

static int match_set(struct run *r)
{
    const struct flags *f = r->f;
    const hf_space_meta *m = &r->meta;
    if (r->folder.labels == 0)
        return GO_ON;
    if (!r->has_meta) {
        say("metadata file is missing: %s holds %zu data files with %" PRIu64
            " bytes but no " META_NAME,
            f->datadir, r->folder.count, r->folder.bytes);
        return END_PANIC;
    }
    if (f->labels_per_unit != m->labels_per_unit)
        return mismatch(r, "LabelsPerUnit", "", f->labels_per_unit,
                        m->labels_per_unit);
    if (f->max_file_size != m->max_file_size)
        return mismatch(r, "MaxFileSize", "", f->max_file_size,
                        m->max_file_size);
    return f->num_units > m->num_units
               ? mismatch(r, "NumUnits", ">= ", f->num_units, m->num_units)
               : GO_ON;
}

/* ---- initialising ---------------------------------------------------------------- */

static int init_error(const hf_error *err)
{
    say_error("cli: initialization error", err);
    return END_FAILED;
}

static int check_provider(struct run *r)
{
    hf_error err = {.code = HF_OK};
    if (host_open(r->h, &err) != HF_OK)
        return init_error(&err);
    if (provider_find(r->h->ctx, r->f->provider, &r->provider)) {
        r->opts.provider = r->provider.id;
        return GO_ON;
    }
    say("cli: initialization error: invalid provider ID %" PRIu64
        "; those there are:",
        r->f->provider);
    provider_tell(r->h->ctx);
    return END_PANIC;
}

static int choose_files(struct run *r)
{
    const struct flags *f = r->f;
    int64_t to = f->set[FLAG_TO_FILE] ? f->to_file : HF_SPACE_FILES_ALL;
    if (f->from_file >= 0 && f->from_file <= to &&
        (to < HF_SPACE_FILES_ALL || !f->set[FLAG_TO_FILE])) {
        r->opts.from_file = (uint32_t)f->from_file;
        r->opts.to_file = (uint32_t)to;
        return GO_ON;
    }
    say("cli: initialization error: files %" PRId64 " to %" PRId64
        " were asked for",
        f->from_file, to);
    return END_FAILED;
}

/*
 * Metadata of other parameters, and what is less than a label: in the way of a
 * new set, but nothing that was made. The foreign tool overwrites them.
 */
static int clear_empty_set(struct run *r)
{
    const hf_space_meta *m = &r->meta;
    const struct flags *f = r->f;
    bool other = r->has_meta && (m->num_units != f->num_units ||
                                 m->labels_per_unit != f->labels_per_unit ||
                                 m->max_file_size != f->max_file_size);
    if (r->folder.labels > 0 ||
        (!other && (r->has_meta || r->folder.bytes == 0)))
        return GO_ON;
    say("no label is stored yet, but what is there is of other parameters.");
    folder_tell(&r->folder);
    if (!host_ask(r->h, true) || !folder_delete(&r->folder))
        return END_FAILED;
    return GO_ON;
}

static void fill_opts(struct run *r)
{
    r->opts.node_id = r->id.data;
    r->opts.commitment_atx_id = r->commitment.data;
    r->opts.num_units = (uint32_t)r->f->num_units;
    r->opts.labels_per_unit = r->f->labels_per_unit;
    r->opts.max_file_size = r->f->max_file_size;
    r->opts.scrypt_n = r->f->set[FLAG_SCRYPT_N] ? r->f->scrypt_n : 0;
}

/* Makes a key in memory if there is no identity, and plans; writes nothing. */
static int plan_init(struct run *r)
{
    hf_space_plan plan = {.size = sizeof plan};
    hf_error err = {.code = HF_OK};
    if (r->id.bytes == 0) {
        say("cli: generating new identity");
        if (!key_new(&r->key))
            return END_FAILED;
        r->new_key = true;
        set_id(&r->id, r->key.id);
    }
    fill_opts(r);
    if (hf_space_init_plan(r->h->ctx, &plan, r->f->datadir, &r->opts, &err) !=
        HF_OK)
        return init_error(&err);
    if (plan.bytes_to_write > plan.bytes_free) {
        say("cli: initialization error: %" PRIu64 " bytes are to be written, "
            "%" PRIu64 " are free: %s",
            plan.bytes_to_write, plan.bytes_free, strerror(ENOSPC));
        return END_FAILED;
    }
    note(r->f->log_level, HF_LOG_INFO,
         "initialization: starting\t{\"datadir\": \"%s\", \"firstFile\": "
         "%" PRIu32 ", \"lastFile\": %" PRIu32 ", \"numLabels\": %" PRIu64
         ", \"numLabelsWritten\": %" PRIu64 "}",
         r->f->datadir, plan.first_file, plan.last_file, plan.labels_total,
         plan.labels_stored);
    return GO_ON;
}

static int interrupted(void)
{
    say("cli: initialization interrupted");
    return END_FAILED;
}

static int save_key(struct run *r)
{
    if (host_stopped(r->h))
        return interrupted();
    if (!r->new_key)
        return GO_ON;
    if (!key_save(&r->key, r->f->datadir))
        return END_FAILED;
    say("generated key in " KEY_NAME);
    say("copy this file to the `data/identities` directory of your node");
    return GO_ON;
}

static void note_outcome(const struct run *r, const hf_space_init_outcome *o)
{
    int limit = r->f->log_level;
    if (o->bytes_torn)
        note(limit, HF_LOG_WARN,
             "initialization: %" PRIu64 " bytes of torn labels were cut off "
             "and made again",
             o->bytes_torn);
    note(limit, HF_LOG_INFO,
         "initialization: ended\t{\"numLabelsFound\": %" PRIu64
         ", \"numLabelsWritten\": %" PRIu64 ", \"labelsPerSecond\": %.0f}",
         o->labels_found, o->labels_written, o->labels_per_second);
    if (o->meta.has_nonce)
        note(limit, HF_LOG_INFO,
             "initialization: nonce\t{\"nonce\": %" PRIu64 "}", o->meta.nonce);
}

static int initialize(struct run *r)
{
    hf_space_init_outcome outcome = {.size = sizeof outcome};
    hf_error err = {.code = HF_OK}, ignored;
    hf_job *job = NULL;
    hf_status s = hf_space_init_start(r->h->ctx, &job, r->f->datadir, &r->opts,
                                      &err);
    if (s == HF_OK) {
        s = host_wait(r->h, job, &err);
        if (hf_space_init_result(job, &outcome, &ignored) == HF_OK)
            note_outcome(r, &outcome);
    }
    hf_job_free(job);
    if (s == HF_E_CANCELLED && r->h->stopped)
        return interrupted();
    if (s != HF_OK)
        return init_error(&err);
    say("cli: initialization completed");
    return GO_ON;
}

/* ---- -genproof --------------------------------------------------------------------- */

/* The proof that *job holds, by the network's rules. */
static int check_proof(struct run *r, const hf_job *job)
{
    const hf_space_proof *proof = NULL;
    hf_space_verify_opts opts = {.size = sizeof opts, .network = r->net};
    hf_space_verdict verdict = {.size = sizeof verdict};
    hf_error err = {.code = HF_OK};
    opts.network.labels_per_unit = r->f->labels_per_unit;
    if (r->opts.scrypt_n != 0)
        opts.network.scrypt_n = r->opts.scrypt_n;
    hf_status s = hf_space_prove_result(job, &proof, &err);
    if (s == HF_OK)
        s = hf_space_verify(r->h->ctx, proof, &opts, &verdict, &err);
    if (s != HF_OK) {
        say_error("failed to verify test proof:", &err);
        return END_FAILED;
    }
    if (verdict.kind != HF_SPACE_VALID) {
        say("failed to verify test proof: invalid proof: %s", verdict.reason);
        return END_FAILED;
    }
    say("cli: proof is valid");
    return END_FINE;
}

static int prove(struct run *r)
{
    static const uint8_t challenge[32];
    hf_space_prove_opts opts = {.size = sizeof opts,
                                .nonces = 16,
                                .k1 = r->net.k1,
                                .k2 = r->net.k2,
                                .pow_difficulty = r->net.pow_difficulty,
                                .scrypt_n = r->opts.scrypt_n};
    hf_error err = {.code = HF_OK};
    hf_job *job = NULL;
    if (!r->f->genproof)
        return END_FINE;
    say("cli: generating proof as a sanity test");
    hf_status s = hf_space_prove_start(r->h->ctx, &job, r->f->datadir,
                                       challenge, &opts, &err);
    if (s == HF_OK)
        s = host_wait(r->h, job, &err);
    int end = END_FAILED;
    if (s == HF_OK)
        end = check_proof(r, job);
    else
        say_error("proof generation error", &err);
    hf_job_free(job);
    return end;
}

/* ---- the order of things ------------------------------------------------------------ */

static int run_steps(struct run *r, int (*const *steps)(struct run *))
{
    int end = GO_ON;
    for (; *steps && end == GO_ON; steps++)
        end = (*steps)(r);
    return end;
}

int mode_init(struct host *h)
{
    static int (*const checks[])(struct run *) = {
        load_set,          settle_id,     settle_key, ask_units, ask_bounds,
        settle_commitment, need_provider, ask_labels, ask_n,     need_id,
        check_values,      match_set,     NULL};
    static int (*const work[])(struct run *) = {
        check_provider, choose_files, clear_empty_set, plan_init,
        save_key,       initialize,   prove,           NULL};
    struct run r = {.h = h,
                    .f = h->flags,
                    .meta.size = sizeof r.meta,
                    .net.size = sizeof r.net,
                    .opts = HF_SPACE_INIT_OPTS_INIT};
    hf_space_network_mainnet(&r.net);
    int end = run_steps(&r, checks);
    if (end == GO_ON)
        end = h->flags->reset ? reset_run(h, &r.folder) : run_steps(&r, work);
    folder_free(&r.folder);
    key_wipe(&r.key);
    return end;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The modes that look at stored labels: -verify and -searchForNonce. Neither
 * ever changes a label, and surplus files are only warned of.
 */
#include "identity.h"
#include "modes.h"
#include "numbers.h"
#include "say.h"

#include <holdfast/space.h>

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MOST_LINES = 1000 };

static bool n_is_possible(const struct flags *f)
{
    if (f->scrypt_n >= 2)
        return true;
    say("scrypt parameter N cannot be %" PRIu64, f->scrypt_n);
    return false;
}

static uint64_t wanted_n(const struct flags *f)
{
    return f->set[FLAG_SCRYPT_N] ? f->scrypt_n : 0;
}

static uint32_t last_file(const hf_space_meta *m)
{
    uint64_t labels = m->labels_per_unit * m->num_units;
    return (uint32_t)((labels - 1) / (m->max_file_size / LABEL_BYTES));
}

/* ---- -verify -------------------------------------------------------------- */

static bool key_fits(const struct flags *f)
{
    hf_space_meta meta = {.size = sizeof meta};
    hf_error err;
    uint8_t id[32];
    char hex[2][65];
    say("cli: verifying " KEY_NAME);
    switch (key_load(id, f->datadir)) {
    case KEY_BAD:
        return false;
    case KEY_NONE:
        say("cli: " KEY_NAME " does not exist. Skipping verification");
        return true;
    case KEY_FINE:
        break;
    }
    if (hf_space_meta_load(&meta, f->datadir, &err) != HF_OK) {
        say_error("failed to load metadata:", &err);
        return false;
    }
    if (memcmp(id, meta.node_id, sizeof id) != 0) {
        say("NodeID in %s/" META_NAME
            " (%s) does not match public key from " KEY_NAME " (%s)",
            f->datadir, hex_form(hex[0], meta.node_id, 32),
            hex_form(hex[1], id, 32));
        return false;
    }
    say("cli: " KEY_NAME " is valid");
    return true;
}

/* False with the reason in *err; *nothing: no label is wanted. */
static hf_status choose_sample(hf_space_check_opts *opts, bool *nothing,
                               const struct flags *f, hf_error *err)
{
    hf_space_meta meta = {.size = sizeof meta};
    hf_status s = hf_space_meta_load(&meta, f->datadir, err);
    if (s != HF_OK)
        return s;
    int64_t last = last_file(&meta);
    int64_t to = f->set[FLAG_TO_FILE] ? f->to_file : last;
    *nothing = !(f->fraction > 0) || (f->from_file > to && to >= 0);
    if (*nothing)
        return HF_OK;
    if (f->from_file < 0 || to < 0 || to > last) {
        *err = (hf_error){.code = HF_E_ARGUMENT};
        snprintf(err->message, sizeof err->message,
                 "files %" PRId64 " to %" PRId64
                 " were asked for: the data have files 0 to %" PRId64,
                 f->from_file, to, last);
        return HF_E_ARGUMENT;
    }
    opts->from_file = (uint32_t)f->from_file;
    opts->to_file = (uint32_t)to;
    opts->percent = f->fraction < 100 ? f->fraction : 100;
    opts->scrypt_n = wanted_n(f);
    return HF_OK;
}

static int tell_bad(const hf_space_check_outcome *o)
{
    say("cli: invalid POS: file %" PRIu32
        " contains invalid label at offset %" PRIu64,
        o->ranges[0].file, o->ranges[0].offset);
    say("cli: %" PRIu64 " of %" PRIu64 " labels looked at are invalid",
        o->labels_bad, o->labels_checked);
    for (size_t i = 0; i < o->range_count && i < MOST_LINES; i++)
        say("\tpostdata_%" PRIu32 ".bin: %" PRIu64 " from offset %" PRIu64,
            o->ranges[i].file, o->ranges[i].labels, o->ranges[i].offset);
    if (o->ranges_total > MOST_LINES)
        say("\tand %" PRIu64 " places more", o->ranges_total - MOST_LINES);
    return END_FAILED;
}

static int tell_sample(const hf_space_check_outcome *o)
{
    if (o->range_count > 0)
        return tell_bad(o);
    if (o->labels_checked == 0)
        say("cli: POS data is valid (no label was looked at: -fraction or the "
            "files chosen leave none)");
    else
        say("cli: POS data is valid");
    return END_FINE;
}

static int check_sample(struct host *h)
{
    hf_space_check_opts opts = HF_SPACE_CHECK_OPTS_INIT;
    hf_space_check_outcome found = {.size = sizeof found};
    hf_error err = {.code = HF_OK};
    hf_job *job = NULL;
    bool nothing = false;
    hf_status s = choose_sample(&opts, &nothing, h->flags, &err);
    if (s == HF_OK && nothing)
        return tell_sample(&found);
    if (s == HF_OK)
        s = host_open(h, &err);
    if (s == HF_OK)
        s = hf_space_check_start(h->ctx, &job, h->flags->datadir, &opts, &err);
    if (s == HF_OK)
        s = host_wait(h, job, &err);
    if (s == HF_OK)
        s = hf_space_check_result(job, &found, &err);
    int end = END_FAILED;
    if (s == HF_OK)
        end = tell_sample(&found);
    else if (s == HF_E_CANCELLED && h->stopped)
        say("cli: verification interrupted");
    else
        say_error("cli: failed (invalid argument):", &err);
    hf_job_free(job);
    return end;
}

int mode_verify(struct host *h)
{
    if (!n_is_possible(h->flags))
        return END_PANIC;
    if (!key_fits(h->flags))
        return END_FAILED;
    say("cli: verifying POS data");
    host_warn_surplus(h);
    return check_sample(h);
}

/* ---- -searchForNonce -------------------------------------------------------- */

static int not_found(void)
{
    say("cli: search for nonce failed: nonce not found");
    return END_FAILED;
}

/* Of the files from..to; what is torn must be made again first. */
static bool files_are_whole(const struct flags *f, int64_t from, int64_t to)
{
    struct folder folder;
    bool whole = folder_scan(&folder, f->datadir);
    for (size_t i = 0; whole && i < folder.count; i++) {
        const struct found *file = &folder.file[i];
        if (file->number < from || file->number > to ||
            file->bytes % LABEL_BYTES == 0)
            continue;
        say("cli: search for nonce failed: postdata_%" PRIu32
            ".bin has %" PRIu64 " bytes: file appears truncated. please "
            "re-init it",
            file->number, file->bytes);
        whole = false;
    }
    folder_free(&folder);
    return whole;
}

static void tell_nonce(const hf_space_meta *m)
{
    char hex[33] = "";
    if (m->has_nonce_value)
        hex_form(hex, m->nonce_value, 16);
    for (char *c = hex; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    say("cli: search for nonce completed. Nonce: %" PRIu64 " | Label: %s",
        m->nonce, hex);
}

static int search(struct host *h, uint32_t from, uint32_t to)
{
    hf_space_nonce_opts opts = {.size = sizeof opts,
                                .scrypt_n = wanted_n(h->flags),
                                .from_file = from,
                                .to_file = to};
    hf_space_meta meta = {.size = sizeof meta};
    hf_error err = {.code = HF_OK};
    hf_job *job = NULL;
    hf_status s = host_open(h, &err);
    if (host_stopped(h))
        s = HF_E_CANCELLED;
    if (s == HF_OK)
        s = hf_space_nonce_start(h->ctx, &job, h->flags->datadir, &opts, &err);
    if (s == HF_OK)
        s = host_wait(h, job, &err);
    if (s == HF_OK)
        s = hf_space_nonce_result(job, &meta, &err);
    hf_job_free(job);
    if (s == HF_E_NOT_FOUND)
        return not_found();
    if (s == HF_E_CANCELLED && h->stopped) {
        say("cli: search for nonce interrupted");
        return END_FINE;
    }
    if (s != HF_OK) {
        say_error("cli: search for nonce failed:", &err);
        return END_FAILED;
    }
    tell_nonce(&meta);
    return END_FINE;
}

int mode_nonce(struct host *h)
{
    const struct flags *f = h->flags;
    hf_space_meta meta = {.size = sizeof meta};
    hf_error err = {.code = HF_OK};
    if (!n_is_possible(f))
        return END_PANIC;
    if (hf_space_meta_load(&meta, f->datadir, &err) != HF_OK) {
        say_error("cli: search for nonce failed: failed to load metadata:",
                  &err);
        return END_FAILED;
    }
    host_warn_surplus(h);
    int64_t last = last_file(&meta);
    int64_t from = f->from_file > 0 ? f->from_file : 0;
    int64_t to = f->set[FLAG_TO_FILE] && f->to_file < last ? f->to_file : last;
    if (from > to)
        return not_found();
    if (!files_are_whole(f, from, to))
        return END_FAILED;
    return search(h, (uint32_t)from, (uint32_t)to);
}

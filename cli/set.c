/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Hides what the commands on a set have in common: rules, rows, warnings. */
#include "commands.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

hf_status complain(hf_error *err, hf_status code, const char *fmt, ...)
{
    va_list list;
    *err = (hf_error){.code = code};
    va_start(list, fmt);
    vsnprintf(err->message, sizeof err->message, fmt, list);
    va_end(list);
    return code;
}

/* ---- rules --------------------------------------------------------------- */

hf_status rules_load(struct rules *r, const struct args *args, hf_error *err)
{
    const char *network = args->opt[OPT_NETWORK].text;
    *r = (struct rules){.net.size = sizeof r->net, .bind = network != NULL};
    hf_space_network_mainnet(&r->net);
    if (network && strcmp(network, "mainnet") != 0) {
        hf_status s = hf_space_network_load(&r->net, network, err);
        if (s != HF_OK)
            return s;
    }
    r->net.k1 = (uint32_t)args_number(args, OPT_K1, r->net.k1);
    r->net.k2 = (uint32_t)args_number(args, OPT_K2, r->net.k2);
    if (args_has(args, OPT_POW_DIFFICULTY))
        memcpy(r->net.pow_difficulty, args->opt[OPT_POW_DIFFICULTY].bytes, 32);
    r->net.scrypt_n = args_number(args, OPT_SCRYPT_N, r->net.scrypt_n);
    return HF_OK;
}

uint64_t rules_scrypt_n(const struct rules *r, const struct args *args)
{
    return r->bind || args_has(args, OPT_SCRYPT_N) ? r->net.scrypt_n : 0;
}

hf_status rules_check(const struct rules *r, const hf_space_meta *meta,
                      hf_error *err)
{
    if (meta->num_units < r->net.min_units ||
        meta->num_units > r->net.max_units)
        return complain(err, HF_E_STATE,
                        "the set has %" PRIu32 " unit%s: the network takes "
                        "%" PRIu32 " to %" PRIu32,
                        meta->num_units, meta->num_units == 1 ? "" : "s",
                        r->net.min_units, r->net.max_units);
    return HF_OK;
}

void rules_warn(struct ui *ui, const struct rules *r, const hf_space_meta *meta)
{
    hf_error err;
    if (!r->bind)
        return;
    if (rules_check(r, meta, &err) != HF_OK)
        ui_warn(ui, "%s", err.message);
    if (meta->labels_per_unit != r->net.labels_per_unit)
        ui_warn(ui,
                "a unit of the set has %" PRIu64 " labels, on the network "
                "%" PRIu64,
                meta->labels_per_unit, r->net.labels_per_unit);
}

hf_status rules_check_n(const struct rules *r, const struct args *args,
                        hf_error *err)
{
    struct host host;
    uint64_t n;
    struct ui quiet = {.quiet = true};
    if (rules_scrypt_n(r, args) == 0)
        return HF_OK;
    hf_status s = host_open(&host, &quiet, args, err);
    if (s == HF_OK)
        s = hf_space_find_scrypt_n(host.ctx, &n, args->dir,
                                   rules_scrypt_n(r, args), err);
    host_close(&host);
    return s;
}

/* ---- rows ---------------------------------------------------------------- */

void set_rows(struct ui *ui, const hf_space_meta *meta, uint64_t scrypt_n)
{
    char hex[65], count[FORM_BYTES], size[FORM_BYTES], unit[FORM_BYTES];
    ui_row(ui, "identity", "%s", form_hex(hex, meta->node_id, 32));
    ui_row(ui, "commitment", "%s", form_hex(hex, meta->commitment_atx_id, 32));
    uint64_t labels = meta->labels_per_unit * meta->num_units;
    uint64_t per_file = meta->max_file_size / HF_SPACE_LABEL_BYTES;
    uint64_t files = per_file ? (labels + per_file - 1) / per_file : 0;
    ui_row(ui, "units", "%" PRIu32 " of %s (%s labels each)", meta->num_units,
           form_size(unit, meta->labels_per_unit * HF_SPACE_LABEL_BYTES),
           form_count(count, meta->labels_per_unit));
    form_size(size, labels * HF_SPACE_LABEL_BYTES);
    if (files == 1)
        ui_row(ui, "size", "%s in 1 file", size);
    else
        ui_row(ui, "size", "%s in %" PRIu64 " files of at most %s", size, files,
               form_size(unit, per_file * HF_SPACE_LABEL_BYTES));
    if (scrypt_n)
        ui_row(ui, "scrypt N", "%" PRIu64, scrypt_n);
    else
        ui_row(ui, "scrypt N", "not recorded (usual: 8192)");
}

void set_warn(struct ui *ui, const char *dir, const hf_space_status *status)
{
    char size[FORM_BYTES];
    uint32_t surplus = status->files_surplus, last = status->files_total - 1;
    uint32_t too_long = status->files_too_long;
    if (surplus)
        ui_warn(ui,
                "%s: %" PRIu32 " file%s above the last one of the set, "
                "postdata_%" PRIu32 ".bin (it has %" PRIu32 "); %s %s %s left "
                "alone",
                dir, surplus, surplus == 1 ? " is" : "s are", last,
                status->files_total, surplus == 1 ? "its" : "their",
                form_size(size, status->bytes_surplus),
                status->bytes_surplus == 1 ? "is" : "are");
    if (too_long)
        ui_warn(ui, "%s: %" PRIu32 " file%s longer than %s share", dir,
                too_long, too_long == 1 ? " is" : "s are",
                too_long == 1 ? "its" : "their");
}

void set_json(struct text *t, const hf_space_meta *meta)
{
    json_hex(t, "node_id", meta->node_id, 32);
    json_hex(t, "commitment_atx_id", meta->commitment_atx_id, 32);
    json_number(t, "num_units", meta->num_units);
    json_number(t, "labels_per_unit", meta->labels_per_unit);
    json_number(t, "max_file_size", meta->max_file_size);
    if (meta->has_nonce)
        json_number(t, "nonce", meta->nonce);
    else
        json_null(t, "nonce");
    if (meta->has_nonce_value)
        json_hex(t, "nonce_value", meta->nonce_value, 16);
    else
        json_null(t, "nonce_value");
    if (meta->has_last_position)
        json_number(t, "last_position", meta->last_position);
    else
        json_null(t, "last_position");
}

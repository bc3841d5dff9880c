/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The commands, and what those on a set share. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include <holdfast/space.h>

#include "args.h"
#include "host.h"
#include "ui.h"

/* Each does its work, tells results and failures, returns the exit code. */
int cmd_init(struct ui *ui, const struct args *args);
int cmd_status(struct ui *ui, const struct args *args);
int cmd_nonce(struct ui *ui, const struct args *args);
int cmd_prove(struct ui *ui, const struct args *args);
int cmd_verify(struct ui *ui, const struct args *args);
int cmd_bench(struct ui *ui, const struct args *args);
int cmd_info(struct ui *ui, const struct args *args);

/* ---- set.c --------------------------------------------------------------- */

/* The rules that hold: main net's, or those of --network, with what single
 * options (--k1 ...) say in their place. */
struct rules {
    hf_space_network net;
    bool bind; /* --network is given: bounds on units hold, N is the net's */
};

hf_status rules_load(struct rules *r, const struct args *args, hf_error *err);
/* --scrypt-n, else the network's if one is named, else 0. */
uint64_t rules_scrypt_n(const struct rules *r, const struct args *args);
/* Whether a set keeps the bounds on units; if not, HF_E_STATE says how. */
hf_status rules_check(const struct rules *r, const hf_space_meta *meta,
                      hf_error *err);

/* Warns of what the network named would not take; no network, no words. */
void rules_warn(struct ui *ui, const struct rules *r,
                const hf_space_meta *meta);
/* Holds the N that was asked for, if any, against the folder's. */
hf_status rules_check_n(const struct rules *r, const struct args *args,
                        hf_error *err);

/* Rows that tell which set it is. */
void set_rows(struct ui *ui, const hf_space_meta *meta, uint64_t scrypt_n);
/* Warns of files that belong to no file of the set. */
void set_warn(struct ui *ui, const char *dir, const hf_space_status *status);
/* JSON members of metadata. */
void set_json(struct text *t, const hf_space_meta *meta);

/* HF_E_ARGUMENT (or `code`) with a message. */
hf_status complain(hf_error *err, hf_status code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "space/records.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

static void read_proof(record *r, const hfi_json *n)
{
    hf_space_proof *p = &r->proof;
    if (hfi_json_member(n, "nonce"))
        p->nonce = (uint32_t)vectors_u64(n, "nonce");
    if (hfi_json_member(n, "pow"))
        p->pow = vectors_u64(n, "pow");
    if (hfi_json_member(n, "indices")) {
        p->indices_bytes = vectors_hex(n, "indices", r->indices,
                                       sizeof r->indices);
        p->indices = r->indices;
    }
}

static void read_metadata(record *r, const hfi_json *n)
{
    hf_space_proof *p = &r->proof;
    if (hfi_json_member(n, "challenge"))
        vectors_hex_exact(n, "challenge", p->challenge, 32);
    if (hfi_json_member(n, "node_id"))
        vectors_hex_exact(n, "node_id", p->node_id, 32);
    if (hfi_json_member(n, "commitment_atx_id"))
        vectors_hex_exact(n, "commitment_atx_id", p->commitment_atx_id, 32);
    if (hfi_json_member(n, "num_units"))
        p->num_units = (uint32_t)vectors_u64(n, "num_units");
}

static void read_proof_config(record *r, const hfi_json *n)
{
    hf_space_network *w = &r->opts.network;
    if (hfi_json_member(n, "k1"))
        w->k1 = (uint32_t)vectors_u64(n, "k1");
    if (hfi_json_member(n, "k2"))
        w->k2 = (uint32_t)vectors_u64(n, "k2");
    if (hfi_json_member(n, "pow_difficulty"))
        vectors_hex_exact(n, "pow_difficulty", w->pow_difficulty, 32);
}

static void read_init_config(record *r, const hfi_json *n)
{
    hf_space_network *w = &r->opts.network;
    if (hfi_json_member(n, "min_num_units"))
        w->min_units = (uint32_t)vectors_u64(n, "min_num_units");
    if (hfi_json_member(n, "max_num_units"))
        w->max_units = (uint32_t)vectors_u64(n, "max_num_units");
    if (hfi_json_member(n, "labels_per_unit")) {
        w->labels_per_unit = vectors_u64(n, "labels_per_unit");
        r->proof.labels_per_unit = w->labels_per_unit;
    }
    if (hfi_json_member(n, "scrypt_n"))
        w->scrypt_n = vectors_u64(n, "scrypt_n");
}

static void read_parts(record *r, const hfi_json *n)
{
    static const struct {
        const char *name;
        void (*read)(record *r, const hfi_json *n);
    } parts[] = {{"proof", read_proof},
                 {"metadata", read_metadata},
                 {"proof_config", read_proof_config},
                 {"init_config", read_init_config}};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        const hfi_json *part = hfi_json_member(n, parts[i].name);
        if (part && part->type == HFI_JSON_OBJECT)
            parts[i].read(r, part);
    }
}

void record_read(record *r, const hfi_json *node)
{
    memset(r, 0, sizeof *r);
    snprintf(r->name, sizeof r->name, "%s", vectors_text(node, "name"));
    snprintf(r->dir, sizeof r->dir, "%s/space/%s", HF_VECTORS,
             vectors_text(node, "post_dir"));
    vectors_hex_exact(node, "challenge", r->challenge, 32);
    r->nonces = (uint32_t)vectors_u64(node, "nonces");
    r->has_proof = !vectors_is_null(node, "proof");
    r->opts.size = sizeof r->opts;
    r->opts.network.size = sizeof r->opts.network;
    read_parts(r, node);
}

void record_change(record *r, const hfi_json *check)
{
    const hfi_json *mode = vectors_member(check, "mode");
    const char *name = vectors_text(mode, "mode");
    read_parts(r, vectors_member(check, "changed"));
    if (strcmp(name, "one") == 0) {
        r->opts.mode = HF_SPACE_VERIFY_ONE;
        r->opts.index = vectors_u64(mode, "index");
    } else if (strcmp(name, "subset") == 0) {
        r->opts.mode = HF_SPACE_VERIFY_SUBSET;
        r->opts.k3 = vectors_u64(mode, "k3");
        r->opts.seed_bytes = vectors_hex(mode, "seed", r->seed, sizeof r->seed);
        r->opts.seed = r->seed;
    } else {
        assert_string_equal(name, "all");
    }
}

void record_find(record *r, const char *name)
{
    struct vectors v;
    bool found = false;
    vectors_load(&v, "space/proofs.json");
    for (const hfi_json *n = v.root->child; n && !found; n = n->next) {
        found = strcmp(vectors_text(n, "name"), name) == 0;
        if (found)
            record_read(r, n);
    }
    vectors_free(&v);
    if (!found)
        fail_msg("proofs.json has no record %s", name);
}

void record_copy(record *to, const record *from)
{
    *to = *from;
    to->proof.indices = to->indices;
}

hf_context *context_with(uint32_t workers)
{
    hf_context_opts opts = HF_CONTEXT_OPTS_INIT;
    hf_context *ctx = NULL;
    hf_error err;
    opts.workers = workers;
    if (hf_context_open(&ctx, &opts, &err) != HF_OK)
        fail_msg("%s: %s", err.message, err.cause);
    return ctx;
}

hf_space_verdict verdict_of(hf_context *ctx, const record *r)
{
    hf_space_verdict verdict = {.size = sizeof verdict};
    hf_error err;
    if (hf_space_verify(ctx, &r->proof, &r->opts, &verdict, &err) != HF_OK)
        fail_msg("%s: %s: %s", r->name, err.message, err.cause);
    return verdict;
}

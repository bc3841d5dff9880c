/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * One initialisation of a fixed set, for tests that spoil it from outside:
 *
 *   init_once DIR UNITS LABELS_PER_UNIT FILE_BYTES N BATCH CHECKPOINT_BYTES
 *             [WORKERS]
 *
 * Prints one JSON object: status, message, cause, labels found and written.
 */
#include <holdfast/holdfast.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_text(const char *name, const char *text)
{
    (void)printf("\"%s\": \"", name);
    for (; *text != '\0'; text++)
        if (*text == '"' || *text == '\\')
            (void)printf("\\%c", *text);
        else
            (void)putchar(*text);
    (void)printf("\", ");
}

static hf_status run(hf_context *ctx, const char *dir,
                     const hf_space_init_opts *o, hf_space_init_outcome *out,
                     hf_error *err)
{
    hf_job *job = NULL;
    hf_status s = hf_space_init_start(ctx, &job, dir, o, err);
    if (s != HF_OK)
        return s;
    s = hf_job_wait(job, UINT64_MAX, err);
    if (hf_space_init_result(job, out, NULL) != HF_OK)
        s = HF_E_INTERNAL;
    hf_job_free(job);
    return s;
}

int main(int argc, char **argv)
{
    hf_context *ctx = NULL;
    hf_context_opts c = HF_CONTEXT_OPTS_INIT;
    hf_space_init_opts o = HF_SPACE_INIT_OPTS_INIT;
    hf_space_init_outcome out = {.size = sizeof out};
    hf_error err = {0};
    uint8_t id[32];
    uint8_t atx[32];
    if (argc < 8)
        return 2;
    memset(id, 0x11, sizeof id);
    memset(atx, 0x22, sizeof atx);
    o.node_id = id;
    o.commitment_atx_id = atx;
    o.num_units = (uint32_t)strtoul(argv[2], NULL, 10);
    o.labels_per_unit = strtoull(argv[3], NULL, 10);
    o.max_file_size = strtoull(argv[4], NULL, 10);
    o.scrypt_n = strtoull(argv[5], NULL, 10);
    o.batch_labels = strtoull(argv[6], NULL, 10);
    o.checkpoint_bytes = strtoull(argv[7], NULL, 10);
    c.workers = argc > 8 ? (uint32_t)strtoul(argv[8], NULL, 10) : 1;
    hf_status s = hf_context_open(&ctx, &c, &err);
    if (s == HF_OK)
        s = run(ctx, argv[1], &o, &out, &err);
    hf_context_close(ctx);
    (void)printf("{");
    print_text("status", hf_status_name(s));
    print_text("message", err.message);
    print_text("cause", err.cause);
    (void)printf("\"found\": %" PRIu64 ", \"written\": %" PRIu64
                 ", \"torn\": %" PRIu64 "}\n",
                 out.labels_found, out.labels_written, out.bytes_torn);
    return 0;
}

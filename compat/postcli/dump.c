/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What is printed and nothing else done: providers, parameters, number of
 * files. Structures look as the Go package spew dumps them, because scripts
 * read them.
 */
#include "modes.h"
#include "say.h"

#include <holdfast/space.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char cpu_name[] = "[CPU] scrypt-jane";

/* ---- providers ----------------------------------------------------------- */

/* The number that the foreign tool gives provider `index`. */
static bool get(hf_context *ctx, uint32_t index, hf_provider *p,
                uint32_t *number)
{
    uint32_t gpus = 0;
    for (uint32_t i = 0; i <= index; i++) {
        hf_error err;
        *p = (hf_provider){.size = sizeof *p};
        if (hf_context_provider_get(ctx, i, p, &err) != HF_OK)
            return false;
        bool gpu = strcmp(p->kind, "gpu") == 0;
        *number = gpu ? gpus++ : CPU_PROVIDER;
    }
    return true;
}

static const char *shown_name(const hf_provider *p, char *buffer, size_t bytes)
{
    if (strcmp(p->kind, "gpu") != 0)
        return cpu_name;
    snprintf(buffer, bytes, "[GPU] %s/%s", p->platform, p->device);
    return buffer;
}

bool provider_find(hf_context *ctx, uint64_t number, hf_provider *out)
{
    uint32_t count = hf_context_provider_count(ctx), its = 0;
    for (uint32_t i = 0; i < count; i++)
        if (get(ctx, i, out, &its) && its == number)
            return true;
    return false;
}

void provider_tell(hf_context *ctx)
{
    uint32_t count = hf_context_provider_count(ctx), number = 0;
    hf_provider p;
    char name[160];
    for (uint32_t i = 0; i < count; i++)
        if (get(ctx, i, &p, &number))
            say("\t%" PRIu32 ": %s%s", number,
                shown_name(&p, name, sizeof name),
                number == CPU_PROVIDER ? " (the CPU)" : "");
}

static bool dump_providers(hf_context *ctx)
{
    uint32_t count = hf_context_provider_count(ctx), number = 0;
    hf_provider p;
    char buffer[160];
    printf("([]postrs.Provider) (len=%" PRIu32 " cap=%" PRIu32 ") {\n", count,
           count);
    for (uint32_t i = 0; i < count; i++) {
        if (!get(ctx, i, &p, &number))
            return false;
        const char *name = shown_name(&p, buffer, sizeof buffer);
        printf(" (postrs.Provider) {\n"
               "  ID: (uint32) %" PRIu32 ",\n"
               "  Model: (string) (len=%zu) \"%s\",\n"
               "  DeviceType: (postrs.DeviceClass) %s\n"
               " }%s\n",
               number, strlen(name), name,
               number == CPU_PROVIDER ? "CPU" : "GPU",
               i + 1 < count ? "," : "");
    }
    printf("}\n");
    return true;
}

int mode_providers(void)
{
    hf_context *ctx = NULL;
    hf_error err = {.code = HF_OK};
    hf_context_opts opts = HF_CONTEXT_OPTS_INIT;
    opts.workers = 1;
    bool fine = hf_context_open(&ctx, &opts, &err) == HF_OK;
    if (!fine)
        say_error("failed to get OpenCL providers", &err);
    else
        fine = dump_providers(ctx);
    hf_context_close(ctx);
    return fine ? END_FINE : END_FAILED;
}

/* ---- number of files ------------------------------------------------------ */

int mode_num_files(const struct flags *f)
{
    uint64_t per_file = f->max_file_size / LABEL_BYTES;
    uint64_t lpu = f->labels_per_unit;
    if (per_file == 0) {
        say("-maxFileSize %" PRIu64 " is less than a label", f->max_file_size);
        return END_PANIC;
    }
    if (lpu != 0 && f->num_units > UINT64_MAX / lpu) {
        say("%" PRIu64 " units of %" PRIu64 " labels are too many",
            f->num_units, lpu);
        return END_PANIC;
    }
    uint64_t labels = f->num_units * lpu;
    say("%" PRIu64, labels / per_file + (labels % per_file != 0));
    return END_FINE;
}

/* ---- parameters ------------------------------------------------------------ */

/* As Go quotes it. */
static void put_text(const char *text)
{
    size_t bytes = strlen(text);
    if (bytes > 0)
        printf("(string) (len=%zu) ", bytes);
    else
        printf("(string) ");
    putchar('"');
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            printf("\\%c", c);
        else if (c < ' ' || c == 0x7f)
            printf("\\x%02x", c);
        else
            putchar(c);
    }
    putchar('"');
}

static void put_bytes(const uint8_t *data, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += 16) {
        printf("  %08zx ", at);
        for (size_t i = at; i < at + 16; i++)
            printf("%s%02x", i == at + 8 ? "  " : " ", data[i]);
        printf("  |");
        for (size_t i = at; i < at + 16; i++)
            putchar(data[i] >= ' ' && data[i] < 0x7f ? data[i] : '.');
        printf("|\n");
    }
}

static void dump_network(const struct flags *f)
{
    hf_space_network net = {.size = sizeof net};
    hf_space_network_mainnet(&net);
    printf("(config.Config) {\n"
           " MinNumUnits: (uint32) %" PRIu32 ",\n"
           " MaxNumUnits: (uint32) %" PRIu32 ",\n"
           " LabelsPerUnit: (uint64) %" PRIu64 ",\n"
           " K1: (uint) %" PRIu32 ",\n"
           " K2: (uint) %" PRIu32 ",\n"
           " PowDifficulty: ([32]uint8) (len=32 cap=32) {\n",
           net.min_units, net.max_units, f->labels_per_unit, net.k1, net.k2);
    put_bytes(net.pow_difficulty, sizeof net.pow_difficulty);
    printf(" }\n}\n");
}

static void dump_opts(const struct flags *f)
{
    printf("(config.InitOpts) {\n DataDir: ");
    put_text(f->datadir);
    printf(",\n"
           " NumUnits: (uint32) %" PRIu32 ",\n"
           " MaxFileSize: (uint64) %" PRIu64 ",\n"
           " ProviderID: (*uint32)(%p)(%" PRIu32 "),\n"
           " Throttle: (bool) false,\n"
           " Scrypt: (config.ScryptParams) {\n"
           "  N: (uint) %" PRIu64 ",\n"
           "  R: (uint) 1,\n"
           "  P: (uint) 1\n"
           " },\n"
           " ComputeBatchSize: (uint64) 1048576,\n"
           " FromFileIdx: (int) %" PRId64 ",\n"
           " ToFileIdx: ",
           (uint32_t)f->num_units, f->max_file_size, (const void *)&f->provider,
           (uint32_t)f->provider, f->scrypt_n, f->from_file);
    if (f->set[FLAG_TO_FILE])
        printf("(*int)(%p)(%" PRId64 ")\n", (const void *)&f->to_file,
               f->to_file);
    else
        printf("(*int)(<nil>)\n");
    printf("}\n");
}

int mode_config(const struct flags *f)
{
    dump_network(f);
    dump_opts(f);
    return END_FINE;
}

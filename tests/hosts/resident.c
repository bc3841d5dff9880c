/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What the plan of an initialisation says of memory is kept, measured by what
 * it adds to the largest resident size of this process; which at N = 8192 is as
 * a whole at most 64 MiB for each worker and 64 MiB besides.
 *
 *     resident FOLDER WORKERS
 */
#include <holdfast/context.h>
#include <holdfast/space.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB (UINT64_C(1) << 20)

static const uint8_t id[32] = {7};

static uint64_t largest_resident(void)
{
    char line[256];
    uint64_t kib = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, "VmHWM:", 6) == 0)
            kib = strtoull(line + 6, NULL, 10);
    if (f)
        fclose(f);
    return kib * 1024;
}

/* A second or more of work on each worker: measuring, batches, their check. */
static hf_status work(hf_context *ctx, const char *dir, uint64_t *promised,
                      hf_error *err)
{
    hf_space_init_opts o = HF_SPACE_INIT_OPTS_INIT;
    hf_space_plan plan = {.size = sizeof plan};
    hf_context_info info = {.size = sizeof info};
    hf_job *job = NULL;
    hf_status s = hf_context_get_info(ctx, &info);
    if (s != HF_OK)
        return s;
    o.node_id = o.commitment_atx_id = id;
    o.num_units = 1;
    o.labels_per_unit = strcmp(info.label_kernel, "portable") == 0 ? 512 : 4096;
    o.labels_per_unit *= info.workers;
    o.no_nonce_search = true;
    s = hf_space_init_plan(ctx, &plan, dir, &o, err);
    if (s == HF_OK)
        s = hf_space_init_start(ctx, &job, dir, &o, err);
    if (s == HF_OK)
        s = hf_job_wait(job, UINT64_MAX, err);
    hf_job_free(job);
    *promised = plan.memory_bytes;
    return s;
}

int main(int argc, char **argv)
{
    hf_context *ctx = NULL;
    hf_context_opts o = HF_CONTEXT_OPTS_INIT;
    hf_error err = {0};
    uint64_t promised = 0;
    if (argc != 3)
        return 2;
    o.workers = (uint32_t)strtoul(argv[2], NULL, 10);
    hf_status s = hf_context_open(&ctx, &o, &err);
    uint64_t before = largest_resident();
    if (s == HF_OK)
        s = work(ctx, argv[1], &promised, &err);
    uint64_t size = largest_resident();
    uint64_t most = (o.workers + UINT64_C(1)) * 64 * MIB;
    hf_context_close(ctx);
    if (s != HF_OK) {
        fprintf(stderr, "resident: %s: %s\n", err.message, err.cause);
        return 1;
    }
    printf("%u workers: %llu KiB resident, %llu before; planned are %llu, "
           "allowed %llu\n",
           o.workers, (unsigned long long)(size / 1024),
           (unsigned long long)(before / 1024),
           (unsigned long long)(promised / 1024),
           (unsigned long long)(most / 1024));
    /* Below a MiB a worker, nothing can have been measured. */
    return size <= before + promised && size <= most && promised <= most &&
                   size > o.workers * MIB
               ? 0
               : 1;
}

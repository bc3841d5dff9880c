/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Which variants are compiled in, which of them a CPU can run, and the choice
 * for one context. Names order both families from the slowest to the fastest,
 * so that a forced name bounds each family from above.
 */
#include "kernel/kernel_internal.h"

#include <string.h>

#if !defined(HFI_PORTABLE_ONLY) && defined(__x86_64__)
#define HFI_KERNELS_X86 1
#endif

static const hfi_label_kernel *const label_kernels[] = {
    &hfi_label_portable,
#ifdef HFI_KERNELS_X86
    &hfi_label_sse2,
    &hfi_label_avx2,
    &hfi_label_avx512,
#endif
};

static const hfi_aes_kernel *const aes_kernels[] = {
    &hfi_aes_portable,
#ifdef HFI_KERNELS_X86
    &hfi_aes_ni,
#endif
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/*
 * Every name a caller may force, in ascending order per architecture, with the
 * features its label variant needs and the AES variant that goes with it.
 */
typedef struct variant {
    const char *name;
    const char *aes;
    uint32_t features;
} variant;

static const variant variants[] = {
    {"portable", "portable", 0},
    {"sse2", "ni", HFI_CPU_SSE2},
    {"avx2", "ni", HFI_CPU_AVX2},
    {"avx512", "ni", HFI_CPU_AVX2 | HFI_CPU_AVX512},
    {"neon", "portable", HFI_CPU_NEON},
};

static const variant *find_variant(const char *name)
{
    for (size_t i = 0; i < COUNT(variants); ++i)
        if (strcmp(variants[i].name, name) == 0)
            return &variants[i];
    return NULL;
}

const hfi_label_kernel *const *hfi_label_kernels(size_t *count)
{
    *count = COUNT(label_kernels);
    return label_kernels;
}

const hfi_aes_kernel *const *hfi_aes_kernels(size_t *count)
{
    *count = COUNT(aes_kernels);
    return aes_kernels;
}

bool hfi_label_kernel_runs(const hfi_label_kernel *k, const hfi_cpu *cpu)
{
    const variant *v = find_variant(k->name);
    return v != NULL && (cpu->features & v->features) == v->features;
}

bool hfi_aes_kernel_runs(const hfi_aes_kernel *k, const hfi_cpu *cpu)
{
    const uint32_t need = strcmp(k->name, "ni") == 0
                              ? HFI_CPU_AES | HFI_CPU_SSE41
                              : 0;
    return (cpu->features & need) == need;
}

size_t hfi_label_scratch_bytes(const hfi_label_shape *shape, uint32_t log_n)
{
    size_t bytes;
    if (log_n > HFI_LABEL_MAX_LOG_N ||
        !hfi_mul_size(&bytes, shape->lanes, 128) ||
        !hfi_mul_size(&bytes, bytes, (size_t)1 << log_n) ||
        !hfi_add_size(&bytes, bytes, HFI_LABEL_SCRATCH_FIXED))
        return 0;
    return bytes;
}

/* The best that runs, at most `limit` (NULL: no limit) and not `other`. */
static const hfi_label_kernel *best_label(const hfi_cpu *cpu, const char *limit,
                                          const hfi_label_kernel *other)
{
    const hfi_label_kernel *best = NULL;
    for (size_t i = 0; i < COUNT(label_kernels); ++i) {
        const hfi_label_kernel *k = label_kernels[i];
        if (k != other && hfi_label_kernel_runs(k, cpu))
            best = k;
        if (limit != NULL && strcmp(k->name, limit) == 0)
            break;
    }
    return best != NULL ? best : &hfi_label_portable;
}

static const hfi_aes_kernel *best_aes(const hfi_cpu *cpu, const char *limit)
{
    const hfi_aes_kernel *best = &hfi_aes_portable;
    for (size_t i = 0; i < COUNT(aes_kernels); ++i) {
        if (hfi_aes_kernel_runs(aes_kernels[i], cpu))
            best = aes_kernels[i];
        if (limit != NULL && strcmp(aes_kernels[i]->name, limit) == 0)
            break;
    }
    return best;
}

static bool compiled_in(const char *name)
{
    for (size_t i = 0; i < COUNT(label_kernels); ++i)
        if (strcmp(label_kernels[i]->name, name) == 0)
            return true;
    return false;
}

hf_status hfi_kernels_select(hfi_kernels *out, const hfi_cpu *cpu,
                             const char *force, hf_error *err)
{
    const variant *v = NULL;
    if (force != NULL) {
        v = find_variant(force);
        if (v == NULL)
            return hfi_error(err, HF_E_ARGUMENT,
                             "no kernel variant is named \"%s\"", force);
        if (!compiled_in(force))
            return hfi_error(err, HF_E_UNSUPPORTED,
                             "kernel variant %s is not in this build", force);
        if ((cpu->features & v->features) != v->features)
            return hfi_error(err, HF_E_UNSUPPORTED,
                             "this CPU cannot run kernel variant %s", force);
    }
    out->label = best_label(cpu, force, NULL);
    /* The check needs another implementation, not a lower one. */
    out->label_check = best_label(cpu, NULL, out->label);
    out->aes = best_aes(cpu, v != NULL ? v->aes : NULL);
    return HF_OK;
}

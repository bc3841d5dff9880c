/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * cpu.c: what the CPU can do and the system lets it do.
 *
 * Invariant: a vector feature is reported only if the system also saves its
 * registers (XCR0); CPUID alone says what the silicon has.
 */
#include "base/base.h"

#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

static const char *const feature_names[] = {
    "sse2",  "ssse3", "sse41",   "sse42", "aes",    "pclmul",
    "avx",   "avx2",  "bmi2",    "adx",   "avx512", "ifma",
    "vbmi2", "vaes",  "vpclmul", "gfni",  "neon",   "arm_aes",
};

const char *hfi_cpu_feature_name(uint32_t bit)
{
    for (size_t i = 0; i < sizeof feature_names / sizeof *feature_names; i++)
        if (bit == 1u << i)
            return feature_names[i];
    return NULL;
}

#if defined(__x86_64__)

/* A CPUID register bit, and what the system must save for its use. */
struct rule {
    uint32_t mask; /* all of these bits */
    uint32_t feature;
    uint64_t state; /* bits of XCR0 */
};

#define STATE_NONE   0u
#define STATE_AVX    0x06u /* XMM and YMM */
#define STATE_AVX512 0xe6u /* and opmask, both halves of ZMM */

#define BIT(n) (1u << (n))

/* Intel SDM volume 2, CPUID. Leaf 1. */
static const struct rule leaf1_ecx[] = {
    {BIT(1), HFI_CPU_PCLMUL, STATE_NONE},
    {BIT(9), HFI_CPU_SSSE3, STATE_NONE},
    {BIT(19), HFI_CPU_SSE41, STATE_NONE},
    {BIT(20), HFI_CPU_SSE42, STATE_NONE},
    {BIT(25), HFI_CPU_AES, STATE_NONE},
    {BIT(28), HFI_CPU_AVX, STATE_AVX},
    {0, 0, 0},
};
static const struct rule leaf1_edx[] = {
    {BIT(26), HFI_CPU_SSE2, STATE_NONE},
    {0, 0, 0},
};
/* Leaf 7, subleaf 0. */
static const struct rule leaf7_ebx[] = {
    {BIT(5), HFI_CPU_AVX2, STATE_AVX},
    {BIT(8), HFI_CPU_BMI2, STATE_NONE},
    {BIT(19), HFI_CPU_ADX, STATE_NONE},
    /* F, DQ, CD, BW, VL */
    {BIT(16) | BIT(17) | BIT(28) | BIT(30) | BIT(31), HFI_CPU_AVX512,
     STATE_AVX512},
    {BIT(16) | BIT(21), HFI_CPU_IFMA, STATE_AVX512},
    {0, 0, 0},
};
static const struct rule leaf7_ecx[] = {
    {BIT(6), HFI_CPU_VBMI2, STATE_AVX512},
    {BIT(8), HFI_CPU_GFNI, STATE_NONE},
    {BIT(9), HFI_CPU_VAES, STATE_AVX},
    {BIT(10), HFI_CPU_VPCLMUL, STATE_AVX},
    {0, 0, 0},
};

static uint32_t apply(const struct rule *rules, uint32_t reg, uint64_t xcr0)
{
    uint32_t features = 0;
    for (; rules->mask != 0; rules++)
        if ((reg & rules->mask) == rules->mask &&
            (xcr0 & rules->state) == rules->state)
            features |= rules->feature;
    return features;
}

/* Only if CPUID says that the system uses XSAVE. */
static uint64_t read_xcr0(void)
{
    uint32_t low;
    uint32_t high;
    __asm__ __volatile__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

static uint32_t detect_features(void)
{
    uint32_t a;
    uint32_t b;
    uint32_t c;
    uint32_t d;
    if (!__get_cpuid_count(1, 0, &a, &b, &c, &d))
        return 0;
    uint64_t xcr0 = (c & BIT(27)) != 0 ? read_xcr0() : 0;
    uint32_t features = apply(leaf1_ecx, c, xcr0) | apply(leaf1_edx, d, xcr0);
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d))
        features |= apply(leaf7_ebx, b, xcr0) | apply(leaf7_ecx, c, xcr0);
    return features;
}

/* The brand string: 48 bytes in three leaves, padded with spaces in front. */
static void detect_model(char model[64])
{
    uint32_t r[12];
    char text[sizeof r + 1] = "";
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t *q = r + (size_t)4 * i;
        if (!__get_cpuid(0x80000002u + i, &q[0], &q[1], &q[2], &q[3]))
            return;
    }
    memcpy(text, r, sizeof r);
    const char *from = text + strspn(text, " ");
    size_t n = strlen(from);
    while (n > 0 && from[n - 1] == ' ')
        n--;
    for (size_t i = 0; i < n; i++)
        model[i] = from[i] >= 0x20 && from[i] < 0x7f ? from[i] : '?';
}

#elif defined(__aarch64__) && defined(__linux__)

static uint32_t detect_features(void)
{
    /* asm/hwcap.h: HWCAP_ASIMD and HWCAP_AES */
    unsigned long caps = getauxval(AT_HWCAP);
    uint32_t features = 0;
    if ((caps & 1ul << 1) != 0)
        features |= HFI_CPU_NEON;
    if ((caps & 1ul << 3) != 0)
        features |= HFI_CPU_ARM_AES;
    return features;
}

static void detect_model(char model[64])
{
    (void)model;
}

#else

static uint32_t detect_features(void)
{
#if defined(__aarch64__)
    return HFI_CPU_NEON | HFI_CPU_ARM_AES; /* every Apple one has both */
#else
    return 0;
#endif
}

static void detect_model(char model[64])
{
    (void)model;
}

#endif

void hfi_cpu_detect(hfi_cpu *out)
{
    hfi_cpu cpu = {0};
    cpu.features = detect_features();
    detect_model(cpu.model);
    *out = cpu;
}

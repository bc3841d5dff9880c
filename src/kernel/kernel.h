/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Door of src/kernel: the inner loops. Pure batch functions over buffers; they
 * never allocate, fail, log, lock or keep state, and may run on any number of
 * threads at once. "portable" is the definition; every other variant equals it
 * bit for bit.
 */
#ifndef HFI_KERNEL_KERNEL_H
#define HFI_KERNEL_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

/* Labels: scrypt with ChaCha20/8 mixing and Keccak-512, r = p = 1. */

#define HFI_LABEL_MIN_LOG_N 1u
#define HFI_LABEL_MAX_LOG_N 30u

typedef struct hfi_label_req {
    const uint8_t *commitment; /* 32 bytes */
    uint64_t index;            /* any value; label index in the password */
} hfi_label_req;

/*
 * One way to run a variant: so many labels in flight on one core. `run`
 * computes `count` (1 <= count <= lanes) labels of 32 bytes each into `out32`,
 * N = 2^log_n. `scratch` has hfi_label_scratch_bytes() bytes, aligned to 64
 * (2 MiB pages pay); its contents before and after do not matter. Nothing
 * beyond out32[32 * count] is written and only `count` requests are read.
 */
typedef struct hfi_label_shape {
    uint32_t lanes;
    void (*run)(const hfi_label_req *reqs, size_t count, uint32_t log_n,
                uint8_t *out32, void *scratch);
} hfi_label_shape;

/* Fixed part of the scratch: room for state beside the V arrays. */
#define HFI_LABEL_SCRATCH_FIXED 65536u

/* What a worker may be asked for at N = 8192; kept below the promised size. */
#define HFI_LABEL_SCRATCH_MOST (((size_t)64 << 20) + HFI_LABEL_SCRATCH_FIXED)

/* Bytes of scratch for a shape; 0 if that does not fit a size_t. */
size_t hfi_label_scratch_bytes(const hfi_label_shape *shape, uint32_t log_n);

/*
 * A variant: its name is the file suffix ("portable", "sse2", "avx2",
 * "avx512", "neon"). Shapes ascend in lanes; the first is the smallest.
 * `preferred` is the index to use where nothing was measured.
 */
typedef struct hfi_label_kernel {
    const char *name;
    const hfi_label_shape *shapes;
    uint32_t shape_count;
    uint32_t preferred;
} hfi_label_kernel;

/* AES-128 of the proving pass. */

typedef struct hfi_aes_key {
    _Alignas(16) uint8_t round[11][16]; /* FIPS 197 key schedule, byte order */
} hfi_aes_key;

/*
 * One nonce group: label bytes are encrypted under `group`; byte i of the
 * output belongs to nonce 16 * group + i. A byte below `msb` is a hit; equal to
 * it, the first 8 bytes of the label under lazy[i], read little-endian, low 56
 * bits, decide: strictly below `lsb56` is a hit.
 */
typedef struct hfi_scan {
    hfi_aes_key group;
    hfi_aes_key lazy[16];
    uint8_t msb;
    uint64_t lsb56;
} hfi_scan;

typedef struct hfi_aes_kernel {
    const char *name; /* "portable", "ni", "vaes", "armv8" */
    void (*expand)(hfi_aes_key *key, const uint8_t bytes[16]);
    void (*encrypt)(const hfi_aes_key *key, uint8_t *out, const uint8_t *in,
                    size_t blocks);
    /*
     * Scans `count` labels of 16 bytes (count < 2^28) and writes one word a
     * hit, (position << 4) | nonce in group, ascending. `hits` has room for
     * 16 * count words. Returns the number of hits.
     */
    size_t (*scan)(const hfi_scan *scan, const uint8_t *labels, size_t count,
                   uint32_t *hits);
} hfi_aes_kernel;

/* The choice for one context. */
typedef struct hfi_kernels {
    const hfi_label_kernel *label;
    const hfi_label_kernel *label_check; /* another variant, for sampling */
    const hfi_aes_kernel *aes;
} hfi_kernels;

/*
 * Fills *out with the best kernels that `cpu` allows, or with those of the
 * variant `force` ("portable", "sse2", "avx2", "avx512", "neon"; NULL: best).
 * Where a family has no variant of that name the next lower one is taken.
 * label_check differs from label wherever the CPU allows two variants.
 * HF_E_ARGUMENT: no such name; HF_E_UNSUPPORTED: this CPU cannot run it.
 */
hf_status hfi_kernels_select(hfi_kernels *out, const hfi_cpu *cpu,
                             const char *force, hf_error *err);

/* All variants compiled in, best last; *count is their number. */
const hfi_label_kernel *const *hfi_label_kernels(size_t *count);
const hfi_aes_kernel *const *hfi_aes_kernels(size_t *count);

/* Whether `cpu` can run the label or AES variant of that name. */
bool hfi_label_kernel_runs(const hfi_label_kernel *k, const hfi_cpu *cpu);
bool hfi_aes_kernel_runs(const hfi_aes_kernel *k, const hfi_cpu *cpu);

#endif

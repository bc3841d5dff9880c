/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What the files of src/pow share. engine.c alone calls librandomx: it turns
 * what the CPU and the system allow into flags, allocates, tests, hashes.
 * pow.c decides who builds and who waits. search.c tries nonces.
 */
#ifndef HFI_POW_INTERNAL_H
#define HFI_POW_INTERNAL_H

#include <randomx.h>

#include "pow/pow.h"

/* How programs are run; ascending. */
typedef enum hfi_pow_way {
    HFI_POW_INTERPRETER,
    HFI_POW_SECURE_JIT, /* pages are writable or executable */
    HFI_POW_JIT         /* pages are both at once */
} hfi_pow_way;

/* One librandomx memory and what was made from it; plain data, is moved. */
typedef struct hfi_pow_memory {
    randomx_cache *cache;
    randomx_dataset *dataset;
    uint8_t *slice_done;   /* of the data set */
    randomx_vm **machines; /* [2 * worker + fast]; each its worker's alone */
} hfi_pow_memory;

struct hfi_pow {
    hfi_sched *sched;
    const hfi_env *env;
    uint32_t workers;
    uint64_t bytes[2]; /* of light; that fast adds */

    /*
     * Written by hfi_pow_new() and, before anything is ready, by the one job
     * that builds; read by leaves of jobs that were told "ready" after that.
     */
    hfi_cpu cpu;
    bool large_pages;
    uint64_t hash_ns[2]; /* of one hash, measured */
    hfi_pow_memory memory;
    hf_status build_status; /* of the building leaf */
    hf_error build_error;
    _Atomic uint64_t slices_done;

    /* The rest under the lock. Lock order: pow, then sched. */
    hfi_mutex lock;
    hfi_pow_way way;
    hfi_pow_use *builder; /* NULL: nobody builds */
    hfi_pow_use *waiters;
    uint32_t woken; /* waiters that were told to look again */
    uint32_t users; /* uses that were stepped and not yet wiped */
    bool ready[2];
    bool no_room; /* the data set could not be had; forgotten by a trim */
    bool warned;  /* of large pages that are not there */
};

/* ---- engine.c ----------------------------------------------------------- */

uint64_t hfi_pow_light_bytes(uint32_t workers);
uint64_t hfi_pow_fast_bytes(uint32_t workers); /* beyond light */
uint64_t hfi_pow_slices(void);

/* What a page of our own may do just now. */
hfi_pow_way hfi_pow_probe(void);

/*
 * In a leaf: makes and fills the cache, tests a known hash on this worker's
 * machine. A wrong hash is tried again without JIT and CPU features.
 */
hf_status hfi_pow_build_cache(hfi_pow *p, hfi_worker *w, bool large_pages,
                              hf_error *err);
/* HF_E_MEMORY: there is no room. Keeps what is there. */
hf_status hfi_pow_alloc_dataset(hfi_pow *p, bool large_pages, hf_error *err);
void hfi_pow_build_slice(hfi_pow *p, uint64_t slice);
/* In a leaf: the known hash by the mode's machine of this worker. */
hf_status hfi_pow_test(hfi_pow *p, hfi_worker *w, bool fast, hf_error *err);

/* This worker's machine, made if missing; NULL: HF_E_MEMORY in *err. */
randomx_vm *hfi_pow_machine(hfi_pow *p, hfi_worker *w, bool fast,
                            hf_error *err);
/* Releases all; NULL members are fine. */
void hfi_pow_release(hfi_pow *p, hfi_pow_memory *m);

#endif

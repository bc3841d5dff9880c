/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * librandomx behind values. It trusts its flags: told of an instruction that is
 * not there it crashes, and where memory may not become executable it throws
 * C++ exceptions that no C caller can catch. So flags come from the CPU as the
 * context sees it and from a probe just before anything is compiled.
 * Invariant: every call that hashes or fills runs in the default
 * floating-point state and leaves the caller's as it was.
 */
#include "pow/pow_internal.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/base.h"

#define MIB (UINT64_C(1) << 20)

/* The network's RandomX key, and the hash of one zero byte under it. */
static const char cache_key[] = "spacemesh-randomx-cache-key";
static const uint8_t known_hash[32] = {
    0x1c, 0x63, 0x78, 0x83, 0x03, 0x5e, 0x45, 0xc5, 0xca, 0xd2, 0xa7,
    0x1c, 0x4f, 0x9d, 0x65, 0xa2, 0xcb, 0xc8, 0xa2, 0xae, 0xff, 0xed,
    0x43, 0xe9, 0x98, 0xcf, 0x2d, 0x96, 0xf7, 0x8c, 0x70, 0xa8};

/* RandomX specification, section 3: cache 256 MiB; scratchpad 2 MiB. */
#define CACHE_BYTES   (256 * MIB)
#define MACHINE_BYTES (2 * MIB + MIB / 4) /* with compiled code */
/* About 8 ms of one core where items are compiled. */
#define SLICE_ITEMS 4096u

uint64_t hfi_pow_light_bytes(uint32_t workers)
{
    return CACHE_BYTES + MIB + workers * MACHINE_BYTES;
}

uint64_t hfi_pow_fast_bytes(uint32_t workers)
{
    uint64_t items = randomx_dataset_item_count();
    return items * RANDOMX_DATASET_ITEM_SIZE + workers * MACHINE_BYTES;
}

uint64_t hfi_pow_slices(void)
{
    return (randomx_dataset_item_count() + SLICE_ITEMS - 1) / SLICE_ITEMS;
}

/* ---- flags -------------------------------------------------------------- */

static bool may_become(void *page, size_t bytes, int protection)
{
    return mprotect(page, bytes, protection) == 0 &&
           mprotect(page, bytes, PROT_READ | PROT_WRITE) == 0;
}

hfi_pow_way hfi_pow_probe(void)
{
    hfi_pow_way way = HFI_POW_INTERPRETER;
    size_t bytes = (size_t)sysconf(_SC_PAGESIZE);

    if ((randomx_get_flags() & RANDOMX_FLAG_JIT) == 0)
        return way; /* no compiler for this architecture */
    void *page = hfi_scratch_map(bytes);
    if (page == NULL)
        return way;
    *(volatile uint8_t *)page = 0; /* a page that was written, as theirs */
    if (may_become(page, bytes, PROT_READ | PROT_EXEC))
        way = HFI_POW_SECURE_JIT;
    if (may_become(page, bytes, PROT_READ | PROT_WRITE | PROT_EXEC))
        way = HFI_POW_JIT;
    hfi_scratch_unmap(page, bytes);
    return way;
}

/* Probes again: the host may have locked itself in since the last time. */
static hfi_pow_way current_way(hfi_pow *p)
{
    hfi_pow_way now = hfi_pow_probe();

    hfi_lock(&p->lock);
    if (now < p->way)
        p->way = now;
    now = p->way;
    hfi_unlock(&p->lock);
    return now;
}

static randomx_flags cpu_flags(const hfi_pow *p)
{
    int flags = RANDOMX_FLAG_DEFAULT;
    uint32_t have = p->cpu.features;

    if ((have & (HFI_CPU_AES | HFI_CPU_ARM_AES)) != 0)
        flags |= RANDOMX_FLAG_HARD_AES;
    if ((have & HFI_CPU_AVX2) != 0)
        flags |= RANDOMX_FLAG_ARGON2_AVX2;
    else if ((have & HFI_CPU_SSSE3) != 0)
        flags |= RANDOMX_FLAG_ARGON2_SSSE3;
    return (randomx_flags)flags;
}

static randomx_flags with(randomx_flags flags, int more)
{
    return (randomx_flags)((int)flags | more);
}

/*
 * Looked up first: a refused librandomx throws, catches, and leaks a little.
 * Too few: one warning for the context.
 */
static bool large_pages_free(hfi_pow *p, const char *what, uint64_t bytes)
{
    uint64_t all = p->bytes[0] + (bytes > CACHE_BYTES ? p->bytes[1] : 0);
    hfi_machine now;

    hfi_machine_detect(&now);
    if (now.huge_pages_free >= bytes)
        return true;
    hfi_lock(&p->lock);
    bool first = !p->warned;
    p->warned = true;
    hfi_unlock(&p->lock);
    if (first)
        hfi_logf(p->env->log, HFI_LOG_WARN, "pow",
                 "no huge pages free for the RandomX %s, using normal ones "
                 "(slower): set vm.nr_hugepages to %llu or more",
                 what, (unsigned long long)(all / (2 * MIB) + 1));
    return false;
}

/* ---- machines ----------------------------------------------------------- */

static randomx_vm *create_machine(hfi_pow *p, bool fast)
{
    randomx_flags flags = cpu_flags(p);
    hfi_pow_way way = current_way(p);
    randomx_vm *vm = NULL;

    if (way >= HFI_POW_SECURE_JIT)
        flags = with(flags, RANDOMX_FLAG_JIT);
    if (way == HFI_POW_SECURE_JIT)
        flags = with(flags, RANDOMX_FLAG_SECURE);
    if (fast)
        flags = with(flags, RANDOMX_FLAG_FULL_MEM);
    randomx_cache *cache = fast ? NULL : p->memory.cache;
    randomx_dataset *dataset = fast ? p->memory.dataset : NULL;
    if (p->large_pages && large_pages_free(p, "machines", MACHINE_BYTES))
        vm = randomx_create_vm(with(flags, RANDOMX_FLAG_LARGE_PAGES), cache,
                               dataset);
    return vm != NULL ? vm : randomx_create_vm(flags, cache, dataset);
}

randomx_vm *hfi_pow_machine(hfi_pow *p, hfi_worker *w, bool fast, hf_error *err)
{
    randomx_vm **vm = &p->memory.machines[2 * hfi_worker_index(w) + fast];

    if (*vm == NULL)
        *vm = create_machine(p, fast);
    if (*vm == NULL)
        (void)hfi_error(err, HF_E_MEMORY,
                        "no memory for a RandomX machine (%llu KiB)",
                        (unsigned long long)(MACHINE_BYTES >> 10));
    return *vm;
}

static bool known_hash_right(hfi_pow *p, randomx_vm *vm, bool fast)
{
    static const uint8_t input = 0;
    uint8_t out[32];
    hfi_fenv host;

    hfi_fenv_enter(&host);
    uint64_t begin = hfi_now_ns();
    randomx_calculate_hash(vm, &input, 1, out);
    if (hfi_now_ns() - begin < 20000000) { /* the first one met cold memory */
        begin = hfi_now_ns();
        randomx_calculate_hash(vm, &input, 1, out);
    }
    p->hash_ns[fast] = hfi_now_ns() - begin;
    hfi_fenv_leave(&host);
    return memcmp(out, known_hash, sizeof out) == 0;
}

hf_status hfi_pow_test(hfi_pow *p, hfi_worker *w, bool fast, hf_error *err)
{
    randomx_vm *vm = hfi_pow_machine(p, w, fast, err);

    if (vm == NULL)
        return HF_E_MEMORY;
    if (!known_hash_right(p, vm, fast))
        return hfi_error(err, HF_E_INTERNAL,
                         "RandomX gives a wrong hash in %s mode",
                         fast ? "fast" : "light");
    return HF_OK;
}

/* ---- cache -------------------------------------------------------------- */

static hf_status alloc_cache(hfi_pow *p, bool large_pages, hf_error *err)
{
    randomx_flags flags = cpu_flags(p);

    /* A cache's code is never writable and executable at once. */
    if (current_way(p) >= HFI_POW_SECURE_JIT)
        flags = with(flags, RANDOMX_FLAG_JIT);
    p->large_pages = false;
    if (large_pages && large_pages_free(p, "cache", CACHE_BYTES)) {
        p->memory.cache = randomx_alloc_cache(
            with(flags, RANDOMX_FLAG_LARGE_PAGES));
        p->large_pages = p->memory.cache != NULL;
    }
    if (p->memory.cache == NULL)
        p->memory.cache = randomx_alloc_cache(flags);
    if (p->memory.cache == NULL)
        return hfi_error(err, HF_E_MEMORY,
                         "no memory for the RandomX cache (256 MiB)");
    return HF_OK;
}

static hf_status make_cache(hfi_pow *p, hfi_worker *w, bool large_pages,
                            hf_error *err)
{
    hf_status s = alloc_cache(p, large_pages, err);
    hfi_fenv host;

    if (s != HF_OK)
        return s;
    hfi_fenv_enter(&host);
    randomx_init_cache(p->memory.cache, cache_key, sizeof cache_key - 1);
    hfi_fenv_leave(&host);
    return hfi_pow_test(p, w, false, err);
}

static void drop_cache(hfi_pow *p)
{
    for (uint32_t i = 0; i < p->workers; i++) {
        randomx_vm **vm = &p->memory.machines[2 * i];
        if (*vm != NULL)
            randomx_destroy_vm(*vm);
        *vm = NULL;
    }
    if (p->memory.cache != NULL)
        randomx_release_cache(p->memory.cache);
    p->memory.cache = NULL;
}

hf_status hfi_pow_build_cache(hfi_pow *p, hfi_worker *w, bool large_pages,
                              hf_error *err)
{
    hf_status s = make_cache(p, w, large_pages, err);

    if (s == HF_E_INTERNAL) {
        hfi_logf(p->env->log, HFI_LOG_WARN, "pow",
                 "RandomX gives a wrong hash here: trying again without its "
                 "compiler and CPU features");
        drop_cache(p);
        p->cpu.features = 0;
        hfi_lock(&p->lock);
        p->way = HFI_POW_INTERPRETER;
        hfi_unlock(&p->lock);
        s = make_cache(p, w, large_pages, err);
    }
    if (s != HF_OK)
        drop_cache(p);
    return s;
}

/* ---- data set ----------------------------------------------------------- */

/* Most of its cost is address translation: worth more than half the speed. */
static void prefer_huge_pages(randomx_dataset *dataset)
{
#ifdef MADV_HUGEPAGE
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t begin = (uintptr_t)randomx_get_dataset_memory(dataset);
    uintptr_t end = begin +
                    randomx_dataset_item_count() * RANDOMX_DATASET_ITEM_SIZE;

    begin = (begin + page - 1) / page * page;
    end = end / page * page;
    (void)madvise((void *)begin, end - begin, MADV_HUGEPAGE);
#else
    (void)dataset;
#endif
}

hf_status hfi_pow_alloc_dataset(hfi_pow *p, bool large_pages, hf_error *err)
{
    hfi_pow_memory *m = &p->memory;

    if (m->slice_done == NULL)
        m->slice_done = hfi_calloc(p->env, hfi_pow_slices(), 1);
    if (m->slice_done != NULL && m->dataset == NULL && large_pages &&
        large_pages_free(p, "data set", hfi_pow_fast_bytes(0)))
        m->dataset = randomx_alloc_dataset(RANDOMX_FLAG_LARGE_PAGES);
    if (m->slice_done != NULL && m->dataset == NULL) {
        m->dataset = randomx_alloc_dataset(RANDOMX_FLAG_DEFAULT);
        if (m->dataset != NULL)
            prefer_huge_pages(m->dataset);
    }
    if (m->dataset == NULL)
        return hfi_error(err, HF_E_MEMORY,
                         "no memory for the RandomX data set (%llu MiB)",
                         (unsigned long long)(hfi_pow_fast_bytes(0) / MIB));
    return HF_OK;
}

void hfi_pow_build_slice(hfi_pow *p, uint64_t slice)
{
    unsigned long begin = (unsigned long)slice * SLICE_ITEMS;
    unsigned long left = randomx_dataset_item_count() - begin;
    hfi_fenv host;

    hfi_fenv_enter(&host);
    randomx_init_dataset(p->memory.dataset, p->memory.cache, begin,
                         left < SLICE_ITEMS ? left : SLICE_ITEMS);
    hfi_fenv_leave(&host);
    p->memory.slice_done[slice] = 1;
}

void hfi_pow_release(hfi_pow *p, hfi_pow_memory *m)
{
    for (uint32_t i = 0; m->machines != NULL && i < 2 * p->workers; i++)
        if (m->machines[i] != NULL)
            randomx_destroy_vm(m->machines[i]);
    if (m->dataset != NULL)
        randomx_release_dataset(m->dataset);
    if (m->cache != NULL)
        randomx_release_cache(m->cache);
    hfi_free(p->env, m->slice_done);
    hfi_free(p->env, m->machines);
    *m = (hfi_pow_memory){0};
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Label variants: the reference system's labels in every shape, then every
 * shape against portable at awkward counts and indices, with each buffer at a
 * guard page; and the choice of variants for CPUs that lack some features.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/base.h"
#include "hash/hash.h"
#include "kernel/kernel.h"
#include "support/vectors.h"

#define COUNT(a)  (sizeof(a) / sizeof(a)[0])
#define MAX_LANES 256
#define LABEL     32

/* ---- every shape of every variant that runs here ----------------------- */

typedef struct subject {
    const char *name;
    const hfi_label_shape *shape;
} subject;

static void each_shape(void (*check)(const subject *s))
{
    size_t count;
    const hfi_label_kernel *const *all = hfi_label_kernels(&count);
    hfi_cpu cpu;

    hfi_cpu_detect(&cpu);
    assert_true(count >= 1);
    for (size_t i = 0; i < count; i++) {
        if (!hfi_label_kernel_runs(all[i], &cpu)) {
            print_message("not on this CPU: labels %s\n", all[i]->name);
            continue;
        }
        for (uint32_t j = 0; j < all[i]->shape_count; j++) {
            const subject s = {all[i]->name, &all[i]->shapes[j]};
            check(&s);
        }
    }
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return *state >> 16 ^ *state << 41;
}

/* ---- buffers at guard pages -------------------------------------------- */

/* `bytes` of memory with a page without access right before or after. */
typedef struct guarded {
    uint8_t *map;
    size_t map_bytes;
    uint8_t *data;
} guarded;

enum side { GUARD_AFTER, GUARD_BEFORE };

static guarded guarded_new(size_t bytes, enum side side)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t room = (bytes + page - 1) / page * page;
    guarded g;

    g.map_bytes = room + page;
    g.map = mmap(NULL, g.map_bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(g.map, MAP_FAILED);
    g.data = side == GUARD_AFTER ? g.map + room - bytes : g.map + page;
    assert_int_equal(
        mprotect(side == GUARD_AFTER ? g.map + room : g.map, page, PROT_NONE),
        0);
    return g;
}

static void guarded_free(guarded *g)
{
    assert_int_equal(munmap(g->map, g->map_bytes), 0);
}

static void *scratch_new(const hfi_label_shape *shape, uint32_t log_n)
{
    void *scratch = NULL;
    const size_t bytes = hfi_label_scratch_bytes(shape, log_n);

    assert_true(bytes > 0);
    assert_int_equal(posix_memalign(&scratch, 64, bytes), 0);
    memset(scratch, 0xa5, bytes); /* its contents do not matter */
    return scratch;
}

/* ---- known answers ----------------------------------------------------- */

typedef struct known {
    uint8_t commitment[32];
    uint64_t index;
    uint8_t label[LABEL];
} known;

/* The labels of labels.json with that N; returns how many. */
static size_t known_of(const hfi_json *labels, uint64_t n, known *out,
                       size_t capacity)
{
    size_t count = 0;

    for (const hfi_json *l = labels->child; l != NULL; l = l->next) {
        if (vectors_u64(l, "n") != n)
            continue;
        assert_true(count < capacity);
        vectors_hex_exact(l, "commitment", out[count].commitment, 32);
        out[count].index = vectors_u64(l, "index");
        vectors_hex_exact(l, "label32", out[count].label, LABEL);
        count++;
    }
    return count;
}

static void check_known(const subject *s, const known *all, size_t total,
                        uint32_t log_n)
{
    hfi_label_req reqs[MAX_LANES];
    uint8_t out[MAX_LANES * LABEL];
    void *scratch = scratch_new(s->shape, log_n);

    /* A stride that shares no factor with 60 mixes the commitments. */
    for (size_t at = 0; at < total; at += s->shape->lanes) {
        const size_t left = total - at;
        const size_t count = left < s->shape->lanes ? left : s->shape->lanes;
        for (size_t i = 0; i < count; i++) {
            const known *k = &all[(at + i) * 23 % total];
            reqs[i] = (hfi_label_req){k->commitment, k->index};
        }
        s->shape->run(reqs, count, log_n, out, scratch);
        for (size_t i = 0; i < count; i++)
            assert_memory_equal(out + LABEL * i,
                                all[(at + i) * 23 % total].label, LABEL);
    }
    free(scratch);
}

static void known_in_shape(const subject *s)
{
    struct vectors v;
    size_t seen = 0;

    vectors_load(&v, "space/labels.json");
    for (uint32_t log_n = 1; log_n <= 13; log_n++) {
        known all[100];
        const size_t total = known_of(vectors_member(v.root, "labels"),
                                      UINT64_C(1) << log_n, all, COUNT(all));
        if (total != 0)
            check_known(s, all, total, log_n);
        seen += total;
    }
    assert_int_equal(seen, vectors_member(v.root, "labels")->count);
    vectors_free(&v);
}

static void test_labels(void **state)
{
    (void)state;
    each_shape(known_in_shape);
}

/* Consecutive labels, 16 bytes of each, as a file holds them. */
static void check_range(const subject *s, const hfi_json *range)
{
    const uint64_t n = vectors_u64(range, "n");
    const uint64_t first = vectors_u64(range, "start");
    const uint64_t end = vectors_u64(range, "end_exclusive");
    uint32_t log_n = 0;
    uint8_t commitment[32], digest[32], want[32];
    uint8_t out[MAX_LANES * LABEL];
    hfi_label_req reqs[MAX_LANES];
    hfi_blake3 hash;
    void *scratch;

    while (UINT64_C(1) << log_n < n)
        log_n++;
    vectors_hex_exact(range, "commitment", commitment, 32);
    vectors_hex_exact(range, "labels16_concat_blake3", want, 32);
    scratch = scratch_new(s->shape, log_n);
    hfi_blake3_init(&hash);
    for (uint64_t at = first; at < end; at += s->shape->lanes) {
        const uint64_t left = end - at;
        const size_t count = left < s->shape->lanes ? left : s->shape->lanes;
        for (size_t i = 0; i < count; i++)
            reqs[i] = (hfi_label_req){commitment, at + i};
        s->shape->run(reqs, count, log_n, out, scratch);
        for (size_t i = 0; i < count; i++)
            hfi_blake3_update(&hash, out + LABEL * i, 16);
    }
    hfi_blake3_xof(&hash, 0, digest, sizeof digest);
    assert_memory_equal(digest, want, sizeof want);
    free(scratch);
}

static void ranges_in_shape(const subject *s)
{
    struct vectors v;

    vectors_load(&v, "space/labels.json");
    assert_true(vectors_member(v.root, "ranges")->count > 0);
    for (const hfi_json *r = vectors_member(v.root, "ranges")->child; r != NULL;
         r = r->next)
        check_range(s, r);
    vectors_free(&v);
}

static void test_ranges(void **state)
{
    (void)state;
    each_shape(ranges_in_shape);
}

/* ---- against portable -------------------------------------------------- */

static const uint64_t edge_indices[] = {
    0,
    UINT32_MAX,
    UINT64_C(1) << 32,
    (UINT64_C(1) << 40) + 3,
    UINT64_MAX - 1,
    UINT64_MAX,
};

static const hfi_label_shape *portable(void)
{
    size_t count;
    const hfi_label_kernel *k = hfi_label_kernels(&count)[0];

    assert_string_equal(k->name, "portable");
    return &k->shapes[0];
}

/* Every lane its own commitment, edge indices among random ones. */
static void make_requests(hfi_label_req *reqs, uint8_t *commitments,
                          size_t count, uint64_t *random)
{
    for (size_t i = 0; i < 32 * count; i++)
        commitments[i] = (uint8_t)next_random(random);
    for (size_t i = 0; i < count; i++) {
        const uint64_t r = next_random(random);
        reqs[i].commitment = commitments + 32 * i;
        reqs[i].index = r % 2 ? edge_indices[r / 2 % COUNT(edge_indices)]
                              : next_random(random);
    }
}

static void portable_labels(const hfi_label_req *reqs, size_t count,
                            uint32_t log_n, uint8_t *out)
{
    void *scratch = scratch_new(portable(), log_n);

    for (size_t i = 0; i < count; i++)
        portable()->run(&reqs[i], 1, log_n, out + LABEL * i, scratch);
    free(scratch);
}

/* One run with the buffers' ends, or starts, at guard pages. */
static void check_guarded(const subject *s, size_t count, uint32_t log_n,
                          enum side side, uint64_t *random)
{
    const size_t scratch_bytes = hfi_label_scratch_bytes(s->shape, log_n);
    guarded reqs = guarded_new(count * sizeof(hfi_label_req), side);
    guarded commitments = guarded_new(32 * count, side);
    guarded out = guarded_new(LABEL * count, side);
    guarded scratch = guarded_new(scratch_bytes, side);
    uint8_t want[MAX_LANES * LABEL];

    assert_int_equal(scratch_bytes % 64, 0);
    make_requests((hfi_label_req *)reqs.data, commitments.data, count, random);
    portable_labels((hfi_label_req *)reqs.data, count, log_n, want);
    s->shape->run((hfi_label_req *)reqs.data, count, log_n, out.data,
                  scratch.data);
    assert_memory_equal(out.data, want, LABEL * count);
    guarded_free(&reqs);
    guarded_free(&commitments);
    guarded_free(&out);
    guarded_free(&scratch);
}

static void counts_in_shape(const subject *s)
{
    uint64_t random = s->shape->lanes;

    assert_true(s->shape->lanes <= MAX_LANES);
    for (size_t count = 1; count <= s->shape->lanes; count++)
        for (uint32_t log_n = 1; log_n <= 4; log_n++)
            check_guarded(s, count, log_n,
                          (count + log_n) % 2 ? GUARD_BEFORE : GUARD_AFTER,
                          &random);
    check_guarded(s, s->shape->lanes, 9, GUARD_AFTER, &random);
}

static void test_counts(void **state)
{
    (void)state;
    each_shape(counts_in_shape);
}

static void edges_in_shape(const subject *s)
{
    static const uint8_t commitment[32] = "the commitment of all the lanes";
    uint8_t got[MAX_LANES * LABEL], want[MAX_LANES * LABEL];
    hfi_label_req reqs[MAX_LANES];
    void *scratch = scratch_new(s->shape, 3);

    for (size_t e = 0; e < COUNT(edge_indices); e++) {
        /* Across the edge, and past the last index to 0. */
        for (size_t i = 0; i < s->shape->lanes; i++)
            reqs[i] = (hfi_label_req){commitment, edge_indices[e] - 2 + i};
        portable_labels(reqs, s->shape->lanes, 3, want);
        s->shape->run(reqs, s->shape->lanes, 3, got, scratch);
        assert_memory_equal(got, want, LABEL * s->shape->lanes);
    }
    free(scratch);
}

static void test_edge_indices(void **state)
{
    (void)state;
    each_shape(edges_in_shape);
}

/* Any alignment of the output, and not a byte around it touched. */
static void alignment_in_shape(const subject *s)
{
    uint8_t want[MAX_LANES * LABEL], buffer[MAX_LANES * LABEL + 128];
    uint8_t commitments[MAX_LANES * 32];
    hfi_label_req reqs[MAX_LANES];
    const size_t count = s->shape->lanes - s->shape->lanes / 3;
    void *scratch = scratch_new(s->shape, 2);
    uint64_t random = 7;

    make_requests(reqs, commitments, count, &random);
    portable_labels(reqs, count, 2, want);
    for (size_t shift = 0; shift < 64; shift += 1 + shift / 3) {
        memset(buffer, 0x5a, sizeof buffer);
        s->shape->run(reqs, count, 2, buffer + shift, scratch);
        assert_memory_equal(buffer + shift, want, LABEL * count);
        for (size_t i = 0; i < sizeof buffer; i++)
            if (i < shift || i >= shift + LABEL * count)
                assert_int_equal(buffer[i], 0x5a);
    }
    free(scratch);
}

static void test_alignment(void **state)
{
    (void)state;
    each_shape(alignment_in_shape);
}

/* ---- shapes and scratch ------------------------------------------------ */

static void test_shapes(void **state)
{
    size_t count;
    const hfi_label_kernel *const *all = hfi_label_kernels(&count);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        const hfi_label_kernel *k = all[i];
        assert_true(k->shape_count >= 1);
        assert_true(k->preferred < k->shape_count);
        for (uint32_t j = 0; j < k->shape_count; j++) {
            assert_true(k->shapes[j].lanes >= 1);
            if (j > 0)
                assert_true(k->shapes[j].lanes > k->shapes[j - 1].lanes);
            /* At N = 8192 a worker stays within 64 MiB and a little. */
            assert_true(hfi_label_scratch_bytes(&k->shapes[j], 13) <=
                        (64u << 20) + HFI_LABEL_SCRATCH_FIXED);
        }
    }
}

static void test_scratch_bytes(void **state)
{
    const hfi_label_shape one = {1, NULL}, many = {UINT32_MAX, NULL};

    (void)state;
    assert_int_equal(hfi_label_scratch_bytes(&one, 1),
                     HFI_LABEL_SCRATCH_FIXED + 256);
    assert_int_equal(hfi_label_scratch_bytes(&one, 13),
                     HFI_LABEL_SCRATCH_FIXED + 128 * 8192);
    assert_int_equal(hfi_label_scratch_bytes(&one, 31), 0);
    assert_int_equal(hfi_label_scratch_bytes(&many, 30), 0);
}

/* ---- the choice -------------------------------------------------------- */

static const struct {
    const char *name;
    uint32_t features;
} machines[] = {
    {"portable", 0},
    {"sse2", HFI_CPU_SSE2},
    {"avx2",
     HFI_CPU_SSE2 | HFI_CPU_SSSE3 | HFI_CPU_SSE41 | HFI_CPU_AVX | HFI_CPU_AVX2},
    {"avx512", HFI_CPU_SSE2 | HFI_CPU_SSSE3 | HFI_CPU_SSE41 | HFI_CPU_AVX |
                   HFI_CPU_AVX2 | HFI_CPU_AVX512},
};

static bool built_in(const char *name)
{
    size_t count;
    const hfi_label_kernel *const *all = hfi_label_kernels(&count);

    for (size_t i = 0; i < count; i++)
        if (strcmp(all[i]->name, name) == 0)
            return true;
    return false;
}

static void test_best(void **state)
{
    const char *best = "portable";

    (void)state;
    for (size_t m = 0; m < COUNT(machines); m++) {
        const hfi_cpu cpu = {.features = machines[m].features};
        hfi_kernels k;
        size_t runs = 0, count;
        const hfi_label_kernel *const *all = hfi_label_kernels(&count);

        if (built_in(machines[m].name))
            best = machines[m].name;
        for (size_t i = 0; i < count; i++)
            runs += hfi_label_kernel_runs(all[i], &cpu);
        assert_int_equal(hfi_kernels_select(&k, &cpu, NULL, NULL), HF_OK);
        assert_string_equal(k.label->name, best);
        assert_true(hfi_label_kernel_runs(k.label_check, &cpu));
        assert_int_equal(k.label_check != k.label, runs > 1);
        assert_true(hfi_aes_kernel_runs(k.aes, &cpu));
    }
}

static void test_forced(void **state)
{
    (void)state;
    for (size_t m = 0; m < COUNT(machines); m++)
        for (size_t f = 0; f < COUNT(machines); f++) {
            const hfi_cpu cpu = {.features = machines[m].features};
            const char *name = machines[f].name;
            hf_error err = {0};
            hfi_kernels k = {0};
            const hf_status s = hfi_kernels_select(&k, &cpu, name, &err);
            if (f <= m && built_in(name)) {
                assert_int_equal(s, HF_OK);
                assert_string_equal(k.label->name, name);
                assert_true(hfi_label_kernel_runs(k.label_check, &cpu));
                assert_true(hfi_aes_kernel_runs(k.aes, &cpu));
            } else {
                assert_int_equal(s, HF_E_UNSUPPORTED);
                assert_int_equal(err.code, HF_E_UNSUPPORTED);
                assert_non_null(strstr(err.message, name));
                assert_null(k.label);
            }
        }
}

static void test_forced_portable_is_portable_throughout(void **state)
{
    const hfi_cpu cpu = {.features = UINT32_MAX};
    hfi_kernels k;

    (void)state;
    assert_int_equal(hfi_kernels_select(&k, &cpu, "portable", NULL), HF_OK);
    assert_string_equal(k.label->name, "portable");
    assert_string_equal(k.aes->name, "portable");
}

static void test_unknown_name(void **state)
{
    static const char *const names[] = {"", "AVX2", "avx", "avx5122", "ni"};
    const hfi_cpu cpu = {.features = UINT32_MAX};

    (void)state;
    for (size_t i = 0; i < COUNT(names); i++) {
        hf_error err = {0};
        hfi_kernels k = {0};
        assert_int_equal(hfi_kernels_select(&k, &cpu, names[i], &err),
                         HF_E_ARGUMENT);
        assert_int_equal(err.code, HF_E_ARGUMENT);
        assert_null(k.label);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_edge_indices),
        cmocka_unit_test(test_alignment),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_scratch_bytes),
        cmocka_unit_test(test_best),
        cmocka_unit_test(test_forced),
        cmocka_unit_test(test_forced_portable_is_portable_throughout),
        cmocka_unit_test(test_unknown_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

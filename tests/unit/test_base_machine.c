/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * CPU and limits: /proc and /sys of made-up machines in a temporary folder.
 */
#include "base/internal.h"
#include "support/vectors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GIB ((uint64_t)1 << 30)

static char *root;

static int set_up(void **state)
{
    (void)state;
    root = temp_folder();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    temp_folder_remove(root);
    return 0;
}

static void put(const char *name, const char *text)
{
    char path[TEMP_PATH];
    temp_write(temp_path(path, root, name), text, strlen(text));
}

static hfi_machine look(void)
{
    hfi_machine m = {0};
    hfi_machine_read_files(&m, root);
    return m;
}

/* ---- memory ------------------------------------------------------------ */

static void test_meminfo(void **state)
{
    (void)state;
    put("proc/meminfo", "MemTotal:       25276502 kB\n"
                        "MemFree:          100000 kB\n"
                        "MemAvailable:   24848007 kB\n"
                        "Buffers:           4 kB\n");
    put("sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "37\n");
    put("sys/kernel/mm/transparent_hugepage/enabled",
        "always [madvise] never\n");
    hfi_machine m = look();
    assert_true(m.memory_total == UINT64_C(25276502) * 1024);
    assert_true(m.memory_available == UINT64_C(24848007) * 1024);
    assert_true(m.huge_pages_free == 37 * UINT64_C(2097152));
    assert_true(m.transparent_huge);
    assert_true(m.memory_limit == 0);
    put("sys/kernel/mm/transparent_hugepage/enabled",
        "always madvise [never]\n");
    assert_false(look().transparent_huge);
    put("sys/kernel/mm/transparent_hugepage/enabled",
        "[always] madvise never\n");
    assert_true(look().transparent_huge);
}

static void test_nothing_there(void **state)
{
    (void)state;
    hfi_machine m = look();
    hfi_machine zero = {0};
    assert_memory_equal(&m, &zero, sizeof m);
    put("proc/meminfo", "MemTotal: lots\nMemAvailable\n\n:::\n");
    put("proc/self/cgroup", "\n:\n::\nnonsense\n0::\n0:\n1:memory\n");
    put("proc/self/mountinfo", "\n- - -\n1 2 3\n31 23 0:28 / /x rw - cgroup2\n"
                               "31 23 0:28 / /x rw -\n");
    m = look();
    assert_memory_equal(&m, &zero, sizeof m);
}

/* ---- control groups, version 2 ----------------------------------------- */

#define V2_MOUNT                                                               \
    "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 master:3 - cgroup2 "       \
    "cgroup2 rw,nsdelegate\n"

static void test_v2(void **state)
{
    (void)state;
    put("proc/self/cgroup", "0::/user.slice/app\n");
    put("proc/self/mountinfo",
        "22 28 0:21 / /sys rw - sysfs sysfs rw\n" V2_MOUNT);
    put("sys/fs/cgroup/user.slice/app/memory.max", "max\n");
    put("sys/fs/cgroup/user.slice/app/cpu.max", "max 100000\n");
    hfi_machine m = look();
    assert_true(m.memory_limit == 0);
    assert_int_equal(m.cpus_quota, 0);

    put("sys/fs/cgroup/user.slice/app/memory.max", "1073741824\n");
    put("sys/fs/cgroup/user.slice/app/cpu.max", "250000 100000\n");
    m = look();
    assert_true(m.memory_limit == GIB);
    assert_int_equal(m.cpus_quota, 3); /* 2.5, rounded up */

    /* The level above is the narrower one; the root counts too. */
    put("sys/fs/cgroup/user.slice/memory.max", "536870912\n");
    put("sys/fs/cgroup/user.slice/cpu.max", "50000 100000\n");
    m = look();
    assert_true(m.memory_limit == GIB / 2);
    assert_int_equal(m.cpus_quota, 1);
    put("sys/fs/cgroup/memory.max", "1000000\n");
    put("sys/fs/cgroup/cpu.max", "700000 100000\n");
    m = look();
    assert_true(m.memory_limit == 1000000);
    assert_int_equal(m.cpus_quota, 1);
    /* Where throttling starts is a limit as well. */
    put("sys/fs/cgroup/user.slice/app/memory.high", "900000\n");
    assert_true(look().memory_limit == 900000);
    /* A sibling's limits are none of ours. */
    put("sys/fs/cgroup/user.slice/app2/memory.max", "1\n");
    assert_true(look().memory_limit == 900000);
}

static void test_v2_root_group(void **state)
{
    (void)state;
    put("proc/self/cgroup", "0::/\n");
    put("proc/self/mountinfo", V2_MOUNT);
    put("sys/fs/cgroup/memory.max", "4096000\n");
    put("sys/fs/cgroup/cpu.max", "400000 100000\n");
    hfi_machine m = look();
    assert_true(m.memory_limit == 4096000);
    assert_int_equal(m.cpus_quota, 4);
}

/* A container without a namespace of its own sees its group as the root. */
static void test_v2_mounted_part(void **state)
{
    (void)state;
    put("proc/self/cgroup", "0::/docker/abc/inner\n");
    put("proc/self/mountinfo", "30 23 0:26 /docker/abc /sys/fs/cgroup ro - "
                               "cgroup2 cgroup rw\n");
    put("sys/fs/cgroup/memory.max", "8192000\n");
    put("sys/fs/cgroup/inner/memory.max", "4096000\n");
    assert_true(look().memory_limit == 4096000);
    put("sys/fs/cgroup/inner/memory.max", "9999999\n");
    assert_true(look().memory_limit == 8192000);
    /* A name that only begins alike is another group. */
    put("proc/self/cgroup", "0::/docker/abcdef\n");
    put("sys/fs/cgroup/def/memory.max", "1000\n");
    put("sys/fs/cgroupdef/memory.max", "1000\n");
    assert_true(look().memory_limit == 8192000);
    /* Outside of the namespace: the mount point is all we can see. */
    put("proc/self/cgroup", "0::/../other\n");
    put("sys/fs/other/memory.max", "1000\n");
    put("sys/fs/cgroup/other/memory.max", "1000\n");
    assert_true(look().memory_limit == 8192000);
}

static void test_mount_point_with_blanks(void **state)
{
    (void)state;
    put("proc/self/cgroup", "0::/a b\n");
    put("proc/self/mountinfo",
        "30 23 0:26 / /mnt/c\\040g\\134 rw - cgroup2 none rw\n");
    put("mnt/c g\\/a b/memory.max", "4096\n");
    assert_true(look().memory_limit == 4096);
}

/* ---- control groups, version 1 and both -------------------------------- */

static void put_v1(void)
{
    put("proc/self/mountinfo",
        "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
        "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup "
        "rw,cpu,cpuacct\n"
        "34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
        "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
        "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
    put("proc/self/cgroup", "9:name=systemd:/\n"
                            "4:memory:/jobs/7\n"
                            "3:cpuset:/other\n"
                            "1:cpu,cpuacct:/jobs\n"
                            "0::/\n");
}

static void test_v1(void **state)
{
    (void)state;
    put_v1();
    put("sys/fs/cgroup/memory/jobs/7/memory.limit_in_bytes",
        "9223372036854771712\n");
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put("sys/fs/cgroup/cpu,cpuacct/jobs/cpu.cfs_quota_us", "-1\n");
    put("sys/fs/cgroup/cpu,cpuacct/jobs/cpu.cfs_period_us", "100000\n");
    hfi_machine m = look();
    assert_true(m.memory_limit == 0);
    assert_int_equal(m.cpus_quota, 0);
    put("sys/fs/cgroup/memory/jobs/memory.limit_in_bytes", "2147483648\n");
    put("sys/fs/cgroup/cpu,cpuacct/jobs/cpu.cfs_quota_us", "150000\n");
    m = look();
    assert_true(m.memory_limit == 2 * GIB);
    assert_int_equal(m.cpus_quota, 2);
}

static void test_both_versions(void **state)
{
    (void)state;
    put_v1();
    put("sys/fs/cgroup/memory/jobs/7/memory.limit_in_bytes", "2147483648\n");
    put("sys/fs/cgroup/unified/memory.max", "1073741824\n");
    assert_true(look().memory_limit == GIB);
    put("sys/fs/cgroup/unified/memory.max", "max\n");
    assert_true(look().memory_limit == 2 * GIB);
}

static void test_malformed_limits(void **state)
{
    (void)state;
    static const char *const odd[] = {
        "",         "\n",       "0",          "x",
        "-5",       "max max",  "100000",     "100000 0",
        "0 100000", "100000 x", "1e9 100000", "99999999999999999999999 100000"};
    put("proc/self/cgroup", "0::/\n");
    put("proc/self/mountinfo", V2_MOUNT);
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        put("sys/fs/cgroup/cpu.max", odd[i]);
        assert_int_equal(look().cpus_quota, 0);
    }
    put("sys/fs/cgroup/memory.max", "99999999999999999999999\n");
    assert_true(look().memory_limit == 0);
}

/*
 * Lines longer than any buffer are left out, those after them are not. The end
 * of a long one must not be taken for a line.
 */
static void test_long_lines(void **state)
{
    (void)state;
    hfi_text t;
    for (size_t length = 4000; length < 4200; length++) {
        hfi_text_init(&t, NULL);
        for (size_t i = 0; i < length; i++)
            hfi_text_add(&t, "x");
        hfi_text_add(&t, "30 23 0:26 / /end rw - cgroup2 none rw\n" V2_MOUNT);
        assert_false(t.failed);
        put("proc/self/mountinfo", t.data);
        put("proc/self/cgroup", "0::/");
        put("sys/fs/cgroup/memory.max", "5000000");
        put("end/memory.max", "4000000");
        hfi_machine m = look();
        if (length >= 4090) /* before, it is one odd line that fits */
            assert_true(m.memory_limit == 5000000);
        hfi_text_free(&t);
    }
}

/* ---- defaults ---------------------------------------------------------- */

static void test_default_workers(void **state)
{
    (void)state;
    static const struct {
        uint32_t online;
        uint32_t affinity;
        uint32_t quota;
        uint32_t workers;
        const char *from;
    } cases[] = {
        {8, 8, 0, 8, "online cpus"},  {8, 4, 0, 4, "affinity"},
        {8, 4, 2, 2, "cgroup quota"}, {8, 4, 6, 4, "affinity"},
        {8, 8, 1, 1, "cgroup quota"}, {0, 0, 0, 1, "online cpus"},
        {0, 3, 0, 3, "affinity"},     {8, 0, 9, 8, "online cpus"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hfi_machine m = {.cpus_online = cases[i].online,
                         .cpus_affinity = cases[i].affinity,
                         .cpus_quota = cases[i].quota};
        hfi_machine_defaults(&m);
        assert_int_equal(m.workers, cases[i].workers);
        assert_string_equal(m.workers_from, cases[i].from);
    }
}

static void test_default_budget(void **state)
{
    (void)state;
    static const struct {
        uint64_t total;
        uint64_t available;
        uint64_t limit;
        uint64_t budget;
        const char *from;
    } cases[] = {
        {16 * GIB, 8 * GIB, 0, 4 * GIB, "available memory"},
        {16 * GIB, 8 * GIB, 2 * GIB, GIB, "cgroup limit"},
        {16 * GIB, 8 * GIB, 12 * GIB, 4 * GIB, "available memory"},
        {16 * GIB, 0, 0, 8 * GIB, "available memory"},
        {0, 0, 2 * GIB, GIB, "cgroup limit"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hfi_machine m = {.memory_total = cases[i].total,
                         .memory_available = cases[i].available,
                         .memory_limit = cases[i].limit};
        hfi_machine_defaults(&m);
        assert_true(m.memory_budget == cases[i].budget);
        assert_string_equal(m.budget_from, cases[i].from);
    }
}

/* ---- this machine ------------------------------------------------------ */

static void test_this_machine(void **state)
{
    (void)state;
    hfi_machine m;
    hfi_machine_detect(&m);
    assert_int_equal(m.cpus_online, sysconf(_SC_NPROCESSORS_ONLN));
    assert_true(m.workers >= 1 && m.workers <= m.cpus_online);
    assert_true(m.memory_total > 0);
    assert_true(m.memory_available <= m.memory_total);
    assert_true(m.memory_budget > 0);
    assert_true(m.memory_budget <= m.memory_total / 2);
}

static void test_affinity(void **state)
{
    (void)state;
    hfi_machine m;
    cpu_set_t all;
    cpu_set_t one;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    for (size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &all))
            CPU_SET(i, &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0)
        skip();
    hfi_machine_detect(&m);
    (void)sched_setaffinity(0, sizeof all, &all);
    assert_int_equal(m.cpus_affinity, 1);
    assert_int_equal(m.workers, 1);
    hfi_machine_detect(&m);
    assert_int_equal(m.cpus_affinity, CPU_COUNT(&all));
}

#if defined(__x86_64__)
/* The flags of the kernel, which likewise count what it saves. */
static bool kernel_has(const char *flags, const char *flag)
{
    char word[32];
    (void)snprintf(word, sizeof word, " %s ", flag);
    return strstr(flags, word) != NULL;
}

static void test_cpu_against_kernel(void **state)
{
    (void)state;
    static const struct {
        uint32_t feature;
        const char *flag;
    } flags[] = {
        {HFI_CPU_SSE2, "sse2"},
        {HFI_CPU_SSSE3, "ssse3"},
        {HFI_CPU_SSE41, "sse4_1"},
        {HFI_CPU_SSE42, "sse4_2"},
        {HFI_CPU_AES, "aes"},
        {HFI_CPU_PCLMUL, "pclmulqdq"},
        {HFI_CPU_AVX, "avx"},
        {HFI_CPU_AVX2, "avx2"},
        {HFI_CPU_BMI2, "bmi2"},
        {HFI_CPU_ADX, "adx"},
        {HFI_CPU_AVX512, "avx512vl"},
        {HFI_CPU_IFMA, "avx512ifma"},
        {HFI_CPU_GFNI, "gfni"},
        {HFI_CPU_VAES, "vaes"},
        {HFI_CPU_VPCLMUL, "vpclmulqdq"},
        {HFI_CPU_VBMI2, "avx512_vbmi2"},
    };
    hfi_cpu cpu;
    char *info = temp_read("/proc/cpuinfo", NULL);
    char *line = strstr(info, "\nflags");
    char *end = line == NULL ? NULL : strchr(line + 1, '\n');
    hfi_cpu_detect(&cpu);
    if (end != NULL) {
        *end = ' '; /* so that the last word ends in a blank too */
        end[1] = '\0';
        for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
            if (((cpu.features & flags[i].feature) != 0) !=
                kernel_has(line, flags[i].flag))
                fail_msg("%s differs", flags[i].flag);
    }
    free(info);
    if (end == NULL)
        skip();
}
#else
static void test_cpu_against_kernel(void **state)
{
    (void)state;
    hfi_cpu cpu;
    hfi_cpu_detect(&cpu);
#if defined(__aarch64__)
    assert_true((cpu.features & HFI_CPU_NEON) != 0);
#endif
    assert_int_equal(cpu.features & HFI_CPU_AVX2, 0);
}
#endif

static void test_feature_names(void **state)
{
    (void)state;
    assert_string_equal(hfi_cpu_feature_name(HFI_CPU_SSE2), "sse2");
    assert_string_equal(hfi_cpu_feature_name(HFI_CPU_SSE42), "sse42");
    assert_string_equal(hfi_cpu_feature_name(HFI_CPU_AVX2), "avx2");
    assert_string_equal(hfi_cpu_feature_name(HFI_CPU_AVX512), "avx512");
    assert_string_equal(hfi_cpu_feature_name(HFI_CPU_VAES), "vaes");
    assert_string_equal(hfi_cpu_feature_name(HFI_CPU_NEON), "neon");
    assert_string_equal(hfi_cpu_feature_name(HFI_CPU_ARM_AES), "arm_aes");
    assert_null(hfi_cpu_feature_name(0));
    assert_null(hfi_cpu_feature_name(3));
    assert_null(hfi_cpu_feature_name(HFI_CPU_ARM_AES << 1));
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(test_meminfo),
        CASE(test_nothing_there),
        CASE(test_v2),
        CASE(test_v2_root_group),
        CASE(test_v2_mounted_part),
        CASE(test_mount_point_with_blanks),
        CASE(test_v1),
        CASE(test_both_versions),
        CASE(test_malformed_limits),
        CASE(test_long_lines),
        CASE(test_default_workers),
        CASE(test_default_budget),
        CASE(test_this_machine),
        CASE(test_affinity),
        CASE(test_cpu_against_kernel),
        CASE(test_feature_names),
    };
    return cmocka_run_group_tests_name("base machine", tests, NULL, NULL);
}

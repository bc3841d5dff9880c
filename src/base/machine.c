/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * machine.c: how many CPUs and how much memory this process may use.
 *
 * Sources: affinity and online CPUs from the system calls; memory from
 * /proc/meminfo; limits from the control groups, version 1, 2 or both mounted
 * side by side. A group's limits bind all below it, so every level from our
 * own group up to the mount point counts and the smallest wins.
 *
 * Invariant: whatever is missing or malformed counts as no limit; nothing
 * here fails.
 */
#include "base/internal.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES 4096
#define LINE_BYTES 4096

/* ---- small text files -------------------------------------------------- */

/* The head of a file, terminated; false if it cannot be read. */
static bool read_head(const char *path, char *out, size_t bytes)
{
    hfi_file f = HFI_FILE_CLOSED;
    size_t got = 0;
    if (hfi_file_open(&f, path, HFI_OPEN_READ, NULL) != HF_OK)
        return false;
    hf_status s = hfi_file_read_some(&f, path, 0, out, bytes - 1, &got, NULL);
    (void)hfi_file_close(&f, path, NULL);
    if (s != HF_OK)
        return false;
    out[got] = '\0';
    return true;
}

/*
 * Calls `line` for each line, without its end; lines too long for the buffer
 * are left out. Stops when it returns false.
 */
static void each_line(const char *path, bool (*line)(void *user, char *text),
                      void *user)
{
    hfi_file f = HFI_FILE_CLOSED;
    char buffer[LINE_BYTES];
    uint64_t at = 0;
    bool skip = false;
    if (hfi_file_open(&f, path, HFI_OPEN_READ, NULL) != HF_OK)
        return;
    for (;;) {
        size_t got = 0;
        if (hfi_file_read_some(&f, path, at, buffer, sizeof buffer - 1, &got,
                               NULL) != HF_OK ||
            got == 0)
            break;
        char *end = memchr(buffer, '\n', got);
        size_t used = end == NULL ? got : (size_t)(end - buffer) + 1;
        buffer[end == NULL ? got : used - 1] = '\0';
        bool whole = end != NULL || got < sizeof buffer - 1;
        if (whole && !skip && !line(user, buffer))
            break;
        skip = !whole;
        at += used;
    }
    (void)hfi_file_close(&f, path, NULL);
}

/* A decimal number at the start of `text`; false if there is none. */
static bool parse_u64(const char *text, uint64_t *out, const char **rest)
{
    uint64_t v = 0;
    const char *p = text + strspn(text, " \t");
    if (*p < '0' || *p > '9')
        return false;
    for (; *p >= '0' && *p <= '9'; p++)
        if (__builtin_mul_overflow(v, 10u, &v) ||
            __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
            v = UINT64_MAX;
    *out = v;
    if (rest != NULL)
        *rest = p;
    return true;
}

static bool read_u64(const char *dir, const char *name, uint64_t *out)
{
    char path[PATH_BYTES];
    char text[128];
    int n = snprintf(path, sizeof path, "%s/%s", dir, name);
    return n > 0 && (size_t)n < sizeof path &&
           read_head(path, text, sizeof text) && parse_u64(text, out, NULL);
}

/* ---- control groups ---------------------------------------------------- */

typedef enum group_kind {
    GROUP_V2,
    GROUP_V1_MEMORY,
    GROUP_V1_CPU,
    GROUP_KINDS
} group_kind;

static const char *const controllers[GROUP_KINDS] = {"", "memory", "cpu"};

struct group {
    char path[PATH_BYTES];  /* ours, from /proc/self/cgroup; "" if none */
    char mount[PATH_BYTES]; /* where the hierarchy is mounted; "" if not */
    char root[PATH_BYTES];  /* which group is at the mount point */
};

struct groups {
    struct group of[GROUP_KINDS]; /* 36 KiB: too much for a host's stack */
};

/* Whether `list`, separated by commas, has `word`. */
static bool list_has(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = list; p != NULL; p = strchr(p, ',')) {
        p += *p == ',';
        if (strncmp(p, word, n) == 0 && (p[n] == ',' || p[n] == '\0'))
            return true;
    }
    return false;
}

static void copy_text(char out[PATH_BYTES], const char *text)
{
    size_t n = strlen(text);
    out[0] = '\0';
    if (n < PATH_BYTES)
        memcpy(out, text, n + 1);
}

/* "hierarchy:controllers:path", cgroups(7). */
static bool take_cgroup_line(void *user, char *text)
{
    struct groups *g = user;
    char *list = strchr(text, ':');
    char *path = list == NULL ? NULL : strchr(list + 1, ':');
    if (path == NULL)
        return true;
    *list++ = '\0';
    *path++ = '\0';
    if (strcmp(text, "0") == 0 && list[0] == '\0')
        copy_text(g->of[GROUP_V2].path, path);
    for (int kind = GROUP_V1_MEMORY; kind < GROUP_KINDS; kind++)
        if (list_has(list, controllers[kind]))
            copy_text(g->of[kind].path, path);
    return true;
}

/* "\040" and its like, as the kernel writes blanks in mount points. */
static void unescape(char *text)
{
    char *out = text;
    for (const char *p = text; *p != '\0'; out++) {
        if (p[0] == '\\' && p[1] >= '0' && p[1] <= '3' && p[2] >= '0' &&
            p[2] <= '7' && p[3] >= '0' && p[3] <= '7') {
            *out = (char)((p[1] - '0') << 6 | (p[2] - '0') << 3 | (p[3] - '0'));
            p += 4;
        } else
            *out = *p++;
    }
    *out = '\0';
}

static void take_mount(struct group *g, const char *root, const char *mount)
{
    if (g->mount[0] != '\0')
        return; /* the first one, as the kernel lists it */
    copy_text(g->root, root);
    copy_text(g->mount, mount);
    unescape(g->root);
    unescape(g->mount);
}

/*
 * proc(5), mountinfo: id, parent, device, root, mount point, options, optional
 * fields, "-", type, source, options of the super block.
 */
static bool take_mount_line(void *user, char *text)
{
    struct groups *g = user;
    char *field[11] = {0};
    size_t n = 0;
    bool tail = false;
    char *save = NULL;
    for (char *w = strtok_r(text, " ", &save); w != NULL;
         w = strtok_r(NULL, " ", &save)) {
        if (!tail && n >= 6) { /* skip the optional fields */
            tail = strcmp(w, "-") == 0;
            continue;
        }
        if (n < sizeof field / sizeof *field)
            field[n++] = w;
    }
    if (n < 9)
        return true;
    if (strcmp(field[6], "cgroup2") == 0)
        take_mount(&g->of[GROUP_V2], field[3], field[4]);
    if (strcmp(field[6], "cgroup") == 0)
        for (int kind = GROUP_V1_MEMORY; kind < GROUP_KINDS; kind++)
            if (list_has(field[8], controllers[kind]))
                take_mount(&g->of[kind], field[3], field[4]);
    return true;
}

/*
 * Our group as seen below the mount point: a container may see a part of the
 * tree only, or a path that leads out of it.
 */
static const char *path_in_mount(const struct group *g)
{
    size_t n = strlen(g->root);
    if (strcmp(g->path, "/..") == 0 || strncmp(g->path, "/../", 4) == 0)
        return "";
    if (n == 1 && g->root[0] == '/')
        return g->path;
    if (strncmp(g->path, g->root, n) == 0 &&
        (g->path[n] == '/' || g->path[n] == '\0'))
        return g->path + n;
    return "";
}

static void smaller(uint64_t *limit, uint64_t candidate)
{
    /* Version 1 says "none" by a number near 2^63. */
    if (candidate < UINT64_C(1) << 60 && (*limit == 0 || candidate < *limit))
        *limit = candidate == 0 ? 1 : candidate;
}

static void smaller_quota(uint32_t *cpus, uint64_t quota, uint64_t period)
{
    if (quota == 0 || period == 0 || quota > UINT64_MAX - period)
        return;
    uint64_t n = (quota + period - 1) / period;
    if (n <= UINT32_MAX && (*cpus == 0 || n < *cpus))
        *cpus = (uint32_t)n;
}

static void read_cpu_max(hfi_machine *m, const char *dir)
{
    char path[PATH_BYTES];
    char text[128];
    const char *rest;
    uint64_t quota;
    uint64_t period;
    int n = snprintf(path, sizeof path, "%s/cpu.max", dir);
    if (n < 0 || (size_t)n >= sizeof path ||
        !read_head(path, text, sizeof text))
        return;
    if (parse_u64(text, &quota, &rest) && parse_u64(rest, &period, NULL))
        smaller_quota(&m->cpus_quota, quota, period); /* else "max" */
}

static void read_level(hfi_machine *m, group_kind kind, const char *dir)
{
    uint64_t v;
    uint64_t period;
    switch (kind) {
    case GROUP_V2:
        if (read_u64(dir, "memory.max", &v))
            smaller(&m->memory_limit, v);
        /* Above this one the group is throttled almost to a stop. */
        if (read_u64(dir, "memory.high", &v))
            smaller(&m->memory_limit, v);
        read_cpu_max(m, dir);
        break;
    case GROUP_V1_MEMORY:
        if (read_u64(dir, "memory.limit_in_bytes", &v))
            smaller(&m->memory_limit, v);
        break;
    case GROUP_V1_CPU:
        if (read_u64(dir, "cpu.cfs_quota_us", &v) &&
            read_u64(dir, "cpu.cfs_period_us", &period))
            smaller_quota(&m->cpus_quota, v, period);
        break;
    case GROUP_KINDS:
        break;
    }
}

static void read_group(hfi_machine *m, group_kind kind, const struct group *g,
                       const char *prefix)
{
    char dir[PATH_BYTES];
    if (g->mount[0] == '\0' || g->path[0] == '\0')
        return;
    int n = snprintf(dir, sizeof dir, "%s%s", prefix, g->mount);
    if (n < 0 || (size_t)n >= sizeof dir)
        return;
    size_t top = (size_t)n;
    n = snprintf(dir + top, sizeof dir - top, "%s", path_in_mount(g));
    if (n < 0 || (size_t)n >= sizeof dir - top)
        return;
    for (size_t end = top + (size_t)n;; end--) {
        if (end > top && dir[end] != '/' && dir[end] != '\0')
            continue;
        dir[end] = '\0';
        read_level(m, kind, dir);
        if (end <= top)
            break;
    }
}

static const char *in_root(char out[PATH_BYTES], const char *root,
                           const char *path)
{
    int n = snprintf(out, PATH_BYTES, "%s%s", root, path);
    return n > 0 && n < PATH_BYTES ? out : "";
}

static void read_groups(hfi_machine *m, const char *root)
{
    char path[PATH_BYTES];
    struct groups *g = hfi_scratch_map(sizeof *g);
    if (g == NULL)
        return;
    each_line(in_root(path, root, "/proc/self/cgroup"), take_cgroup_line, g);
    each_line(in_root(path, root, "/proc/self/mountinfo"), take_mount_line, g);
    for (int kind = 0; kind < GROUP_KINDS; kind++)
        read_group(m, (group_kind)kind, &g->of[kind], root);
    hfi_scratch_unmap(g, sizeof *g);
}

/* ---- memory ------------------------------------------------------------ */

static bool take_meminfo_line(void *user, char *text)
{
    hfi_machine *m = user;
    char *value = strchr(text, ':');
    uint64_t kib;
    if (value == NULL || !parse_u64(value + 1, &kib, NULL) ||
        kib > UINT64_MAX / 1024)
        return true;
    *value = '\0';
    if (strcmp(text, "MemTotal") == 0)
        m->memory_total = kib * 1024;
    if (strcmp(text, "MemAvailable") == 0)
        m->memory_available = kib * 1024;
    return m->memory_total == 0 || m->memory_available == 0;
}

void hfi_machine_read_files(hfi_machine *m, const char *root)
{
    char path[PATH_BYTES];
    char text[256];
    uint64_t pages;
    each_line(in_root(path, root, "/proc/meminfo"), take_meminfo_line, m);
    read_groups(m, root);
    if (read_u64(in_root(path, root,
                         "/sys/kernel/mm/hugepages/"
                         "hugepages-2048kB"),
                 "free_hugepages", &pages) &&
        pages < UINT64_C(1) << 40)
        m->huge_pages_free = pages << 21;
    if (read_head(
            in_root(path, root, "/sys/kernel/mm/transparent_hugepage/enabled"),
            text, sizeof text))
        m->transparent_huge = strstr(text, "[always]") != NULL ||
                              strstr(text, "[madvise]") != NULL;
}

void hfi_machine_defaults(hfi_machine *m)
{
    m->workers = m->cpus_online;
    m->workers_from = "online cpus";
    if (m->cpus_affinity != 0 &&
        (m->workers == 0 || m->cpus_affinity < m->workers)) {
        m->workers = m->cpus_affinity;
        m->workers_from = "affinity";
    }
    if (m->cpus_quota != 0 && (m->workers == 0 || m->cpus_quota < m->workers)) {
        m->workers = m->cpus_quota;
        m->workers_from = "cgroup quota";
    }
    if (m->workers == 0)
        m->workers = 1;

    uint64_t room = m->memory_available;
    if (room == 0)
        room = m->memory_total; /* kernels before 3.14 */
    m->budget_from = "available memory";
    if (m->memory_limit != 0 && (room == 0 || m->memory_limit < room)) {
        room = m->memory_limit;
        m->budget_from = "cgroup limit";
    }
    m->memory_budget = room / 2;
}

/* ---- system calls ------------------------------------------------------ */

static uint32_t count_affinity(void)
{
#if defined(__linux__)
    /* Larger than cpu_set_t: the kernel refuses a set too small for it. */
    uint64_t bits[1024];
    memset(bits, 0, sizeof bits);
    if (sched_getaffinity(0, sizeof bits, (cpu_set_t *)(void *)bits) != 0)
        return 0;
    uint32_t n = 0;
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++)
        n += (uint32_t)__builtin_popcountll(bits[i]);
    return n;
#else
    return 0;
#endif
}

void hfi_machine_detect(hfi_machine *out)
{
    hfi_machine m = {0};
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    hfi_cpu_detect(&m.cpu);
    m.cpus_online = online > 0 ? (uint32_t)online : 0;
    m.cpus_affinity = count_affinity();
    hfi_machine_read_files(&m, "");
#if defined(_SC_PHYS_PAGES)
    long pages = sysconf(_SC_PHYS_PAGES);
    if (m.memory_total == 0 && pages > 0)
        m.memory_total = (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
#endif
    hfi_machine_defaults(&m);
    if (m.cpus_online == 0)
        m.cpus_online = 1;
    if (m.cpus_affinity == 0)
        m.cpus_affinity = m.cpus_online;
    *out = m;
}

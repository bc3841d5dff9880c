/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Preloaded into a program under test: counts, records and spoils its file
 * calls below one folder. Told by the environment:
 *
 *   HF_SHIM_DIR   the folder (absolute); calls elsewhere pass untouched
 *   HF_SHIM_FAIL  "kind:n:errno[:half][:on]": the nth call of that kind fails;
 *                 half: a write does half its bytes and the next call fails;
 *                 on: so do all later ones of that kind
 *   HF_SHIM_KILL  "n": SIGKILL at the nth call of any kind; a write does half
 *   HF_SHIM_LOG   file to record all calls in, with the data written
 *
 * Kinds: create, write, sync, rename, truncate, remove. Calls are made one at a
 * time, so the record is the order in which they happened.
 *
 * Record: lines "create NAME INODE", "write INODE OFFSET BYTES" followed by the
 * bytes, "truncate INODE LENGTH", "sync INODE", "syncfail INODE", "syncdir",
 * "rename OLD NEW", "remove NAME". Names have no folder.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum kind { CREATE, WRITE, SYNC, RENAME, TRUNCATE, REMOVE, KINDS };

static const char *const kind_names[KINDS] = {"create", "write",    "sync",
                                              "rename", "truncate", "remove"};

static struct {
    pthread_mutex_t lock;
    bool ready;
    char dir[PATH_MAX];
    size_t dir_length;
    enum kind fail_kind;
    long fail_at; /* 0: never */
    int fail_errno;
    bool half;
    bool stay;
    long kill_at; /* 0: never */
    int log;
    long count[KINDS];
    long total;
    bool half_done; /* the next write fails */
} shim = {.lock = PTHREAD_MUTEX_INITIALIZER, .log = -1};

#define REAL(name) ((__typeof__(&name))(uintptr_t)dlsym(RTLD_NEXT, #name))

static void read_fail(const char *text)
{
    char kind[16];
    char rest[32] = "";
    if (sscanf(text, "%15[a-z]:%ld:%d:%31s", kind, &shim.fail_at,
               &shim.fail_errno, rest) < 3)
        return;
    for (int k = 0; k < KINDS; k++)
        if (strcmp(kind, kind_names[k]) == 0)
            shim.fail_kind = (enum kind)k;
    shim.half = strstr(rest, "half") != NULL;
    shim.stay = strstr(rest, "on") != NULL;
}

static void get_ready(void)
{
    const char *dir = getenv("HF_SHIM_DIR");
    const char *fail = getenv("HF_SHIM_FAIL");
    const char *kill_at = getenv("HF_SHIM_KILL");
    const char *log = getenv("HF_SHIM_LOG");
    shim.ready = true;
    if (dir != NULL) {
        (void)snprintf(shim.dir, sizeof shim.dir, "%s", dir);
        shim.dir_length = strlen(shim.dir);
    }
    if (fail != NULL)
        read_fail(fail);
    if (kill_at != NULL)
        shim.kill_at = atol(kill_at);
    if (log != NULL)
        shim.log = REAL(open)(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
                              0600);
}

static void enter(void)
{
    (void)pthread_mutex_lock(&shim.lock);
    if (!shim.ready)
        get_ready();
}

static void leave(void)
{
    int code = errno;
    (void)pthread_mutex_unlock(&shim.lock);
    errno = code;
}

/* The name in our folder, "" for the folder itself, NULL for others. */
static const char *ours(const char *path)
{
    if (shim.dir_length == 0 || strncmp(path, shim.dir, shim.dir_length) != 0)
        return NULL;
    const char *rest = path + shim.dir_length;
    if (rest[0] != '\0' && rest[0] != '/')
        return NULL;
    while (rest[0] == '/')
        rest++;
    return rest;
}

static const char *ours_fd(int fd, char path[PATH_MAX])
{
    char link[64];
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, PATH_MAX - 1);
    if (n < 0)
        return NULL;
    path[n] = '\0';
    return ours(path);
}

static unsigned long inode(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 ? (unsigned long)st.st_ino : 0;
}

static void record_bytes(const void *data, size_t bytes)
{
    if (shim.log >= 0 && REAL(write)(shim.log, data, bytes) != (ssize_t)bytes)
        _exit(99);
}

static void record(const char *format, ...)
{
    char line[2 * NAME_MAX + 64];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    record_bytes(line, (size_t)n);
}

/* Counts a call; true if it must fail, with errno set. */
static bool must_fail(enum kind kind)
{
    long n = ++shim.count[kind];
    shim.total++;
    if (shim.fail_at == 0 || kind != shim.fail_kind)
        return false;
    if (n != shim.fail_at && !(shim.stay && n > shim.fail_at))
        return false;
    errno = shim.fail_errno;
    return true;
}

static bool must_die(void)
{
    return shim.kill_at != 0 && shim.total == shim.kill_at;
}

static void die_if_due(void)
{
    if (must_die())
        (void)kill(getpid(), SIGKILL);
}

/* ---- the calls ---------------------------------------------------------- */

static int open_any(int (*real)(const char *, int, ...), const char *path,
                    int flags, mode_t mode)
{
    struct stat st;
    enter();
    const char *name = ours(path);
    bool creates = name != NULL && name[0] != '\0' && (flags & O_CREAT) != 0 &&
                   lstat(path, &st) != 0;
    int fd = -1;
    if (!creates || !must_fail(CREATE)) {
        if (creates)
            die_if_due();
        fd = real(path, flags, mode);
        if (creates && fd >= 0)
            record("create %s %lu\n", name, inode(fd));
    }
    leave();
    return fd;
}

static mode_t mode_of(int flags, va_list args)
{
    return (flags & O_CREAT) != 0 ? (mode_t)va_arg(args, int) : 0;
}

int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = mode_of(flags, args);
    va_end(args);
    return open_any(REAL(open), path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = mode_of(flags, args);
    va_end(args);
    return open_any(REAL(open64), path, flags, mode);
}

ssize_t pwrite(int fd, const void *data, size_t bytes, off_t offset)
{
    char path[PATH_MAX];
    ssize_t done = -1;
    enter();
    if (ours_fd(fd, path) == NULL) {
        done = REAL(pwrite)(fd, data, bytes, offset);
    } else if (shim.half_done) {
        shim.half_done = shim.stay;
        errno = shim.fail_errno;
    } else {
        bool fails = must_fail(WRITE);
        bool dies = !fails && must_die();
        bool half = (fails && shim.half) || dies;
        if (!fails || half) {
            done = REAL(pwrite)(fd, data, half ? bytes / 2 : bytes, offset);
            if (done > 0) {
                record("write %lu %lld %zd\n", inode(fd), (long long)offset,
                       done);
                record_bytes(data, (size_t)done);
            }
            shim.half_done = fails;
        }
        if (dies)
            (void)kill(getpid(), SIGKILL);
    }
    leave();
    return done;
}

ssize_t pwrite64(int fd, const void *data, size_t bytes, off_t offset)
{
    return pwrite(fd, data, bytes, offset);
}

static int sync_any(int (*real)(int), int fd)
{
    char path[PATH_MAX];
    int rc = -1;
    enter();
    const char *name = ours_fd(fd, path);
    if (name == NULL) {
        rc = real(fd);
    } else if (must_fail(SYNC)) {
        int code = errno;
        if (name[0] != '\0')
            record("syncfail %lu\n", inode(fd));
        errno = code;
    } else {
        die_if_due();
        rc = 0; /* nothing on this machine depends on it: only the record */
        if (name[0] == '\0')
            record("syncdir\n");
        else
            record("sync %lu\n", inode(fd));
    }
    leave();
    return rc;
}

int fsync(int fd)
{
    return sync_any(REAL(fsync), fd);
}

int fdatasync(int fd)
{
    return sync_any(REAL(fdatasync), fd);
}

int rename(const char *from, const char *to)
{
    int rc = -1;
    enter();
    if (ours(from) == NULL || !must_fail(RENAME)) {
        if (ours(from) != NULL)
            die_if_due();
        rc = REAL(rename)(from, to);
        if (rc == 0 && ours(from) != NULL)
            record("rename %s %s\n", ours(from), ours(to));
    }
    leave();
    return rc;
}

int ftruncate(int fd, off_t length)
{
    char path[PATH_MAX];
    int rc = -1;
    enter();
    bool mine = ours_fd(fd, path) != NULL;
    if (!mine || !must_fail(TRUNCATE)) {
        if (mine)
            die_if_due();
        rc = REAL(ftruncate)(fd, length);
        if (rc == 0 && mine)
            record("truncate %lu %lld\n", inode(fd), (long long)length);
    }
    leave();
    return rc;
}

int ftruncate64(int fd, off_t length)
{
    return ftruncate(fd, length);
}

int unlink(const char *path)
{
    struct stat st;
    int rc = -1;
    enter();
    bool mine = ours(path) != NULL && lstat(path, &st) == 0;
    if (!mine || !must_fail(REMOVE)) {
        if (mine)
            die_if_due();
        rc = REAL(unlink)(path);
        if (rc == 0 && mine)
            record("remove %s\n", ours(path));
    }
    leave();
    return rc;
}

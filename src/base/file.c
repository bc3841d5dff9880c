/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * file.c: descriptors, positional reading and writing, atomic replacement,
 * locks, folders.
 *
 * Invariants: a descriptor of ours is above 2 and close-on-exec, so that a host
 * with closed standard streams never prints into a data file and no child
 * inherits one; what we make is 0600 or 0700 whatever the umask; interrupted
 * and short transfers are continued; a failed replacement leaves the old file.
 */
#include "base/internal.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static hf_status os_error(hf_error *err, const char *what, const char *path)
{
    int code = errno;
    return hfi_error_os(err, hfi_status_of_errno(code), code, "cannot %s %s",
                        what, path);
}

int hfi_fd_above_stdio(int fd)
{
    if (fd < 0 || fd > 2)
        return fd;
    int high = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    int code = errno;
    (void)close(fd);
    errno = code;
    return high;
}

static int open_fd(const char *path, int flags)
{
    int fd;
    do
        fd = open(path, flags | O_CLOEXEC | O_NOCTTY, 0600);
    while (fd < 0 && errno == EINTR);
    return hfi_fd_above_stdio(fd);
}

/* File systems without modes refuse; there is nothing to protect then. */
static bool no_modes(int code)
{
    return code == EPERM || code == ENOTSUP || code == ENOSYS || code == EINVAL;
}

/*
 * A new file of mode 0600; the umask can only have taken bits away. On failure
 * no file is left.
 */
static int create_fd(const char *path, int flags)
{
    int fd = open_fd(path, flags | O_RDWR | O_CREAT | O_EXCL);
    if (fd < 0 || fchmod(fd, 0600) == 0 || no_modes(errno))
        return fd;
    int code = errno;
    (void)close(fd);
    (void)unlink(path);
    errno = code;
    return -1;
}

/* Opens the file or makes it, and knows which of the two it did. */
static int open_or_create_fd(const char *path)
{
    for (int tries = 0; tries < 8; tries++) {
        int fd = open_fd(path, O_RDWR | O_NONBLOCK);
        if (fd >= 0 || errno != ENOENT)
            return fd;
        fd = create_fd(path, 0);
        if (fd >= 0 || errno != EEXIST)
            return fd;
        /* Another process made it meanwhile, or it is a dangling link. */
    }
    return -1;
}

/* A pipe would block or lose what is read: files and block devices only. */
static int check_kind(int fd)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return errno;
    if (S_ISDIR(st.st_mode))
        return EISDIR;
    if (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode))
        return ESPIPE;
    return 0;
}

hf_status hfi_file_open(hfi_file *f, const char *path, hfi_open_mode mode,
                        hf_error *err)
{
    int fd = -1;
    switch (mode) {
    case HFI_OPEN_READ: /* not blocking, so that a named pipe does not hang */
        fd = open_fd(path, O_RDONLY | O_NONBLOCK);
        break;
    case HFI_OPEN_READ_WRITE:
        fd = open_fd(path, O_RDWR | O_NONBLOCK);
        break;
    case HFI_OPEN_CREATE:
        fd = open_or_create_fd(path);
        break;
    case HFI_OPEN_CREATE_NEW:
        fd = create_fd(path, 0);
        break;
    }
    const char *verb = mode == HFI_OPEN_CREATE_NEW ? "create the file"
                                                   : "open the file";
    if (fd < 0)
        return os_error(err, verb, path);
    int code = check_kind(fd);
    if (code == ESPIPE) {
        (void)close(fd);
        return hfi_error_os(err, HF_E_IO, 0,
                            "%s is a pipe or socket: a regular file is wanted",
                            path);
    }
    if (code != 0) {
        (void)close(fd);
        errno = code;
        return os_error(err, verb, path);
    }
    f->fd = fd;
    return HF_OK;
}

hf_status hfi_file_close(hfi_file *f, const char *path, hf_error *err)
{
    if (f->fd < 0)
        return HF_OK;
    int fd = f->fd;
    f->fd = -1;
    /* Interrupted or not, the descriptor is gone: never close it again. */
    if (close(fd) != 0 && errno != EINTR)
        return os_error(err, "close the file", path);
    return HF_OK;
}

static bool fits_offset(uint64_t offset, uint64_t bytes)
{
    return offset <= INT64_MAX && bytes <= INT64_MAX - offset;
}

hf_status hfi_file_read_some(hfi_file *f, const char *path, uint64_t offset,
                             void *out, size_t bytes, size_t *got,
                             hf_error *err)
{
    uint8_t *p = out;
    size_t done = 0;
    assert(f->fd >= 0);
    if (!fits_offset(offset, bytes)) {
        errno = EOVERFLOW;
        return os_error(err, "read the file", path);
    }
    while (done < bytes) {
        ssize_t n = pread(f->fd, p + done, bytes - done,
                          (off_t)(offset + done));
        if (n == 0)
            break;
        if (n > 0)
            done += (size_t)n;
        else if (errno != EINTR) {
            int code = errno;
            return hfi_error_os(err, hfi_status_of_errno(code), code,
                                "cannot read %s at byte %llu", path,
                                (unsigned long long)(offset + done));
        }
    }
    *got = done;
    return HF_OK;
}

hf_status hfi_file_read_at(hfi_file *f, const char *path, uint64_t offset,
                           void *out, size_t bytes, hf_error *err)
{
    size_t got;
    hf_status s = hfi_file_read_some(f, path, offset, out, bytes, &got, err);
    if (s == HF_OK && got < bytes)
        return hfi_error(err, HF_E_FORMAT,
                         "%s ends at byte %llu, %llu are needed", path,
                         (unsigned long long)(offset + got),
                         (unsigned long long)(offset + bytes));
    return s;
}

hf_status hfi_file_write_at(hfi_file *f, const char *path, uint64_t offset,
                            const void *data, size_t bytes, hf_error *err)
{
    const uint8_t *p = data;
    size_t done = 0;
    assert(f->fd >= 0);
    if (!fits_offset(offset, bytes)) {
        errno = EFBIG;
        return os_error(err, "write the file", path);
    }
    while (done < bytes) {
        ssize_t n = pwrite(f->fd, p + done, bytes - done,
                           (off_t)(offset + done));
        if (n > 0) {
            done += (size_t)n;
            continue;
        }
        if (n < 0 && errno == EINTR)
            continue;
        int code = n < 0 ? errno : EIO; /* no progress must not loop */
        return hfi_error_os(err, hfi_status_of_errno(code), code,
                            "cannot write %s at byte %llu", path,
                            (unsigned long long)(offset + done));
    }
    return HF_OK;
}

hf_status hfi_file_size(hfi_file *f, const char *path, uint64_t *bytes,
                        hf_error *err)
{
    struct stat st;
    assert(f->fd >= 0);
    if (fstat(f->fd, &st) != 0)
        return os_error(err, "find the size of", path);
    *bytes = (uint64_t)st.st_size;
    return HF_OK;
}

hf_status hfi_file_truncate(hfi_file *f, const char *path, uint64_t bytes,
                            hf_error *err)
{
    int rc = -1;
    assert(f->fd >= 0);
    errno = EFBIG;
    if (fits_offset(0, bytes))
        do
            rc = ftruncate(f->fd, (off_t)bytes);
        while (rc != 0 && errno == EINTR);
    return rc == 0 ? HF_OK : os_error(err, "set the length of", path);
}

/* What a file system answers that knows no sync for this kind of file. */
static bool no_sync(int code)
{
    return code == EINVAL || code == ENOTSUP || code == ENOSYS || code == EROFS;
}

static int sync_data(int fd)
{
#if defined(__APPLE__)
    return fcntl(fd, F_FULLFSYNC);
#else
    return fdatasync(fd);
#endif
}

static hf_status sync_fd(int fd, int (*sync)(int), const char *path,
                         hf_error *err)
{
    int rc;
    do
        rc = sync(fd);
    while (rc != 0 && errno == EINTR);
    if (rc != 0 && !no_sync(errno))
        return os_error(err, "bring to disk", path);
    return HF_OK;
}

hf_status hfi_file_sync(hfi_file *f, const char *path, hf_error *err)
{
    assert(f->fd >= 0);
    return sync_fd(f->fd, sync_data, path, err);
}

#if defined(F_OFD_SETLK)
#define SET_LOCK F_OFD_SETLK
#define GET_LOCK F_OFD_GETLK
#else
#define SET_LOCK F_SETLK
#define GET_LOCK F_GETLK
#endif

static hf_status lock_busy(int fd, int code, const char *path, hf_error *err)
{
    /* The kernel tells no process (-1) for a lock bound to an open file. */
    struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(fd, GET_LOCK, &l) == 0 && l.l_type != F_UNLCK && l.l_pid > 0)
        return hfi_error_os(err, HF_E_BUSY, code,
                            "%s is locked by process %lld", path,
                            (long long)l.l_pid);
    return hfi_error_os(err, HF_E_BUSY, code,
                        "%s is locked by another process or handle", path);
}

/*
 * Locks of open file descriptions: a process lock would go with the first
 * close of any descriptor of the file, the host's own included.
 */
hf_status hfi_file_lock(hfi_file *f, const char *path, hf_error *err)
{
    struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int rc;
    assert(f->fd >= 0);
    do
        rc = fcntl(f->fd, SET_LOCK, &l);
    while (rc != 0 && errno == EINTR);
    if (rc == 0)
        return HF_OK;
    int code = errno;
    if (code == EACCES || code == EAGAIN)
        return lock_busy(f->fd, code, path, err);
    bool none = code == ENOLCK || code == EOPNOTSUPP || code == ENOSYS ||
                code == EINVAL;
    return hfi_error_os(err, none ? HF_E_UNSUPPORTED : HF_E_IO, code,
                        "cannot lock %s", path);
}

#if defined(POSIX_FADV_WILLNEED)
static void advise(hfi_file *f, uint64_t offset, uint64_t bytes, int advice)
{
    if (f->fd >= 0 && fits_offset(offset, bytes))
        (void)posix_fadvise(f->fd, (off_t)offset, (off_t)bytes, advice);
}
#else
#define POSIX_FADV_WILLNEED 0
#define POSIX_FADV_DONTNEED 0
static void advise(hfi_file *f, uint64_t offset, uint64_t bytes, int advice)
{
    (void)f, (void)offset, (void)bytes, (void)advice;
}
#endif

void hfi_file_will_need(hfi_file *f, uint64_t offset, uint64_t bytes)
{
    advise(f, offset, bytes, POSIX_FADV_WILLNEED);
}

void hfi_file_dont_need(hfi_file *f, uint64_t offset, uint64_t bytes)
{
    advise(f, offset, bytes, POSIX_FADV_DONTNEED);
}

static hf_status too_long(const char *path, size_t limit, hf_error *err)
{
    return hfi_error(err, HF_E_FORMAT, "%s is longer than %llu bytes", path,
                     (unsigned long long)limit);
}

/* Reads to the end; the size is a first guess only (/proc says 0). */
static hf_status load_open(const hfi_env *env, hfi_file *f, const char *path,
                           size_t limit, char **out, size_t *bytes,
                           hf_error *err)
{
    uint64_t size = 0;
    size_t used = 0;
    hf_status s = hfi_file_size(f, path, &size, err);
    if (s != HF_OK)
        return s;
    if (size > limit || limit > SIZE_MAX / 4)
        return too_long(path, limit, err);
    size_t capacity = (size_t)size + 2; /* one to see the end, one zero */
    char *data = hfi_calloc(env, capacity, 1);
    for (;;) {
        size_t got;
        if (data == NULL) {
            s = hfi_error(err, HF_E_MEMORY, "no memory to read %s", path);
            break;
        }
        s = hfi_file_read_some(f, path, used, data + used, capacity - 1 - used,
                               &got, err);
        if (s != HF_OK)
            break;
        used += got;
        if (used > limit) {
            s = too_long(path, limit, err);
            break;
        }
        if (used < capacity - 1)
            break;
        char *grown = hfi_grow(env, data, capacity, 2 * capacity + 4096, 1);
        if (grown == NULL)
            hfi_free(env, data);
        data = grown;
        capacity = 2 * capacity + 4096;
    }
    if (s != HF_OK) {
        hfi_free(env, data);
        return s;
    }
    data[used] = '\0';
    *out = data;
    *bytes = used;
    return HF_OK;
}

hf_status hfi_file_load(const hfi_env *env, const char *path, size_t limit,
                        char **out, size_t *bytes, hf_error *err)
{
    hfi_file f = HFI_FILE_CLOSED;
    hf_status s = hfi_file_open(&f, path, HFI_OPEN_READ, err);
    if (s != HF_OK)
        return s;
    s = load_open(env, &f, path, limit, out, bytes, err);
    (void)hfi_file_close(&f, path, NULL);
    return s;
}

/* Length of the folder part with its last slash; 0 if there is none. */
static size_t folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? 0 : (size_t)(slash - path) + 1;
}

/* The folder part of a path, "." if it has none; NULL without memory. */
static char *folder_of(const hfi_env *env, const char *path)
{
    size_t n = folder_length(path);
    if (n == 0)
        return hfi_strdup(env, ".");
    char *dir = hfi_strdup(env, path);
    if (dir != NULL)
        dir[n > 1 ? n - 1 : 1] = '\0';
    return dir;
}

static char *temporary_name(const hfi_env *env, const char *path)
{
    hfi_text t;
    hfi_text_init(&t, env);
    hfi_text_addf(&t, "%.*s.%s.tmp", (int)folder_length(path), path,
                  path + folder_length(path));
    if (t.failed) {
        hfi_text_free(&t);
        return NULL;
    }
    return t.data;
}

/* Writes and syncs the temporary file; leaves none on failure. */
static hf_status write_temporary(const char *tmp, const void *data,
                                 size_t bytes, hf_error *err)
{
    hfi_file f;
    /* Left over from a crash; a link there must not be written through. */
    if (unlink(tmp) != 0 && errno != ENOENT)
        return os_error(err, "remove the old temporary file", tmp);
    f.fd = create_fd(tmp, 0);
    if (f.fd < 0)
        return os_error(err, "create the temporary file", tmp);
    hf_status s = hfi_file_write_at(&f, tmp, 0, data, bytes, err);
    if (s == HF_OK)
        s = sync_fd(f.fd, fsync, tmp, err);
    hf_status closed = hfi_file_close(&f, tmp, s == HF_OK ? err : NULL);
    if (s == HF_OK)
        s = closed;
    if (s != HF_OK)
        (void)unlink(tmp);
    return s;
}

/*
 * -1 with errno 0 if the folder may not be opened: it can then not be synced,
 * which is no error.
 */
static int open_folder(const char *dir)
{
    int fd = open_fd(dir, O_RDONLY | O_DIRECTORY);
    if (fd < 0 && (errno == EACCES || errno == EPERM))
        errno = 0;
    return fd;
}

/* The folder is opened before the rename, so that only its sync can fail. */
static hf_status replace_in(const char *dir, const char *tmp, const char *path,
                            const void *data, size_t bytes, hf_error *err)
{
    int dir_fd = open_folder(dir);
    if (dir_fd < 0 && errno != 0)
        return os_error(err, "open the folder", dir);
    hf_status s = write_temporary(tmp, data, bytes, err);
    if (s == HF_OK && rename(tmp, path) != 0) {
        s = os_error(err, "replace", path);
        (void)unlink(tmp);
    } else if (s == HF_OK && dir_fd >= 0)
        s = sync_fd(dir_fd, fsync, dir, err);
    if (dir_fd >= 0)
        (void)close(dir_fd);
    return s;
}

hf_status hfi_file_replace(const hfi_env *env, const char *path,
                           const void *data, size_t bytes, hf_error *err)
{
    char *dir = folder_of(env, path);
    char *tmp = temporary_name(env, path);
    hf_status s;
    if (dir == NULL || tmp == NULL)
        s = hfi_error(err, HF_E_MEMORY, "no memory to write %s", path);
    else
        s = replace_in(dir, tmp, path, data, bytes, err);
    hfi_free(env, tmp);
    hfi_free(env, dir);
    return s;
}

hf_status hfi_dir_sync(const char *path, hf_error *err)
{
    int fd = open_folder(path);
    if (fd < 0)
        return errno == 0 ? HF_OK : os_error(err, "open the folder", path);
    hf_status s = sync_fd(fd, fsync, path, err);
    (void)close(fd);
    return s;
}

/* One folder; a new one is entered in its parent on disk. */
static hf_status make_one(const hfi_env *env, const char *path, hf_error *err)
{
    struct stat st;
    if (mkdir(path, 0700) != 0) {
        int code = errno;
        if (stat(path, &st) == 0) {
            if (S_ISDIR(st.st_mode))
                return HF_OK;
            code = ENOTDIR;
        }
        errno = code;
        return os_error(err, "make the folder", path);
    }
    if (chmod(path, 0700) != 0 && !no_modes(errno))
        return os_error(err, "make private the folder", path);
    char *parent = folder_of(env, path);
    if (parent == NULL)
        return hfi_error(err, HF_E_MEMORY, "no memory to make %s", path);
    hf_status s = hfi_dir_sync(parent, err);
    hfi_free(env, parent);
    return s;
}

hf_status hfi_dir_make(const hfi_env *env, const char *path, hf_error *err)
{
    hf_status s = HF_OK;
    char *part = hfi_strdup(env, path);
    if (part == NULL)
        return hfi_error(err, HF_E_MEMORY, "no memory to make %s", path);
    size_t length = strlen(part);
    while (length > 1 && part[length - 1] == '/')
        part[--length] = '\0';
    for (size_t i = 1; i < length && s == HF_OK; i++) {
        if (part[i] != '/' || part[i - 1] == '/')
            continue;
        part[i] = '\0';
        s = make_one(env, part, err);
        part[i] = '/';
    }
    if (s == HF_OK)
        s = make_one(env, part, err);
    hfi_free(env, part);
    return s;
}

hf_status hfi_path_stat(const char *path, hfi_path_kind *kind, uint64_t *bytes,
                        hf_error *err)
{
    struct stat st;
    hfi_path_kind found = HFI_PATH_NONE;
    uint64_t size = 0;
    if (stat(path, &st) == 0) {
        found = S_ISREG(st.st_mode)   ? HFI_PATH_FILE
                : S_ISDIR(st.st_mode) ? HFI_PATH_DIR
                                      : HFI_PATH_OTHER;
        if (found == HFI_PATH_FILE)
            size = (uint64_t)st.st_size;
    } else if (errno != ENOENT) {
        return os_error(err, "look at", path);
    } else if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode)) {
        found = HFI_PATH_OTHER; /* a link to nothing */
    }
    *kind = found;
    if (bytes != NULL)
        *bytes = size;
    return HF_OK;
}

hf_status hfi_path_free_space(const char *path, uint64_t *bytes, hf_error *err)
{
    struct statvfs st;
    int rc;
    do
        rc = statvfs(path, &st);
    while (rc != 0 && errno == EINTR);
    if (rc != 0)
        return os_error(err, "find the free space of", path);
    uint64_t room;
    if (__builtin_mul_overflow((uint64_t)st.f_bavail, (uint64_t)st.f_frsize,
                               &room))
        room = UINT64_MAX;
    *bytes = room;
    return HF_OK;
}

char *hfi_path_join(const hfi_env *env, const char *dir, const char *name)
{
    size_t length = strlen(dir);
    bool slash = length > 0 && dir[length - 1] != '/';
    hfi_text t;
    hfi_text_init(&t, env);
    hfi_text_add(&t, dir);
    hfi_text_add(&t, slash ? "/" : "");
    hfi_text_add(&t, name);
    if (t.failed) {
        hfi_text_free(&t);
        return NULL;
    }
    return t.data;
}

hf_status hfi_dir_each(const char *path,
                       bool (*each)(void *user, const char *name), void *user,
                       hf_error *err)
{
    int fd = open_fd(path, O_RDONLY | O_DIRECTORY);
    if (fd < 0)
        return os_error(err, "open the folder", path);
    DIR *dir = fdopendir(fd);
    if (dir == NULL) {
        hf_status s = os_error(err, "read the folder", path);
        (void)close(fd);
        return s;
    }
    hf_status s = HF_OK;
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(dir);
        if (entry == NULL) {
            if (errno != 0)
                s = os_error(err, "read the folder", path);
            break;
        }
        const char *name = entry->d_name;
        if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
            !each(user, name))
            break;
    }
    (void)closedir(dir);
    return s;
}

hf_status hfi_file_remove(const char *path, hf_error *err)
{
    return unlink(path) == 0 ? HF_OK : os_error(err, "remove", path);
}

void hfi_host_name(char *out, size_t bytes)
{
    char name[256] = "";
    if (gethostname(name, sizeof name - 1) != 0 || name[0] == '\0')
        memcpy(name, "unknown", 8);
    hfi_one_line(out, bytes, name);
}

uint64_t hfi_process_start(uint64_t pid)
{
    char path[64];
    char stat_line[1024];
    hfi_file f = HFI_FILE_CLOSED;
    size_t got = 0;
    (void)snprintf(path, sizeof path, "/proc/%llu/stat",
                   (unsigned long long)pid);
    if (hfi_file_open(&f, path, HFI_OPEN_READ, NULL) != HF_OK)
        return 0;
    hf_status s = hfi_file_read_some(&f, path, 0, stat_line,
                                     sizeof stat_line - 1, &got, NULL);
    (void)hfi_file_close(&f, path, NULL);
    if (s != HF_OK)
        return 0;
    stat_line[got] = '\0';
    /* The second field is a name that may hold anything; field 22 is ours. */
    const char *p = strrchr(stat_line, ')');
    for (int field = 2; p != NULL && field < 22; field++)
        p = strchr(p + 1, ' ');
    uint64_t ticks = 0;
    for (p = p == NULL ? "" : p + 1; *p >= '0' && *p <= '9'; p++)
        ticks = ticks * 10 + (uint64_t)(*p - '0');
    return ticks;
}

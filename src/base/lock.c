/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * lock.c: a lock on a folder, for the short time in which files in it are
 * replaced that several processes share. Files that are replaced by a rename
 * cannot carry a lock themselves.
 */
#include "base/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#define LOCK_STEP_MS 5u

static int try_lock(int fd)
{
    int rc;
    do
        rc = flock(fd, LOCK_EX | LOCK_NB);
    while (rc != 0 && errno == EINTR);
    return rc == 0 ? 0 : errno;
}

static hf_status lock_within(int fd, const char *path, uint64_t timeout_ms,
                             hf_error *err)
{
    const uint64_t most_ms = UINT64_C(1000000000000); /* 30 years */
    if (timeout_ms > most_ms)
        timeout_ms = most_ms;
    uint64_t end = hfi_now_ns() + timeout_ms * 1000000u;
    int code = try_lock(fd);
    while (code == EWOULDBLOCK && hfi_now_ns() < end) {
        hfi_sleep_ms(LOCK_STEP_MS);
        code = try_lock(fd);
    }
    if (code == 0)
        return HF_OK;
    if (code == EWOULDBLOCK)
        return hfi_error_os(err, HF_E_BUSY, code,
                            "another process holds the folder %s", path);
    return hfi_error_os(err, HF_E_UNSUPPORTED, code,
                        "cannot lock the folder %s", path);
}

hf_status hfi_dir_lock(hfi_file *f, const char *path, uint64_t timeout_ms,
                       hf_error *err)
{
    int fd;
    do
        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    fd = hfi_fd_above_stdio(fd);
    if (fd < 0) {
        int code = errno;
        return hfi_error_os(err, hfi_status_of_errno(code), code,
                            "cannot open the folder %s", path);
    }
    hf_status s = lock_within(fd, path, timeout_ms, err);
    if (s != HF_OK) {
        (void)close(fd);
        return s;
    }
    f->fd = fd;
    return HF_OK;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * rand.c: randomness of the operating system; there is no generator of ours.
 */
#include "base/internal.h"

#include <errno.h>
#include <string.h>

#if defined(__linux__)
#include <sys/random.h>
#endif

static hf_status from_device(uint8_t *out, size_t bytes, hf_error *err)
{
    const char *path = "/dev/urandom";
    hfi_file f = HFI_FILE_CLOSED;
    hf_status s = hfi_file_open(&f, path, HFI_OPEN_READ, err);
    if (s == HF_OK) {
        s = hfi_file_read_at(&f, path, 0, out, bytes, err);
        (void)hfi_file_close(&f, path, NULL);
    }
    if (s == HF_OK)
        return s;
    return hfi_error_wrap(err, HF_E_IO, "no randomness from the system");
}

hf_status hfi_random(void *out, size_t bytes, hf_error *err)
{
    uint8_t *p = out;
#if defined(__linux__)
    while (bytes > 0) {
        ssize_t n = getrandom(p, bytes, 0);
        if (n > 0) {
            p += n;
            bytes -= (size_t)n;
        } else if (n < 0 && errno == EINTR)
            continue;
        else if (n < 0 && (errno == ENOSYS || errno == EPERM))
            return from_device(p, bytes, err); /* old kernel, or a filter */
        else
            return hfi_error_os(err, HF_E_IO, n < 0 ? errno : EIO,
                                "no randomness from the system");
    }
    return HF_OK;
#else
    return from_device(p, bytes, err);
#endif
}

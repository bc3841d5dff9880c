/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Hides names and sizes on disk. Its main invariant: nothing is deleted but
 * what the same scan listed, with the size that it had then.
 */
#include "folder.h"

#include "say.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- looking ------------------------------------------------------------- */

/* "postdata_<number>.bin", decimal without leading zeros, 32 bits. */
static bool file_number(uint32_t *out, const char *name)
{
    static const char head[] = "postdata_";
    uint64_t number = 0;
    if (strncmp(name, head, sizeof head - 1) != 0)
        return false;
    const char *s = name + sizeof head - 1;
    if (*s < '0' || *s > '9' || (*s == '0' && s[1] != '.'))
        return false;
    for (; *s >= '0' && *s <= '9'; s++) {
        number = number * 10 + (uint64_t)(*s - '0');
        if (number > UINT32_MAX)
            return false;
    }
    *out = (uint32_t)number;
    return strcmp(s, ".bin") == 0;
}

static bool note_data(struct folder *f, uint32_t number, bool link,
                      uint64_t bytes)
{
    if (f->count == f->capacity) {
        size_t capacity = 2 * f->capacity + 16;
        struct found *grown = realloc(f->file, capacity * sizeof *grown);
        if (grown == NULL) {
            errno = ENOMEM;
            return false;
        }
        f->file = grown;
        f->capacity = capacity;
    }
    f->file[f->count++] = (struct found){number, link, bytes};
    f->bytes += bytes;
    f->labels += bytes / LABEL_BYTES;
    return true;
}

static bool note_entry(struct folder *f, int fd, const char *name)
{
    struct stat own, st;
    uint32_t number;
    bool data = file_number(&number, name);
    bool meta = strcmp(name, META_NAME) == 0;
    if (!data && !meta && strcmp(name, SIDECAR_NAME) != 0)
        return true;
    if (fstatat(fd, name, &own, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT; /* gone meanwhile */
    bool link = S_ISLNK(own.st_mode);
    if (!link || fstatat(fd, name, &st, 0) != 0)
        st = own; /* a link to nowhere counts with its own bytes */
    if (S_ISDIR(st.st_mode))
        return true;
    uint64_t bytes = S_ISLNK(st.st_mode) ? 0 : (uint64_t)st.st_size;
    if (data)
        return note_data(f, number, link, bytes);
    if (meta) {
        f->has_meta = true;
        f->meta_bytes = bytes;
    } else {
        f->has_sidecar = true;
        f->sidecar_bytes = bytes;
    }
    return true;
}

static int by_number(const void *a, const void *b)
{
    const struct found *left = a, *right = b;
    return left->number < right->number ? -1 : left->number > right->number;
}

static bool scan_entries(struct folder *f, DIR *d)
{
    for (;;) {
        errno = 0;
        const struct dirent *e = readdir(d);
        if (e == NULL)
            return errno == 0;
        if (!note_entry(f, dirfd(d), e->d_name))
            return false;
    }
}

bool folder_scan(struct folder *out, const char *dir)
{
    *out = (struct folder){.dir = dir};
    DIR *d = opendir(dir);
    if (d == NULL && errno == ENOENT)
        return true;
    bool fine = d != NULL && scan_entries(out, d);
    int os_code = errno;
    if (d)
        closedir(d);
    if (!fine) {
        say("cannot read the folder %s: %s", dir, strerror(os_code));
        folder_free(out);
        return false;
    }
    out->exists = true;
    if (out->count > 0)
        qsort(out->file, out->count, sizeof *out->file, by_number);
    return true;
}

void folder_free(struct folder *f)
{
    free(f->file);
    *f = (struct folder){0};
}

const struct found *folder_file(const struct folder *f, uint64_t number)
{
    for (size_t i = 0; i < f->count; i++)
        if (f->file[i].number == number)
            return &f->file[i];
    return NULL;
}

/* ---- deleting ------------------------------------------------------------ */

/* Files i to the result in a row: next numbers, same size, no links. */
static size_t run_end(const struct folder *f, size_t i)
{
    while (i + 1 < f->count && !f->file[i].link && !f->file[i + 1].link &&
           f->file[i + 1].number == f->file[i].number + 1 &&
           f->file[i + 1].bytes == f->file[i].bytes)
        i++;
    return i;
}

void folder_tell(const struct folder *f)
{
    say("in %s will be deleted:", f->dir);
    for (size_t i = 0; i < f->count; i++) {
        const struct found *first = &f->file[i];
        i = run_end(f, i);
        if (&f->file[i] == first)
            say("\tpostdata_%u.bin: %llu bytes%s", first->number,
                (unsigned long long)first->bytes,
                first->link ? " (a link; what it points to stays)" : "");
        else
            say("\tpostdata_%u.bin to postdata_%u.bin: %llu bytes each",
                first->number, f->file[i].number,
                (unsigned long long)first->bytes);
    }
    if (f->has_sidecar)
        say("\t%s: %llu bytes", SIDECAR_NAME,
            (unsigned long long)f->sidecar_bytes);
    if (f->has_meta)
        say("\t%s: %llu bytes", META_NAME, (unsigned long long)f->meta_bytes);
    say("\tdata files: %zu, with %llu bytes and %llu labels", f->count,
        (unsigned long long)f->bytes, (unsigned long long)f->labels);
}

static bool delete_one(int fd, const char *name, uint64_t bytes)
{
    struct stat st;
    if (fstatat(fd, name, &st, 0) == 0 && (uint64_t)st.st_size != bytes) {
        say("%s now has %llu bytes, not %llu: it is in use; nothing further is "
            "deleted",
            name, (unsigned long long)st.st_size, (unsigned long long)bytes);
        return false;
    }
    if (unlinkat(fd, name, 0) == 0 || errno == ENOENT)
        return true;
    say("failed to delete file (%s): %s", name, strerror(errno));
    return false;
}

static bool delete_all(const struct folder *f, int fd)
{
    char name[32];
    for (size_t i = f->count; i-- > 0;) {
        snprintf(name, sizeof name, "postdata_%u.bin", f->file[i].number);
        if (!delete_one(fd, name, f->file[i].bytes))
            return false;
    }
    if (f->has_sidecar && !delete_one(fd, SIDECAR_NAME, f->sidecar_bytes))
        return false;
    return !f->has_meta || delete_one(fd, META_NAME, f->meta_bytes);
}

bool folder_delete(const struct folder *f)
{
    int fd = open(f->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        say("cannot open the folder %s: %s", f->dir, strerror(errno));
        return false;
    }
    bool fine = delete_all(f, fd);
    if (fine && fsync(fd) != 0)
        errno = 0; /* file systems that cannot are none of our concern */
    close(fd);
    return fine;
}

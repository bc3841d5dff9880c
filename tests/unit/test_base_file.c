/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Files: descriptors, modes, locks, replacement, and what is left after each
 * system call failed in turn. The calls below stand in for the C library's.
 */
#include "base/internal.h"
#include "support/vectors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- system calls that fail on request --------------------------------- */

enum call {
    CALL_NONE,
    CALL_PWRITE,
    CALL_FSYNC,
    CALL_RENAME,
    CALL_CLOSE,
    CALL_FCHMOD
};

static struct {
    enum call call; /* which fails, with code, after `skip` of its kind */
    int code;
    int skip;
    bool short_io; /* transfers of 3 bytes, each after an EINTR */
    bool interrupted;
    int fsyncs;
} faults;

static bool fails(enum call call)
{
    if (faults.call != call || faults.skip-- != 0)
        return false;
    errno = faults.code;
    return true;
}

static bool interrupt(size_t *bytes)
{
    if (!faults.short_io)
        return false;
    faults.interrupted = !faults.interrupted;
    if (*bytes > 3)
        *bytes = 3;
    errno = EINTR;
    return faults.interrupted;
}

ssize_t pwrite(int fd, const void *data, size_t bytes, off_t offset)
{
    if (fails(CALL_PWRITE)) {
        /* A full disk takes a part first. */
        if (bytes > 1)
            (void)syscall(SYS_pwrite64, fd, data, bytes / 2, offset);
        return -1;
    }
    if (interrupt(&bytes))
        return -1;
    return syscall(SYS_pwrite64, fd, data, bytes, offset);
}

ssize_t pread(int fd, void *data, size_t bytes, off_t offset)
{
    if (interrupt(&bytes))
        return -1;
    return syscall(SYS_pread64, fd, data, bytes, offset);
}

int fsync(int fd)
{
    faults.fsyncs++;
    return fails(CALL_FSYNC) ? -1 : (int)syscall(SYS_fsync, fd);
}

int rename(const char *from, const char *to)
{
    return fails(CALL_RENAME)
               ? -1
               : (int)syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to);
}

int fchmod(int fd, mode_t mode)
{
    return fails(CALL_FCHMOD) ? -1 : (int)syscall(SYS_fchmod, fd, mode);
}

int close(int fd)
{
    int rc = (int)syscall(SYS_close, fd);
    return fails(CALL_CLOSE) ? -1 : rc;
}

/* ---- frame ------------------------------------------------------------- */

static char *dir;

static int set_up(void **state)
{
    (void)state;
    memset(&faults, 0, sizeof faults);
    dir = temp_folder();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    memset(&faults, 0, sizeof faults);
    temp_folder_remove(dir);
    return 0;
}

static mode_t mode_of(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_mode & 07777;
}

static void assert_holds(const char *path, const char *text)
{
    size_t bytes;
    char *data = temp_read(path, &bytes);
    assert_int_equal(bytes, strlen(text));
    assert_string_equal(data, text);
    free(data);
}

/* Runs in a child; its answer is the exit status, 0 for right. */
static void assert_in_child(int (*run)(const char *path), const char *path)
{
    int status = -1;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(run(path));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- reading and writing ----------------------------------------------- */

static void test_open_modes(void **state)
{
    (void)state;
    char path[TEMP_PATH];
    hfi_file f = HFI_FILE_CLOSED;
    hf_error err;
    (void)temp_path(path, dir, "a");
    assert_int_equal(hfi_file_open(&f, path, HFI_OPEN_READ, &err), HF_E_IO);
    assert_int_equal(err.os_code, ENOENT);
    assert_non_null(strstr(err.message, path));
    assert_int_equal(hfi_file_open(&f, path, HFI_OPEN_READ_WRITE, &err),
                     HF_E_IO);
    assert_int_equal(f.fd, -1);
    assert_int_equal(temp_count(dir), 0); /* looking made nothing */

    assert_int_equal(hfi_file_open(&f, path, HFI_OPEN_CREATE, &err), HF_OK);
    assert_true(f.fd > 2);
    assert_true((fcntl(f.fd, F_GETFD) & FD_CLOEXEC) != 0);
    assert_int_equal(hfi_file_write_at(&f, path, 0, "text", 4, &err), HF_OK);
    assert_int_equal(hfi_file_close(&f, path, &err), HF_OK);
    assert_int_equal(f.fd, -1);
    assert_int_equal(hfi_file_close(&f, path, &err), HF_OK);

    assert_int_equal(hfi_file_open(&f, path, HFI_OPEN_CREATE_NEW, &err),
                     HF_E_IO);
    assert_int_equal(err.os_code, EEXIST);
    assert_int_equal(hfi_file_open(&f, path, HFI_OPEN_CREATE, &err), HF_OK);
    assert_int_equal(hfi_file_close(&f, path, &err), HF_OK);
    assert_holds(path, "text"); /* opened, not emptied */
    assert_int_equal(hfi_file_open(&f, path, HFI_OPEN_READ, &err), HF_OK);
    assert_int_equal(hfi_file_write_at(&f, path, 0, "x", 1, &err), HF_E_IO);
    assert_int_equal(err.os_code, EBADF);
    assert_int_equal(hfi_file_close(&f, path, &err), HF_OK);
    assert_holds(path, "text");
}

static void test_odd_files(void **state)
{
    (void)state;
    char path[TEMP_PATH];
    hfi_file f = HFI_FILE_CLOSED;
    hf_error err;
    (void)temp_path(path, dir, "pipe");
    assert_int_equal(mkfifo(path, 0600), 0);
    (void)alarm(20); /* it must not wait for a writer */
    assert_int_equal(hfi_file_open(&f, path, HFI_OPEN_READ, &err), HF_E_IO);
    assert_non_null(strstr(err.message, "a regular file is wanted"));
    assert_int_equal(hfi_file_open(&f, path, HFI_OPEN_CREATE, &err), HF_E_IO);
    (void)alarm(0);
    assert_int_equal(hfi_file_open(&f, dir, HFI_OPEN_READ, &err), HF_E_IO);
    assert_int_equal(err.os_code, EISDIR);
    assert_string_equal(err.cause, "Is a directory");
    assert_int_equal(f.fd, -1);
}

static void check_transfers(void)
{
    char path[TEMP_PATH];
    char out[16] = "";
    size_t got = 99;
    uint64_t bytes;
    hfi_file f = HFI_FILE_CLOSED;
    hf_error err;
    (void)temp_path(path, dir, "a");
    assert_int_equal(hfi_file_open(&f, path, HFI_OPEN_CREATE, &err), HF_OK);
    assert_int_equal(hfi_file_write_at(&f, path, 5, "0123456789", 10, &err),
                     HF_OK);
    assert_int_equal(hfi_file_size(&f, path, &bytes, &err), HF_OK);
    assert_true(bytes == 15);
    assert_int_equal(hfi_file_read_at(&f, path, 5, out, 10, &err), HF_OK);
    assert_string_equal(out, "0123456789");
    assert_int_equal(hfi_file_read_at(&f, path, 0, out, 6, &err), HF_OK);
    assert_memory_equal(out, "\0\0\0\0\0000", 6);
    assert_int_equal(hfi_file_read_at(&f, path, 10, out, 6, &err), HF_E_FORMAT);
    assert_non_null(strstr(err.message, "byte 15, 16 are needed"));
    assert_int_equal(hfi_file_read_some(&f, path, 10, out, 6, &got, &err),
                     HF_OK);
    assert_int_equal(got, 5);
    assert_int_equal(hfi_file_read_some(&f, path, 77, out, 6, &got, &err),
                     HF_OK);
    assert_int_equal(got, 0);
    assert_int_equal(hfi_file_read_at(&f, path, 99, out, 0, &err), HF_OK);
    assert_int_equal(hfi_file_truncate(&f, path, 7, &err), HF_OK);
    assert_int_equal(hfi_file_size(&f, path, &bytes, &err), HF_OK);
    assert_true(bytes == 7);
    assert_int_equal(hfi_file_sync(&f, path, &err), HF_OK);
    hfi_file_will_need(&f, 0, 7);
    hfi_file_dont_need(&f, 0, 7);
    hfi_file_dont_need(&f, UINT64_MAX, UINT64_MAX);
    assert_int_equal(hfi_file_close(&f, path, &err), HF_OK);
    assert_int_equal(unlink(path), 0);
}

static void test_transfers(void **state)
{
    (void)state;
    check_transfers();
    faults.short_io = true;
    check_transfers();
}

static void test_offsets_out_of_range(void **state)
{
    (void)state;
    char path[TEMP_PATH];
    char out[4];
    size_t got;
    hfi_file f = HFI_FILE_CLOSED;
    hf_error err;
    (void)temp_path(path, dir, "a");
    assert_int_equal(hfi_file_open(&f, path, HFI_OPEN_CREATE, NULL), HF_OK);
    const uint64_t at[] = {UINT64_MAX, UINT64_C(1) << 63, INT64_MAX - 2};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(
            hfi_file_read_some(&f, path, at[i], out, 4, &got, &err), HF_E_IO);
        assert_int_equal(hfi_file_write_at(&f, path, at[i], out, 4, &err),
                         HF_E_IO);
        assert_int_equal(err.os_code, EFBIG);
    }
    assert_int_equal(hfi_file_truncate(&f, path, UINT64_MAX, &err), HF_E_IO);
    assert_int_equal(hfi_file_close(&f, path, NULL), HF_OK);
}

static void test_write_errors(void **state)
{
    (void)state;
    char path[TEMP_PATH];
    hfi_file f = HFI_FILE_CLOSED;
    hf_error err;
    (void)temp_path(path, dir, "a");
    assert_int_equal(hfi_file_open(&f, path, HFI_OPEN_CREATE, NULL), HF_OK);
    faults.call = CALL_PWRITE;
    faults.code = ENOSPC;
    assert_int_equal(hfi_file_write_at(&f, path, 4096, "abcd", 4, &err),
                     HF_E_IO);
    assert_int_equal(err.os_code, ENOSPC);
    assert_non_null(strstr(err.message, path));
    assert_non_null(strstr(err.message, "byte 4096"));
    faults.call = CALL_CLOSE; /* a late write error */
    faults.skip = 0;
    faults.code = EDQUOT;
    assert_int_equal(hfi_file_close(&f, path, &err), HF_E_IO);
    assert_int_equal(err.os_code, EDQUOT);
    assert_int_equal(f.fd, -1);
}

/* ---- descriptors and modes --------------------------------------------- */

static int low_descriptors(const char *path)
{
    static char each_path[TEMP_PATH];
    hfi_file a = HFI_FILE_CLOSED;
    hfi_file b = HFI_FILE_CLOSED;
    hfi_event e;
    uint8_t random[8];
    hfi_machine m;
    for (int fd = 0; fd < 3; fd++)
        (void)close(fd);
    if (hfi_file_open(&a, path, HFI_OPEN_CREATE, NULL) != HF_OK ||
        hfi_file_open(&b, path, HFI_OPEN_READ, NULL) != HF_OK ||
        hfi_event_init(&e, NULL) != HF_OK)
        return 1;
    if (a.fd < 3 || b.fd < 3 || e.read_fd < 3 || e.write_fd < 3)
        return 2;
    const int ours[] = {a.fd, b.fd, e.read_fd, e.write_fd};
    for (size_t i = 0; i < 4; i++)
        if ((fcntl(ours[i], F_GETFD) & FD_CLOEXEC) == 0)
            return 3;
    (void)snprintf(each_path, sizeof each_path, "%s.new", path);
    if (hfi_file_replace(NULL, each_path, "x", 1, NULL) != HF_OK ||
        hfi_dir_sync("/", NULL) != HF_OK ||
        hfi_random(random, sizeof random, NULL) != HF_OK)
        return 4;
    hfi_machine_detect(&m);
    hfi_event_destroy(&e);
    if (hfi_file_close(&a, path, NULL) != HF_OK ||
        hfi_file_close(&b, path, NULL) != HF_OK)
        return 5;
    for (int fd = 0; fd < 3; fd++) /* nothing of ours came to lie there */
        if (fcntl(fd, F_GETFD) != -1 || errno != EBADF)
            return 6;
    return 0;
}

static void test_low_descriptors(void **state)
{
    (void)state;
    char path[TEMP_PATH];
    assert_in_child(low_descriptors, temp_path(path, dir, "a"));
    assert_holds(strcat(path, ".new"), "x");
}

static void check_modes(const char *name, mode_t mask)
{
    char base[TEMP_PATH];
    char path[TEMP_PATH];
    hfi_file f = HFI_FILE_CLOSED;
    mode_t old = umask(mask);
    (void)temp_path(base, dir, name);
    assert_int_equal(hfi_dir_make(NULL, base, NULL), HF_OK);
    (void)temp_path(path, base, "x/y/");
    assert_int_equal(hfi_dir_make(NULL, path, NULL), HF_OK);
    assert_int_equal(hfi_dir_make(NULL, path, NULL), HF_OK);
    assert_int_equal(mode_of(base), 0700);
    assert_int_equal(mode_of(temp_path(path, base, "x")), 0700);
    assert_int_equal(mode_of(temp_path(path, base, "x/y")), 0700);
    (void)temp_path(path, base, "f");
    assert_int_equal(hfi_file_open(&f, path, HFI_OPEN_CREATE, NULL), HF_OK);
    assert_int_equal(hfi_file_close(&f, path, NULL), HF_OK);
    assert_int_equal(mode_of(path), 0600);
    (void)temp_path(path, base, "g");
    assert_int_equal(hfi_file_open(&f, path, HFI_OPEN_CREATE_NEW, NULL), HF_OK);
    assert_int_equal(hfi_file_close(&f, path, NULL), HF_OK);
    assert_int_equal(mode_of(path), 0600);
    (void)temp_path(path, base, "h");
    assert_int_equal(hfi_file_replace(NULL, path, "x", 1, NULL), HF_OK);
    assert_int_equal(mode_of(path), 0600);
    (void)umask(old);
}

static void test_umask(void **state)
{
    (void)state;
    char path[TEMP_PATH];
    hfi_file f = HFI_FILE_CLOSED;
    check_modes("open", 0);
    check_modes("usual", 022);
    check_modes("closed", 0777);
    /* A mode that somebody chose for a file there already stays. */
    (void)temp_path(path, dir, "mine");
    temp_write(path, "x", 1);
    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(hfi_file_open(&f, path, HFI_OPEN_CREATE, NULL), HF_OK);
    assert_int_equal(hfi_file_close(&f, path, NULL), HF_OK);
    assert_int_equal(mode_of(path), 0644);
}

static void test_create_leaves_nothing(void **state)
{
    (void)state;
    char path[TEMP_PATH];
    hfi_file f = HFI_FILE_CLOSED;
    hf_error err;
    faults.call = CALL_FCHMOD;
    faults.code = EIO;
    assert_int_equal(
        hfi_file_open(&f, temp_path(path, dir, "a"), HFI_OPEN_CREATE_NEW, &err),
        HF_E_IO);
    assert_int_equal(err.os_code, EIO);
    assert_int_equal(temp_count(dir), 0);
    /* A file system without modes is none to refuse. */
    faults.skip = 0;
    faults.code = EPERM;
    assert_int_equal(hfi_file_open(&f, path, HFI_OPEN_CREATE_NEW, &err), HF_OK);
    assert_int_equal(hfi_file_close(&f, path, NULL), HF_OK);
}

/* ---- replacement ------------------------------------------------------- */

static void test_replace(void **state)
{
    (void)state;
    struct test_env t;
    char path[TEMP_PATH];
    char link[TEMP_PATH];
    hf_error err;
    test_env_init(&t);
    (void)temp_path(path, dir, "a");
    assert_int_equal(hfi_file_replace(&t.env, path, "one", 3, &err), HF_OK);
    assert_holds(path, "one");
    assert_int_equal(faults.fsyncs, 2); /* the file, the folder */
    assert_int_equal(hfi_file_replace(&t.env, path, "", 0, &err), HF_OK);
    assert_holds(path, "");
    faults.short_io = true;
    assert_int_equal(hfi_file_replace(&t.env, path, "0123456789", 10, &err),
                     HF_OK);
    assert_holds(path, "0123456789");
    faults.short_io = false;
    /* A temporary file of a crash, and a link that somebody put there. */
    (void)temp_path(link, dir, ".a.tmp");
    temp_write(link, "stale and longer", 16);
    assert_int_equal(hfi_file_replace(&t.env, path, "two", 3, &err), HF_OK);
    assert_holds(path, "two");
    char victim[TEMP_PATH];
    temp_write(temp_path(victim, dir, "victim"), "kept", 4);
    assert_int_equal(symlink(victim, link), 0);
    assert_int_equal(hfi_file_replace(&t.env, path, "three", 5, &err), HF_OK);
    assert_holds(path, "three");
    assert_holds(victim, "kept");
    assert_int_equal(temp_count(dir), 2);
    test_env_done(&t);
}

/* Names without a folder, and one in the root, go to the right place. */
static void test_replace_relative(void **state)
{
    (void)state;
    char *before = getcwd(NULL, 0);
    hf_error err;
    assert_non_null(before);
    assert_int_equal(chdir(dir), 0);
    hf_status s = hfi_file_replace(NULL, "plain", "x", 1, &err);
    hf_status d = hfi_dir_make(NULL, "one/two", &err);
    assert_int_equal(chdir(before), 0);
    free(before);
    assert_int_equal(s, HF_OK);
    assert_int_equal(d, HF_OK);
    assert_int_equal(temp_count(dir), 2);
}

static void test_replace_fails(void **state)
{
    (void)state;
    static const struct {
        enum call call;
        int code;
        int skip;
        bool old_stays;
    } cases[] = {
        {CALL_PWRITE, ENOSPC, 0, true},
        {CALL_PWRITE, EIO, 0, true},
        {CALL_FSYNC, EIO, 0, true},
        {CALL_FSYNC, ENOSPC, 0, true},
        {CALL_CLOSE, EDQUOT, 0, true},
        {CALL_RENAME, EXDEV, 0, true},
        {CALL_RENAME, EIO, 0, true},
        {CALL_FCHMOD, EIO, 0, true},
        /* After the rename the new one stands, and the caller is told. */
        {CALL_FSYNC, EIO, 1, false},
    };
    char path[TEMP_PATH];
    (void)temp_path(path, dir, "a");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hf_error err;
        temp_write(path, "old content", 11);
        faults.call = cases[i].call;
        faults.code = cases[i].code;
        faults.skip = cases[i].skip;
        assert_int_equal(hfi_file_replace(NULL, path, "new", 3, &err), HF_E_IO);
        faults.call = CALL_NONE;
        assert_int_equal(err.os_code, cases[i].code);
        assert_non_null(strstr(err.message, dir));
        assert_holds(path, cases[i].old_stays ? "old content" : "new");
        assert_int_equal(temp_count(dir), 1);
    }
    /* Kinds of sync that a file system does not know are no failure. */
    static const int unknown[] = {EINVAL, ENOTSUP, ENOSYS, EROFS};
    for (size_t i = 0; i < 4; i++) {
        faults.call = CALL_FSYNC;
        faults.code = unknown[i];
        faults.skip = 1;
        assert_int_equal(hfi_file_replace(NULL, path, "new", 3, NULL), HF_OK);
    }
}

static void test_replace_impossible(void **state)
{
    (void)state;
    char path[TEMP_PATH];
    char name[300];
    hf_error err;
    temp_write(temp_path(path, dir, "file"), "x", 1);
    (void)temp_path(path, dir, "file/below");
    assert_int_equal(hfi_file_replace(NULL, path, "n", 1, &err), HF_E_IO);
    assert_int_equal(err.os_code, ENOTDIR);
    (void)temp_path(path, dir, "none/below");
    assert_int_equal(hfi_file_replace(NULL, path, "n", 1, &err), HF_E_IO);
    assert_int_equal(err.os_code, ENOENT);
    assert_int_equal(hfi_file_replace(NULL, "/proc/self/none", "n", 1, &err),
                     HF_E_IO);
    (void)temp_path(path, dir, "folder/inner");
    temp_write(path, "x", 1);
    (void)temp_path(path, dir, "folder");
    assert_int_equal(hfi_file_replace(NULL, path, "n", 1, &err), HF_E_IO);
    memset(name, 'n', 252);
    name[252] = '\0';
    (void)temp_path(path, dir, name);
    assert_int_equal(hfi_file_replace(NULL, path, "n", 1, &err), HF_E_IO);
    assert_int_equal(err.os_code, ENAMETOOLONG);
    assert_int_equal(temp_count(dir), 2); /* file, folder; no left-overs */
}

/* ---- loading ----------------------------------------------------------- */

static void test_load(void **state)
{
    (void)state;
    struct test_env t;
    char path[TEMP_PATH];
    char *data = NULL;
    size_t bytes = 0;
    hf_error err;
    test_env_init(&t);
    (void)temp_path(path, dir, "a");
    temp_write(path, "0123456789", 10);
    assert_int_equal(hfi_file_load(&t.env, path, 10, &data, &bytes, &err),
                     HF_OK);
    assert_int_equal(bytes, 10);
    assert_string_equal(data, "0123456789");
    hfi_free(&t.env, data);
    data = NULL;
    assert_int_equal(hfi_file_load(&t.env, path, 9, &data, &bytes, &err),
                     HF_E_FORMAT);
    assert_non_null(strstr(err.message, "longer than 9 bytes"));
    assert_null(data);
    temp_write(path, "", 0);
    assert_int_equal(hfi_file_load(&t.env, path, 0, &data, &bytes, &err),
                     HF_OK);
    assert_int_equal(bytes, 0);
    assert_string_equal(data, "");
    hfi_free(&t.env, data);
    /* Files of the kernel have no size, and may be long. */
    assert_int_equal(hfi_file_load(&t.env, "/proc/self/status", 1 << 20, &data,
                                   &bytes, &err),
                     HF_OK);
    assert_true(bytes > 100 && strlen(data) == bytes);
    hfi_free(&t.env, data);
    assert_int_equal(
        hfi_file_load(&t.env, "/proc/self/status", 100, &data, &bytes, &err),
        HF_E_FORMAT);
    assert_int_equal(
        hfi_file_load(&t.env, "/dev/zero", 100000, &data, &bytes, &err),
        HF_E_FORMAT);
    test_env_done(&t);
}

/* ---- folders and paths ------------------------------------------------- */

static bool count_two(void *user, const char *name)
{
    assert_true(strcmp(name, ".") != 0 && strcmp(name, "..") != 0);
    return ++*(int *)user < 2;
}

static bool count_all(void *user, const char *name)
{
    (void)name;
    ++*(int *)user;
    return true;
}

static void test_folders(void **state)
{
    (void)state;
    char path[TEMP_PATH];
    hf_error err;
    int n = 0;
    for (int i = 0; i < 5; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "f%d", i);
        temp_write(temp_path(path, dir, name), "x", 1);
    }
    assert_int_equal(hfi_dir_each(dir, count_all, &n, &err), HF_OK);
    assert_int_equal(n, 5);
    n = 0;
    assert_int_equal(hfi_dir_each(dir, count_two, &n, &err), HF_OK);
    assert_int_equal(n, 2);
    assert_int_equal(hfi_dir_each(path, count_all, &n, &err), HF_E_IO);
    assert_int_equal(err.os_code, ENOTDIR);
    assert_int_equal(hfi_dir_make(NULL, path, &err), HF_E_IO);
    assert_int_equal(err.os_code, ENOTDIR);
    assert_int_equal(hfi_file_remove(path, &err), HF_OK);
    assert_int_equal(hfi_file_remove(path, &err), HF_E_IO);
    assert_int_equal(err.os_code, ENOENT);
    assert_int_equal(hfi_dir_make(NULL, "/", &err), HF_OK);
    assert_int_equal(hfi_dir_make(NULL, ".", &err), HF_OK);
    assert_int_equal(hfi_dir_make(NULL, "", &err), HF_E_IO);
    assert_int_equal(hfi_dir_make(NULL, "/proc/none/x", &err), HF_E_IO);
    assert_int_equal(hfi_dir_sync(dir, &err), HF_OK);
    (void)temp_path(path, dir, "none");
    assert_int_equal(hfi_dir_sync(path, &err), HF_E_IO);
}

static void test_path_stat(void **state)
{
    (void)state;
    char path[TEMP_PATH];
    char link[TEMP_PATH];
    hfi_path_kind kind;
    uint64_t bytes = 7;
    hf_error err;
    (void)temp_path(path, dir, "a");
    assert_int_equal(hfi_path_stat(path, &kind, &bytes, &err), HF_OK);
    assert_int_equal(kind, HFI_PATH_NONE);
    assert_true(bytes == 0);
    temp_write(path, "12345", 5);
    assert_int_equal(symlink(path, temp_path(link, dir, "l")), 0);
    assert_int_equal(hfi_path_stat(link, &kind, &bytes, &err), HF_OK);
    assert_int_equal(kind, HFI_PATH_FILE);
    assert_true(bytes == 5);
    assert_int_equal(symlink("nowhere", temp_path(link, dir, "d")), 0);
    assert_int_equal(hfi_path_stat(link, &kind, &bytes, &err), HF_OK);
    assert_int_equal(kind, HFI_PATH_OTHER);
    assert_true(bytes == 0);
    assert_int_equal(hfi_path_stat(dir, &kind, NULL, &err), HF_OK);
    assert_int_equal(kind, HFI_PATH_DIR);
    assert_int_equal(hfi_path_stat("/dev/null", &kind, NULL, &err), HF_OK);
    assert_int_equal(kind, HFI_PATH_OTHER);
    (void)temp_path(link, path, "below");
    assert_int_equal(hfi_path_stat(link, &kind, NULL, &err), HF_E_IO);
    assert_int_equal(err.os_code, ENOTDIR);
    assert_int_equal(hfi_path_free_space(dir, &bytes, &err), HF_OK);
    assert_true(bytes > 0);
    (void)temp_path(path, dir, "none");
    assert_int_equal(hfi_path_free_space(path, &bytes, &err), HF_E_IO);
}

static void test_path_join(void **state)
{
    (void)state;
    static const char *const cases[][3] = {{"a", "b", "a/b"},
                                           {"a/", "b", "a/b"},
                                           {"/", "b", "/b"},
                                           {"", "b", "b"}};
    for (size_t i = 0; i < 4; i++) {
        char *path = hfi_path_join(NULL, cases[i][0], cases[i][1]);
        assert_string_equal(path, cases[i][2]);
        hfi_free(NULL, path);
    }
}

/* ---- locks ------------------------------------------------------------- */

static int try_lock(const char *path)
{
    hfi_file f = HFI_FILE_CLOSED;
    hf_error err = {0};
    if (hfi_file_open(&f, path, HFI_OPEN_READ_WRITE, NULL) != HF_OK)
        return 100;
    hf_status s = hfi_file_lock(&f, path, &err);
    (void)hfi_file_close(&f, path, NULL);
    if (s == HF_E_BUSY && strstr(err.message, "locked by") == NULL)
        return 101;
    return (int)s;
}

static int expect_busy(const char *path)
{
    return try_lock(path) == HF_E_BUSY ? 0 : 1;
}

static void test_lock(void **state)
{
    (void)state;
    char path[TEMP_PATH];
    hfi_file f = HFI_FILE_CLOSED;
    hfi_file other = HFI_FILE_CLOSED;
    hf_error err;
    (void)temp_path(path, dir, "a");
    assert_int_equal(hfi_file_open(&f, path, HFI_OPEN_CREATE, &err), HF_OK);
    hf_status s = hfi_file_lock(&f, path, &err);
    if (s == HF_E_UNSUPPORTED)
        skip();
    assert_int_equal(s, HF_OK);
    assert_int_equal(hfi_file_lock(&f, path, &err), HF_OK);
    assert_in_child(expect_busy, path);
    assert_int_equal(try_lock(path), HF_E_BUSY); /* a second handle as well */
    /* Another descriptor that is closed does not take the lock along. */
    assert_int_equal(hfi_file_open(&other, path, HFI_OPEN_READ, &err), HF_OK);
    assert_int_equal(hfi_file_close(&other, path, &err), HF_OK);
    assert_in_child(expect_busy, path);
    /* Readers take no lock and are not hindered. */
    size_t got;
    char byte;
    assert_int_equal(hfi_file_open(&other, path, HFI_OPEN_READ, &err), HF_OK);
    assert_int_equal(hfi_file_read_some(&other, path, 0, &byte, 1, &got, &err),
                     HF_OK);
    assert_int_equal(hfi_file_close(&other, path, &err), HF_OK);
    assert_int_equal(hfi_file_close(&f, path, &err), HF_OK);
    assert_in_child(try_lock, path);
}

/* A lock of the classic kind has an owner, who is named. */
static void test_lock_owner(void **state)
{
    (void)state;
    char path[TEMP_PATH];
    char text[64];
    char byte = 0;
    int ready[2];
    int done[2];
    hfi_file f = HFI_FILE_CLOSED;
    hf_error err = {0};
    (void)temp_path(path, dir, "a");
    assert_int_equal(hfi_file_open(&f, path, HFI_OPEN_CREATE, NULL), HF_OK);
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(done), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        int fd = open(path, O_RDWR);
        byte = fcntl(fd, F_SETLK, &l) == 0 ? 'y' : 'n';
        (void)close(done[1]);
        (void)!write(ready[1], &byte, 1);
        (void)!read(done[0], &byte, 1); /* until the parent closed it */
        _exit(0);
    }
    (void)close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    hf_status s = byte == 'y' ? hfi_file_lock(&f, path, &err) : HF_OK;
    (void)close(done[1]);
    (void)close(done[0]);
    (void)close(ready[0]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(hfi_file_close(&f, path, NULL), HF_OK);
    if (byte != 'y' || s == HF_E_UNSUPPORTED)
        skip();
    assert_int_equal(s, HF_E_BUSY);
    (void)snprintf(text, sizeof text, "locked by process %ld", (long)pid);
    assert_non_null(strstr(err.message, text));
}

static int try_dir_lock(const char *path)
{
    hfi_file f = HFI_FILE_CLOSED;
    hf_status s = hfi_dir_lock(&f, path, 20, NULL);
    (void)hfi_file_close(&f, path, NULL);
    return (int)s;
}

static int expect_dir_busy(const char *path)
{
    return try_dir_lock(path) == HF_E_BUSY ? 0 : 1;
}

static void test_dir_lock(void **state)
{
    (void)state;
    char path[TEMP_PATH];
    hfi_file f = HFI_FILE_CLOSED;
    hf_error err;
    hf_status s = hfi_dir_lock(&f, dir, UINT64_MAX, &err);
    if (s == HF_E_UNSUPPORTED)
        skip();
    assert_int_equal(s, HF_OK);
    assert_true(f.fd > 2 && (fcntl(f.fd, F_GETFD) & FD_CLOEXEC) != 0);
    uint64_t start = hfi_now_ns();
    assert_in_child(expect_dir_busy, dir);
    assert_true(hfi_now_ns() - start >= 20000000u); /* it waited */
    assert_int_equal(try_dir_lock(dir), HF_E_BUSY);
    assert_int_equal(hfi_file_close(&f, dir, &err), HF_OK);
    assert_in_child(try_dir_lock, dir);
    assert_int_equal(temp_count(dir), 0); /* no file was made for it */
    (void)temp_path(path, dir, "none");
    assert_int_equal(hfi_dir_lock(&f, path, 0, &err), HF_E_IO);
}

/* ---- no memory --------------------------------------------------------- */

static hf_status do_replace(const hfi_env *env, const char *path, hf_error *err)
{
    return hfi_file_replace(env, path, "new", 3, err);
}

static hf_status do_load(const hfi_env *env, const char *path, hf_error *err)
{
    char *data;
    size_t bytes;
    (void)path;
    hf_status s = hfi_file_load(env, "/proc/self/status", 1 << 20, &data,
                                &bytes, err);
    if (s == HF_OK)
        hfi_free(env, data);
    return s;
}

static hf_status do_make(const hfi_env *env, const char *path, hf_error *err)
{
    char deep[TEMP_PATH];
    return hfi_dir_make(env, temp_path(deep, path, "p/q/r"), err);
}

static hf_status do_join(const hfi_env *env, const char *path, hf_error *err)
{
    char *joined = hfi_path_join(env, path, "name");
    hfi_free(env, joined);
    return joined != NULL ? HF_OK : hfi_error(err, HF_E_MEMORY, "none");
}

static void test_no_memory(void **state)
{
    (void)state;
    static const struct {
        hf_status (*run)(const hfi_env *env, const char *path, hf_error *err);
        const char *name;
    } ops[] = {
        {do_replace, "f"}, {do_load, "f"}, {do_make, "d"}, {do_join, "f"}};
    char path[TEMP_PATH];
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        struct test_env t;
        test_env_init(&t);
        temp_write(temp_path(path, dir, "f"), "old", 3);
        (void)temp_path(path, dir, ops[i].name);
        uint64_t n = 1;
        for (;; n++) {
            hf_error err = {0};
            alloc_fail_start(n);
            hf_status s = ops[i].run(&t.env, path, &err);
            if (!alloc_fail_end()) {
                assert_int_equal(s, HF_OK);
                break;
            }
            assert_int_equal(s, HF_E_MEMORY);
            assert_int_equal(t.live, 0);
            (void)temp_path(path, dir, "f");
            assert_holds(path, "old");
            (void)temp_path(path, dir, ops[i].name);
        }
        assert_in_range(n, 2, 100); /* something was failed */
        test_env_done(&t);
    }
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(test_open_modes),    CASE(test_odd_files),
        CASE(test_transfers),     CASE(test_offsets_out_of_range),
        CASE(test_write_errors),  CASE(test_low_descriptors),
        CASE(test_umask),         CASE(test_create_leaves_nothing),
        CASE(test_replace),       CASE(test_replace_relative),
        CASE(test_replace_fails), CASE(test_replace_impossible),
        CASE(test_load),          CASE(test_folders),
        CASE(test_path_stat),     CASE(test_path_join),
        CASE(test_lock),          CASE(test_lock_owner),
        CASE(test_dir_lock),      CASE(test_no_memory),
    };
    return cmocka_run_group_tests_name("base file", tests, NULL, NULL);
}

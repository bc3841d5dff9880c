/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Hides how identity keys are made and kept. Its main invariant: a key that
 * exists is never overwritten, and one is on disk before anything is made for
 * it.
 */
#include "identity.h"

#include "numbers.h"
#include "say.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>

enum { KEY_DIGITS = 128 };

/* By calls that libcrypto 1.1.1 has as well. */
static EVP_PKEY *generate(void)
{
    EVP_PKEY *key = NULL;
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_id(EVP_PKEY_ED25519, NULL);
    if (!ctx || EVP_PKEY_keygen_init(ctx) != 1 ||
        EVP_PKEY_keygen(ctx, &key) != 1)
        key = NULL;
    EVP_PKEY_CTX_free(ctx);
    return key;
}

bool key_new(struct key *out)
{
    size_t seed = sizeof out->seed, id = sizeof out->id;
    EVP_PKEY *key = generate();
    bool fine = key &&
                EVP_PKEY_get_raw_private_key(key, out->seed, &seed) == 1 &&
                EVP_PKEY_get_raw_public_key(key, out->id, &id) == 1 &&
                seed == sizeof out->seed && id == sizeof out->id;
    EVP_PKEY_free(key);
    if (!fine)
        say("failed to generate identity: libcrypto has no Ed25519 or no "
            "randomness");
    return fine;
}

void key_wipe(struct key *key)
{
    OPENSSL_cleanse(key, sizeof *key);
}

static bool public_of(uint8_t id[32], const uint8_t seed[32])
{
    size_t bytes = 32;
    EVP_PKEY *key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed,
                                                 32);
    bool fine = key && EVP_PKEY_get_raw_public_key(key, id, &bytes) == 1 &&
                bytes == 32;
    EVP_PKEY_free(key);
    return fine;
}

/* ---- the file ------------------------------------------------------------ */

static char *path_in(const char *dir)
{
    char *path = NULL;
    if (asprintf(&path, "%s/%s", dir, KEY_NAME) >= 0)
        return path;
    say("no memory for a path");
    return NULL;
}

/* Makes the folder and those above it. */
static bool make_folders(const char *dir)
{
    char *copy = strdup(dir);
    bool fine = copy != NULL;
    for (char *p = copy ? copy + 1 : NULL; fine && *p; p++) {
        if (*p != '/')
            continue;
        *p = '\0';
        fine = mkdir(copy, 0700) == 0 || errno == EEXIST;
        *p = '/';
    }
    fine = fine && (mkdir(copy, 0700) == 0 || errno == EEXIST);
    if (!fine)
        say("failed to save identity: mkdir error: %s: %s", dir,
            strerror(errno));
    free(copy);
    return fine;
}

static bool write_all(int fd, const char *data, size_t bytes)
{
    while (bytes > 0) {
        ssize_t n = write(fd, data, bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        data += n;
        bytes -= (size_t)n;
    }
    return true;
}

static bool write_key(const struct key *key, const char *path)
{
    char hex[KEY_DIGITS + 1];
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    hex_form(hex, key->seed, 32);
    hex_form(hex + 64, key->id, 32);
    /* The umask may have taken bits away. */
    bool fine = fchmod(fd, 0600) == 0 && write_all(fd, hex, KEY_DIGITS) &&
                fsync(fd) == 0;
    OPENSSL_cleanse(hex, sizeof hex);
    int os_code = errno;
    fine = close(fd) == 0 && fine;
    if (!fine)
        unlink(path); /* ours, and of no use */
    errno = os_code;
    return fine;
}

static void sync_folder(const char *dir)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    if (fsync(fd) != 0)
        errno = 0; /* file systems that cannot are none of our concern */
    close(fd);
}

bool key_save(const struct key *key, const char *dir)
{
    char *path = path_in(dir);
    bool fine = path != NULL && make_folders(dir);
    if (fine && !write_key(key, path)) {
        say("failed to save identity: %s: %s", path,
            errno == EEXIST ? "key file already exists" : strerror(errno));
        fine = false;
    }
    if (fine)
        sync_folder(dir);
    free(path);
    return fine;
}

/* At most `capacity` - 1 characters; -1 with errno if it cannot be read. */
static ssize_t read_text(char *out, size_t capacity, const char *path)
{
    size_t bytes = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t n = 0;
    while (bytes < capacity - 1) {
        n = read(fd, out + bytes, capacity - 1 - bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        bytes += (size_t)n;
    }
    int os_code = errno;
    close(fd);
    errno = os_code;
    out[bytes] = '\0';
    return n < 0 ? -1 : (ssize_t)bytes;
}

static enum key_end read_key(uint8_t id[32], const char *path)
{
    char hex[KEY_DIGITS + 2] = "";
    uint8_t both[64];
    size_t bytes = 0;
    ssize_t got = read_text(hex, sizeof hex, path);
    if (got < 0 && errno == ENOENT)
        return KEY_NONE;
    if (got < 0)
        say("failed to load key: could not read private key from %s: %s", path,
            strerror(errno));
    else if (!hex_read(both, sizeof both, &bytes, hex))
        say("failed to decode private key from %s: it is not %d hex digits",
            path, KEY_DIGITS);
    else if (bytes != sizeof both)
        say("size of key (%zu) not expected size 64", bytes);
    else if (public_of(id, both))
        got = -2;
    else
        say("failed to load key: libcrypto has no Ed25519");
    OPENSSL_cleanse(both, sizeof both);
    OPENSSL_cleanse(hex, sizeof hex);
    return got == -2 ? KEY_FINE : KEY_BAD;
}

enum key_end key_load(uint8_t id[32], const char *dir)
{
    char *path = path_in(dir);
    enum key_end end = path ? read_key(id, path) : KEY_BAD;
    free(path);
    return end;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Hides how identity keys are made and kept. Its main invariant: a key that
 * exists is never overwritten, and one is on disk before anything is made for
 * it.
 */
#include "identity.h"

#include "parse.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>

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

hf_status identity_new(struct identity *out, hf_error *err)
{
    size_t seed = sizeof out->seed, id = sizeof out->id;
    EVP_PKEY *key = generate();
    bool fine = key &&
                EVP_PKEY_get_raw_private_key(key, out->seed, &seed) == 1 &&
                EVP_PKEY_get_raw_public_key(key, out->id, &id) == 1 &&
                seed == sizeof out->seed && id == sizeof out->id;
    EVP_PKEY_free(key);
    if (fine)
        return HF_OK;
    *err = (hf_error){.code = HF_E_INTERNAL,
                      .message = "cannot make an identity key",
                      .cause = "libcrypto has no Ed25519 or no randomness"};
    return err->code;
}

void identity_wipe(struct identity *key)
{
    OPENSSL_cleanse(key, sizeof *key);
}

static hf_status fail(hf_error *err, const char *what, const char *path)
{
    int os_code = errno;
    *err = (hf_error){.code = os_code == EEXIST ? HF_E_STATE : HF_E_IO,
                      .os_code = os_code};
    snprintf(err->message, sizeof err->message, "%s %.180s", what, path);
    snprintf(err->cause, sizeof err->cause, "%s", strerror(os_code));
    return err->code;
}

static char *path_in(const char *dir)
{
    struct text t = {0};
    text_addf(&t, "%s/identity.key", dir);
    if (t.failed) {
        text_free(&t);
        return NULL;
    }
    return t.data;
}

/* Makes the folder and those above it. */
static bool make_folders(const char *dir)
{
    char *copy = strdup(dir);
    if (copy == NULL)
        return false;
    bool fine = true;
    for (char *p = copy + 1; fine && *p; p++) {
        if (*p != '/')
            continue;
        *p = '\0';
        fine = mkdir(copy, 0700) == 0 || errno == EEXIST;
        *p = '/';
    }
    fine = fine && (mkdir(copy, 0700) == 0 || errno == EEXIST);
    int os_code = errno;
    free(copy);
    errno = os_code;
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

static void sync_folder(const char *dir)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    if (fsync(fd) != 0)
        errno = 0; /* file systems that cannot are none of our concern */
    close(fd);
}

static hf_status write_key(const struct identity *key, const char *path,
                           hf_error *err)
{
    char hex[129];
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return fail(err, "cannot make", path);
    form_hex(hex, key->seed, 32);
    form_hex(hex + 64, key->id, 32);
    /* The umask may have taken bits away. */
    bool fine = fchmod(fd, 0600) == 0 && write_all(fd, hex, 128) &&
                fsync(fd) == 0;
    OPENSSL_cleanse(hex, sizeof hex);
    int os_code = errno;
    fine = close(fd) == 0 && fine;
    if (fine)
        return HF_OK;
    unlink(path); /* ours, and of no use */
    errno = os_code;
    return fail(err, "cannot write", path);
}

hf_status identity_save(const struct identity *key, const char *dir,
                        hf_error *err)
{
    char *path = path_in(dir);
    hf_status s = HF_E_MEMORY;
    if (path == NULL)
        *err = (hf_error){.code = s, .message = "no memory for a path"};
    else if (!make_folders(dir))
        s = fail(err, "cannot make the folder", dir);
    else
        s = write_key(key, path, err);
    if (s == HF_OK)
        sync_folder(dir);
    free(path);
    return s;
}

bool identity_read(unsigned char id[32], const char *dir)
{
    char hex[130] = "";
    unsigned char both[64];
    size_t bytes = 0;
    char *path = path_in(dir);
    FILE *f = path ? fopen(path, "re") : NULL;
    size_t got = f ? fread(hex, 1, 129, f) : 0;
    bool fine = got >= 128 && (got == 128 || hex[128] == '\n');
    hex[128] = '\0';
    fine = fine && parse_hex(both, &bytes, hex) && bytes == 64;
    if (fine)
        memcpy(id, both + 32, 32);
    if (f)
        fclose(f);
    free(path);
    OPENSSL_cleanse(both, sizeof both);
    OPENSSL_cleanse(hex, sizeof hex);
    return fine;
}

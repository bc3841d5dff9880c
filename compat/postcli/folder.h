/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What lies in a POST folder, and the only code that deletes any of it. */
#ifndef POSTCLI_FOLDER_H
#define POSTCLI_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LABEL_BYTES  16u
#define META_NAME    "postdata_metadata.json"
#define SIDECAR_NAME "holdfast.json"

struct found {
    uint32_t number; /* of postdata_<number>.bin */
    bool link;
    uint64_t bytes;
};

struct folder {
    const char *dir;
    bool exists;
    struct found *file; /* by number */
    size_t count;
    size_t capacity;
    uint64_t bytes;  /* in data files */
    uint64_t labels; /* whole ones */
    uint64_t meta_bytes;
    uint64_t sidecar_bytes;
    bool has_meta;
    bool has_sidecar;
};

/* Regular files and links to such; a folder that is not there is empty. False
 * with a message said. */
bool folder_scan(struct folder *out, const char *dir);
void folder_free(struct folder *f);

/* The data file of that number, or NULL. */
const struct found *folder_file(const struct folder *f, uint64_t number);

/* Says names and bytes of all that folder_delete() deletes. */
void folder_tell(const struct folder *f);

/*
 * Deletes data files, sidecar and metadata, in an order in which a stop leaves
 * a folder that can be read. A file that changed since the scan is an error.
 * False with a message said.
 */
bool folder_delete(const struct folder *f);

#endif

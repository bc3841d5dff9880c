/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* identity.key: seed and public key of Ed25519, 128 hex digits. */
#ifndef POSTCLI_IDENTITY_H
#define POSTCLI_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

#define KEY_NAME "identity.key"

struct key {
    uint8_t seed[32];
    uint8_t id[32]; /* the public key */
};

enum key_end { KEY_FINE, KEY_NONE, KEY_BAD };

/* All but KEY_FINE and KEY_NONE, and all failures, with a message said. */
bool key_new(struct key *out);
void key_wipe(struct key *key);
/* Makes the folder; a key that exists is never overwritten. */
bool key_save(const struct key *key, const char *dir);
/* The public key, computed from the seed. */
enum key_end key_load(uint8_t id[32], const char *dir);

#endif

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A new identity: an Ed25519 key in DIR/identity.key, as the present tools
 * keep it: seed and public key as 128 hex digits, no line end. */
#ifndef CLI_IDENTITY_H
#define CLI_IDENTITY_H

#include <holdfast/base.h>

#include <stdbool.h>

struct identity {
    unsigned char seed[32];
    unsigned char id[32]; /* the public key */
};

hf_status identity_new(struct identity *out, hf_error *err);
void identity_wipe(struct identity *key);
/* Makes DIR if need be and writes the key, mode 0600; HF_E_STATE if there is a
 * key already, whatever it holds. */
hf_status identity_save(const struct identity *key, const char *dir,
                        hf_error *err);
/* Public key of DIR/identity.key; false if there is none that can be read. */
bool identity_read(unsigned char id[32], const char *dir);

#endif

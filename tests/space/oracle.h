/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The prover's rule again, written down as plainly as it can be: one label, one
 * nonce at a time, with an AES of its own. What the library gives has to agree.
 */
#ifndef TESTS_SPACE_ORACLE_H
#define TESTS_SPACE_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether a label is good for a nonce whose work is `pow`. */
bool oracle_good(const uint8_t label[16], const uint8_t challenge[32],
                 uint32_t nonce, uint64_t pow, uint64_t difficulty);

/*
 * The lowest k2 good labels for a nonce, fewer if there are not so many;
 * returns how many.
 */
size_t oracle_list(const uint8_t *labels, size_t count,
                   const uint8_t challenge[32], uint32_t nonce, uint64_t pow,
                   uint32_t k1, uint32_t k2, uint64_t *indices);

/*
 * The lowest nonce below `nonces` with k2 good labels, all works being `pow`,
 * and its lowest k2 labels; false if there is none.
 */
bool oracle_prove(const uint8_t *labels, size_t count,
                  const uint8_t challenge[32], uint32_t nonces, uint32_t k1,
                  uint32_t k2, uint64_t pow, uint32_t *nonce,
                  uint64_t *indices);

#endif

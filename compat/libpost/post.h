/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * post.h: the C interface of libpost 0.8.5, as holdfast offers it: the same
 * names, values, layouts and results. Where the present library ends its
 * process these functions return the nearest code; compat/QUIRKS.md lists each
 * difference. What goes beyond that interface is in holdfast_post.h.
 *
 * Any function may be called from any thread; 64 KiB of stack are enough. One
 * Initializer or Verifier may be used by several threads at once. Freeing NULL,
 * or what is freed already, does nothing.
 */
#ifndef POST_H
#define POST_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- constants ------------------------------------------------------------ */

#define CPU_PROVIDER_ID UINT32_MAX

typedef enum DeviceClass {
    DeviceClass_CPU = 1,
    DeviceClass_GPU = 2
} DeviceClass;

typedef enum InitializeResult {
    InitializeResult_Ok = 0,
    InitializeResult_OkNonceNotFound = 1, /* computed; no nonce to report */
    InitializeResult_InvalidLabelsRange = 2,
    InitializeResult_Error = 3,
    InitializeResult_InvalidArgument = 4,
    InitializeResult_FailedToGetProviders = 5
} InitializeResult;

typedef enum NewVerifierResult {
    NewVerifierResult_Ok = 0,
    NewVerifierResult_InvalidArgument = 1,
    NewVerifierResult_Failed = 2
} NewVerifierResult;

enum Level {
    Level_Error = 1,
    Level_Warn = 2,
    Level_Info = 3,
    Level_Debug = 4,
    Level_Trace = 5
};
typedef uintptr_t Level;

/* Only FULL_MEM and LARGE_PAGES have an effect: the rest is what the CPU
 * allows. Unknown bits are ignored. */
typedef uint32_t RandomXFlag;
#define RandomXFlag_FLAG_DEFAULT      ((uint32_t)0)
#define RandomXFlag_FLAG_LARGE_PAGES  ((uint32_t)1)
#define RandomXFlag_FLAG_HARD_AES     ((uint32_t)2)
#define RandomXFlag_FLAG_FULL_MEM     ((uint32_t)4)
#define RandomXFlag_FLAG_JIT          ((uint32_t)8)
#define RandomXFlag_FLAG_SECURE       ((uint32_t)16)
#define RandomXFlag_FLAG_ARGON2_SSSE3 ((uint32_t)32)
#define RandomXFlag_FLAG_ARGON2_AVX2  ((uint32_t)64)
#define RandomXFlag_FLAG_ARGON2       ((uint32_t)96)

/* ---- structs -------------------------------------------------------------- */

typedef struct Initializer Initializer;
typedef struct Verifier Verifier;

typedef struct Provider {
    char name[64]; /* terminated */
    uint32_t id;
    enum DeviceClass class_;
} Provider;

typedef struct ScryptParams {
    uintptr_t n;
    uintptr_t r;
    uintptr_t p;
} ScryptParams;

typedef struct ArrayU8 {
    uint8_t *ptr;
    uintptr_t len;
    uintptr_t cap;
} ArrayU8;

typedef struct Proof {
    uint32_t nonce;
    struct ArrayU8 indices;
    uint64_t pow;
} Proof;

typedef struct ProofConfig {
    uint32_t k1;
    uint32_t k2;
    uint8_t pow_difficulty[32];
} ProofConfig;

typedef struct InitConfig {
    uint32_t min_num_units;
    uint32_t max_num_units;
    uint64_t labels_per_unit;
    struct ScryptParams scrypt;
} InitConfig;

typedef struct ProofMetadata {
    uint8_t node_id[32];
    uint8_t commitment_atx_id[32];
    uint8_t challenge[32];
    uint32_t num_units;
} ProofMetadata;

typedef enum VerifyPosResult_Tag {
    VerifyPosResult_Ok = 0,
    VerifyPosResult_Invalid = 1,
    VerifyPosResult_InvalidArgument = 2,
    VerifyPosResult_Failed = 3
} VerifyPosResult_Tag;

typedef struct VerifyPosResult_Invalid_Body {
    uintptr_t file;
    uint64_t offset; /* bytes */
} VerifyPosResult_Invalid_Body;

typedef struct VerifyPosResult {
    VerifyPosResult_Tag tag;
    union {
        VerifyPosResult_Invalid_Body invalid;
    };
} VerifyPosResult;

typedef enum VerifyResult_Tag {
    VerifyResult_Ok = 0,
    VerifyResult_Invalid = 1,
    VerifyResult_InvalidIndex = 2,
    VerifyResult_InvalidArgument = 3
} VerifyResult_Tag;

typedef struct VerifyResult_InvalidIndex_Body {
    uintptr_t index_id; /* position in the list */
} VerifyResult_InvalidIndex_Body;

typedef struct VerifyResult {
    VerifyResult_Tag tag;
    union {
        VerifyResult_InvalidIndex_Body invalid_index;
    };
} VerifyResult;

typedef struct StringView {
    const char *ptr; /* not terminated */
    uintptr_t len;
} StringView;

typedef struct ExternCRecord {
    Level level;
    struct StringView message;
    struct StringView module_path;
    struct StringView file;
    int64_t line;
} ExternCRecord;

/* ---- functions ------------------------------------------------------------ */

/* Static. Begins with 0.8.5 and contains 0.7.13. */
const char *version(void);

/*
 * The callback is called from any thread, several at once, and must not call
 * this library; strings last for the call only. 0 the first time; 1 without
 * effect later, or if an argument is wrong. Without a callback nothing is told.
 */
int32_t set_logging_callback(Level level,
                             void (*callback)(const struct ExternCRecord *));

/* GPUs, then the CPU with id CPU_PROVIDER_ID. */
uintptr_t get_providers_count(void);
enum InitializeResult get_providers(struct Provider *out, uintptr_t out_len);

/* NULL if there is no such provider or n is no power of two from 2 on.
 * commitment: 32 bytes; vrf_difficulty: 32 bytes or NULL. */
Initializer *new_initializer(uint32_t provider_id, uintptr_t n,
                             const uint8_t *commitment,
                             const uint8_t *vrf_difficulty);
/* Labels start to end, both included, 16 bytes each. out_nonce may be NULL. */
enum InitializeResult initialize(Initializer *initializer, uint64_t start,
                                 uint64_t end, uint8_t *out_buffer,
                                 uint64_t *out_nonce);
void free_initializer(Initializer *initializer);

/* Blocks; NULL on failure. challenge: 32 bytes; nonces: a multiple of 16 up to
 * 4096; threads: 0 for all. */
Proof *generate_proof(const char *datadir, const unsigned char *challenge,
                      struct ProofConfig cfg, uintptr_t nonces,
                      uintptr_t threads, RandomXFlag pow_flags);
void free_proof(Proof *proof);

RandomXFlag recommended_pow_flags(void);

/* A sample, `fraction` in percent, of the labels of each file. NULL: from the
 * first, to the last. The failure reported is the lowest. */
VerifyPosResult verify_pos(const char *datadir, const uint32_t *from_file,
                           const uint32_t *to_file, double fraction,
                           struct ScryptParams scrypt);

enum NewVerifierResult new_verifier(RandomXFlag flags, Verifier **out);
void free_verifier(Verifier *verifier);

VerifyResult verify_proof(const Verifier *verifier, struct Proof proof,
                          const struct ProofMetadata *metadata,
                          struct ProofConfig cfg, struct InitConfig init_cfg);
VerifyResult verify_proof_index(const Verifier *verifier, struct Proof proof,
                                const struct ProofMetadata *metadata,
                                struct ProofConfig cfg,
                                struct InitConfig init_cfg, uintptr_t index);
VerifyResult verify_proof_subset(const Verifier *verifier, struct Proof proof,
                                 const struct ProofMetadata *metadata,
                                 struct ProofConfig cfg,
                                 struct InitConfig init_cfg, uintptr_t k3,
                                 const uint8_t *seed, uintptr_t seed_len);

#ifdef __cplusplus
}
#endif

#endif

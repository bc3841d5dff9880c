/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A host of the foreign interface that knows nothing but its header: sizes,
 * offsets and values are those of the reference, and every function is there
 * with its type.
 */
#include "post.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define SIZE(type, bytes)                                                      \
    _Static_assert(sizeof(type) == (bytes), "size of " #type)
#define AT(type, member, offset)                                               \
    _Static_assert(offsetof(type, member) == (offset), #type "." #member)
#define IS(name, value) _Static_assert((name) == (value), #name)

IS(CPU_PROVIDER_ID, UINT32_MAX);
IS(DeviceClass_CPU, 1);
IS(DeviceClass_GPU, 2);
IS(InitializeResult_Ok, 0);
IS(InitializeResult_OkNonceNotFound, 1);
IS(InitializeResult_InvalidLabelsRange, 2);
IS(InitializeResult_Error, 3);
IS(InitializeResult_InvalidArgument, 4);
IS(InitializeResult_FailedToGetProviders, 5);
IS(Level_Error, 1);
IS(Level_Warn, 2);
IS(Level_Info, 3);
IS(Level_Debug, 4);
IS(Level_Trace, 5);
IS(NewVerifierResult_Ok, 0);
IS(NewVerifierResult_InvalidArgument, 1);
IS(NewVerifierResult_Failed, 2);
IS(VerifyPosResult_Ok, 0);
IS(VerifyPosResult_Invalid, 1);
IS(VerifyPosResult_InvalidArgument, 2);
IS(VerifyPosResult_Failed, 3);
IS(VerifyResult_Ok, 0);
IS(VerifyResult_Invalid, 1);
IS(VerifyResult_InvalidIndex, 2);
IS(VerifyResult_InvalidArgument, 3);
IS(RandomXFlag_FLAG_DEFAULT, 0);
IS(RandomXFlag_FLAG_LARGE_PAGES, 1);
IS(RandomXFlag_FLAG_HARD_AES, 2);
IS(RandomXFlag_FLAG_FULL_MEM, 4);
IS(RandomXFlag_FLAG_JIT, 8);
IS(RandomXFlag_FLAG_SECURE, 16);
IS(RandomXFlag_FLAG_ARGON2_SSSE3, 32);
IS(RandomXFlag_FLAG_ARGON2_AVX2, 64);
IS(RandomXFlag_FLAG_ARGON2, 96);
SIZE(RandomXFlag_FLAG_JIT, 4);

SIZE(Level, 8);
SIZE(RandomXFlag, 4);
SIZE(enum DeviceClass, 4);
SIZE(enum InitializeResult, 4);
SIZE(enum NewVerifierResult, 4);
SIZE(VerifyPosResult_Tag, 4);
SIZE(VerifyResult_Tag, 4);

SIZE(Provider, 72);
AT(Provider, name, 0);
AT(Provider, id, 64);
AT(Provider, class_, 68);
SIZE(ScryptParams, 24);
AT(ScryptParams, n, 0);
AT(ScryptParams, r, 8);
AT(ScryptParams, p, 16);
SIZE(ArrayU8, 24);
AT(ArrayU8, ptr, 0);
AT(ArrayU8, len, 8);
AT(ArrayU8, cap, 16);
SIZE(Proof, 40);
AT(Proof, nonce, 0);
AT(Proof, indices, 8);
AT(Proof, pow, 32);
SIZE(ProofConfig, 40);
AT(ProofConfig, k1, 0);
AT(ProofConfig, k2, 4);
AT(ProofConfig, pow_difficulty, 8);
SIZE(InitConfig, 40);
AT(InitConfig, min_num_units, 0);
AT(InitConfig, max_num_units, 4);
AT(InitConfig, labels_per_unit, 8);
AT(InitConfig, scrypt, 16);
SIZE(ProofMetadata, 100);
AT(ProofMetadata, node_id, 0);
AT(ProofMetadata, commitment_atx_id, 32);
AT(ProofMetadata, challenge, 64);
AT(ProofMetadata, num_units, 96);
SIZE(VerifyResult, 16);
AT(VerifyResult, tag, 0);
AT(VerifyResult, invalid_index.index_id, 8);
SIZE(VerifyResult_InvalidIndex_Body, 8);
SIZE(VerifyPosResult, 24);
AT(VerifyPosResult, tag, 0);
AT(VerifyPosResult, invalid.file, 8);
AT(VerifyPosResult, invalid.offset, 16);
SIZE(VerifyPosResult_Invalid_Body, 16);
SIZE(StringView, 16);
AT(StringView, ptr, 0);
AT(StringView, len, 8);
SIZE(ExternCRecord, 64);
AT(ExternCRecord, level, 0);
AT(ExternCRecord, message, 8);
AT(ExternCRecord, module_path, 24);
AT(ExternCRecord, file, 40);
AT(ExternCRecord, line, 56);

/* Each function with the reference's type, or this does not compile. */
static const struct {
    const char *(*version)(void);
    int32_t (*set_logging_callback)(Level, void (*)(const ExternCRecord *));
    uintptr_t (*get_providers_count)(void);
    enum InitializeResult (*get_providers)(Provider *, uintptr_t);
    Initializer *(*new_initializer)(uint32_t, uintptr_t, const uint8_t *,
                                    const uint8_t *);
    enum InitializeResult (*initialize)(Initializer *, uint64_t, uint64_t,
                                        uint8_t *, uint64_t *);
    void (*free_initializer)(Initializer *);
    VerifyPosResult (*verify_pos)(const char *, const uint32_t *,
                                  const uint32_t *, double, ScryptParams);
    Proof *(*generate_proof)(const char *, const unsigned char *, ProofConfig,
                             uintptr_t, uintptr_t, RandomXFlag);
    void (*free_proof)(Proof *);
    RandomXFlag (*recommended_pow_flags)(void);
    enum NewVerifierResult (*new_verifier)(RandomXFlag, Verifier **);
    void (*free_verifier)(Verifier *);
    VerifyResult (*verify_proof)(const Verifier *, Proof, const ProofMetadata *,
                                 ProofConfig, InitConfig);
    VerifyResult (*verify_proof_index)(const Verifier *, Proof,
                                       const ProofMetadata *, ProofConfig,
                                       InitConfig, uintptr_t);
    VerifyResult (*verify_proof_subset)(const Verifier *, Proof,
                                        const ProofMetadata *, ProofConfig,
                                        InitConfig, uintptr_t, const uint8_t *,
                                        uintptr_t);
} all = {version,
         set_logging_callback,
         get_providers_count,
         get_providers,
         new_initializer,
         initialize,
         free_initializer,
         verify_pos,
         generate_proof,
         free_proof,
         recommended_pow_flags,
         new_verifier,
         free_verifier,
         verify_proof,
         verify_proof_index,
         verify_proof_subset};

/* The union's names, as the Go wrapper spells them. */
static uint64_t members(void)
{
    VerifyPosResult pos = {.tag = VerifyPosResult_Invalid};
    VerifyResult one = {.tag = VerifyResult_InvalidIndex};
    pos.invalid.offset = 3;
    one.invalid_index.index_id = 4;
    return pos.invalid.offset + one.invalid_index.index_id;
}

int main(void)
{
    const char *v = all.version();
    if (strncmp(v, "0.8.5", 5) != 0 || strstr(v, "0.7.13") == NULL) {
        fprintf(stderr, "version is %s\n", v);
        return 1;
    }
    if (all.get_providers_count() < 1 || members() != 7)
        return 1;
    return 0;
}

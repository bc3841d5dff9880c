/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A host of libpost in C that knows nothing but post.h, so that it runs with
 * any libpost: providers, one initializer held over all files of a set, the
 * check of what is stored, a proof, and its verification by several threads.
 *
 *     post_host FOLDER NODE_ID COMMITMENT_ATX_ID COMMITMENT
 *
 * The ids and the commitment are hex of 32 bytes. The set has 4 files of 128
 * labels with N = 2, which are 2 units.
 */
#include <post.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILES = 4, FILE_LABELS = 128, LABEL = 16, UNITS = 2, THREADS = 4 };

static const ScryptParams scrypt = {2, 1, 1};

static void want(bool right, const char *what)
{
    if (right)
        return;
    fprintf(stderr, "post_host: %s\n", what);
    exit(1);
}

/* On any thread; the strings last for the call only. */
static void log_line(const ExternCRecord *record)
{
    fprintf(stderr, "libpost: %.*s\n", (int)record->message.len,
            record->message.ptr);
}

static void read_hex(uint8_t out[32], const char *text)
{
    want(strlen(text) == 64, "hex of 32 bytes is wanted");
    for (int i = 0; i < 32; i++) {
        char byte[3] = {text[2 * i], text[2 * i + 1], '\0'}, *end;
        out[i] = (uint8_t)strtoul(byte, &end, 16);
        want(*end == '\0', "an id is no hex");
    }
}

static void list_providers(void)
{
    uintptr_t count = get_providers_count();
    Provider *all = calloc(count, sizeof *all);
    want(all != NULL, "no memory");
    want(get_providers(all, count) == InitializeResult_Ok, "no providers");
    for (uintptr_t i = 0; i < count; i++)
        printf("provider %u: %s\n", all[i].id, all[i].name);
    want(all[count - 1].id == CPU_PROVIDER_ID &&
             all[count - 1].class_ == DeviceClass_CPU,
         "the CPU is not the last provider");
    free(all);
}

/* The labels of file `number` are made again and compared. */
static void compare_file(Initializer *maker, const char *folder,
                         uint64_t number)
{
    uint8_t made[FILE_LABELS * LABEL], stored[FILE_LABELS * LABEL];
    char path[4096];
    uint64_t first = number * FILE_LABELS;
    snprintf(path, sizeof path, "%s/postdata_%u.bin", folder, (unsigned)number);
    FILE *file = fopen(path, "rb");
    want(file != NULL, "a file is missing");
    want(fread(stored, 1, sizeof stored, file) == sizeof stored,
         "a file is short");
    fclose(file);
    want(initialize(maker, first, first + FILE_LABELS - 1, made, NULL) ==
             InitializeResult_Ok,
         "initialize failed");
    want(memcmp(made, stored, sizeof made) == 0, "labels differ");
}

static void compare_labels(const char *folder, const uint8_t commitment[32])
{
    Initializer *maker = new_initializer(CPU_PROVIDER_ID, scrypt.n, commitment,
                                         NULL);
    want(maker != NULL, "no initializer");
    for (uint64_t i = 0; i < FILES; i++)
        compare_file(maker, folder, i);
    free_initializer(maker);
}

/* ---- a proof ------------------------------------------------------------- */

struct judged {
    const Verifier *verifier;
    const Proof *proof;
    const ProofMetadata *metadata;
    ProofConfig cfg;
    VerifyResult result;
};

static void *judge(void *of)
{
    const InitConfig init = {1, 4, FILES * FILE_LABELS / UNITS, scrypt};
    struct judged *j = of;
    j->result = verify_proof(j->verifier, *j->proof, j->metadata, j->cfg, init);
    return NULL;
}

/* Several threads ask one verifier at the same time. */
static void judge_at_once(const struct judged *what, VerifyResult_Tag tag)
{
    pthread_t threads[THREADS];
    struct judged each[THREADS];
    for (int i = 0; i < THREADS; i++) {
        each[i] = *what;
        want(pthread_create(&threads[i], NULL, judge, &each[i]) == 0,
             "no thread");
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        want(each[i].result.tag == tag, "another verdict");
        want(tag != VerifyResult_InvalidIndex ||
                 each[i].result.invalid_index.index_id == 0,
             "another index");
    }
}

static void prove(const char *folder, ProofMetadata *metadata)
{
    ProofConfig cfg = {.k1 = 20, .k2 = 20};
    Verifier *verifier = NULL;
    memset(cfg.pow_difficulty, 0xff, sizeof cfg.pow_difficulty);
    memcpy(metadata->challenge, "hello world, challenge me!!!!!!!", 32);
    Proof *proof = generate_proof(folder, metadata->challenge, cfg, 16, 0,
                                  recommended_pow_flags());
    want(proof != NULL, "no proof");
    want(new_verifier(recommended_pow_flags(), &verifier) ==
             NewVerifierResult_Ok,
         "no verifier");
    struct judged j = {verifier, proof, metadata, cfg, {0}};
    judge_at_once(&j, VerifyResult_Ok);
    proof->indices.ptr[0] ^= 255;
    judge_at_once(&j, VerifyResult_InvalidIndex);
    free_verifier(verifier);
    free_proof(proof);
}

int main(int argc, char **argv)
{
    ProofMetadata metadata = {.num_units = UNITS};
    uint8_t commitment[32];
    want(argc == 5, "FOLDER NODE_ID COMMITMENT_ATX_ID COMMITMENT are wanted");
    read_hex(metadata.node_id, argv[2]);
    read_hex(metadata.commitment_atx_id, argv[3]);
    read_hex(commitment, argv[4]);
    printf("libpost %s\n", version());
    want(set_logging_callback(Level_Warn, log_line) == 0, "no log");
    list_providers();
    compare_labels(argv[1], commitment);
    want(verify_pos(argv[1], NULL, NULL, 100, scrypt).tag == VerifyPosResult_Ok,
         "the stored labels are not good");
    prove(argv[1], &metadata);
    puts("all is as it should be");
    return 0;
}

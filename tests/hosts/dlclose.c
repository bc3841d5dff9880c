/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A host that loads the library at run time and lets go of it while work runs:
 * the code must stay where it is, and everything go on as before.
 */
#include <holdfast/context.h>
#include <holdfast/space.h>

#include <dlfcn.h>
#include <stdio.h>
#include <time.h>

static void *library;

/* A function of the library; C has no other way to make it of a pointer. */
#define FUNCTION(name)                                                         \
    __typeof__(&name) name##_;                                                 \
    *(void **)(void *)&name##_ = dlsym(library, #name)

#define CHECK(condition)                                                       \
    do {                                                                       \
        if (!(condition)) {                                                    \
            fprintf(stderr, "dlclose.c:%d: %s\n", __LINE__, #condition);       \
            return 1;                                                          \
        }                                                                      \
    } while (0)

static void pause_ms(long ms)
{
    struct timespec t = {0, ms * 1000000};
    nanosleep(&t, NULL);
}

static int work(const char *path, int close_early)
{
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        fprintf(stderr, "%s\n", dlerror());
    CHECK(library != NULL);
    FUNCTION(hf_context_open);
    FUNCTION(hf_context_close);
    FUNCTION(hf_space_labels_start);
    FUNCTION(hf_job_progress);
    FUNCTION(hf_job_wait);
    FUNCTION(hf_job_free);
    CHECK(hf_context_open_ != NULL && hf_space_labels_start_ != NULL);

    hf_context *ctx = NULL;
    hf_job *job = NULL;
    const uint8_t commitment[32] = {7};
    CHECK(hf_context_open_(&ctx, NULL, NULL) == HF_OK);
    CHECK(hf_space_labels_start_(ctx, &job, commitment, 0, 100000, NULL,
                                 NULL) == HF_OK);
    if (close_early)
        CHECK(dlclose(library) == 0);
    pause_ms(200); /* threads run in the library meanwhile */
    hf_progress p = {.size = sizeof p};
    CHECK(hf_job_progress_(job, &p) == HF_OK);
    CHECK(!p.finished);
    CHECK(hf_job_wait_(job, 1, NULL) == HF_E_BUSY);
    hf_context_close_(ctx);
    CHECK(hf_job_wait_(job, 0, NULL) == HF_E_CANCELLED);
    hf_job_free_(job);
    if (!close_early)
        CHECK(dlclose(library) == 0);
    return 0;
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    for (int i = 0; i < 4; i++)
        if (work(argv[1], i % 2) != 0)
            return 1;
    return 0;
}

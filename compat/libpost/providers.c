/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Providers as the foreign interface numbers them: GPUs 0, 1, ... in the order
 * of the library, without those that the host has blacklisted; the CPU is
 * CPU_PROVIDER_ID.
 */
#include "post_internal.h"

#include <regex.h>
#include <stdio.h>
#include <string.h>

static const char cpu_name[] = "[CPU] scrypt-jane";

/* Patterns of the environment; a pattern that is none leaves nothing out. */
typedef struct blacklist {
    bool used;
    regex_t pattern;
} blacklist;

static void blacklist_init(blacklist *b, const char *variable)
{
    const char *text = getenv(variable);
    b->used = text != NULL && *text != '\0' &&
              regcomp(&b->pattern, text, REG_EXTENDED | REG_NOSUB) == 0;
}

static bool blacklisted(const blacklist *b, const char *name)
{
    return b->used && regexec(&b->pattern, name, 0, NULL, 0) == 0;
}

static void blacklist_wipe(blacklist *b)
{
    if (b->used)
        regfree(&b->pattern);
}

typedef bool (*visit)(void *user, const hf_provider *p, uint32_t id);

/* Calls `each` for every provider until it says false. */
static hf_status walk(visit each, void *user, hf_error *err)
{
    hf_context *ctx = hfp_context(err);
    if (ctx == NULL)
        return err != NULL ? err->code : HF_E_MEMORY;
    blacklist platforms, devices;
    blacklist_init(&platforms, "POST_OCL_PLATFORMS_BLACKLIST");
    blacklist_init(&devices, "POST_OCL_DEVICES_BLACKLIST");
    hf_status s = HF_OK;
    uint32_t count = hf_context_provider_count(ctx), gpus = 0;
    bool more = true;
    for (uint32_t i = 0; s == HF_OK && more && i < count; i++) {
        hf_provider p = {.size = sizeof p};
        s = hf_context_provider_get(ctx, i, &p, err);
        if (s != HF_OK)
            break;
        bool gpu = strcmp(p.kind, "gpu") == 0;
        if (gpu && (blacklisted(&platforms, p.platform) ||
                    blacklisted(&devices, p.device)))
            continue;
        more = each(user, &p, gpu ? gpus++ : CPU_PROVIDER_ID);
    }
    blacklist_wipe(&platforms);
    blacklist_wipe(&devices);
    return s;
}

static bool count_one(void *user, const hf_provider *p, uint32_t id)
{
    (void)p;
    (void)id;
    ++*(uintptr_t *)user;
    return true;
}

uintptr_t get_providers_count(void)
{
    hf_error err = {0};
    uintptr_t count = 0;
    if (walk(count_one, &count, &err) != HF_OK) {
        hfp_report("get_providers_count", &err);
        return 1; /* the CPU is always there */
    }
    return count;
}

typedef struct listing {
    Provider *out;
    uintptr_t room;
} listing;

static bool list_one(void *user, const hf_provider *p, uint32_t id)
{
    listing *l = user;
    Provider one = {.id = id, .class_ = DeviceClass_GPU};
    if (l->room == 0)
        return false;
    if (id == CPU_PROVIDER_ID) {
        one.class_ = DeviceClass_CPU;
        memcpy(one.name, cpu_name, sizeof cpu_name);
    } else {
        (void)snprintf(one.name, sizeof one.name, "%.63s", p->name);
    }
    *l->out++ = one;
    l->room--;
    return true;
}

InitializeResult hf_post_get_providers_ex(Provider *out, uintptr_t out_len,
                                          hf_error *err)
{
    listing l = {out, out_len};
    hf_error own;
    if (err == NULL)
        err = &own;
    *err = (hf_error){0};
    if (out == NULL) {
        hfp_error(err, HF_E_ARGUMENT, "out is NULL");
        return InitializeResult_InvalidArgument;
    }
    return walk(list_one, &l, err) == HF_OK
               ? InitializeResult_Ok
               : InitializeResult_FailedToGetProviders;
}

enum InitializeResult get_providers(Provider *out, uintptr_t out_len)
{
    hf_error err;
    InitializeResult r = hf_post_get_providers_ex(out, out_len, &err);
    hfp_report("get_providers", &err);
    return r;
}

typedef struct search {
    uint32_t id;
    bool found;
    hf_provider *out;
    char known[160];
    size_t used;
} search;

static bool look_at(void *user, const hf_provider *p, uint32_t id)
{
    search *s = user;
    if (id == s->id) {
        s->found = true;
        *s->out = *p;
        return false;
    }
    int n = snprintf(s->known + s->used, sizeof s->known - s->used, "%s%u (%s)",
                     s->used > 0 ? ", " : "", id, p->name);
    if (n > 0 && (size_t)n < sizeof s->known - s->used)
        s->used += (size_t)n;
    return true;
}

hf_status hfp_provider_find(hf_provider *out, uint32_t id, hf_error *err)
{
    search s = {.id = id, .out = out};
    hf_status status = walk(look_at, &s, err);
    if (status == HF_OK && !s.found)
        status = hfp_error(err, HF_E_ARGUMENT,
                           "there is no provider %u: known are %s", id,
                           s.known);
    return status;
}

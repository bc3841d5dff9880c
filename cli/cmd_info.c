/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* `holdfast info`: what was found, what was chosen, and why. */
#include "commands.h"

#include <inttypes.h>
#include <string.h>

static void info_json(struct ui *ui, const hf_context_info *i)
{
    struct text t = {0};
    json_begin(&t, NULL);
    json_begin(&t, "done");
    json_text(&t, "version", hf_version());
    json_text(&t, "compiler", i->compiler);
    json_text(&t, "cpu_model", i->cpu_model);
    json_text(&t, "cpu_features", i->cpu_features);
    json_number(&t, "cpus_online", i->cpus_online);
    json_number(&t, "cpus_affinity", i->cpus_affinity);
    json_number(&t, "cpus_quota", i->cpus_quota);
    json_number(&t, "workers", i->workers);
    json_text(&t, "workers_from", i->workers_from);
    json_number(&t, "memory_total", i->memory_total);
    json_number(&t, "memory_available", i->memory_available);
    json_number(&t, "memory_limit", i->memory_limit);
    json_number(&t, "memory_budget", i->memory_budget);
    json_text(&t, "budget_from", i->budget_from);
    json_number(&t, "huge_pages_free", i->huge_pages_free);
    json_bool(&t, "transparent_huge", i->transparent_huge);
    json_text(&t, "label_kernel", i->label_kernel);
    json_text(&t, "check_kernel", i->check_kernel);
    json_text(&t, "aes_kernel", i->aes_kernel);
    json_text(&t, "randomx", i->randomx);
    json_text(&t, "provider", "cpu");
    json_end(&t);
    json_end(&t);
    ui_json(ui, &t);
}

/* A list of words, in lines of at most 60 columns. */
static void list_rows(struct ui *ui, const char *name, const char *words)
{
    enum { MOST = 60 };
    while (*words) {
        size_t length = strlen(words);
        if (length > MOST) {
            length = MOST;
            while (length > 1 && words[length] != ' ')
                length--;
        }
        ui_row(ui, name, "%.*s", (int)length, words);
        words += length;
        words += strspn(words, " ");
        name = "";
    }
}

static void info_machine(struct ui *ui, const hf_context_info *i)
{
    char a[FORM_BYTES], b[FORM_BYTES];
    ui_row(ui, "processor", "%s", i->cpu_model[0] ? i->cpu_model : "unknown");
    list_rows(ui, "features", i->cpu_features);
    if (i->cpus_quota)
        ui_row(ui, "cores",
               "%" PRIu32 " online, %" PRIu32 " open to this process, "
               "%" PRIu32 " by the cgroup's quota",
               i->cpus_online, i->cpus_affinity, i->cpus_quota);
    else
        ui_row(ui, "cores",
               "%" PRIu32 " online, %" PRIu32
               " open to this process, no cgroup quota",
               i->cpus_online, i->cpus_affinity);
    ui_row(ui, "workers", "%" PRIu32 " (from: %s)", i->workers,
           i->workers_from);
    ui_row(ui, "memory", "%s, %s available", form_size(a, i->memory_total),
           form_size(b, i->memory_available));
    if (i->memory_limit)
        ui_row(ui, "limit", "%s, of the cgroup", form_size(a, i->memory_limit));
    ui_row(ui, "budget", "%s (from: %s)", form_size(a, i->memory_budget),
           i->budget_from);
    ui_row(ui, "huge pages", "explicit: %s free, transparent: %s",
           i->huge_pages_free ? form_size(a, i->huge_pages_free) : "none",
           i->transparent_huge ? "yes" : "no");
}

static void provider_rows(struct ui *ui, hf_context *ctx)
{
    hf_provider p = {.size = sizeof p};
    hf_error ignored;
    uint32_t count = hf_context_provider_count(ctx);
    for (uint32_t i = 0; i < count; i++) {
        if (hf_context_provider_get(ctx, i, &p, &ignored) != HF_OK)
            continue;
        ui_row(ui, i == 0 ? "providers" : "", "%s%s%s%s", p.id,
               strcmp(p.kind, "cpu") == 0 ? "" : " (",
               strcmp(p.kind, "cpu") == 0 ? "" : p.name,
               strcmp(p.kind, "cpu") == 0 ? "" : ")");
    }
}

int cmd_info(struct ui *ui, const struct args *args)
{
    struct host host;
    hf_error err = {.code = HF_OK};
    hf_context_info info = {.size = sizeof info};
    hf_status s = host_open(&host, ui, args, &err);
    if (s == HF_OK && (s = hf_context_get_info(host.ctx, &info)) != HF_OK)
        complain(&err, s, "cannot ask the context");
    if (s != HF_OK) {
        int code = ui_error(ui, &err, NULL, NULL);
        host_close(&host);
        return code;
    }
    if (ui->json) {
        info_json(ui, &info);
    } else {
        ui->results = true;
        ui_say(ui, "holdfast %s", hf_version());
        ui_row(ui, "compiler", "%s", info.compiler);
        info_machine(ui, &info);
        ui_row(ui, "labels", "kernel %s, samples checked by %s",
               info.label_kernel, info.check_kernel);
        ui_row(ui, "proving", "AES kernel %s", info.aes_kernel);
        ui_row(ui, "RandomX", "%s", info.randomx);
        provider_rows(ui, host.ctx);
    }
    host_close(&host);
    return EXIT_FINE;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The benchmark program: one JSON object a line on standard output. See
 * PROTOCOL.md for what the lines mean.
 */
#include "bench.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    int (*run)(const struct bench_opts *opts);
} benches[] = {
    {"space.label", bench_space_label},   {"space.init", bench_space_init},
    {"space.prove", bench_space_prove},   {"space.verify", bench_space_verify},
    {"pow.hash", bench_pow_hash},         {"sched.gap", bench_sched_gap},
    {"sched.urgent", bench_sched_urgent},
};
enum { BENCHES = sizeof benches / sizeof benches[0] };

/* ---- lines --------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(const double *values, size_t count, double at)
{
    double sorted[BENCH_ROUNDS_MOST];
    memcpy(sorted, values, count * sizeof *values);
    qsort(sorted, count, sizeof *sorted, by_value);
    double where = at * (double)(count - 1);
    size_t low = (size_t)where;
    size_t high = low + 1 < count ? low + 1 : low;
    double part = where - (double)low;
    return sorted[low] * (1 - part) + sorted[high] * part;
}

double bench_median(const double *values, size_t count)
{
    return quantile(values, count, 0.5);
}

static void print_real(const char *key, double value)
{
    /* Four digits that count, never an exponent. */
    int digits = value >= 1000 ? 0 : value >= 100 ? 1 : value >= 10 ? 2 : 4;
    printf(",\"%s\":%.*f", key, digits, value);
}

void bench_emit_ratios(const struct bench_line *line, const double *values,
                       const double *ratios, size_t count)
{
    double median = bench_median(values, count);
    double quarter = quantile(values, count, 0.75) -
                     quantile(values, count, 0.25);
    printf("{\"name\":\"%s\",\"variant\":\"%s\",\"threads\":%u", line->name,
           line->variant, (unsigned)line->threads);
    print_real("value", median);
    printf(",\"unit\":\"%s\"", line->unit);
    if (line->against) {
        printf(",\"against\":\"%s\"", line->against);
        print_real("ratio", bench_median(ratios, count));
    }
    print_real("spread", median > 0 ? quarter / median : 0);
    printf(",\"rounds\":%zu}\n", count);
    fflush(stdout);
}

void bench_emit(const struct bench_line *line, const double *values,
                const double *rivals, size_t count)
{
    double ratios[BENCH_ROUNDS_MOST];
    for (size_t i = 0; i < count; i++)
        ratios[i] = rivals && rivals[i] > 0 ? values[i] / rivals[i] : 0;
    bench_emit_ratios(line, values, ratios, count);
}

int bench_fail(const char *name, const char *fmt, ...)
{
    va_list list;
    fprintf(stderr, "%s: ", name);
    va_start(list, fmt);
    vfprintf(stderr, fmt, list);
    va_end(list);
    fprintf(stderr, "\n");
    return 1;
}

/* ---- threads ------------------------------------------------------------- */

struct runner {
    pthread_t thread;
    pthread_barrier_t *begin;
    uint32_t index;
    uint32_t ms;
    uint64_t (*once)(void *user, uint32_t thread);
    void *user;
    double rate;
};

static void *run_thread(void *arg)
{
    struct runner *r = arg;
    pthread_barrier_wait(r->begin);
    uint64_t start = hfi_now_ns(), now = start, units = 0;
    while (now - start < (uint64_t)r->ms * 1000000) {
        units += r->once(r->user, r->index);
        now = hfi_now_ns();
    }
    r->rate = (double)units * 1e9 / (double)(now - start);
    return NULL;
}

double bench_rate(uint32_t threads, uint32_t ms,
                  uint64_t (*once)(void *user, uint32_t thread), void *user)
{
    pthread_barrier_t begin;
    struct runner *runners = calloc(threads, sizeof *runners);
    double rate = 0;
    if (runners == NULL || pthread_barrier_init(&begin, NULL, threads) != 0) {
        free(runners);
        return 0;
    }
    for (uint32_t i = 0; i < threads; i++) {
        runners[i] = (struct runner){
            .begin = &begin, .index = i, .ms = ms, .once = once, .user = user};
        if (pthread_create(&runners[i].thread, NULL, run_thread, &runners[i]) !=
            0)
            abort(); /* the others wait for it */
    }
    for (uint32_t i = 0; i < threads; i++) {
        pthread_join(runners[i].thread, NULL);
        rate += runners[i].rate;
    }
    pthread_barrier_destroy(&begin);
    free(runners);
    return rate;
}

/* ---- the command line ---------------------------------------------------- */

static int usage(FILE *to, int code)
{
    fprintf(to, "usage: holdfast-bench [OPTION...] [NAME...]\n\n"
                "Prints one JSON object a line; PROTOCOL.md says how to read "
                "them. Names:\n");
    for (size_t i = 0; i < BENCHES; i++)
        fprintf(to, "  %s\n", benches[i].name);
    fprintf(to,
            "\n  --rounds N    rounds of every line, %d to %d; default "
            "%d\n"
            "  --ms N        one measurement, milliseconds; default 150\n"
            "  --threads N   of the lines on all processors\n"
            "  --dir DIR     where data may be written; default TMPDIR, "
            "else /tmp\n"
            "  --json        the form it has anyway\n",
            BENCH_ROUNDS_LEAST, BENCH_ROUNDS_MOST, BENCH_ROUNDS_LEAST);
    return code;
}

static bool number(uint32_t *out, const char *text, uint32_t least,
                   uint32_t most)
{
    char *end;
    unsigned long n = text ? strtoul(text, &end, 10) : 0;
    if (text == NULL || *text == '\0' || *end != '\0' || n < least || n > most)
        return false;
    *out = (uint32_t)n;
    return true;
}

static bool chosen(int argc, char **argv, int first, const char *name)
{
    if (first >= argc)
        return true;
    for (int i = first; i < argc; i++) {
        if (strcmp(argv[i], name) == 0)
            return true;
    }
    return false;
}

static bool known(const char *name)
{
    for (size_t i = 0; i < BENCHES; i++) {
        if (strcmp(benches[i].name, name) == 0)
            return true;
    }
    return false;
}

int main(int argc, char **argv)
{
    const char *tmp = getenv("TMPDIR");
    struct bench_opts opts = {.rounds = BENCH_ROUNDS_LEAST,
                              .ms = 150,
                              .dir = tmp && *tmp ? tmp : "/tmp"};
    int i = 1, failed = 0;
    hfi_machine_detect(&opts.machine);
    opts.threads = opts.machine.workers;
    for (; i < argc && argv[i][0] == '-'; i++) {
        const char *value = argv[i + 1];
        bool fine = true;
        if (strcmp(argv[i], "--json") == 0)
            continue;
        if (strcmp(argv[i], "--help") == 0)
            return usage(stdout, 0);
        if (strcmp(argv[i], "--rounds") == 0)
            fine = number(&opts.rounds, value, BENCH_ROUNDS_LEAST,
                          BENCH_ROUNDS_MOST);
        else if (strcmp(argv[i], "--ms") == 0)
            fine = number(&opts.ms, value, 10, 60000);
        else if (strcmp(argv[i], "--threads") == 0)
            fine = number(&opts.threads, value, 1, 4096);
        else if (strcmp(argv[i], "--dir") == 0 && value)
            opts.dir = value;
        else
            fine = false;
        if (!fine)
            return usage(stderr, 2);
        i++;
    }
    for (int k = i; k < argc; k++) {
        if (!known(argv[k])) {
            fprintf(stderr, "holdfast-bench: no benchmark %s\n", argv[k]);
            return usage(stderr, 2);
        }
    }
    for (size_t k = 0; k < BENCHES; k++) {
        if (chosen(argc, argv, i, benches[k].name))
            failed |= benches[k].run(&opts);
    }
    return failed;
}

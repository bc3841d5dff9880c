/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The context as a host meets it: wrong arguments, what lacks in the system,
 * fork, descriptors, threads, log, and that nothing stays behind.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "context/context.h"
#include "sched/kit.h"

#if !defined(__has_feature)
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
enum { under_tsan = 1 };
#else
enum { under_tsan = 0 };
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
enum { under_asan = 1 };
#else
enum { under_asan = 0 };
#endif

/* For children: no test framework there. */
#define CHECK(condition)                                                       \
    do {                                                                       \
        if (!(condition)) {                                                    \
            dprintf(2, "%s:%d: %s\n", __FILE__, __LINE__, #condition);         \
            return 1;                                                          \
        }                                                                      \
    } while (0)

static kit_alloc counter;

static hf_context_opts small_opts(void)
{
    hf_context_opts opts = HF_CONTEXT_OPTS_INIT;
    opts.workers = 2;
    opts.memory_budget = 64 * MIB;
    memset(&counter, 0, sizeof counter);
    opts.alloc = kit_alloc_get;
    opts.release = kit_alloc_put;
    opts.alloc_user = &counter;
    return opts;
}

static hf_context *open_with(const hf_context_opts *opts)
{
    hf_context *ctx = NULL;
    hf_error err = {0};
    hf_status s = hf_context_open(&ctx, opts, &err);
    if (s != HF_OK)
        print_error("%s (%s)\n", err.message, err.cause);
    assert_int_equal(s, HF_OK);
    return ctx;
}

static hf_status run_one(hf_context *ctx)
{
    kit_plan plan = {.cpu_leaves = 3, .io_leaves = 1, .rounds = 2};
    hf_job *job = NULL;
    hf_status s = kit_start(&job, hfi_context_sched(ctx), &plan, NULL, NULL);
    if (s != HF_OK)
        return s;
    s = hf_job_wait(job, 20000, NULL);
    hf_job_free(job);
    return s;
}

/* Runs `body` in a child; it gets 20 seconds. */
static void in_child(int (*body)(void *arg), void *arg)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(20);
        _exit(body(arg));
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status))
        print_error("child: signal %d\n", WTERMSIG(status));
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static bool threads_return_to(uint32_t count)
{
    uint64_t end = kit_now_ms() + 1000;
    while (kit_threads() != count) {
        if (kit_now_ms() > end)
            return false;
        hfi_sleep_ms(1);
    }
    return true;
}

static uint32_t count_descriptors(void)
{
    uint32_t count = 0;
    DIR *dir = opendir("/proc/self/fd");
    assert_non_null(dir);
    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count;
}

/* ---- arguments ----------------------------------------------------------- */

static void null_is_an_error_or_nothing(void **state)
{
    (void)state;
    hf_error err = {0};
    assert_int_equal(hf_context_open(NULL, NULL, &err), HF_E_ARGUMENT);
    assert_non_null(strstr(err.message, "ctx is NULL"));
    assert_int_equal(hf_context_open(NULL, NULL, NULL), HF_E_ARGUMENT);
    hf_context_close(NULL);
    hf_context_cancel_all(NULL);
    hf_context_trim(NULL);
    hf_completion c;
    hf_log_record r;
    hf_context_info info = {.size = sizeof info};
    hf_progress p = {.size = sizeof p};
    assert_int_equal(hf_context_event_fd(NULL), -1);
    assert_false(hf_context_next(NULL, &c));
    assert_false(hf_context_next_log(NULL, &r));
    assert_false(hf_context_run(NULL, 5));
    assert_int_equal(hf_context_get_info(NULL, &info), HF_E_ARGUMENT);
    hf_provider provider = {.size = sizeof provider};
    assert_int_equal(hf_context_provider_count(NULL), 0);
    assert_int_equal(hf_context_provider_get(NULL, 0, &provider, &err),
                     HF_E_ARGUMENT);
    assert_int_equal(hf_context_provider_get(NULL, 0, &provider, NULL),
                     HF_E_ARGUMENT);
    assert_int_equal(hf_job_progress(NULL, &p), HF_E_ARGUMENT);
    assert_int_equal(hf_job_wait(NULL, 5, &err), HF_E_ARGUMENT);
    assert_non_null(strstr(err.message, "job is NULL"));
    hf_job_cancel(NULL);
    hf_job_free(NULL);

    hf_context_opts opts = small_opts();
    hf_context *ctx = NULL;
    assert_int_equal(hf_context_open(&ctx, &opts, NULL), HF_OK);
    assert_false(hf_context_next(ctx, NULL));
    assert_false(hf_context_next_log(ctx, NULL));
    assert_int_equal(hf_context_get_info(ctx, NULL), HF_E_ARGUMENT);
    assert_int_equal(hf_context_provider_get(ctx, 0, NULL, &err),
                     HF_E_ARGUMENT);
    kit_plan plan = {.fail = HF_E_IO};
    hf_job *job = NULL;
    assert_int_equal(kit_start(&job, hfi_context_sched(ctx), &plan, NULL, NULL),
                     HF_OK);
    assert_int_equal(hf_job_progress(job, NULL), HF_E_ARGUMENT);
    assert_int_equal(hf_job_wait(job, FOREVER, NULL), HF_E_IO);
    assert_false(hf_context_next(ctx, NULL)); /* not lost by it */
    assert_true(hf_context_next(ctx, &c));
    hf_job_free(job);
    hf_job_free(job);
    hf_context_close(ctx);
    ctx = NULL;
    assert_int_equal(hf_context_open(&ctx, NULL, NULL), HF_OK);
    hf_context_close(ctx);
}

static void refused(const hf_context_opts *opts, hf_status status,
                    const char *member, const char *range)
{
    hf_context *ctx = NULL;
    hf_error err = {0};
    assert_int_equal(hf_context_open(&ctx, opts, &err), status);
    assert_null(ctx);
    assert_int_equal(err.code, status);
    assert_non_null(strstr(err.message, member));
    assert_non_null(strstr(err.message, range));
    assert_int_equal(atomic_load(&counter.live), 0);
}

static void wrong_options_are_named(void **state)
{
    (void)state;
    hf_context_opts o = small_opts();
    o.size = 0;
    refused(&o, HF_E_ARGUMENT, "opts->size is 0", "HF_CONTEXT_OPTS_INIT");
    o = small_opts();
    o.size = sizeof o - 1;
    refused(&o, HF_E_ARGUMENT, "opts->size", "allowed");
    o = small_opts();
    o.size = SIZE_MAX;
    refused(&o, HF_E_ARGUMENT, "opts->size", "allowed");
    o = small_opts();
    o.workers = 1025;
    refused(&o, HF_E_ARGUMENT, "opts->workers is 1025", "0 to 1024");
    o = small_opts();
    o.queue_length = 65537;
    refused(&o, HF_E_ARGUMENT, "opts->queue_length is 65537", "0 to 65536");
    o = small_opts();
    o.log_level = (hf_log_level)6;
    refused(&o, HF_E_ARGUMENT, "opts->log_level is 6", "0 to 5");
    o = small_opts();
    o.log_length = 65537;
    refused(&o, HF_E_ARGUMENT, "opts->log_length is 65537", "0 to 65536");
    o = small_opts();
    o.release = NULL;
    refused(&o, HF_E_ARGUMENT, "opts->release is NULL", "both or neither");
    o = small_opts();
    o.alloc = NULL;
    refused(&o, HF_E_ARGUMENT, "opts->alloc is NULL", "both or neither");
    o = small_opts();
    o.kernel = "sse9";
    refused(&o, HF_E_ARGUMENT, "sse9", "");
    o = small_opts();
    o.kernel = "";
    refused(&o, HF_E_ARGUMENT, "\"\"", "");
}

/* Callers built against a later version. */
static void larger_options_are_accepted_if_zero(void **state)
{
    (void)state;
    struct {
        hf_context_opts opts;
        uint64_t later;
    } o = {.opts = small_opts()};
    o.opts.size = sizeof o;
    hf_context *ctx = open_with(&o.opts);
    hf_context_close(ctx);
    o.later = 1;
    refused(&o.opts, HF_E_ARGUMENT, "a member that this version", "newer");
}

static void kernels_can_be_forced(void **state)
{
    (void)state;
    hf_context_opts o = small_opts();
    o.kernel = "portable";
    hf_context *ctx = open_with(&o);
    hf_context_info info = {.size = sizeof info};
    assert_int_equal(hf_context_get_info(ctx, &info), HF_OK);
    assert_string_equal(info.label_kernel, "portable");
    assert_string_equal(info.aes_kernel, "portable");
    hf_context_close(ctx);
#if defined(__x86_64__)
    o = small_opts();
    o.kernel = "neon";
    refused(&o, HF_E_UNSUPPORTED, "neon", "");
#endif
}

static void info_shows_numbers_and_their_origin(void **state)
{
    (void)state;
    hf_context_opts o = small_opts();
    o.workers = 3;
    hf_context *ctx = open_with(&o);
    hf_context_info i = {.size = sizeof i};
    assert_int_equal(hf_context_get_info(ctx, &i), HF_OK);
    assert_int_equal(i.workers, 3);
    assert_string_equal(i.workers_from, "option");
    assert_int_equal(i.memory_budget, 64 * MIB);
    assert_string_equal(i.budget_from, "option");
    assert_int_equal(i.memory_used, 0);
    assert_true(i.cpus_online >= 1 && i.cpus_affinity >= 1);
    assert_true(i.memory_total >= i.memory_available);
    assert_true(i.memory_available > 0);
    assert_non_null(i.randomx);
    assert_true(strstr(i.compiler, "gcc") != NULL ||
                strstr(i.compiler, "lang") != NULL);
    assert_non_null(memchr(i.cpu_features, '\0', sizeof i.cpu_features));
#if defined(__x86_64__)
    assert_non_null(strstr(i.cpu_features, "sse2"));
    assert_null(strstr(i.cpu_features, "  "));
#endif
    i.size = sizeof i - 1;
    assert_int_equal(hf_context_get_info(ctx, &i), HF_E_ARGUMENT);
    hf_context_close(ctx);

    o = small_opts();
    o.workers = HF_WORKERS_AUTO;
    o.memory_budget = 0;
    ctx = open_with(&o);
    i.size = sizeof i;
    assert_int_equal(hf_context_get_info(ctx, &i), HF_OK);
    assert_true(i.workers >= 1 && i.workers <= i.cpus_affinity);
    assert_string_not_equal(i.workers_from, "option");
    assert_in_range(i.memory_budget, 1, i.memory_total / 2);
    assert_string_not_equal(i.budget_from, "option");
    hf_context_close(ctx);

    o = small_opts();
    o.workers = 0;
    ctx = open_with(&o);
    assert_int_equal(hf_context_get_info(ctx, &i), HF_OK);
    assert_int_equal(i.workers, 0);
    assert_int_equal(run_one(ctx), HF_OK);
    hf_context_close(ctx);
    assert_int_equal(atomic_load(&counter.live), 0);
}

static void the_cpu_is_the_last_provider(void **state)
{
    (void)state;
    hf_context_opts o = small_opts();
    hf_context *ctx = open_with(&o);
    uint32_t count = hf_context_provider_count(ctx);
    assert_true(count >= 1);
    hf_provider p = {.size = sizeof p};
    hf_error err = {0};
    assert_int_equal(hf_context_provider_get(ctx, count - 1, &p, &err), HF_OK);
    assert_string_equal(p.id, "cpu");
    assert_string_equal(p.kind, "cpu");
    assert_int_equal(hf_context_provider_get(ctx, count, &p, &err),
                     HF_E_ARGUMENT);
    assert_non_null(strstr(err.message, "no provider number"));
    p.size--;
    assert_int_equal(hf_context_provider_get(ctx, 0, &p, &err), HF_E_ARGUMENT);
    hf_context_close(ctx);
}

/* ---- nothing stays behind ------------------------------------------------ */

static void open_and_close_a_hundred_times(void **state)
{
    (void)state;
    uint32_t threads = kit_threads();
    uint32_t descriptors = count_descriptors();
    for (int i = 0; i < 100; i++) {
        hf_context_opts o = small_opts();
        o.workers = (uint32_t)i % 4;
        hf_context *ctx = open_with(&o);
        assert_int_equal(run_one(ctx), HF_OK);
        hf_context_close(ctx);
        assert_int_equal(atomic_load(&counter.live), 0);
        /* Joined threads may be seen for a moment more. */
        assert_true(threads_return_to(threads));
    }
    assert_int_equal(count_descriptors(), descriptors);
}

/* Leaves main with a context open that still works, or after its close. */
static int live_and_leave(void *arg)
{
    hf_context_opts o = small_opts();
    hf_context *ctx = NULL;
    CHECK(hf_context_open(&ctx, &o, NULL) == HF_OK);
    CHECK(run_one(ctx) == HF_OK);
    kit_plan endless = {.cpu_leaves = 2, .io_leaves = 1, .leaf_us = 1000};
    hf_job *job = NULL;
    CHECK(kit_start(&job, hfi_context_sched(ctx), &endless, NULL, NULL) ==
          HF_OK);
    if (*(bool *)arg) {
        hf_context_close(ctx);
        hf_job_free(job);
        CHECK(atomic_load(&counter.live) == 0);
        CHECK(threads_return_to(1));
    }
    exit(0);
}

static void the_process_ends(void **state)
{
    (void)state;
    if (under_tsan)
        skip(); /* its own thread is counted */
    for (int closed = 0; closed < 2; closed++) {
        bool arg = closed != 0;
        uint64_t from = kit_now_ms();
        in_child(live_and_leave, &arg);
        assert_in_range(kit_now_ms() - from, 0, 1000);
    }
}

static void every_failing_allocation_is_clean(void **state)
{
    (void)state;
    uint32_t threads = kit_threads();
    uint32_t descriptors = count_descriptors();
    bool opened = false;
    for (uint64_t n = 1; !opened && n < 200; n++) {
        hf_context_opts o = small_opts();
        o.log_level = HF_LOG_TRACE;
        counter.fail_at = n;
        hf_context *ctx = NULL;
        hf_error err = {0};
        hf_status s = hf_context_open(&ctx, &o, &err);
        opened = atomic_load(&counter.requests) < n;
        if (s == HF_OK) {
            assert_true(opened); /* none of ours may be done without */
            hf_context_close(ctx);
        } else {
            assert_int_equal(s, HF_E_MEMORY);
            assert_int_equal(err.code, HF_E_MEMORY);
            assert_true(err.message[0] != '\0');
            assert_null(ctx);
        }
        assert_int_equal(atomic_load(&counter.live), 0);
        assert_true(threads_return_to(threads));
    }
    assert_true(opened);
    assert_int_equal(count_descriptors(), descriptors);

    hf_context_opts o = small_opts();
    hf_context *ctx = open_with(&o);
    counter.fail_at = atomic_load(&counter.requests) + 1;
    kit_plan plan = {0};
    hf_job *job = NULL;
    hf_error err = {0};
    assert_int_equal(kit_start(&job, hfi_context_sched(ctx), &plan, NULL, &err),
                     HF_E_MEMORY);
    assert_null(job);
    assert_int_equal(run_one(ctx), HF_OK);
    hf_context_close(ctx);
    assert_int_equal(atomic_load(&counter.live), 0);
}

/* ---- what the system refuses --------------------------------------------- */

static int threads_are_refused(void *arg)
{
    bool root = *(bool *)arg;
    /* Root is not limited; another user may have processes of its own. */
    if (root && (setgid(65534) != 0 || setuid(65534) != 0))
        return 0;
    uint32_t descriptors = 0, failures = 0;
    bool opened = false;
    for (rlim_t limit = 1; limit <= 64 && !opened; limit++) {
        struct rlimit r = {limit, RLIM_INFINITY};
        if (getrlimit(RLIMIT_NPROC, &r) != 0)
            return 0;
        r.rlim_cur = limit;
        CHECK(setrlimit(RLIMIT_NPROC, &r) == 0);
        hf_context_opts o = small_opts();
        o.workers = 3;
        hf_context *ctx = NULL;
        hf_error err = {0};
        hf_status s = hf_context_open(&ctx, &o, &err);
        if (s == HF_OK) {
            opened = true;
            hf_context_close(ctx);
        } else {
            failures++;
            CHECK(s == HF_E_BUSY || s == HF_E_MEMORY);
            CHECK(err.code == s && err.os_code == EAGAIN);
            CHECK(strstr(err.message, "thread") != NULL);
            CHECK(ctx == NULL);
        }
        CHECK(atomic_load(&counter.live) == 0);
        CHECK(threads_return_to(1));
        if (descriptors == 0)
            descriptors = count_descriptors();
        CHECK(count_descriptors() == descriptors);
    }
    CHECK(failures > 0);
    CHECK(opened || !root);
    return 0;
}

static void a_thread_that_cannot_start_is_an_error(void **state)
{
    (void)state;
    if (under_tsan)
        skip(); /* it starts threads of its own */
    bool root = geteuid() == 0;
    in_child(threads_are_refused, &root);
}

static int descriptors_are_refused(void *arg)
{
    (void)arg;
    int lowest = open("/dev/null", O_RDONLY);
    CHECK(lowest >= 0 && close(lowest) == 0);
    struct rlimit old;
    CHECK(getrlimit(RLIMIT_NOFILE, &old) == 0);
    uint32_t failures = 0;
    for (rlim_t extra = 0; extra < 6; extra++) {
        struct rlimit r = {(rlim_t)lowest + extra, old.rlim_max};
        CHECK(setrlimit(RLIMIT_NOFILE, &r) == 0);
        hf_context_opts o = small_opts();
        hf_context *ctx = NULL;
        hf_error err = {0};
        hf_status s = hf_context_open(&ctx, &o, &err);
        CHECK(setrlimit(RLIMIT_NOFILE, &old) == 0);
        if (s == HF_OK) {
            CHECK(run_one(ctx) == HF_OK);
            hf_context_close(ctx);
        } else {
            failures++;
            CHECK(s == HF_E_IO || s == HF_E_BUSY);
            CHECK(err.os_code == EMFILE);
            CHECK(ctx == NULL);
        }
        CHECK(atomic_load(&counter.live) == 0);
        int again = open("/dev/null", O_RDONLY);
        CHECK(again == lowest && close(again) == 0);
    }
    CHECK(failures > 0 && failures < 6);
    return 0;
}

static void a_descriptor_that_cannot_be_had_is_an_error(void **state)
{
    (void)state;
    in_child(descriptors_are_refused, NULL);
}

static int without_standard_descriptors(void *arg)
{
    (void)arg;
    close(0);
    close(1);
    close(2);
    hf_context_opts o = small_opts();
    hf_context *ctx = NULL;
    if (hf_context_open(&ctx, &o, NULL) != HF_OK)
        return 2;
    if (hf_context_event_fd(ctx) < 3)
        return 3;
    int first = open("/dev/null", O_RDWR);
    if (first != 0) /* the host's numbers were left free */
        return 4;
    if (run_one(ctx) != HF_OK)
        return 5;
    hf_context_close(ctx);
    return atomic_load(&counter.live) == 0 ? 0 : 6;
}

static void closed_standard_descriptors_do_not_matter(void **state)
{
    (void)state;
    in_child(without_standard_descriptors, NULL);
}

static void the_descriptor_is_closed_on_exec(void **state)
{
    (void)state;
    hf_context_opts o = small_opts();
    hf_context *ctx = open_with(&o);
    int fd = hf_context_event_fd(ctx);
    assert_true((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    hf_context_close(ctx);
}

/* ---- fork ---------------------------------------------------------------- */

typedef struct family {
    hf_context *ctx;
    hf_job *running;
    hf_job *done;
} family;

static int in_a_forked_child(void *arg)
{
    family *f = arg;
    hf_error err = {0};
    hf_job *job = NULL;
    kit_plan plan = {0};
    hf_completion c;
    hf_log_record r;
    hf_context_info info = {.size = sizeof info};
    hf_progress p = {.size = sizeof p};
    CHECK(hfi_context_check(f->ctx, &err) == HF_E_STATE);
    CHECK(strstr(err.message, "parent") != NULL);
    CHECK(hf_context_event_fd(f->ctx) == -1);
    CHECK(!hf_context_next(f->ctx, &c));
    CHECK(!hf_context_next_log(f->ctx, &r));
    CHECK(!hf_context_run(f->ctx, 10));
    CHECK(hf_context_get_info(f->ctx, &info) == HF_E_STATE);
    hf_provider provider = {.size = sizeof provider};
    CHECK(hf_context_provider_count(f->ctx) == 0);
    CHECK(hf_context_provider_get(f->ctx, 0, &provider, &err) == HF_E_STATE);
    hf_context_cancel_all(f->ctx);
    hf_context_trim(f->ctx);
    CHECK(kit_start(&job, hfi_context_sched(f->ctx), &plan, NULL, &err) ==
          HF_E_STATE);
    CHECK(hf_job_wait(f->running, FOREVER, &err) == HF_E_STATE);
    CHECK(hf_job_wait(f->done, FOREVER, NULL) == HF_E_STATE);
    CHECK(hfi_job_outcome(f->done, &err) == HF_E_STATE);
    CHECK(hf_job_progress(f->running, &p) == HF_E_STATE);
    hf_job_cancel(f->running);
    hf_job_free(f->running);
    hf_job_free(f->done);
    hf_context_close(f->ctx);
    hf_context_close(f->ctx);
    if (under_tsan)
        return 0; /* it refuses threads in children of threaded parents */
    hf_context *own = NULL;
    CHECK(hf_context_open(&own, NULL, NULL) == HF_OK);
    CHECK(run_one(own) == HF_OK);
    hf_context_close(own);
    return 0;
}

static void a_forked_child_is_told(void **state)
{
    (void)state;
    for (uint32_t workers = 0; workers < 4; workers += 3) {
        hf_context_opts o = small_opts();
        o.workers = workers;
        o.log_level = HF_LOG_INFO;
        family f = {.ctx = open_with(&o)};
        hfi_sched *s = hfi_context_sched(f.ctx);
        kit_plan brief = {0}, endless = {.cpu_leaves = 4, .leaf_us = 50};
        f.done = kit_started(s, &brief, NULL);
        assert_int_equal(hf_job_wait(f.done, FOREVER, NULL), HF_OK);
        f.running = kit_started(s, &endless, NULL);
        /* Some of these find a lock of the parent's held. */
        for (int i = 0; i < 10; i++)
            in_child(in_a_forked_child, &f);
        hf_job_cancel(f.running);
        assert_int_equal(hf_job_wait(f.running, 20000, NULL), HF_E_CANCELLED);
        hf_job_free(f.running);
        hf_job_free(f.done);
        hf_context_close(f.ctx);
        assert_int_equal(atomic_load(&counter.live), 0);
    }
}

/* ---- threads ------------------------------------------------------------- */

/* Thread ids of this process whose name is `name`. */
static uint32_t list_threads(const char *name, int *ids, uint32_t most)
{
    uint32_t count = 0;
    DIR *dir = opendir("/proc/self/task");
    assert_non_null(dir);
    struct dirent *e;
    while ((e = readdir(dir)) != NULL && count < most) {
        char path[320], line[32] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", e->d_name);
        FILE *f = e->d_name[0] == '.' ? NULL : fopen(path, "r");
        if (f == NULL)
            continue;
        if (fgets(line, sizeof line, f) != NULL)
            line[strcspn(line, "\n")] = '\0';
        fclose(f);
        if (strcmp(line, name) == 0)
            ids[count++] = atoi(e->d_name);
    }
    closedir(dir);
    return count;
}

static uint64_t blocked_signals(int id)
{
    char path[64], line[256];
    unsigned long long mask = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/status", id);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f) != NULL)
        if (sscanf(line, "SigBlk: %llx", &mask) == 1)
            break;
    fclose(f);
    return mask;
}

static void threads_have_manners(void **state)
{
    (void)state;
    hf_context_opts o = small_opts();
    o.workers = 3;
    hf_context *ctx = open_with(&o);
    assert_int_equal(run_one(ctx), HF_OK);
    int workers[8], steps[8];
    uint32_t worker_count = list_threads("hf-worker", workers, 8);
    uint32_t step_count = list_threads("hf-step", steps, 8);
    assert_int_equal(worker_count, 3);
    assert_int_equal(step_count, 4);
    for (uint32_t i = 0; i < worker_count + step_count; i++) {
        int id = i < worker_count ? workers[i] : steps[i - worker_count];
        uint64_t mask = blocked_signals(id);
        for (int signal = 1; signal < 32; signal++)
            if (signal != SIGKILL && signal != SIGSTOP)
                assert_true((mask >> (signal - 1) & 1) != 0);
    }
    for (uint32_t i = 0; i < worker_count; i++)
        assert_int_equal(sched_getscheduler(workers[i]), SCHED_BATCH);
    for (uint32_t i = 0; i < step_count; i++)
        assert_int_equal(sched_getscheduler(steps[i]), SCHED_OTHER);
    hf_context_close(ctx);
}

static void *live_on_a_small_stack(void *arg)
{
    hf_context_opts o = small_opts();
    o.workers = 0;
    o.log_level = HF_LOG_TRACE;
    hf_context *ctx = NULL;
    hf_error err;
    kit_plan plan = {.cpu_leaves = 2, .io_leaves = 1, .rounds = 2};
    hf_job *job = NULL;
    hf_completion c;
    hf_log_record r;
    hf_context_info info = {.size = sizeof info};
    bool ok = hf_context_open(&ctx, &o, &err) == HF_OK;
    ok = ok &&
         kit_start(&job, hfi_context_sched(ctx), &plan, NULL, &err) == HF_OK;
    while (ok && hf_context_run(ctx, 1))
        continue;
    ok = ok && hf_context_next(ctx, &c) && c.status == HF_OK;
    ok = ok && hf_context_next_log(ctx, &r);
    ok = ok && hf_context_get_info(ctx, &info) == HF_OK;
    hf_job_free(job);
    hf_context_close(ctx);
    *(bool *)arg = ok;
    return NULL;
}

static void a_small_stack_suffices(void **state)
{
    (void)state;
    if (under_tsan || under_asan)
        skip(); /* they need more of it */
    bool ok = false;
    pthread_attr_t attr;
    pthread_t thread;
    assert_int_equal(pthread_attr_init(&attr), 0);
    assert_int_equal(pthread_attr_setstacksize(&attr, 65536), 0);
    assert_int_equal(pthread_create(&thread, &attr, live_on_a_small_stack, &ok),
                     0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
    assert_true(ok);
}

/* ---- two contexts, log, held memory -------------------------------------- */

static void contexts_do_not_know_of_each_other(void **state)
{
    (void)state;
    hf_context_opts o = small_opts();
    hf_context *a = open_with(&o);
    o.workers = 0;
    o.queue_length = 1;
    hf_context *b = open_with(&o);
    kit_seen seen = {0};
    kit_plan endless = {.cpu_leaves = 4, .leaf_us = 100};
    hf_job *job = kit_started(hfi_context_sched(a), &endless, &seen);
    assert_int_equal(run_one(b), HF_OK);
    kit_plan brief = {0};
    hf_job *other = kit_started(hfi_context_sched(b), &brief, NULL);
    assert_int_equal(hf_job_wait(other, FOREVER, NULL), HF_OK);
    hf_completion c;
    assert_false(hf_context_next(a, &c));
    hf_context_cancel_all(b);
    hf_context_close(b);
    uint32_t runs = atomic_load(&seen.runs);
    assert_true(kit_until(&seen.runs, runs + 10));
    hf_job_free(other);
    hf_job_free(job);
    hf_context_close(a);
    assert_int_equal(atomic_load(&counter.live), 0);
}

static bool readable(hf_context *ctx)
{
    struct pollfd p = {.fd = hf_context_event_fd(ctx), .events = POLLIN};
    return poll(&p, 1, 0) == 1;
}

static void log_records_are_taken_like_completions(void **state)
{
    (void)state;
    hf_context_opts o = small_opts();
    o.log_level = HF_LOG_WARN;
    o.log_length = 2;
    hf_context *ctx = open_with(&o);
    hf_log_record r;
    assert_false(hf_context_next_log(ctx, &r));
    assert_false(readable(ctx));
    hfi_log *log = hfi_context_env(ctx)->log;
    hfi_logf(log, HFI_LOG_INFO, "test", "not this");
    assert_false(readable(ctx));
    for (int i = 0; i < 5; i++)
        hfi_logf(log, HFI_LOG_WARN, "test", "record %d", i);
    assert_true(readable(ctx));
    assert_true(hf_context_next_log(ctx, &r));
    assert_string_equal(r.text, "record 0");
    assert_string_equal(r.module, "test");
    assert_int_equal(r.level, HF_LOG_WARN);
    assert_int_equal(r.dropped, 0);
    assert_true(r.time_ms > UINT64_C(1600000000000));
    assert_true(hf_context_next_log(ctx, &r));
    hfi_logf(log, HFI_LOG_ERROR, "test", "last");
    assert_true(hf_context_next_log(ctx, &r));
    assert_string_equal(r.text, "last");
    assert_int_equal(r.level, HF_LOG_ERROR);
    assert_int_equal(r.dropped, 3);
    assert_false(hf_context_next_log(ctx, &r));
    assert_false(readable(ctx));
    hf_context_close(ctx);
    assert_int_equal(atomic_load(&counter.live), 0);
}

typedef struct sunk {
    uint32_t count;
    hf_log_record last;
} sunk;

static void sink(void *user, const hf_log_record *record)
{
    sunk *k = user;
    k->count++;
    k->last = *record;
}

static void a_sink_replaces_the_ring(void **state)
{
    (void)state;
    sunk k = {0};
    hf_context_opts o = small_opts();
    o.log_level = HF_LOG_ERROR;
    o.log_sink = sink;
    o.log_user = &k;
    hf_context *ctx = open_with(&o);
    hfi_logf(hfi_context_env(ctx)->log, HFI_LOG_ERROR, "test", "one");
    assert_int_equal(k.count, 1);
    assert_string_equal(k.last.text, "one");
    assert_int_equal(k.last.level, HF_LOG_ERROR);
    hf_log_record r;
    assert_false(hf_context_next_log(ctx, &r));
    assert_false(readable(ctx));
    hf_context_close(ctx);
}

static void trim_gives_scratch_back(void **state)
{
    (void)state;
    hf_context_opts o = small_opts();
    o.workers = 0;
    hf_context *ctx = open_with(&o);
    kit_plan plan = {.cpu_leaves = 1,
                     .rounds = 1,
                     .scratch = 3 * MIB,
                     .need = {.scratch = 3 * MIB}};
    hf_job *job = kit_started(hfi_context_sched(ctx), &plan, NULL);
    assert_int_equal(hf_job_wait(job, FOREVER, NULL), HF_OK);
    hf_job_free(job);
    hf_context_info i = {.size = sizeof i};
    assert_int_equal(hf_context_get_info(ctx, &i), HF_OK);
    assert_int_equal(i.memory_used, 3 * MIB);
    hf_context_trim(ctx);
    assert_int_equal(hf_context_get_info(ctx, &i), HF_OK);
    assert_int_equal(i.memory_used, 0);
    hf_context_close(ctx);
}

static void jobs_outlive_the_context(void **state)
{
    (void)state;
    hf_context_opts o = small_opts();
    hf_context *ctx = open_with(&o);
    kit_plan endless = {.cpu_leaves = 4, .leaf_us = 100};
    hf_job *job = kit_started(hfi_context_sched(ctx), &endless, NULL);
    hf_context_close(ctx);
    hf_error err = {0};
    assert_int_equal(hf_job_wait(job, FOREVER, &err), HF_E_CANCELLED);
    hf_job_free(job);
    assert_int_equal(atomic_load(&counter.live), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_is_an_error_or_nothing),
        cmocka_unit_test(wrong_options_are_named),
        cmocka_unit_test(larger_options_are_accepted_if_zero),
        cmocka_unit_test(kernels_can_be_forced),
        cmocka_unit_test(info_shows_numbers_and_their_origin),
        cmocka_unit_test(the_cpu_is_the_last_provider),
        cmocka_unit_test(open_and_close_a_hundred_times),
        cmocka_unit_test(the_process_ends),
        cmocka_unit_test(every_failing_allocation_is_clean),
        cmocka_unit_test(a_thread_that_cannot_start_is_an_error),
        cmocka_unit_test(a_descriptor_that_cannot_be_had_is_an_error),
        cmocka_unit_test(closed_standard_descriptors_do_not_matter),
        cmocka_unit_test(the_descriptor_is_closed_on_exec),
        cmocka_unit_test(a_forked_child_is_told),
        cmocka_unit_test(threads_have_manners),
        cmocka_unit_test(a_small_stack_suffices),
        cmocka_unit_test(contexts_do_not_know_of_each_other),
        cmocka_unit_test(log_records_are_taken_like_completions),
        cmocka_unit_test(a_sink_replaces_the_ring),
        cmocka_unit_test(trim_gives_scratch_back),
        cmocka_unit_test(jobs_outlive_the_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

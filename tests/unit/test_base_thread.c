/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Threads, events, the floating-point environment, randomness. eventfd and
 * getrandom below stand in for the C library's, to fail on request.
 */
#include "base/internal.h"
#include "support/vectors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <float.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED
#endif

static bool no_eventfd;
static int getrandom_code;

int eventfd(unsigned int count, int flags)
{
    if (no_eventfd) {
        errno = ENOSYS;
        return -1;
    }
    return (int)syscall(SYS_eventfd2, count, flags);
}

ssize_t getrandom(void *out, size_t bytes, unsigned int flags)
{
    if (getrandom_code == EINTR) {
        getrandom_code = 0;
        errno = EINTR;
        return -1;
    }
    if (getrandom_code != 0) {
        errno = getrandom_code;
        return -1;
    }
    if (bytes > 5)
        bytes = 5; /* short ones are continued */
    return syscall(SYS_getrandom, out, bytes, flags);
}

/* ---- threads ----------------------------------------------------------- */

struct seen {
    sigset_t mask;
    char name[16];
    size_t stack;
    int policy;
    int nice;
    int rounding;
    double half_of_least;
    bool ran;
};

static void look_around(void *arg)
{
    struct seen *s = arg;
    pthread_attr_t attr;
    volatile double least = DBL_MIN;
    (void)pthread_sigmask(SIG_SETMASK, NULL, &s->mask);
    (void)pthread_getname_np(pthread_self(), s->name, sizeof s->name);
    if (pthread_getattr_np(pthread_self(), &attr) == 0) {
        (void)pthread_attr_getstacksize(&attr, &s->stack);
        (void)pthread_attr_destroy(&attr);
    }
    s->policy = sched_getscheduler(0);
    s->nice = getpriority(PRIO_PROCESS, 0);
    s->rounding = fegetround();
    least = least / 2;
    s->half_of_least = least;
    s->ran = true;
}

/* Rounds up and flushes denormals, as a host may. */
static void spoil_fenv(void)
{
    (void)fesetround(FE_UPWARD);
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040u);
#endif
}

static void test_thread(void **state)
{
    (void)state;
    struct seen s = {0};
    hfi_thread t;
    sigset_t before;
    sigset_t after;
    fenv_t home;
    assert_int_equal(fegetenv(&home), 0);
    (void)pthread_sigmask(SIG_SETMASK, NULL, &before);
    spoil_fenv();
    hf_status status = hfi_thread_start(&t, "a rather long name", true,
                                        look_around, &s, NULL);
    int rounding = fegetround();
    (void)fesetenv(&home);
    assert_int_equal(status, HF_OK);
    hfi_thread_join(&t);
    assert_true(s.ran);
    assert_int_equal(rounding, FE_UPWARD); /* the caller's stays */
    assert_int_equal(s.rounding, FE_TONEAREST);
    assert_true(s.half_of_least > 0);
    assert_string_equal(s.name, "a rather long n");
    assert_int_equal(s.policy, SCHED_BATCH);
    assert_int_equal(s.nice, getpriority(PRIO_PROCESS, 0));
    assert_int_equal(sched_getscheduler(0), SCHED_OTHER);
    assert_in_range(s.stack, 1 << 20, (1 << 20) + (64 << 10));
    (void)pthread_sigmask(SIG_SETMASK, NULL, &after);
    for (int sig = 1; sig < 65; sig++) {
        assert_int_equal(sigismember(&before, sig), sigismember(&after, sig));
        if (sig != SIGKILL && sig != SIGSTOP && sig != 32 && sig != 33)
            assert_int_equal(sigismember(&s.mask, sig), 1);
    }
}

static void test_thread_not_batch(void **state)
{
    (void)state;
    struct seen s = {0};
    hfi_thread t;
    assert_int_equal(
        hfi_thread_start(&t, "plain", false, look_around, &s, NULL), HF_OK);
    hfi_thread_join(&t);
    assert_int_equal(s.policy, SCHED_OTHER);
    assert_string_equal(s.name, "plain");
}

static void test_threads_without_memory(void **state)
{
    (void)state;
    /* Address space used up: a stack cannot be mapped. */
#if defined(SANITIZED)
    skip();
#else
    struct rlimit old;
    hfi_thread t;
    struct seen s = {0};
    hf_error err = {0};
    assert_int_equal(getrlimit(RLIMIT_AS, &old), 0);
    struct rlimit none = {.rlim_cur = 4096, .rlim_max = old.rlim_max};
    /* The first may take the cached stack of an earlier thread. */
    hfi_thread first[64];
    size_t n = 0;
    assert_int_equal(setrlimit(RLIMIT_AS, &none), 0);
    hf_status status = HF_OK;
    while (n < 64 && status == HF_OK) {
        status = hfi_thread_start(&t, "none", true, look_around, &s, &err);
        if (status == HF_OK)
            first[n++] = t;
    }
    (void)setrlimit(RLIMIT_AS, &old);
    for (size_t i = 0; i < n; i++)
        hfi_thread_join(&first[i]);
    assert_true(n < 64);
    assert_true(status == HF_E_BUSY || status == HF_E_MEMORY);
    assert_true(err.os_code == EAGAIN || err.os_code == ENOMEM);
    assert_non_null(strstr(err.message, "thread none"));
#endif
}

struct handshake {
    hfi_mutex lock;
    hfi_cond changed;
    int turn;
};

static void play(void *arg)
{
    struct handshake *h = arg;
    for (int i = 0; i < 200; i++) {
        hfi_lock(&h->lock);
        while (h->turn != 1)
            hfi_cond_wait(&h->changed, &h->lock);
        h->turn = 0;
        hfi_cond_broadcast(&h->changed);
        hfi_unlock(&h->lock);
    }
}

static void test_conditions(void **state)
{
    (void)state;
    struct handshake h = {.turn = 0};
    hfi_thread t;
    assert_int_equal(hfi_mutex_init(&h.lock, NULL), HF_OK);
    assert_int_equal(hfi_cond_init(&h.changed, NULL), HF_OK);
    assert_int_equal(hfi_thread_start(&t, "play", false, play, &h, NULL),
                     HF_OK);
    for (int i = 0; i < 200; i++) {
        hfi_lock(&h.lock);
        h.turn = 1;
        hfi_cond_signal(&h.changed);
        while (h.turn != 0)
            (void)hfi_cond_wait_ms(&h.changed, &h.lock, UINT64_MAX);
        hfi_unlock(&h.lock);
    }
    hfi_thread_join(&t);
    assert_int_equal(h.turn, 0);

    const uint64_t waits[] = {0, 1, 30, 1030};
    for (size_t i = 0; i < 4; i++) {
        uint64_t start = hfi_now_ns();
        hfi_lock(&h.lock);
        while (hfi_cond_wait_ms(&h.changed, &h.lock, waits[i]))
            continue;
        hfi_unlock(&h.lock);
        assert_true(hfi_now_ns() - start >= waits[i] * 1000000u);
    }
    hfi_cond_destroy(&h.changed);
    hfi_mutex_destroy(&h.lock);
}

struct writer {
    hfi_log *log;
    int count;
};

static void write_log(void *arg)
{
    const struct writer *w = arg;
    for (int i = 0; i < w->count; i++)
        hfi_logf(w->log, HFI_LOG_INFO, "w", "%d", i);
}

/* Every record is taken once or counted as dropped. */
static void test_log_threads(void **state)
{
    (void)state;
    enum { WRITERS = 3, EACH = 2000 };
    hfi_thread threads[WRITERS];
    struct writer w = {.count = EACH};
    hfi_log_opts opts = {.level = HFI_LOG_INFO, .capacity = 16};
    hfi_log_record r;
    unsigned long taken = 0;
    unsigned long dropped = 0;
    assert_int_equal(hfi_log_new(&w.log, NULL, &opts, NULL), HF_OK);
    for (int i = 0; i < WRITERS; i++)
        assert_int_equal(
            hfi_thread_start(&threads[i], "writer", false, write_log, &w, NULL),
            HF_OK);
    for (int i = 0; i < 2000; i++)
        if (hfi_log_next(w.log, &r)) {
            taken++;
            dropped += r.dropped;
        }
    for (int i = 0; i < WRITERS; i++)
        hfi_thread_join(&threads[i]);
    while (hfi_log_next(w.log, &r)) {
        taken++;
        dropped += r.dropped;
    }
    hfi_logf(w.log, HFI_LOG_INFO, "w", "last");
    assert_true(hfi_log_next(w.log, &r));
    dropped += r.dropped;
    assert_int_equal(taken + dropped, WRITERS * EACH);
    hfi_log_free(w.log);
}

/* ---- floating point ---------------------------------------------------- */

static void test_fenv(void **state)
{
    (void)state;
    hfi_fenv save;
    fenv_t home;
    volatile double least = DBL_MIN;
    assert_int_equal(fegetenv(&home), 0);
    spoil_fenv();
#if defined(__x86_64__)
    /* Single precision and a flag raised: bits that fesetenv forgets. */
    uint16_t control;
    uint16_t word = 0x007f;
    __asm__ __volatile__("fldcw %0" : : "m"(word));
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x20u);
    unsigned mxcsr = __builtin_ia32_stmxcsr();
#endif
    hfi_fenv_enter(&save);
    int inside = fegetround();
#if defined(__x86_64__)
    unsigned mxcsr_inside = __builtin_ia32_stmxcsr();
    uint16_t control_inside;
    __asm__ __volatile__("fnstcw %0" : "=m"(control_inside));
#endif
    least = least / 2;
    (void)fesetround(FE_DOWNWARD);
    hfi_fenv_leave(&save);
    int after = fegetround();
#if defined(__x86_64__)
    unsigned mxcsr_after = __builtin_ia32_stmxcsr();
    __asm__ __volatile__("fnstcw %0" : "=m"(control));
    uint16_t usual = 0x037f;
    __asm__ __volatile__("fldcw %0" : : "m"(usual));
#endif
    (void)fesetenv(&home);
    assert_int_equal(inside, FE_TONEAREST);
    assert_true(least > 0);
#if defined(__x86_64__)
    (void)after; /* read from the control word changed above */
    assert_int_equal(mxcsr_inside, 0x1f80);
    assert_int_equal(control_inside, 0x037f);
    assert_int_equal(mxcsr_after, mxcsr);
    assert_int_equal(control, word);
#else
    assert_int_equal(after, FE_UPWARD);
#endif
}

/* ---- events ------------------------------------------------------------ */

static bool readable(const hfi_event *e)
{
    struct pollfd p = {.fd = e->read_fd, .events = POLLIN};
    return poll(&p, 1, 0) == 1 && (p.revents & POLLIN) != 0;
}

static void check_event(void)
{
    hfi_event e;
    assert_int_equal(hfi_event_init(&e, NULL), HF_OK);
    const int fds[] = {e.read_fd, e.write_fd};
    for (size_t i = 0; i < 2; i++) {
        assert_true(fds[i] > 2);
        assert_true((fcntl(fds[i], F_GETFD) & FD_CLOEXEC) != 0);
        assert_true((fcntl(fds[i], F_GETFL) & O_NONBLOCK) != 0);
    }
    assert_false(readable(&e));
    hfi_event_clear(&e); /* must not wait */
    for (int round = 0; round < 3; round++) {
        hfi_event_set(&e);
        assert_true(readable(&e));
        hfi_event_set(&e);
        hfi_event_clear(&e);
        assert_false(readable(&e));
    }
    for (int i = 0; i < 100000; i++) /* more than a pipe holds */
        hfi_event_set(&e);
    assert_true(readable(&e));
    hfi_event_clear(&e);
    assert_false(readable(&e));
    hfi_event_destroy(&e);
    assert_int_equal(e.read_fd, -1);
    assert_int_equal(e.write_fd, -1);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(fcntl(fds[i], F_GETFD), -1);
    hfi_event_destroy(&e);
}

static void test_event(void **state)
{
    (void)state;
    check_event();
    no_eventfd = true;
    check_event();
    no_eventfd = false;
}

static void test_no_descriptors(void **state)
{
    (void)state;
    struct rlimit old;
    hfi_event e = {-1, -1};
    hf_error err = {0};
    hfi_file f = HFI_FILE_CLOSED;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    struct rlimit none = {.rlim_cur = 3, .rlim_max = old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    hf_status event = hfi_event_init(&e, &err);
    hf_status file = hfi_file_open(&f, "/dev/null", HFI_OPEN_READ, NULL);
    (void)setrlimit(RLIMIT_NOFILE, &old);
    assert_int_equal(event, HF_E_IO);
    assert_int_equal(err.os_code, EMFILE);
    assert_int_equal(e.read_fd, -1);
    assert_int_equal(file, HF_E_IO);
    assert_int_equal(f.fd, -1);
}

/* ---- randomness -------------------------------------------------------- */

static void check_random(void)
{
    uint8_t a[64] = {0};
    uint8_t b[64] = {0};
    assert_int_equal(hfi_random(a, sizeof a, NULL), HF_OK);
    assert_int_equal(hfi_random(b, sizeof b, NULL), HF_OK);
    assert_memory_not_equal(a, b, sizeof a);
    for (size_t i = 0; i < sizeof a; i += 8) /* filled to the end */
        assert_memory_not_equal(a + i, "\0\0\0\0\0\0\0\0", 8);
    memset(a, 0, sizeof a);
    assert_int_equal(hfi_random(a, 9, NULL), HF_OK);
    for (size_t i = 9; i < sizeof a; i++) /* and no further */
        assert_int_equal(a[i], 0);
}

static void test_random(void **state)
{
    (void)state;
    hf_error err;
    uint8_t a[8];
    check_random();
    getrandom_code = EINTR;
    check_random();
    getrandom_code = ENOSYS; /* from the device */
    check_random();
    getrandom_code = EIO;
    assert_int_equal(hfi_random(a, sizeof a, &err), HF_E_IO);
    assert_int_equal(err.os_code, EIO);
    getrandom_code = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_thread),
        cmocka_unit_test(test_thread_not_batch),
        cmocka_unit_test(test_threads_without_memory),
        cmocka_unit_test(test_conditions),
        cmocka_unit_test(test_log_threads),
        cmocka_unit_test(test_fenv),
        cmocka_unit_test(test_event),
        cmocka_unit_test(test_no_descriptors),
        cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests_name("base thread", tests, NULL, NULL);
}

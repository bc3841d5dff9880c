/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * thread.c: locks, threads, events, the floating-point environment.
 *
 * Invariant: a thread of ours never runs a signal handler of the host and
 * computes with the default floating-point environment, whatever the thread
 * that started it had set.
 */
#include "base/internal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/eventfd.h>
#endif

#define STACK_BYTES ((size_t)1 << 20)

/* An error here is a fault of ours: the objects are valid by contract. */
static void must(int rc)
{
    assert(rc == 0);
    (void)rc;
}

static hf_status made(int rc, const char *what, hf_error *err)
{
    if (rc == 0)
        return HF_OK;
    return hfi_error_os(err, rc == ENOMEM ? HF_E_MEMORY : HF_E_BUSY, rc,
                        "cannot make a %s", what);
}

hf_status hfi_mutex_init(hfi_mutex *m, hf_error *err)
{
    return made(pthread_mutex_init(&m->m, NULL), "mutex", err);
}

void hfi_mutex_destroy(hfi_mutex *m)
{
    must(pthread_mutex_destroy(&m->m));
}

void hfi_lock(hfi_mutex *m)
{
    must(pthread_mutex_lock(&m->m));
}

void hfi_unlock(hfi_mutex *m)
{
    must(pthread_mutex_unlock(&m->m));
}

hf_status hfi_cond_init(hfi_cond *c, hf_error *err)
{
    pthread_condattr_t attr;
    int rc = pthread_condattr_init(&attr);
    if (rc != 0)
        return made(rc, "condition", err);
#if !defined(__APPLE__)
    rc = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
#endif
    if (rc == 0)
        rc = pthread_cond_init(&c->c, &attr);
    (void)pthread_condattr_destroy(&attr);
    return made(rc, "condition", err);
}

void hfi_cond_destroy(hfi_cond *c)
{
    must(pthread_cond_destroy(&c->c));
}

void hfi_cond_wait(hfi_cond *c, hfi_mutex *m)
{
    must(pthread_cond_wait(&c->c, &m->m));
}

bool hfi_cond_wait_ms(hfi_cond *c, hfi_mutex *m, uint64_t timeout_ms)
{
    /* 30 years stand for ever and keep the sum in range. */
    const uint64_t most_ms = UINT64_C(1000000000000);
    struct timespec at = {0};
    int rc;
    if (timeout_ms > most_ms)
        timeout_ms = most_ms;
#if defined(__APPLE__)
    at.tv_sec = (time_t)(timeout_ms / 1000);
    at.tv_nsec = (long)(timeout_ms % 1000) * 1000000;
    rc = pthread_cond_timedwait_relative_np(&c->c, &m->m, &at);
#else
    must(clock_gettime(CLOCK_MONOTONIC, &at));
    at.tv_sec += (time_t)(timeout_ms / 1000);
    at.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
    if (at.tv_nsec >= 1000000000) {
        at.tv_nsec -= 1000000000;
        at.tv_sec++;
    }
    rc = pthread_cond_timedwait(&c->c, &m->m, &at);
#endif
    assert(rc == 0 || rc == ETIMEDOUT);
    return rc == 0;
}

void hfi_cond_signal(hfi_cond *c)
{
    must(pthread_cond_signal(&c->c));
}

void hfi_cond_broadcast(hfi_cond *c)
{
    must(pthread_cond_broadcast(&c->c));
}

/* ---- floating point ---------------------------------------------------- */

/*
 * By hand: fesetenv of the C library leaves precision control and the denormal
 * bits of MXCSR partly as they were, and here "as found" means every bit.
 */
#if defined(__x86_64__)

struct x86_env {
    uint8_t x87[28];
    uint32_t mxcsr;
};

#define MXCSR_DEFAULT 0x1f80u /* all masked, to nearest, no FTZ, no DAZ */

_Static_assert(sizeof(struct x86_env) <= sizeof(hfi_fenv), "fenv size");

void hfi_fenv_enter(hfi_fenv *save)
{
    struct x86_env *e = (struct x86_env *)(void *)save;
    const uint32_t mxcsr = MXCSR_DEFAULT;
    __asm__ __volatile__("fnstenv %0\n\tstmxcsr %1\n\tfninit\n\tldmxcsr %2"
                         : "=m"(e->x87), "=m"(e->mxcsr)
                         : "m"(mxcsr)
                         : "memory");
}

void hfi_fenv_leave(const hfi_fenv *save)
{
    const struct x86_env *e = (const struct x86_env *)(const void *)save;
    __asm__ __volatile__("fldenv %0\n\tldmxcsr %1"
                         :
                         : "m"(e->x87), "m"(e->mxcsr)
                         : "memory");
}

#elif defined(__aarch64__)

void hfi_fenv_enter(hfi_fenv *save)
{
    const uint64_t none = 0; /* to nearest, no flush to zero, no traps */
    __asm__ __volatile__("mrs %0, fpcr\n\tmrs %1, fpsr\n\t"
                         "msr fpcr, %2\n\tmsr fpsr, %2"
                         : "=&r"(save->opaque[0]), "=&r"(save->opaque[1])
                         : "r"(none)
                         : "memory");
}

void hfi_fenv_leave(const hfi_fenv *save)
{
    __asm__ __volatile__("msr fpcr, %0\n\tmsr fpsr, %1"
                         :
                         : "r"(save->opaque[0]), "r"(save->opaque[1])
                         : "memory");
}

#else

_Static_assert(sizeof(fenv_t) <= sizeof(hfi_fenv), "fenv size");

void hfi_fenv_enter(hfi_fenv *save)
{
    fenv_t env;
    (void)fegetenv(&env);
    memcpy(save->opaque, &env, sizeof env);
    (void)fesetenv(FE_DFL_ENV);
}

void hfi_fenv_leave(const hfi_fenv *save)
{
    fenv_t env;
    memcpy(&env, save->opaque, sizeof env);
    (void)fesetenv(&env);
}

#endif

/* ---- threads ----------------------------------------------------------- */

/*
 * Lives on the stack of the starting thread, which waits until it was read:
 * a thread can so be started without an allocation of ours.
 */
struct start {
    hfi_mutex lock;
    hfi_cond read;
    bool was_read;
    char name[16];
    bool batch;
    void (*run)(void *arg);
    void *arg;
};

static void name_thread(const char *name)
{
#if defined(__APPLE__)
    (void)pthread_setname_np(name);
#else
    (void)pthread_setname_np(pthread_self(), name);
#endif
}

/* The nice value stays. A host that runs idle keeps its workers idle. */
static void ask_for_batch(void)
{
#if defined(SCHED_BATCH)
    const struct sched_param none = {0};
    int policy = sched_getscheduler(0);
#if defined(SCHED_IDLE)
    if (policy == SCHED_IDLE)
        return;
#endif
    if (policy >= 0)
        (void)sched_setscheduler(0, SCHED_BATCH, &none);
#endif
}

static void *thread_main(void *start)
{
    struct start *s = start;
    void (*run)(void *arg) = s->run;
    void *arg = s->arg;
    hfi_fenv hosts; /* inherited by the new thread, of no use to it */

    hfi_fenv_enter(&hosts);
    name_thread(s->name);
    if (s->batch)
        ask_for_batch();
    hfi_lock(&s->lock);
    s->was_read = true;
    hfi_cond_signal(&s->read);
    hfi_unlock(&s->lock);
    run(arg);
    return NULL;
}

/* All signals are blocked around it: the new thread inherits the mask. */
static int create_blocked(hfi_thread *t, const pthread_attr_t *attr,
                          struct start *s)
{
    sigset_t all;
    sigset_t old;
    (void)sigfillset(&all);
    int rc = pthread_sigmask(SIG_SETMASK, &all, &old);
    if (rc != 0)
        return rc;
    rc = pthread_create(&t->t, attr, thread_main, s);
    must(pthread_sigmask(SIG_SETMASK, &old, NULL));
    return rc;
}

static int create(hfi_thread *t, struct start *s)
{
    pthread_attr_t attr;
    int rc = pthread_attr_init(&attr);
    if (rc != 0)
        return rc;
    rc = pthread_attr_setstacksize(&attr, STACK_BYTES);
    if (rc == 0)
        rc = create_blocked(t, &attr, s);
    (void)pthread_attr_destroy(&attr);
    return rc;
}

hf_status hfi_thread_start(hfi_thread *t, const char *name, bool batch,
                           void (*run)(void *arg), void *arg, hf_error *err)
{
    struct start s = {.batch = batch, .run = run, .arg = arg};
    (void)snprintf(s.name, sizeof s.name, "%s", name);
    hf_status status = hfi_mutex_init(&s.lock, err);
    if (status != HF_OK)
        return status;
    status = hfi_cond_init(&s.read, err);
    if (status != HF_OK) {
        hfi_mutex_destroy(&s.lock);
        return status;
    }
    hfi_thread made_thread;
    int rc = create(&made_thread, &s);
    if (rc == 0) {
        hfi_lock(&s.lock);
        while (!s.was_read)
            hfi_cond_wait(&s.read, &s.lock);
        hfi_unlock(&s.lock);
        *t = made_thread;
    } else
        status = hfi_error_os(err, rc == ENOMEM ? HF_E_MEMORY : HF_E_BUSY, rc,
                              "cannot start the thread %s", name);
    hfi_cond_destroy(&s.read);
    hfi_mutex_destroy(&s.lock);
    return status;
}

void hfi_thread_join(hfi_thread *t)
{
    must(pthread_join(t->t, NULL));
}

/* ---- events ------------------------------------------------------------ */

static void close_both(int fds[2])
{
    if (fds[0] >= 0)
        (void)close(fds[0]);
    if (fds[1] >= 0)
        (void)close(fds[1]);
}

static int open_pipe(int fds[2])
{
#if defined(__linux__)
    return pipe2(fds, O_CLOEXEC | O_NONBLOCK);
#else
    if (pipe(fds) != 0)
        return -1;
    for (int i = 0; i < 2; i++)
        if (fcntl(fds[i], F_SETFD, FD_CLOEXEC) != 0 ||
            fcntl(fds[i], F_SETFL, O_NONBLOCK) != 0) {
            int code = errno;
            close_both(fds);
            errno = code;
            return -1;
        }
    return 0;
#endif
}

static hf_status init_pipe(hfi_event *e, hf_error *err)
{
    int fds[2];
    if (open_pipe(fds) != 0)
        return hfi_error_os(err, hfi_status_of_errno(errno), errno,
                            "cannot make an event descriptor");
    for (int i = 0; i < 2; i++) {
        fds[i] = hfi_fd_above_stdio(fds[i]);
        if (fds[i] < 0) {
            int code = errno;
            close_both(fds);
            return hfi_error_os(err, hfi_status_of_errno(code), code,
                                "cannot make an event descriptor");
        }
    }
    e->read_fd = fds[0];
    e->write_fd = fds[1];
    return HF_OK;
}

hf_status hfi_event_init(hfi_event *e, hf_error *err)
{
#if defined(__linux__)
    int fd = hfi_fd_above_stdio(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (fd >= 0) {
        e->read_fd = e->write_fd = fd;
        return HF_OK;
    }
#endif
    return init_pipe(e, err);
}

void hfi_event_destroy(hfi_event *e)
{
    int fds[2] = {e->read_fd, e->write_fd == e->read_fd ? -1 : e->write_fd};
    close_both(fds);
    e->read_fd = e->write_fd = -1;
}

/* EAGAIN means full, which is set already. */
void hfi_event_set(hfi_event *e)
{
    const uint64_t one = 1;
    size_t bytes = e->read_fd == e->write_fd ? sizeof one : 1;
    while (write(e->write_fd, &one, bytes) < 0 && errno == EINTR)
        continue;
}

void hfi_event_clear(hfi_event *e)
{
    uint64_t sink[32];
    size_t bytes = e->read_fd == e->write_fd ? sizeof sink[0] : sizeof sink;
    ssize_t n;
    do
        n = read(e->read_fd, sink, bytes);
    while (n > 0 || (n < 0 && errno == EINTR));
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * clock.c: time and process number.
 */
#include "base/base.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

uint64_t hfi_now_ns(void)
{
    struct timespec t = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t hfi_wall_ms(void)
{
    struct timespec t = {0};
    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000u + (uint64_t)t.tv_nsec / 1000000u;
}

void hfi_sleep_ms(uint64_t ms)
{
    const uint64_t most_s = UINT64_C(1000000000);
    struct timespec left = {
        .tv_sec = (time_t)(ms / 1000 < most_s ? ms / 1000 : most_s),
        .tv_nsec = (long)(ms % 1000) * 1000000,
    };
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        continue;
}

uint64_t hfi_pid(void)
{
    return (uint64_t)getpid();
}

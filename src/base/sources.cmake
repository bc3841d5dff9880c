# SPDX-License-Identifier: Apache-2.0 OR MIT
list(APPEND HF_SOURCES
    src/base/error.c
    src/base/alloc.c
    src/base/cursor.c
    src/base/text.c
    src/base/file.c
    src/base/lock.c
    src/base/thread.c
    src/base/clock.c
    src/base/rand.c
    src/base/log.c
    src/base/cpu.c
    src/base/machine.c
    src/base/json.c
)

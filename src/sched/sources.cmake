# SPDX-License-Identifier: Apache-2.0 OR MIT
list(APPEND HF_SOURCES src/sched/budget.c src/sched/completion.c
    src/sched/job.c src/sched/loop.c src/sched/pool.c)

# SPDX-License-Identifier: Apache-2.0 OR MIT
list(APPEND HF_SOURCES src/backend/cpu.c)

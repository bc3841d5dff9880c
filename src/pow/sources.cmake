# SPDX-License-Identifier: Apache-2.0 OR MIT
list(APPEND HF_SOURCES
    src/pow/engine.c
    src/pow/pow.c
    src/pow/search.c)

# SPDX-License-Identifier: Apache-2.0 OR MIT
list(APPEND HF_SOURCES src/space/layout.c src/space/meta.c
    src/space/sidecar.c src/space/proof.c)

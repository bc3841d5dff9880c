# SPDX-License-Identifier: Apache-2.0 OR MIT
list(APPEND HF_SOURCES src/space/layout.c src/space/meta.c
    src/space/sidecar.c src/space/proof.c src/space/proof_json.c
    src/space/judge.c src/space/verify.c src/space/prove.c
    src/space/prove_data.c src/space/prove_scan.c)

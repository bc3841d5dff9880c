# SPDX-License-Identifier: Apache-2.0 OR MIT
list(APPEND HF_SOURCES
    src/space/layout.c src/space/meta.c src/space/sidecar.c
    src/space/init.c src/space/init_calls.c src/space/init_plan.c
    src/space/init_check.c src/space/init_files.c
    src/space/nonce.c src/space/bench.c src/space/warm.c
    src/space/labels.c src/space/check.c
    src/space/proof.c src/space/proof_json.c src/space/judge.c
    src/space/verify.c
    src/space/prove.c src/space/prove_data.c src/space/prove_scan.c)

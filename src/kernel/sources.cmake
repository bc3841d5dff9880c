# SPDX-License-Identifier: Apache-2.0 OR MIT
# ISA flags are set here and nowhere else; HF_PORTABLE leaves every vector
# variant out.
list(APPEND HF_SOURCES
    src/kernel/select.c
    src/kernel/label_portable.c
    src/kernel/aes_portable.c)

if(HF_PORTABLE)
    set_source_files_properties(src/kernel/select.c PROPERTIES
        COMPILE_DEFINITIONS HFI_PORTABLE_ONLY)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
    # The .S files are written by tools/gen_label_asm.py.
    enable_language(ASM)
    list(APPEND HF_SOURCES
        src/kernel/label_sse2.c
        src/kernel/label_avx2.c
        src/kernel/label_avx2.S
        src/kernel/label_avx512.c
        src/kernel/label_avx512.S
        src/kernel/aes_ni.c)
    set_source_files_properties(src/kernel/label_sse2.c PROPERTIES
        COMPILE_OPTIONS "-O3;-msse2")
    set_source_files_properties(src/kernel/label_avx2.c PROPERTIES
        COMPILE_OPTIONS "-O3;-mavx2")
    set_source_files_properties(src/kernel/label_avx512.c PROPERTIES
        COMPILE_OPTIONS
        "-O3;-mavx2;-mavx512f;-mavx512dq;-mavx512bw;-mavx512vl")
    set_source_files_properties(src/kernel/aes_ni.c PROPERTIES
        COMPILE_OPTIONS "-O3;-msse4.1;-maes")
endif()

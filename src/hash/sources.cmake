# SPDX-License-Identifier: Apache-2.0 OR MIT
list(APPEND HF_SOURCES src/hash/blake3.c src/hash/crc32c.c)
if(NOT HF_PORTABLE AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    list(APPEND HF_SOURCES src/hash/crc32c_sse42.c)
    set_source_files_properties(src/hash/crc32c_sse42.c PROPERTIES
        COMPILE_OPTIONS "-msse4.2;-mpclmul")
    set_source_files_properties(src/hash/crc32c.c PROPERTIES
        COMPILE_DEFINITIONS HFI_CRC32C_SSE42)
endif()

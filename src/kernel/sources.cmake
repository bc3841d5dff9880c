# SPDX-License-Identifier: Apache-2.0 OR MIT
# ISA flags are set here and nowhere else; HF_PORTABLE leaves every vector
# variant out.
list(APPEND HF_SOURCES
    src/kernel/select.c
    src/kernel/label_portable.c
    src/kernel/aes_portable.c)
set_source_files_properties(src/kernel/select.c PROPERTIES
    COMPILE_DEFINITIONS HFI_PORTABLE_ONLY)

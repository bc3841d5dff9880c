# SPDX-License-Identifier: Apache-2.0 OR MIT
# Warnings and sanitizers for every target of ours.
function(hf_warnings target)
    target_compile_options(${target} PRIVATE
        -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes
        -Wmissing-prototypes -Wpointer-arith -Wcast-qual -Wvla
        -Wwrite-strings -Wconversion -Wno-sign-conversion)
    if(HF_WERROR)
        target_compile_options(${target} PRIVATE -Werror)
    endif()
endfunction()

if(HF_SANITIZE)
    add_compile_options(-fsanitize=${HF_SANITIZE} -fno-omit-frame-pointer
        -fno-sanitize-recover=all -g -O1)
    add_link_options(-fsanitize=${HF_SANITIZE})
endif()

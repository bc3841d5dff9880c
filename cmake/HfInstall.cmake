# SPDX-License-Identifier: Apache-2.0 OR MIT
# What `cmake --install` lays down, in components that become packages: the
# libraries, their headers, pkg-config files and CMake package files, the tools
# and their manuals, documents and licences. With HF_CARRY installed files look
# for the outside libraries beside them, by run paths from $ORIGIN.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(HF_MODULES ${CMAKE_SOURCE_DIR}/cmake)

# The files find their prefix from where they lie, so the tree may be moved.
file(RELATIVE_PATH HF_PC_PREFIX
    /x/${CMAKE_INSTALL_LIBDIR}/pkgconfig /x)

# hf_package(NAME COMPONENT): NAME.pc and the package file NAME-config.cmake
function(hf_package name component)
    set(folder ${CMAKE_INSTALL_LIBDIR}/cmake/${name})
    configure_file(${HF_MODULES}/${name}.pc.in
        ${CMAKE_BINARY_DIR}/${name}.pc @ONLY)
    install(FILES ${CMAKE_BINARY_DIR}/${name}.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT ${component})
    configure_package_config_file(${HF_MODULES}/${name}-config.cmake.in
        ${CMAKE_BINARY_DIR}/${name}-config.cmake INSTALL_DESTINATION ${folder}
        PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR
        NO_CHECK_REQUIRED_COMPONENTS_MACRO)
    write_basic_package_version_file(
        ${CMAKE_BINARY_DIR}/${name}-config-version.cmake
        COMPATIBILITY SameMinorVersion)
    install(FILES ${CMAKE_BINARY_DIR}/${name}-config.cmake
        ${CMAKE_BINARY_DIR}/${name}-config-version.cmake
        DESTINATION ${folder} COMPONENT ${component})
endfunction()

# ---- libholdfast -------------------------------------------------------------

install(TARGETS holdfast_shared
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libholdfast
    NAMELINK_COMPONENT libholdfast-dev)
install(TARGETS holdfast_static
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libholdfast-dev)
install(DIRECTORY include/holdfast DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    COMPONENT libholdfast-dev FILES_MATCHING PATTERN "*.h")
hf_package(holdfast libholdfast-dev)
if(HF_CARRY)
    set_target_properties(holdfast_shared PROPERTIES INSTALL_RPATH "$ORIGIN")
endif()

# ---- libpost -----------------------------------------------------------------

# The shared form looks beside itself in any case.
if(TARGET post)
    install(TARGETS post
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libpost)
    install(FILES ${CMAKE_ARCHIVE_OUTPUT_DIRECTORY}/libpost.a
        DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libpost-dev)
    install(FILES compat/libpost/post.h compat/libpost/holdfast_post.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT libpost-dev)
    hf_package(post libpost-dev)
endif()

# ---- tools and documents -----------------------------------------------------

foreach(tool holdfast postcli)
    if(TARGET ${tool})
        install(TARGETS ${tool}
            RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT holdfast)
        install(FILES docs/man/${tool}.1
            DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT holdfast)
        if(HF_CARRY)
            set_target_properties(${tool} PROPERTIES
                INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
        endif()
    endif()
endforeach()
install(FILES LICENSE LICENSES/Apache-2.0.txt LICENSES/MIT.txt README.md
    CHANGELOG.md docs/compat.md docs/formats.md docs/jobs.md compat/QUIRKS.md
    DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT holdfast)

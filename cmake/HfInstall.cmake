# SPDX-License-Identifier: Apache-2.0 OR MIT
# What `cmake --install` lays down: libraries, headers, the tool and its manual,
# a pkg-config file, and a package file so that find_package(holdfast) gives
# the target holdfast::holdfast (the shared library).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set_target_properties(holdfast_shared PROPERTIES EXPORT_NAME holdfast)
install(TARGETS holdfast_shared EXPORT holdfast
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS holdfast_static
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/holdfast DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    FILES_MATCHING PATTERN "*.h")
if(TARGET holdfast)
    install(TARGETS holdfast RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    install(FILES docs/man/holdfast.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endif()

set(HF_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/holdfast)
install(EXPORT holdfast NAMESPACE holdfast:: FILE holdfast-config.cmake
    DESTINATION ${HF_PACKAGE_DIR})
write_basic_package_version_file(
    ${CMAKE_BINARY_DIR}/holdfast-config-version.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/holdfast-config-version.cmake
    DESTINATION ${HF_PACKAGE_DIR})

# The file finds its prefix from where it lies, so the tree may be moved.
file(RELATIVE_PATH HF_PC_PREFIX
    /x/${CMAKE_INSTALL_LIBDIR}/pkgconfig /x)
configure_file(cmake/holdfast.pc.in ${CMAKE_BINARY_DIR}/holdfast.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/holdfast.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

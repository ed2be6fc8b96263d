# The CMake package, and what is installed where. The build tree gets the same layout as an installed prefix, so that `mneme`
# and find_package(mneme) work from both (mneme/cli/installation.h).
include(CMakePackageConfigHelpers)
set(package ${CMAKE_BINARY_DIR}/lib/cmake/mneme)
configure_file(cmake/mneme-config.cmake ${package}/mneme-config.cmake @ONLY)
write_basic_package_version_file(${package}/mneme-config-version.cmake COMPATIBILITY SameMinorVersion)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/include/mneme)
file(CREATE_LINK ${CMAKE_SOURCE_DIR}/mneme/abi ${CMAKE_BINARY_DIR}/include/mneme/abi SYMBOLIC)
file(CREATE_LINK ${CMAKE_SOURCE_DIR}/mneme/abi/annotate.h ${CMAKE_BINARY_DIR}/include/mneme/annotate.h SYMBOLIC)

install(FILES ${package}/mneme-config.cmake ${package}/mneme-config-version.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/mneme)
set_target_properties(mneme PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")
install(TARGETS mneme DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY examples/ DESTINATION ${CMAKE_INSTALL_DATADIR}/mneme/examples)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/mneme)

# Test executables that need a GPU are named by set_property(GLOBAL APPEND PROPERTY MNEME_GPU_TESTS <target>): scripts/make-dist
# packs them, and bin/mneme-check-gpu of the package runs them.
get_property(gpu_tests GLOBAL PROPERTY MNEME_GPU_TESTS)
list(JOIN gpu_tests "\n" gpu_tests)
file(WRITE ${CMAKE_BINARY_DIR}/gpu-tests.txt "${gpu_tests}\n")

# The CMake package, and what is installed where. The build tree gets the same layout as an installed prefix, so that `mneme`
# and find_package(mneme) work from both (mneme/cli/installation.h).
include(CMakePackageConfigHelpers)
set(package ${CMAKE_BINARY_DIR}/lib/cmake/mneme)
configure_file(cmake/mneme-config.cmake ${package}/mneme-config.cmake COPYONLY)
write_basic_package_version_file(${package}/mneme-config-version.cmake COMPATIBILITY SameMinorVersion)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/include/mneme)
file(CREATE_LINK ${CMAKE_SOURCE_DIR}/mneme/abi ${CMAKE_BINARY_DIR}/include/mneme/abi SYMBOLIC)

install(FILES ${package}/mneme-config.cmake ${package}/mneme-config-version.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/mneme)
set_target_properties(mneme PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")
install(TARGETS mneme DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY examples/ DESTINATION ${CMAKE_INSTALL_DATADIR}/mneme/examples)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/mneme)

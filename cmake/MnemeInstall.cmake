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

# The pages of the manual and the scripts for shells, as the command writes them. In a Python package they go to the environment's
# own share, where man and shells look.
set(documents ${CMAKE_BINARY_DIR}/documents)
add_custom_command(OUTPUT ${documents}/man/man1/mneme.1 COMMAND ${CMAKE_COMMAND} -E rm -rf ${documents}
  COMMAND mneme documents ${documents} DEPENDS mneme COMMENT "Writing the pages of the manual and the scripts for shells" VERBATIM)
set(pages ${documents}/man/man1/mneme.1)
# Those of the package's commands, where it is built with what they import.
if(NOT SKBUILD)
  foreach(command tune report)
    set(page ${documents}/man/man1/mneme-${command}.1)
    add_custom_command(OUTPUT ${page}
      COMMAND ${CMAKE_COMMAND} -E env PYTHONPATH=${CMAKE_BINARY_DIR}/python PYTHONDONTWRITEBYTECODE=1
        ${Python_EXECUTABLE} -m mneme.${command} --manual-page > ${page}
      DEPENDS ${documents}/man/man1/mneme.1 mneme_python ${CMAKE_SOURCE_DIR}/python/mneme/_help.py
        ${CMAKE_SOURCE_DIR}/python/mneme/${command}/command.py
      COMMENT "Writing the page of the manual of mneme ${command}" VERBATIM)
    list(APPEND pages ${page})
  endforeach()
endif()
add_custom_target(mneme_documents ALL DEPENDS ${pages})
if(SKBUILD)
  install(DIRECTORY ${documents}/ DESTINATION ${SKBUILD_DATA_DIR}/share)
else()
  install(DIRECTORY ${documents}/ DESTINATION ${CMAKE_INSTALL_DATADIR})
endif()

# Test executables that need a GPU are named by set_property(GLOBAL APPEND PROPERTY MNEME_GPU_TESTS <target>): scripts/make-dist
# packs them, and bin/mneme-check-gpu of the package runs them.
get_property(gpu_tests GLOBAL PROPERTY MNEME_GPU_TESTS)
list(JOIN gpu_tests "\n" gpu_tests)
file(WRITE ${CMAKE_BINARY_DIR}/gpu-tests.txt "${gpu_tests}\n")
# Those that need an AMD GPU, likewise.
get_property(hip_gpu_tests GLOBAL PROPERTY MNEME_HIP_GPU_TESTS)
list(JOIN hip_gpu_tests "\n" hip_gpu_tests)
file(WRITE ${CMAKE_BINARY_DIR}/hip-gpu-tests.txt "${hip_gpu_tests}\n")

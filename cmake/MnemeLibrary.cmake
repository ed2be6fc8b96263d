# The C++ API: find_package(mneme COMPONENTS api) gives mneme::mneme, the static libraries of the rooms behind "mneme/pool/pool.h"
# with their headers. What they need from elsewhere is found by mneme-config.cmake.
set(api_rooms base snapshot store device ir compile replay pool)
add_library(mneme_api INTERFACE)
set_target_properties(mneme_api PROPERTIES EXPORT_NAME mneme)
set(api_targets mneme_api mneme_warnings mneme_llvm mneme_zstd mneme_xxhash mneme_cuda_headers)
foreach(room IN LISTS api_rooms)
  list(APPEND api_targets mneme_${room})
  target_link_libraries(mneme_api INTERFACE mneme_${room})
  install(DIRECTORY mneme/${room}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/mneme/${room} FILES_MATCHING PATTERN "*.h"
    REGEX "/(testing|conformance|cuda|cpu|fake|nvptx)$" EXCLUDE)
endforeach()
install(TARGETS ${api_targets} EXPORT mneme-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/mneme)
install(EXPORT mneme-targets NAMESPACE mneme:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/mneme)
export(EXPORT mneme-targets NAMESPACE mneme:: FILE ${package}/mneme-targets.cmake)

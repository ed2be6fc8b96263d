# mneme_precompile(<target> [<header>...]) compiles headers from outside the project once for the target, not once for each source.
# Every source names what it includes all the same: -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON builds without.
function(mneme_precompile target)
  target_precompile_headers(${target} PRIVATE <algorithm> <atomic> <chrono> <cmath> <cstdint> <cstring> <filesystem> <fstream> <functional>
    <map> <memory> <mutex> <optional> <set> <span> <sstream> <string> <string_view> <thread> <unordered_map> <utility> <vector> <fmt/format.h>
    <fmt/ranges.h> ${ARGN})
  target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")  # ccache goes by contents
endfunction()

# mneme_room(NAME <room> [SOURCES <file>...] [DEPS <room>...] [LIBRARIES <target>...] [TEST_DEPS <target>...] [TESTS <file>...])
#
# Declares one room: a static library mneme_<room> and, from the *_test.cc files that stand beside its sources, one test
# executable mneme_<room>_test. Headers are included as "mneme/<room>/<file>.h". Every room has an include root of its own
# (a folder of the build that holds nothing but a link to the room), so a room that is not in DEPS cannot be included.
#   DEPS       rooms whose headers this room may include (theirs come along)
#   LIBRARIES  libraries from outside the project, private to the room's sources
#   TESTS      the test sources; default: every *_test.cc in the room's folder
#   TEST_DEPS  what only the tests link
#   FLAGS      compile options of the sources and tests
#   PRECOMPILE headers from outside the project that most sources include, beside those that all rooms precompile
function(mneme_room)
  cmake_parse_arguments(ROOM "" "NAME" "SOURCES;DEPS;LIBRARIES;TESTS;TEST_DEPS;FLAGS;PRECOMPILE" ${ARGN})
  set(root ${CMAKE_BINARY_DIR}/rooms/${ROOM_NAME})
  file(MAKE_DIRECTORY ${root}/mneme)
  file(CREATE_LINK ${CMAKE_SOURCE_DIR}/mneme/${ROOM_NAME} ${root}/mneme/${ROOM_NAME} SYMBOLIC)

  set(target mneme_${ROOM_NAME})
  list(TRANSFORM ROOM_DEPS PREPEND mneme_ OUTPUT_VARIABLE deps)
  if(ROOM_SOURCES)
    add_library(${target} STATIC ${ROOM_SOURCES})
    target_include_directories(${target} PUBLIC ${root})
    target_link_libraries(${target} PUBLIC ${deps} PRIVATE ${ROOM_LIBRARIES} mneme_warnings)
    target_compile_options(${target} PRIVATE ${ROOM_FLAGS})
    mneme_precompile(${target} ${ROOM_PRECOMPILE})
  else()
    add_library(${target} INTERFACE)
    target_include_directories(${target} INTERFACE ${root})
    target_link_libraries(${target} INTERFACE ${deps})
  endif()

  if(NOT ROOM_TESTS)
    file(GLOB ROOM_TESTS CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_test.cc)
  endif()
  if(ROOM_TESTS AND BUILD_TESTING)
    add_executable(${target}_test ${ROOM_TESTS})
    target_link_libraries(${target}_test PRIVATE ${target} ${ROOM_LIBRARIES} ${ROOM_TEST_DEPS} mneme_warnings GTest::gtest GTest::gmock GTest::gtest_main)
    target_compile_options(${target}_test PRIVATE -O0 ${ROOM_FLAGS})  # tests are compiled more often than they run
    mneme_precompile(${target}_test <gmock/gmock.h> <gtest/gtest.h> ${ROOM_PRECOMPILE})
    gtest_discover_tests(${target}_test TEST_PREFIX ${ROOM_NAME}. DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 300)
  endif()
endfunction()

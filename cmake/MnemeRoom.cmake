# mneme_precompile(<target> [<header>...]) compiles headers from outside the project once for the target, not once for each source.
# Every source names what it includes all the same: -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON builds without.
function(mneme_precompile target)
  target_precompile_headers(${target} PRIVATE <algorithm> <atomic> <chrono> <cmath> <cstdint> <cstring> <filesystem> <fstream> <functional>
    <map> <memory> <mutex> <optional> <set> <span> <sstream> <string> <string_view> <thread> <unordered_map> <utility> <vector> <fmt/format.h>
    <fmt/ranges.h> ${ARGN})
  target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")  # ccache goes by contents
endfunction()

# mneme_room_root(<room> <variable>) makes the include root of a room: a folder of the build in which "mneme/<room>" is the room's
# headers and no others, and sets the variable to it. A folder within the room that has a CMakeLists.txt is a room of its own, and
# left out.
function(mneme_room_root room variable)
  string(REPLACE "/" "." name ${room})
  set(folder ${CMAKE_SOURCE_DIR}/mneme/${room})
  set(root ${CMAKE_BINARY_DIR}/rooms/${name})
  set(place ${root}/mneme/${room})
  if(IS_SYMLINK ${place})
    file(REMOVE ${place})  # not what it points to
  endif()
  file(REMOVE_RECURSE ${root})
  get_filename_component(above ${place} DIRECTORY)
  file(MAKE_DIRECTORY ${above})
  file(GLOB within CONFIGURE_DEPENDS ${folder}/*/CMakeLists.txt)
  if(within)
    file(GLOB entries CONFIGURE_DEPENDS LIST_DIRECTORIES true ${folder}/*)
    file(MAKE_DIRECTORY ${place})
    foreach(entry IN LISTS entries)
      get_filename_component(entry_name ${entry} NAME)
      if((IS_DIRECTORY ${entry} AND NOT EXISTS ${entry}/CMakeLists.txt) OR entry_name MATCHES "\\.(h|inc)$")
        file(CREATE_LINK ${entry} ${place}/${entry_name} SYMBOLIC)
      endif()
    endforeach()
  else()
    file(CREATE_LINK ${folder} ${place} SYMBOLIC)
  endif()
  set(${variable} ${root} PARENT_SCOPE)
endfunction()

# mneme_use_headers(<target> <room>...): the target may include headers of the rooms, whose code it has from elsewhere (libmneme.so).
function(mneme_use_headers target)
  foreach(room IN LISTS ARGN)
    string(REPLACE "/" "." name ${room})
    target_include_directories(${target} PRIVATE ${CMAKE_BINARY_DIR}/rooms/${name})
  endforeach()
endfunction()

# mneme_room(NAME <room> [SOURCES <file>...] [DEPS <room>...] [LIBRARIES <target>...] [TEST_DEPS <target>...] [TESTS <file>...]
#            [TABLE <file> [TABLE_ROOMS <room>...]] [PRECOMPILED_AS <room>])
#
# Declares one room: a static library mneme_<room> and, from the *_test.cc files that stand beside its sources, one test
# executable mneme_<room>_test. Headers are included as "mneme/<room>/<file>.h". Every room has an include root of its own
# (mneme_room_root), so a room that is not in DEPS cannot be included.
#
# A room may have rooms within, in folders with a CMakeLists.txt: mneme_room(NAME device/cuda ...) makes mneme_device_cuda and
# mneme_device_cuda_test, whose tests are named device.cuda.*. It names the outer room in DEPS as any other. Who has not named it cannot
# include it, and neither can the outer room, but for the one source that is its TABLE, from which the rooms within are reached.
# What links the outer room links those within (mneme_rooms_within).
#   DEPS       rooms whose headers this room may include (theirs come along)
#   LIBRARIES  libraries from outside the project, private to the room's sources
#   TESTS      the test sources; default: every *_test.cc in the room's folder
#   TEST_DEPS  what only the tests link
#   FLAGS      compile options of the sources and tests
#   PRECOMPILE headers from outside the project that most sources include, beside those that all rooms precompile
#   TABLE      the source that may include the rooms within, and those of TABLE_ROOMS, which are linked as they are
#   PRECOMPILED_AS  the room, declared before, that has precompiled the same headers with the same options
function(mneme_room)
  cmake_parse_arguments(ROOM "" "NAME;TABLE;PRECOMPILED_AS" "TABLE_ROOMS;SOURCES;DEPS;LIBRARIES;TESTS;TEST_DEPS;FLAGS;PRECOMPILE" ${ARGN})
  mneme_room_root(${ROOM_NAME} root)
  string(REPLACE "/" "_" target mneme_${ROOM_NAME})
  string(REPLACE "/" "." dotted ${ROOM_NAME})
  list(TRANSFORM ROOM_DEPS PREPEND mneme_ OUTPUT_VARIABLE deps)
  list(TRANSFORM deps REPLACE "/" "_")
  if(ROOM_SOURCES)
    add_library(${target} STATIC ${ROOM_SOURCES})
    target_include_directories(${target} PUBLIC ${root})
    target_link_libraries(${target} PUBLIC ${deps} PRIVATE ${ROOM_LIBRARIES} mneme_warnings)
    target_compile_options(${target} PRIVATE ${ROOM_FLAGS})
    if(ROOM_PRECOMPILED_AS)
      target_precompile_headers(${target} REUSE_FROM mneme_${ROOM_PRECOMPILED_AS})
      target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
    else()
      mneme_precompile(${target} ${ROOM_PRECOMPILE})
    endif()
  else()
    add_library(${target} INTERFACE)
    target_include_directories(${target} INTERFACE ${root})
    target_link_libraries(${target} INTERFACE ${deps})
  endif()

  # Rooms whose code belongs to the outer room's (MnemeLibrary.cmake).
  set_property(GLOBAL APPEND PROPERTY MNEME_ROOMS ${ROOM_NAME})
  if(ROOM_TABLE)
    file(GLOB within CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/mneme ${CMAKE_SOURCE_DIR}/mneme/${ROOM_NAME}/*/CMakeLists.txt)
    list(TRANSFORM within REPLACE "/CMakeLists.txt$" "")
    foreach(room IN LISTS within ROOM_TABLE_ROOMS)
      string(REPLACE "/" "." inner ${room})
      set_property(SOURCE ${ROOM_TABLE} APPEND PROPERTY INCLUDE_DIRECTORIES ${CMAKE_BINARY_DIR}/rooms/${inner})
    endforeach()
    foreach(room IN LISTS ROOM_TABLE_ROOMS)
      string(REPLACE "/" "_" inner ${room})
      target_link_libraries(${target} INTERFACE $<LINK_ONLY:mneme_${inner}>)
    endforeach()
  endif()

  if(NOT ROOM_TESTS)
    file(GLOB ROOM_TESTS CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_test.cc)
  endif()
  if(ROOM_TESTS AND BUILD_TESTING)
    add_executable(${target}_test ${ROOM_TESTS})
    target_link_libraries(${target}_test PRIVATE ${target} ${ROOM_LIBRARIES} ${ROOM_TEST_DEPS} mneme_warnings GTest::gtest GTest::gmock GTest::gtest_main)
    target_compile_options(${target}_test PRIVATE -O0 ${ROOM_FLAGS})  # tests are compiled more often than they run
    if(ROOM_PRECOMPILED_AS)
      target_precompile_headers(${target}_test REUSE_FROM mneme_${ROOM_PRECOMPILED_AS}_test)
      target_compile_options(${target}_test PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
    else()
      mneme_precompile(${target}_test <gmock/gmock.h> <gtest/gtest.h> ${ROOM_PRECOMPILE})
    endif()
    gtest_discover_tests(${target}_test TEST_PREFIX ${dotted}. DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 300)
  endif()
endfunction()

# mneme_rooms_within(<room> [EXCEPT <folder>...]): behind mneme_room() of the outer room, in its CMakeLists.txt: adds the folders within
# that have one of their own, and has what links the outer room link them.
function(mneme_rooms_within room)
  cmake_parse_arguments(WITHIN "" "" "EXCEPT" ${ARGN})
  file(GLOB lists CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/*/CMakeLists.txt)
  list(TRANSFORM lists REPLACE "/CMakeLists.txt$" "")
  foreach(folder IN LISTS lists)
    if(NOT folder IN_LIST WITHIN_EXCEPT)
      add_subdirectory(${folder})
      target_link_libraries(mneme_${room} INTERFACE $<LINK_ONLY:mneme_${room}_${folder}>)
    endif()
  endforeach()
endfunction()

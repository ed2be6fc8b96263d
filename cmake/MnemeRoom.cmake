# Headers that most sources include are compiled once for all rooms, not once for each source: those from outside the project, and
# those of `base` that nearly every source names. A precompiled header serves sources of the same options only, so there are six: for
# rooms and for their tests (-O0, with the test framework), each plain, with LLVM's headers (and -fno-rtti), and with those of the command
# line (and -O1: its code runs once a command). Every source names what it includes all the same: -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON
# builds without.
foreach(kind headers headers_llvm headers_cli)
  foreach(test "" _test)
    if(test AND NOT BUILD_TESTING)
      continue()
    endif()
    set(target mneme_${kind}${test})
    file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/${target}.cc CONTENT "")
    add_library(${target} OBJECT EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/${target}.cc)
    target_link_libraries(${target} PRIVATE mneme_warnings)
    target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")  # ccache goes by contents
    target_precompile_headers(${target} PRIVATE <algorithm> <array> <atomic> <charconv> <chrono> <cmath> <condition_variable> <cstdint>
      <cstring> <deque> <filesystem> <fstream> <functional> <future> <map> <memory> <mutex> <optional> <set> <span> <sstream> <string>
      <string_view> <thread> <unordered_map> <utility> <variant> <vector> <fmt/format.h> <fmt/ranges.h> <nlohmann/json.hpp>
      ${CMAKE_SOURCE_DIR}/mneme/base/log.h ${CMAKE_SOURCE_DIR}/mneme/base/status.h ${CMAKE_SOURCE_DIR}/mneme/base/types.h)
    if(kind STREQUAL headers_llvm)
      target_precompile_headers(${target} PRIVATE <llvm/IR/InstIterator.h> <llvm/IR/IntrinsicInst.h> <llvm/IR/IRBuilder.h>
        <llvm/IR/Module.h> <llvm/Passes/PassBuilder.h> <llvm/Support/raw_ostream.h>)
      target_link_libraries(${target} PRIVATE mneme_llvm)
    elseif(kind STREQUAL headers_cli)
      target_precompile_headers(${target} PRIVATE <CLI/CLI.hpp>)
      target_compile_options(${target} PRIVATE -O1)
    endif()
    if(test)
      target_link_libraries(${target} PRIVATE GTest::gtest GTest::gmock)
      target_precompile_headers(${target} PRIVATE <gmock/gmock.h> <gtest/gtest.h>)
      target_compile_options(${target} PRIVATE -O0)  # tests are compiled more often than they run
    endif()
  endforeach()
endforeach()

# mneme_precompile(<target> [LLVM | CLI] [TEST]): the target's sources are compiled with the precompiled headers of that kind and with
# their options, but -fno-rtti, which the target mneme_llvm brings.
function(mneme_precompile target)
  list(JOIN ARGV _ headers)
  string(REGEX REPLACE "^${target}" mneme_headers headers ${headers})
  string(TOLOWER ${headers} headers)
  target_precompile_headers(${target} REUSE_FROM ${headers})
  target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  if("TEST" IN_LIST ARGN)
    target_compile_options(${target} PRIVATE -O0)
  elseif("CLI" IN_LIST ARGN)
    target_compile_options(${target} PRIVATE -O1)
  endif()
  get_target_property(type ${target} TYPE)
  if(type STREQUAL EXECUTABLE)  # compiled as libraries are, for the same reason
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE -fPIC)
  endif()
endfunction()

find_program(MNEME_LLD ld.lld HINTS ${LLVM_TOOLS_BINARY_DIR} NO_DEFAULT_PATH)

# mneme_compile_together(<target> <file>... [ALONE <file>...]): the target's sources are compiled eight at a time, which takes a third of
# what each by itself takes. Helpers of two files may have the same name in their anonymous namespaces: such a file is named behind
# ALONE. With -DMNEME_COMPILE_TOGETHER=OFF all are compiled by themselves.
option(MNEME_COMPILE_TOGETHER "Compile tests several sources at a time" ON)
function(mneme_compile_together target)
  cmake_parse_arguments(TOGETHER "" "" "ALONE" ${ARGN})
  if(NOT MNEME_COMPILE_TOGETHER)
    return()
  endif()
  set(number 0)
  foreach(source IN LISTS TOGETHER_UNPARSED_ARGUMENTS)
    get_filename_component(name ${source} NAME)
    if(NOT name IN_LIST TOGETHER_ALONE)
      math(EXPR group "${number} / 8")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
    endif()
    math(EXPR number "${number} + 1")  # also of those: what stands together does not change with them
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
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
#            [TESTS_ALONE <file>...] [TABLE <file> [TABLE_ROOMS <room>...]])
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
#   TESTS_ALONE  those that are compiled by themselves (mneme_compile_together)
#   TEST_DEPS  what only the tests link
#   FLAGS      compile options of the sources and tests
#   TABLE      the source that may include the rooms within, and those of TABLE_ROOMS, which are linked as they are
function(mneme_room)
  cmake_parse_arguments(ROOM "" "NAME;TABLE" "TABLE_ROOMS;SOURCES;DEPS;LIBRARIES;TESTS;TESTS_ALONE;TEST_DEPS;FLAGS" ${ARGN})
  mneme_room_root(${ROOM_NAME} root)
  string(REPLACE "/" "_" target mneme_${ROOM_NAME})
  string(REPLACE "/" "." dotted ${ROOM_NAME})
  list(TRANSFORM ROOM_DEPS PREPEND mneme_ OUTPUT_VARIABLE deps)
  list(TRANSFORM deps REPLACE "/" "_")
  set(kind "")
  if("mneme_llvm" IN_LIST ROOM_LIBRARIES)
    set(kind LLVM)
  elseif("CLI11::CLI11" IN_LIST ROOM_LIBRARIES)
    set(kind CLI)
  endif()
  if(ROOM_SOURCES)
    add_library(${target} STATIC ${ROOM_SOURCES})
    target_include_directories(${target} PUBLIC ${root})
    target_link_libraries(${target} PUBLIC ${deps} PRIVATE ${ROOM_LIBRARIES} mneme_warnings)
    target_compile_options(${target} PRIVATE ${ROOM_FLAGS})
    mneme_precompile(${target} ${kind})
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
    target_compile_options(${target}_test PRIVATE ${ROOM_FLAGS})
    mneme_precompile(${target}_test ${kind} TEST)
    mneme_compile_together(${target}_test ${ROOM_TESTS} ALONE ${ROOM_TESTS_ALONE})
    if(MNEME_LLD)
      target_link_options(${target}_test PRIVATE -fuse-ld=lld)  # which takes a fifth of the time of GNU's
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

# libmneme.so: the rooms behind the C++ API as one shared library, which the programs, the tests that a package carries and the Python
# extension link. find_package(mneme COMPONENTS api) gives it as mneme::mneme, with the headers of the rooms and those of other
# projects that they include, so that a prefix is enough to compile against: neither LLVM's files nor others are needed.
#
# What is exported is the namespace mneme (mneme.map): these rooms are compiled with default visibility. They are also part of what is
# loaded into users' programs, which hides them again when it is linked (--exclude-libs).
set(api_rooms base process snapshot tuned store device memory measure ir verify compile exported replay pool sweep deploy reproducer)
set(library_rooms ${api_rooms} runtime cpu/run cpu/ptx cpu/lower cpu/lower/nvptx cpu/lower/amdgcn)  # the command needs `runtime` too

set(objects)
get_property(rooms GLOBAL PROPERTY MNEME_ROOMS)
foreach(room IN LISTS rooms)
  string(REGEX REPLACE "/.*" "" outer ${room})  # rooms within belong to the one that they are in
  if(outer IN_LIST library_rooms OR room IN_LIST library_rooms)
    string(REPLACE "/" "_" target mneme_${room})
    set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET default)
    list(APPEND objects $<TARGET_OBJECTS:${target}>)
  endif()
endforeach()
add_library(mneme_api SHARED ${objects})
add_library(mneme::mneme ALIAS mneme_api)
# Before 1.0 the ABI may change with each minor version.
set_target_properties(mneme_api PROPERTIES LINKER_LANGUAGE CXX OUTPUT_NAME mneme
  VERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
  LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/mneme.map INSTALL_RPATH "$ORIGIN")
target_link_options(mneme_api PRIVATE LINKER:--version-script=${CMAKE_SOURCE_DIR}/cmake/mneme.map LINKER:-Bsymbolic-functions
  LINKER:--no-undefined)
# The rooms' objects are there already: this brings what they need from elsewhere.
target_link_libraries(mneme_api PRIVATE mneme_deploy mneme_reproducer mneme_runtime)

target_include_directories(mneme_api INTERFACE $<TARGET_PROPERTY:mneme_deploy,INTERFACE_INCLUDE_DIRECTORIES>
  $<TARGET_PROPERTY:mneme_reproducer,INTERFACE_INCLUDE_DIRECTORIES>
  $<TARGET_PROPERTY:mneme_runtime,INTERFACE_INCLUDE_DIRECTORIES>)
target_link_libraries(mneme_api INTERFACE mneme_fmt)
if(SKBUILD)
  set(namelink NAMELINK_SKIP)  # a wheel has no links, but files twice
endif()
install(TARGETS mneme_api LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ${namelink})

# The headers, where mneme-config.cmake finds them in the build tree and in a prefix; not those that are made of LLVM's.
foreach(room IN LISTS api_rooms)
  file(CREATE_LINK ${CMAKE_SOURCE_DIR}/mneme/${room} ${CMAKE_BINARY_DIR}/include/mneme/${room} SYMBOLIC)
  file(GLOB headers CONFIGURE_DEPENDS mneme/${room}/*.h)
  foreach(header IN LISTS headers)
    file(STRINGS ${header} llvm REGEX "#include <llvm/" LIMIT_COUNT 1)
    if(NOT llvm)
      install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/mneme/${room})
    endif()
  endforeach()
endforeach()
# third_party(<header> <folder of it> <Debian package>): the headers beside <header>, and their licence.
function(third_party header folder debian_package)
  find_path(MNEME_${folder}_INCLUDE ${header} REQUIRED)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/include/mneme/third_party)
  file(CREATE_LINK ${MNEME_${folder}_INCLUDE}/${folder} ${CMAKE_BINARY_DIR}/include/mneme/third_party/${folder} SYMBOLIC)
  install(DIRECTORY ${MNEME_${folder}_INCLUDE}/${folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/mneme/third_party)
  install(FILES /usr/share/doc/${debian_package}/copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/mneme/licenses
    RENAME ${debian_package} OPTIONAL)
endfunction()
third_party(fmt/format.h fmt libfmt-dev)
third_party(nlohmann/json.hpp nlohmann nlohmann-json3-dev)

# libmneme.so: the rooms behind the C++ API as one shared library, which the programs, the tests that a package carries and the Python
# extension link. find_package(mneme COMPONENTS api) gives it as mneme::mneme, with the headers of the rooms and those of other
# projects that they include, so that a prefix is enough to compile against: neither LLVM's files nor others are needed.
#
# What is exported is the namespace mneme (mneme.map): these rooms are compiled with default visibility. They are also part of what is
# loaded into users' programs, which hides them again when it is linked (--exclude-libs).
#
# What is made of LLVM is a library of its own, which is loaded when it is needed (docs/adr/0052-llvm-when-it-is-asked.md).
set(api_rooms base process snapshot tuned store device memory measure ir verify compile exported replay pool sweep deploy reproducer)
set(library_rooms ${api_rooms} runtime cpu/run cpu/ptx cpu/lower cpu/lower/nvptx cpu/lower/amdgcn)  # the command needs `runtime` too

# Sources of rooms that are made of LLVM which need none of it themselves. (A source that does makes libmneme.so need LLVM, which
# e2e.exports finds.)
set(without_llvm_sources
  compile/assembly_memory compile/backend compile/backends compile/code_comparison compile/compilation compile/compile_key
  compile/compiled_code compile/compiler compile/deferred_compiler compile/device_options compile/object_cache compile/pass_name
  compile/plugin_file compile/program_code compile/translation_memory
  compile/nvptx/compiler compile/nvptx/identity compile/nvptx/joined_ptx compile/nvptx/nvjitlink compile/nvptx/nvptx_compilation compile/nvptx/nvptxcompiler
  compile/nvptx/program_code compile/nvptx/ptx_assembler compile/nvptx/ptxas
  compile/nvptx/tool_library
  compile/amdgpu/identity compile/amdgpu/library_folders compile/amdgpu/options cpu/lower/identity cpu/lower/instruction_count cpu/lower/linker cpu/lower/options cpu/ptx/ptx_asm_lexer cpu/ptx/ptx_asm_parse)

set(objects)
set(llvm_objects)
get_property(rooms GLOBAL PROPERTY MNEME_ROOMS)
foreach(room IN LISTS rooms)
  string(REGEX REPLACE "/.*" "" outer ${room})  # rooms within belong to the one that they are in
  if(outer IN_LIST library_rooms OR room IN_LIST library_rooms)
    string(REPLACE "/" "_" target mneme_${room})
    set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET default)
    get_target_property(libraries ${target} LINK_LIBRARIES)
    if(mneme_llvm IN_LIST libraries)
      set(plain)
      foreach(source IN LISTS without_llvm_sources)
        if(source MATCHES "^${room}/([a-z0-9_]+)$")
          list(APPEND plain ${CMAKE_MATCH_1})
        endif()
      endforeach()
      list(JOIN plain "|" plain)
      set(plain "/mneme_[a-z_]+\\.dir/(\\./)?(${plain})\\.cc\\.o$")
      list(APPEND objects $<FILTER:$<TARGET_OBJECTS:${target}>,INCLUDE,${plain}>)
      list(APPEND llvm_objects $<FILTER:$<TARGET_OBJECTS:${target}>,EXCLUDE,${plain}>)
    else()
      list(APPEND objects $<TARGET_OBJECTS:${target}>)
    endif()
  endif()
endforeach()

# libmneme_llvm.so: what is made of LLVM, and LLVM with it. Nobody links it: libmneme.so loads it when one of its functions is called
# for the first time, and has an entry of each.
set(llvm_calls ${CMAKE_BINARY_DIR}/generated/llvm_calls.S)
add_custom_command(OUTPUT ${llvm_calls}
  COMMAND ${Python_EXECUTABLE} ${CMAKE_SOURCE_DIR}/cmake/generate_llvm_calls.py ${CMAKE_NM} ${MNEME_LLVM_LIBRARY} ${llvm_calls} ${llvm_objects}
  DEPENDS ${CMAKE_SOURCE_DIR}/cmake/generate_llvm_calls.py ${llvm_objects}
  COMMAND_EXPAND_LISTS COMMENT "Writing the entries of the functions that are made of LLVM" VERBATIM)
add_library(mneme_llvm_calls OBJECT mneme/library/llvm_calls.cc ${llvm_calls})
target_link_libraries(mneme_llvm_calls PRIVATE mneme_base mneme_warnings)

add_library(mneme_api SHARED ${objects} $<TARGET_OBJECTS:mneme_llvm_calls>)
add_library(mneme::mneme ALIAS mneme_api)
add_library(mneme_api_llvm SHARED ${llvm_objects})
set_target_properties(mneme_api_llvm PROPERTIES OUTPUT_NAME mneme_llvm)
# Before 1.0 the ABI may change with each minor version.
set_target_properties(mneme_api PROPERTIES OUTPUT_NAME mneme)
foreach(library mneme_api mneme_api_llvm)
  set_target_properties(${library} PROPERTIES LINKER_LANGUAGE CXX
    VERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
    LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/mneme.map INSTALL_RPATH "$ORIGIN")
  target_link_options(${library} PRIVATE LINKER:--version-script=${CMAKE_SOURCE_DIR}/cmake/mneme.map LINKER:-Bsymbolic-functions
    LINKER:--no-undefined LINKER:--as-needed)
endforeach()
# The rooms' objects are there already: this brings what they need from elsewhere. The C++ library stands first, so that nothing of it
# is taken from an object of a room, which has it by chance.
target_link_libraries(mneme_api PRIVATE stdc++ mneme_deploy mneme_reproducer mneme_runtime)
target_link_libraries(mneme_api_llvm PRIVATE stdc++ mneme_api mneme_deploy mneme_reproducer mneme_runtime)
# Whoever builds the command has it.
add_dependencies(mneme mneme_api_llvm)

target_include_directories(mneme_api INTERFACE $<TARGET_PROPERTY:mneme_deploy,INTERFACE_INCLUDE_DIRECTORIES>
  $<TARGET_PROPERTY:mneme_reproducer,INTERFACE_INCLUDE_DIRECTORIES>
  $<TARGET_PROPERTY:mneme_runtime,INTERFACE_INCLUDE_DIRECTORIES>)
target_link_libraries(mneme_api INTERFACE mneme_fmt)
if(SKBUILD)
  set(namelink NAMELINK_SKIP)  # a wheel has no links, but files twice
endif()
install(TARGETS mneme_api LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ${namelink})
install(TARGETS mneme_api_llvm LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} NAMELINK_SKIP)

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

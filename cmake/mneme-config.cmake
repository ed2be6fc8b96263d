# find_package(mneme): add_mneme(), which makes a target recordable. Works from wherever the prefix has been put.
# find_package(mneme COMPONENTS api): mneme::mneme too, the C++ API (C++20): libmneme.so with all headers that it needs.
#
#   add_mneme(<target> [RDC] [HIP] [PLATFORM amd|nvidia] [ARCH <arch>])
#
# <target> is an executable or a library with .cu files among its sources, or with .hip files. They are compiled with clang, the plugin and
#   ARCH   the GPU architecture, for example sm_90; default: MNEME_ARCH, else the first of CMAKE_CUDA_ARCHITECTURES, else sm_90. For HIP
#          gfx90a, or several as one list ("gfx90a;gfx942"); default: MNEME_ARCH, else CMAKE_HIP_ARCHITECTURES, else gfx90a
#   RDC    relocatable device code (-fgpu-rdc), linked by --offload-link; also when the target's options have -fgpu-rdc already
#   HIP    the .cu, .cc, .cpp and .cxx files are HIP. It need not be said where the target has .hip files or sources of CMake's language
#          HIP and no others are HIP
#   PLATFORM  whose GPUs HIP is compiled for; default: CMAKE_HIP_PLATFORM, else HIP_PLATFORM of the environment, else amd. For nvidia ARCH is one
#          of NVIDIA's, and .hip files are compiled as C++ with "-x cuda"
# as CXX with "-x cuda" or "-x hip", or as CUDA or HIP where the project has enabled that language with clang. Call it after the target has its
# sources. What links a static or object library made so is made recordable by linking it.
get_filename_component(MNEME_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(MNEME_COMMAND "${MNEME_PREFIX}/bin/mneme")

if("api" IN_LIST mneme_FIND_COMPONENTS)
  if(NOT TARGET mneme::mneme)
    add_library(mneme::mneme SHARED IMPORTED)
    set_target_properties(mneme::mneme PROPERTIES
      IMPORTED_LOCATION "${MNEME_PREFIX}/lib/libmneme.so.@PROJECT_VERSION_MAJOR@.@PROJECT_VERSION_MINOR@"
      INTERFACE_INCLUDE_DIRECTORIES "${MNEME_PREFIX}/include;${MNEME_PREFIX}/include/mneme/third_party"
      INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${MNEME_PREFIX}/include/mneme/third_party"
      INTERFACE_COMPILE_DEFINITIONS FMT_HEADER_ONLY
      INTERFACE_COMPILE_FEATURES cxx_std_20)
  endif()
  set(mneme_api_FOUND TRUE)
endif()

# Sets <variable> to the options that `mneme config <arguments>` prints.
function(mneme_options variable)
  execute_process(COMMAND "${MNEME_COMMAND}" config ${ARGN} OUTPUT_VARIABLE line ERROR_VARIABLE message RESULT_VARIABLE status
    OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${MNEME_COMMAND} config ${ARGN}: ${message}")
  elseif(message)
    message(WARNING "${message}")
  endif()
  separate_arguments(options UNIX_COMMAND "${line}")
  set(${variable} "${options}" PARENT_SCOPE)
endfunction()

function(mneme_check_compiler language)
  if(NOT CMAKE_${language}_COMPILER_ID STREQUAL "Clang" OR NOT CMAKE_${language}_COMPILER_VERSION MATCHES "^22\\.")
    message(FATAL_ERROR "add_mneme: the plugin fits clang 22, and the ${language} compiler is "
      "${CMAKE_${language}_COMPILER_ID} ${CMAKE_${language}_COMPILER_VERSION} (${CMAKE_${language}_COMPILER}): configure with "
      "-DCMAKE_C_COMPILER=$(mneme config cc) -DCMAKE_CXX_COMPILER=$(mneme config cxx)")
  endif()
endfunction()

# Sets <variable> to the sources of the target that are HIP by themselves: .hip files, and those whose language is HIP.
function(mneme_hip_sources variable target)
  get_target_property(sources ${target} SOURCES)
  get_target_property(folder ${target} SOURCE_DIR)
  set(found)
  foreach(source IN LISTS sources)
    get_source_file_property(language ${source} DIRECTORY ${folder} LANGUAGE)
    if(source MATCHES "\\.hip$" OR language STREQUAL "HIP")
      list(APPEND found ${source})
    endif()
  endforeach()
  set(${variable} "${found}" PARENT_SCOPE)
endfunction()

# Sources of a target that clang++ compiles as `language` (cuda, hip), with these options. A source's properties are those of its
# folder, so that they name the target's: another target may have the same file, with other options or none.
function(mneme_compile_as language target sources options)
  get_target_property(folder ${target} SOURCE_DIR)
  set_source_files_properties(${sources} DIRECTORY ${folder} PROPERTIES LANGUAGE CXX)
  set_property(TARGET ${target} PROPERTY MNEME_${language}_OPTIONS -x ${language} ${options})
  set(of_target "$<TARGET_PROPERTY:MNEME_${language}_OPTIONS>")
  foreach(source IN LISTS sources)
    get_source_file_property(present ${source} DIRECTORY ${folder} COMPILE_OPTIONS)
    if(NOT "${of_target}" IN_LIST present)
      set_property(SOURCE ${source} DIRECTORY ${folder} APPEND PROPERTY COMPILE_OPTIONS ${of_target})
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
endfunction()

# What is not linked itself hands the link options on to what it becomes a part of.
function(mneme_visibility variable target)
  get_target_property(type ${target} TYPE)
  set(visibility PRIVATE)
  if(type MATCHES "^(STATIC_LIBRARY|OBJECT_LIBRARY|INTERFACE_LIBRARY)$")
    set(visibility INTERFACE)
  endif()
  set(${variable} ${visibility} PARENT_SCOPE)
endfunction()

function(mneme_add_hip target all rdc arch)
  get_target_property(sources ${target} SOURCES)
  get_target_property(folder ${target} SOURCE_DIR)
  get_target_property(compile_options ${target} COMPILE_OPTIONS)
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if(NOT arch AND MNEME_ARCH)
    set(arch ${MNEME_ARCH})
  elseif(NOT arch AND CMAKE_HIP_ARCHITECTURES)
    set(arch ${CMAKE_HIP_ARCHITECTURES})
  endif()
  set(arguments --hip --platform amd)
  if(arch)
    list(JOIN arch , arch)
    list(APPEND arguments --arch ${arch})
  endif()
  if(rdc OR "${compile_options} ${CMAKE_CXX_FLAGS} ${CMAKE_HIP_FLAGS}" MATCHES "-fgpu-rdc")
    list(APPEND arguments --rdc)
  endif()
  mneme_options(flags cxxflags ${arguments})
  mneme_options(link_flags ldflags ${arguments})

  set(as_cxx)
  foreach(source IN LISTS sources)
    get_source_file_property(language ${source} DIRECTORY ${folder} LANGUAGE)
    if(language STREQUAL "HIP" OR ("HIP" IN_LIST languages AND source MATCHES "\\.hip$"))
      continue()  # by the target's options below
    elseif(source MATCHES "\\.hip$" OR (all AND source MATCHES "\\.(cu|cc|cpp|cxx|C)$"))
      list(APPEND as_cxx ${source})
    endif()
  endforeach()
  if("HIP" IN_LIST languages)
    mneme_check_compiler(HIP)
    set(hip_flags ${flags})
    list(FILTER hip_flags EXCLUDE REGEX "^--offload-arch=")  # CMake gives the architectures itself
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:HIP>:${hip_flags}>")
  endif()
  if(as_cxx)
    mneme_compile_as(hip ${target} "${as_cxx}" "${flags}")
  endif()

  mneme_visibility(visibility ${target})
  set(libraries ${link_flags})
  list(FILTER libraries INCLUDE REGEX "^-[Ll]|^-Wl,")
  list(FILTER link_flags EXCLUDE REGEX "^-[Ll]|^-Wl,")
  target_link_options(${target} ${visibility} ${link_flags})
  target_link_libraries(${target} ${visibility} ${libraries})
endfunction()

# Sets <variable> to the platform that HIP is compiled for: what PLATFORM says, else what CMake or hipcc are told.
function(mneme_hip_platform variable target chosen)
  set(platform)
  foreach(known IN ITEMS "${chosen}" "${CMAKE_HIP_PLATFORM}" "$ENV{HIP_PLATFORM}" amd)
    if(NOT platform)
      set(platform "${known}")
    endif()
  endforeach()
  if(NOT platform MATCHES "^(amd|nvidia)$")
    message(FATAL_ERROR "add_mneme(${target}): HIP has no platform ${platform}: PLATFORM amd or PLATFORM nvidia")
  endif()
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if(platform STREQUAL "nvidia" AND "HIP" IN_LIST languages)
    message(FATAL_ERROR "add_mneme(${target}): CMake's language HIP is compiled by nvcc for the platform nvidia, where the plugin has no place: "
      "leave the language out, and the .hip files are compiled as C++")
  endif()
  set(${variable} ${platform} PARENT_SCOPE)
endfunction()

function(add_mneme target)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "RDC;HIP" "ARCH;PLATFORM" "")
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "add_mneme(${target}): what is ${ARG_UNPARSED_ARGUMENTS}? The arguments are RDC, HIP, PLATFORM amd|nvidia and ARCH <arch>.")
  endif()
  if(NOT TARGET ${target})
    message(FATAL_ERROR "add_mneme: there is no target ${target}")
  endif()
  get_target_property(sources ${target} SOURCES)
  get_target_property(folder ${target} SOURCE_DIR)
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  mneme_check_compiler(CXX)
  mneme_hip_sources(hip_sources ${target})
  set(hip)
  if(hip_sources OR ARG_HIP)
    mneme_hip_platform(platform ${target} "${ARG_PLATFORM}")
    if(platform STREQUAL "amd")
      mneme_add_hip(${target} "${ARG_HIP}" "${ARG_RDC}" "${ARG_ARCH}")
      return()
    endif()
    set(hip --hip --platform nvidia)  # CUDA programs, but for headers and names
  endif()

  set(arch sm_90)
  if(ARG_ARCH)
    set(arch ${ARG_ARCH})
  elseif(MNEME_ARCH)
    set(arch ${MNEME_ARCH})
  elseif(CMAKE_CUDA_ARCHITECTURES MATCHES "^([0-9]+[a-z]?)")
    set(arch sm_${CMAKE_MATCH_1})
  elseif(NOT "$ENV{MNEME_ARCH}" STREQUAL "" AND NOT (hip AND "$ENV{MNEME_ARCH}" MATCHES "^gfx"))
    set(arch $ENV{MNEME_ARCH})
  endif()

  # Relocatable device code that is not linked vanishes in silence, so the link option always comes with the compile option.
  get_target_property(compile_options ${target} COMPILE_OPTIONS)
  get_target_property(link_options ${target} LINK_OPTIONS)
  get_target_property(separable ${target} CUDA_SEPARABLE_COMPILATION)
  if(separable)
    message(FATAL_ERROR "add_mneme(${target}): clang cannot do CUDA_SEPARABLE_COMPILATION: turn it off and say add_mneme(${target} RDC)")
  endif()
  if("${compile_options} ${CMAKE_CXX_FLAGS} ${CMAKE_CUDA_FLAGS}" MATCHES "-fgpu-rdc")
    if(NOT ARG_RDC AND NOT "${link_options} ${CMAKE_EXE_LINKER_FLAGS}" MATCHES "--offload-link")
      message(STATUS "add_mneme(${target}): compiled with -fgpu-rdc and not linked with --offload-link, which would drop its device code: added")
    endif()
    set(ARG_RDC ON)
  endif()

  set(rdc)
  if(ARG_RDC)
    set(rdc --rdc)
  endif()
  mneme_options(cxx_flags cxxflags ${hip} --arch ${arch} ${rdc})
  mneme_options(cuda_home cudadir)

  set(cuda_sources)
  set(as_cxx)
  foreach(source IN LISTS sources)
    if(source MATCHES "\\.cu$")
      list(APPEND cuda_sources ${source})
    elseif(hip AND (source MATCHES "\\.hip$" OR (ARG_HIP AND source MATCHES "\\.(cc|cpp|cxx|C)$")))
      list(APPEND as_cxx ${source})
    endif()
  endforeach()
  if(as_cxx)
    mneme_compile_as(cuda ${target} "${as_cxx}" "${cxx_flags}")
  endif()
  set(host_flags ${cxx_flags})
  list(FILTER host_flags INCLUDE REGEX "^(-D__HIP|-include|-isystem)")  # none but HIP's
  if("CUDA" IN_LIST languages)
    mneme_check_compiler(CUDA)
    # CMake gives the architectures itself.
    list(FILTER cxx_flags EXCLUDE REGEX "^--offload-arch=")
    set_target_properties(${target} PROPERTIES CUDA_SEPARABLE_COMPILATION OFF)
    foreach(flag IN LISTS cxx_flags)
      if(NOT "${CMAKE_CUDA_FLAGS}" MATCHES "-fpass-plugin=" OR NOT flag MATCHES "^-fpass-plugin=")
        target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:${flag}>)
      endif()
    endforeach()
  elseif(cuda_sources)
    mneme_compile_as(cuda ${target} "${cuda_sources}" "${cxx_flags}")
  endif()
  # Sources that only call the CUDA runtime. (clang finds the headers for .cu files itself, behind wrappers of its own.)
  foreach(source IN LISTS sources)
    if(source MATCHES "\\.(c|cc|cpp|cxx|C)$" AND NOT source IN_LIST as_cxx)
      set_property(SOURCE ${source} DIRECTORY ${folder} APPEND PROPERTY INCLUDE_DIRECTORIES ${cuda_home}/include)
      set_property(SOURCE ${source} DIRECTORY ${folder} APPEND PROPERTY COMPILE_OPTIONS ${host_flags})
    endif()
  endforeach()

  mneme_options(link_flags ldflags ${hip} --arch ${arch})
  mneme_visibility(visibility ${target})
  target_link_libraries(${target} ${visibility} ${link_flags})
  if(ARG_RDC)
    target_link_options(${target} ${visibility} --offload-link --offload-arch=${arch} --cuda-path=${cuda_home} -Wno-unknown-cuda-version
      "SHELL:-Xoffload-linker --cuda-path=${cuda_home}")
  endif()
endfunction()

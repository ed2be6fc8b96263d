# The lists of functions of the vendors' runtimes are taken from their libraries at configure time and made into (here of CUDA's)
#   ${MNEME_GENERATED}/include/mneme/abi/cuda_calls.inc   the slots of the call table
#   ${MNEME_GENERATED}/cuda_trampolines.S                 what --wrap redirects calls to
#   ${CMAKE_BINARY_DIR}/lib/mneme/wrap.rsp                the linker's options, where an installation has them too
set(MNEME_GENERATED ${CMAKE_BINARY_DIR}/generated CACHE INTERNAL "folder of generated files")
set(MNEME_WRAP_OPTIONS ${CMAKE_BINARY_DIR}/lib/mneme/wrap.rsp CACHE INTERNAL "linker options that wrap the CUDA runtime")
find_package(Python3 REQUIRED COMPONENTS Interpreter)
function(mneme_generate_calls vendor library options)
  execute_process(
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/cmake/generate_calls.py ${vendor} ${library}
      ${MNEME_GENERATED}/include/mneme/abi/${vendor}_calls.inc ${MNEME_GENERATED}/${vendor}_trampolines.S ${options}
    COMMAND_ERROR_IS_FATAL ANY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/generate_calls.py ${library})
endfunction()
file(GLOB cudart_candidates
  ${MNEME_CUDA_HOME}/lib64/libcudart.so* ${MNEME_CUDA_HOME}/lib/libcudart.so* ${MNEME_CUDA_HOME}/targets/x86_64-linux/lib/libcudart.so*)
if(NOT cudart_candidates)
  message(FATAL_ERROR "No libcudart.so in lib64 or lib of MNEME_CUDA_HOME (${MNEME_CUDA_HOME}): set MNEME_CUDA_HOME to a CUDA 13 toolkit, "
    "or to the folder of the nvidia-cuda-runtime wheel that holds lib/libcudart.so.13.")
endif()
list(GET cudart_candidates 0 MNEME_CUDART_SHARED)
file(REAL_PATH ${MNEME_CUDART_SHARED} MNEME_CUDART_SHARED)
mneme_generate_calls(cuda ${MNEME_CUDART_SHARED} ${MNEME_WRAP_OPTIONS})

# The same for HIP, where there is ROCm: hip_calls.inc, hip_trampolines.S and wrap_hip.rsp. A newer ROCm than this one may have functions
# that are not in the list, which programs then call directly; one that an older ROCm lacks is null in its table.
set(MNEME_HIP_WRAP_OPTIONS ${CMAKE_BINARY_DIR}/lib/mneme/wrap_hip.rsp CACHE INTERNAL "linker options that wrap the HIP runtime")
if(MNEME_HIP)
  mneme_generate_calls(hip ${MNEME_ROCM_LIBRARY} ${MNEME_HIP_WRAP_OPTIONS})
else()
  file(REMOVE ${MNEME_GENERATED}/include/mneme/abi/hip_calls.inc ${MNEME_GENERATED}/hip_trampolines.S ${MNEME_HIP_WRAP_OPTIONS})
endif()

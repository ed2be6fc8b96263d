# The CUDA backend, included by the device room's CMakeLists.txt.
#
# Before mneme_room: sets MNEME_CUDA_DEVICE_SOURCES and makes the target mneme_cuda_headers (for LIBRARIES).
# After mneme_room: mneme_cuda_device_tests() gives the room's tests the driver that the backend's tests run on, since they need no
# GPU, and adds those that do.
set(MNEME_CUDA_DEVICE_DIR ${CMAKE_CURRENT_LIST_DIR})
find_program(MNEME_CLANG NAMES clang++-22 clang++ HINTS ${LLVM_TOOLS_BINARY_DIR} REQUIRED)

# The oldest PTX that has all that is needed, so that any driver that can do the rest compiles it for its device.
function(mneme_embed_kernels name)
  set(source ${MNEME_CUDA_DEVICE_DIR}/${name}.cu)
  set(ptx ${CMAKE_CURRENT_BINARY_DIR}/${name}.ptx)
  set(ptx_source ${CMAKE_CURRENT_BINARY_DIR}/${name}_ptx.cc)
  add_custom_command(
    OUTPUT ${ptx}
    COMMAND ${MNEME_CLANG} -x cuda --cuda-device-only --cuda-path=${CMAKE_CURRENT_BINARY_DIR} -nocudainc -nocudalib -std=c++20 -O3
            -I${CMAKE_BINARY_DIR}/rooms/device --offload-arch=sm_70 --cuda-feature=+ptx70 -S ${source} -o ${ptx}
    DEPENDS ${source} ${ARGN}
    COMMENT "Compiling the CUDA device's ${name} to PTX"
    VERBATIM)
  add_custom_command(
    OUTPUT ${ptx_source}
    COMMAND ${CMAKE_COMMAND} -D NAME=${name} -D INPUT=${ptx} -D OUTPUT=${ptx_source} -P ${MNEME_CUDA_DEVICE_DIR}/embed_ptx.cmake
    DEPENDS ${ptx} ${MNEME_CUDA_DEVICE_DIR}/embed_ptx.cmake
    VERBATIM)
endfunction()
mneme_embed_kernels(memory_kernels)
set_source_files_properties(${CMAKE_CURRENT_BINARY_DIR}/element_kernels_ptx.cc PROPERTIES COMPILE_OPTIONS -Wno-overlength-strings)
mneme_embed_kernels(element_kernels ${CMAKE_CURRENT_SOURCE_DIR}/element_math.h ${CMAKE_CURRENT_SOURCE_DIR}/element_filter.h)

set(MNEME_CUDA_DEVICE_SOURCES
  cuda/activity_clock.cc cuda/context.cc cuda/cuda_address_space.cc cuda/cuda_device.cc cuda/cuda_host_mapping.cc cuda/cuda_module.cc cuda/cuda_shared_memory.cc cuda/cuda_stream.cc cuda/cupti.cc cuda/driver.cc cuda/error.cc
  cuda/launch_clock.cc
  cuda/memory_kernels.cc cuda/nvml.cc cuda/staging.cc ${CMAKE_CURRENT_BINARY_DIR}/memory_kernels_ptx.cc
  ${CMAKE_CURRENT_BINARY_DIR}/element_kernels_ptx.cc)

set_source_files_properties(${MNEME_CUDA_DEVICE_DIR}/cupti.cc PROPERTIES COMPILE_DEFINITIONS MNEME_CUDA_HOME="${MNEME_CUDA_HOME}")

add_library(mneme_cuda_headers INTERFACE)
target_include_directories(mneme_cuda_headers SYSTEM INTERFACE ${MNEME_CUDA_HOME}/include)

function(mneme_cuda_device_tests)
  if(NOT BUILD_TESTING)
    return()
  endif()
  add_library(mneme_fake_cuda SHARED cuda/fake_cupti.cc cuda/fake_driver.cc cuda/fake_nvml.cc)
  set_target_properties(mneme_fake_cuda PROPERTIES CXX_VISIBILITY_PRESET default)
  target_include_directories(mneme_fake_cuda PRIVATE $<TARGET_PROPERTY:mneme_device,INTERFACE_INCLUDE_DIRECTORIES>)
  target_link_libraries(mneme_fake_cuda PRIVATE mneme_cuda_headers mneme_warnings)

  target_compile_definitions(mneme_device_test PRIVATE MNEME_FAKE_CUDA_LIBRARY="$<TARGET_FILE_NAME:mneme_fake_cuda>")
  set_target_properties(mneme_device_test PROPERTIES BUILD_RPATH "$ORIGIN/../lib")
  add_dependencies(mneme_device_test mneme_fake_cuda)

  add_executable(mneme_cuda_gpu_test cuda/cuda_gpu_test.cc)
  target_link_libraries(mneme_cuda_gpu_test PRIVATE mneme_api mneme_warnings GTest::gtest GTest::gtest_main)
  gtest_discover_tests(mneme_cuda_gpu_test TEST_PREFIX device.gpu. DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 300)
  set_property(GLOBAL APPEND PROPERTY MNEME_GPU_TESTS mneme_cuda_gpu_test)
endfunction()

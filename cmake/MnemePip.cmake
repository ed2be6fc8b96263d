# `pip install .` at the root: what scripts/configure would say, and no tests. The Debian packages are not installed here; CMake names
# what is missing (scripts/install-packages installs all).
set(BUILD_TESTING OFF CACHE BOOL "")
if(NOT CMAKE_CXX_COMPILER)  # scikit-build-core sets CXX to what Python was compiled with
  set(CMAKE_C_COMPILER clang-22)
  set(CMAKE_CXX_COMPILER clang++-22)
endif()
if(NOT MNEME_CUDA_HOME)
  set(scripts ${CMAKE_CURRENT_SOURCE_DIR}/scripts)
  execute_process(COMMAND ${scripts}/provide-cuda ${CMAKE_BINARY_DIR}/cuda OUTPUT_STRIP_TRAILING_WHITESPACE OUTPUT_VARIABLE cuda
    COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${scripts}/provide-nvptxcompiler ${cuda} ${CMAKE_BINARY_DIR}/nvptxcompiler OUTPUT_STRIP_TRAILING_WHITESPACE
    OUTPUT_VARIABLE nvptxcompiler COMMAND_ERROR_IS_FATAL ANY)
  set(MNEME_CUDA_HOME ${cuda} CACHE PATH "CUDA 13 toolkit")
  if(nvptxcompiler)
    set(MNEME_NVPTXCOMPILER_ARCHIVE ${nvptxcompiler} CACHE FILEPATH "nvPTXCompiler's static archive")
  endif()
endif()

# What Mneme is built from. The Makefile installs it; here it is only found.
find_package(LLVM 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/llvm)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(PNG REQUIRED)
find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module)  # scripts/provide-python
include(CTest)
if(BUILD_TESTING)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()

find_library(MNEME_ZSTD_ARCHIVE libzstd.a REQUIRED)
find_library(MNEME_ZLIB_ARCHIVE libz.a REQUIRED)
find_library(MNEME_LZ4_ARCHIVE liblz4.a REQUIRED)
find_library(MNEME_BOOST_CONTEXT_ARCHIVE libboost_context.a REQUIRED)
find_path(MNEME_XXHASH_INCLUDE xxhash.h REQUIRED)

# Where the CUDA toolkit's compile-time parts are: the Makefile passes the folder it found or made.
set(MNEME_CUDA_HOME "/usr/local/cuda" CACHE PATH "CUDA 13 toolkit: headers, libdevice, ptxas, fatbinary, cudart")

add_library(mneme_warnings INTERFACE)
target_compile_options(mneme_warnings INTERFACE -Wall -Wextra -Wpedantic -Werror=return-type -Wno-unused-parameter -Wno-gnu-zero-variadic-macro-arguments)

# LLVM's headers without its code, for pass plugins: these take the code from the process that loads them. Only what names this
# target or mneme_llvm sees an LLVM header.
add_library(mneme_llvm_headers INTERFACE)
target_include_directories(mneme_llvm_headers SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
target_compile_definitions(mneme_llvm_headers INTERFACE ${LLVM_DEFINITIONS_LIST})
target_compile_options(mneme_llvm_headers INTERFACE -fno-rtti)
# LLVM, linked as the shared library so that users' pass plugins load into the same one.
add_library(mneme_llvm INTERFACE)
target_link_libraries(mneme_llvm INTERFACE mneme_llvm_headers LLVM)

# Small header-only or static libraries, hidden inside what links them.
add_library(mneme_zstd INTERFACE)
target_link_libraries(mneme_zstd INTERFACE ${MNEME_ZSTD_ARCHIVE})
add_library(mneme_lz4 INTERFACE)
target_link_libraries(mneme_lz4 INTERFACE ${MNEME_LZ4_ARCHIVE})
add_library(mneme_zlib INTERFACE)
target_link_libraries(mneme_zlib INTERFACE ${MNEME_ZLIB_ARCHIVE})
add_library(mneme_xxhash INTERFACE)
target_compile_definitions(mneme_xxhash INTERFACE XXH_INLINE_ALL)
target_include_directories(mneme_xxhash SYSTEM INTERFACE ${MNEME_XXHASH_INCLUDE})

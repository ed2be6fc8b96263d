# A project that enables CMake's CUDA language with clang.
export LD_LIBRARY_PATH=$(mneme config cudadir)/lib64  # CMake names no folder of a shared CUDA runtime
cp "$EXAMPLES/vecadd/vecadd.cu" .
sed -i 's|"../check.h"|"check.h"|' vecadd.cu
cp "$EXAMPLES/check.h" .
cat >CMakeLists.txt <<'PROJECT'
cmake_minimum_required(VERSION 3.25)
project(with_cuda LANGUAGES CXX CUDA)
find_package(mneme)
add_executable(app vecadd.cu)
if(mneme_FOUND)
  add_mneme(app)
endif()
PROJECT
configure() {
  local folder=$1
  shift
  CUDAFLAGS="$(mneme config cudaflags)" CUDAARCHS=90 expect 0 "$cmake" -B "$folder" -G Ninja -DCMAKE_CXX_COMPILER="$(mneme config cxx)" \
    -DCMAKE_CUDA_COMPILER="$(mneme config cxx)" -DCUDAToolkit_ROOT="$(mneme config cudadir)" "$@"
  expect 0 "$cmake" --build "$folder"
  for device in $DEVICES; do
    expect 0 mneme run --device "$device" -- "$folder/app"
    contains out "vecadd: PASS"
  done
}
configure build-static -DCMAKE_PREFIX_PATH="$(mneme config cmakedir)"
configure build-shared -DCMAKE_PREFIX_PATH="$(mneme config cmakedir)" -DCMAKE_CUDA_RUNTIME_LIBRARY=Shared
# Without the package: the link flags as the language's standard libraries.
configure build-flags -DCMAKE_DISABLE_FIND_PACKAGE_mneme=ON -DCMAKE_CUDA_STANDARD_LIBRARIES="$(mneme config ldflags)"

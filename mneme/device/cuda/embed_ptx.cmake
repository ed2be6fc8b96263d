# INPUT: PTX. OUTPUT: the C++ source that defines memory_kernels_ptx().
file(READ ${INPUT} ptx)
file(WRITE ${OUTPUT} "// Made from memory_kernels.cu.
#include \"mneme/device/cuda/memory_kernels.h\"

namespace mneme::cuda {

std::string_view memory_kernels_ptx() {
  static constexpr char kPtx[] = R\"ptx(${ptx})ptx\";
  return std::string_view(kPtx, sizeof kPtx - 1);
}

}  // namespace mneme::cuda
")

# INPUT: PTX. OUTPUT: the C++ source that defines the function NAME_ptx().
file(READ ${INPUT} ptx)
file(WRITE ${OUTPUT} "// Made from ${NAME}.cu.
#include \"mneme/device/cuda/memory_kernels.h\"

namespace mneme::cuda {

std::string_view ${NAME}_ptx() {
  static constexpr char kPtx[] = R\"ptx(${ptx})ptx\";
  return std::string_view(kPtx, sizeof kPtx - 1);
}

}  // namespace mneme::cuda
")

#include "mneme/compile/launch_bounds.h"

#include <llvm/IR/Module.h>

namespace mneme {
namespace {

// NVPTX.
constexpr char kMaxThreads[] = "nvvm.maxntid";
constexpr char kRequiredThreads[] = "nvvm.reqntid";
constexpr char kMinBlocks[] = "nvvm.minctasm";
constexpr char kMaxCluster[] = "nvvm.maxclusterrank";
constexpr char kMaxRegisters[] = "nvvm.maxnreg";
constexpr char kClusterSize[] = "nvvm.cluster_dim";

// AMDGCN.
constexpr char kWorkGroupSize[] = "amdgpu-flat-work-group-size";
constexpr char kRequiredWorkGroup[] = "reqd_work_group_size";  // metadata
constexpr char kWavesPerUnit[] = "amdgpu-waves-per-eu";
constexpr char kVectorRegisters[] = "amdgpu-num-vgpr";

bool has_clusters(const std::string& architecture) {
  unsigned version = 0;
  llvm::StringRef digits(architecture);
  return digits.consume_front("sm_") && !digits.consumeInteger(10, version) && version >= 90;
}

Status set_nvptx_bounds(llvm::Function& kernel, const LaunchBounds& bounds, const std::string& architecture) {
  if (bounds.max_threads) {
    kernel.removeFnAttr(kRequiredThreads);
    kernel.addFnAttr(kMaxThreads, std::to_string(*bounds.max_threads));
  }
  if (bounds.min_blocks) {
    if (!kernel.hasFnAttribute(kMaxThreads) && !kernel.hasFnAttribute(kRequiredThreads))
      return error(Code::invalid_argument,
                   "specialise.min_blocks has an effect only with a bound of a block's threads, which '{}' has not: give "
                   "specialise.max_threads too",
                   kernel.getName().str());
    kernel.addFnAttr(kMinBlocks, std::to_string(*bounds.min_blocks));
  }
  if (bounds.max_cluster) {
    if (!has_clusters(architecture))
      return error(Code::unsupported, "specialise.max_cluster has no effect on {}: clusters came with sm_90", architecture);
    if (kernel.hasFnAttribute(kClusterSize))
      return error(Code::incompatible, "specialise.max_cluster: '{}' has a cluster size of its own, {}", kernel.getName().str(),
                   kernel.getFnAttribute(kClusterSize).getValueAsString().str());
    kernel.addFnAttr(kMaxCluster, std::to_string(*bounds.max_cluster));
  }
  if (bounds.max_registers) kernel.addFnAttr(kMaxRegisters, std::to_string(*bounds.max_registers));
  return {};
}

void set_amdgcn_bounds(llvm::Function& kernel, const LaunchBounds& bounds) {
  if (bounds.max_threads) {
    kernel.setMetadata(kRequiredWorkGroup, nullptr);
    kernel.addFnAttr(kWorkGroupSize, "1," + std::to_string(*bounds.max_threads));
  }
  if (bounds.waves_per_eu) kernel.addFnAttr(kWavesPerUnit, std::to_string(*bounds.waves_per_eu));
  if (bounds.max_registers) kernel.addFnAttr(kVectorRegisters, std::to_string(*bounds.max_registers));
}

}  // namespace

Status set_launch_bounds(llvm::Function& kernel, const LaunchBounds& bounds, const std::string& architecture) {
  if (!kernel.getParent()->getTargetTriple().isAMDGCN()) return set_nvptx_bounds(kernel, bounds, architecture);
  set_amdgcn_bounds(kernel, bounds);
  return {};
}

}  // namespace mneme

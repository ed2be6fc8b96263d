#include "mneme/compile/amdgpu/occupancy.h"

#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/MathExtras.h>
#include <llvm/TargetParser/Triple.h>

#include <algorithm>
#include <memory>

#include "mneme/compile/amdgpu/architecture.h"
#include "mneme/compile/fatal_error.h"
#include "mneme/compile/target_triple.h"

namespace mneme::amdgpu {
namespace {

class Limits {
 public:
  Limits(const std::string& processor, const std::string& features, bool narrow) : narrow_(narrow) {
    initialize_llvm();
    const llvm::Triple triple(kAmdgcnTriple);
    std::string ignored;
    const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, ignored);
    subtarget_.reset(target->createMCSubtargetInfo(triple, processor, features));
    gfx10_ = isa_version(processor) >= 10000;
    gfx8_ = isa_version(processor) >= 8000;
  }

  uint32_t most_waves() const {
    if (has("gfx90a-insts")) return 8;
    if (!gfx10_) return 10;
    return has("gfx10-3-insts") ? 16 : 20;
  }

  uint32_t by_vector_registers(uint32_t count) const {
    const uint32_t granule = vector_granule();
    return std::max(vector_file() / static_cast<uint32_t>(llvm::alignTo(std::max(count, granule), granule)), 1u);
  }

  // From gfx10 on every wavefront has all scalar registers.
  uint32_t by_scalar_registers(uint32_t count) const {
    if (gfx10_) return most_waves();
    if (gfx8_) return count <= 80 ? 10 : count <= 88 ? 9 : count <= 100 ? 8 : 7;
    return count <= 48 ? 10 : count <= 56 ? 9 : count <= 64 ? 8 : count <= 72 ? 7 : count <= 80 ? 6 : 5;
  }

  // A work-group runs on one compute unit, or from gfx10 on, without cumode, on the two of a work-group processor.
  uint32_t by_shared_memory(uint64_t bytes, uint32_t threads, uint32_t wavefront) const {
    const bool pair = gfx10_ && !has("cumode");
    const uint32_t units = gfx10_ && !pair ? 2 : 4;
    const uint64_t groups = shared_memory() * (pair ? 2 : 1) / std::max<uint64_t>(bytes, 1);
    const uint64_t waves = groups * llvm::divideCeil(threads, wavefront);
    return static_cast<uint32_t>(std::clamp<uint64_t>(llvm::divideCeil(waves, units), 1, most_waves()));
  }

 private:
  bool has(const char* feature) const { return subtarget_->checkFeatures(std::string("+") + feature); }

  uint32_t vector_file() const {
    if (has("gfx90a-insts")) return 512;
    if (!gfx10_) return 256;
    const uint32_t wide = has("allocate1_5xvgprs") ? 768 : has("1024-addressable-vgprs") ? 1024 : 512;
    return narrow_ ? 2 * wide : wide;
  }

  uint32_t vector_granule() const {
    if (has("gfx90a-insts")) return 8;
    const uint32_t wide = has("allocate1_5xvgprs") ? 12 : has("gfx10-3-insts") ? 8 : 4;
    return narrow_ ? 2 * wide : wide;
  }

  uint64_t shared_memory() const {
    for (const uint64_t size : {uint64_t{327680}, uint64_t{163840}, uint64_t{65536}})
      if (has(fmt::format("addressablelocalmemorysize{}", size).c_str())) return size;
    return 32768;
  }

  std::unique_ptr<llvm::MCSubtargetInfo> subtarget_;
  bool narrow_, gfx10_, gfx8_;
};

}  // namespace

uint32_t waves_per_eu(const KernelEntry& kernel, const std::string& processor, const std::string& features) {
  const Limits limits(processor, features, kernel.wavefront == 32);
  return std::min({limits.most_waves(), limits.by_vector_registers(kernel.vector_registers),
                   limits.by_scalar_registers(kernel.scalar_registers),
                   limits.by_shared_memory(kernel.shared.count, kernel.max_threads, kernel.wavefront)});
}

}  // namespace mneme::amdgpu

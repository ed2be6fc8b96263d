#include "mneme/cpu/lower/nvptx/dialect.h"

#include "mneme/cpu/lower/nvptx/instructions.h"

namespace mneme::cpu::nvptx {
namespace {

constexpr uint32_t kWarpSize = 32;

uint32_t launch_bound(const llvm::Function& kernel) {
  // "nvvm.maxntid"="256" or "16,16,1"
  uint64_t threads = 1;
  llvm::StringRef text = kernel.getFnAttribute("nvvm.maxntid").getValueAsString();
  if (text.empty()) return 0;
  llvm::SmallVector<llvm::StringRef, 3> extents;
  text.split(extents, ',');
  for (llvm::StringRef extent : extents) {
    uint64_t value = 0;
    if (extent.trim().getAsInteger(10, value)) return 0;
    threads *= value;
  }
  return threads > UINT32_MAX ? 0 : static_cast<uint32_t>(threads);
}

}  // namespace

constexpr Dialect kDialect = {
    .intrinsic_prefix = "llvm.nvvm.",
    .default_architecture = "sm_90",
    .long_shift = LongShift::shifts_out,
    .is_of = [](const llvm::Triple& triple) { return triple.isNVPTX(); },
    .check = nullptr,
    .complete = nullptr,
    .launch_bound = launch_bound,
    .warp_size = [](const llvm::Function&) { return kWarpSize; },
    .is_barrier = nullptr,
    .begin = nullptr,
    .fit_pointers = nullptr,
    .lower_instructions = lower_instructions,
    .needs_fibers = needs_fibers,
    .observes_other_threads = observes_other_threads,
    .is_device_instruction = is_device_instruction,
};

}  // namespace mneme::cpu::nvptx

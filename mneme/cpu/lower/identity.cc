#include "mneme/cpu/lower/identity.h"

#include <cpuid.h>
#include <llvm/Config/llvm-config.h>

#include "mneme/cpu/lower/compiler.h"
#include "mneme/cpu/run/image.h"

namespace mneme::cpu {
namespace {

// The model and what it can do; not which of its cores asks.
std::string processor() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  std::string text;
  if (__get_cpuid(1, &a, &b, &c, &d)) text += fmt::format("{:x}.{:x}.{:x}", a, c, d);
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) text += fmt::format(".{:x}.{:x}.{:x}", b, c, d);
  if (__get_cpuid_count(7, 1, &a, &b, &c, &d)) text += fmt::format(".{:x}.{:x}", a, d);
  if (__get_cpuid(0x80000001, &a, &b, &c, &d)) text += fmt::format(".{:x}.{:x}", c, d);
  return text;
}

}  // namespace

std::string compiler_identity(const std::string& architecture) {
  return fmt::format("cpu {} {} LLVM {} image {}", architecture, processor(), LLVM_VERSION_STRING, MNEME_CPU_IMAGE_VERSION);
}

Result<CompilerPlan> plan_compiler(const std::string& architecture) {
  return CompilerPlan{compiler_identity(architecture), [architecture] { return create_compiler(architecture); }};
}

}  // namespace mneme::cpu

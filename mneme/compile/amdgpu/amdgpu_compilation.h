// AmdgpuCompilation: what compiling for AMD GPUs adds to the stages that all compilations share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mneme/compile/amdgpu/codegen_target.h"
#include "mneme/compile/compilation.h"

namespace mneme::amdgpu {

class AmdgpuCompilation final : public Compilation {
 public:
  // `architecture`: the device's. `library_folders`: where ROCm's device libraries may be (device_library_folders()). Both
  // outlive this.
  AmdgpuCompilation(const CompileOptions& options, std::optional<Stage> last, const std::string& architecture,
                    const std::vector<std::string>& library_folders)
      : Compilation(options, last), architecture_(architecture), library_folders_(library_folders) {}

  // What code is made for, once run() has come to know it: a target ID; until then what it was asked for.
  std::string architecture() const { return target_ ? target_->id.text() : architecture_; }
  // To be called after run().
  const CodegenTarget& target() const { return *target_; }

 private:
  Status check(const llvm::Module& module) override;
  Result<CodeTarget> target(const llvm::Module& module) override;
  Status before_binding(llvm::Module& module) override;
  Status generate(llvm::Module& module, llvm::TargetMachine& machine, const PassPlugins& plugins) override;

  std::string what() const { return "making code for " + architecture(); }

  const std::string& architecture_;
  const std::vector<std::string>& library_folders_;
  std::optional<CodegenTarget> target_;
};

}  // namespace mneme::amdgpu

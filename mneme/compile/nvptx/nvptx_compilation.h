// NvptxCompilation: what compiling for the CUDA backend adds to the stages that all compilations share.
#pragma once

#include <optional>
#include <string>

#include "mneme/compile/compilation.h"
#include "mneme/compile/nvptx/ptx_codegen.h"

namespace mneme::nvptx {

class NvptxCompilation final : public Compilation {
 public:
  // What the pipeline gets of the debug information. Code is the same with either.
  enum class DebugInfo { recorded, lines };

  // `architecture`: the device's.
  NvptxCompilation(const CompileOptions& options, Stage last, const std::string& architecture,
                   DebugInfo debug = DebugInfo::recorded)
      : Compilation(options, last), debug_(debug) {
    target_.architecture = architecture;
  }

  // What code is made for, known once run() has chosen it: the architecture is a module's own variant of the device's, or what
  // the options name.
  const CodegenTarget& target() const { return target_; }
  const std::string& architecture() const { return target_.architecture; }

 private:
  Status check(const llvm::Module& module) override;
  Result<CodeTarget> target(const llvm::Module& module) override;
  Status after_tracking(llvm::Module& module) override;
  Status generate(llvm::Module& module, llvm::TargetMachine& machine, const PassPlugins& plugins) override;

  DebugInfo debug_;
  CodegenTarget target_;
};

}  // namespace mneme::nvptx

// The pass that puts segments (mneme/abi/segment.h) into a device module: one for every kernel, and under relocatable device code
// one for every function and global that the module defines for other files.
//
// It runs on the module as the front end made it, before any optimisation; device libraries are linked in by then. It does
// nothing on a module that is not for NVPTX or AMDGCN, or that has segments already. It adds two things, and changes nothing
// else:
//   - each segment, where place_segment() puts it for the target;
//   - for internal state variables that a segment lists, visibility and a name of their own.
// A kernel that cannot be extracted is left as it is, and a warning (-Wbackend-plugin) says why.
#pragma once

#include <llvm/IR/PassManager.h>

#include <optional>
#include <string>
#include <utility>

#include "mneme/instrument/linking.h"

namespace mneme::instrument {

struct InstrumentOptions {
  std::optional<Linking> linking;  // unset: detect_linking() finds it out
  std::string pipeline;            // what the module is optimised with afterwards, "default<O2>"; empty: not known
};

class InstrumentPass : public llvm::PassInfoMixin<InstrumentPass> {
 public:
  explicit InstrumentPass(InstrumentOptions options = {}) : options_(std::move(options)) {}
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&);
  static bool isRequired() { return true; }

 private:
  InstrumentOptions options_;
};

}  // namespace mneme::instrument

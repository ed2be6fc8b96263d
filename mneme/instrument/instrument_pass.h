// The pass: for every kernel of a device module a segment in that module.
//
// Runs on the module as the front end made it, before any optimisation; device libraries are linked in by then. Does nothing
// on a module that is not for NVPTX or AMDGCN, or that has segments already. It adds
//   one constant per segment, MNEME_SEGMENT_PREFIX and the hash of its bytes, weak, listed in llvm.used;
//   visibility and a name of their own to internal state variables that a segment lists.
// Nothing else changes. A kernel that cannot be extracted is left as it is, with a warning (-Wbackend-plugin) that says why.
#pragma once

#include <llvm/IR/PassManager.h>

#include <optional>

#include "mneme/instrument/linking.h"

namespace mneme::instrument {

struct InstrumentOptions {
  std::optional<Linking> linking;  // unset: found out, see detect_linking()
};

class InstrumentPass : public llvm::PassInfoMixin<InstrumentPass> {
 public:
  explicit InstrumentPass(InstrumentOptions options = {}) : options_(options) {}
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&);
  static bool isRequired() { return true; }

 private:
  InstrumentOptions options_;
};

}  // namespace mneme::instrument

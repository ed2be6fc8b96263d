// Runs a pipeline on a module that is held by handles (mneme/ir/module_ref.h). Passes of the caller's own can stand in it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/ir/module_ref.h"

namespace mneme {

// A pass of the caller's own. `run` is called where the name stands in the pipeline, on the thread that runs the pipeline. It
// may read and change the module by handles. If it fails, the pipeline ends, and fails with its status.
struct ModulePass {
  std::string name;  // of letters, digits, '-', '_' and '.'; no name of a pass of LLVM's
  std::function<Status()> run;
};

struct PassOptions {
  std::vector<std::string> plugins;  // files; see PassPlugins
  std::vector<ModulePass> passes;    // which the pipeline may name
  std::string cpu;                   // "sm_90"; the target's default when empty
  std::string features;
  unsigned codegen_level = 3;
};

// Runs any pipeline of LLVM's new pass manager on a module of any target, or of none. Handles to what the passes leave alone
// stay good.
//
// corrupt: the module does not verify, before the pipeline or after a pass of the caller's own. invalid_argument: the pipeline
// does not parse, or a pass has a name that it cannot have. internal: LLVM reported an error; a fatal one leaks the module's
// memory. After a failure the module is as it was before. Handles that were taken before are then refused, unless nothing had
// run yet. Crashes are not caught: mneme/pool/isolated.h runs passes that may crash in another process.
Status run_passes(ir::ModuleRef& module, const std::string& pipeline, const PassOptions& options = {});

// The same in three steps, of which only run() takes long. While it runs, other threads may call the module's functions, which
// refuse them (unavailable); nobody may do so during begin() and end(). `module` and `options` must outlive the object.
class PassRun {
 public:
  static Result<PassRun> begin(ir::ModuleRef& module, const PassOptions& options);
  void run(const std::string& pipeline);
  Status end();

 private:
  ir::ModuleRef* module_ = nullptr;
  const PassOptions* options_ = nullptr;
  ByteVector before_;
  std::string name_;
  Status status_;      // of the run
  Status own_status_;  // of the caller's passes
  bool abandoned_ = false;
};

}  // namespace mneme

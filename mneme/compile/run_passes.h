// Passes on a module that is held by handles (mneme/ir/module_ref.h): a pipeline in which passes of the caller's own can stand.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/ir/module_ref.h"

namespace mneme {

// Called where its name stands in the pipeline, on the thread that runs it, with the module that runs as it is then: to be read
// and changed by its handles. What it fails with ends the pipeline.
struct ModulePass {
  std::string name;
  std::function<Status()> run;
};

struct PassOptions {
  std::vector<std::string> plugins;  // files; see PassPlugins
  std::vector<ModulePass> passes;    // known by their names in the pipeline
  std::string cpu;                   // "sm_90"; the target's default when empty
  std::string features;
  unsigned codegen_level = 3;
};

// Runs any pipeline of LLVM's new pass manager on a module of any target, or of none. Handles to what the passes leave alone stay
// good.
//
// A module that does not verify is refused: corrupt, also after each pass of the caller's own. What failed leaves the module as
// it had been, and handles that were taken before are gone; a refusal before anything runs leaves them good. Fatal errors of LLVM
// are internal, and leak the module's memory. Crashes are not caught: what may
// crash is run in another process, by mneme/pool/isolated.h.
Status run_passes(ir::ModuleRef& module, const std::string& pipeline, const PassOptions& options = {});

// The same in three steps, of which only the middle one takes long: other threads may use (and are refused) the module meanwhile,
// as long as nobody does during the first and the last. `module` and `options` outlive it.
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

// What clang finds with -fpass-plugin=. The pass also has a name for opt: mneme-instrument, mneme-instrument<rdc>,
// mneme-instrument<no-rdc>.
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Plugins/PassPlugin.h>

#include "mneme/instrument/instrument_pass.h"

namespace {

using mneme::instrument::InstrumentOptions;
using mneme::instrument::InstrumentPass;
using mneme::instrument::Linking;

bool parse(llvm::StringRef name, llvm::ModulePassManager& passes) {
  InstrumentOptions options;
  if (name == "mneme-instrument<rdc>")
    options.linking = Linking::relocatable;
  else if (name == "mneme-instrument<no-rdc>")
    options.linking = Linking::whole_program;
  else if (name != "mneme-instrument")
    return false;
  passes.addPass(InstrumentPass(options));
  return true;
}

const char* pipeline_of(llvm::OptimizationLevel level) {
  if (level == llvm::OptimizationLevel::O0) return "default<O0>";
  if (level == llvm::OptimizationLevel::O1) return "default<O1>";
  if (level == llvm::OptimizationLevel::O2) return "default<O2>";
  if (level == llvm::OptimizationLevel::O3) return "default<O3>";
  return level == llvm::OptimizationLevel::Os ? "default<Os>" : "default<Oz>";
}

void register_callbacks(llvm::PassBuilder& builder) {
  builder.registerPipelineStartEPCallback([](llvm::ModulePassManager& passes, llvm::OptimizationLevel level) {
    passes.addPass(InstrumentPass({.linking = {}, .pipeline = pipeline_of(level)}));
  });
  builder.registerPipelineParsingCallback([](llvm::StringRef name, llvm::ModulePassManager& passes,
                                             llvm::ArrayRef<llvm::PassBuilder::PipelineElement>) { return parse(name, passes); });
}

}  // namespace

extern "C" __attribute__((visibility("default"))) llvm::PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "mneme", "0.1.0", register_callbacks};
}

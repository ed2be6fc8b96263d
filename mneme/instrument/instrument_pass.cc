#include "mneme/instrument/instrument_pass.h"

#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/Compression.h>
#include <llvm/Support/Path.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Triple.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include "mneme/instrument/closure.h"
#include "mneme/instrument/device_uses.h"
#include "mneme/instrument/names.h"
#include "mneme/instrument/place_segment.h"
#include "mneme/instrument/segment.h"
#include "mneme/instrument/state_globals.h"

namespace mneme::instrument {
namespace {

using namespace llvm;

std::optional<mneme_segment_target> target_of(const Module& module) {
  const Triple triple(module.getTargetTriple());
  if (triple.isNVPTX()) return MNEME_TARGET_NVPTX;
  if (triple.isAMDGCN()) return MNEME_TARGET_AMDGCN;
  return std::nullopt;
}

StringRef kind_name(const GlobalValue& value) {
  return is_kernel(value) ? "kernel" : isa<Function>(value) ? "function" : "variable";
}

void warn_refused(const GlobalValue& root, const std::string& reason) {
  std::string message =
      ("mneme: " + kind_name(root) + " '" + demangle(root.getName()) + "' is compiled but cannot be recorded: ").str() + reason;
  root.getContext().diagnose(DiagnosticInfoGeneric(message, DS_Warning));
}

// "file.cu:12"; without the folder, which is the builder's own affair.
std::string source_of(const GlobalValue& root) {
  auto* function = dyn_cast<Function>(&root);
  const DISubprogram* subprogram = function ? function->getSubprogram() : nullptr;
  if (!subprogram) return {};
  return (sys::path::filename(subprogram->getFilename()) + ":" + Twine(subprogram->getLine())).str();
}

class Instrumenter {
 public:
  Instrumenter(Module& module, mneme_segment_target target, Linking linking, StringRef pipeline)
      : module_(module), target_(target), linking_(linking), pipeline_(pipeline) {}

  bool run() {
    std::vector<Closure> closures;
    for (GlobalValue* root : roots()) {
      Expected<Closure> closure = collect_closure(*root);
      if (closure)
        closures.push_back(std::move(*closure));
      else
        warn_refused(*root, toString(closure.takeError()));
    }
    for (const Closure& closure : closures) show_state(closure);
    for (const Closure& closure : closures) {
      if (Error error = embed(closure)) warn_refused(*closure.root, toString(std::move(error)));
    }
    appendToUsed(module_, segments_);
    return !closures.empty();
  }

 private:
  std::vector<GlobalValue*> roots() const {
    std::vector<GlobalValue*> roots;
    for (Function& function : module_) {
      if (function.isDeclaration()) continue;
      if (is_kernel(function) || (linking_ == Linking::relocatable && is_offered(function))) roots.push_back(&function);
    }
    for (GlobalVariable& variable : module_.globals()) {
      bool is_memory = variable.getAddressSpace() == 0 || variable.getAddressSpace() == 1 || variable.getAddressSpace() == 4;
      if (linking_ == Linking::relocatable && is_memory && !is_compilers(variable) && is_offered(variable))
        roots.push_back(&variable);
    }
    return roots;
  }

  // Variables that clang makes for itself.
  static bool is_compilers(const GlobalVariable& variable) {
    return any_of(ArrayRef<StringRef>{"llvm.", "__clang_", "__hip_cuid_"},
                  [&](StringRef p) { return variable.getName().starts_with(p); });
  }

  // Defined for other files. What is linkonce or available_externally is defined by each file that uses it.
  static bool is_offered(const GlobalValue& value) {
    return !value.isDeclaration() && (value.hasExternalLinkage() || value.hasWeakLinkage());
  }

  void show_state(const Closure& closure) {
    for (GlobalValue* member : closure.members) {
      auto* variable = dyn_cast<GlobalVariable>(member);
      if (!variable || !variable->hasLocalLinkage() || !is_state(*variable)) continue;
      if (linking_ == Linking::relocatable && suffix_.empty()) suffix_ = module_suffix(module_);
      make_visible(*variable, suffix_);
    }
  }

  Error embed(const Closure& closure) {
    Segment segment;
    if (is_kernel(*closure.root)) {
      Expected<ParameterLayout> layout = parameter_layout(cast<Function>(*closure.root));
      if (!layout) return layout.takeError();
      segment.parameters = std::move(*layout);
    }
    bool is_linked = !is_kernel(*closure.root) || !closure.needs.empty();
    Expected<ExtractedModule> extracted = extract(closure, is_linked ? file_tag(module_) : "");
    if (!extracted) return extracted.takeError();
    describe(segment, closure, *extracted);
    write_bitcode(*extracted->module, segment.bitcode);
    if (GlobalValue* placed = place_segment(module_, encode(segment))) segments_.push_back(placed);
    return Error::success();
  }

  // Without the symbol table for linkers, which is as large as a small kernel.
  static void write_bitcode(const Module& module, SmallVectorImpl<char>& bitcode) {
    BitcodeWriter writer(bitcode);
    writer.writeModule(module);
    writer.writeStrtab();
  }

  void describe(Segment& segment, const Closure& closure, const ExtractedModule& extracted) const {
    const GlobalValue& root = *closure.root;
    segment.kind = is_kernel(root) ? MNEME_SEGMENT_KERNEL : isa<Function>(root) ? MNEME_SEGMENT_FUNCTION : MNEME_SEGMENT_GLOBAL;
    segment.target = target_;
    segment.static_hash = static_hash(*extracted.root);
    segment.name = root.getName();
    segment.ir_name = extracted.root->getName();
    segment.source = source_of(root);
    segment.arch = arch_of(root);
    segment.pipeline = pipeline_;
    segment.uses = device_uses(closure);
    segment.needs = closure.needs;
    for (GlobalValue* member : closure.members) {
      if (auto* variable = dyn_cast<GlobalVariable>(member)) describe_variable(segment, *variable, extracted);
    }
  }

  static void describe_variable(Segment& segment, const GlobalVariable& variable, const ExtractedModule& extracted) {
    if (!is_state(variable)) return;
    const auto& clone = cast<GlobalVariable>(*extracted.clones.lookup(&variable));
    const DataLayout& layout = clone.getParent()->getDataLayout();
    SegmentGlobal global;
    global.name = variable.getName();
    global.ir_name = clone.getName();
    global.size = variable.getValueType()->isSized() ? layout.getTypeAllocSize(variable.getValueType()).getFixedValue() : 0;
    global.alignment = static_cast<uint32_t>(layout.getValueOrABITypeAlignment(clone.getAlign(), clone.getValueType()).value());
    global.flags = global_flags(variable, clone);
    segment.globals.push_back(std::move(global));
  }

  std::string arch_of(const GlobalValue& root) const {
    if (auto* function = dyn_cast<Function>(&root)) return function->getFnAttribute("target-cpu").getValueAsString().str();
    for (const Function& function : module_) {
      if (function.hasFnAttribute("target-cpu")) return function.getFnAttribute("target-cpu").getValueAsString().str();
    }
    return {};
  }

  Module& module_;
  mneme_segment_target target_;
  Linking linking_;
  StringRef pipeline_;
  std::string suffix_;
  SmallVector<GlobalValue*, 16> segments_;
};

}  // namespace

PreservedAnalyses InstrumentPass::run(Module& module, ModuleAnalysisManager&) {
  auto target = target_of(module);
  if (!target || has_segments(module)) return PreservedAnalyses::all();
  if (!compression::zstd::isAvailable()) {
    module.getContext().diagnose(DiagnosticInfoGeneric(
        "mneme: no kernel of this file can be recorded: this compiler's LLVM was built without zstd", DS_Warning));
    return PreservedAnalyses::all();
  }
  Linking linking = options_.linking ? *options_.linking : detect_linking(module);
  return Instrumenter(module, *target, linking, options_.pipeline).run() ? PreservedAnalyses::none() : PreservedAnalyses::all();
}

}  // namespace mneme::instrument

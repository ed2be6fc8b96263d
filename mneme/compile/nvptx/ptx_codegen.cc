#include "mneme/compile/nvptx/ptx_codegen.h"

#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Operator.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/TargetParser/Triple.h>

#include <algorithm>
#include <mutex>

#include "mneme/compile/emit.h"
#include "mneme/compile/fatal_error.h"
#include "mneme/compile/floating_point.h"
#include "mneme/compile/target_features.h"

namespace mneme::nvptx {
namespace {

constexpr unsigned kSharedSpace = 3;

// The oldest PTX version that knows an architecture, from the PTX ISA's table of target directives.
unsigned oldest_ptx(llvm::StringRef architecture) {
  constexpr struct {
    llvm::StringLiteral architecture;
    unsigned ptx;
  } kTable[] = {{"sm_70", 60},  {"sm_72", 61},   {"sm_75", 63},  {"sm_80", 70},   {"sm_86", 71},  {"sm_87", 74},
                {"sm_88", 90},  {"sm_89", 78},   {"sm_90", 78},  {"sm_90a", 80},  {"sm_100", 86}, {"sm_100a", 86},
                {"sm_101", 86}, {"sm_101a", 86}, {"sm_120", 87}, {"sm_120a", 87}, {"sm_103", 88}, {"sm_103a", 88},
                {"sm_121", 88}, {"sm_121a", 88}, {"sm_110", 90}, {"sm_110a", 90}};
  for (const auto& row : kTable) {
    if (row.architecture == architecture) return row.ptx;
  }
  return 88;  // "f" variants came with it
}

// The PTX version among features, for example 88 of "+ptx88,+sm_90"; 0 when there is none.
unsigned ptx_of(llvm::StringRef list) {
  llvm::SmallVector<llvm::StringRef> features;
  list.split(features, ',');
  unsigned version = 0;
  for (llvm::StringRef feature : features) {
    unsigned number = 0;
    if (feature.consume_front("+ptx") && !feature.getAsInteger(10, number)) version = std::max(version, number);
  }
  return version;
}

bool allows_contraction(const llvm::Function& function) {
  return llvm::any_of(llvm::instructions(function), [](const llvm::Instruction& instruction) {
    const auto* operation = llvm::dyn_cast<llvm::FPMathOperator>(&instruction);
    return operation != nullptr && operation->hasAllowContract();
  });
}

// An architecture's own feature changes what LLVM believes of the GPU, but not for which one the PTX says that it is.
Status check_ptx_features(const CodegenTarget& target, const llvm::MCSubtargetInfo& known) {
  MNEME_TRY(check_features(target.features, known, target.architecture));
  if (size_t at = target.features.find("sm_"); at != std::string::npos)
    return error(Code::invalid_argument, "the target feature '{}' is an architecture: name it as the target instead",
                 target.features.substr(at, target.features.find(',', at) - at));
  unsigned ptx = ptx_of(target.features), oldest = oldest_ptx(target.architecture);
  if (ptx != 0 && ptx < oldest)
    return error(Code::invalid_argument, "PTX {}.{} has no {}, which came with PTX {}.{}", ptx / 10, ptx % 10,
                 target.architecture, oldest / 10, oldest % 10);
  return {};
}

// LLVM has how wide pointers are as an option of its command line alone, which a machine reads when it is made. Nobody else makes
// a machine while this lives.
class ShortPointers {
 public:
  explicit ShortPointers(CodegenTarget::Pointers pointers) : lock_(mutex()) {
    auto& options = llvm::cl::getRegisteredOptions();
    if (auto found = options.find("nvptx-short-ptr"); found != options.end())
      option_ = static_cast<llvm::cl::opt<bool>*>(found->second);
    if (option_ != nullptr) option_->setValue(pointers == CodegenTarget::Pointers::narrow);
  }
  ~ShortPointers() {
    if (option_ != nullptr) option_->setValue(false);
  }
  ShortPointers(const ShortPointers&) = delete;
  ShortPointers& operator=(const ShortPointers&) = delete;

 private:
  static std::mutex& mutex() {
    static std::mutex mutex;
    return mutex;
  }
  std::lock_guard<std::mutex> lock_;
  llvm::cl::opt<bool>* option_ = nullptr;
};

bool more_than_lines(const llvm::DICompileUnit& unit) {
  return unit.getEmissionKind() == llvm::DICompileUnit::FullDebug ||
         unit.getEmissionKind() == llvm::DICompileUnit::LineTablesOnly;
}

}  // namespace

CodegenTarget CodegenTarget::of(const llvm::Module& module, const std::string& architecture, const CodegenOptions& options) {
  CodegenTarget target;
  target.architecture = options.target.empty() ? architecture : options.target;
  unsigned ptx = 0;
  bool contracted = false;
  for (const llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    llvm::StringRef cpu = function.getFnAttribute("target-cpu").getValueAsString();
    if (options.target.empty() && (cpu == architecture + "a" || cpu == architecture + "f")) target.architecture = cpu;
    ptx = std::max(ptx, ptx_of(function.getFnAttribute("target-features").getValueAsString()));
    // clang sets these flags everywhere, but in libdevice, under the contraction that CUDA has by default, and nowhere otherwise.
    contracted = contracted || allows_contraction(function);
  }
  target.fusion = fusion_mode(options.contraction, contracted);
  if (module.getDataLayout().getPointerSizeInBits(kSharedSpace) == 32) target.pointers = Pointers::narrow;
  // LLVM takes the newest PTX version of those that are named.
  if (ptx_of(options.features) == 0 && ptx >= oldest_ptx(target.architecture)) target.features = fmt::format("+ptx{}", ptx);
  if (!options.features.empty()) target.features += (target.features.empty() ? "" : ",") + options.features;
  return target;
}

Result<std::unique_ptr<llvm::TargetMachine>> create_machine(const CodegenTarget& target, unsigned level) {
  initialize_llvm();
  const llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string what = fmt::format("making PTX for {}", target.architecture);
  std::string reason;
  const llvm::Target* backend = llvm::TargetRegistry::lookupTarget(triple, reason);
  if (backend == nullptr) return error(Code::unavailable, "{}: {}", what, reason);

  llvm::TargetOptions options;
  options.AllowFPOpFusion = target.fusion;
  auto optimisation = llvm::CodeGenOpt::getLevel(static_cast<int>(level));
  if (!optimisation) return error(Code::invalid_argument, "{}: the code generation level is {}, not 0 to 3", what, level);
  // Asked of the default architecture, since LLVM prints a warning when it makes a machine of one that it does not know.
  std::unique_ptr<llvm::MCSubtargetInfo> known(backend->createMCSubtargetInfo(triple, "", ""));
  if (known == nullptr || !known->isCPUStringValid(target.architecture)) {
    return error(Code::unsupported, "{}: LLVM {} does not know the architecture", what, LLVM_VERSION_STRING);
  }
  MNEME_TRY(check_ptx_features(target, *known));
  const ShortPointers pointers(target.pointers);
  std::unique_ptr<llvm::TargetMachine> machine(backend->createTargetMachine(triple, target.architecture, target.features, options,
                                                                            std::nullopt, std::nullopt, *optimisation));
  if (machine == nullptr) return error(Code::unavailable, "{}: LLVM's NVPTX target does not start", what);
  return machine;
}

void reduce_debug_info(llvm::Module& module) {
  if (llvm::none_of(module.debug_compile_units(), [](const llvm::DICompileUnit* unit) { return more_than_lines(*unit); })) return;
  llvm::stripNonLineTableDebugInfo(module);
  llvm::DebugInfoFinder finder;
  finder.processModule(module);
  llvm::NamedMDNode* units = module.getNamedMetadata("llvm.dbg.cu");
  for (unsigned i = 0; i < units->getNumOperands(); ++i) {
    auto* unit = llvm::cast<llvm::DICompileUnit>(units->getOperand(i));
    if (!more_than_lines(*unit)) continue;
    auto* lines = llvm::DICompileUnit::getDistinct(
        module.getContext(), unit->getSourceLanguage(), unit->getFile(), unit->getProducer(), unit->isOptimized(),
        unit->getFlags(), unit->getRuntimeVersion(), unit->getSplitDebugFilename(), llvm::DICompileUnit::DebugDirectivesOnly,
        nullptr, nullptr, nullptr, nullptr, nullptr, unit->getDWOId(), unit->getSplitDebugInlining(),
        unit->getDebugInfoForProfiling(), llvm::DICompileUnit::DebugNameTableKind::None, unit->getRangesBaseAddress(),
        unit->getSysRoot(), unit->getSDK());
    units->setOperand(i, lines);
    for (llvm::DISubprogram* subprogram : finder.subprograms()) {
      if (subprogram->getUnit() == unit) subprogram->replaceUnit(lines);
    }
  }
}

Result<std::string> emit_ptx(llvm::Module& module, llvm::TargetMachine& machine, const PassPlugins& plugins) {
  reduce_debug_info(module);
  return emit_code(module, machine, llvm::CodeGenFileType::AssemblyFile, plugins,
                   fmt::format("making PTX for {}", machine.getTargetCPU().str()));
}

bool has_lines(const std::string& ptx) { return ptx.find("\n\t.loc\t") != std::string::npos; }

}  // namespace mneme::nvptx

#include "mneme/compile/amdgpu/codegen_target.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/Metadata.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/TargetParser/Triple.h>

#include <optional>

#include "mneme/compile/amdgpu/recorded_target.h"
#include "mneme/compile/fatal_error.h"
#include "mneme/compile/floating_point.h"
#include "mneme/compile/prepare.h"
#include "mneme/compile/target_features.h"
#include "mneme/compile/target_triple.h"

namespace mneme::amdgpu {
namespace {

void append(std::string& list, llvm::StringRef features) {
  if (features.empty()) return;
  if (!list.empty()) list += ',';
  list += features;
}

void append(std::string& list, llvm::StringRef name, Setting setting) {
  if (setting != Setting::any) append(list, ((setting == Setting::on ? "+" : "-") + name).str());
}

Result<unsigned> choose_version(const RecordedTarget& recorded, const TargetId& id, const CodegenOptions& options) {
  if (recorded.version != 0 && !is_code_object_version(recorded.version))
    return error(
        Code::incompatible,
        "making code for {}: the kernel was compiled for code objects of version {}, whose implicit arguments are others: "
        "build the program with -mcode-object-version=5 or 6",
        id.processor, recorded.version);
  const unsigned usual = recorded.version == 0 ? kUsualVersion : recorded.version;
  if (!is_generic(id.processor)) return options.code_object.value_or(usual);
  if (options.code_object.value_or(6) != 6)
    return error(Code::invalid_argument, "codegen.code_object is {}: code objects for {} have version 6", *options.code_object,
                 id.processor);
  return 6u;
}

Result<unsigned> choose_wavefront(const RecordedTarget& recorded, const TargetId& id, const CodegenOptions& options) {
  const auto asked = find_wavefront(options.features);
  const auto before = find_wavefront(recorded.features);
  const unsigned size = asked    ? *asked
                        : before ? *before
                                 : usual_wavefront(recorded.processor.empty() ? id.processor : recorded.processor);
  if (size == 32 ? has_wavefront_of_32(id.processor) : has_wavefront_of_64(id.processor)) return size;
  if (asked)
    return error(Code::invalid_argument, "{} has no wavefronts of {}: leave the feature 'wavefrontsize{}' out", id.processor,
                 size, size);
  return error(Code::unsupported,
               "making code for {}, which has no wavefronts of {}: the kernel was compiled for such ones; codegen.features "
               "'+wavefrontsize{}' compiles it all the same, if its source asks for no size",
               id.processor, size, 96 - size);
}

// A feature of the options that a target ID has too becomes part of the ID.
Status take_setting(TargetId& id, Setting TargetId::* setting, const char* name, bool there, const std::string& features) {
  const auto asked = find_feature(features, name);
  if (!asked) return {};
  if (!there) return error(Code::invalid_argument, "{} has no {}: leave the feature out", id.processor, name);
  const Setting wanted = *asked ? Setting::on : Setting::off;
  if (id.*setting != Setting::any && id.*setting != wanted)
    return error(Code::invalid_argument, "the target '{}' and the feature '{}{}' contradict each other", id.text(),
                 *asked ? '+' : '-', name);
  id.*setting = wanted;
  return {};
}

Result<std::unique_ptr<llvm::MCSubtargetInfo>> subtarget(const llvm::Target** target) {
  initialize_llvm();
  const llvm::Triple triple(kAmdgcnTriple);
  std::string reason;
  *target = llvm::TargetRegistry::lookupTarget(triple, reason);
  if (*target == nullptr) return error(Code::unavailable, "making code for AMD GPUs: {}", reason);
  return std::unique_ptr<llvm::MCSubtargetInfo>((*target)->createMCSubtargetInfo(triple, "", ""));
}

// Of the recorded device's, that a target of the same processor names too.
Setting recorded_setting(Setting of_target, const std::string& features, const char* name) {
  const auto recorded = find_feature(features, name);
  if (of_target != Setting::any || !recorded) return of_target;
  return *recorded ? Setting::on : Setting::off;
}

void set_constant(llvm::Module& module, llvm::StringRef name, uint64_t value, bool only_if_open) {
  llvm::GlobalVariable* variable = module.getNamedGlobal(name);
  if (!variable || (only_if_open && !variable->isDeclaration())) return;
  auto* type = llvm::dyn_cast<llvm::IntegerType>(variable->getValueType());
  if (!type) return;
  variable->setInitializer(llvm::ConstantInt::get(type, value));
  variable->setConstant(true);
  variable->setExternallyInitialized(false);
  variable->setLinkage(llvm::GlobalValue::InternalLinkage);
  variable->setVisibility(llvm::GlobalValue::DefaultVisibility);
}

void set_control_constants(llvm::Module& module, const CodegenTarget& target, FlushDenormals ftz) {
  set_constant(module, "__oclc_ISA_version", isa_version(target.id.processor), false);
  set_constant(module, "__oclc_ABI_version", kVersionUnit * target.code_object, false);
  set_constant(module, "__oclc_wavefrontsize64", target.wavefront == 64, false);
  // What clang chose is in the module already; else as clang chooses without options.
  set_constant(module, "__oclc_daz_opt", ftz == FlushDenormals::on, ftz == FlushDenormals::recorded);
  set_constant(module, "__oclc_finite_only_opt", 0, true);
  set_constant(module, "__oclc_unsafe_math_opt", 0, true);
  set_constant(module, "__oclc_correctly_rounded_sqrt32", 1, true);
}

// By which the host's side of clang tells files apart; nothing of the device reads them.
void drop_file_marks(llvm::Module& module) {
  for (llvm::GlobalVariable& variable : llvm::make_early_inc_range(module.globals())) {
    if (!variable.getName().starts_with("__hip_cuid_")) continue;
    variable.removeDeadConstantUsers();
    if (variable.use_empty()) variable.eraseFromParent();
  }
}

void internalise(llvm::Module& module) {
  protect_visible(module);
  for (llvm::GlobalObject& object : module.global_objects()) {
    if (object.isDeclaration() || object.hasLocalLinkage() || object.hasAppendingLinkage()) continue;
    const auto* function = llvm::dyn_cast<llvm::Function>(&object);
    const auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(&object);
    if ((function && is_kernel(*function)) || (variable && is_state(*variable))) continue;
    object.setVisibility(llvm::GlobalValue::DefaultVisibility);
    object.setLinkage(llvm::GlobalValue::InternalLinkage);
  }
}

}  // namespace

Result<CodegenTarget> CodegenTarget::of(const llvm::Module& module, const std::string& architecture,
                                        const CodegenOptions& options) {
  const RecordedTarget recorded = read_recorded_target(module);
  CodegenTarget target;
  MNEME_ASSIGN(target.id, parse_target_id(options.target.empty() ? architecture : options.target));
  const llvm::Target* backend = nullptr;
  MNEME_ASSIGN(const auto known, subtarget(&backend));
  MNEME_TRY(check_features(options.features, *known, target.id.processor));
  TargetId& id = target.id;
  MNEME_TRY(take_setting(id, &TargetId::xnack, "xnack", has_xnack(id.processor), options.features));
  MNEME_TRY(take_setting(id, &TargetId::sramecc, "sramecc", has_sramecc(id.processor), options.features));
  MNEME_ASSIGN(target.code_object, choose_version(recorded, id, options));
  MNEME_ASSIGN(target.wavefront, choose_wavefront(recorded, id, options));
  if (recorded.processor == id.processor) {
    target.features = recorded.features;
    id.xnack = recorded_setting(id.xnack, recorded.features, "xnack");
    id.sramecc = recorded_setting(id.sramecc, recorded.features, "sramecc");
  }
  append(target.features, fmt::format("{}wavefrontsize{},+wavefrontsize{}", '-', 96 - target.wavefront, target.wavefront));
  append(target.features, "xnack", id.xnack);
  append(target.features, "sramecc", id.sramecc);
  append(target.features, options.features);
  target.fusion = fusion_mode(options.contraction, /*recorded=*/false);  // clang's flags on the operations say what it fused
  return target;
}

Result<std::unique_ptr<llvm::TargetMachine>> create_machine(const CodegenTarget& target, unsigned level) {
  const std::string what = fmt::format("making code for {}", target.id.text());
  const llvm::Target* backend = nullptr;
  MNEME_ASSIGN(const auto known, subtarget(&backend));
  auto optimisation = llvm::CodeGenOpt::getLevel(static_cast<int>(level));
  if (!optimisation) return error(Code::invalid_argument, "{}: the code generation level is {}, not 0 to 3", what, level);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = target.fusion;
  std::unique_ptr<llvm::TargetMachine> machine(backend->createTargetMachine(llvm::Triple(kAmdgcnTriple), target.id.processor,
                                                                            target.features, options, llvm::Reloc::PIC_,
                                                                            std::nullopt, *optimisation));
  if (machine == nullptr) return error(Code::unavailable, "{}: LLVM's AMDGPU target does not start", what);
  return machine;
}

void set_target(llvm::Module& module, const CodegenTarget& target, FlushDenormals ftz) {
  module.setModuleFlag(llvm::Module::Error, kVersionFlag, kVersionUnit * target.code_object);
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    function.addFnAttr("target-cpu", target.id.processor);
    function.addFnAttr("target-features", target.features);
  }
  set_control_constants(module, target, ftz);
  drop_file_marks(module);
  internalise(module);
}

void protect_visible(llvm::Module& module) {
  for (llvm::GlobalObject& object : module.global_objects())
    if (!object.isDeclaration() && !object.hasLocalLinkage() && !object.getName().starts_with("llvm."))
      object.setVisibility(llvm::GlobalValue::ProtectedVisibility);
}

}  // namespace mneme::amdgpu

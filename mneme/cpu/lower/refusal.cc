#include "mneme/cpu/lower/refusal.h"

#include <llvm/ADT/StringSet.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Intrinsics.h>

#include <optional>
#include <string>

#include "mneme/cpu/lower/dialect.h"

namespace mneme::cpu {
namespace {

constexpr unsigned kSharedSpace = 3;

// Appending variables that are lists for LLVM itself, of which code generation makes nothing.
bool is_list_for_llvm(const llvm::GlobalVariable& variable) {
  return llvm::is_contained({"llvm.used", "llvm.compiler.used", "llvm.global.annotations"}, variable.getName());
}

// What the generator of host code obeys: calls of functions by name at a function's begin, and sections.
std::optional<std::string> host_attribute(llvm::AttributeSet attributes) {
  for (const char* name :
       {"implicit-section-name", "bss-section", "data-section", "rodata-section", "relro-section", "probe-stack", "fentry-call",
        "split-stack", "patchable-function", "patchable-function-entry", "patchable-function-prefix", "instrument-function-entry",
        "instrument-function-exit", "instrument-function-entry-inlined", "instrument-function-exit-inlined",
        "function-instrument", "xray-instruction-threshold"})
    if (attributes.hasAttribute(name)) return fmt::format("the attribute '{}'", name);
  return std::nullopt;
}

std::optional<std::string> host_metadata(const llvm::GlobalObject& object) {
  for (const char* name : {"pcsections", "associated", "section_prefix", "elf_section_properties", "exclude", "absolute_symbol",
                           "kcfi_type", "func_sanitize"})
    if (object.hasMetadata(name)) return fmt::format("metadata '!{}'", name);
  return std::nullopt;
}

std::optional<std::string> host_part(const llvm::GlobalObject& object) {
  if (object.hasSection() && object.getSection() != "llvm.metadata")
    return fmt::format("the section '{}'", object.getSection().str());
  if (object.hasPartition()) return fmt::format("the partition '{}'", object.getPartition().str());
  return host_metadata(object);
}

std::optional<std::string> host_part(const llvm::GlobalVariable& variable) {
  if (variable.isThreadLocal()) return "storage of the host's threads";
  if (variable.hasAppendingLinkage() && !is_list_for_llvm(variable))
    return "a list of functions that a host's program runs by itself";
  if (auto attribute = host_attribute(variable.getAttributes())) return attribute;
  return host_part(static_cast<const llvm::GlobalObject&>(variable));
}

std::optional<std::string> host_part(const llvm::Function& function) {
  if (function.hasPrologueData()) return "prologue data, which a host would run";
  if (function.hasPrefixData()) return "prefix data, which lies among a host's code";
  if (function.hasPersonalityFn()) return "a personality function";
  if (function.hasGC()) return fmt::format("the garbage collector '{}'", function.getGC());
  if (auto attribute = host_attribute(function.getAttributes().getFnAttrs())) return attribute;
  return host_part(static_cast<const llvm::GlobalObject&>(function));
}

// Intrinsics of processors other than the dialect's, and those that show or change where the host's own code stands.
bool is_host_intrinsic(const llvm::Function& function) {
  const llvm::Intrinsic::ID id = function.getIntrinsicID();
  if (llvm::Intrinsic::isTargetIntrinsic(id))
    return !function.getName().starts_with(dialect_of(*function.getParent()).intrinsic_prefix);
  static const llvm::StringSet<> families = {"returnaddress",
                                             "addressofreturnaddress",
                                             "frameaddress",
                                             "sponentry",
                                             "stackguard",
                                             "stackprotector",
                                             "localaddress",
                                             "localescape",
                                             "localrecover",
                                             "read_register",
                                             "write_register",
                                             "read_volatile_register",
                                             "thread",
                                             "eh",
                                             "init",
                                             "adjust",
                                             "call",
                                             "clear_cache",
                                             "icall",
                                             "coro",
                                             "objc",
                                             "swift",
                                             "seh",
                                             "gcroot",
                                             "gcread",
                                             "gcwrite",
                                             "instrprof",
                                             "xray",
                                             "asan",
                                             "hwasan",
                                             "pcmarker",
                                             "set",
                                             "reset",
                                             "ptrauth",
                                             "deoptimize",
                                             "load",
                                             "threadlocal",
                                             "codeview",
                                             "pseudoprobe",
                                             "stackaddress"};
  static const llvm::StringSet<> experimental = {"stackmap", "patchpoint", "gc", "deoptimize", "guard"};
  llvm::StringRef name = function.getName();
  if (!name.consume_front("llvm.")) return false;
  if (name.consume_front("experimental.")) return experimental.contains(name.split('.').first);
  return families.contains(name.split('.').first);
}

Status refuse(const char* kind, llvm::StringRef name, const std::string& what) {
  return error(Code::unsupported, "{} '{}' has {}: the CPU device runs kernels, and no other code that IR brings to the host",
               kind, name.str(), what);
}

bool is_gpu_space(unsigned space) { return space <= 7 || space == 101; }

Status refuse_in(const llvm::Function& function) {
  for (const llvm::Instruction& instruction : llvm::instructions(function)) {
    if (llvm::isa<llvm::CallBrInst>(instruction)) return refuse("function", function.getName(), "assembly that branches");
    if (instruction.hasMetadata("pcsections")) return refuse("function", function.getName(), "metadata '!pcsections'");
    for (const llvm::Value* operand : instruction.operands())
      if (operand->getType()->isPointerTy() && !is_gpu_space(operand->getType()->getPointerAddressSpace()))
        return refuse("function", function.getName(),
                      fmt::format("address space {}, which no GPU has", operand->getType()->getPointerAddressSpace()));
  }
  return {};
}

}  // namespace

Status refuse_own_names(const llvm::Module& module) {
  for (const llvm::GlobalValue& value : module.global_values()) {
    llvm::StringRef name = value.getName().ltrim('\1');
    // Segments are what the plugin leaves in a whole file's IR: constants, which nothing here looks for.
    if (name.starts_with("__mneme_") && !name.starts_with("__mneme_segment_"))
      return error(Code::unsupported, "'{}' has a name that only Mneme gives: give it another", value.getName().str());
  }
  return {};
}

Status refuse_host_code(const llvm::Module& module) {
  if (!module.getModuleInlineAsm().empty()) return refuse("module", module.getModuleIdentifier(), "assembly of its own");
  for (const llvm::GlobalIFunc& ifunc : module.ifuncs())
    return refuse("function", ifunc.getName(), "a resolver that a host's loader runs");
  for (const llvm::GlobalVariable& variable : module.globals()) {
    if (auto part = host_part(variable)) return refuse("variable", variable.getName(), *part);
    if (variable.isDeclaration() && !variable.use_empty() && variable.getAddressSpace() != kSharedSpace)
      return error(Code::unsupported, "variable '{}' is nowhere defined, and the CPU device does not look for it on the host",
                   variable.getName().str());
  }
  for (const llvm::Function& function : module) {
    if (auto part = host_part(function)) return refuse("function", function.getName(), *part);
    if (function.isIntrinsic() && !function.use_empty() && is_host_intrinsic(function))
      return error(Code::unsupported, "intrinsic '{}' is for a host's code, which the CPU device does not take from IR",
                   function.getName().str());
    MNEME_TRY(refuse_in(function));
  }
  return {};
}

}  // namespace mneme::cpu

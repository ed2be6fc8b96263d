#include "mneme/cpu/lower/host_code.h"

#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Operator.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Host.h>

#include <map>
#include <optional>

#include "mneme/compile/floating_point.h"
#include "mneme/compile/pipeline.h"

namespace mneme::cpu {
namespace {

constexpr char kHostTriple[] = "x86_64-unknown-linux-gnu";
// What a frame takes beside its variables: saved registers, spills and alignment.
constexpr uint64_t kFrameBytes = 512;
constexpr uint64_t kSpillBytesAnInstruction = 8;
// Room for what services and the C library need on the same stack.
constexpr uint64_t kLibraryBytes = 16 << 10;

void forget_device_target(llvm::Function& function, bool contracts) {
  for (const char* name : {"target-cpu", "target-features", "tune-cpu", "frame-pointer", "stack-protector-buffer-size",
                           "denormal-fp-math", "denormal-fp-math-f32"})
    function.removeFnAttr(name);
  function.removeFnAttr(llvm::Attribute::Convergent);
  if (contracts) return;
  for (llvm::Instruction& instruction : llvm::instructions(function))
    if (llvm::isa<llvm::FPMathOperator>(instruction)) instruction.setHasAllowContract(false);
}

std::optional<uint64_t> frames_below(llvm::Function& function, std::map<llvm::Function*, std::optional<uint64_t>>& known) {
  auto [entry, first] = known.try_emplace(&function, std::nullopt);  // no value: on the way (recursion), or unbounded
  if (!first) return entry->second;
  uint64_t own = kFrameBytes, instructions = 0, deepest = 0;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    ++instructions;
    if (auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction)) {
      auto size = variable->getAllocationSize(function.getDataLayout());
      if (!size) return std::nullopt;
      own += size->getFixedValue() + variable->getAlign().value();
    }
    auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    if (!call || call->isInlineAsm()) continue;
    llvm::Function* callee = call->getCalledFunction();
    if (callee && callee->isDeclaration()) continue;
    if (!callee) {
      // A service is called through the block's table, which cpu/run's own margin covers; other pointers lead anywhere.
      if (!call->getCalledOperand()->getName().starts_with("service")) return std::nullopt;
      continue;
    }
    auto below = frames_below(*callee, known);
    if (!below) return std::nullopt;
    deepest = std::max(deepest, *below);
  }
  own += kSpillBytesAnInstruction * std::min<uint64_t>(instructions, 2048);
  return known[&function] = own + deepest;
}

}  // namespace

Result<std::unique_ptr<llvm::TargetMachine>> become_host_module(llvm::Module& module, const std::string& architecture,
                                                                const CodegenOptions& codegen) {
  llvm::stripNonLineTableDebugInfo(module);  // GPU debug information speaks of address spaces that the host's cannot
  module.setTargetTriple(llvm::Triple(kHostTriple));
  MNEME_ASSIGN(auto machine, create_target_machine(module, {architecture, codegen.features, codegen.level,
                                                            fusion_mode(codegen.contraction, false)}));
  module.setDataLayout(machine->createDataLayout());
  for (llvm::Function& function : module) forget_device_target(function, contracts(codegen));
  // Among them are libraries that a linker is to take in, which IR for a GPU has no say in.
  for (llvm::NamedMDNode& node : llvm::make_early_inc_range(module.named_metadata()))
    if (!llvm::is_contained({"llvm.module.flags", "llvm.dbg.cu"}, node.getName())) node.eraseFromParent();
  // A program compiled with -fPIC or -fPIE has these flags already, which setPICLevel would double.
  module.setModuleFlag(llvm::Module::Min, "PIC Level", static_cast<uint32_t>(llvm::PICLevel::BigPIC));
  return machine;
}

Status check_processor(const CodegenOptions& codegen) {
  llvm::StringMap<bool> processor = llvm::sys::getHostCPUFeatures();
  llvm::SmallVector<llvm::StringRef> features;
  llvm::StringRef(codegen.features).split(features, ',', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef feature : features) {
    auto found = processor.end();
    if (feature.consume_front("+")) found = processor.find(feature);
    if (found != processor.end() && !found->second)
      return error(Code::unsupported, "this machine's processor does not have the target feature '{}'", feature.str());
  }
  return {};
}

uint64_t stack_bytes(llvm::Function& entry) {
  std::map<llvm::Function*, std::optional<uint64_t>> known;
  std::optional<uint64_t> bytes = frames_below(entry, known);
  return bytes ? *bytes + kLibraryBytes : 0;
}

Result<ByteVector> emit_file(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType type,
                             const PassPlugins& plugins) {
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, type))
    return error(Code::internal, "LLVM cannot write code for {}", module.getTargetTriple().str());
  if (!plugins.generate(module, machine, type, stream)) passes.run(module);
  auto bytes = std::as_bytes(std::span(object.data(), object.size()));
  return ByteVector(bytes.begin(), bytes.end());
}

}  // namespace mneme::cpu

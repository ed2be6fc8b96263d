#include "mneme/compile/amdgpu/compiler.h"

#include <llvm/Config/llvm-config.h>

#include <algorithm>
#include <optional>

#include "mneme/compile/amdgpu/architecture.h"
#include "mneme/compile/amdgpu/code_object.h"
#include "mneme/compile/amdgpu/codegen_target.h"
#include "mneme/compile/amdgpu/device_libraries.h"
#include "mneme/compile/amdgpu/occupancy.h"
#include "mneme/compile/compilation.h"
#include "mneme/compile/emit.h"
#include "mneme/compile/fatal_error.h"
#include "mneme/compile/linker.h"
#include "mneme/compile/machine_instructions.h"
#include "mneme/compile/pipeline.h"
#include "mneme/compile/prepare.h"
#include "mneme/compile/stages.h"
#include "mneme/compile/target_triple.h"
#include "mneme/ir/access.h"

namespace mneme::amdgpu {
namespace {

constexpr char kAssembler[] = "lld";

class AmdgpuCompilation final : public Compilation {
 public:
  AmdgpuCompilation(const CompileOptions& options, std::optional<Stage> last, const std::string& architecture)
      : Compilation(options, last), architecture_(architecture) {}

  // What code is made for, once the compilation has come to know it; until then what it was asked for.
  std::string architecture() const { return target_ ? target_->id.text() : architecture_; }

 private:
  Status check(const llvm::Module&) override { return {}; }

  Result<CodeTarget> target(const llvm::Module& module) override {
    MNEME_ASSIGN(target_, CodegenTarget::of(module, architecture_, options().codegen));
    MNEME_ASSIGN(std::unique_ptr<llvm::TargetMachine> machine, create_machine(*target_, codegen_level(options())));
    return CodeTarget{target_->id.text(), std::move(machine)};
  }

  Status before_binding(llvm::Module& module) override {
    MNEME_TRY(link_device_libraries(module, device_library_folders()));
    set_target(module, *target_, options().codegen.ftz);
    return {};
  }

  Status generate(llvm::Module& module, llvm::TargetMachine& machine, const PassPlugins& plugins) override {
    MNEME_TRY(drop_unreached(module, machine));
    state() = expose_state(module, AllowedNames::any);
    // Nobody replaces what is visible; the code reaches it without a table of addresses then, as clang's does.
    for (llvm::GlobalObject& object : module.global_objects())
      if (!object.isDeclaration() && !object.hasLocalLinkage() && !object.getName().starts_with("llvm."))
        object.setVisibility(llvm::GlobalValue::ProtectedVisibility);
    const auto type = last() ? llvm::CodeGenFileType::AssemblyFile : llvm::CodeGenFileType::ObjectFile;
    MNEME_ASSIGN(code(), stages().time("codegen", [&] { return emit_code(module, machine, type, plugins, what()); }));
    return {};
  }

  std::string what() const { return "making code for " + architecture(); }

  const std::string& architecture_;
  std::optional<CodegenTarget> target_;
};

class AmdgpuCompiler final : public Compiler {
 public:
  explicit AmdgpuCompiler(std::string architecture) : architecture_(std::move(architecture)) {}

  Result<Translation> translate(const ir::Module& module, const CompileOptions& options) override {
    AmdgpuCompilation compilation(options, std::nullopt, architecture_);
    MNEME_TRY(run(module, options, compilation));
    return Translation{std::move(compilation.code()), compilation.architecture(),    {}, options.kernels,
                       compilation.stages().take(),   std::move(compilation.state())};
  }

  Result<CompiledCode> assemble(const Translation& translation) override {
    const ByteSpan object = std::as_bytes(std::span(translation.code));
    Stages stages;
    auto image = stages.time(
        "link", [&] { return link_in_memory({"-m", "elf64_amdgpu", "--no-undefined", "--build-id=none"}, {&object, 1}); });
    if (!image.ok()) return image.status().with_context("linking code for " + translation.architecture);
    CompiledCode code;
    code.image = {DeviceKind::hip, std::move(*image)};
    code.digest = digest_of(code.image.bytes);
    code.translation_digest = translation.digest();
    if (translation.kernels.size() == 1) {
      MNEME_ASSIGN(code.facts, read_facts(code.image.bytes, translation.kernels[0]));
    }
    code.state = translation.state;
    code.times = translation.times;
    for (StageTime& time : stages.take()) code.times.push_back(std::move(time));
    code.assembler = kAssembler;
    return code;
  }

  std::string identity() const override { return fmt::format("hip {} LLVM {}", architecture_, LLVM_VERSION_STRING); }

  Result<std::string> emit(const ir::Module& module, const CompileOptions& options, Stage stage) override {
    AmdgpuCompilation compilation(options, stage, architecture_);
    MNEME_TRY(run(module, options, compilation));
    return std::move(compilation.code());
  }

  Result<std::string> disassemble(const CodeImage& image) const override {
    MNEME_ASSIGN(const CodeObject object, read_code_object(image.bytes));
    MNEME_ASSIGN(const InstructionSet set, instruction_set(object));
    return print_instructions(image.bytes, set);
  }

 private:
  // All kernels of an object have wavefronts of one size here.
  static Result<InstructionSet> instruction_set(const CodeObject& object) {
    MNEME_ASSIGN(const TargetId id, parse_target_id(object.target));
    const uint32_t wavefront = object.kernels.empty() ? 64 : object.kernels.front().wavefront;
    return InstructionSet{kAmdgcnTriple, id.processor,
                          fmt::format("-wavefrontsize{},+wavefrontsize{}", 96 - wavefront, wavefront)};
  }

  static Result<CodeFacts> read_facts(ByteSpan image, const std::string& name) {
    MNEME_ASSIGN(const CodeObject object, read_code_object(image));
    MNEME_ASSIGN(const InstructionSet set, instruction_set(object));
    const KernelEntry* kernel = object.find(name);
    if (!kernel) return error(Code::internal, "linking code for {}: the code object lacks the kernel '{}'", object.target, name);
    CodeFacts facts;
    facts.instructions = count_instructions(image, set);
    facts.registers = kernel->vector_registers;
    facts.scalar_registers = kernel->scalar_registers;
    facts.accumulation_registers = kernel->accumulation_registers;
    facts.spilled_registers = kernel->vector_spills;
    facts.spilled_scalar_registers = kernel->scalar_spills;
    if (!kernel->dynamic_stack) facts.stack_frame = kernel->scratch;
    facts.static_shared_memory = kernel->shared;
    facts.waves_per_eu = waves_per_eu(*kernel, set.processor, set.features);
    return facts;
  }

  Status run(const ir::Module& module, const CompileOptions& options, AmdgpuCompilation& compilation) const {
    MNEME_TRY(check_options(options));
    const llvm::Triple& triple = ir::llvm_module(module).getTargetTriple();
    if (!triple.isAMDGCN())
      return error(Code::incompatible, "compiling for {}: the module is for '{}', not for AMD GPUs", architecture_, triple.str());
    Status status = run_llvm_on_copy(module, [&](llvm::Module& copy) { return compilation.run(copy); });
    if (!lacks_instruction(status)) return status;
    return Status(Code::unsupported, status.message()).with_context("making code for " + compilation.architecture());
  }

  std::string architecture_;
};

}  // namespace

Result<std::unique_ptr<Compiler>> create_compiler(const std::string& architecture) {
  initialize_llvm();
  MNEME_TRY(parse_target_id(architecture).status());
  return std::unique_ptr<Compiler>(new AmdgpuCompiler(architecture));
}

}  // namespace mneme::amdgpu

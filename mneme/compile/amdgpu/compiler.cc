#include "mneme/compile/amdgpu/compiler.h"

#include <algorithm>
#include <optional>

#include "mneme/compile/amdgpu/amdgpu_compilation.h"
#include "mneme/compile/amdgpu/architecture.h"
#include "mneme/compile/amdgpu/code_object.h"
#include "mneme/compile/amdgpu/identity.h"
#include "mneme/compile/amdgpu/library_folders.h"
#include "mneme/compile/amdgpu/occupancy.h"
#include "mneme/compile/amdgpu/tool_commands.h"
#include "mneme/compile/emit.h"
#include "mneme/compile/fatal_error.h"
#include "mneme/compile/linker.h"
#include "mneme/compile/machine_instructions.h"
#include "mneme/compile/stages.h"

namespace mneme::amdgpu {
namespace {

constexpr char kAssembler[] = "lld";

class AmdgpuCompiler final : public Compiler {
 public:
  AmdgpuCompiler(std::string architecture, std::vector<std::string> library_folders)
      : architecture_(std::move(architecture)), library_folders_(std::move(library_folders)) {}

  Result<Translation> translate(const ir::Module& module, const CompileOptions& options) override {
    AmdgpuCompilation compilation(options, std::nullopt, architecture_, library_folders_);
    MNEME_TRY(run(module, options, compilation));
    return compilation.take(compilation.architecture());
  }

  Result<CompiledCode> assemble(const Translation& translation) override {
    const ByteSpan object = std::as_bytes(std::span(translation.code));
    Stages stages;
    auto image = stages.time("link", [&] { return link_in_memory(linker_arguments(), {&object, 1}); });
    if (!image.ok()) return image.status().with_context("linking code for " + translation.architecture);
    CompiledCode code = compiled_code(translation, {DeviceKind::hip, std::move(*image)}, kAssembler);
    if (translation.kernels.size() == 1) {
      MNEME_ASSIGN(code.facts, read_facts(code.image.bytes, translation.kernels[0]));
    }
    for (StageTime& time : stages.take()) code.times.push_back(std::move(time));
    return code;
  }

  std::string identity() const override { return compiler_identity(architecture_, library_folders_); }

  Result<std::string> emit(const ir::Module& module, const CompileOptions& options, Stage stage) override {
    AmdgpuCompilation compilation(options, stage, architecture_, library_folders_);
    MNEME_TRY(run(module, options, compilation));
    return std::move(compilation.code());
  }

  Result<ToolCommands> tool_commands(const ir::Module& module, const CompileOptions& options) override {
    return amdgpu::tool_commands(options, architecture_, library_folders_,
                                 [&](AmdgpuCompilation& compilation) { return run(module, options, compilation); });
  }

  std::vector<std::string> assembler_arguments(const Translation&) const override {
    std::vector<std::string> arguments = linker_arguments();
    arguments.insert(arguments.begin(), "-shared");
    return arguments;
  }

  Result<std::string> disassemble(const CodeImage& image) const override {
    MNEME_ASSIGN(const CodeObject object, read_code_object(image.bytes));
    MNEME_ASSIGN(const InstructionSet set, instruction_set(object));
    return print_instructions(image.bytes, set);
  }

 private:
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

  static Status run(const ir::Module& module, const CompileOptions& options, AmdgpuCompilation& compilation) {
    MNEME_TRY(check_options(options));
    const Status ended = run_llvm_on_copy(module, [&](llvm::Module& copy) { return compilation.run(copy); });
    return tell_lacking_instruction(ended, "making code for " + compilation.architecture());
  }

  std::string architecture_;
  std::vector<std::string> library_folders_;
};

}  // namespace

Result<std::unique_ptr<Compiler>> create_compiler(const std::string& architecture) {
  return create_compiler(architecture, device_library_folders());
}

Result<std::unique_ptr<Compiler>> create_compiler(const std::string& architecture, std::vector<std::string> library_folders) {
  initialize_llvm();
  MNEME_TRY(parse_target_id(architecture).status());
  return std::unique_ptr<Compiler>(new AmdgpuCompiler(architecture, std::move(library_folders)));
}

}  // namespace mneme::amdgpu

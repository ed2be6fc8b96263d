#include "mneme/compile/nvptx/compiler.h"

#include <algorithm>
#include <optional>

#include "mneme/compile/compilation.h"
#include "mneme/compile/device_options.h"
#include "mneme/compile/emit.h"
#include "mneme/compile/fatal_error.h"
#include "mneme/compile/nvptx/architecture.h"
#include "mneme/compile/nvptx/cubin_facts.h"
#include "mneme/compile/nvptx/disassembler.h"
#include "mneme/compile/nvptx/identity.h"
#include "mneme/compile/nvptx/joined_assembly.h"
#include "mneme/compile/nvptx/nvptx_compilation.h"
#include "mneme/compile/nvptx/ptx_codegen.h"
#include "mneme/compile/nvptx/tool_commands.h"
#include "mneme/compile/pipeline.h"

namespace mneme::nvptx {
namespace {

class NvptxCompiler final : public Compiler {
 public:
  NvptxCompiler(std::string architecture, std::shared_ptr<PtxAssembler> assembler)
      : architecture_(std::move(architecture)), assembler_(std::move(assembler)) {
    if (assembler_->name() == "nvptxcompiler") joined_.emplace(*assembler_);
  }

  Result<Translation> translate(const ir::Module& module, const CompileOptions& options) override {
    NvptxCompilation compilation(options, Stage::assembly, architecture_);
    MNEME_TRY(run(module, options, compilation));
    return compilation.take(compilation.architecture(), assembler_options(options));
  }

  Result<CompiledCode> assemble(const Translation& translation) override {
    if (!translation.machine_code.empty()) return as_it_is(translation);
    Stages stages;
    auto assembled = stages.time("assemble", [&] { return assembler_->assemble(request_for(translation)); });
    return code_of(translation, std::move(assembled), stages.take()[0]);
  }

  std::vector<Result<CompiledCode>> assemble_all(std::span<const Translation> translations) override {
    const bool machine_code = std::ranges::any_of(translations, [](const auto& one) { return !one.machine_code.empty(); });
    if (!joined_ || machine_code) return Compiler::assemble_all(translations);
    std::vector<AssembleRequest> requests;
    for (const Translation& translation : translations) requests.push_back(request_for(translation));
    Stages stages;
    auto assembled = stages.time("assemble", [&] { return joined_->assemble(requests); });
    StageTime each = stages.take()[0];
    each.time /= static_cast<double>(std::max<size_t>(translations.size(), 1));
    std::vector<Result<CompiledCode>> all;
    for (size_t i = 0; i < translations.size(); ++i) all.push_back(code_of(translations[i], std::move(assembled[i]), each));
    return all;
  }

  std::string identity() const override { return compiler_identity(architecture_, *assembler_); }

  Result<std::string> emit(const ir::Module& module, const CompileOptions& options, Stage stage) override {
    NvptxCompilation compilation(options, stage, architecture_);
    MNEME_TRY(run(module, options, compilation));
    return std::move(compilation.code());
  }

  Result<ToolCommands> tool_commands(const ir::Module& module, const CompileOptions& options) override {
    return nvptx::tool_commands(options, architecture_,
                                [&](NvptxCompilation& compilation) { return run(module, options, compilation); });
  }

  std::vector<std::string> assembler_arguments(const Translation& translation) const override {
    return translation.machine_code.empty() ? ptxas_arguments(request_for(translation)) : std::vector<std::string>();
  }

  Result<std::string> disassemble(const CodeImage& image) const override {
    if (assembler_->name() == kDriverAssembler)
      return error(
          Code::unavailable,
          "disassembling code for {}: the driver assembles PTX only when it loads it; install the CUDA toolkit's nvJitLink "
          "or ptxas",
          architecture_);
    return nvptx::disassemble(image.bytes, nvdisasm_paths());
  }

 private:
  static AssembleRequest request_for(const Translation& translation) {
    const LineInfo lines = has_lines(translation.code) ? LineInfo::keep : LineInfo::leave_out;
    return {translation.code, translation.architecture, lines, translation.assembler};
  }

  Result<CompiledCode> code_of(const Translation& translation, Result<Assembled> assembled, StageTime time) const {
    if (!assembled.ok()) return assembled.status();
    std::vector<std::string> warnings = read_warnings(assembled->log);
    MNEME_TRY(check_register_cap(translation, warnings));
    CompiledCode code = compiled_code(translation, std::move(assembled->image), assembler_->name());
    code.warnings = std::move(warnings);
    if (translation.kernels.size() == 1) code.facts = read_facts(code.image.bytes, assembled->log, translation.kernels[0]);
    code.times.push_back(std::move(time));
    return code;
  }

  static CompiledCode as_it_is(const Translation& translation) {
    CompiledCode code = compiled_code(translation, {DeviceKind::cuda, translation.machine_code}, kRecordedAssembler);
    if (translation.kernels.size() == 1) code.facts.instructions = count_instructions(code.image.bytes, translation.kernels[0]);
    return code;
  }

  // An assembler only warns of a cap that it does not follow; the code would be what it is without one.
  Status check_register_cap(const Translation& translation, const std::vector<std::string>& warnings) const {
    const AssemblerOptions& asked = translation.assembler;
    const std::string ignored = ignored_register_cap(warnings);
    if (ignored.empty() || (!asked.max_registers && asked.options.empty())) return {};
    const std::string knob = asked.max_registers ? fmt::format("max_registers is {}", *asked.max_registers) : "options";
    return error(Code::invalid_argument, "assembling PTX for {} by {}: assembler.{}: {}", translation.architecture,
                 assembler_->name(), knob, ignored);
  }

  static Status run(const ir::Module& module, const CompileOptions& options, NvptxCompilation& compilation) {
    MNEME_TRY(check_options(options));
    const Status ended = run_llvm_on_copy(module, [&](llvm::Module& copy) { return compilation.run(copy); });
    return tell_lacking_instruction(ended, "making PTX for " + compilation.architecture());
  }

  std::string architecture_;
  std::shared_ptr<PtxAssembler> assembler_;
  std::optional<JoinedAssembly> joined_;  // nothing: kernels are assembled one by one
};

}  // namespace

Status check_options(const CompileOptions& options) {
  return refuse_knobs({{"specialise.waves_per_eu", options.specialisation.bounds.waves_per_eu.has_value()},
                       {"codegen.code_object", options.codegen.code_object.has_value()}},
                      "NVIDIA GPUs");
}

Result<std::unique_ptr<Compiler>> create_compiler(const std::string& architecture) {
  return create_compiler(architecture, AssemblerSearch::from_environment());
}

Result<std::unique_ptr<Compiler>> create_compiler(const std::string& architecture, const AssemblerSearch& search) {
  MNEME_TRY(create_machine({.architecture = architecture, .features = ""}, 0).status());
  MNEME_ASSIGN(std::unique_ptr<PtxAssembler> assembler, find_assembler(search));
  return std::unique_ptr<Compiler>(new NvptxCompiler(architecture, std::move(assembler)));
}

Result<std::unique_ptr<Compiler>> create_compiler(const std::string& architecture, std::shared_ptr<PtxAssembler> assembler) {
  MNEME_TRY(create_machine({.architecture = architecture, .features = ""}, 0).status());
  return std::unique_ptr<Compiler>(new NvptxCompiler(architecture, std::move(assembler)));
}

}  // namespace mneme::nvptx

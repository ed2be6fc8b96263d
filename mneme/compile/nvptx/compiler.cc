#include "mneme/compile/nvptx/compiler.h"

#include <llvm/Config/llvm-config.h>

#include "mneme/compile/fatal_error.h"
#include "mneme/compile/floating_point.h"
#include "mneme/compile/nvptx/architecture.h"
#include "mneme/compile/nvptx/cubin_facts.h"
#include "mneme/compile/nvptx/disassembler.h"
#include "mneme/compile/nvptx/ptx_codegen.h"
#include "mneme/compile/pipeline.h"
#include "mneme/compile/prepare.h"
#include "mneme/compile/specialise.h"
#include "mneme/compile/stages.h"
#include "mneme/compile/track_accesses.h"
#include "mneme/ir/access.h"

namespace mneme::nvptx {
namespace {

// An assembler raises a cap that is too low, and forgets one that is too high, with a warning.
Status check_registers(const char* knob, std::optional<uint32_t> cap, const std::string& architecture) {
  if (!cap || (*cap >= kFewestRegisters && *cap <= kMostRegisters)) return {};
  return error(Code::invalid_argument, "{} is {}, {} on {}: ask for {} to {}, or leave it out", knob, *cap,
               *cap < kFewestRegisters
                   ? fmt::format("fewer than the {} registers that the calling convention needs", kFewestRegisters)
                   : fmt::format("more than the {} registers that a thread can have", kMostRegisters),
               architecture, kFewestRegisters, kMostRegisters);
}

class NvptxCompiler final : public Compiler {
 public:
  NvptxCompiler(std::string architecture, std::unique_ptr<PtxAssembler> assembler)
      : architecture_(std::move(architecture)), assembler_(std::move(assembler)) {}

  Result<Translation> translate(const ir::Module& module, const CompileOptions& options) override {
    MNEME_ASSIGN(Generated generated, generate(module, options, Stage::assembly));
    return Translation{std::move(generated.text), generated.architecture,  options.assembler,
                       options.kernels,           generated.stages.take(), std::move(generated.state)};
  }

  Result<CompiledCode> assemble(const Translation& translation) override {
    const LineInfo lines = has_lines(translation.code) ? LineInfo::keep : LineInfo::leave_out;
    Stages stages;
    auto assembled = stages.time("assemble", [&] {
      return assembler_->assemble({translation.code, translation.architecture, lines, translation.assembler});
    });
    if (!assembled.ok()) return assembled.status();

    CompiledCode code;
    code.warnings = read_warnings(assembled->log);
    MNEME_TRY(check_register_cap(translation, code.warnings));
    code.image = std::move(assembled->image);
    code.digest = digest_of(code.image.bytes);
    code.translation_digest = translation.digest();
    if (translation.kernels.size() == 1) code.facts = read_facts(code.image.bytes, assembled->log, translation.kernels[0]);
    code.state = translation.state;
    code.times = translation.times;
    for (StageTime& time : stages.take()) code.times.push_back(std::move(time));
    code.assembler = assembler_->name();
    return code;
  }

  std::string identity() const override {
    return fmt::format("cuda {} LLVM {} {}", architecture_, LLVM_VERSION_STRING, assembler_->identity());
  }

  Result<std::string> emit(const ir::Module& module, const CompileOptions& options, Stage stage) override {
    MNEME_ASSIGN(Generated generated, generate(module, options, stage));
    return std::move(generated.text);
  }

  Result<std::string> disassemble(const CodeImage& image) const override {
    if (assembler_->name() == "driver")
      return error(
          Code::unavailable,
          "disassembling code for {}: the driver assembles PTX only when it loads it; install the CUDA toolkit's nvJitLink "
          "or ptxas",
          architecture_);
    return nvptx::disassemble(image.bytes, nvdisasm_paths());
  }

 private:
  // What a compilation has made when it gets to a stage.
  struct Generated {
    std::string text;
    std::string architecture;
    std::vector<std::string> state;
    Stages stages;
  };

  // An assembler only warns of a cap that it does not follow; the code would be what it is without one.
  Status check_register_cap(const Translation& translation, const std::vector<std::string>& warnings) const {
    const AssemblerOptions& asked = translation.assembler;
    const std::string ignored = ignored_register_cap(warnings);
    if (ignored.empty() || (!asked.max_registers && asked.options.empty())) return {};
    const std::string knob = asked.max_registers ? fmt::format("max_registers is {}", *asked.max_registers) : "options";
    return error(Code::invalid_argument, "assembling PTX for {} by {}: assembler.{}: {}", translation.architecture,
                 assembler_->name(), knob, ignored);
  }

  Result<Generated> generate(const ir::Module& module, const CompileOptions& options, Stage last) {
    const llvm::Triple& triple = ir::llvm_module(module).getTargetTriple();
    if (!triple.isNVPTX()) {
      return error(Code::incompatible, "compiling for {}: the module is for '{}', not for NVIDIA GPUs", architecture_,
                   triple.str());
    }
    Generated generated;
    generated.architecture = architecture_;
    Status status = run_llvm_on_copy(module, [&](llvm::Module& copy) { return generate_from(copy, options, last, generated); });
    if (status.code() == Code::internal && status.message().find("Cannot select") != std::string::npos) {
      // How LLVM says that the architecture lacks the instruction for an intrinsic.
      return Status(Code::unsupported, status.message()).with_context("making PTX for " + generated.architecture);
    }
    MNEME_TRY(status);
    return generated;
  }

  Status generate_from(llvm::Module& module, const CompileOptions& options, Stage last, Generated& generated) {
    MNEME_ASSIGN(PassPlugins plugins, PassPlugins::load(options.pass_plugins));
    MNEME_TRY(set_floating_point(module, options.codegen));
    CodegenTarget target = CodegenTarget::of(module, architecture_, options.codegen);
    generated.architecture = target.architecture;
    MNEME_TRY(check_registers("assembler.max_registers", options.assembler.max_registers, target.architecture));
    MNEME_TRY(check_registers("specialise.max_registers", options.specialisation.bounds.max_registers, target.architecture));
    MNEME_ASSIGN(std::unique_ptr<llvm::TargetMachine> machine, create_machine(target, options.codegen.level));
    MNEME_TRY(generated.stages.time("prepare", [&]() -> Status {
      MNEME_TRY(prepare_module(module, options.kernels, target.architecture));
      MNEME_TRY(bind_globals(module, options.bindings));
      MNEME_TRY(specialise(module, options.specialisation, target.architecture));
      return track_accesses(module, options.tracking);
    }));
    if (last == Stage::specialised) return print_to(generated.text, module);
    MNEME_TRY(generated.stages.time("optimise", [&] { return run_pipeline(module, *machine, options.passes, plugins); }));
    if (last == Stage::optimised) return print_to(generated.text, module);
    generated.state = expose_state(module, AllowedNames::identifiers);
    auto ptx = generated.stages.time("codegen", [&] { return emit_ptx(module, *machine, plugins); });
    MNEME_TRY(ptx.status());
    generated.text = std::move(*ptx);
    return {};
  }

  std::string architecture_;
  std::unique_ptr<PtxAssembler> assembler_;
};

}  // namespace

Result<std::unique_ptr<Compiler>> create_compiler(const std::string& architecture) {
  return create_compiler(architecture, AssemblerSearch::from_environment());
}

Result<std::unique_ptr<Compiler>> create_compiler(const std::string& architecture, const AssemblerSearch& search) {
  MNEME_TRY(create_machine({.architecture = architecture, .features = ""}, 0).status());
  MNEME_ASSIGN(std::unique_ptr<PtxAssembler> assembler, find_assembler(search));
  return std::unique_ptr<Compiler>(new NvptxCompiler(architecture, std::move(assembler)));
}

}  // namespace mneme::nvptx

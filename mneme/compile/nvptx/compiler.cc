#include "mneme/compile/nvptx/compiler.h"

#include "mneme/compile/fatal_error.h"
#include "mneme/compile/nvptx/ptx_codegen.h"
#include "mneme/compile/pipeline.h"
#include "mneme/compile/prepare.h"
#include "mneme/compile/stages.h"
#include "mneme/ir/access.h"

namespace mneme::nvptx {
namespace {

class NvptxCompiler final : public Compiler {
 public:
  NvptxCompiler(std::string architecture, std::unique_ptr<PtxAssembler> assembler)
      : architecture_(std::move(architecture)), assembler_(std::move(assembler)) {}

  Result<CompiledCode> compile(const ir::Module& module, const CompileOptions& options) override {
    const llvm::Triple& triple = ir::llvm_module(module).getTargetTriple();
    if (!triple.isNVPTX()) {
      return error(Code::incompatible, "compiling for {}: the module is for '{}', not for NVIDIA GPUs", architecture_,
                   triple.str());
    }
    Stages stages;
    AssembleRequest request;
    MNEME_TRY(make_ptx(module, options, stages, request));
    auto bytes = stages.time("assemble", [&] { return assembler_->assemble(request); });
    if (!bytes.ok()) return bytes.status();

    CompiledCode code;
    code.image = {DeviceKind::cuda, std::move(*bytes)};
    code.digest = digest_of(code.image.bytes);
    code.times = stages.take();
    code.assembler = assembler_->name();
    return code;
  }

 private:
  Status make_ptx(const ir::Module& module, const CompileOptions& options, Stages& stages, AssembleRequest& request) {
    MNEME_ASSIGN(ir::Module copy, module.clone());
    auto own = std::make_unique<ir::Module>(std::move(copy));
    bool abandoned = false;
    Status status = run_llvm([&] { return make_ptx_of(ir::llvm_module(*own), options, stages, request); }, &abandoned);
    if (abandoned) (void)own.release();  // LLVM left it in no defined state, in which it cannot even be destroyed
    if (abandoned && status.message().find("Cannot select") != std::string::npos) {
      // How LLVM says that the architecture lacks the instruction for an intrinsic.
      return Status(Code::unsupported, status.message()).with_context("making PTX for " + architecture_);
    }
    return status;
  }

  Status make_ptx_of(llvm::Module& module, const CompileOptions& options, Stages& stages, AssembleRequest& request) {
    CodegenTarget target = CodegenTarget::of(module, architecture_);
    MNEME_ASSIGN(std::unique_ptr<llvm::TargetMachine> machine, create_machine(target, options.codegen.level));
    MNEME_TRY(stages.time("prepare", [&]() -> Status {
      MNEME_TRY(prepare_module(module, options.kernels, architecture_));
      return bind_globals(module, options.bindings);
    }));
    MNEME_TRY(stages.time("optimise", [&] { return run_pipeline(module, *machine, options.passes); }));
    auto ptx = stages.time("codegen", [&] { return emit_ptx(module, *machine); });
    if (!ptx.ok()) return ptx.status();
    request.ptx = std::move(*ptx);
    request.architecture = target.architecture;
    request.lines = has_lines(request.ptx) ? LineInfo::keep : LineInfo::leave_out;
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
  MNEME_TRY(create_machine({.architecture = architecture, .features = "", .fuse_multiply_add = false}, 0).status());
  MNEME_ASSIGN(std::unique_ptr<PtxAssembler> assembler, find_assembler(search));
  return std::unique_ptr<Compiler>(new NvptxCompiler(architecture, std::move(assembler)));
}

}  // namespace mneme::nvptx

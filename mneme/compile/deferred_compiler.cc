#include "mneme/compile/deferred_compiler.h"

namespace mneme {
namespace {

class DeferredCompiler final : public Compiler {
 public:
  explicit DeferredCompiler(CompilerPlan plan) : plan_(std::move(plan)) {}

  Result<CompiledCode> compile(const ir::Module& module, const CompileOptions& options) override {
    MNEME_ASSIGN(Compiler * compiler, made());
    return compiler->compile(module, options);
  }
  Result<Translation> translate(const ir::Module& module, const CompileOptions& options) override {
    MNEME_ASSIGN(Compiler * compiler, made());
    return compiler->translate(module, options);
  }
  Result<CompiledCode> assemble(const Translation& translation) override {
    MNEME_ASSIGN(Compiler * compiler, made());
    return compiler->assemble(translation);
  }
  std::vector<Result<CompiledCode>> assemble_all(std::span<const Translation> translations) override {
    const auto compiler = made();
    if (compiler.ok()) return (*compiler)->assemble_all(translations);
    return std::vector<Result<CompiledCode>>(translations.size(), compiler.status());
  }
  std::string identity() const override { return plan_.identity; }
  Result<std::string> emit(const ir::Module& module, const CompileOptions& options, Stage stage) override {
    MNEME_ASSIGN(Compiler * compiler, made());
    return compiler->emit(module, options, stage);
  }
  Result<ToolCommands> tool_commands(const ir::Module& module, const CompileOptions& options) override {
    MNEME_ASSIGN(Compiler * compiler, made());
    return compiler->tool_commands(module, options);
  }
  std::vector<std::string> assembler_arguments(const Translation& translation) const override {
    const auto compiler = made();
    return compiler.ok() ? (*compiler)->assembler_arguments(translation) : std::vector<std::string>();
  }
  Result<std::string> disassemble(const CodeImage& image) const override {
    MNEME_ASSIGN(Compiler * compiler, made());
    return compiler->disassemble(image);
  }

 private:
  Result<Compiler*> made() const {
    if (!compiler_) {
      MNEME_ASSIGN(compiler_, make());
    }
    return compiler_.get();
  }

  Result<std::unique_ptr<Compiler>> make() const {
    MNEME_ASSIGN(std::unique_ptr<Compiler> compiler, plan_.make());
    if (const std::string now = compiler->identity(); now != plan_.identity)
      return error(Code::incompatible,
                   "making the compiler '{}': it has become '{}' since the recording was prepared: prepare it again",
                   plan_.identity, now);
    return compiler;
  }

  const CompilerPlan plan_;
  mutable std::unique_ptr<Compiler> compiler_;  // null: not made yet
};

}  // namespace

std::unique_ptr<Compiler> defer_compiler(CompilerPlan plan) { return std::make_unique<DeferredCompiler>(std::move(plan)); }

}  // namespace mneme

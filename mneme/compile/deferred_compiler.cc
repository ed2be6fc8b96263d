#include "mneme/compile/deferred_compiler.h"

namespace mneme {
namespace {

class DeferredCompiler final : public Compiler {
 public:
  DeferredCompiler(std::string identity, std::function<Result<std::unique_ptr<Compiler>>()> make)
      : identity_(std::move(identity)), make_(std::move(make)) {}

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
  std::string identity() const override { return identity_; }
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
    if (!compiler_) compiler_ = make_();
    if (!compiler_->ok()) return compiler_->status();
    return (*compiler_)->get();
  }

  const std::string identity_;
  const std::function<Result<std::unique_ptr<Compiler>>()> make_;
  mutable std::optional<Result<std::unique_ptr<Compiler>>> compiler_;
};

}  // namespace

std::unique_ptr<Compiler> defer_compiler(std::string identity, std::function<Result<std::unique_ptr<Compiler>>()> make) {
  return std::make_unique<DeferredCompiler>(std::move(identity), std::move(make));
}

}  // namespace mneme

// CompileOnlyOption: --compile-only and --arch, of commands that otherwise run what they compile.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace mneme::cli {

class CompileOnlyOption {
 public:
  // --arch is only with --compile-only.
  void declare(CLI::App& app);

  bool given() const { return given_; }
  // What is compiled for; empty: the architecture that the kernel was recorded with.
  const std::string& architecture() const { return architecture_; }

 private:
  bool given_ = false;
  std::string architecture_;
};

// --arch alone, of a command that never runs anything.
void declare_architecture(CLI::App& app, std::string& architecture);

}  // namespace mneme::cli

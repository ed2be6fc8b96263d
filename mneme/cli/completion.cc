// mneme completion SHELL: the script that makes `mneme` complete with Tab there.
#include "mneme/cli/completion_scripts.h"
#include "mneme/cli/options/command.h"
#include "mneme/cli/output.h"

namespace mneme::cli {
namespace {

std::vector<std::string> shells() {
  std::vector<std::string> names;
  for (const CompletionScript& script : completion_scripts()) names.emplace_back(script.shell);
  return names;
}

class CompletionCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    app.add_option("SHELL", shell_, "bash, zsh or fish")->required()->check(CLI::IsMember(shells()));
    app.footer(
        "Commands, options, their values, and the kernels and instances of a database complete. An installed prefix has the "
        "scripts below share; a shell finds them there where that is /usr/share or /usr/local/share.");
  }

  int run() override {
    for (const CompletionScript& script : completion_scripts())
      if (script.shell == shell_) write_content(script.text);
    return 0;
  }

 private:
  std::string shell_;
};

const Registration registration({.name = "completion",
                                 .summary = "print the script that makes mneme complete with Tab in a shell",
                                 .examples = {{"source <(mneme completion bash)", "in this shell; in ~/.bashrc for all"},
                                              {"mneme completion zsh > ~/.zfunc/_mneme",
                                               "zsh, where ~/.zfunc is in $fpath before compinit"},
                                              {"mneme completion fish > ~/.config/fish/completions/mneme.fish", "fish"}}},
                                [] { return std::make_unique<CompletionCommand>(); });

}  // namespace
}  // namespace mneme::cli

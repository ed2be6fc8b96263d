// mneme clean: removes instances, kernels or a whole database.
#include <fmt/format.h>
#include <unistd.h>

#include <iostream>

#include "mneme/base/shown.h"
#include "mneme/cli/options/command.h"
#include "mneme/cli/options/recorded_launch.h"
#include "mneme/cli/output.h"
#include "mneme/cli/recording_view.h"

namespace mneme::cli {
namespace {

class CleanCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    recorded_.declare(app);
    app.add_flag("--yes", yes_, "do not ask");
    app.footer("Without a name, the whole database goes. What goes is shown, and asked for, before it is removed.");
  }

  int run() override {
    auto removed = clean();
    return removed.ok() ? (*removed ? 0 : 1) : report(removed.status());
  }

 private:
  // False: the answer was no.
  Result<bool> clean() {
    MNEME_ASSIGN(ChosenRecordings chosen, recorded_.chosen());
    MNEME_ASSIGN(const Cleaned plan, remove(chosen, Deed::tell));
    print("{}", describe(chosen, plan));
    if (!yes_) {
      if (::isatty(STDIN_FILENO) == 0)
        return error(Code::invalid_argument, "nothing was removed: there is no terminal to ask at; give --yes");
      MNEME_TRY(end_output());
      print_error("remove that? [y/N] ");
      std::string answer;
      std::getline(std::cin, answer);
      if (answer != "y" && answer != "yes") return print_error("nothing was removed\n"), false;
    }
    MNEME_ASSIGN(const Cleaned removed, remove(chosen, Deed::remove));
    for (const std::string& left : removed.left) print_error("{}\n", shown(left, 0));
    print("removed\n");
    return true;
  }

  static Result<Cleaned> remove(ChosenRecordings& chosen, Deed deed) {
    return chosen.whole ? chosen.database.remove_all(deed) : chosen.database.clean(chosen.kernels, deed);
  }

  static std::string describe(const ChosenRecordings& chosen, const Cleaned& plan) {
    std::string text;
    size_t instances = 0;
    for (const KernelDocument& kernel : chosen.kernels)
      for (const InstanceRecord& instance : kernel.instances) {
        text += fmt::format("  {} {}\n", instance.dynamic_hash.hex(), shown(kernel.kernel.demangled));
        ++instances;
      }
    return fmt::format("{}{} of {}: {} in {}\n", text, plural(instances, "instance"),
                       shown(chosen.database.directory().string(), 0), plan.bytes(), plural(plan.files.size(), "file"));
  }

  RecordedOption recorded_{RecordedOption::Launches::any};
  bool yes_ = false;
};

const Registration registration({.name = "clean",
                                 .summary = "remove instances, kernels or a whole database",
                                 .examples = {{"mneme clean all-db add#0 --yes", "one launch, without being asked"},
                                              {"mneme clean all-db --yes", "the whole database"}}},
                                [] { return std::make_unique<CleanCommand>(); });

}  // namespace
}  // namespace mneme::cli

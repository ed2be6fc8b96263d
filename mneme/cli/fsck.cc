// mneme fsck: checks every file of a database, and repairs it by removing what is damaged.
#include <fmt/format.h>

#include "mneme/base/shown.h"
#include "mneme/cli/options/command.h"
#include "mneme/cli/output.h"
#include "mneme/cli/progress.h"
#include "mneme/cli/recording_view.h"
#include "mneme/store/database.h"

namespace mneme::cli {
namespace {

class FsckCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    app.add_option("DB", database_, "the database")->required();
    app.add_flag("--repair", repair_, "remove what is damaged, and what no instance needs");
    app.footer("Exit status: 0 all is whole, or was made so; 1 something is damaged, or no instance needs it.");
  }

  int run() override {
    auto checked = check();
    if (!checked.ok()) return report(checked.status());
    print("{}", describe(*checked));
    return checked->sound() || repair_ ? 0 : 1;
  }

 private:
  Result<CheckedDatabase> check() const {
    MNEME_ASSIGN(const Database database, Database::open(database_));
    Progress progress;
    progress.stage(fmt::format("reading {}", shown(database_)));
    return database.check_all(repair_ ? Deed::remove : Deed::tell);
  }

  std::string describe(const CheckedDatabase& checked) const {
    std::string text;
    for (const std::string& damage : checked.damage) text += fmt::format("damaged: {}\n", shown(damage, 0));
    for (const std::string& lost : checked.lost) text += fmt::format("lost: {}\n", shown(lost, 0));
    for (const RemovedFile& file : checked.repair.files)
      text += fmt::format("{}: {}, {}: {}\n", repair_ ? "removed" : "to remove", file.name, file.bytes, file.why);
    for (const std::string& left : checked.repair.left) text += fmt::format("note: {}\n", shown(left, 0));
    return text + fmt::format("{}: {} of {} whole, {} of memory{}\n", shown(database_, 0), plural(checked.instances, "instance"),
                              plural(checked.kernels, "kernel"), plural(checked.pages, "page"),
                              checked.sound() || repair_ ? "" : "; --repair removes the rest");
  }

  std::string database_;
  bool repair_ = false;
};

const Registration registration({.name = "fsck",
                                 .summary = "check every file of a database, and repair it",
                                 .examples = {{"mneme fsck db", "what is damaged, and what nothing needs"},
                                              {"mneme fsck db --repair", "remove that"}}},
                                [] { return std::make_unique<FsckCommand>(); });

}  // namespace
}  // namespace mneme::cli

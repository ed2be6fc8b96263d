// mneme move: a database to another place, or into another database.
#include <fmt/format.h>

#include "mneme/base/shown.h"
#include "mneme/cli/options/command.h"
#include "mneme/cli/options/transfer_report.h"
#include "mneme/cli/output.h"

namespace mneme::cli {
namespace {

class MoveCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    app.add_option("DB", databases_,
                   "databases, and at the end where they are moved: a folder that there is not yet, or a database")
        ->required()
        ->expected(2, 1 << 16)
        ->type_name("TEXT");
    app.footer("A database is removed when the other has each of its instances. One that is recorded into is waited for.");
  }

  int run() override {
    const Path into = databases_.back();
    if (databases_.size() == 2 && !FileSystem::posix().exists(into)) {
      auto renamed = rename(databases_[0], into);
      if (!renamed.ok()) return report(renamed.status());
      if (*renamed) return print("{}: moved to {}\n", shown(databases_[0], 0), shown(into.string(), 0)), 0;
    }
    TransferReport told("moved", into);
    for (size_t i = 0; i + 1 < databases_.size(); ++i)
      if (Status status = move(databases_[i], into, told); !status.ok()) return told.end(status);
    return told.end({});
  }

 private:
  // False: it is to be copied, as the other place is on another file system.
  static Result<bool> rename(const Path& from, const Path& into) {
    MNEME_ASSIGN(const Database database, Database::open(from));
    MNEME_ASSIGN(const auto use, database.lock_for_removal());
    return FileSystem::posix().rename(from, into).ok();
  }

  static Status move(const Path& from, const Path& into, TransferReport& told) {
    MNEME_TRY(copy_recordings(from, into, told));
    if (!told.complete()) return {};
    MNEME_ASSIGN(Database database, Database::open(from));
    MNEME_ASSIGN(const Cleaned removed, database.remove_all(Deed::remove));
    for (const std::string& left : removed.left) print_error("{}\n", left);
    return {};
  }

  std::vector<std::string> databases_;
};

const Registration registration({.name = "move",
                                 .summary = "move databases to another place, or into another database",
                                 .examples = {{"mneme move db2 moved-db", "to another place"},
                                              {"mneme move moved-db all-db", "into a database"}}},
                                [] { return std::make_unique<MoveCommand>(); });

}  // namespace
}  // namespace mneme::cli

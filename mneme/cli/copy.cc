// mneme copy: recordings of some databases into another.
#include "mneme/cli/options/command.h"
#include "mneme/cli/options/transfer_report.h"

namespace mneme::cli {
namespace {

class CopyCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    app.add_option("DB", databases_,
                   "databases, and at the end the one that they are copied into; it is made where it is missing")
        ->required()
        ->expected(2, 1 << 16)
        ->type_name("TEXT");
    app.footer("Instances are copied one by one, each whole. After a full disk, the same command goes on.");
  }

  int run() override {
    const Path into = databases_.back();
    TransferReport told("copied", into);
    for (size_t i = 0; i + 1 < databases_.size(); ++i)
      if (Status status = copy_recordings(databases_[i], into, told); !status.ok()) return told.end(status);
    return told.end({});
  }

 private:
  std::vector<std::string> databases_;
};

const Registration registration({.name = "copy",
                                 .summary = "copy the recordings of databases into another",
                                 .examples = {{"mneme copy db copied-db", "a copy of it"},
                                              {"mneme copy db db2 all-db", "both in one"}}},
                                [] { return std::make_unique<CopyCommand>(); });

}  // namespace
}  // namespace mneme::cli

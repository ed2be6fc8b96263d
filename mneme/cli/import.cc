// mneme import: takes the recordings of a file that `mneme export` wrote into a database.
#include "mneme/store/import.h"

#include "mneme/cli/options/command.h"
#include "mneme/cli/options/transfer_report.h"
#include "mneme/store/archive.h"

namespace mneme::cli {
namespace {

class ImportCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    app.add_option("FILE", file_, "what `mneme export` wrote; -: standard input")->required();
    app.add_option("DB", database_, "the database, which is made where it is missing")->required();
    app.footer("Instances are imported one by one, each whole. After a full disk, the same command goes on.");
  }

  int run() override {
    TransferReport told("imported", database_);
    return told.end(read(told));
  }

 private:
  Status read(TransferReport& told) {
    MNEME_ASSIGN(auto source, file_ == "-" ? standard_input() : open_byte_source(file_));
    MNEME_ASSIGN(Database database, Database::create(database_));
    DatabaseImport into(database, [&](const ImportedInstance& instance) { told.add(instance); });
    return read_archive(*source, file_ == "-" ? "standard input" : file_, into);
  }

  std::string file_, database_;
};

const Registration registration({.name = "import",
                                 .summary = "take recordings out of a file into a database",
                                 .examples = {{"mneme import add.mneme db2", "what `mneme export` wrote"},
                                              {"mneme import - db2 <add.mneme", "the same, from standard input"}}},
                                [] { return std::make_unique<ImportCommand>(); });

}  // namespace
}  // namespace mneme::cli

// mneme export: recordings in one file.
#include <fmt/format.h>
#include <unistd.h>

#include "mneme/base/output_file.h"
#include "mneme/base/shown.h"
#include "mneme/cli/options/command.h"
#include "mneme/cli/options/recorded_launch.h"
#include "mneme/cli/output.h"
#include "mneme/cli/progress.h"
#include "mneme/cli/recording_view.h"
#include "mneme/store/archive.h"

namespace mneme::cli {
namespace {

class ExportCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    recorded_.declare(app);
    app.add_option("-o,--output", output_, "the file, which is replaced whole; -: standard output")
        ->required()
        ->type_name("FILE");
    app.footer("`mneme import` takes the file into a database. `tar xf` takes it apart into one.");
  }

  int run() override {
    const Status status = write();
    return status.ok() ? 0 : report(status);
  }

 private:
  Status write() {
    MNEME_ASSIGN(ChosenRecordings chosen, recorded_.chosen());
    for (const Status& damage : chosen.damaged) MNEME_TRY(damage);
    std::erase_if(chosen.kernels, [](const KernelDocument& kernel) { return kernel.instances.empty(); });
    if (chosen.kernels.empty())
      return error(Code::not_found, "{} has no recorded instance", chosen.database.directory().string());
    if (output_ == "-" && ::isatty(STDOUT_FILENO) != 0)
      return error(Code::invalid_argument,
                   "an archive is not written to a terminal: send standard output into a file or a pipe, or give -o FILE");
    MNEME_ASSIGN(auto output, output_ == "-" ? OutputFile::standard_output() : OutputFile::open(output_));
    Progress progress;
    progress.stage(fmt::format("writing {}", shown(output_)));
    CountingFile file(output->file());
    MNEME_TRY(write_archive(chosen.database, chosen.kernels, file));
    MNEME_TRY(output->finish());
    progress.clear();
    size_t instances = 0;
    for (const KernelDocument& kernel : chosen.kernels) instances += kernel.instances.size();
    print_error("{}: {} of {}, {}\n", shown(output_, 0), plural(instances, "instance"), plural(chosen.kernels.size(), "kernel"),
                file.size());
    return {};
  }

  class CountingFile final : public WritableFile {
   public:
    explicit CountingFile(WritableFile& inner) : inner_(inner) {}
    Status append(ByteSpan bytes) override {
      size_ += Bytes(bytes.size());
      return inner_.append(bytes);
    }
    Status sync() override { return inner_.sync(); }
    Status close() override { return inner_.close(); }
    Bytes size() const { return size_; }

   private:
    WritableFile& inner_;
    Bytes size_;
  };

  RecordedOption recorded_{RecordedOption::Launches::any};
  std::string output_;
};

const Registration registration({.name = "export",
                                 .summary = "write recordings into one file",
                                 .examples = {{"mneme export db -o add.mneme", "all that the database holds"},
                                              {"mneme export db add#0 -o - | mneme import - db2",
                                               "one launch, into another database"}}},
                                [] { return std::make_unique<ExportCommand>(); });

}  // namespace
}  // namespace mneme::cli

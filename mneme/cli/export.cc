// mneme export: recordings in one file, or one launch as a program.
#include <fmt/format.h>
#include <unistd.h>

#include "mneme/base/output_file.h"
#include "mneme/base/shown.h"
#include "mneme/cli/diverted_output.h"
#include "mneme/cli/installation.h"
#include "mneme/cli/options/command.h"
#include "mneme/cli/options/configuration_options.h"
#include "mneme/cli/options/device_option.h"
#include "mneme/cli/options/guarded.h"
#include "mneme/cli/options/recorded_launch.h"
#include "mneme/cli/output.h"
#include "mneme/cli/progress.h"
#include "mneme/cli/recording_view.h"
#include "mneme/memory/recorded_addresses.h"
#include "mneme/reproducer/make_program.h"
#include "mneme/store/archive.h"

namespace mneme::cli {
namespace {

class ExportCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    recorded_.declare(app, &configuration_);
    app.add_option("-o,--output", output_, "the file, which is replaced whole; -: standard output")
        ->required()
        ->type_name("FILE");
    auto* program = app.add_flag("--program", program_,
                                 "one launch, compiled, as an executable that needs nothing of Mneme: it restores the memory, "
                                 "launches, compares and times");
    app.add_flag("--whole", whole_, "keep memory in the program that the kernel neither reads nor writes")->needs(program);
    device_.declare(app, "what the program runs on; auto: the first of cuda and cpu that is there");
    configuration_.declare(app, ConfigurationUse::one_run);
    guard_.declare(app);
    app.footer(
        "`mneme import` takes the file into a database. `tar xf` takes it apart into one.\n"
        "A program takes --runs N and --device N. Its exit status: 0 the memory is as recorded, 1 it is not, 2 it could not "
        "run.\n"
        "Exit status: 0 the file is written, 2 it is not, 64 the command line is wrong. What a program finds when it is run "
        "here, "
        "once, is told.");
  }

  int run() override {
    if (program_) return run_program();
    auto configuration = configuration_.configuration();
    if (!configuration.ok()) return report(configuration.status());
    if (*configuration != Configuration())
      return report_usage("export", "a recording has no configuration, but a program has: give --program");
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

  int run_program() {
    if (output_ == "-") return report_usage("export", "a program is a file: name it with -o");
    if (Status status = check_output_folder(output_); !status.ok()) return report(status);
    return guard_.run(
        [&]() -> Outcome {
          auto made = make();
          return made.ok() ? Outcome{describe(*made), 0} : Outcome{"", report(made.status())};
        },
        [](const Status&) { return Outcome{"", kExitCannotRun}; });
  }

  Result<MadeProgram> make() {
    DivertedOutput diverted;
    Progress line;
    MNEME_ASSIGN(Configuration configuration, configuration_.configuration());
    MNEME_TRY(check_files(configuration, FileSystem::posix()));
    MNEME_ASSIGN(const ChosenRecordings chosen, recorded_.chosen());
    MNEME_ASSIGN(const InstanceRecord instance, only_launch(chosen));
    MNEME_ASSIGN(const Installation installation, Installation::find());
    const HeldAddresses held = hold_recorded_addresses(chosen.database, instance.static_hash, {&instance.dynamic_hash, 1});
    MNEME_ASSIGN(const auto device, device_.open());
    const ProgramRequest request{chosen.database,
                                 instance.static_hash,
                                 instance.dynamic_hash,
                                 std::move(configuration),
                                 whole_ ? ProgramMemory::whole : ProgramMemory::touched,
                                 installation.runner(),
                                 output_};
    return make_program(request, *device, [&](const std::string& stage) { line.stage(stage); });
  }

  static Result<InstanceRecord> only_launch(const ChosenRecordings& chosen) {
    for (const Status& damage : chosen.damaged) MNEME_TRY(damage);
    std::vector<InstanceRecord> instances;
    for (const KernelDocument& kernel : chosen.kernels)
      instances.insert(instances.end(), kernel.instances.begin(), kernel.instances.end());
    if (instances.size() == 1) return instances.front();
    return error(Code::invalid_argument, "a program is of one launch, and {} are named: name one, as KERNEL#N or with -rid",
                 instances.size());
  }

  std::string describe(const MadeProgram& made) const {
    const ProgramDescription& d = made.description;
    std::string text = fmt::format("{}: {}, for the device {}: ", shown(output_, 0), made.size, to_string(d.device));
    text += made.verified ? "verified here\n" : "the memory that it leaves is not as recorded\n";
    if (d.kept.empty())
      return text +
             fmt::format("it has {} of memory; {} that the kernel neither reads nor writes are left out\n", d.memory, d.left_out);
    return text + fmt::format("it has {} of memory; nothing is left out: {}\n", d.memory, shown(d.kept, 0));
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
  bool program_ = false, whole_ = false;
  DeviceOption device_;
  ConfigurationOptions configuration_;
  Guard guard_;
};

const Registration registration(
    {.name = "export",
     .summary = "write recordings into one file, or one launch as a program",
     .examples = {{"mneme export db -o add.mneme", "all that the database holds"},
                  {"mneme export db add#0 -o - | mneme import - db2", "one launch, into another database"},
                  {"mneme export db add#0 --program -o add", "one launch as a program; then: ./add --runs 100"}}},
    [] { return std::make_unique<ExportCommand>(); });

}  // namespace
}  // namespace mneme::cli

// mneme export: recordings in one file, or one launch as a program or as sources.
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
#include "mneme/reproducer/make_source.h"
#include "mneme/store/archive.h"

namespace mneme::cli {
namespace {

class ExportCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    recorded_.declare(app, &configuration_);
    app.add_option("-o,--output", output_, "the file, which is replaced whole; -: standard output. With --source the folder")
        ->required()
        ->type_name("FILE");
    auto* program = app.add_flag("--program", program_,
                                 "one launch, compiled, as an executable that needs nothing of Mneme: it restores the memory, "
                                 "launches, compares and times");
    app.add_flag(
           "--source", source_,
           "one launch as a folder for a compiler's engineer: a program of a page for the GPU's driver, the code at each stage, "
           "the memory as plain files, and a Makefile with opt, llc and ptxas or ld.lld")
        ->excludes(program);
    app.add_flag("--whole", whole_, "with --program or --source: keep memory that the kernel neither reads nor writes");
    device_.declare(app, "what the program runs on; auto: the first that is there");
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
    if (whole_ && !program_ && !source_)
      return report_usage("export", "--whole is of memory in a program or in sources: give --program or --source");
    if (program_) return run_program();
    if (source_) return run_source();
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
    if (Status status = check_output_file(output_); !status.ok()) return report(status);
    return guard_.run(
        [&]() -> Outcome {
          auto made = make();
          return made.ok() ? Outcome{describe(*made), 0} : Outcome{"", report(made.status())};
        },
        [](const Status&) { return Outcome{"", kExitCannotRun}; });
  }

  int run_source() {
    if (output_ == "-") return report_usage("export", "sources are a folder: name it with -o");
    if (device_.named() == DeviceKind::cpu)
      return report_usage("export",
                          "sources are a program of a GPU driver's: of the CPU device's code, which needs what Mneme runs it by, "
                          "--program --device cpu makes a program for a debugger");
    if (Status status = OutputFolder::check(output_); !status.ok()) return report(status);
    return guard_.run(
        [&]() -> Outcome {
          auto made = make_sources();
          return made.ok() ? Outcome{describe(*made), 0} : Outcome{"", report(made.status())};
        },
        [&](const Status&) {
          OutputFolder::remove_left_over(output_);
          return Outcome{"", kExitCannotRun};
        });
  }

  // What a program and sources are made of.
  struct Chosen {
    Configuration configuration;
    ChosenRecordings recordings;
    InstanceRecord instance;
    ProgramMemory memory;
  };

  Result<Chosen> choose() {
    MNEME_ASSIGN(Configuration configuration, configuration_.configuration());
    MNEME_TRY(check_files(configuration, FileSystem::posix()));
    MNEME_ASSIGN(ChosenRecordings recordings, recorded_.chosen());
    MNEME_ASSIGN(InstanceRecord instance, only_launch(recordings));
    return Chosen{std::move(configuration), std::move(recordings), std::move(instance),
                  whole_ ? ProgramMemory::whole : ProgramMemory::touched};
  }

  Result<MadeProgram> make() {
    DivertedOutput diverted;
    Progress line;
    MNEME_ASSIGN(Chosen chosen, choose());
    const InstanceRecord& instance = chosen.instance;
    MNEME_ASSIGN(const Installation installation, Installation::find());
    const Database& database = chosen.recordings.database;
    const HeldAddresses held = hold_recorded_addresses(database, instance.static_hash, {&instance.dynamic_hash, 1});
    MNEME_ASSIGN(const auto device, device_.open());
    const ProgramRequest request{database,
                                 instance.static_hash,
                                 instance.dynamic_hash,
                                 std::move(chosen.configuration),
                                 chosen.memory,
                                 installation.runner(),
                                 output_};
    return make_program(request, *device, [&](const std::string& stage) { line.stage(stage); });
  }

  Result<MadeSource> make_sources() {
    DivertedOutput diverted;
    Progress line;
    MNEME_ASSIGN(Chosen chosen, choose());
    const InstanceRecord& instance = chosen.instance;
    const Database& database = chosen.recordings.database;
    const HeldAddresses held = hold_recorded_addresses(database, instance.static_hash, {&instance.dynamic_hash, 1});
    MNEME_ASSIGN(const auto device, device_.open());
    const SourceRequest request{
        database, instance.static_hash, instance.dynamic_hash, std::move(chosen.configuration), chosen.memory, output_};
    return make_source(request, *device, [&](const std::string& stage) { line.stage(stage); });
  }

  Result<InstanceRecord> only_launch(const ChosenRecordings& chosen) const {
    for (const Status& damage : chosen.damaged) MNEME_TRY(damage);
    std::vector<InstanceRecord> instances;
    for (const KernelDocument& kernel : chosen.kernels)
      instances.insert(instances.end(), kernel.instances.begin(), kernel.instances.end());
    if (instances.size() == 1) return instances.front();
    return error(Code::invalid_argument, "{} of one launch, and {} are named: name one, as KERNEL#N or with -rid",
                 source_ ? "sources are" : "a program is", instances.size());
  }

  std::string describe(const MadeProgram& made) const {
    const ProgramDescription& d = made.description;
    std::string text = fmt::format("{}: {}, for the device {}: ", shown(output_, 0), made.size, to_string(d.device));
    return text + describe_verdict(made.verified) + describe_memory(d.memory, d.left_out, d.kept) +
           describe_masked(d.masked, d.unmasked);
  }

  std::string describe(const MadeSource& made) const {
    std::string text = fmt::format("{}: sources for {}: ", shown(output_, 0), shown(made.architecture, 0));
    text += made.verified ? describe_verdict(*made.verified) : "not run here, where no GPU runs the code\n";
    text += describe_memory(made.memory, made.left_out, made.kept) + describe_masked(made.masked, made.unmasked);
    if (made.fidelity == ToolCommands::Fidelity::other)
      text +=
          fmt::format("opt and llc do not give the code that Mneme has made: {} is what Mneme runs, and the Makefile says more\n",
                      made.translated);
    if (!made.has_code) text += fmt::format("no assembler is here to make {}: make does it, by ptxas\n", made.code);
    return text;
  }

  static std::string describe_verdict(bool verified) {
    return verified ? "verified here\n" : "the memory that it leaves is not as recorded\n";
  }

  static std::string describe_memory(Bytes memory, Bytes left_out, const std::string& kept) {
    if (kept.empty())
      return fmt::format("it has {} of memory; {} that the kernel neither reads nor writes are left out\n", memory, left_out);
    return fmt::format("it has {} of memory; nothing is left out: {}\n", memory, shown(kept, 0));
  }

  static std::string describe_masked(Bytes masked, const std::string& unmasked) {
    if (masked == Bytes()) return fmt::format("nothing is masked, as {}\n", shown(unmasked, 0));
    return fmt::format("{} that the kernel writes and does not read hold wrong values before the launch\n", masked);
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
  bool program_ = false, source_ = false, whole_ = false;
  DeviceOption device_;
  ConfigurationOptions configuration_;
  Guard guard_;
};

const Registration registration(
    {.name = "export",
     .summary = "write recordings into one file, or one launch as a program or as sources",
     .examples = {{"mneme export db -o add.mneme", "all that the database holds"},
                  {"mneme export db add#0 --program -o add", "one launch as a program; then: ./add --runs 100"},
                  {"mneme export db add#0 --source -o add.d", "one launch as sources; then: make -C add.d run"}}},
    [] { return std::make_unique<ExportCommand>(); });

}  // namespace
}  // namespace mneme::cli

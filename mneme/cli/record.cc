// mneme record: runs a program and records its kernel launches.
#include <fmt/format.h>

#include <cmath>

#include "mneme/base/log.h"
#include "mneme/base/output_file.h"
#include "mneme/cli/application.h"
#include "mneme/cli/cached_ir.h"
#include "mneme/cli/installation.h"
#include "mneme/cli/options/command.h"
#include "mneme/cli/options/device_option.h"
#include "mneme/cli/options/values.h"
#include "mneme/cli/output.h"
#include "mneme/cli/recorder_run.h"
#include "mneme/cli/recording_view.h"
#include "mneme/cli/supervise.h"
#include "mneme/snapshot/launch_profile.h"
#include "mneme/snapshot/ranks.h"

namespace mneme::cli {
namespace {

class RecordCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    app.add_option("--rdb,--record-db-dir", options_.database, "the database, a directory; it is made where it is missing")
        ->required();
    app.add_option("--vass,--virtual-address-space-size", space_gib_,
                   "GiB of address range to reserve for the program's device memory")
        ->check(number(0.002, 1024, "GiB"))
        ->capture_default_str();
    device_.declare(app, "auto (a GPU where there is one, else the CPU), cuda or cpu");
    app.add_option("--front", front_,
                   "what is recorded: the calls of the CUDA driver, in any program (driver), or those that a program which was "
                   "built for recording is linked with (linked). auto: the driver's on an NVIDIA GPU, for a program that can be "
                   "preloaded "
                   "into; else the linked ones")
        ->transform(CLI::IsMember({"auto", "driver", "linked"}))
        ->capture_default_str();
    app.add_option(
           "--ir-cache", ir_caches_,
           "a folder in which Triton keeps what it compiles, to look for the LLVM IR of recorded machine code in; it may be "
           "repeated. Triton's and torch.compile's own folders are looked through as well")
        ->type_name("DIR")
        ->allow_extra_args(false);
    app.add_option("--kernels", options_.kernels,
                   "record only kernels in whose name, mangled or not, this regular expression is found");
    app.add_option("--exclude", options_.exclude, "record no kernel in whose name this regular expression is found");
    app.add_option("--slowest", slowest_, "record only launches of the N kernels that take most time in all: see --profile-from")
        ->check(whole_number(1, kMostSlowest));
    app.add_option("--profile-from", profile_from_, "for --slowest: the file that `mneme profile --json FILE` wrote")
        ->type_name("FILE");
    app.add_option("--window", options_.window,
                   "record only launches number FROM to TO of the process, as 100:200, or seconds after the first, as 2s:3.5s")
        ->type_name("FROM:TO");
    app.add_option(
           "--record-ranks", options_.ranks,
           "of a program with several ranks (MPI, torchrun), which processes to record: numbers with commas between them, "
           "or all")
        ->type_name("LIST")
        ->capture_default_str();
    app.add_option("--max", options_.max, "launches of each kernel to record, or all")
        ->transform(whole_number_or_all(1))
        ->type_name("N")
        ->capture_default_str();
    app.add_option("--skip", options_.skip, "launches of each kernel before the first that is recorded")
        ->check(whole_number(0))
        ->capture_default_str();
    app.add_option("--every", options_.every, "of each kernel's launches, record the first and each N-th after it")
        ->check(whole_number(1))
        ->capture_default_str();
    app.add_option("--distinct", distinct_,
                   "record no launch that is the same as a recorded one of this run in shape, in arguments too, or in data too; "
                   "--max counts only what is not")
        ->check(CLI::IsMember({"shape", "arguments", "data"}));
    app.add_flag("--all-memory", all_memory_,
                 "record each launch with all of the program's device memory and pinned host memory, not only with what pointers "
                 "lead to from its arguments and variables");
    app.add_option("--memory-from", memory_from_,
                   "who places the device memory that the program allocates: recorder, in a range of its own; or driver, for "
                   "programs that share memory (cuIpcGetMemHandle) with processes that this command has not started; it is "
                   "recorded where it lies")
        ->transform(CLI::IsMember({"recorder", "driver"}))
        ->capture_default_str();
    app.add_option("--max-launch-bytes", max_launch_bytes_, "record no launch with more memory: bytes, or a size like 2G")
        ->transform(byte_size());
    app.add_option("--max-bytes", max_bytes_, "bytes that a process may add to the database, or a size like 64M")
        ->transform(byte_size());
    app.add_option(
           "--staging", staging_,
           "the most memory in which recorded launches wait to be stored while the program goes on: bytes, or a size like "
           "1G; 0: the program waits until each launch is stored [4G, or a quarter of the machine's memory]")
        ->transform(byte_size());
    app.add_option(
           "--in-flight", options_.in_flight,
           "the most recorded launches, or all, that are not written when the program goes on: those that are lost when it "
           "is killed")
        ->transform(whole_number_or_all(0))
        ->type_name("N")
        ->capture_default_str();
    app.add_flag("--strict", strict_,
                 "end with status 2 where the program ended with 0 and launches that were to be recorded are lost, or recording "
                 "ended early");
    app.add_option("--json", json_, "also write what was recorded and what was not to this file, for programs")
        ->type_name("FILE");
    app.add_flag("--profile", options_.profile, "time the program's own launches, and keep that with the recorded ones");
    app.footer(
        "On an NVIDIA GPU the program need not be built for recording: mneme record -rdb db -- python train.py. "
        "The program's output, exit status and signals are its own. The last lines on standard error say what was recorded and "
        "what was not.");
  }

  int run() override {
    if (options_.database.empty()) return report_usage("record", "-rdb is empty: name the directory of the database");
    options_.address_space = Bytes(static_cast<uint64_t>(std::llround(space_gib_ * 512)) << 21);
    options_.database = std::filesystem::absolute(options_.database).lexically_normal().string();
    if (max_bytes_) options_.max_bytes = Bytes(*max_bytes_);
    if (staging_) options_.staging = Bytes(*staging_);
    if (max_launch_bytes_) options_.max_launch_bytes = Bytes(*max_launch_bytes_);
    if (slowest_ != 0 && profile_from_.empty())
      return report_usage("record",
                          "--slowest needs a profile: write one by `mneme profile --json FILE -- PROGRAM`, and name it by "
                          "--profile-from FILE");
    if (slowest_ == 0 && !profile_from_.empty()) return report_usage("record", "--profile-from has no use without --slowest N");
    if (all_memory_) options_.memory_extent = MemoryExtent::all;
    options_.memory_from = parse_memory_from(memory_from_).value();
    if (!distinct_.empty()) options_.distinct = parse_distinct(distinct_).value();
    if (Status status = check_recording_options(options_); !status.ok()) return report_usage("record", status.message());
    auto wait_status = record();
    if (!wait_status.ok()) return report(wait_status.status());
    if (strict_ && incomplete_ && *wait_status == 0) return kExitCannotRun;
    end_as(*wait_status);
  }

 private:
  Result<int> record() {
    const auto rank = rank_of_process(::getenv);
    if (!json_.empty() && !is_special_file(json_)) json_ = file_of_rank(json_, options_.ranks, rank).string();
    if (!json_.empty()) MNEME_TRY(check_output_file(json_));
    MNEME_ASSIGN(Path program, find_program(application()[0]));
    MNEME_ASSIGN(const std::string_view runtime, runtime_of_program(program));
    MNEME_ASSIGN(const DeviceKind device, device_.kind_for_program(runtime));
    MNEME_ASSIGN(const Front front, choose_front(program, device, wanted_front(), Front::driver));
    if (options_.memory_from == MemoryFrom::driver && front != Front::driver)
      return error(
          Code::unsupported,
          "recording {}: --memory-from driver is for what is recorded at the driver, and this would be recorded by the calls "
          "that it is linked with: record it on an NVIDIA GPU, without --front linked",
          application()[0]);
    MNEME_ASSIGN(Installation installation, Installation::find());
    if (slowest_ != 0) MNEME_TRY(choose_slowest());
    MNEME_TRY(Database::create(options_.database).status());
    MNEME_ASSIGN(auto recording, RecordingReportMapping::create());
    options_.report = recording.descriptor();
    MNEME_ASSIGN(int wait_status, run_with_recorder(program, application(), front, device, installation, options_));
    // Of a rank that is not recorded nothing is said.
    if (!records_rank(options_.ranks, rank)) return wait_status;
    for (const std::string& line : recording_summary(*recording, options_, front)) log::info("{}", line);
    if (front == Front::driver) look_for_ir();
    if (!json_.empty()) {
      const std::string text = to_text(to_json(*recording, options_));
      MNEME_TRY(write_output_file(json_, std::as_bytes(std::span(text))));
    }
    incomplete_ = recording->lost() != 0 || recording->storing != 0 || !recording->failure.get().empty();
    return wait_status;
  }

  // After the program's end, since LLVM must not be in the program. Without the IR the recording is as good as machine code is.
  void look_for_ir() const {
    std::vector<Path> folders(ir_caches_.begin(), ir_caches_.end());
    for (Path& folder : compiler_cache_folders(::getenv)) folders.push_back(std::move(folder));
    const auto found = add_cached_ir_guarded(options_.database, folders);
    if (!found.ok()) log::warning("looking for the LLVM IR of kernels in Triton's cache: {}", found.status().message());
    if (found.ok() && *found != 0) log::info("the LLVM IR of {} was found in Triton's cache", plural(*found, "kernel"));
  }
  std::optional<Front> wanted_front() const {
    if (front_ == "auto") return std::nullopt;
    return front_ == "driver" ? Front::driver : Front::linked;
  }
  Status choose_slowest() {
    MNEME_ASSIGN(const ByteVector bytes, FileSystem::posix().read(profile_from_));
    MNEME_ASSIGN(const LaunchProfile profile,
                 decode_launch_profile({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, profile_from_));
    for (const std::string& name : slowest_kernels(profile, slowest_))
      options_.slowest.push_back(digest_of(std::as_bytes(std::span(name))));
    if (!options_.slowest.empty()) return {};
    return error(Code::not_found, "{}: the profile has no kernel that can be recorded", profile_from_);
  }

  // Their names must fit into the environment of the program.
  static constexpr uint64_t kMostSlowest = 1000;

  RecordingOptions options_;
  std::string front_ = "auto";
  std::vector<std::string> ir_caches_;
  uint64_t slowest_ = 0;
  std::string profile_from_, distinct_;
  std::optional<uint64_t> max_launch_bytes_;
  bool all_memory_ = false;
  std::string memory_from_ = "recorder";
  double space_gib_ = 256;
  std::optional<uint64_t> max_bytes_, staging_;
  DeviceOption device_;
  std::string json_;
  bool strict_ = false;
  bool incomplete_ = false;  // what was to be recorded is not
};

const Registration registration({.name = "record",
                                 .summary = "run a program and record its kernel launches",
                                 .application = Application::required,
                                 .examples = {{"mneme record -rdb db -- ./app",
                                               "run ./app, and record up to four launches of each of its kernels"},
                                              {"mneme record -rdb db --kernels add --max 1 -- ./app",
                                               "only kernels with \"add\" in their name, one launch of each"},
                                              {"mneme record -rdb cpu-db --device cpu --profile -- ./app",
                                               "without a GPU; and how long the program's own launches take"}}},
                                [] { return std::make_unique<RecordCommand>(); });

}  // namespace
}  // namespace mneme::cli

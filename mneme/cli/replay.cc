// mneme replay: one recorded launch, recompiled under one configuration, run, verified and timed.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "mneme/cli/command.h"
#include "mneme/cli/progress.h"
#include "mneme/replay/session.h"
#include "mneme/store/database.h"

namespace mneme::cli {
namespace {

constexpr int kExitVerified = 0;
constexpr int kExitNotVerified = 1;

// While one lives, what is written to standard output goes to standard error: a kernel may print, and the result must stay one
// JSON object.
class DivertedOutput {
 public:
  DivertedOutput() : saved_(::dup(STDOUT_FILENO)) { ::dup2(STDERR_FILENO, STDOUT_FILENO); }
  ~DivertedOutput() {
    std::fflush(stdout);
    ::dup2(saved_, STDOUT_FILENO);
    ::close(saved_);
  }
  DivertedOutput(const DivertedOutput&) = delete;
  DivertedOutput& operator=(const DivertedOutput&) = delete;

 private:
  int saved_;
};

class ReplayCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    app.add_option("--rdb,--record-db", kernel_file_, "the recorded kernel: DIR/<static-hash>.json")->required();
    app.add_option("--rid,--record-id", instance_,
                   "the recorded instance: a dynamic hash, or its first digits (default: the only one)");
    app.add_option("PIPELINE", configuration_.passes, "LLVM pass pipeline, as opt's -passes takes it")->capture_default_str();
    add_extent(app, "--grid-dim", "grid extent in blocks", configuration_.grid);
    add_extent(app, "--block-dim", "block extent in threads", configuration_.block);
    app.add_option("--shared-mem", shared_memory_, "dynamic shared memory of a block, in bytes (default: as recorded)");
    app.add_option("--codegen-opt", configuration_.codegen.level, "level of LLVM's code generator")
        ->check(CLI::Range(0, 3))
        ->capture_default_str();
    app.add_option("--iterations", configuration_.execution.iterations, "timed launches after the verified one")
        ->check(CLI::Range(0, 1'000'000))
        ->capture_default_str();
    app.add_option("--device", device_, "auto: the first of cuda and cpu that is there")
        ->check(CLI::IsMember({"auto", "cuda", "cpu"}))
        ->capture_default_str();
    app.footer(
        "Prints one JSON object: the configuration and its result; times are nanoseconds, sizes bytes, and what a device cannot "
        "tell is null.\n"
        "What the kernel prints goes to standard error.\n"
        "Exit status: 0 the result is as recorded, 1 it is not, 2 the replay could not run, 64 the command line is wrong.");
  }

  int run() override {
    if (shared_memory_) configuration_.shared_memory = Bytes(*shared_memory_);
    ReplayResult result = replay_or_failure();
    nlohmann::json document = {{"configuration", to_json(configuration_)}, {"result", to_json(result)}};
    fmt::print("{}\n", document.dump(2));
    if (!result.failure.ok()) return report(result.failure);
    return result.verified ? kExitVerified : kExitNotVerified;
  }

 private:
  static void add_extent(CLI::App& app, const std::string& name, const std::string& what, ExtentOverride& extent) {
    app.add_option(name + "-x", extent.x, what + " in x (default: as recorded)")->check(CLI::PositiveNumber);
    app.add_option(name + "-y", extent.y, what + " in y")->check(CLI::PositiveNumber);
    app.add_option(name + "-z", extent.z, what + " in z")->check(CLI::PositiveNumber);
  }

  // What kept the replay from being prepared is a result too, so that whoever reads standard output always finds one.
  ReplayResult replay_or_failure() {
    DivertedOutput diverted;
    auto result = replay();
    if (result.ok()) return std::move(*result);
    ReplayResult failed;
    failed.failure = result.status();
    return failed;
  }

  Result<ReplayResult> replay() {
    MNEME_ASSIGN(KernelFile file, locate_kernel(kernel_file_));
    MNEME_ASSIGN(Database database, Database::open(file.directory));
    MNEME_ASSIGN(Digest dynamic_hash, choose_instance(database, file.static_hash));
    MNEME_ASSIGN(auto device, open_device());
    Progress line;
    line.stage("preparing the device");
    auto show = [&](std::string_view what, double done) { line.stage(fmt::format("{}: {:.0f} %", what, 100 * done)); };
    MNEME_ASSIGN(auto session, Session::prepare(database, file.static_hash, dynamic_hash, *device, show));
    line.stage(fmt::format("compiling and running {}", session->kernel().demangled));
    return session->replay(configuration_);
  }

  Result<std::unique_ptr<Device>> open_device() {
    if (device_ == "auto") return Device::open_best();
    MNEME_ASSIGN(DeviceKind kind, parse_device_kind(device_));
    return Device::open(kind);
  }

  Result<Digest> choose_instance(const Database& database, const Digest& static_hash) const {
    MNEME_ASSIGN(KernelDocument document, database.load_document(static_hash));
    std::vector<const InstanceRecord*> matching;
    std::string all;
    for (const InstanceRecord& instance : document.instances) {
      if (instance.dynamic_hash.hex().starts_with(instance_)) matching.push_back(&instance);
      all += fmt::format("\n  {}  grid {}, block {}, {}", instance.dynamic_hash.hex(), instance.grid, instance.block,
                         instance.state_bytes);
    }
    if (matching.size() == 1) return matching[0]->dynamic_hash;
    if (instance_.empty())
      return error(Code::invalid_argument, "{} has {} instances: choose one with -rid{}", document.kernel.demangled,
                   document.instances.size(), all);
    return error(Code::not_found, "{} instances of {} begin with '{}'; there are{}", matching.size(), document.kernel.demangled,
                 instance_, all);
  }

  std::string kernel_file_, instance_, device_ = "auto";
  std::optional<uint64_t> shared_memory_;
  Configuration configuration_;
};

const Registration registration({.name = "replay",
                                 .summary = "recompile one recorded launch under a configuration, run, verify and time it"},
                                [] { return std::make_unique<ReplayCommand>(); });

}  // namespace
}  // namespace mneme::cli

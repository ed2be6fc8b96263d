// mneme trim: drops what recorded launches do not touch of the memory that they were recorded with.
#include "mneme/replay/trim.h"

#include <fmt/format.h>

#include "mneme/base/shown.h"
#include "mneme/cli/diverted_output.h"
#include "mneme/cli/options/command.h"
#include "mneme/cli/options/device_option.h"
#include "mneme/cli/options/guarded.h"
#include "mneme/cli/options/recorded_launch.h"
#include "mneme/cli/output.h"
#include "mneme/cli/progress.h"
#include "mneme/cli/recording_view.h"
#include "mneme/memory/recorded_addresses.h"

namespace mneme::cli {
namespace {

constexpr int kExitTrimmed = 0;
constexpr int kExitLeft = 1;

class TrimCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    recorded_.declare(app);
    device_.declare(app, "the device that the launches run on; auto: the first that is there");
    app.add_flag("--dry-run", dry_run_, "find what can be dropped, and change nothing");
    guard_.declare(app);
    app.footer(
        "Each launch is replayed, run once in code that notes its accesses, and replayed without the pages that it does not "
        "touch. "
        "Where that is not verified nothing is changed. The memory stays where it was, with other content in what was dropped; "
        "the "
        "instance gets another dynamic hash, and is found by the old one, too.\n"
        "Exit status: 0 each launch is trimmed, or has nothing to drop; 1 one is left as it was, and said; 2 the command could "
        "not "
        "work; 64 the command line is wrong.");
  }

  int run() override {
    auto chosen = recorded_.chosen();
    if (!chosen.ok()) return report(chosen.status());
    for (const Status& damage : chosen->damaged) report(damage);
    const auto before = chosen->database.disk_size();
    int exit_status = chosen->damaged.empty() ? kExitTrimmed : kExitCannotRun;
    for (const KernelDocument& kernel : chosen->kernels)
      for (const InstanceRecord& instance : kernel.instances)
        exit_status = std::max(exit_status, trim_guarded(chosen->database.directory(), kernel.kernel, instance.dynamic_hash));
    const auto after = chosen->database.disk_size();
    if (before.ok() && after.ok() && !dry_run_)
      print("{}: {}, before {}\n", shown(chosen->database.directory().string(), 0), *after, *before);
    return exit_status;
  }

 private:
  // In a process of its own: a device that has faulted is of no more use there.
  int trim_guarded(const Path& directory, const KernelRecord& kernel, const Digest& instance) {
    const std::string title = fmt::format("{} {}", instance.hex(), shown(kernel.demangled));
    return guard_.run(
        [&]() -> Outcome {
          const auto trimmed = trim_one(directory, kernel.static_hash, instance);
          if (trimmed.ok()) return {describe(title, *trimmed), kExitTrimmed};
          return {fmt::format("{}: left as it was: {}\n", title, shown(trimmed.status().message(), 0)), kExitLeft};
        },
        [&](const Status&) { return Outcome{fmt::format("{}: left as it was\n", title), kExitLeft}; });
  }

  Result<Trimmed> trim_one(const Path& directory, const Digest& static_hash, const Digest& instance) const {
    DivertedOutput diverted;
    MNEME_ASSIGN(Database database, dry_run_ ? Database::open(directory) : Database::create(directory));
    const HeldAddresses held = hold_recorded_addresses(database, static_hash, {&instance, 1});
    MNEME_ASSIGN(const auto device, device_.open());
    Progress line;
    return trim(database, static_hash, instance, *device, dry_run_ ? Deed::tell : Deed::remove,
                [&](std::string_view what, double done) { line.stage(fmt::format("{}: {:.0f} %", what, 100 * done)); });
  }

  std::string describe(const std::string& title, const Trimmed& trimmed) const {
    if (trimmed.pages == 0) return fmt::format("{}: nothing to drop of {}\n", title, plural(trimmed.all_pages, "page"));
    std::string text = fmt::format("{}: {} of {} {}, {} of memory; stored {}, before {}\n", title, trimmed.pages,
                                   plural(trimmed.all_pages, "page"), dry_run_ ? "can be dropped" : "dropped", trimmed.bytes,
                                   trimmed.stored_now, trimmed.stored);
    if (!dry_run_) text += fmt::format("  now {}\n", trimmed.after.hex());
    for (const std::string& left : trimmed.left) text += fmt::format("  note: {}\n", shown(left, 0));
    return text;
  }

  RecordedOption recorded_{RecordedOption::Launches::any};
  DeviceOption device_;
  bool dry_run_ = false;
  Guard guard_;
};

const Registration registration({.name = "trim",
                                 .summary = "drop the memory that recorded launches do not touch",
                                 .examples = {{"mneme trim db --dry-run", "how much would go"},
                                              {"mneme trim db add#0", "one launch, proven by a replay"}}},
                                [] { return std::make_unique<TrimCommand>(); });

}  // namespace
}  // namespace mneme::cli

// mneme ls: what a database holds.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "mneme/cli/options/command.h"
#include "mneme/cli/options/recorded_launch.h"
#include "mneme/cli/output.h"
#include "mneme/cli/recording_view.h"

namespace mneme::cli {
namespace {

class LsCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    recorded_.declare(app);
    app.add_flag("--json", json_, "one JSON object instead of a table");
    app.footer("What cannot be read is said on standard error, and the exit status is then 2.");
  }

  int run() override {
    auto database = open();
    if (!database.ok()) return report(database.status());
    auto listing = list(*database);
    if (!listing.ok()) return report(listing.status());
    damaged_ = listing->damaged;
    look_at_code(*database, *listing);
    if (json_)
      print_json(*database, *listing);
    else
      print_table(*database, *listing);
    for (const Status& damage : damaged_) report(damage);
    return damaged_.empty() ? 0 : kExitCannotRun;
  }

 private:
  Result<Database> open() const {
    if (!names_kernel_file(recorded_.database())) return Database::open(recorded_.database());
    MNEME_ASSIGN(RecordedLaunches found, recorded_.kernel());
    return std::move(found.database);
  }

  // All there is, or the kernel and the instances that were named.
  Result<Listing> list(const Database& database) {
    if (!recorded_.names_kernel()) return database.list();
    MNEME_ASSIGN(RecordedLaunches found, recorded_.kernel());
    chosen_ = std::move(found.instances);
    return Listing{{std::move(found.kernel)}, {}};
  }

  bool is_listed(const InstanceRecord& instance) const {
    return chosen_.empty() || std::find(chosen_.begin(), chosen_.end(), instance.dynamic_hash) != chosen_.end();
  }

  // One file may be missed by many instances: it is named once.
  void note(const Status& status) {
    const auto same = [&](const Status& other) { return other.message() == status.message(); };
    if (!status.ok() && std::none_of(damaged_.begin(), damaged_.end(), same)) damaged_.push_back(status);
  }

  void look_at_code(const Database& database, const Listing& listing) {
    std::set<std::string> seen;  // several kernels may have one image
    for (const KernelDocument& document : listing.kernels) {
      const KernelRecord& kernel = document.kernel;
      if (kernel.level == CodeLevel::ir) note(database.load_ir(kernel.static_hash).status());
      for (const CodeImageRecord& image : kernel.images)
        if (seen.insert(image_file_name(image)).second) note(database.load_image(image).status());
    }
  }

  // A damaged state does not hide the rest: its instance is listed without a size.
  std::optional<InstanceSize> size_of(const Database& database, const InstanceRecord& instance) {
    auto size = database.instance_size(instance.static_hash, instance.dynamic_hash);
    note(size.status());
    return size.ok() ? std::optional(*size) : std::nullopt;
  }

  void print_table(const Database& database, const Listing& listing) {
    size_t instances = 0;
    // The code is told where not all of it is IR.
    const bool tells_code = std::any_of(listing.kernels.begin(), listing.kernels.end(),
                                        [](const KernelDocument& document) { return document.kernel.level != CodeLevel::ir; });
    std::vector<std::vector<std::string>> rows{{"STATIC HASH", "#", "DYNAMIC HASH", "GRID", "BLOCK", "MEMORY", "ON DISK"}};
    if (tells_code) rows[0].push_back("CODE");
    rows[0].push_back("KERNEL");
    for (const KernelDocument& document : listing.kernels) {
      for (size_t number = 0; number < document.instances.size(); ++number) {
        const InstanceRecord& instance = document.instances[number];
        if (!is_listed(instance)) continue;
        auto size = size_of(database, instance);
        rows.push_back({instance.static_hash.hex(), fmt::format("{}", number), instance.dynamic_hash.hex(),
                        fmt::format("{}", instance.grid), fmt::format("{}", instance.block), format_bytes(instance.state_bytes),
                        size ? format_bytes(size->total()) : "damaged"});
        if (tells_code) rows.back().push_back(std::string(to_string(document.kernel.level)));
        rows.back().push_back(document.kernel.demangled);
        ++instances;
      }
    }
    if (instances != 0) write_output(format_table(rows));
    if (const std::string times = format_times_in_program(listing.kernels); !times.empty()) write_output("\n" + times + "\n");
    auto disk = database.disk_size();
    print("{}, {}{}\n", plural(listing.kernels.size(), "kernel"), plural(instances, "instance"),
          disk.ok() ? fmt::format(", {} on disk in all", *disk) : "");
  }

  void print_json(const Database& database, const Listing& listing) {
    nlohmann::json kernels = nlohmann::json::array(), damaged = nlohmann::json::array();
    for (const KernelDocument& document : listing.kernels) {
      nlohmann::json kernel = to_json(document.kernel);
      kernel["instances"] = nlohmann::json::array();
      for (const InstanceRecord& instance : document.instances)
        if (is_listed(instance)) kernel["instances"].push_back(to_json(document.kernel, instance, size_of(database, instance)));
      const auto time = time_in_program(document);
      kernel["time_in_program"] =
          time ? nlohmann::json{{"launches", time->launches}, {"nanoseconds", time->nanoseconds}} : nlohmann::json();
      kernels.push_back(std::move(kernel));
    }
    for (const Status& damage : damaged_) damaged.push_back(damage.message());
    auto disk = database.disk_size();
    nlohmann::json root = {{"directory", database.directory().string()},
                           {"kernels", kernels},
                           {"damaged", damaged},
                           {"disk_bytes", disk.ok() ? nlohmann::json(disk->count) : nlohmann::json()}};
    write_output(to_text(root));
  }

  RecordedOption recorded_{RecordedOption::Launches::all};
  bool json_ = false;
  std::vector<Digest> chosen_;  // empty: all
  std::vector<Status> damaged_;
};

const Registration registration({.name = "ls",
                                 .summary = "list the kernels and instances of a database",
                                 .examples = {{"mneme ls db", "what was recorded"},
                                              {"mneme ls db add", "the launches of one kernel"},
                                              {"mneme ls db --json", "for a script"}}},
                                [] { return std::make_unique<LsCommand>(); });

}  // namespace
}  // namespace mneme::cli

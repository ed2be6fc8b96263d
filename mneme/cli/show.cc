// mneme show: all that is recorded about one kernel.
#include <fmt/format.h>

#include "mneme/cli/command.h"
#include "mneme/cli/recording_view.h"
#include "mneme/store/database.h"

namespace mneme::cli {
namespace {

class ShowCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    app.add_option("KERNEL", kernel_file_, "the recorded kernel: DIR/<static-hash>.json")->required();
    app.add_flag("--json", json_, "one JSON object instead of text");
    app.add_flag("--check", check_, "read everything that belongs to it and verify the checksums");
  }

  int run() override {
    Status status = show();
    return status.ok() ? 0 : report(status);
  }

 private:
  Status show() {
    MNEME_ASSIGN(KernelFile file, locate_kernel(kernel_file_));
    MNEME_ASSIGN(Database database, Database::open(file.directory));
    MNEME_ASSIGN(KernelDocument document, database.load_document(file.static_hash));
    if (check_)
      for (const InstanceRecord& instance : document.instances)
        MNEME_TRY(database.check_instance(instance.static_hash, instance.dynamic_hash));
    return json_ ? print_json(database, document) : print_text(database, document);
  }

  Status print_json(const Database& database, const KernelDocument& document) {
    nlohmann::json root = to_json(document.kernel);
    root["ir"] = {{"file", ir_file_name(document.kernel.static_hash)}, {"bytes", document.ir_size.count}};
    root["instances"] = nlohmann::json::array();
    for (const InstanceRecord& instance : document.instances) {
      MNEME_ASSIGN(InstanceSize size, database.instance_size(instance.static_hash, instance.dynamic_hash));
      MNEME_ASSIGN(MemoryView memory, memory_of(database, instance));
      nlohmann::json entry = to_json(document.kernel, instance, size);
      entry["allocations"] = memory.allocations;
      entry["globals"] = memory.globals;
      entry["pages"] = memory.pages;
      entry["changed_pages"] = memory.changed_pages;
      root["instances"].push_back(std::move(entry));
    }
    fmt::print("{}\n", root.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
    return {};
  }

  Status print_text(const Database& database, const KernelDocument& document) {
    const KernelRecord& kernel = document.kernel;
    std::vector<std::vector<std::string>> head{
        {"kernel", kernel.demangled}, {"symbol", kernel.name}, {"static hash", kernel.static_hash.hex()}};
    if (!kernel.source.empty()) head.push_back({"source", kernel.source});
    head.push_back({"compiled for", fmt::format("{} {}", kernel.target, kernel.arch)});
    head.push_back({"IR", fmt::format("{} ({})", ir_file_name(kernel.static_hash), document.ir_size)});
    for (const GlobalInfo& global : kernel.globals)
      head.push_back(
          {"variable", fmt::format("{} ({}{})", global.name, Bytes(global.size), global.constant_space ? ", constant" : "")});
    std::string text = format_table(head);
    for (const InstanceRecord& instance : document.instances) MNEME_TRY(append_instance(database, kernel, instance, text));
    fmt::print("{}", text);
    return {};
  }

  Status append_instance(const Database& database, const KernelRecord& kernel, const InstanceRecord& instance,
                         std::string& text) {
    MNEME_ASSIGN(InstanceSize size, database.instance_size(instance.static_hash, instance.dynamic_hash));
    MNEME_ASSIGN(MemoryView memory, memory_of(database, instance));
    text += fmt::format("\ninstance {}\n", instance.dynamic_hash.hex());
    std::vector<std::vector<std::string>> rows{
        {"  launch", fmt::format("grid {}, block {}, {} of dynamic shared memory{}", instance.grid, instance.block,
                                 instance.dynamic_shared_memory, instance.cooperative ? ", cooperative" : "")},
        {"  memory",
         fmt::format("{} in {} and {}; {} of {} changed", instance.state_bytes, plural(memory.allocations, "allocation"),
                     plural(memory.globals, "variable"), memory.changed_pages, plural(memory.pages, "page"))},
        {"  on disk", fmt::format("{} (pages that others share included)", size.total())},
        {"  recorded", fmt::format("{} on {} ({}), Mneme {}", instance.recorded_at, instance.device_name, instance.device_kind,
                                   instance.mneme_version)}};
    for (size_t i = 0; i < kernel.parameters.size(); ++i) {
      const Parameter& parameter = kernel.parameters[i];
      rows.push_back({"  argument", fmt::format("{} = {} ({})", parameter.name.empty() ? fmt::format("#{}", i) : parameter.name,
                                                format_argument(parameter, instance.parameters), parameter.type)});
    }
    if (instance.recorded_time) rows.push_back({"  time", format_recorded_time(*instance.recorded_time)});
    for (const Annotation& annotation : instance.annotations) rows.push_back({"  annotation", format_annotation(annotation)});
    text += format_table(rows);
    return {};
  }

  Result<MemoryView> memory_of(const Database& database, const InstanceRecord& instance) {
    MNEME_ASSIGN(RecordedInstance recorded, database.load_instance(instance.static_hash, instance.dynamic_hash));
    return view_memory(recorded.prologue, recorded.epilogue);
  }

  std::string kernel_file_;
  bool json_ = false, check_ = false;
};

const Registration registration({.name = "show", .summary = "show all that is recorded about one kernel"},
                                [] { return std::make_unique<ShowCommand>(); });

}  // namespace
}  // namespace mneme::cli

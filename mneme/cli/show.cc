// mneme show: all that is recorded about one kernel.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "mneme/base/log.h"
#include "mneme/base/shown.h"
#include "mneme/cli/code_order.h"
#include "mneme/cli/options/cache_option.h"
#include "mneme/cli/options/command.h"
#include "mneme/cli/options/recorded_launch.h"
#include "mneme/cli/output.h"
#include "mneme/cli/recording_view.h"
#include "mneme/replay/code_level.h"
#include "mneme/snapshot/pageable_pointers.h"

namespace mneme::cli {
namespace {

// What is longer is whole in --json.
constexpr size_t kLongestCell = 1000;

// Of the kinds of memory that most launches have none of.
std::string pieces(uint64_t count, std::string_view of) {
  return count == 0 ? "" : fmt::format(", {} of {}", plural(count, "piece"), of);
}

class ShowCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    recorded_.declare(app);
    app.add_flag("--json", json_, "one JSON object instead of text");
    cache_option_.declare(app);
    app.add_flag("--check", check_, "read everything that belongs to it and verify the checksums");
  }

  int run() override {
    note(show());
    for (const Status& damage : damaged_) report(damage);
    return damaged_.empty() ? 0 : kExitCannotRun;
  }

 private:
  Status show() {
    MNEME_ASSIGN(const RecordedLaunches found, recorded_.kernel());
    const Database& database = found.database;
    const KernelDocument document = only(found.kernel, found.instances);
    if (document.kernel.level == CodeLevel::ir) look_at_ir(database, document.kernel);
    if (check_)
      for (const InstanceRecord& instance : document.instances)
        note(database.check_instance(instance.static_hash, instance.dynamic_hash));
    if (json_)
      print_json(database, document);
    else
      print_text(database, document);
    return {};
  }

  void look_at_ir(const Database& database, const KernelRecord& kernel) {
    auto ir = database.load_ir(kernel.static_hash);
    note(ir.status());
    if (!ir.ok()) return;
    auto cache = cache_option_.open();
    if (!cache.ok()) log::warning("no cache of compiled code is used: {}", cache.status().message());
    auto order = order_dependences_in(*ir, ir_file_name(kernel.static_hash), cache.ok() ? *cache : nullptr);
    note(order.status());
    if (order.ok()) order_ = std::move(*order);
  }

  // Damage does not hide what is sound, and is said once.
  void note(const Status& status) {
    const auto same = [&](const Status& other) { return other.message() == status.message(); };
    if (!status.ok() && std::none_of(damaged_.begin(), damaged_.end(), same)) damaged_.push_back(status);
  }

  void print_json(const Database& database, const KernelDocument& document) {
    nlohmann::json root = to_json(document.kernel);
    root["order_dependences"] = order_;
    root["ir"] = nullptr;
    if (document.kernel.level == CodeLevel::ir)
      root["ir"] = {{"file", ir_file_name(document.kernel.static_hash)}, {"bytes", document.ir_size.count}};
    root["instances"] = nlohmann::json::array();
    for (const InstanceRecord& instance : document.instances) {
      const auto [size, memory, textures] = look_at(database, instance);
      const auto or_null = [&seen = memory](uint64_t MemoryView::* member) {
        return seen ? nlohmann::json((*seen).*member) : nullptr;
      };
      nlohmann::json entry = to_json(document.kernel, instance, size);
      entry["allocations"] = or_null(&MemoryView::allocations);
      entry["globals"] = or_null(&MemoryView::globals);
      entry["host_memory"] = or_null(&MemoryView::host);
      entry["mapped_memory"] = or_null(&MemoryView::mapped);
      entry["managed_memory"] = or_null(&MemoryView::managed);
      entry["arrays"] = or_null(&MemoryView::arrays);
      entry["textures"] = nlohmann::json::array();
      for (const TextureObject& object : textures.objects) entry["textures"].push_back(to_json(object, textures));
      entry["pages"] = or_null(&MemoryView::pages);
      entry["changed_pages"] = or_null(&MemoryView::changed_pages);
      root["instances"].push_back(std::move(entry));
    }
    root["damaged"] = nlohmann::json::array();
    for (const Status& damage : damaged_) root["damaged"].push_back(damage.message());
    write_output(to_text(root));
  }

  void print_text(const Database& database, const KernelDocument& document) {
    const KernelRecord& kernel = document.kernel;
    std::vector<std::vector<std::string>> head{
        {"kernel", kernel.demangled}, {"symbol", kernel.name}, {"static hash", kernel.static_hash.hex()}};
    if (!kernel.source.empty()) head.push_back({"source", kernel.source});
    head.push_back({"compiled for", fmt::format("{} {}", kernel.target, kernel.arch)});
    if (!kernel.pipeline.empty())
      head.push_back({"compiled by", kernel.pipeline});
    else if (!has_program_code(kernel))
      head.push_back({"compiled by", fmt::format("not recorded: {} is {}", kAsBuilt, kWhereNotKnown)});
    if (kernel.level == CodeLevel::ir)
      head.push_back({"IR", fmt::format("{} ({})", ir_file_name(kernel.static_hash), document.ir_size)});
    for (const CodeImageRecord& image : kernel.images) head.push_back({"code", format_image(image, kernel)});
    if (kernel.level != CodeLevel::ir)
      head.push_back({"", fmt::format("no LLVM IR: a replay can change {}the launch",
                                      kernel.level == CodeLevel::ptx ? "what the assembler makes of the PTX, and " : "")});
    for (const GlobalInfo& global : kernel.globals)
      head.push_back(
          {"variable", fmt::format("{} ({}{})", global.name, Bytes(global.size), global.constant_space ? ", constant" : "")});
    for (const auto& dependence : order_) head.push_back({"depends", "the kernel " + dependence.value("what", std::string())});
    std::string text = format_table(head, kLongestCell);
    for (size_t i = 0; i < document.instances.size(); ++i) append_instance(database, kernel, i, document.instances[i], text);
    if (check_ && damaged_.empty())
      text += fmt::format("\nchecked: the {}, {} and {}: all whole\n", kernel.level == CodeLevel::ir ? "IR" : "code",
                          plural(document.instances.size(), "instance"), plural(pages_.size(), "page"));
    write_output(text);
  }

  void append_instance(const Database& database, const KernelRecord& kernel, size_t number, const InstanceRecord& instance,
                       std::string& text) {
    const auto [size, memory, textures] = look_at(database, instance);
    text += fmt::format("\ninstance {} (#{})\n", instance.dynamic_hash.hex(), number);
    std::vector<std::vector<std::string>> rows{
        {"  launch", fmt::format("grid {}, block {}, {} of dynamic shared memory{}{}", instance.grid, instance.block,
                                 instance.dynamic_shared_memory, instance.cooperative ? ", cooperative" : "",
                                 instance.cluster == kNoCluster ? "" : fmt::format(", clusters of {}", instance.cluster))},
        {"  memory", memory
                         ? fmt::format("{} in {}{}{}{}{} and {}; {} of {} changed", instance.state_bytes,
                                       plural(memory->allocations, "allocation"), pieces(memory->host, "host memory"),
                                       pieces(memory->mapped, "mapped memory"), pieces(memory->managed, "managed memory"),
                                       memory->arrays == 0 ? "" : ", " + plural(memory->arrays, "array"),
                                       plural(memory->globals, "variable"), memory->changed_pages, plural(memory->pages, "page"))
                         : "damaged"},
        {"  extent", instance.memory_extent == MemoryExtent::all
                         ? "all: whatever the program had allocated"
                         : "reachable: what pointers lead to from the arguments and variables"},
        {"  trimmed", instance.trimmed ? format_trimming(*instance.trimmed) : ""},
        {"  on disk", size ? fmt::format("{} (pages that others share included)", size->total()) : "damaged"},
        {"  recorded", fmt::format("{} on {} ({}), Mneme {}", instance.recorded_at, instance.device_name, instance.device_kind,
                                   instance.mneme_version)}};
    std::erase_if(rows, [](const std::vector<std::string>& row) { return row[1].empty(); });
    for (size_t i = 0; i < kernel.parameters.size(); ++i) {
      const Parameter& parameter = kernel.parameters[i];
      rows.push_back({"  argument", fmt::format("{} = {} ({})", parameter.name.empty() ? fmt::format("#{}", i) : parameter.name,
                                                format_argument(parameter, instance.parameters),
                                                parameter.type.empty() ? fmt::format("{} B", parameter.size) : parameter.type)});
    }
    for (const TextureObject& object : textures.objects) rows.push_back({"  texture", format_texture(object, textures)});
    if (const std::string pointers = describe_pageable_pointers(pageable_pointers_in(instance.attributes)); !pointers.empty())
      rows.push_back({"  lacks", pointers + ", which a replay does not have"});
    for (const auto& [name, value] : instance.attributes) rows.push_back({"  attribute", fmt::format("{} = {}", name, value)});
    if (instance.recorded_time) rows.push_back({"  time", format_recorded_time(*instance.recorded_time)});
    if (instance.shape_launches) rows.push_back({"  ran", format_shape_launches(*instance.shape_launches)});
    for (const Annotation& annotation : instance.annotations) rows.push_back({"  annotation", format_annotation(annotation)});
    text += format_table(rows, kLongestCell);
  }

  // What its files say; each is read once. Nothing where they are damaged.
  struct Looked {
    std::optional<InstanceSize> size;
    std::optional<MemoryView> memory;
    TextureSet textures;
  };
  Looked look_at(const Database& database, const InstanceRecord& instance) {
    auto recorded = database.load_memory(instance);
    note(recorded.status());
    if (!recorded.ok()) return {};
    auto size = database.instance_size(*recorded);
    note(size.status());
    for (const MemoryState* state : {&recorded->prologue, &recorded->epilogue})
      for (const Region& region : state->regions) pages_.insert(region.pages.begin(), region.pages.end());
    return {size.ok() ? std::optional(*size) : std::nullopt, view_memory(recorded->prologue, recorded->epilogue),
            recorded->prologue.textures};
  }

  RecordedOption recorded_{RecordedOption::Launches::all};
  bool json_ = false, check_ = false;
  CacheOption cache_option_;
  nlohmann::json order_;  // null: not known
  std::vector<Status> damaged_;
  std::set<Digest> pages_;  // of all instances
};

const Registration registration({.name = "show",
                                 .summary = "show all that is recorded about one kernel",
                                 .examples = {{"mneme show db add", "arguments, memory and launches of the kernel add"},
                                              {"mneme show db add --check", "the same, and whether every file of it is whole"}}},
                                [] { return std::make_unique<ShowCommand>(); });

}  // namespace
}  // namespace mneme::cli

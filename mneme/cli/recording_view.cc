#include "mneme/cli/recording_view.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <tuple>

#include "mneme/base/shown.h"
#include "mneme/measure/time_statistics.h"

namespace mneme::cli {
namespace {

using nlohmann::json;

json extents(const Dim3& d) { return {{"x", d.x}, {"y", d.y}, {"z", d.z}}; }

template <typename T>
T value_at(ByteSpan bytes, uint64_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

std::optional<int64_t> integer_at(ByteSpan bytes, uint64_t offset, uint64_t size) {
  switch (size) {
    case 1: return value_at<int8_t>(bytes, offset);
    case 2: return value_at<int16_t>(bytes, offset);
    case 4: return value_at<int32_t>(bytes, offset);
    case 8: return value_at<int64_t>(bytes, offset);
    default: return std::nullopt;
  }
}

std::string hex(ByteSpan bytes) {
  std::string text;
  for (std::byte byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return text;
}

// Where a region of the kind is counted.
uint64_t& count_of(MemoryView& view, Region::Kind kind) {
  switch (kind) {
    case Region::Kind::allocation: break;
    case Region::Kind::global: return view.globals;
    case Region::Kind::host: return view.host;
    case Region::Kind::mapped: return view.mapped;
    case Region::Kind::managed: return view.managed;
    case Region::Kind::array: return view.arrays;
  }
  return view.allocations;
}

}  // namespace

std::string format_trimming(const Trimming& trimming) {
  std::string of;
  for (const Digest& hash : trimming.of) of += (of.empty() ? "" : ", ") + hash.hex();
  return fmt::format("{} dropped, {} of memory that the launch does not touch; recorded as {}", plural(trimming.pages, "page"),
                     trimming.bytes, of);
}

std::string plural(uint64_t count, std::string_view what) {
  std::string_view ending = what.ends_with("ch") ? "es" : "s";
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : ending);
}

std::vector<std::string> recording_summary(const RecordingReport& report, const RecordingOptions& options, Front front) {
  const uint64_t instances = report.instances, duplicates = report.duplicates;
  const std::string database = shown(options.database, 0);
  if (report.recorders == 0 && front == Front::driver)
    return {fmt::format("recorded nothing in {}: nothing that ran has called the CUDA driver", database)};
  if (report.recorders == 0) {
    return {fmt::format(
        "recorded nothing in {}: no program that was built for Mneme ran (build with `mneme config cxxflags` and `mneme config "
        "ldflags`)",
        database)};
  }
  std::string text;
  if (instances + duplicates == 0) {
    text = fmt::format("recorded nothing in {}", database);
    if (report.launches == 0) text += ": the program launched no kernel";
  } else {
    text = fmt::format("recorded {} of {} in {} ({} of memory, {} on disk)", plural(instances, "launch"),
                       plural(report.new_kernels, "kernel"), database, Bytes(report.state_bytes), Bytes(report.database_bytes));
    // By an earlier recording, or by this one.
    if (duplicates == 1) text += "; 1 launch was the same as a recorded one";
    if (duplicates > 1) text += fmt::format("; {} were the same as recorded ones", plural(duplicates, "launch"));
  }
  if (const uint64_t storing = report.storing; storing != 0)
    text += fmt::format("; perhaps {} more, which {} being stored when the program ended (mneme ls tells)", storing,
                        storing == 1 ? "was" : "were");
  if (const uint64_t lost = report.lost(); lost != 0)
    text += fmt::format("; {} that {} to be recorded {} lost", plural(lost, "launch"), lost == 1 ? "was" : "were",
                        lost == 1 ? "is" : "are");
  std::vector<std::string> lines{text};
  if (instances != 0 && report.copied_bytes != 0)
    lines.push_back(fmt::format("changed: {} of pages; contents of {} were new to the database", Bytes(report.copied_bytes),
                                Bytes(report.new_page_bytes)));
  for (size_t i = 0; i < kNotRecordedReasons; ++i) {
    const RecordingReport::Reason& reason = report.not_recorded[i];
    const uint64_t launches = reason.launches;
    if (launches == 0) continue;
    const std::string kernel = shown(reason.kernel.get());
    lines.push_back(fmt::format("not recorded: {}: {}{}", plural(launches, "launch"), describe(static_cast<NotRecorded>(i)),
                                kernel.empty() ? "" : fmt::format(" [first: {}]", kernel)));
  }
  if (const uint64_t shared = report.shared; shared != 0)
    lines.push_back(fmt::format(
        "shared: {} of device memory that the recorder has placed: only processes of the same mneme record open them; for "
        "others record with --memory-from driver",
        plural(shared, "handle")));
  if (std::string failure = report.failure.get(); !failure.empty())
    lines.push_back(fmt::format("recording ended early: {}", shown(failure, 0)));
  return lines;
}

json to_json(const RecordingReport& report, const RecordingOptions& options) {
  json reasons = json::array();
  for (size_t i = 0; i < kNotRecordedReasons; ++i) {
    const RecordingReport::Reason& reason = report.not_recorded[i];
    if (const uint64_t launches = reason.launches; launches != 0)
      reasons.push_back({{"reason", describe(static_cast<NotRecorded>(i))},
                         {"launches", launches},
                         {"lost", is_lost(static_cast<NotRecorded>(i))},
                         {"first_kernel", reason.kernel.get()}});
  }
  const auto seconds = [](uint64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e9; };
  const std::string failure = report.failure.get();
  return {{"database", options.database},
          {"processes", report.recorders.load()},
          {"launches", report.launches.load()},
          {"allocations", report.allocations.load()},
          {"shared_handles", report.shared.load()},
          {"loads", report.loads.load()},
          {"recorded", report.instances.load()},
          {"recorded_before", report.duplicates.load()},
          {"being_stored_at_the_end", report.storing.load()},
          {"kernels", report.new_kernels.load()},
          {"memory_bytes", report.state_bytes.load()},
          {"database_bytes", report.database_bytes.load()},
          {"copied_bytes", report.copied_bytes.load()},
          {"new_page_bytes", report.new_page_bytes.load()},
          {"opening_s", seconds(report.opening)},
          {"capturing_s", seconds(report.capturing)},
          {"hashing_s", seconds(report.hashing)},
          {"pinning_s", seconds(report.pinning)},
          {"copying_s", seconds(report.copying)},
          {"digesting_s", seconds(report.digesting)},
          {"waiting_s", seconds(report.waiting)},
          {"ending_s", seconds(report.ending)},
          {"committing_s", seconds(report.committing)},
          {"not_recorded", std::move(reasons)},
          {"ended_early", failure.empty() ? json(nullptr) : json(failure)}};
}

std::string format_table(std::vector<std::vector<std::string>> rows, size_t most) {
  std::vector<size_t> widths;
  for (auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) {
      row[i] = shown(row[i], most);
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string text;
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      if (i + 1 == row.size())
        text += row[i];
      else
        text += fmt::format("{:{}}  ", row[i], widths[i]);
    }
    text += '\n';
  }
  return text;
}

std::string format_argument(const Parameter& parameter, ByteSpan parameters) {
  if (parameter.offset > parameters.size() || parameter.size > parameters.size() - parameter.offset) return "?";
  if (parameter.kind == Parameter::Kind::pointer && parameter.size == 8)
    return fmt::format("{:#x}", value_at<uint64_t>(parameters, parameter.offset));
  // Whatever it is: a pointer and a whole number can be told in this form.
  if (parameter.kind == Parameter::Kind::opaque && parameter.size == 8)
    return fmt::format("{:#x}", value_at<uint64_t>(parameters, parameter.offset));
  if (parameter.kind == Parameter::Kind::opaque && parameter.size == 4)
    return fmt::format("{:#x}", value_at<uint32_t>(parameters, parameter.offset));
  if (parameter.kind == Parameter::Kind::floating && parameter.size == 4)
    return fmt::format("{}", value_at<float>(parameters, parameter.offset));
  if (parameter.kind == Parameter::Kind::floating && parameter.size == 8)
    return fmt::format("{}", value_at<double>(parameters, parameter.offset));
  if (parameter.kind == Parameter::Kind::integer)
    if (auto value = integer_at(parameters, parameter.offset, parameter.size)) return fmt::format("{}", *value);
  return hex(parameters.subspan(parameter.offset, parameter.size));
}

std::string format_image(const CodeImageRecord& image, const KernelRecord& kernel) {
  constexpr std::array<std::string_view, 3> kNames = {"cubin", "PTX", "code object"};
  return fmt::format("{}, {}, {} ({})", kNames[static_cast<size_t>(image.kind)], kernel.arch, image.size, image_file_name(image));
}

MemoryView view_memory(const MemoryState& prologue, const MemoryState& epilogue) {
  MemoryView view;
  for (size_t i = 0; i < prologue.regions.size(); ++i) {
    const Region& before = prologue.regions[i];
    ++count_of(view, before.kind);
    view.pages += before.pages.size();
    for (size_t page = 0; page < before.pages.size(); ++page) {
      bool same = i < epilogue.regions.size() && page < epilogue.regions[i].pages.size() &&
                  epilogue.regions[i].pages[page] == before.pages[page];
      view.changed_pages += !same;
    }
  }
  return view;
}

std::string format_texture(const TextureObject& object, const TextureSet& textures) {
  std::string text = fmt::format("{} {:#x} of ", to_string(object.kind), object.handle);
  if (object.source == TextureObject::Source::linear)
    return text + fmt::format("{} at {}", object.memory.size, object.memory.address);
  if (object.source == TextureObject::Source::pitched)
    return text + fmt::format("{} x {} texels at {}", object.width, object.height, object.memory.address);
  const ArrayShape& shape = textures.arrays[object.array].shape;
  if (object.source == TextureObject::Source::array && shape.levels != 0) text += fmt::format("level {} of ", object.level);
  text += fmt::format("{} of {}", shape.levels != 0 ? "a mipmapped array" : "an array", shape.width);
  for (uint64_t extent : {shape.height, shape.depth})
    if (extent != 0) text += fmt::format(" x {}", extent);
  return text + fmt::format(" texels of {}", shape.texel.texel_size().value_or(Bytes()));
}

json to_json(const TextureObject& object, const TextureSet& textures) {
  const bool reads_array = object.reads_array();
  const MemoryRange memory = reads_array
                                 ? MemoryRange{textures.arrays[object.array].copy, copy_size(textures.arrays[object.array].shape)}
                                 : object.memory;
  return {{"kind", to_string(object.kind)},
          {"handle", object.handle},
          {"description", format_texture(object, textures)},
          {"array", reads_array ? json(object.array) : json()},
          {"address", fmt::format("{}", memory.address)},
          {"bytes", memory.size.count}};
}

json to_json(const CodeImageRecord& image) {
  return {{"kind", to_string(image.kind)},
          {"bytes", image.size.count},
          {"digest", image.digest.hex()},
          {"file", image_file_name(image)}};
}

json to_json(const KernelRecord& kernel) {
  constexpr const char* kKinds[] = {"integer", "floating", "pointer", "aggregate", "opaque"};
  json parameters = json::array(), globals = json::array(), images = json::array();
  for (const CodeImageRecord& image : kernel.images) images.push_back(to_json(image));
  for (const Parameter& p : kernel.parameters) {
    parameters.push_back({{"kind", kKinds[static_cast<size_t>(p.kind)]},
                          {"name", p.name},
                          {"type", p.type},
                          {"offset", p.offset},
                          {"size", p.size},
                          {"alignment", p.alignment}});
  }
  for (const GlobalInfo& g : kernel.globals) {
    globals.push_back({{"name", g.name},
                       {"size", g.size},
                       {"alignment", g.alignment},
                       {"constant_space", g.constant_space},
                       {"managed", g.managed},
                       {"escapes", g.escapes}});
  }
  return {{"static_hash", kernel.static_hash.hex()},
          {"name", kernel.name},
          {"demangled", kernel.demangled},
          {"source", kernel.source},
          {"target", kernel.target},
          {"arch", kernel.arch},
          {"pipeline", kernel.pipeline},
          {"parameters", parameters},
          {"parameter_bytes", kernel.parameter_bytes},
          {"globals", globals},
          {"code", to_string(kernel.level)},
          {"images", images}};
}

std::string format_annotation(const Annotation& annotation) {
  return fmt::format("{}{} ({} at {})", annotation.tag.empty() ? "" : annotation.tag + ": ",
                     format_tolerance(annotation.tolerance), annotation.size, annotation.address);
}

std::string format_recorded_time(const RecordedTime& time) {
  std::string text;
  if (time.others != 0)
    text = fmt::format("{}, the median of {} that {} not recorded", format_time(Nanoseconds(time.others_median)),
                       plural(time.others, "launch"), time.others == 1 ? "was" : "were");
  if (time.captured)
    text += fmt::format("{}{} when recorded", text.empty() ? "" : "; ", format_time(Nanoseconds(*time.captured)));
  return fmt::format("{} ({})", text, time.clock_source);
}

std::string format_shape_launches(const ShapeLaunches& launches) {
  return fmt::format("{} of this shape in the program{}", plural(launches.count, "launch"),
                     launches.total ? fmt::format(", {} in all", format_time(Nanoseconds(*launches.total))) : "");
}

std::optional<TimeInProgram> time_in_program(const KernelDocument& document) {
  TimeInProgram time;
  using Shape = std::tuple<Dim3, Dim3, uint64_t, bool, Dim3>;
  std::map<Shape, const RecordedTime*> others;  // by shape, of the instance that knows most
  for (const InstanceRecord& instance : document.instances) {
    if (!instance.recorded_time) continue;
    const RecordedTime& recorded = *instance.recorded_time;
    if (recorded.captured) {
      ++time.launches;
      time.nanoseconds += *recorded.captured;
    }
    auto& known =
        others[{instance.grid, instance.block, instance.dynamic_shared_memory.count, instance.cooperative, instance.cluster}];
    if (!known || known->others < recorded.others) known = &recorded;
  }
  for (const auto& [shape, recorded] : others) {
    time.launches += recorded->others;
    time.nanoseconds += static_cast<double>(recorded->others) * recorded->others_median;
  }
  return time.launches == 0 ? std::nullopt : std::optional(time);
}

std::string format_times_in_program(const std::vector<KernelDocument>& kernels) {
  std::vector<std::pair<TimeInProgram, std::string>> timed;
  double all = 0;
  for (const KernelDocument& document : kernels) {
    const auto time = time_in_program(document);
    if (!time) continue;
    timed.emplace_back(*time, document.kernel.demangled);
    all += time->nanoseconds;
  }
  if (timed.empty()) return {};
  std::stable_sort(timed.begin(), timed.end(),
                   [](const auto& a, const auto& b) { return a.first.nanoseconds > b.first.nanoseconds; });
  std::vector<std::vector<std::string>> rows{{"TIME IN PROGRAM", "PART", "LAUNCHES", "KERNEL"}};
  for (const auto& [time, name] : timed)
    rows.push_back({format_time(Nanoseconds(time.nanoseconds)),
                    fmt::format("{:.1f} %", all > 0 ? 100 * time.nanoseconds / all : 0), fmt::format("{}", time.launches), name});
  return format_table(rows);
}

json to_json(const KernelRecord& kernel, const InstanceRecord& instance, const std::optional<InstanceSize>& size) {
  json arguments = json::array();
  for (const Parameter& p : kernel.parameters)
    arguments.push_back({{"name", p.name}, {"type", p.type}, {"value", format_argument(p, instance.parameters)}});
  json annotations = json::array();
  for (const Annotation& a : instance.annotations)
    annotations.push_back({{"address", fmt::format("{}", a.address)},
                           {"bytes", a.size.count},
                           {"tag", a.tag},
                           {"tolerance", format_tolerance(a.tolerance)}});
  return {{"dynamic_hash", instance.dynamic_hash.hex()},
          {"recorded_time", instance.recorded_time ? mneme::to_json(*instance.recorded_time) : json()},
          {"shape_launches", instance.shape_launches ? mneme::to_json(*instance.shape_launches) : json()},
          {"grid", extents(instance.grid)},
          {"block", extents(instance.block)},
          {"dynamic_shared_memory", instance.dynamic_shared_memory.count},
          {"cooperative", instance.cooperative},
          {"cluster", instance.cluster == kNoCluster ? json() : extents(instance.cluster)},
          {"attributes", instance.attributes},
          {"arguments", arguments},
          {"annotations", annotations},
          {"memory_bytes", instance.state_bytes.count},
          {"memory_extent", to_string(instance.memory_extent)},
          {"trimmed", instance.trimmed ? mneme::to_json(*instance.trimmed) : json()},
          {"disk_bytes", size ? json(size->total().count) : json()},
          {"device", instance.device_kind},
          {"device_name", instance.device_name},
          {"recorded_at", instance.recorded_at},
          {"mneme_version", instance.mneme_version}};
}

}  // namespace mneme::cli

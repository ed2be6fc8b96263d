#include "mneme/snapshot/codec.h"
#include "mneme/snapshot/instance_json.h"

namespace mneme {
namespace {

using nlohmann::json;

constexpr const char* kInstancesFormat = "mneme instances";
constexpr const char* kArchiveFormat = "mneme archive";
constexpr size_t kDigestDigits = 32;

json extents(const Dim3& d) { return json::array({d.x, d.y, d.z}); }

json to_json(const Annotation& a) {
  return {{"address", fmt::format("{}", a.address)},
          {"bytes", a.size.count},
          {"tag", a.tag},
          {"tolerance", format_tolerance(a.tolerance)}};
}

Status read_annotation(const JsonCursor& at, Annotation& out) {
  MNEME_TRY(at.read("address", out.address));
  MNEME_TRY(at.read("bytes", out.size));
  MNEME_TRY(at.read("tag", out.tag));
  std::string text;
  MNEME_TRY(at.read("tolerance", text));
  auto tolerance = parse_tolerance(text);
  if (!tolerance.ok()) return at.member("tolerance")->corrupt(tolerance.status().message());
  out.tolerance = *tolerance;
  if (out.size.count == 0 || out.size.count % size_of(out.tolerance.type).count != 0 ||
      out.address.address > ~uint64_t{0} - out.size.count)
    return at.corrupt(
        fmt::format("{} bytes at {} are no elements of {}", out.size.count, out.address, to_string(out.tolerance.type)));
  return {};
}

// Since version 1.1.
Status read_annotations(const JsonCursor& at, std::vector<Annotation>& out) {
  if (!at.value().contains("annotations")) return {};
  uint64_t end = 0;
  return at.each("annotations", [&](const JsonCursor& entry) -> Status {
    Annotation& annotation = out.emplace_back();
    MNEME_TRY(read_annotation(entry, annotation));
    if (annotation.address.address < end)
      return entry.corrupt(fmt::format("the annotation at {} overlaps the one before it", annotation.address));
    end = annotation.address.address + annotation.size.count;
    return {};
  });
}

// Since versions 2.2 and 3.0.
Status read_launch_attributes(const JsonCursor& at, InstanceRecord& out) {
  if (at.value().contains("cluster")) MNEME_TRY(at.read("cluster", out.cluster));
  if (!at.value().contains("attributes")) return {};
  MNEME_ASSIGN(JsonCursor attributes, at.member("attributes"));
  if (!attributes.value().is_object()) return attributes.corrupt("an object expected");
  for (const auto& [name, ignored] : attributes.value().items()) MNEME_TRY(attributes.read(name.c_str(), out.attributes[name]));
  return {};
}

// Since versions 2.3 and 3.1.
Status read_memory_extent(const JsonCursor& at, MemoryExtent& out) {
  if (!at.value().contains("memory_extent")) return {};
  std::string word;
  MNEME_TRY(at.read("memory_extent", word));
  const auto extent = parse_memory_extent(word);
  if (!extent.ok()) return at.member("memory_extent")->corrupt(extent.status().message());
  out = *extent;
  return {};
}

// "<digest of the text> <text>".
std::string line_of(const std::string& text) { return digest_of(std::as_bytes(std::span(text))).hex() + " " + text + "\n"; }

Result<std::string_view> text_of(std::string_view line, const std::string& name, uint64_t offset) {
  if (line.size() <= kDigestDigits || line[kDigestDigits] != ' ')
    return error(Code::corrupt, "{}: offset {}: the line does not begin with a checksum: it was changed or damaged", name,
                 offset);
  const std::string_view expected = line.substr(0, kDigestDigits), text = line.substr(kDigestDigits + 1);
  if (const std::string found = digest_of(std::as_bytes(std::span(text))).hex(); found != expected)
    return error(Code::corrupt, "{}: offset {}: the line's checksum is {}, '{}' expected: it was changed or damaged", name,
                 offset, found, expected);
  return text;
}

json to_json(const FormatVersion& version) { return {{"major", version.major}, {"minor", version.minor}}; }

Result<FormatVersion> read_format(const JsonCursor& at, const std::string& expected, const std::string& name) {
  std::string format;
  MNEME_TRY(at.read("format", format));
  if (format != expected) return at.member("format")->corrupt(fmt::format("'{}' expected, not '{}'", expected, format));
  MNEME_ASSIGN(JsonCursor version, at.member("version"));
  uint64_t major = 0, minor = 0;
  MNEME_TRY(version.read("major", major, 0xffff));
  MNEME_TRY(version.read("minor", minor, 0xffff));
  const FormatVersion found{static_cast<uint16_t>(major), static_cast<uint16_t>(minor)};
  MNEME_TRY(check_format_version(found, name));
  return found;
}

}  // namespace

json to_json(const InstanceRecord& i) {
  json annotations = json::array();
  for (const Annotation& annotation : i.annotations) annotations.push_back(to_json(annotation));
  json instance = {{"dynamic_hash", i.dynamic_hash.hex()},
                   {"grid", extents(i.grid)},
                   {"block", extents(i.block)},
                   {"dynamic_shared_memory", i.dynamic_shared_memory.count},
                   {"cooperative", i.cooperative},
                   {"parameters", hex_of(i.parameters)},
                   {"device_kind", i.device_kind},
                   {"device_name", i.device_name},
                   {"space_base", fmt::format("{}", i.space_base)},
                   {"space_size", i.space_size.count},
                   {"state_bytes", i.state_bytes.count},
                   {"memory_extent", to_string(i.memory_extent)},
                   {"prologue", state_file_name(Moment::prologue, i.static_hash, i.dynamic_hash)},
                   {"epilogue", state_file_name(Moment::epilogue, i.static_hash, i.dynamic_hash)},
                   {"recorded_at", i.recorded_at},
                   {"mneme_version", i.mneme_version},
                   {"annotations", annotations}};
  if (i.recorded_time) instance["recorded_time"] = to_json(*i.recorded_time);
  if (i.cluster != kNoCluster) instance["cluster"] = extents(i.cluster);
  if (!i.attributes.empty()) instance["attributes"] = i.attributes;
  if (i.shape_launches) instance["shape_launches"] = to_json(*i.shape_launches);
  if (i.trimmed) instance["trimmed"] = to_json(*i.trimmed);
  return instance;
}

Status read_instance(const JsonCursor& at, const KernelRecord& kernel, InstanceRecord& out) {
  out.static_hash = kernel.static_hash;
  MNEME_TRY(at.read("dynamic_hash", out.dynamic_hash));
  MNEME_TRY(at.read("grid", out.grid));
  MNEME_TRY(at.read("block", out.block));
  MNEME_TRY(at.read("dynamic_shared_memory", out.dynamic_shared_memory.count, ~uint32_t{0}));
  MNEME_TRY(at.read("cooperative", out.cooperative));
  MNEME_TRY(at.read("parameters", out.parameters));
  if (out.parameters.size() != kernel.parameter_bytes)
    return at.member("parameters")
        ->corrupt(fmt::format("{} bytes of arguments, {} expected", out.parameters.size(), kernel.parameter_bytes));
  MNEME_TRY(at.read("device_kind", out.device_kind));
  MNEME_TRY(at.read("device_name", out.device_name));
  MNEME_TRY(at.read("space_base", out.space_base));
  MNEME_TRY(at.read("space_size", out.space_size));
  if (out.space_base.address > ~uint64_t{0} - out.space_size.count)
    return at.member("space_size")
        ->corrupt(fmt::format("{} bytes from {} do not fit in an address", out.space_size.count, out.space_base));
  MNEME_TRY(at.read("state_bytes", out.state_bytes));
  MNEME_TRY(at.read_file_name("prologue", state_file_name(Moment::prologue, out.static_hash, out.dynamic_hash)));
  MNEME_TRY(at.read_file_name("epilogue", state_file_name(Moment::epilogue, out.static_hash, out.dynamic_hash)));
  MNEME_TRY(at.read("recorded_at", out.recorded_at));
  MNEME_TRY(at.read("mneme_version", out.mneme_version));
  MNEME_TRY(read_annotations(at, out.annotations));
  MNEME_TRY(read_launch_attributes(at, out));
  MNEME_TRY(read_memory_extent(at, out.memory_extent));
  if (at.value().contains("trimmed")) {  // since version 2.4
    MNEME_ASSIGN(JsonCursor trimmed, at.member("trimmed"));
    MNEME_TRY(read_trimming(trimmed, out.trimmed.emplace()));
  }
  if (at.value().contains("recorded_time")) {
    MNEME_ASSIGN(JsonCursor time, at.member("recorded_time"));
    MNEME_TRY(read_recorded_time(time, out.recorded_time.emplace()));
  }
  if (!at.value().contains("shape_launches")) return {};  // since version 2.2
  MNEME_ASSIGN(JsonCursor launches, at.member("shape_launches"));
  return read_shape_launches(launches, out.shape_launches.emplace());
}

std::string encode_list_header(const InstanceListHeader& header) {
  const json root = {{"format", kInstancesFormat},
                     {"version", to_json(header.version)},
                     {"static_hash", header.static_hash.hex()},
                     {"bytes", header.bytes},
                     {"lines", header.lines}};
  std::string text = root.dump();
  text.resize(kListHeaderBytes - kDigestDigits - 2, ' ');
  return line_of(text);
}

Result<InstanceListHeader> decode_list_header(std::string_view text, const std::string& name) {
  if (text.empty()) return error(Code::corrupt, "{}: offset 0: the file is empty", name);
  if (text.size() < kListHeaderBytes || text[kListHeaderBytes - 1] != '\n')
    return error(Code::corrupt, "{}: offset 0: this is no list of instances, or it was cut short", name);
  MNEME_ASSIGN(std::string_view line, text_of(text.substr(0, kListHeaderBytes - 1), name, 0));
  MNEME_ASSIGN(json root, parse_json(line, name));
  JsonCursor at(root, name);
  InstanceListHeader header;
  MNEME_ASSIGN(header.version, read_format(at, kInstancesFormat, name));
  MNEME_TRY(at.read("static_hash", header.static_hash));
  MNEME_TRY(at.read("bytes", header.bytes));
  MNEME_TRY(at.read("lines", header.lines));
  if (header.bytes < kListHeaderBytes)
    return at.member("bytes")->corrupt(
        fmt::format("{} bytes, of which the first line alone has {}", header.bytes, kListHeaderBytes));
  return header;
}

std::string encode_archive_header(const ArchiveHeader& header) {
  const json root = {{"format", kArchiveFormat},
                     {"version", to_json(header.version)},
                     {"kernels", header.kernels},
                     {"instances", header.instances}};
  return line_of(root.dump());
}

Result<ArchiveHeader> decode_archive_header(std::string_view text, const std::string& name) {
  if (!text.ends_with('\n'))
    return error(Code::corrupt, "{}: offset {}: the line has no end: it was changed or damaged", name, text.size());
  MNEME_ASSIGN(std::string_view line, text_of(text.substr(0, text.size() - 1), name, 0));
  MNEME_ASSIGN(json root, parse_json(line, name));
  JsonCursor at(root, name);
  ArchiveHeader header;
  MNEME_ASSIGN(header.version, read_format(at, kArchiveFormat, name));
  MNEME_TRY(at.read("kernels", header.kernels));
  MNEME_TRY(at.read("instances", header.instances));
  return header;
}

FormatVersion version_of(const InstanceRecord& instance) {
  if (instance.cluster != kNoCluster) return kCodeLevelVersion;
  return instance.trimmed ? kTrimmedVersion : kCommonVersion;
}

std::string encode_instance(const InstanceRecord& instance) {
  return line_of(to_json(instance).dump(-1, ' ', false, json::error_handler_t::replace));
}

Result<InstanceRecord> decode_instance(std::string_view line, const KernelRecord& kernel, const std::string& name,
                                       uint64_t offset) {
  MNEME_ASSIGN(std::string_view text, text_of(line, name, offset));
  const std::string place = fmt::format("{}: offset {}", name, offset);
  MNEME_ASSIGN(json root, parse_json(text, place));
  InstanceRecord instance;
  MNEME_TRY(read_instance(JsonCursor(root, place), kernel, instance));
  return instance;
}

}  // namespace mneme

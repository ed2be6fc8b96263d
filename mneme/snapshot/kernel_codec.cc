#include <algorithm>
#include <array>

#include "mneme/snapshot/codec.h"
#include "mneme/snapshot/json_cursor.h"

namespace mneme {
namespace {

using nlohmann::json;

constexpr const char* kFormat = "mneme kernel";
constexpr std::array kParameterKinds = {"integer", "floating", "pointer", "aggregate"};
// CUDA's limit is 32764 bytes; anything near this one is damage.
constexpr uint64_t kMaxParameterBytes = 1 << 20;

std::string dump(const json& value, int indent = -1) { return value.dump(indent, ' ', false, json::error_handler_t::replace); }

// Of everything in the document but its checksum, in the form without white space and with sorted keys.
std::string checksum_of(const json& document) {
  json rest = document;
  rest.erase("checksum");
  std::string text = dump(rest);
  return digest_of(std::as_bytes(std::span(text))).hex();
}

json extents(const Dim3& d) { return json::array({d.x, d.y, d.z}); }

json to_json(const Parameter& p) {
  return {{"kind", kParameterKinds[static_cast<size_t>(p.kind)]},
          {"name", p.name},
          {"type", p.type},
          {"offset", p.offset},
          {"size", p.size},
          {"alignment", p.alignment}};
}

json to_json(const GlobalInfo& g) {
  return {{"name", g.name},       {"size", g.size},      {"alignment", g.alignment}, {"constant_space", g.constant_space},
          {"managed", g.managed}, {"escapes", g.escapes}};
}

json to_json(const KernelRecord& k) {
  json parameters = json::array(), globals = json::array();
  for (const Parameter& p : k.parameters) parameters.push_back(to_json(p));
  for (const GlobalInfo& g : k.globals) globals.push_back(to_json(g));
  return {{"static_hash", k.static_hash.hex()},
          {"name", k.name},
          {"demangled", k.demangled},
          {"source", k.source},
          {"target", k.target},
          {"arch", k.arch},
          {"parameters", parameters},
          {"parameter_bytes", k.parameter_bytes},
          {"globals", globals}};
}

json to_json(const Annotation& a) {
  return {{"address", fmt::format("{}", a.address)},
          {"bytes", a.size.count},
          {"tag", a.tag},
          {"tolerance", format_tolerance(a.tolerance)}};
}

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
                   {"prologue", state_file_name(Moment::prologue, i.static_hash, i.dynamic_hash)},
                   {"epilogue", state_file_name(Moment::epilogue, i.static_hash, i.dynamic_hash)},
                   {"recorded_at", i.recorded_at},
                   {"mneme_version", i.mneme_version},
                   {"annotations", annotations}};
  if (i.recorded_time) instance["recorded_time"] = to_json(*i.recorded_time);
  return instance;
}

Status read_alignment(const JsonCursor& at, uint32_t& alignment) {
  MNEME_TRY(at.read("alignment", alignment));
  if (alignment == 0 || (alignment & (alignment - 1)) != 0)
    return at.member("alignment")->corrupt(fmt::format("{} is no alignment", alignment));
  return {};
}

Status read_parameter(const JsonCursor& at, uint64_t parameter_bytes, Parameter& out) {
  std::string kind;
  MNEME_TRY(at.read("kind", kind));
  auto known = std::find(kParameterKinds.begin(), kParameterKinds.end(), kind);
  if (known == kParameterKinds.end())
    return at.member("kind")->corrupt(fmt::format("the parameter kind '{}' is not known", kind));
  out.kind = static_cast<Parameter::Kind>(known - kParameterKinds.begin());
  MNEME_TRY(at.read("name", out.name));
  MNEME_TRY(at.read("type", out.type));
  MNEME_TRY(at.read("offset", out.offset));
  MNEME_TRY(at.read("size", out.size));
  MNEME_TRY(read_alignment(at, out.alignment));
  if (out.offset > parameter_bytes || out.size > parameter_bytes - out.offset)
    return at.corrupt(
        fmt::format("a parameter at {} of {} bytes reaches beyond the {} bytes of all", out.offset, out.size, parameter_bytes));
  return {};
}

Status read_global(const JsonCursor& at, GlobalInfo& out) {
  MNEME_TRY(at.read("name", out.name));
  MNEME_TRY(at.read("size", out.size));
  MNEME_TRY(read_alignment(at, out.alignment));
  MNEME_TRY(at.read("constant_space", out.constant_space));
  MNEME_TRY(at.read("managed", out.managed));
  return at.read("escapes", out.escapes);
}

Status read_kernel(const JsonCursor& at, KernelRecord& out) {
  MNEME_TRY(at.read("static_hash", out.static_hash));
  MNEME_TRY(at.read("name", out.name));
  if (out.name.empty()) return at.member("name")->corrupt("the name is empty");
  MNEME_TRY(at.read("demangled", out.demangled));
  MNEME_TRY(at.read("source", out.source));
  MNEME_TRY(at.read("target", out.target));
  if (out.target != "nvptx" && out.target != "amdgcn")
    return at.member("target")->corrupt(fmt::format("the target '{}' is not known", out.target));
  MNEME_TRY(at.read("arch", out.arch));
  // LLVM is given it, and prints what it does not know.
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-+:.").find(c) != std::string_view::npos;
  };
  if (!std::all_of(out.arch.begin(), out.arch.end(), fits))
    return at.member("arch")->corrupt("no name of an architecture, as sm_90 is");
  MNEME_TRY(at.read("parameter_bytes", out.parameter_bytes, kMaxParameterBytes));
  MNEME_TRY(at.each("parameters", [&](const JsonCursor& entry) {
    return read_parameter(entry, out.parameter_bytes, out.parameters.emplace_back());
  }));
  return at.each("globals", [&](const JsonCursor& entry) { return read_global(entry, out.globals.emplace_back()); });
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
  if (!at.value().contains("recorded_time")) return {};
  MNEME_ASSIGN(JsonCursor time, at.member("recorded_time"));
  return read_recorded_time(time, out.recorded_time.emplace());
}

bool fits_with_our_version(json document) {
  document["version"]["major"] = kFormatVersion.major;
  const auto checksum = document.find("checksum");
  return checksum != document.end() && *checksum == checksum_of(document);
}

Status read_version(const JsonCursor& root, const std::string& name) {
  std::string format;
  MNEME_TRY(root.read("format", format));
  if (format != kFormat) return root.member("format")->corrupt(fmt::format("'{}' expected, not '{}'", kFormat, format));
  MNEME_ASSIGN(JsonCursor version, root.member("version"));
  uint64_t major = 0, minor = 0;
  MNEME_TRY(version.read("major", major, 0xffff));
  MNEME_TRY(version.read("minor", minor, 0xffff));
  const FormatVersion found{static_cast<uint16_t>(major), static_cast<uint16_t>(minor)};
  Status known = check_format_version(found, name);
  if (known.ok() || !fits_with_our_version(root.value())) return known;
  return damaged_version(found, "/version/major", name);
}

}  // namespace

Status check_format_version(FormatVersion version, const std::string& name) {
  if (version.major == kFormatVersion.major) return {};
  return error(Code::incompatible, "{}: format version {}.{}, this Mneme reads version {}.x: {}", name, version.major,
               version.minor, kFormatVersion.major, version.major > kFormatVersion.major ? "use a newer Mneme" : "record again");
}

Status damaged_version(FormatVersion version, std::string_view place, const std::string& name) {
  return error(Code::corrupt, "{}: {}: the format version is {}.{}, and the checksum that of version {}.{}: it was damaged", name,
               place, version.major, version.minor, kFormatVersion.major, version.minor);
}

std::string kernel_file_name(const Digest& static_hash) { return static_hash.hex() + ".json"; }
std::string ir_file_name(const Digest& static_hash) { return "RecordedIR_" + static_hash.hex() + ".bc"; }
std::string state_file_name(Moment moment, const Digest& static_hash, const Digest& dynamic_hash) {
  return fmt::format("DeviceState.{}.{}.{}.mneme", moment == Moment::prologue ? "prologue" : "epilogue", static_hash.hex(),
                     dynamic_hash.hex());
}

std::string encode_kernel(const KernelDocument& document) {
  json instances = json::array();
  for (const InstanceRecord& instance : document.instances) instances.push_back(to_json(instance));
  json root = {{"format", kFormat},
               {"version", {{"major", kFormatVersion.major}, {"minor", kFormatVersion.minor}}},
               {"kernel", to_json(document.kernel)},
               {"ir",
                {{"file", ir_file_name(document.kernel.static_hash)},
                 {"bytes", document.ir_size.count},
                 {"digest", document.ir_digest.hex()}}},
               {"instances", instances}};
  root["checksum"] = checksum_of(root);
  return dump(root, 1) + "\n";
}

Result<KernelDocument> decode_kernel(std::string_view text, const std::string& name) {
  MNEME_ASSIGN(json parsed, parse_json(text, name));
  JsonCursor root(parsed, name);
  MNEME_TRY(read_version(root, name));
  KernelDocument document;
  MNEME_ASSIGN(JsonCursor kernel, root.member("kernel"));
  MNEME_TRY(read_kernel(kernel, document.kernel));
  MNEME_ASSIGN(JsonCursor ir, root.member("ir"));
  MNEME_TRY(ir.read_file_name("file", ir_file_name(document.kernel.static_hash)));
  MNEME_TRY(ir.read("bytes", document.ir_size));
  MNEME_TRY(ir.read("digest", document.ir_digest));
  MNEME_TRY(root.each("instances", [&](const JsonCursor& entry) {
    return read_instance(entry, document.kernel, document.instances.emplace_back());
  }));
  std::string expected;
  MNEME_TRY(root.read("checksum", expected));
  // Last, so that a document with a wrong type in it is told by the key and not by this.
  if (std::string found = checksum_of(parsed); found != expected)
    return root.member("checksum")
        ->corrupt(fmt::format("the document's checksum is {}, '{}' expected: it was changed or damaged", found, expected));
  return document;
}

}  // namespace mneme

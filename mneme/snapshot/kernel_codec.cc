#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "mneme/snapshot/codec.h"
#include "mneme/snapshot/instance_json.h"
#include "mneme/snapshot/json_cursor.h"

namespace mneme {
namespace {

using nlohmann::json;

constexpr const char* kKernelFormat = "mneme kernel";
constexpr std::array kParameterKinds = {"integer", "floating", "pointer", "aggregate", "opaque"};
constexpr std::array kLevels = {CodeLevel::ir, CodeLevel::ptx, CodeLevel::cubin};
// In a list of its own each, since a reader before version 2.5 knows no code objects, and reads what it does not know over.
constexpr std::array kImageKinds = {CodeImageRecord::Kind::cubin, CodeImageRecord::Kind::ptx};
constexpr std::array kCodeObjectKinds = {CodeImageRecord::Kind::hsaco};
struct ImageList {
  const char* key;
  std::span<const CodeImageRecord::Kind> kinds;
};
constexpr ImageList kImages = {"images", kImageKinds}, kCodeObjects = {"code_objects", kCodeObjectKinds};
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

json to_json(const CodeImageRecord& i) {
  return {{"kind", to_string(i.kind)}, {"bytes", i.size.count}, {"digest", i.digest.hex()}, {"file", image_file_name(i)}};
}

json to_json(const KernelRecord& k) {
  json parameters = json::array(), globals = json::array();
  for (const Parameter& p : k.parameters) parameters.push_back(to_json(p));
  for (const GlobalInfo& g : k.globals) globals.push_back(to_json(g));
  json kernel = {{"static_hash", k.static_hash.hex()},
                 {"name", k.name},
                 {"demangled", k.demangled},
                 {"source", k.source},
                 {"target", k.target},
                 {"arch", k.arch},
                 {"pipeline", k.pipeline},
                 {"parameters", parameters},
                 {"parameter_bytes", k.parameter_bytes},
                 {"globals", globals},
                 {"code", to_string(k.level)},
                 {kImages.key, json::array()}};
  for (const CodeImageRecord& i : k.images)
    kernel[i.kind == CodeImageRecord::Kind::hsaco ? kCodeObjects.key : kImages.key].push_back(to_json(i));
  return kernel;
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

Status read_image(const JsonCursor& at, const ImageList& list, CodeImageRecord& out) {
  std::string kind;
  MNEME_TRY(at.read("kind", kind));
  const auto known = std::ranges::find(list.kinds, kind, [](auto each) { return to_string(each); });
  if (known == list.kinds.end()) return at.member("kind")->corrupt(fmt::format("the image kind '{}' is not known", kind));
  out.kind = *known;
  MNEME_TRY(at.read("bytes", out.size));
  MNEME_TRY(at.read("digest", out.digest));
  return at.read_file_name("file", image_file_name(out));
}

// Since versions 2.2 and 3.0; code objects since 2.5.
Status read_code(const JsonCursor& at, KernelRecord& out) {
  for (const ImageList* list : {&kImages, &kCodeObjects})
    if (at.value().contains(list->key))
      MNEME_TRY(at.each(list->key, [&](const JsonCursor& entry) { return read_image(entry, *list, out.images.emplace_back()); }));
  if (!at.value().contains("code")) return {};
  std::string level;
  MNEME_TRY(at.read("code", level));
  const auto known = std::find_if(kLevels.begin(), kLevels.end(), [&](CodeLevel each) { return to_string(each) == level; });
  if (known == kLevels.end()) return at.member("code")->corrupt(fmt::format("the code '{}' is not known", level));
  out.level = *known;
  const auto kind = out.level == CodeLevel::ptx ? CodeImageRecord::Kind::ptx : CodeImageRecord::Kind::cubin;
  if (out.level != CodeLevel::ir && out.find_image(kind) == nullptr)
    return (at.value().contains("images") ? *at.member("images") : at)
        .corrupt(fmt::format("the code is {}, and no image is", level));
  return {};
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
  if (at.value().contains("pipeline")) MNEME_TRY(at.read("pipeline", out.pipeline));  // since version 2.1
  if (!std::all_of(out.pipeline.begin(), out.pipeline.end(), [](char c) { return c > ' ' && c <= '~'; }))
    return at.member("pipeline")->corrupt("no pass pipeline, as default<O2> is");
  MNEME_TRY(at.read("parameter_bytes", out.parameter_bytes, kMaxParameterBytes));
  MNEME_TRY(at.each("parameters", [&](const JsonCursor& entry) {
    return read_parameter(entry, out.parameter_bytes, out.parameters.emplace_back());
  }));
  MNEME_TRY(at.each("globals", [&](const JsonCursor& entry) { return read_global(entry, out.globals.emplace_back()); }));
  return read_code(at, out);
}

// The major version that this Mneme reads with which the checksum is right.
std::optional<uint16_t> version_of_checksum(json document) {
  const auto checksum = document.find("checksum");
  if (checksum == document.end()) return std::nullopt;
  for (uint16_t major = kFormatVersion.major; major >= 1; --major) {
    document["version"]["major"] = major;
    if (*checksum == checksum_of(document)) return major;
  }
  return std::nullopt;
}

Result<FormatVersion> read_version(const JsonCursor& root, const std::string& name) {
  std::string format;
  MNEME_TRY(root.read("format", format));
  if (format != kKernelFormat)
    return root.member("format")->corrupt(fmt::format("'{}' expected, not '{}'", kKernelFormat, format));
  MNEME_ASSIGN(JsonCursor version, root.member("version"));
  uint64_t major = 0, minor = 0;
  MNEME_TRY(version.read("major", major, 0xffff));
  MNEME_TRY(version.read("minor", minor, 0xffff));
  const FormatVersion found{static_cast<uint16_t>(major), static_cast<uint16_t>(minor)};
  const Status known = check_format_version(found, name);
  if (known.ok()) return found;
  const std::optional<uint16_t> major_of_checksum = version_of_checksum(root.value());
  return major_of_checksum ? damaged_version(found, *major_of_checksum, "/version/major", name) : known;
}

}  // namespace

Status check_format_version(FormatVersion version, const std::string& name) {
  if (version.major >= 1 && version.major <= kFormatVersion.major) return {};
  return error(Code::incompatible, "{}: format version {}.{}, this Mneme reads versions 1.x to {}.x: {}", name, version.major,
               version.minor, kFormatVersion.major, version.major > kFormatVersion.major ? "use a newer Mneme" : "record again");
}

Status damaged_version(FormatVersion version, uint16_t right, std::string_view place, const std::string& name) {
  return error(Code::corrupt, "{}: {}: the format version is {}.{}, and the checksum that of version {}.{}: it was damaged", name,
               place, version.major, version.minor, right, version.minor);
}

std::string kernel_file_name(const Digest& static_hash) { return static_hash.hex() + ".json"; }
std::string list_file_name(const Digest& static_hash) { return "Instances_" + static_hash.hex() + ".mneme"; }
std::string ir_file_name(const Digest& static_hash) { return "RecordedIR_" + static_hash.hex() + ".bc"; }
std::string image_file_name(const CodeImageRecord& image) {
  return fmt::format("Image_{}.{}", image.digest.hex(), to_string(image.kind));
}
std::string state_file_name(Moment moment, const Digest& static_hash, const Digest& dynamic_hash) {
  return fmt::format("{}.{}.{}.mneme", state_file_prefix(moment), static_hash.hex(), dynamic_hash.hex());
}

std::string_view state_file_prefix(Moment moment) {
  return moment == Moment::prologue ? "DeviceState.prologue" : "DeviceState.epilogue";
}

std::string encode_kernel(const KernelDocument& document) {
  const bool has_ir = document.kernel.level == CodeLevel::ir;
  FormatVersion version = has_ir ? kCommonVersion : kCodeLevelVersion;
  if (has_ir && document.kernel.find_image(CodeImageRecord::Kind::hsaco) != nullptr) version = kCodeObjectVersion;
  json root = {{"format", kKernelFormat},
               {"version", {{"major", version.major}, {"minor", version.minor}}},
               {"kernel", to_json(document.kernel)}};
  if (has_ir)
    root["ir"] = {{"file", ir_file_name(document.kernel.static_hash)},
                  {"bytes", document.ir_size.count},
                  {"digest", document.ir_digest.hex()}};
  root["checksum"] = checksum_of(root);
  return dump(root, 1) + "\n";
}

Result<KernelDocument> decode_kernel(std::string_view text, const std::string& name) {
  MNEME_ASSIGN(json parsed, parse_json(text, name));
  JsonCursor root(parsed, name);
  MNEME_ASSIGN(const FormatVersion version, read_version(root, name));
  KernelDocument document;
  MNEME_ASSIGN(JsonCursor kernel, root.member("kernel"));
  MNEME_TRY(read_kernel(kernel, document.kernel));
  if (document.kernel.level == CodeLevel::ir) {
    MNEME_ASSIGN(JsonCursor ir, root.member("ir"));
    MNEME_TRY(ir.read_file_name("file", ir_file_name(document.kernel.static_hash)));
    MNEME_TRY(ir.read("bytes", document.ir_size));
    MNEME_TRY(ir.read("digest", document.ir_digest));
  }
  document.lists_instances = version.major == 1;
  if (document.lists_instances)
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

#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>

#include "mneme/snapshot/container.h"
#include "mneme/snapshot/json_cursor.h"
#include "mneme/tuned/tuned_file.h"

namespace mneme {
namespace {

using nlohmann::json;

constexpr char kMagic[8] = {'M', 'N', 'E', 'M', 'E', 'T', 'U', 'N'};

// The file's first bytes, as they lie in it. The text follows them, and then the images, each at a multiple of kAlignment with
// zeros before it.
struct Header {
  ContainerStart start;
  uint64_t text_bytes;
};
static_assert(sizeof(Header) == 48);
constexpr uint64_t kAlignment = 8;

uint64_t aligned(uint64_t offset) { return (offset + kAlignment - 1) / kAlignment * kAlignment; }

constexpr std::pair<const char*, LaunchRule::Covers> kCovers[] = {
    {"shape", LaunchRule::Covers::shape}, {"block", LaunchRule::Covers::block}, {"any", LaunchRule::Covers::any}};

constexpr std::pair<const char*, Repeatable> kRepeatable[] = {
    {"unknown", Repeatable::unknown}, {"yes", Repeatable::yes}, {"no", Repeatable::no}};

template <typename Words, typename Value>
json word_of(const Words& words, Value value) {
  for (const auto& [name, known] : words)
    if (known == value) return name;
  return nullptr;
}

json extents(const Dim3& d) { return json::array({d.x, d.y, d.z}); }

json to_json(const ProgramShape& shape) {
  json encoded = {{"grid", extents(shape.grid)},
                  {"block", extents(shape.block)},
                  {"dynamic_shared_memory", shape.shared.count},
                  {"cooperative", shape.cooperative}};
  if (shape.cluster != kNoCluster) encoded["cluster"] = extents(shape.cluster);
  return encoded;
}

Status read_shape(const JsonCursor& at, ProgramShape& out) {
  MNEME_TRY(at.read("grid", out.grid));
  MNEME_TRY(at.read("block", out.block));
  MNEME_TRY(at.read("dynamic_shared_memory", out.shared));
  MNEME_TRY(at.read("cooperative", out.cooperative));
  return at.value().contains("cluster") ? at.read("cluster", out.cluster) : Status();
}

json to_json(const LaunchRule& rule) {
  return {{"covers", word_of(kCovers, rule.covers)},
          {"recorded", to_json(rule.recorded)},
          {"tuned", to_json(rule.tuned)},
          {"max_threads", rule.max_threads}};
}

Status read_rule(const JsonCursor& at, LaunchRule& out) {
  std::string covers;
  MNEME_TRY(at.read("covers", covers));
  const auto* known = std::find_if(std::begin(kCovers), std::end(kCovers), [&](const auto& one) { return covers == one.first; });
  if (known == std::end(kCovers)) return at.corrupt("'covers' is none of shape, block and any");
  out.covers = known->second;
  MNEME_ASSIGN(const JsonCursor recorded, at.member("recorded"));
  MNEME_TRY(read_shape(recorded, out.recorded));
  MNEME_ASSIGN(const JsonCursor tuned, at.member("tuned"));
  MNEME_TRY(read_shape(tuned, out.tuned));
  return at.read("max_threads", out.max_threads);
}

json to_json(const Evidence& evidence) {
  json instances = json::array();
  for (const Digest& instance : evidence.instances) instances.push_back({{"dynamic_hash", instance.hex()}});
  return {{"instances", instances},          {"speed_up", evidence.speed_up.value}, {"low", evidence.speed_up.low},
          {"high", evidence.speed_up.high},  {"confirmed", evidence.confirmed},     {"baseline", evidence.baseline},
          {"tuned", evidence.tuned},         {"device_name", evidence.device_name}, {"mneme", evidence.mneme},
          {"assembler", evidence.assembler}, {"driver", evidence.driver},           {"configuration", evidence.configuration}};
}

Status read_evidence(const JsonCursor& at, Evidence& out) {
  MNEME_TRY(at.each("instances", [&](const JsonCursor& one) { return one.read("dynamic_hash", out.instances.emplace_back()); }));
  MNEME_TRY(at.read("speed_up", out.speed_up.value));
  MNEME_TRY(at.read("low", out.speed_up.low));
  MNEME_TRY(at.read("high", out.speed_up.high));
  MNEME_TRY(at.read("confirmed", out.confirmed));
  MNEME_TRY(at.read("baseline", out.baseline));
  MNEME_TRY(at.read("tuned", out.tuned));
  MNEME_TRY(at.read("device_name", out.device_name));
  MNEME_TRY(at.read("mneme", out.mneme));
  MNEME_TRY(at.read("assembler", out.assembler));
  MNEME_TRY(at.read("driver", out.driver));
  return at.read("configuration", out.configuration);
}

json to_json(const TunedKernel& kernel) {
  json arguments = json::array(), aligned_pointers = json::array(), alone = json::array(), variables = json::array(),
       tolerances = json::array(), variable_tolerances = json::array();
  for (const ArgumentIs& one : kernel.arguments)
    arguments.push_back({{"parameter", one.parameter}, {"bytes", hex_of(one.bytes)}});
  for (const PointerAligned& one : kernel.aligned)
    aligned_pointers.push_back({{"parameter", one.parameter}, {"alignment", one.alignment}});
  for (const PointerAlone& one : kernel.alone) {
    json others = json::array();
    for (const ArgumentPlace& other : one.others) others.push_back({{"parameter", other.parameter}, {"offset", other.offset}});
    alone.push_back({{"parameter", one.parameter}, {"others", others}});
  }
  for (const std::string& variable : kernel.variables) variables.push_back({{"name", variable}});
  for (const TunedTolerance& one : kernel.tolerances) {
    json range = {{"offset", one.offset}, {"bytes", one.bytes}, {"tolerance", format_tolerance(one.tolerance)}};
    if (one.variable) {
      range["variable"] = *one.variable;
      variable_tolerances.push_back(std::move(range));
    } else {
      range["parameter"] = one.pointer.parameter;
      range["pointer"] = one.pointer.offset;
      tolerances.push_back(std::move(range));
    }
  }
  return {{"static_hash", kernel.static_hash.hex()},
          {"name", kernel.name},
          {"demangled", kernel.demangled},
          {"device", kernel.device},
          {"architecture", kernel.architecture},
          {"image", kernel.image},
          {"rule", to_json(kernel.rule)},
          {"arguments", arguments},
          {"aligned", aligned_pointers},
          {"alone", alone},
          {"variables", variables},
          {"tolerances", tolerances},
          {"variable_tolerances", variable_tolerances},
          {"repeatable", word_of(kRepeatable, kernel.repeatable)},
          {"evidence", to_json(kernel.evidence)}};
}

Status read_conditions(const JsonCursor& at, TunedKernel& out) {
  MNEME_TRY(at.each("arguments", [&](const JsonCursor& one) {
    ArgumentIs& argument = out.arguments.emplace_back();
    MNEME_TRY(one.read("parameter", argument.parameter));
    return one.read("bytes", argument.bytes);
  }));
  MNEME_TRY(at.each("aligned", [&](const JsonCursor& one) -> Status {
    PointerAligned& pointer = out.aligned.emplace_back();
    MNEME_TRY(one.read("parameter", pointer.parameter));
    MNEME_TRY(one.read("alignment", pointer.alignment));
    return std::has_single_bit(pointer.alignment) ? Status() : one.corrupt("'alignment' is no power of two");
  }));
  return at.each("alone", [&](const JsonCursor& one) {
    PointerAlone& pointer = out.alone.emplace_back();
    MNEME_TRY(one.read("parameter", pointer.parameter));
    return one.each("others", [&](const JsonCursor& other) {
      ArgumentPlace& place = pointer.others.emplace_back();
      MNEME_TRY(other.read("parameter", place.parameter));
      return other.read("offset", place.offset);
    });
  });
}

Status read_range(const JsonCursor& at, TunedTolerance& out) {
  std::string tolerance;
  MNEME_TRY(at.read("offset", out.offset));
  MNEME_TRY(at.read("bytes", out.bytes));
  MNEME_TRY(at.read("tolerance", tolerance));
  const auto parsed = parse_tolerance(tolerance);
  if (!parsed.ok()) return at.corrupt(parsed.status().message());
  out.tolerance = *parsed;
  return {};
}

Status read_tolerances(const JsonCursor& at, TunedKernel& out) {
  if (at.value().contains("tolerances"))
    MNEME_TRY(at.each("tolerances", [&](const JsonCursor& one) -> Status {
      TunedTolerance& range = out.tolerances.emplace_back();
      MNEME_TRY(one.read("parameter", range.pointer.parameter));
      MNEME_TRY(one.read("pointer", range.pointer.offset));
      return read_range(one, range);
    }));
  if (!at.value().contains("variable_tolerances")) return {};
  return at.each("variable_tolerances", [&](const JsonCursor& one) -> Status {
    TunedTolerance& range = out.tolerances.emplace_back();
    MNEME_TRY(one.read("variable", range.variable.emplace()));
    if (*range.variable >= out.variables.size())
      return one.corrupt(fmt::format("'variable' is {}, and there are {}", *range.variable, out.variables.size()));
    return read_range(one, range);
  });
}

// Members that came with version 1.1, and with 1.2.
Status read_for_comparison(const JsonCursor& at, TunedKernel& out) {
  MNEME_TRY(read_tolerances(at, out));
  if (!at.value().contains("repeatable")) return {};
  std::string word;
  MNEME_TRY(at.read("repeatable", word));
  const auto* known =
      std::find_if(std::begin(kRepeatable), std::end(kRepeatable), [&](const auto& one) { return word == one.first; });
  if (known == std::end(kRepeatable)) return at.corrupt("'repeatable' is none of unknown, yes and no");
  out.repeatable = known->second;
  return {};
}

Status read_kernel(const JsonCursor& at, uint64_t images, TunedKernel& out) {
  MNEME_TRY(at.read("static_hash", out.static_hash));
  MNEME_TRY(at.read("name", out.name));
  MNEME_TRY(at.read("demangled", out.demangled));
  MNEME_TRY(at.read("device", out.device));
  MNEME_TRY(at.read("architecture", out.architecture));
  MNEME_TRY(at.read("image", out.image));
  if (out.image >= images) return at.corrupt(fmt::format("'image' is {}, and there are {}", out.image, images));
  MNEME_ASSIGN(const JsonCursor rule, at.member("rule"));
  MNEME_TRY(read_rule(rule, out.rule));
  MNEME_TRY(read_conditions(at, out));
  MNEME_TRY(at.each("variables", [&](const JsonCursor& one) { return one.read("name", out.variables.emplace_back()); }));
  MNEME_TRY(read_for_comparison(at, out));
  MNEME_ASSIGN(const JsonCursor evidence, at.member("evidence"));
  return read_evidence(evidence, out.evidence);
}

// The checksum is over the version too: a version that was damaged is no newer one.
Status check_header(ByteSpan bytes, Header& header, const std::string& name) {
  if (bytes.size() < sizeof header || std::memcmp(bytes.data(), kMagic, sizeof kMagic) != 0)
    return error(Code::corrupt, "{}: this is no file of `mneme deploy`", name);
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.start.total_bytes != bytes.size())
    return error(Code::corrupt, "{}: the file has {} bytes, {} expected: it was cut short or damaged", name, bytes.size(),
                 header.start.total_bytes);
  if (container_checksum(bytes) != stored_checksum(bytes))
    return error(Code::corrupt, "{}: the file's checksum is not the one that stands in it: it was damaged", name);
  if (header.start.major != kTunedMajor)
    return error(Code::incompatible, "{}: the format's version is {}.{}, and this Mneme reads {}.x: use the Mneme that wrote it",
                 name, header.start.major, header.start.minor, kTunedMajor);
  if (header.start.header_bytes < sizeof header || header.start.header_bytes > bytes.size() ||
      header.text_bytes > bytes.size() - header.start.header_bytes)
    return error(Code::corrupt, "{}: a header of {} bytes and a text of {} in a file of {}", name, header.start.header_bytes,
                 header.text_bytes, bytes.size());
  return {};
}

// Cuts the images, whose sizes and digests the text lists, out of what follows it.
Status read_images(const JsonCursor& document, ByteSpan rest, std::vector<ByteVector>& images) {
  uint64_t offset = 0;
  MNEME_TRY(document.each("images", [&](const JsonCursor& one) -> Status {
    uint64_t size = 0;
    Digest digest;
    MNEME_TRY(one.read("bytes", size));
    MNEME_TRY(one.read("digest", digest));
    offset = aligned(offset);
    if (offset > rest.size() || size > rest.size() - offset || size == 0)
      return one.corrupt(fmt::format("an image of {} bytes does not fit", size));
    const ByteSpan image = rest.subspan(offset, size);
    if (digest_of(image) != digest) return one.corrupt("the image has another digest");
    images.emplace_back(image.begin(), image.end());
    offset += size;
    return {};
  }));
  return offset == rest.size() ? Status() : document.corrupt(fmt::format("{} bytes behind the images", rest.size() - offset));
}

}  // namespace

ByteVector encode_tuned(const TunedFile& file) {
  json kernels = json::array(), images = json::array();
  for (const TunedKernel& kernel : file.kernels) kernels.push_back(to_json(kernel));
  for (const ByteVector& image : file.images) images.push_back({{"bytes", image.size()}, {"digest", digest_of(image).hex()}});
  std::string text = json{{"kernels", kernels}, {"images", images}}.dump(-1, ' ', false, json::error_handler_t::replace);
  text.resize(aligned(text.size()), '\n');

  ByteVector bytes(sizeof(Header));
  const auto put = [&](ByteSpan piece) { bytes.insert(bytes.end(), piece.begin(), piece.end()); };
  put(std::as_bytes(std::span(text)));
  for (const ByteVector& image : file.images) {
    bytes.resize(aligned(bytes.size()));
    put(image);
  }
  Header header{};
  std::memcpy(header.start.magic, kMagic, sizeof kMagic);
  header.start.major = kTunedMajor;
  header.start.minor = kTunedMinor;
  header.start.header_bytes = sizeof header;
  header.start.total_bytes = bytes.size();
  header.text_bytes = text.size();
  std::memcpy(bytes.data(), &header, sizeof header);
  seal_container(bytes);
  return bytes;
}

Result<TunedFile> decode_tuned(ByteSpan bytes, const std::string& name) {
  Header header;
  MNEME_TRY(check_header(bytes, header, name));
  const ByteSpan text = bytes.subspan(header.start.header_bytes, header.text_bytes);
  MNEME_ASSIGN(const json parsed, parse_json({reinterpret_cast<const char*>(text.data()), text.size()}, name));
  const JsonCursor document(parsed, name);
  TunedFile file;
  MNEME_TRY(read_images(document, bytes.subspan(header.start.header_bytes + header.text_bytes), file.images));
  MNEME_TRY(document.each(
      "kernels", [&](const JsonCursor& one) { return read_kernel(one, file.images.size(), file.kernels.emplace_back()); }));
  return file;
}

}  // namespace mneme

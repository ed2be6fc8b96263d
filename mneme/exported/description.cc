#include "mneme/exported/description.h"

#include <nlohmann/json.hpp>

#include "mneme/snapshot/json_cursor.h"

namespace mneme {
namespace {

using Json = nlohmann::json;

Json to_json(const Dim3& extents) { return {extents.x, extents.y, extents.z}; }

Json to_json(const LaunchShape& shape) {
  Json json = {{"grid", to_json(shape.grid)},
               {"block", to_json(shape.block)},
               {"dynamic_shared_memory", shape.dynamic_shared_memory.count},
               {"cooperative", shape.cooperative}};
  if (shape.cluster != kNoCluster) json["cluster"] = to_json(shape.cluster);
  return json;
}

Json to_json(const NamedPiece& piece) {
  return {{"where", piece.where},
          {"address", format_address(piece.address)},
          {"size", piece.size.count},
          {"type", piece.type ? std::string(to_string(*piece.type)) : ""}};
}

// What is not set is the largest number.
constexpr uint32_t kUnset = ~uint32_t{0};

Json to_json(const JitOptions& jit) {
  return {{"load_cache", static_cast<uint32_t>(jit.load_cache)},
          {"level", jit.level.value_or(kUnset)},
          {"max_registers", jit.max_registers.value_or(kUnset)}};
}

Status read_shape(const JsonCursor& at, LaunchShape& shape) {
  MNEME_TRY(at.read("grid", shape.grid));
  MNEME_TRY(at.read("block", shape.block));
  if (at.value().contains("cluster")) MNEME_TRY(at.read("cluster", shape.cluster));
  MNEME_TRY(at.read("dynamic_shared_memory", shape.dynamic_shared_memory));
  return at.read("cooperative", shape.cooperative);
}

Status read_jit(const JsonCursor& at, JitOptions& jit) {
  uint64_t load_cache = 0;
  uint32_t level = kUnset, registers = kUnset;
  MNEME_TRY(at.read("load_cache", load_cache, static_cast<uint64_t>(JitOptions::LoadCache::cg)));
  MNEME_TRY(at.read("level", level));
  MNEME_TRY(at.read("max_registers", registers));
  jit.load_cache = static_cast<JitOptions::LoadCache>(load_cache);
  if (level != kUnset) jit.level = level;
  if (registers != kUnset) jit.max_registers = registers;
  return {};
}

Status read_piece(const JsonCursor& at, NamedPiece& piece) {
  std::string type;
  MNEME_TRY(at.read("where", piece.where));
  MNEME_TRY(at.read("address", piece.address));
  MNEME_TRY(at.read("size", piece.size));
  MNEME_TRY(at.read("type", type));
  if (type.empty()) return {};
  const auto known = parse_element_type(type);
  if (!known.ok()) return at.corrupt(known.status().message());
  piece.type = *known;
  return {};
}

Status read_device(const JsonCursor& at, DeviceKind& kind) {
  std::string device;
  MNEME_TRY(at.read("device", device));
  const auto known = parse_device_kind(device);
  if (!known.ok()) return at.corrupt(known.status().message());
  kind = *known;
  return {};
}

}  // namespace

std::string encode_description(const ProgramDescription& d) {
  Json pieces = Json::array();
  for (const NamedPiece& piece : d.pieces) pieces.push_back(to_json(piece));
  const Json json = {{"static_hash", d.static_hash.hex()},
                     {"dynamic_hash", d.dynamic_hash.hex()},
                     {"device", std::string(to_string(d.device))},
                     {"architecture", d.architecture},
                     {"mneme_version", d.mneme_version},
                     {"pipeline", d.pipeline},
                     {"assembler", d.assembler},
                     {"shape", to_json(d.shape)},
                     {"jit", to_json(d.jit)},
                     {"state", d.state},
                     {"pieces", pieces},
                     {"memory", d.memory.count},
                     {"left_out", d.left_out.count},
                     {"kept", d.kept},
                     {"masked", d.masked.count},
                     {"unmasked", d.unmasked},
                     {"runs", d.runs}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<ProgramDescription> decode_description(std::string_view text, const std::string& name) {
  MNEME_ASSIGN(const Json json, parse_json(text, name));
  const JsonCursor at(json, name);
  ProgramDescription d;
  MNEME_TRY(at.read("static_hash", d.static_hash));
  MNEME_TRY(at.read("dynamic_hash", d.dynamic_hash));
  MNEME_TRY(read_device(at, d.device));
  MNEME_TRY(at.read("architecture", d.architecture));
  MNEME_TRY(at.read("mneme_version", d.mneme_version));
  MNEME_TRY(at.read("pipeline", d.pipeline));
  MNEME_TRY(at.read("assembler", d.assembler));
  MNEME_ASSIGN(const JsonCursor shape, at.member("shape"));
  MNEME_TRY(read_shape(shape, d.shape));
  MNEME_ASSIGN(const JsonCursor jit, at.member("jit"));
  MNEME_TRY(read_jit(jit, d.jit));
  MNEME_TRY(at.each("state", [&](const JsonCursor& each) -> Status {
    if (!each.value().is_string()) return each.corrupt("it is no text");
    d.state.push_back(each.value().get<std::string>());
    return {};
  }));
  MNEME_TRY(at.each("pieces", [&](const JsonCursor& each) { return read_piece(each, d.pieces.emplace_back()); }));
  MNEME_TRY(at.read("memory", d.memory));
  MNEME_TRY(at.read("left_out", d.left_out));
  MNEME_TRY(at.read("kept", d.kept));
  if (json.contains("masked")) MNEME_TRY(at.read("masked", d.masked));
  if (json.contains("unmasked")) MNEME_TRY(at.read("unmasked", d.unmasked));
  MNEME_TRY(at.read("runs", d.runs));
  return d;
}

}  // namespace mneme

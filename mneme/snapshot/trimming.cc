#include "mneme/snapshot/trimming.h"

#include "mneme/snapshot/json_cursor.h"

namespace mneme {

const Digest& DroppedPages::digest(Bytes size) {
  const auto [at, made] = digests_.try_emplace(size.count);
  if (made) at->second = digest_of(ByteVector(size.count, kDropped));
  return at->second;
}

nlohmann::json to_json(const Trimming& trimming) {
  nlohmann::json of = nlohmann::json::array();
  for (const Digest& hash : trimming.of) of.push_back(hash.hex());
  return {{"of", of}, {"pages", trimming.pages}, {"bytes", trimming.bytes.count}};
}

Status read_trimming(const JsonCursor& at, Trimming& out) {
  MNEME_TRY(at.each("of", [&](const JsonCursor& entry) -> Status {
    const auto hash = entry.value().is_string() ? Digest::from_hex(entry.value().get<std::string>())
                                                : Result<Digest>(Status(Code::corrupt, ""));
    if (!hash.ok()) return entry.corrupt("a hash of 32 hexadecimal digits expected");
    out.of.push_back(*hash);
    return {};
  }));
  if (out.of.empty()) return at.member("of")->corrupt("a hash expected");
  MNEME_TRY(at.read("pages", out.pages));
  return at.read("bytes", out.bytes);
}

}  // namespace mneme

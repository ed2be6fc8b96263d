// MessagePack, as far as the metadata of code objects uses it. LLVM's own document (msgpack::Document) ends the process for bytes
// that are none; its reader does not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/base/types.h"

namespace mneme::amdgpu {

struct MessageNode {
  enum class Kind { other, number, flag, text, list, map };
  Kind kind = Kind::other;
  uint64_t number = 0;  // of a flag 0 or 1
  std::string text;
  std::vector<MessageNode> elements;  // of a list, or the values of a map
  std::vector<std::string> keys;      // of a map, by value; a member whose key is no text is left out

  // The member of a map; null: there is none.
  const MessageNode* find(std::string_view key) const;
};

// corrupt: the bytes are not one whole value.
Result<MessageNode> read_message_pack(std::string_view bytes);

}  // namespace mneme::amdgpu

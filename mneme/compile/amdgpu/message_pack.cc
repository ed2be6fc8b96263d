#include "mneme/compile/amdgpu/message_pack.h"

#include <llvm/BinaryFormat/MsgPackReader.h>

#include <algorithm>

namespace mneme::amdgpu {
namespace {

constexpr unsigned kDeepest = 16;  // LLVM's metadata is four deep

Status damaged(std::string_view why) { return error(Code::corrupt, "reading MessagePack: {}", why); }

Status read(llvm::msgpack::Reader& reader, MessageNode& node, unsigned depth) {
  using llvm::msgpack::Type;
  if (depth > kDeepest) return damaged("it is too deep");
  llvm::msgpack::Object object;
  auto there = reader.read(object);
  if (!there) return damaged(llvm::toString(there.takeError()));
  if (!*there) return damaged("it is cut off");
  switch (object.Kind) {
    case Type::Int:
      if (object.Int < 0) return {};
      [[fallthrough]];
    case Type::UInt: node.kind = MessageNode::Kind::number, node.number = object.UInt; return {};
    case Type::Boolean: node.kind = MessageNode::Kind::flag, node.number = object.Bool; return {};
    case Type::String: node.kind = MessageNode::Kind::text, node.text = object.Raw.str(); return {};
    case Type::Array:
      node.kind = MessageNode::Kind::list;
      for (size_t i = 0; i < object.Length; ++i) MNEME_TRY(read(reader, node.elements.emplace_back(), depth + 1));
      return {};
    case Type::Map:
      node.kind = MessageNode::Kind::map;
      for (size_t i = 0; i < object.Length; ++i) {
        MessageNode key, value;
        MNEME_TRY(read(reader, key, depth + 1));
        MNEME_TRY(read(reader, value, depth + 1));
        if (key.kind == MessageNode::Kind::text) {
          node.keys.push_back(std::move(key.text));
          node.elements.push_back(std::move(value));
        }
      }
      return {};
    default: return {};
  }
}

}  // namespace

const MessageNode* MessageNode::find(std::string_view key) const {
  const auto found = std::ranges::find(keys, key);
  return found == keys.end() ? nullptr : &elements[static_cast<size_t>(found - keys.begin())];
}

Result<MessageNode> read_message_pack(std::string_view bytes) {
  llvm::msgpack::Reader reader{llvm::StringRef(bytes)};
  MessageNode node;
  MNEME_TRY(read(reader, node, 0));
  llvm::msgpack::Object rest;
  auto more = reader.read(rest);
  if (!more) return damaged(llvm::toString(more.takeError()));
  if (*more) return damaged("there is more behind it");
  return node;
}

}  // namespace mneme::amdgpu

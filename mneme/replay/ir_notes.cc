#include "mneme/replay/ir_notes.h"

#include "mneme/base/byte_stream.h"
#include "mneme/compile/compile_key.h"

namespace mneme {
namespace {

constexpr std::string_view kRequiredBlock = "required block", kPointerUse = "pointer use";

// False: this is no such thing.
bool read(ByteReader& in, bool& value) {
  uint8_t byte = 0;
  if (!in.read(byte).ok()) return false;
  value = byte != 0;
  return byte <= 1;
}

bool read(ByteReader& in, PointerRoot& root) {
  uint8_t kind = 0;
  if (!in.read(kind).ok() || kind > static_cast<uint8_t>(PointerRoot::Kind::variable)) return false;
  root.kind = static_cast<PointerRoot::Kind>(kind);
  return in.read(root.parameter).ok() && in.read(root.offset).ok() && in.read_string(root.variable).ok() && read(in, root.read) &&
         read(in, root.written);
}

bool read(ByteReader& in, PointerUse& use) {
  constexpr uint64_t kLeastRoot = 1 + sizeof(unsigned) + sizeof(uint64_t) + sizeof(uint32_t) + 2;
  const auto roots = in.read_count(kLeastRoot);
  if (!roots.ok()) return false;
  use.roots.resize(*roots);
  for (PointerRoot& root : use.roots)
    if (!read(in, root)) return false;
  return in.read_string(use.other).ok() && read(in, use.synchronises) && in.remaining() == 0;
}

void put(ByteWriter& out, const PointerRoot& root) {
  const auto& [kind, parameter, offset, variable, read, written] = root;
  out.put(static_cast<uint8_t>(kind));
  out.put(parameter);
  out.put(offset);
  out.put_string(variable);
  out.put(static_cast<uint8_t>(read));
  out.put(static_cast<uint8_t>(written));
}

}  // namespace

IrNotes::IrNotes(std::shared_ptr<DiskCache> cache, const Digest& ir, const std::string& kernel, const std::string& architecture)
    : cache_(std::move(cache)) {
  Hasher hasher;
  hasher.add(build_identity()).add(std::as_bytes(std::span(ir.bytes)));
  of_ = hasher.add(kernel).add(architecture).finish();
}

Digest IrNotes::key(std::string_view what) const { return Hasher().add(what).add(std::as_bytes(std::span(of_.bytes))).finish(); }

std::optional<std::optional<Dim3>> IrNotes::required_block() const {
  const auto entry = cache_ ? cache_->read(key(kRequiredBlock)) : std::nullopt;
  if (!entry) return std::nullopt;
  if (entry->empty()) return std::optional<Dim3>();
  ByteReader in(*entry, "a required block in the cache");
  Dim3 block;
  if (!in.read(block.x).ok() || !in.read(block.y).ok() || !in.read(block.z).ok() || in.remaining() != 0) return std::nullopt;
  return std::optional(block);
}

void IrNotes::put_required_block(const std::optional<Dim3>& block) const {
  if (!cache_) return;
  ByteWriter out;
  if (block)
    for (const uint32_t extent : {block->x, block->y, block->z}) out.put(extent);
  cache_->put(key(kRequiredBlock), out.buffer());
}

std::optional<PointerUse> IrNotes::pointer_use() const {
  const auto entry = cache_ ? cache_->read(key(kPointerUse)) : std::nullopt;
  if (!entry) return std::nullopt;
  ByteReader in(*entry, "what pointers start from, in the cache");
  PointerUse use;
  if (!read(in, use)) return std::nullopt;
  return use;
}

void IrNotes::put_pointer_use(const PointerUse& use) const {
  if (!cache_) return;
  ByteWriter out;
  out.put(uint64_t{use.roots.size()});
  for (const PointerRoot& root : use.roots) put(out, root);
  out.put_string(use.other);
  out.put(static_cast<uint8_t>(use.synchronises));
  cache_->put(key(kPointerUse), out.buffer());
}

}  // namespace mneme

#include "mneme/cpu/run/texture_table.h"

namespace mneme::cpu {

TextureTable::~TextureTable() {
  for (const auto& entry : chunks_) {
    const std::unique_ptr<Chunk> chunk(entry.load());
    if (!chunk) continue;
    for (const Slot& slot : *chunk) delete slot.load();
  }
}

// Whether the handle was of nothing, and is the caller's now.
bool TextureTable::take(uint64_t handle) {
  if (handle == 0 || handle >= kMost) return false;
  for (; next_ <= handle; ++next_) free_.insert(next_);
  return free_.erase(handle) == 1;
}

uint64_t TextureTable::add(ImageObject object, uint64_t wanted) {
  std::lock_guard lock(mutex_);
  uint64_t handle = wanted;
  if (!take(handle)) {
    handle = free_.empty() ? next_ : *free_.begin();
    if (!take(handle)) return 0;
  }
  std::atomic<Chunk*>& chunk = chunks_[handle / kChunk];
  if (!chunk.load()) chunk = new Chunk{};
  (*chunk.load())[handle % kChunk] = new ImageObject(std::move(object));
  return handle;
}

bool TextureTable::remove(uint64_t handle) {
  std::lock_guard lock(mutex_);
  Slot* const place = slot(handle);
  const ImageObject* const object = place ? place->exchange(nullptr) : nullptr;
  if (!object) return false;
  delete object;
  free_.insert(handle);
  return true;
}

const ImageObject* TextureTable::find(uint64_t handle) const {
  const Slot* const place = slot(handle);
  return place ? place->load(std::memory_order_acquire) : nullptr;
}

TextureTable::Slot* TextureTable::slot(uint64_t handle) const {
  if (handle >= kMost) return nullptr;
  Chunk* const chunk = chunks_[handle / kChunk].load(std::memory_order_acquire);
  return chunk ? &(*chunk)[handle % kChunk] : nullptr;
}

}  // namespace mneme::cpu

// TextureTable: the textures and surfaces that a device's kernels may use, by the handles that the program passes them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <variant>
#include <vector>

#include "mneme/cpu/run/texture.h"

namespace mneme::cpu {

using ImageObject = std::variant<Texture, Surface>;

// Thread-safe. find() takes no lock; an object may be removed only while no kernel runs that uses it.
class TextureTable {
 public:
  static constexpr uint64_t kMost = 1 << 20;  // as many as a GPU holds

  TextureTable() = default;
  ~TextureTable();
  TextureTable(const TextureTable&) = delete;
  TextureTable& operator=(const TextureTable&) = delete;

  // The handle of the object, which the table copies; 0, which is no handle: there are kMost already.
  uint64_t add(ImageObject object);
  // False: the handle is none.
  bool remove(uint64_t handle);
  // Null for a handle of nothing.
  const ImageObject* find(uint64_t handle) const;

 private:
  static constexpr uint64_t kChunk = 1 << 10;
  using Slot = std::atomic<const ImageObject*>;
  using Chunk = std::array<Slot, kChunk>;
  Slot* slot(uint64_t handle) const;  // null: there is no such slot yet

  std::mutex mutex_;
  std::array<std::atomic<Chunk*>, kMost / kChunk> chunks_{};
  uint64_t next_ = 1;           // handle that was never given; guarded by mutex_, as the next
  std::vector<uint64_t> free_;  // handles that were given back
};

}  // namespace mneme::cpu

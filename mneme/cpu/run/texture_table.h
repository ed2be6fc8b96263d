// TextureTable: the textures and surfaces that a device's kernels may use, by the handles that the program passes them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <variant>

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

  // The handle of the object, which the table copies: `wanted` if that is a handle and of nothing. 0, which is no handle: there
  // are kMost already.
  uint64_t add(ImageObject object, uint64_t wanted = 0);
  // False: the handle is none.
  bool remove(uint64_t handle);
  // Null for a handle of nothing.
  const ImageObject* find(uint64_t handle) const;

 private:
  static constexpr uint64_t kChunk = 1 << 10;
  using Slot = std::atomic<const ImageObject*>;
  using Chunk = std::array<Slot, kChunk>;
  Slot* slot(uint64_t handle) const;  // null: there is no such slot yet
  bool take(uint64_t handle);

  std::mutex mutex_;
  std::array<std::atomic<Chunk*>, kMost / kChunk> chunks_{};
  uint64_t next_ = 1;        // no handle from here on was ever given; guarded by mutex_, as the next
  std::set<uint64_t> free_;  // the others that are of nothing
};

}  // namespace mneme::cpu

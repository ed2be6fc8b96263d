// ProgramTextures: the texture and surface objects that the program has, and what they are of. Thread-safe.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "mneme/base/textures.h"

namespace mneme {

// An array of the program, by the vendor's handle.
struct ProgramArray {
  const void* handle = nullptr;
  ArrayShape shape;
};

class ProgramTextures {
 public:
  struct Object {
    TextureObject object;  // but for the index of its array
    ProgramArray array;    // of those that read one
    int device = 0;
    const void* context = nullptr;  // that it goes with, where the vendor has several
    // Whether everything about it is known, and such an object can be made again.
    bool is_recordable() const;
  };

  void add(Object object);
  void remove(TextureObject::Kind kind, uint64_t handle);
  // Whether the program has any. Takes no lock.
  bool any() const { return any_; }
  std::vector<Object> on(int device) const;
  // Whether it has one on the device that a launch with these parameters may use, and that cannot be recorded. A texture must be
  // named by the parameters. What is written by a surface would be missed, so that the launch is not recorded whether it is named
  // or not.
  bool forbids(ByteSpan parameters, int device) const;

  void add_mipmapped(const ProgramArray& array);
  void add_level(const void* level, const void* mipmapped, uint32_t number);
  std::optional<ProgramArray> find_mipmapped(const void* handle) const;
  // The array that a level belongs to, and its number there; nothing for an array that is no level of another.
  struct Level {
    const void* mipmapped = nullptr;
    uint32_t number = 0;
  };
  std::optional<Level> find_level(const void* handle) const;
  // Forgets an array, mipmapped or not, with its levels and with the objects that are of it, which the program may not use any
  // more.
  void forget_array(const void* handle);
  void forget_device(int device);
  void forget_context(const void* context);
  // The program has a texture reference, of which is not known which kernel reads it, and what.
  void see_reference() {
    std::lock_guard lock(mutex_);
    references_ = any_ = true;
  }

 private:
  void note_any() { any_ = references_ || !objects_.empty(); }

  mutable std::mutex mutex_;
  std::atomic<bool> any_ = false, references_ = false;
  std::map<std::pair<TextureObject::Kind, uint64_t>, Object> objects_;
  std::map<const void*, ArrayShape> mipmapped_;
  std::map<const void*, Level> levels_;
};

// Whether a handle stands in the parameters of a launch, where handles are replaced in a replay (replace_handles()).
bool names(ByteSpan parameters, uint64_t handle);

}  // namespace mneme

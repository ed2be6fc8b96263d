// ProgramTextures: the texture and surface objects that the program has, and what they are of. Thread-safe.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include "mneme/base/textures.h"

namespace mneme {

// An array of the program, by the vendor's handle.
struct ProgramArray {
  const void* handle = nullptr;
  ArrayShape shape;
};

// Where the program has objects and arrays, which go with it: a device, and one of its contexts where the vendor has several.
struct TexturePlace {
  int device = 0;
  const void* context = nullptr;
  friend auto operator<=>(const TexturePlace&, const TexturePlace&) = default;
};

class ProgramTextures {
 public:
  struct Object {
    TextureObject object;  // but for the index of its array
    ProgramArray array;    // of those that read one
    TexturePlace place;
    // Whether everything about it is known, and such an object can be made again.
    bool is_recordable() const;
  };

  void add(Object object);
  void remove(TextureObject::Kind kind, uint64_t handle, const TexturePlace& place);
  // Whether the program has any. Takes no lock.
  bool any() const { return any_; }
  std::vector<Object> at(const TexturePlace& place) const;
  // Whether it has one at the place that a launch with these parameters may use, and that cannot be recorded. A texture must be
  // named by the parameters. What is written by a surface would be missed, so that the launch is not recorded whether it is named
  // or not.
  bool forbids(ByteSpan parameters, const TexturePlace& place) const;

  void add_mipmapped(const ProgramArray& array, const TexturePlace& place);
  void add_level(const void* level, const void* mipmapped, uint32_t number, const TexturePlace& place);
  // An array, mipmapped or not, that belongs to an object of another interface: nothing of it can be recorded.
  void add_foreign(const void* array, const void* owner, const TexturePlace& place);
  // Sets what the object is of, where the array is a level of another one, or is foreign. False: it is neither.
  bool set_level(Object& object, const void* array) const;
  // Of an object that reads all levels.
  void set_mipmapped(Object& object, const void* array) const;
  // Forgets an array, mipmapped or not, or whatever else has arrays: with these, and with the objects that are of them, which the
  // program may not use any more.
  void forget(const void* handle);
  void forget_device(int device);
  void forget_context(const void* context);
  // The program has a texture reference, of which is not known which kernel reads it, and what.
  void see_reference() {
    std::lock_guard lock(mutex_);
    references_ = any_ = true;
  }

 private:
  struct Mipmapped {
    ArrayShape shape;
    TexturePlace place;
  };
  // A level of a mipmapped array, or an array that is foreign.
  struct Part {
    const void* owner = nullptr;
    uint32_t level = 0;
    TexturePlace place;
  };
  void note_any() { any_ = references_ || !objects_.empty(); }
  template <typename Goes>
  void forget_places(Goes goes);

  mutable std::mutex mutex_;
  std::atomic<bool> any_ = false, references_ = false;
  std::map<std::tuple<TexturePlace, TextureObject::Kind, uint64_t>, Object> objects_;  // by places and handles
  std::map<const void*, Mipmapped> mipmapped_;
  std::map<const void*, Part> parts_;
};

// Whether a handle stands in the parameters of a launch, where handles are replaced in a replay (replace_handles()).
bool names(ByteSpan parameters, uint64_t handle);

}  // namespace mneme

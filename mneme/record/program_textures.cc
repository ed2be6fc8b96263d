#include "mneme/record/program_textures.h"

#include <algorithm>
#include <cstring>

namespace mneme {

bool names(ByteSpan parameters, uint64_t handle) {
  for (size_t at = 0; at + sizeof handle <= parameters.size(); at += sizeof handle)
    if (std::memcmp(parameters.data() + at, &handle, sizeof handle) == 0) return true;
  return false;
}

bool ProgramTextures::Object::is_recordable() const {
  if (!object.reads_array()) return object.texel.texel_size().has_value();
  return array.handle != nullptr && !levels_of(array.shape).empty();
}

void ProgramTextures::add(Object object) {
  std::lock_guard lock(mutex_);
  objects_.insert_or_assign({object.object.kind, object.object.handle}, std::move(object));
  note_any();
}

void ProgramTextures::remove(TextureObject::Kind kind, uint64_t handle) {
  std::lock_guard lock(mutex_);
  objects_.erase({kind, handle});
  note_any();
}

std::vector<ProgramTextures::Object> ProgramTextures::on(int device) const {
  std::lock_guard lock(mutex_);
  std::vector<Object> objects;
  for (const auto& [key, object] : objects_)
    if (object.device == device) objects.push_back(object);
  return objects;
}

bool ProgramTextures::forbids(ByteSpan parameters, int device) const {
  if (references_) return true;
  std::lock_guard lock(mutex_);
  return std::any_of(objects_.begin(), objects_.end(), [&](const auto& entry) {
    const Object& object = entry.second;
    if (object.device != device || object.is_recordable()) return false;
    return object.object.kind == TextureObject::Kind::surface || names(parameters, object.object.handle);
  });
}

void ProgramTextures::add_mipmapped(const ProgramArray& array) {
  std::lock_guard lock(mutex_);
  mipmapped_[array.handle] = array.shape;
}

void ProgramTextures::add_level(const void* level, const void* mipmapped, uint32_t number) {
  std::lock_guard lock(mutex_);
  levels_[level] = {mipmapped, number};
}

std::optional<ProgramArray> ProgramTextures::find_mipmapped(const void* handle) const {
  std::lock_guard lock(mutex_);
  const auto found = mipmapped_.find(handle);
  if (found == mipmapped_.end()) return std::nullopt;
  return ProgramArray{handle, found->second};
}

std::optional<ProgramTextures::Level> ProgramTextures::find_level(const void* handle) const {
  std::lock_guard lock(mutex_);
  const auto found = levels_.find(handle);
  return found == levels_.end() ? std::nullopt : std::optional(found->second);
}

void ProgramTextures::forget_array(const void* handle) {
  std::lock_guard lock(mutex_);
  std::erase_if(objects_, [&](const auto& entry) { return entry.second.array.handle == handle; });
  std::erase_if(levels_, [&](const auto& entry) { return entry.second.mipmapped == handle; });
  mipmapped_.erase(handle);
  note_any();
}

void ProgramTextures::forget_context(const void* context) {
  std::lock_guard lock(mutex_);
  std::erase_if(objects_, [&](const auto& entry) { return entry.second.context == context; });
  note_any();
}

void ProgramTextures::forget_device(int device) {
  std::lock_guard lock(mutex_);
  std::erase_if(objects_, [&](const auto& entry) { return entry.second.device == device; });
  note_any();
}

}  // namespace mneme

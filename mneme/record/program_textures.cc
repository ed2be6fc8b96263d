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
  objects_.insert_or_assign({object.place, object.object.kind, object.object.handle}, std::move(object));
  note_any();
}

void ProgramTextures::remove(TextureObject::Kind kind, uint64_t handle, const TexturePlace& place) {
  std::lock_guard lock(mutex_);
  objects_.erase({place, kind, handle});
  note_any();
}

std::vector<ProgramTextures::Object> ProgramTextures::at(const TexturePlace& place) const {
  std::lock_guard lock(mutex_);
  std::vector<Object> objects;
  for (const auto& [key, object] : objects_)
    if (object.place == place) objects.push_back(object);
  return objects;
}

bool ProgramTextures::forbids(ByteSpan parameters, const TexturePlace& place) const {
  if (references_) return true;
  std::lock_guard lock(mutex_);
  return std::any_of(objects_.begin(), objects_.end(), [&](const auto& entry) {
    const Object& object = entry.second;
    if (object.place != place || object.is_recordable()) return false;
    return object.object.kind == TextureObject::Kind::surface || names(parameters, object.object.handle);
  });
}

void ProgramTextures::add_mipmapped(const ProgramArray& array, const TexturePlace& place) {
  std::lock_guard lock(mutex_);
  mipmapped_[array.handle] = {array.shape, place};
}

void ProgramTextures::add_level(const void* level, const void* mipmapped, uint32_t number, const TexturePlace& place) {
  std::lock_guard lock(mutex_);
  parts_[level] = {mipmapped, number, place};
}

void ProgramTextures::add_foreign(const void* array, const void* owner, const TexturePlace& place) {
  std::lock_guard lock(mutex_);
  parts_[array] = {owner, 0, place};
}

bool ProgramTextures::set_level(Object& object, const void* array) const {
  std::lock_guard lock(mutex_);
  const auto part = parts_.find(array);
  if (part == parts_.end()) return false;
  object.object.level = part->second.level;
  const auto whole = mipmapped_.find(part->second.owner);
  object.array = whole == mipmapped_.end() ? ProgramArray{array, {}} : ProgramArray{whole->first, whole->second.shape};
  return true;
}

void ProgramTextures::set_mipmapped(Object& object, const void* array) const {
  std::lock_guard lock(mutex_);
  const auto found = mipmapped_.find(array);
  object.array = {array, found == mipmapped_.end() ? ArrayShape() : found->second.shape};
}

void ProgramTextures::forget(const void* handle) {
  std::lock_guard lock(mutex_);
  std::vector<const void*> going = {handle};
  for (size_t i = 0; i < going.size(); ++i) {
    const void* const one = going[i];
    std::erase_if(objects_, [&](const auto& entry) { return entry.second.array.handle == one; });
    mipmapped_.erase(one);
    std::erase_if(parts_, [&](const auto& part) {
      if (part.second.owner != one) return part.first == one;
      going.push_back(part.first);
      return true;
    });
  }
  note_any();
}

template <typename Goes>
void ProgramTextures::forget_places(Goes goes) {
  std::lock_guard lock(mutex_);
  const auto is_there = [&](const auto& entry) { return goes(entry.second.place); };
  std::erase_if(objects_, is_there);
  std::erase_if(mipmapped_, is_there);
  std::erase_if(parts_, is_there);
  note_any();
}

void ProgramTextures::forget_context(const void* context) {
  forget_places([&](const TexturePlace& place) { return place.context == context; });
}

void ProgramTextures::forget_device(int device) {
  forget_places([&](const TexturePlace& place) { return place.device == device; });
}

}  // namespace mneme

#include "mneme/record/captured_textures.h"

#include <algorithm>

#include "mneme/record/vendor.h"

namespace mneme {
namespace {

bool holds(const StateCapture::Memory& all, const MemoryRange& wanted) {
  const auto lists = all.lists();
  return std::any_of(lists.begin(), lists.end(), [&](const auto* list) {
    return std::any_of(list->begin(), list->end(), [&](const MemoryRange& memory) {
      return wanted.address >= memory.address && wanted.end() <= memory.end();
    });
  });
}

}  // namespace

bool CapturedTextures::choose(const std::vector<ProgramTextures::Object>& objects, const StateCapture::Memory& memory,
                              ByteSpan parameters) {
  for (const ProgramTextures::Object& made : objects) {
    TextureObject object = made.object;
    if (!object.reads_array() && !holds(memory, object.memory)) {
      if (names(parameters, object.handle)) return false;
      continue;
    }
    if (!made.is_recordable()) continue;
    if (object.reads_array()) {
      const auto found = std::find(handles_.begin(), handles_.end(), made.array.handle);
      object.array = static_cast<uint32_t>(found - handles_.begin());
      if (found == handles_.end()) {
        handles_.push_back(made.array.handle);
        set_.arrays.push_back({made.array.shape, {}});
      }
    }
    set_.objects.push_back(object);
  }
  return true;
}

ByteVector CapturedTextures::addresses() const {
  ByteVector addresses;
  for (const TextureObject& object : set_.objects) {
    const auto bytes = std::as_bytes(std::span(&object.memory.address.address, 1));
    addresses.insert(addresses.end(), bytes.begin(), bytes.end());
  }
  return addresses;
}

Status CapturedTextures::take_memory(AddressSpace& space, StateCapture::Memory& memory) {
  space_ = &space;
  for (TextureSet::Array& array : set_.arrays) {
    const Bytes size = copy_size(array.shape);
    MNEME_ASSIGN(array.copy, space.allocate(size));
    memory.arrays.push_back({array.copy, size});
  }
  std::sort(memory.arrays.begin(), memory.arrays.end());
  return {};
}

Status CapturedTextures::copy_arrays(Vendor& vendor) {
  for (size_t i = 0; i < handles_.size(); ++i) {
    Status copied = vendor.copy_array(set_.arrays[i].copy, {handles_[i], set_.arrays[i].shape});
    lost_array_ = !copied.ok();
    MNEME_TRY(std::move(copied));
  }
  return {};
}

void CapturedTextures::release() {
  for (const TextureSet::Array& array : set_.arrays)
    if (space_ && array.copy != DevicePtr()) [[maybe_unused]]
      Status ignored = space_->free(array.copy);
}

}  // namespace mneme

#include "mneme/base/textures.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace mneme {
namespace {

constexpr uint64_t kMostInARow = 1 << 17;  // of what any device has
constexpr uint64_t kMostSlices = 1 << 16;
constexpr uint64_t kAlignment = 512;  // of levels in a copy
constexpr uint32_t kKnownFlags =
    ArrayShape::kLayered | ArrayShape::kSurface | ArrayShape::kCubemap | ArrayShape::kGather | ArrayShape::kColorAttachment;

// Bytes of one channel; nothing of formats that are not known to have channels.
std::optional<uint64_t> channel_bytes(uint32_t format) {
  switch (format) {
    case 0x01:  // CU_AD_FORMAT_UNSIGNED_INT8
    case 0x08:  // CU_AD_FORMAT_SIGNED_INT8
    case 0xc0:
    case 0xc1:
    case 0xc2:  // CU_AD_FORMAT_UNORM_INT8X1, X2, X4
    case 0xc6:
    case 0xc7:
    case 0xc8:  // CU_AD_FORMAT_SNORM_INT8X1, X2, X4
      return 1;
    case 0x02:  // CU_AD_FORMAT_UNSIGNED_INT16
    case 0x09:  // CU_AD_FORMAT_SIGNED_INT16
    case 0x10:  // CU_AD_FORMAT_HALF
    case 0xc3:
    case 0xc4:
    case 0xc5:  // CU_AD_FORMAT_UNORM_INT16X1, X2, X4
    case 0xc9:
    case 0xca:
    case 0xcb:  // CU_AD_FORMAT_SNORM_INT16X1, X2, X4
      return 2;
    case 0x03:  // CU_AD_FORMAT_UNSIGNED_INT32
    case 0x0a:  // CU_AD_FORMAT_SIGNED_INT32
    case 0x20:  // CU_AD_FORMAT_FLOAT
      return 4;
    default: return std::nullopt;
  }
}

}  // namespace

std::optional<Bytes> TexelLayout::texel_size() const {
  const auto bytes = channel_bytes(format);
  if (!bytes || (channels != 1 && channels != 2 && channels != 4)) return std::nullopt;
  return Bytes(*bytes * channels);
}

std::vector<ArrayLevel> levels_of(const ArrayShape& shape) {
  const auto texel = shape.texel.texel_size();
  const bool possible =
      shape.width != 0 && shape.width <= kMostInARow && shape.height <= kMostInARow && shape.depth <= kMostSlices;
  if (!texel || !possible || (shape.flags & ~kKnownFlags) != 0) return {};
  const bool has_layers = (shape.flags & (ArrayShape::kLayered | ArrayShape::kCubemap)) != 0;
  const uint64_t longest = std::max({shape.width, shape.height, has_layers ? 0 : shape.depth});
  if (shape.levels > static_cast<uint32_t>(std::bit_width(longest))) return {};
  std::vector<ArrayLevel> levels;
  uint64_t begin = 0;
  for (uint32_t i = 0; i < std::max(shape.levels, 1u); ++i) {
    const auto halved = [&](uint64_t size) { return std::max<uint64_t>(size >> i, 1); };
    ArrayLevel level{
        halved(shape.width), halved(shape.height), has_layers ? std::max<uint64_t>(shape.depth, 1) : halved(shape.depth), {}, 0};
    level.row = Bytes(level.width * texel->count);
    level.begin = begin;
    begin = (begin + level.size().count + kAlignment - 1) / kAlignment * kAlignment;
    levels.push_back(level);
  }
  return levels;
}

Bytes copy_size(const ArrayShape& shape) {
  const std::vector<ArrayLevel> levels = levels_of(shape);
  return levels.empty() ? Bytes() : Bytes(levels.back().begin) + levels.back().size();
}

std::string_view to_string(TextureObject::Kind kind) { return kind == TextureObject::Kind::texture ? "texture" : "surface"; }

bool TextureSet::writes(size_t array) const {
  return std::any_of(objects.begin(), objects.end(), [&](const TextureObject& object) {
    return object.kind == TextureObject::Kind::surface && object.array == array;
  });
}

Status replace_handles(MutableByteSpan parameters, const TextureSet& textures, const std::vector<uint64_t>& handles) {
  for (size_t at = 0; at + sizeof(uint64_t) <= parameters.size(); at += sizeof(uint64_t)) {
    uint64_t value = 0;
    std::memcpy(&value, parameters.data() + at, sizeof value);
    std::optional<uint64_t> handle;
    for (size_t i = 0; i < handles.size(); ++i) {
      if (textures.objects[i].handle != value) continue;
      if (handle.value_or(handles[i]) != handles[i])
        return error(
            Code::unsupported,
            "the parameter at byte {} is {}, the handle of a texture and of a surface, which are {} and {} in this process: "
            "which of them it is, the recording does not tell; another process may get the recorded ones",
            at, value, *handle, handles[i]);
      handle = handles[i];
    }
    if (handle) std::memcpy(parameters.data() + at, &*handle, sizeof *handle);
  }
  return {};
}

}  // namespace mneme

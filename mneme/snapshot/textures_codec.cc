#include "mneme/snapshot/textures_codec.h"

#include <algorithm>

namespace mneme {
namespace {

// The members of each value in the order in which they are written. `put` and `read` below visit them.
template <typename Visit, typename T>
  requires std::is_same_v<std::remove_const_t<T>, TexelLayout>
void each(Visit& visit, T& texel) {
  visit(texel.format);
  visit(texel.channels);
}
template <typename Visit, typename T>
  requires std::is_same_v<std::remove_const_t<T>, TextureSet::Array>
void each(Visit& visit, T& array) {
  visit(array.copy.address);
  visit(array.shape.width);
  visit(array.shape.height);
  visit(array.shape.depth);
  each(visit, array.shape.texel);
  visit(array.shape.flags);
  visit(array.shape.levels);
}
template <typename Visit, typename T>
  requires std::is_same_v<std::remove_const_t<T>, TextureSampling>
void each(Visit& visit, T& sampling) {
  visit(sampling.address);
  visit(sampling.filter);
  visit(sampling.flags);
  visit(sampling.anisotropy);
  visit(sampling.level_filter);
  visit(sampling.level_bias);
  visit(sampling.least_level);
  visit(sampling.greatest_level);
  visit(sampling.border);
}
template <typename Visit, typename T>
  requires std::is_same_v<std::remove_const_t<T>, TextureView>
void each(Visit& visit, T& view) {
  visit(view.format);
  visit(view.width);
  visit(view.height);
  visit(view.depth);
  visit(view.first_level);
  visit(view.last_level);
  visit(view.first_layer);
  visit(view.last_layer);
}
// But for its view.
template <typename Visit, typename T>
  requires std::is_same_v<std::remove_const_t<T>, TextureObject>
void each(Visit& visit, T& object) {
  visit(object.kind);
  visit(object.source);
  visit(object.handle);
  visit(object.array);
  visit(object.level);
  visit(object.memory.address.address);
  visit(object.memory.size.count);
  each(visit, object.texel);
  visit(object.width);
  visit(object.height);
  visit(object.pitch);
  each(visit, object.sampling);
}

template <typename T>
Status read(ByteReader& in, T& value) {
  Status status;
  auto visit = [&](auto& member) {
    if (status.ok()) status = in.read(member);
  };
  each(visit, value);
  return status;
}

Status check_array(const ByteReader& in, const TextureSet::Array& array, const MemoryState& state) {
  const Bytes size = copy_size(array.shape);
  if (size == Bytes()) return in.corrupt("an array has a size or a format that no array has");
  const bool held = std::any_of(state.regions.begin(), state.regions.end(), [&](const Region& region) {
    return region.kind == Region::Kind::array && region.address == array.copy && region.size == size;
  });
  return held ? Status() : in.corrupt(fmt::format("no region holds the array of {} that is copied to {}", size, array.copy));
}

Status check_object(const ByteReader& in, const TextureObject& object, const TextureSet& textures) {
  using Kind = TextureObject::Kind;
  using Source = TextureObject::Source;
  if (object.kind != Kind::texture && object.kind != Kind::surface) return in.corrupt("an object is no texture and no surface");
  if (object.source < Source::array || object.source > Source::pitched) return in.corrupt("a texture has an unknown source");
  if (!object.reads_array()) {
    if (object.kind == Kind::surface) return in.corrupt("a surface is of no array");
    const bool rows = object.source == Source::pitched;
    const auto texel = object.texel.texel_size();
    constexpr uint64_t kMost = uint64_t{1} << 31;
    if (!texel || object.memory.size.count == 0 || object.memory.address.address > ~uint64_t{0} - object.memory.size.count)
      return in.corrupt("a texture has memory or a format that no texture has");
    if (rows && (object.width == 0 || object.height == 0 || object.width > kMost || object.height > kMost ||
                 object.pitch > kMost || object.pitch < object.width * texel->count ||
                 object.memory.size.count < object.pitch * (object.height - 1) + object.width * texel->count))
      return in.corrupt("the rows of a texture do not lie in its memory");
    return {};
  }
  if (object.array >= textures.arrays.size())
    return in.corrupt(fmt::format("an object is of array {}, and there are {}", object.array, textures.arrays.size()));
  const ArrayShape& shape = textures.arrays[object.array].shape;
  if (object.source == Source::mipmapped && (shape.levels == 0 || object.kind == Kind::surface))
    return in.corrupt("an object is of a mipmapped array that is none");
  if (object.source == Source::array && object.level >= std::max(shape.levels, 1u))
    return in.corrupt("an object is of a level that its array does not have");
  return {};
}

}  // namespace

ByteVector encode_textures(const TextureSet& textures) {
  ByteWriter out;
  auto put = [&](const auto& member) { out.put(member); };
  out.put(uint64_t{textures.arrays.size()});
  for (const TextureSet::Array& array : textures.arrays) each(put, array);
  out.put(uint64_t{textures.objects.size()});
  for (const TextureObject& object : textures.objects) {
    each(put, object);
    out.put(static_cast<uint32_t>(object.view.has_value()));
    if (object.view) each(put, *object.view);
  }
  return out.take();
}

Status decode_textures(ByteReader& in, MemoryState& state) {
  constexpr uint64_t kSmallestArray = 48, kSmallestObject = 128;
  TextureSet& textures = state.textures;
  MNEME_ASSIGN(const uint64_t arrays, in.read_count(kSmallestArray));
  for (uint64_t i = 0; i < arrays; ++i) {
    MNEME_TRY(read(in, textures.arrays.emplace_back()));
    MNEME_TRY(check_array(in, textures.arrays.back(), state));
  }
  MNEME_ASSIGN(const uint64_t objects, in.read_count(kSmallestObject));
  if (objects == 0) return in.corrupt("there is no texture and no surface");
  for (uint64_t i = 0; i < objects; ++i) {
    TextureObject& object = textures.objects.emplace_back();
    MNEME_TRY(read(in, object));
    MNEME_TRY(check_object(in, object, textures));
    uint32_t has_view = 0;
    MNEME_TRY(in.read(has_view));
    if (has_view > 1) return in.corrupt("a texture has more than one view");
    if (has_view == 1) MNEME_TRY(read(in, object.view.emplace()));
  }
  return {};
}

}  // namespace mneme

#include "mneme/cpu/run/cpu_textures.h"

#include <algorithm>
#include <bit>

namespace mneme::cpu {
namespace {

// What a recorded format says of a texel.
struct Texels {
  TexelFormat format;
  bool normalized = false;  // integers that are always read as floats
};

Result<Texels> texels_of(const TexelLayout& layout) {
  const auto size = layout.texel_size();
  if (!size) return error(Code::unsupported, "texels of format {:#x} are not available on the CPU device", layout.format);
  Texels texels;
  texels.format.components = layout.channels;
  texels.format.bits = static_cast<uint32_t>(size->count / layout.channels * 8);
  const uint32_t format = layout.format;
  const bool unsigned_normalized = format >= 0xc0 && format <= 0xc5, signed_normalized = format >= 0xc6 && format <= 0xcb;
  texels.normalized = unsigned_normalized || signed_normalized;
  if (format <= 0x03 || unsigned_normalized) texels.format.kind = TexelKind::unsigned_integer;
  if ((format >= 0x08 && format <= 0x0a) || signed_normalized) texels.format.kind = TexelKind::signed_integer;
  return texels;
}

TexelGrid grid_of(const TextureSet::Array& array, const ArrayLevel& level) {
  return {reinterpret_cast<std::byte*>(array.copy.address + level.begin),
          static_cast<uint32_t>(level.width),
          static_cast<uint32_t>(level.height),
          static_cast<uint32_t>(level.slices),
          level.row.count,
          level.row.count * level.height};
}

AddressMode address_mode(uint32_t mode) {
  switch (mode) {
    case 0: return AddressMode::wrap;
    case 2: return AddressMode::mirror;
    case 3: return AddressMode::border;
    default: return AddressMode::clamp;
  }
}
FilterMode filter_mode(uint32_t mode) { return mode == 1 ? FilterMode::linear : FilterMode::point; }

std::vector<TexelGrid> grids_of(const TextureObject& object, const TextureSet& textures, const TexelFormat& format) {
  auto* const memory = reinterpret_cast<std::byte*>(object.memory.address.address);
  if (object.source == TextureObject::Source::linear)
    return {{.texels = memory,
             .width = static_cast<uint32_t>(object.memory.size.count / format.bytes()),
             .row_pitch = object.memory.size.count,
             .slice_pitch = object.memory.size.count}};
  if (object.source == TextureObject::Source::pitched)
    return {{memory, static_cast<uint32_t>(object.width), static_cast<uint32_t>(object.height), 1, object.pitch,
             object.pitch * object.height}};
  const TextureSet::Array& array = textures.arrays[object.array];
  const std::vector<ArrayLevel> levels = levels_of(array.shape);
  if (object.source == TextureObject::Source::array) return {grid_of(array, levels[object.level])};
  std::vector<TexelGrid> grids;
  for (const ArrayLevel& level : levels) grids.push_back(grid_of(array, level));
  return grids;
}

Result<ImageObject> make_object(const TextureObject& object, const TextureSet& textures) {
  MNEME_ASSIGN(const Texels texels, texels_of(object.reads_array() ? textures.arrays[object.array].shape.texel : object.texel));
  std::vector<TexelGrid> grids = grids_of(object, textures, texels.format);
  if (object.kind == TextureObject::Kind::surface) return ImageObject(Surface{texels.format, grids.front()});
  const TextureSampling& sampling = object.sampling;
  const auto has = [&](uint32_t flag) { return (sampling.flags & flag) != 0; };
  if (object.view || has(TextureSampling::kSeamlessCubemap) || (sampling.anisotropy > 1 && grids.size() > 1))
    return Status(Code::unsupported,
                  "views of a texture's resource, seamless cubemaps and anisotropic filters are not available on the CPU device");
  const bool is_integer = texels.format.kind != TexelKind::real;
  const bool normalized = is_integer && (texels.normalized || !has(TextureSampling::kReadAsInteger));
  const bool srgb =
      has(TextureSampling::kSrgb) && normalized && texels.format.bits == 8 && texels.format.kind == TexelKind::unsigned_integer;
  Texture texture{.format = texels.format,
                  .levels = std::move(grids),
                  .address = {},
                  .filter = filter_mode(sampling.filter),
                  .level_filter = FilterMode::point,
                  .normalized_coordinates = has(TextureSampling::kNormalizedCoordinates),
                  .normalized_values = normalized,
                  .srgb = srgb,
                  .border = {},
                  .level_bias = sampling.level_bias,
                  .least_level = sampling.least_level,
                  .greatest_level = sampling.greatest_level};
  if (texture.levels.size() > 1) texture.level_filter = filter_mode(sampling.level_filter);
  std::transform(sampling.address.begin(), sampling.address.end(), texture.address, address_mode);
  if (object.source == TextureObject::Source::linear) {  // a fetch outside of linear memory is 0
    texture.filter = FilterMode::point;
    texture.address[0] = AddressMode::border;
    return ImageObject(std::move(texture));
  }
  for (size_t i = 0; i < texels.format.components; ++i)
    texture.border[i] = texture.yields_floats() ? std::bit_cast<uint32_t>(sampling.border[i])
                                                : static_cast<uint32_t>(static_cast<int64_t>(sampling.border[i]));
  return ImageObject(std::move(texture));
}

}  // namespace

Result<std::unique_ptr<CpuTextures>> CpuTextures::create(TextureTable& table, const TextureSet& textures) {
  std::unique_ptr<CpuTextures> made(new CpuTextures(table));
  for (const TextureObject& object : textures.objects) {
    MNEME_ASSIGN(ImageObject image, make_object(object, textures));
    const uint64_t handle = table.add(std::move(image), object.handle);
    if (handle == 0) return error(Code::exhausted, "making a texture: the CPU device has {} already", TextureTable::kMost);
    made->handles_.push_back(handle);
  }
  return made;
}

CpuTextures::~CpuTextures() {
  for (uint64_t handle : handles_) table_.remove(handle);
}

}  // namespace mneme::cpu

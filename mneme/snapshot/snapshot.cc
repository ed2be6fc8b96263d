#include "mneme/snapshot/snapshot.h"

#include <algorithm>
#include <array>

#include "mneme/snapshot/textures_codec.h"

namespace mneme {
namespace {

uint64_t first_page(DevicePtr address) { return address.address / kPageSize.count * kPageSize.count; }

}  // namespace

std::string_view to_string(CodeLevel level) {
  constexpr std::array<std::string_view, 3> kNames = {"ir", "ptx", "cubin"};
  return kNames[static_cast<size_t>(level)];
}

std::string_view to_string(CodeImageRecord::Kind kind) {
  constexpr std::array<std::string_view, 3> kNames = {"cubin", "ptx", "hsaco"};
  return kNames[static_cast<size_t>(kind)];
}

std::string_view to_string(Region::Kind kind) {
  constexpr std::array<std::string_view, 6> kNames = {"allocation",    "global",         "host memory",
                                                      "mapped memory", "managed memory", "array"};
  return kNames[static_cast<size_t>(kind) - 1];
}

const CodeImageRecord* KernelRecord::find_image(CodeImageRecord::Kind kind) const {
  const auto found = std::find_if(images.begin(), images.end(), [&](const CodeImageRecord& image) { return image.kind == kind; });
  return found == images.end() ? nullptr : &*found;
}

const CodeImageRecord* KernelRecord::machine_code() const {
  const CodeImageRecord* cubin = find_image(CodeImageRecord::Kind::cubin);
  return cubin != nullptr ? cubin : find_image(CodeImageRecord::Kind::hsaco);
}

std::string recorded_as(const KernelRecord& kernel) {
  constexpr std::array<std::string_view, 3> kWords = {"LLVM IR", "PTX", "machine code (cubin)"};
  return fmt::format("the kernel was recorded as {}", kWords[static_cast<size_t>(kernel.level)]);
}

uint64_t page_count(MemoryRange region) {
  if (region.size.count == 0) return 0;
  return (region.end().address - 1 - first_page(region.address)) / kPageSize.count + 1;
}

MemoryRange page_extent(MemoryRange region, uint64_t index) {
  uint64_t page = first_page(region.address) + index * kPageSize.count;
  uint64_t begin = std::max(region.address.address, page);
  uint64_t end = std::min(region.end().address, page + kPageSize.count);
  return {DevicePtr(begin), Bytes(end - begin)};
}

Bytes MemoryState::bytes() const {
  Bytes sum;
  for (const Region& region : regions) sum += region.size;
  return sum;
}

Digest dynamic_hash(const InstanceRecord& instance, const MemoryState& prologue, CodeLevel level) {
  Hasher hasher;
  hasher.add("mneme instance 1");
  for (const Dim3& extent : {instance.grid, instance.block}) hasher.add(extent.x).add(extent.y).add(extent.z);
  hasher.add(instance.dynamic_shared_memory.count).add(uint64_t{instance.cooperative});
  // Launches without clusters have the hash that they had before clusters were recorded.
  if (const Dim3& extent = instance.cluster; extent != kNoCluster)
    hasher.add("cluster").add(extent.x).add(extent.y).add(extent.z);
  hasher.add(uint64_t{instance.parameters.size()}).add(ByteSpan(instance.parameters));
  hasher.add(uint64_t{prologue.regions.size()});
  const auto add = [&](const Region& region, uint64_t address) {
    hasher.add(static_cast<uint64_t>(region.kind)).add(address).add(region.size.count).add(region.name);
    for (const Digest& page : region.pages) hasher.add(std::as_bytes(std::span(page.bytes)));
  };
  std::map<std::string_view, const Region*> placed_by_loader;
  for (const Region& region : prologue.regions) {
    if (level != CodeLevel::ir && region.kind == Region::Kind::global)
      placed_by_loader[region.name] = &region;
    else
      add(region, region.address.address);
  }
  for (const auto& [name, region] : placed_by_loader) add(*region, 0);
  if (!prologue.textures.empty()) hasher.add("textures").add(ByteSpan(encode_textures(prologue.textures)));
  return hasher.finish();
}

}  // namespace mneme

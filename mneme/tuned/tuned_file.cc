#include "mneme/tuned/tuned_file.h"

#include <algorithm>

namespace mneme {
namespace {

// The blocks of `block` that hold as many threads in one direction; 0: there is no such number.
uint32_t blocks_for(uint32_t grid, uint32_t recorded_block, uint32_t block) {
  const uint64_t threads = uint64_t{grid} * recorded_block;
  return block != 0 && threads % block == 0 && threads / block <= UINT32_MAX ? static_cast<uint32_t>(threads / block) : 0;
}

// Blocks of a launch in clusters are in whole ones.
bool fills_clusters(const ProgramShape& shape) {
  const auto& [x, y, z] = shape.cluster;
  return shape.cluster.volume() == 0 || (shape.grid.x % x == 0 && shape.grid.y % y == 0 && shape.grid.z % z == 0);
}

bool same_kind(const ProgramShape& a, const ProgramShape& b) { return a.cooperative == b.cooperative && a.cluster == b.cluster; }

std::optional<ProgramShape> as_many_threads(const ProgramShape& launch, const ProgramShape& tuned) {
  ProgramShape shape = tuned;
  shape.grid = {blocks_for(launch.grid.x, launch.block.x, tuned.block.x),
                blocks_for(launch.grid.y, launch.block.y, tuned.block.y),
                blocks_for(launch.grid.z, launch.block.z, tuned.block.z)};
  return shape.grid.volume() == 0 || !fills_clusters(shape) ? std::nullopt : std::optional(shape);
}

// An image that no kernel has any more goes, and the others move up.
void drop_unused_images(TunedFile& file) {
  for (uint64_t i = file.images.size(); i-- > 0;) {
    const auto uses = [&](const TunedKernel& kernel) { return kernel.image == i; };
    if (std::any_of(file.kernels.begin(), file.kernels.end(), uses)) continue;
    file.images.erase(file.images.begin() + static_cast<ptrdiff_t>(i));
    for (TunedKernel& kernel : file.kernels) kernel.image -= kernel.image > i;
  }
}

}  // namespace

std::optional<ProgramShape> LaunchRule::apply(const ProgramShape& launch) const {
  // What launches in clusters, or cooperatively, stays so.
  if (!same_kind(launch, recorded) || (covers != Covers::any && !same_kind(tuned, recorded))) return std::nullopt;
  switch (covers) {
    case Covers::shape: return launch == recorded ? std::optional(tuned) : std::nullopt;
    case Covers::block:
      if (launch.block != recorded.block || launch.shared != recorded.shared) return std::nullopt;
      return as_many_threads(launch, tuned);
    case Covers::any:
      // A launch of nothing is an error, which is the program's.
      if (launch.grid.volume() == 0 || launch.block.volume() == 0) return std::nullopt;
      if (max_threads != 0 && launch.block.volume() > max_threads) return std::nullopt;
      return launch;
  }
  return std::nullopt;
}

ProgramShape LaunchRule::undo(const ProgramShape& launched) const {
  switch (covers) {
    case Covers::shape: return recorded;
    case Covers::block: {
      ProgramShape shape = recorded;
      const auto& [x, y, z] = launched.grid;
      shape.grid = {blocks_for(x, tuned.block.x, recorded.block.x), blocks_for(y, tuned.block.y, recorded.block.y),
                    blocks_for(z, tuned.block.z, recorded.block.z)};
      return shape;
    }
    case Covers::any: break;
  }
  return launched;
}

bool TunedKernel::same_place(const TunedKernel& other) const {
  return static_hash == other.static_hash && device == other.device && architecture == other.architecture &&
         rule.covers == other.rule.covers && (rule.covers == LaunchRule::Covers::any || rule.recorded == other.rule.recorded) &&
         arguments == other.arguments;
}

void TunedFile::add(TunedKernel kernel, ByteSpan code) {
  std::erase_if(kernels, [&](const TunedKernel& known) { return known.same_place(kernel); });
  const auto same = [&](const ByteVector& image) { return std::equal(image.begin(), image.end(), code.begin(), code.end()); };
  const auto known = std::find_if(images.begin(), images.end(), same);
  kernel.image = static_cast<uint64_t>(known - images.begin());
  if (known == images.end()) images.emplace_back(code.begin(), code.end());
  kernels.push_back(std::move(kernel));
  drop_unused_images(*this);
}

void TunedFile::add(const TunedFile& other) {
  for (const TunedKernel& kernel : other.kernels) add(kernel, other.images[kernel.image]);
}

}  // namespace mneme

#include "mneme/record/shape_counts.h"

#include <new>
#include <utility>

namespace mneme {

ShapeCounts::~ShapeCounts() {
  for (Bucket& bucket : buckets_)
    for (Entry* entry = bucket; entry != nullptr;) delete std::exchange(entry, entry->next);
}

size_t ShapeCounts::bucket_of(const ProgramShape& shape) {
  const auto& [grid, block, shared, cooperative, cluster] = shape;
  uint64_t mixed = shared.count + cooperative;
  for (const Dim3& extents : {grid, block, cluster})
    for (const uint64_t extent : {extents.x, extents.y, extents.z}) mixed = mixed * 0x9e3779b97f4a7c15u + extent;
  return (mixed ^ (mixed >> 32)) % kBuckets;
}

ShapeCounts::Entry* ShapeCounts::find(Entry* first, const ProgramShape& shape) {
  while (first != nullptr && first->shape != shape) first = first->next;
  return first;
}

void ShapeCounts::count(const ProgramShape& shape, uint64_t launches) noexcept {
  if (Entry* latest = latest_.load(std::memory_order_acquire); latest != nullptr && latest->shape == shape) {
    latest->launches.fetch_add(launches, std::memory_order_relaxed);
    return;
  }
  Bucket& bucket = buckets_[bucket_of(shape)];
  Entry* first = bucket.load(std::memory_order_acquire);
  if (Entry* known = find(first, shape)) {
    known->launches.fetch_add(launches, std::memory_order_relaxed);
    latest_.store(known, std::memory_order_release);
    return;
  }
  if (shapes_.fetch_add(1) >= kMostShapes) {
    --shapes_;
    return;
  }
  auto* added = new (std::nothrow) Entry{shape, launches, first};
  if (added == nullptr) {
    --shapes_;
    return;
  }
  while (!bucket.compare_exchange_weak(added->next, added, std::memory_order_acq_rel)) {
    // Another thread has added a shape meanwhile, which may be this one.
    Entry* known = find(added->next, shape);
    if (known == nullptr) continue;
    delete added;
    --shapes_;
    known->launches.fetch_add(launches, std::memory_order_relaxed);
    return;
  }
}

uint64_t ShapeCounts::launches(const ProgramShape& shape) const {
  const Entry* known = find(buckets_[bucket_of(shape)].load(std::memory_order_acquire), shape);
  return known == nullptr ? 0 : known->launches.load(std::memory_order_relaxed);
}

}  // namespace mneme

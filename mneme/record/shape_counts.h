// ShapeCounts: how many launches a kernel has had in each shape.
//
// Counting is done at every launch of the program, so it takes no lock, and throws nothing: shapes are only ever added.
// Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "mneme/snapshot/program_shape.h"

namespace mneme {

class ShapeCounts {
 public:
  static constexpr size_t kMostShapes = 1024;  // launches in further shapes are not counted, nor where there is no memory

  ShapeCounts() = default;
  ~ShapeCounts();
  ShapeCounts(const ShapeCounts&) = delete;
  ShapeCounts& operator=(const ShapeCounts&) = delete;

  void count(const ProgramShape& shape, uint64_t launches = 1) noexcept;
  // How many launches of that shape were counted.
  uint64_t launches(const ProgramShape& shape) const;

 private:
  struct Entry {
    ProgramShape shape;
    std::atomic<uint64_t> launches;
    Entry* next;
  };
  using Bucket = std::atomic<Entry*>;
  static size_t bucket_of(const ProgramShape& shape);
  static Entry* find(Entry* first, const ProgramShape& shape);

  static constexpr size_t kBuckets = 128;
  std::array<Bucket, kBuckets> buckets_{};
  Bucket latest_ = nullptr;  // looked at first, since most kernels run in one shape
  std::atomic<size_t> shapes_ = 0;
};

}  // namespace mneme

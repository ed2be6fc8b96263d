// A temporary directory and small recordings for tests of the store.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "mneme/base/testing/temporary_folder.h"
#include "mneme/store/database.h"

namespace mneme {

inline ByteVector noise(size_t size, uint32_t seed) {
  std::mt19937 random(seed);
  ByteVector bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

// Files of this machine on a disk that is full after `allowed` operations which change files.
inline std::unique_ptr<FileSystem> full_after(int allowed) {
  return faulty_file_system(FileSystem::posix(),
                            [left = allowed](std::string_view operation, const Path& where, uint64_t) mutable -> Status {
                              const bool changes = operation != "open" && operation != "read" && operation != "lock";
                              if (!changes || left-- > 0) return {};
                              return error(Code::exhausted, "{} {}: No space left on device", operation, where.string());
                            });
}

struct SampleMemory {
  DevicePtr address;
  ByteVector before, after;
};

// One allocation: the first page noise, the others a pattern that compresses; the launch changes the last byte.
inline SampleMemory sample_memory(uint32_t seed, size_t size = 3 * kPageSize.count + 100) {
  SampleMemory memory{DevicePtr(0x7a0000000000), ByteVector(size, static_cast<std::byte>(seed)), {}};
  ByteVector first = noise(std::min<size_t>(size, kPageSize.count), seed);
  std::copy(first.begin(), first.end(), memory.before.begin());
  memory.after = memory.before;
  memory.after.back() ^= std::byte{0xff};
  return memory;
}

inline Region sample_region(const SampleMemory& memory) {
  Region region{Region::Kind::allocation, memory.address, Bytes(memory.before.size()), "", {}};
  region.pages.resize(page_count(region.range()));
  return region;
}

inline PageBatch batch_of(const ByteVector& content, Region& region) {
  PageBatch batch;
  batch.bytes = std::make_unique<std::byte[]>(content.size());
  std::memcpy(batch.bytes.get(), content.data(), content.size());
  for (uint64_t i = 0; i < region.pages.size(); ++i)
    batch.pages.push_back({page_extent(region.range(), i).size.count, &region.pages[i]});
  return batch;
}

inline KernelRecord sample_kernel(std::string_view name = "kernel") {
  KernelRecord kernel;
  kernel.static_hash = digest_of(std::as_bytes(std::span(name)));
  kernel.name = name;
  kernel.demangled = std::string(name) + "()";
  kernel.target = "nvptx";
  kernel.arch = "sm_90";
  return kernel;
}

inline InstanceRecord sample_instance(const KernelRecord& kernel) {
  InstanceRecord instance;
  instance.static_hash = kernel.static_hash;
  instance.device_kind = "fake";
  instance.device_name = "fake";
  instance.space_base = DevicePtr(0x7a0000000000);
  instance.space_size = 1_GiB;
  instance.recorded_at = "2026-01-01T00:00:00Z";
  instance.mneme_version = "0.1.0";
  return instance;
}

// Publishes one instance of `kernel`; the seed decides its memory.
inline Result<Digest> publish_sample(Database& database, const KernelRecord& kernel, const SampleMemory& memory,
                                     const PublicationOptions& options = {}) {
  MNEME_ASSIGN(auto publication, database.begin_publication(options));
  Recording recording{kernel, noise(500, 7), sample_instance(kernel), {}, {}, {}};
  Region before = sample_region(memory), after = sample_region(memory);
  MNEME_TRY(publication->put(batch_of(memory.before, before)));
  MNEME_TRY(publication->put(batch_of(memory.after, after)));
  MNEME_TRY(publication->wait());
  recording.prologue.regions = {before};
  recording.epilogue.regions = {after};
  recording.instance.state_bytes = recording.prologue.bytes();
  recording.instance.dynamic_hash = dynamic_hash(recording.instance, recording.prologue);
  MNEME_TRY(publication->commit(recording));
  return recording.instance.dynamic_hash;
}

inline Result<ByteVector> read_region(const Database& database, const Region& region) {
  ByteVector bytes(region.size.count);
  std::vector<PageRequest> requests;
  for (uint64_t i = 0; i < region.pages.size(); ++i) {
    MemoryRange extent = page_extent(region.range(), i);
    requests.push_back(
        {region.pages[i], MutableByteSpan(bytes).subspan((extent.address - region.address).count, extent.size.count)});
  }
  MNEME_TRY(database.read_pages(requests));
  return bytes;
}

}  // namespace mneme

// A recording made by hand, for tests: IR as text, memory before and after, and a launch.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "mneme/store/database.h"

namespace mneme::testing_store {

// Where recorded memory begins, as on a GPU.
inline constexpr DevicePtr kMadeSpaceBase{0x7a0000000000};

template <class T>
ByteVector bytes_of(const std::vector<T>& values) {
  auto first = reinterpret_cast<const std::byte*>(values.data());
  return {first, first + values.size() * sizeof(T)};
}

struct MadeRegion {
  Region::Kind kind = Region::Kind::allocation;
  DevicePtr address;
  std::string name;
  ByteVector before, after;
  // Of a region too large to be made: every page is `page`, but for one after the launch.
  Bytes size{};
  ByteVector page{}, changed_page{};
  uint64_t changed_index = 0;
};

struct MadeRecording {
  KernelRecord kernel;  // static_hash, parameter_bytes and images are filled in
  std::string ir;
  std::vector<std::pair<CodeImageRecord::Kind, ByteVector>> images = {};
  Dim3 grid, block;
  std::vector<MadeRegion> regions;  // by address
  ByteVector parameters;
  Dim3 cluster = kNoCluster;
  std::map<std::string, std::string> attributes = {};

  template <class T>
  void argument(Parameter::Kind kind, const std::string& name, const std::string& type, const T& value) {
    const size_t offset = (parameters.size() + alignof(T) - 1) / alignof(T) * alignof(T);
    parameters.resize(offset + sizeof(T));
    std::memcpy(parameters.data() + offset, &value, sizeof(T));
    kernel.parameters.push_back({kind, name, type, offset, sizeof(T), alignof(T)});
  }
  void pointer(const std::string& name, DevicePtr value) { argument(Parameter::Kind::pointer, name, "ptr", value.address); }
};

// A database in a folder of the test's own.
class MadeDatabase {
 public:
  MadeDatabase() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    directory_ = std::filesystem::temp_directory_path() /
                 fmt::format("mneme-{}-{}-{}-{}", test->test_suite_name(), test->name(), ::getpid(), ++count_);
  }
  ~MadeDatabase() { std::filesystem::remove_all(directory_); }

  Result<InstanceRecord> publish(const MadeRecording& made) {
    MNEME_ASSIGN(Database database, Database::create(directory_));
    MNEME_ASSIGN(auto publication, database.begin_publication());
    Recording recording;
    recording.kernel = made.kernel;
    recording.kernel.static_hash = digest_of(std::as_bytes(std::span(made.ir)));
    if (!made.images.empty())
      recording.kernel.static_hash =
          Hasher().add(to_string(made.kernel.level)).add(ByteSpan(made.images[0].second)).add(made.ir).finish();
    for (const auto& [kind, code] : made.images) {
      recording.kernel.images.push_back({kind, digest_of(code), Bytes(code.size())});
      recording.images.push_back(code);
    }
    if (made.kernel.target.empty()) recording.kernel.target = "nvptx";
    if (made.kernel.arch.empty()) recording.kernel.arch = "sm_90";
    recording.kernel.parameter_bytes = made.parameters.size();
    auto ir = std::as_bytes(std::span(made.ir));
    recording.ir = ByteVector(ir.begin(), ir.end());
    for (const MadeRegion& region : made.regions) {
      if (region.size != Bytes()) {
        MNEME_TRY(put_large(*publication, region, recording));
        continue;
      }
      put(*publication, region, region.before, recording.prologue);
      put(*publication, region, region.after, recording.epilogue);
    }
    MNEME_TRY(publication->wait());
    InstanceRecord& instance = recording.instance;
    instance.static_hash = recording.kernel.static_hash;
    instance.grid = made.grid;
    instance.block = made.block;
    instance.cluster = made.cluster;
    instance.attributes = made.attributes;
    instance.parameters = made.parameters;
    instance.device_kind = "cpu";
    instance.device_name = "test";
    instance.space_base = kMadeSpaceBase;
    instance.space_size = 8_GiB;
    instance.state_bytes = recording.prologue.bytes();
    instance.recorded_at = "2026-01-01T00:00:00Z";
    instance.mneme_version = "0.1.0";
    instance.dynamic_hash = dynamic_hash(instance, recording.prologue);
    MNEME_TRY(publication->commit(recording));
    return instance;
  }

  const Path& directory() const { return directory_; }

 private:
  static Status put_large(Publication& publication, const MadeRegion& made, Recording& recording) {
    PageBatch batch{std::make_unique<std::byte[]>(2 * kPageSize.count), {}};
    std::memcpy(batch.bytes.get(), made.page.data(), kPageSize.count);
    std::memcpy(batch.bytes.get() + kPageSize.count, made.changed_page.data(), kPageSize.count);
    Digest page, changed;
    batch.pages = {{kPageSize.count, &page}, {kPageSize.count, &changed}};
    MNEME_TRY(publication.put(std::move(batch)));
    MNEME_TRY(publication.wait());
    Region region{made.kind, made.address, made.size, made.name, {}};
    region.pages.assign(page_count(region.range()), page);
    recording.prologue.regions.push_back(region);
    region.pages[made.changed_index] = changed;
    recording.epilogue.regions.push_back(region);
    return {};
  }

  void put(Publication& publication, const MadeRegion& made, const ByteVector& bytes, MemoryState& state) {
    Region region{made.kind, made.address, Bytes(bytes.size()), made.name, {}};
    region.pages.resize(page_count(region.range()));
    state.regions.push_back(region);
    PageBatch batch{std::make_unique<std::byte[]>(bytes.size()), {}};
    std::memcpy(batch.bytes.get(), bytes.data(), bytes.size());
    // The digests are filled in by wait(): the vector of pages moves with its region.
    for (size_t i = 0; i < region.pages.size(); ++i)
      batch.pages.push_back({page_extent(region.range(), i).size.count, &state.regions.back().pages[i]});
    EXPECT_TRUE(publication.put(std::move(batch)).ok());
  }

  Path directory_;
  static inline int count_ = 0;
};

}  // namespace mneme::testing_store

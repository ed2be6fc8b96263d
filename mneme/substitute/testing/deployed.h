// Deployed: a test with one kernel of a program, scale(int*, int*, int), code for it, and a front whose device is host memory.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <list>
#include <set>

#include "mneme/runtime/testing/device_image.h"
#include "mneme/substitute/allocations.h"
#include "mneme/substitute/deployed_code.h"

namespace mneme::testing {

// What a front is asked, in the place of a device.
class FakeLoader final : public TrialDevice {
 public:
  std::string_view device_kind() const override { return "cuda"; }
  int current_device() override { return ordinal; }
  Result<std::string> architecture(int) override { return std::string(ordinal == 3 ? "sm_80" : "sm_90"); }
  Result<std::vector<uint64_t>> parameter_sizes(const void*, const RegisteredKernel&) override { return sizes; }
  Result<MemoryRange> find_variable(const void*, const RegisteredKernel&, const std::string& name) override {
    if (name != "offsets") return error(Code::not_found, "there is no variable {}", name);
    return variable;
  }
  bool is_capturing(void* stream) override { return stream != nullptr; }
  std::optional<MemoryRange> allocation_of(DevicePtr address) override { return memory.find(address); }
  Result<Loaded> load(ByteSpan image, const std::string& kernel) override {
    ++loads;
    if (image.size() == 3) return error(Code::device_fault, "cudaLibraryLoadData returned 200");
    return Loaded{reinterpret_cast<void*>(static_cast<uintptr_t>(loads)), const_cast<std::byte*>(image.data())};
  }
  Status write_addresses(const Loaded&, std::span<const uint64_t> addresses) override {
    written.assign(addresses.begin(), addresses.end());
    return {};
  }
  Status allow_shared_memory(const Loaded& code, int, Bytes size) override {
    allowed = size;
    large_shared.insert(code.library);
    return {};
  }
  Status allow_large_clusters(const Loaded& code, int) override {
    ++large_clusters;
    large.insert(code.library);
    return {};
  }

  Result<Bytes> free_memory() override { return free; }
  Result<DevicePtr> allocate(Bytes size) override {
    if (size > largest_block) return error(Code::device_fault, "cudaMalloc returned 2");
    const auto& block = blocks.emplace_back(size.count);
    memory.add({DevicePtr(reinterpret_cast<uint64_t>(block.data())), size});
    return DevicePtr(reinterpret_cast<uint64_t>(block.data()));
  }
  void release(DevicePtr block) override {
    memory.remove(block);
    blocks.remove_if([&](const ByteVector& one) { return reinterpret_cast<uint64_t>(one.data()) == block.address; });
  }
  Status copy(DevicePtr to, DevicePtr from, Bytes size, void*) override {
    std::memcpy(reinterpret_cast<void*>(to.address), reinterpret_cast<void*>(from.address), size.count);
    return {};
  }
  Status read(std::byte* to, DevicePtr from, Bytes size, void*) override {
    std::memcpy(to, reinterpret_cast<void*>(from.address), size.count);
    return {};
  }
  Status write(DevicePtr to, const std::byte* from, Bytes size, void*) override {
    std::memcpy(reinterpret_cast<void*>(to.address), from, size.count);
    return {};
  }
  Result<double> time(void*, const std::function<Status()>& launch) override {
    MNEME_TRY(launch());
    const double taken = times.front();
    times.pop_front();
    return taken;
  }
  bool is_memory(DevicePtr address) override { return memory.find(address) || unknown.contains(address); }
  bool reaches_host_memory() override { return false; }

  int ordinal = 0, loads = 0, large_clusters = 0;
  Bytes free = 1_GiB, largest_block = 1_GiB;
  std::list<ByteVector> blocks;
  std::deque<double> times;  // of the launches that come
  MemoryRange unknown;       // memory of which nothing but that is known
  MemoryRange variable{DevicePtr(0x1000), Bytes(8)};
  std::vector<uint64_t> sizes{8, 8, 4}, written;
  Bytes allowed;
  std::set<void*> large_shared, large;  // libraries, by the number of their load, to which each was allowed
  Allocations memory;
};

class Deployed : public ::testing::Test {
 protected:
  explicit Deployed(const TestSegment& scale = {.name = "scale"}) {
    const TestSegment other{.name = "other", .hash = 8};
    fat_binary_ = make_fat_binary({{2, 90, make_device_elf({scale.build(), other.build()})}});
    wrapper_.fat_binary = fat_binary_.data();
    handle_ = reinterpret_cast<void**>(&handle_);
    registry_.add_image(handle_, 0, &wrapper_);
    registry_.add_function(handle_, &scale_, "scale");
    registry_.add_function(handle_, &other_, "other");
    code_.static_hash = (*registry_.find_kernel(&scale_)->segment())->static_hash;
    code_.name = "scale";
    code_.demangled = "scale(int*, int*, int)";
    code_.device = "cuda";
    code_.architecture = "sm_90";
    code_.rule = {LaunchRule::Covers::block, {{4, 1, 1}, {128, 1, 1}}, {{8, 1, 1}, {64, 1, 1}}};
  }

  ProgramLaunch launch_of(const ProgramShape& shape) const {
    return {&scale_, shape, const_cast<void* const*>(reinterpret_cast<const void* const*>(arguments_))};
  }
  std::optional<DeployedCode::Substitute> launch(DeployedCode& deployed, const ProgramLaunch& made) {
    const auto* const found = deployed.find(made, registry_, loader_);
    if (!found) return std::nullopt;
    deployed.end(*found);
    return *found;
  }
  std::optional<DeployedCode::Substitute> launch(DeployedCode& deployed, const ProgramShape& shape = {{4, 1, 1}, {128, 1, 1}}) {
    return launch(deployed, launch_of(shape));
  }

  std::unique_ptr<DeployedCode> deploy(size_t bytes = 16, TrialOptions trials = {}) const {
    TunedFile file;
    file.add(code_, ByteVector(bytes));
    return std::make_unique<DeployedCode>(std::move(file), "app.tuned", trials);
  }

  Registry registry_;
  FakeLoader loader_;
  TunedKernel code_;
  char scale_ = 0, other_ = 0;
  uint64_t a_ = 0x7000, b_ = 0x9000;
  int count_ = 5;
  const void* arguments_[3] = {&a_, &b_, &count_};

 private:
  ByteVector fat_binary_;
  TestWrapper wrapper_;
  void** handle_ = nullptr;
};

}  // namespace mneme::testing

#include "mneme/device/host_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>

namespace mneme {
namespace {

void* pointer_to(DevicePtr p) { return reinterpret_cast<void*>(p.address); }

constexpr int kReserved = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

// First touches are several times faster; a system without large pages goes on without.
void prefer_large_pages(void* memory, uint64_t size) { (void)::madvise(memory, size, MADV_HUGEPAGE); }

class HostAddressSpace final : public AddressSpace {
 public:
  HostAddressSpace(DevicePtr base, Bytes size, Bytes granularity) : AddressSpace(base, size, granularity) {}
  ~HostAddressSpace() override { ::munmap(pointer_to(base()), size().count); }

 protected:
  Status map_impl(DevicePtr address, Bytes size) override {
    if (::mprotect(pointer_to(address), size.count, PROT_READ | PROT_WRITE) == 0) {
      prefer_large_pages(pointer_to(address), size.count);
      return {};
    }
    return error(Code::exhausted, "making {} of host memory accessible at {}: {}", size, address, std::strerror(errno));
  }
  Status unmap_impl(DevicePtr address, Bytes size) override {
    // A fresh mapping in place drops the pages, so that they read as zero when they come back.
    if (::mmap(pointer_to(address), size.count, PROT_NONE, kReserved | MAP_FIXED, -1, 0) != MAP_FAILED) return {};
    return error(Code::io, "giving back {} of host memory at {}: {}", size, address, std::strerror(errno));
  }
};

class MappedRange final : public HostMapping {
 public:
  MappedRange(DevicePtr address, Bytes size) : HostMapping(address, size) {}
  ~MappedRange() override { ::munmap(pointer_to(address()), size().count); }
};

class HostBuffer final : public PinnedMemory {
 public:
  explicit HostBuffer(MutableByteSpan bytes) : PinnedMemory(bytes) {}
  ~HostBuffer() override { ::munmap(bytes().data(), bytes().size()); }
};

Status map_exactly(DevicePtr base, Bytes size, int protection, const std::string& what) {
  void* got = ::mmap(pointer_to(base), size.count, protection, kReserved | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == pointer_to(base)) return {};
  const int reason = errno;
  // A kernel older than MAP_FIXED_NOREPLACE takes the address for a hint.
  if (got != MAP_FAILED) ::munmap(got, size.count);
  if (got != MAP_FAILED || reason == EEXIST) {
    return error(Code::unavailable, "{}: the range is taken in this process by {}", what, mappings_in(base, size));
  }
  return error(Code::unavailable, "{}: {}; a limit on address space (ulimit -v) may be in the way", what, std::strerror(reason));
}

}  // namespace

Result<std::unique_ptr<AddressSpace>> reserve_host_range(DevicePtr base, Bytes size, Bytes granularity) {
  const std::string what = fmt::format("reserving {} at {}", size, base);
  if (size.count == 0 || base.address % granularity.count != 0 || size.count % granularity.count != 0) {
    return error(Code::invalid_argument, "{}: address and size must be multiples of {}", what, granularity);
  }
  if (base.address + size.count < base.address) return error(Code::invalid_argument, "{}: the range wraps around", what);
  MNEME_TRY(map_exactly(base, size, PROT_NONE, what));
  return std::unique_ptr<AddressSpace>(std::make_unique<HostAddressSpace>(base, size, granularity));
}

Result<std::unique_ptr<HostMapping>> map_host_range(DevicePtr address, Bytes size) {
  const std::string what = fmt::format("mapping {} of host memory at {}", size, address);
  if (size.count == 0 || address.address % kHostPage.count != 0 || size.count % kHostPage.count != 0)
    return error(Code::invalid_argument, "{}: address and size must be multiples of {}", what, kHostPage);
  if (address.address + size.count < address.address) return error(Code::invalid_argument, "{}: the range wraps around", what);
  MNEME_TRY(map_exactly(address, size, PROT_READ | PROT_WRITE, what));
  return std::unique_ptr<HostMapping>(new MappedRange(address, size));
}

std::string mappings_in(DevicePtr base, Bytes size) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> maps(std::fopen("/proc/self/maps", "re"), std::fclose);
  if (!maps) return "(/proc/self/maps cannot be read)";
  std::string owners;
  char line[4352];
  constexpr int kMost = 3;
  int count = 0;
  while (std::fgets(line, sizeof line, maps.get()) != nullptr) {
    uint64_t begin = 0, end = 0;
    int name = 0;
    if (std::sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %*s %*s %*s %n", &begin, &end, &name) != 2) continue;
    if (begin >= base.address + size.count || end <= base.address) continue;
    if (++count > kMost) continue;
    std::string owner = line + name;
    if (!owner.empty() && owner.back() == '\n') owner.pop_back();
    owners += fmt::format("{}{:#x}-{:#x} {}", owners.empty() ? "" : ", ", begin, end, owner.empty() ? "(anonymous)" : owner);
  }
  if (count > kMost) owners += fmt::format(" and {} more", count - kMost);
  return owners;
}

Result<std::unique_ptr<PinnedMemory>> allocate_pinned_host_memory(Bytes size) {
  void* memory = ::mmap(nullptr, size.count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return error(Code::exhausted, "allocating {} of host memory: {}", size, std::strerror(errno));
  prefer_large_pages(memory, size.count);
  return std::unique_ptr<PinnedMemory>(new HostBuffer({static_cast<std::byte*>(memory), size.count}));
}

HostAllocator::~HostAllocator() {
  for (const auto& [address, size] : sizes_) ::munmap(pointer_to(DevicePtr(address)), size);
}

Result<DevicePtr> HostAllocator::allocate(Bytes size) {
  if (size.count == 0) return error(Code::invalid_argument, "allocating host memory: the size is 0");
  constexpr uint64_t kPage = 4096;
  const uint64_t mapped = (size.count + kPage - 1) / kPage * kPage;
  void* memory = mapped < size.count ? MAP_FAILED : ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, kReserved, -1, 0);
  if (memory == MAP_FAILED) return error(Code::exhausted, "allocating {} of host memory: {}", size, std::strerror(ENOMEM));
  prefer_large_pages(memory, mapped);
  std::lock_guard lock(mutex_);
  sizes_.emplace(reinterpret_cast<uint64_t>(memory), mapped);
  return DevicePtr(reinterpret_cast<uint64_t>(memory));
}

Status HostAllocator::free(DevicePtr pointer) {
  std::lock_guard lock(mutex_);
  auto found = sizes_.find(pointer.address);
  if (found == sizes_.end()) return error(Code::invalid_argument, "freeing {}: it was not allocated on this device", pointer);
  ::munmap(pointer_to(pointer), found->second);
  sizes_.erase(found);
  return {};
}

}  // namespace mneme

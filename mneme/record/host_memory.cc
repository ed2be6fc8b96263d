#include "mneme/record/host_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "mneme/base/log.h"
#include "mneme/device/host_memory.h"
#include "mneme/snapshot/snapshot.h"

namespace mneme {
namespace {

bool is_readable(DevicePtr address) {
  std::byte byte;
  return read_own_memory({&byte, 1}, address).ok();
}

}  // namespace

Result<DevicePtr> HostMemory::serve(Bytes size) {
  std::lock_guard lock(mutex_);
  if (!tried_) {
    tried_ = true;
    auto space = reserve_host_range(kHostMemoryBase, range_, kPageSize);
    if (space.ok())
      space_ = std::move(*space);
    else
      log::warning("host memory for the device is not recorded: {}", space.status().message());
  }
  if (!space_) return error(Code::unavailable, "there is no range for host memory");
  if (size > range_) return error(Code::exhausted, "{} of host memory are more than the range has", size);
  // Memory of a page comes and goes as one: what is served again reads as zero.
  return space_->allocate(size, kPageSize);
}

void HostMemory::take_back(DevicePtr address) {
  std::lock_guard lock(mutex_);
  if (space_) [[maybe_unused]]
    Status ignored = space_->free(address);
}

bool HostMemory::owns(uint64_t address) const {
  std::lock_guard lock(mutex_);
  return space_ && space_->contains(DevicePtr(address));
}

void HostMemory::add(DevicePtr address, Bytes size, unsigned flags) {
  std::lock_guard lock(mutex_);
  pinned_.set({address, size}, flags);
}

std::optional<HostMemory::Pinned> HostMemory::remove(DevicePtr address) {
  std::lock_guard lock(mutex_);
  const auto* found = pinned_.find_start(address);
  if (!found) return std::nullopt;
  ++removals_;
  const Pinned pinned{found->range.size, found->value};
  pinned_.erase_start(address);
  return pinned;
}

std::optional<HostMemory::Pinned> HostMemory::find(DevicePtr address) const {
  std::lock_guard lock(mutex_);
  const auto* found = pinned_.find_start(address);
  return found ? std::optional(Pinned{found->range.size, found->value}) : std::nullopt;
}

std::optional<MemoryRange> HostMemory::find_around(DevicePtr address) const {
  std::lock_guard lock(mutex_);
  const auto* found = pinned_.find(address);
  return found ? std::optional(found->range) : std::nullopt;
}

std::vector<MemoryRange> HostMemory::all() {
  std::lock_guard lock(mutex_);
  std::vector<MemoryRange> all;
  DevicePtr end;
  for (auto entry = pinned_.begin(); entry != pinned_.end();) {
    const MemoryRange memory = entry->range;
    const DevicePtr last = memory.address + Bytes(memory.size.count - 1);
    const bool served = space_ && space_->contains(memory.address);
    // What the program has mapped there since is none of the device's.
    if (memory.address < end || (!served && !(is_readable(memory.address) && is_readable(last)))) {
      entry = pinned_.erase(entry);
      continue;
    }
    all.push_back(memory);
    end = memory.end();
    ++entry;
  }
  return all;
}

Bytes HostMemory::bytes() const {
  std::lock_guard lock(mutex_);
  Bytes sum;
  for (const auto& [memory, flags] : pinned_) sum += memory.size;
  return sum;
}

uint64_t HostMemory::removals() const {
  std::lock_guard lock(mutex_);
  return removals_;
}

std::vector<DevicePtr> HostMemory::clear() {
  std::lock_guard lock(mutex_);
  std::vector<DevicePtr> all;
  for (const auto& [memory, flags] : pinned_) all.push_back(memory.address);
  pinned_.clear();
  ++removals_;
  return all;
}

Status read_own_memory(MutableByteSpan to, DevicePtr from) {
  // Through the file, since the program may take its memory away at any moment.
  static const int file = ::open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
  for (size_t done = 0; done < to.size();) {
    const ssize_t got = ::pread(file, to.data() + done, to.size() - done, static_cast<off_t>(from.address + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0)
      return error(Code::not_found, "reading host memory at {}: {}", from + Bytes(done), std::strerror(got < 0 ? errno : EIO));
    done += static_cast<size_t>(got);
  }
  return {};
}

}  // namespace mneme

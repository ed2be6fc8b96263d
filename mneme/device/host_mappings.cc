#include "mneme/device/host_mappings.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <string>
#include <string_view>

namespace mneme {
namespace {

// What drivers map for themselves and for their devices, what the system maps, and the code of kernels (CpuModule::load()).
constexpr std::array<std::string_view, 5> kNoData = {"/dev/nvidia", "/dev/dri/", "/dev/kfd", "[v", "/memfd:mneme-kernel"};

// A stack may be executable, and is data all the same.
bool is_data_of(std::string_view rights, std::string_view name) {
  const bool is_code = rights[2] == 'x' && rights[1] != 'w';
  return rights[0] == 'r' && !is_code &&
         std::ranges::none_of(kNoData, [&](std::string_view one) { return name.starts_with(one); });
}

}  // namespace

HostMappings HostMappings::now() {
  std::FILE* file = std::fopen("/proc/self/maps", "re");
  if (!file) return {};
  HostMappings all = read(file);
  std::fclose(file);
  return all;
}

HostMappings HostMappings::read(std::FILE* file) {
  HostMappings all;
  char line[512];
  bool begins = true;  // a line that is longer than the buffer goes on
  while (std::fgets(line, sizeof line, file)) {
    uint64_t begin = 0, end = 0;
    char rights[5] = {};
    int name = 0;  // where it begins, behind rights, offset, device and inode
    if (begins && std::sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %*s %n", &begin, &end, rights, &name) == 3) {
      // The system tells some pages of lines at a time. What another thread has changed between two of them may be told twice:
      // a heap that has grown comes again, whole.
      if (!all.mappings_.empty()) begin = std::max(begin, all.mappings_.back().end);
      if (begin < end) all.mappings_.push_back({begin, end, rights[1] == 'w', is_data_of(rights, line + name)});
    }
    begins = std::char_traits<char>::find(line, std::char_traits<char>::length(line), '\n') != nullptr;
  }
  all.known_ = !all.mappings_.empty();
  return all;
}

const HostMappings::Mapping* HostMappings::find(uint64_t address) const {
  if (mappings_.empty() || address < mappings_.front().begin || address >= mappings_.back().end) return nullptr;
  const auto behind = std::upper_bound(mappings_.begin(), mappings_.end(), address,
                                       [](uint64_t at, const Mapping& mapping) { return at < mapping.begin; });
  const Mapping& mapping = *(behind - 1);
  return address < mapping.end ? &mapping : nullptr;
}

bool HostMappings::holds(uint64_t address) const { return !known_ || find(address) != nullptr; }

bool HostMappings::is_writable(uint64_t address) const {
  if (!known_) return true;
  const Mapping* mapping = find(address);
  return mapping && mapping->writable;
}

bool HostMappings::is_data(uint64_t address) const {
  const Mapping* mapping = find(address);
  return mapping && mapping->data;
}

std::vector<MemoryRange> HostMappings::data() const {
  std::vector<MemoryRange> all;
  for (const Mapping& mapping : mappings_) {
    if (!mapping.data) continue;
    if (all.empty() || all.back().end() != DevicePtr(mapping.begin)) all.push_back({DevicePtr(mapping.begin), {}});
    all.back().size = DevicePtr(mapping.end) - all.back().address;
  }
  return all;
}

bool may_be_readable(uint64_t address) {
  char byte = 0;
  const iovec to{&byte, 1}, from{reinterpret_cast<void*>(address), 1};
  const ssize_t got = ::process_vm_readv(::getpid(), &to, 1, &from, 1, 0);
  return got == 1 || (got < 0 && errno != EFAULT);
}

}  // namespace mneme

#include "mneme/substitute/host_mappings.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <string>

namespace mneme {

HostMappings HostMappings::now() {
  HostMappings all;
  std::FILE* file = std::fopen("/proc/self/maps", "re");
  if (!file) return all;
  char line[512];
  bool begins = true;  // a line that is longer than the buffer goes on
  while (std::fgets(line, sizeof line, file)) {
    uint64_t begin = 0, end = 0;
    char rights[5] = {};
    if (begins && std::sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s", &begin, &end, rights) == 3)
      all.mappings_.push_back({begin, end, rights[1] == 'w'});
    begins = std::char_traits<char>::find(line, std::char_traits<char>::length(line), '\n') != nullptr;
  }
  std::fclose(file);
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

}  // namespace mneme

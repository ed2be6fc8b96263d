// HostMappings: which addresses of this process are taken, and by what. Those of device memory are among them, since a driver
// that has one address space for host and devices reserves them.
#pragma once

#include <cstdint>
#include <cstdio>
#include <vector>

#include "mneme/base/memory_range.h"

namespace mneme {

class HostMappings {
 public:
  // As they are now. Without /proc nothing is known, and every address counts as taken and writable.
  static HostMappings now();
  // From lines such as /proc/self/maps has. No two of the mappings overlap, whatever stands there.
  static HostMappings read(std::FILE* file);

  bool holds(uint64_t address) const;
  bool is_writable(uint64_t address) const;
  // Whether an address lies in the host's data: memory that the process may read, and that is neither code, nor a driver's, nor
  // of a kernel's code on the CPU device. Of what is not known nothing is.
  bool is_data(uint64_t address) const;
  // All of the host's data, by address. Ranges that touch are one.
  std::vector<MemoryRange> data() const;

 private:
  struct Mapping {
    uint64_t begin, end;
    bool writable, data;
  };
  const Mapping* find(uint64_t address) const;

  bool known_ = false;
  std::vector<Mapping> mappings_;  // by address
};

// Whether the byte at the address can be read now, without a fault where it cannot. True where the system does not tell.
bool may_be_readable(uint64_t address);

}  // namespace mneme

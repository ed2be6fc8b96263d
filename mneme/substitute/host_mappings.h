// HostMappings: which addresses of this process are taken. Those of device memory are among them, since a driver that has one
// address space for host and devices reserves them.
#pragma once

#include <cstdint>
#include <vector>

namespace mneme {

class HostMappings {
 public:
  // As they are now. Without /proc nothing is known, and every address counts as taken and writable.
  static HostMappings now();

  bool holds(uint64_t address) const;
  bool is_writable(uint64_t address) const;

 private:
  struct Mapping {
    uint64_t begin, end;
    bool writable;
  };
  const Mapping* find(uint64_t address) const;

  bool known_ = false;
  std::vector<Mapping> mappings_;  // by address
};

}  // namespace mneme

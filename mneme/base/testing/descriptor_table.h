// What the kernel says of this process's table of descriptors.
#pragma once

#include <fstream>
#include <string>

namespace mneme::testing_base {

inline size_t size_of_descriptor_table() {
  std::ifstream status("/proc/self/status");
  std::string word;
  size_t size = 0;
  while (status >> word && word != "FDSize:") continue;
  status >> size;
  return size;
}

}  // namespace mneme::testing_base

// What is removed of a database, and what checking all of it has found.
#pragma once

#include <string>
#include <vector>

#include "mneme/base/types.h"

namespace mneme {

// Whether files are removed, or only told.
enum class Deed { tell, remove };

struct RemovedFile {
  std::string name;  // within the database's folder
  std::string why;
  Bytes bytes;           // that are given back
  bool in_part = false;  // a pack of pages that is written anew with those that are needed
};

struct Cleaned {
  std::vector<RemovedFile> files;
  std::vector<std::string> left;  // what was left, and why
  Bytes bytes() const {
    Bytes sum;
    for (const RemovedFile& file : files) sum += file.bytes;
    return sum;
  }
};

struct CheckedDatabase {
  size_t kernels = 0, instances = 0, pages = 0;
  std::vector<std::string> damage;  // messages
  std::vector<std::string> lost;    // instances and kernels that are damaged: what repairing takes out of the lists
  Cleaned repair;                   // what repairing removes
  bool sound() const { return damage.empty() && repair.files.empty(); }
};

}  // namespace mneme

// IrNotes: what was found of a kernel's IR whatever the configuration, kept in the cache on disk, so that the IR need not be
// parsed for it again.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "mneme/base/disk_cache.h"
#include "mneme/compile/pointer_use.h"

namespace mneme {

// The notes of one kernel. What is damaged is not there.
class IrNotes {
 public:
  // Where `cache` is null nothing is kept. `ir` is the digest of the IR, `architecture` as find_pointer_use() takes it.
  IrNotes(std::shared_ptr<DiskCache> cache, const Digest& ir, const std::string& kernel, const std::string& architecture);

  // ir::required_block(): nothing: it is not known; nothing in it: none is required.
  std::optional<std::optional<Dim3>> required_block() const;
  void put_required_block(const std::optional<Dim3>& block) const;
  // find_pointer_use(), where that found something.
  std::optional<PointerUse> pointer_use() const;
  void put_pointer_use(const PointerUse& use) const;

 private:
  Digest key(std::string_view what) const;

  std::shared_ptr<DiskCache> cache_;
  Digest of_;
};

}  // namespace mneme

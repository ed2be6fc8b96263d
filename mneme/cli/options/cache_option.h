// CacheOption: --no-cache of the subcommands, and the cache of compiled code that they use without it.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>

#include "mneme/base/disk_cache.h"
#include "mneme/base/status.h"

namespace mneme::cli {

class CacheOption {
 public:
  void declare(CLI::App& app);
  // The cache; null with --no-cache, and where no folder for one is known, of which it warns. invalid_argument: MNEME_CACHE_SIZE
  // is no size.
  Result<std::shared_ptr<DiskCache>> open() const;

 private:
  bool none_ = false;
};

}  // namespace mneme::cli

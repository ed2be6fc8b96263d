#include "mneme/cli/options/cache_option.h"

#include "mneme/base/log.h"

namespace mneme::cli {

void CacheOption::declare(CLI::App& app) {
  app.add_flag("--no-cache", none_, "compile everything; the cache of compiled code is neither read nor written");
}

Result<std::shared_ptr<DiskCache>> CacheOption::open() const {
  if (none_) return std::shared_ptr<DiskCache>();
  auto place = CachePlace::from_environment();
  if (place.ok()) return std::make_shared<DiskCache>(std::move(*place));
  if (place.status().code() != Code::not_found) return place.status();
  log::warning("no cache of compiled code is used: {}", place.status().message());
  return std::shared_ptr<DiskCache>();
}

}  // namespace mneme::cli

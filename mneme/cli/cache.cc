// mneme cache: the cache of compiled code.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "mneme/base/disk_cache.h"
#include "mneme/base/shown.h"
#include "mneme/cli/options/command.h"
#include "mneme/cli/output.h"

namespace mneme::cli {
namespace {

class CacheCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    app.add_flag("--clear", clear_, "remove every entry");
    app.add_flag("--json", json_, "one JSON object instead of lines");
    app.footer("MNEME_CACHE_DIR says where it is, MNEME_CACHE_SIZE how large it may become (500M, 4G).");
  }

  int run() override {
    auto place = CachePlace::from_environment();
    if (!place.ok()) return report(place.status());
    DiskCache cache(*place);
    if (clear_) {
      if (auto removed = cache.clear(); !removed.ok()) return report(removed.status());
    }
    const DiskCache::Usage usage = cache.usage();
    if (json_)
      write_output(to_text(nlohmann::json{{"directory", place->folder.string()},
                                          {"entries", usage.entries},
                                          {"size", usage.size.count},
                                          {"limit", place->limit.count}}));
    else
      print("{}\n{} entries, {} of at most {}\n", shown(place->folder.string(), 0), usage.entries, usage.size, place->limit);
    return 0;
  }

 private:
  bool clear_ = false, json_ = false;
};

const Registration registration({.name = "cache",
                                 .summary = "where compiled code is kept, how much of it, and --clear",
                                 .examples = {{"mneme cache", "where it is, and how much is in it"},
                                              {"mneme cache --clear", "give the space back"}}},
                                [] { return std::make_unique<CacheCommand>(); });

}  // namespace
}  // namespace mneme::cli

// What compiling a configuration costs: the work of one compile worker of a pool, with no device, again and again. Each
// configuration is translated, and assembled with as many as `--together` says. Prints milliseconds by stage, as results have
// them, and what the process took of a processor.
//
//   mneme_bench_compile_rate [--rounds N] [--together N] [--every N | --workers N] [--architecture sm_90] DATABASE STATIC_HASH
//   DYNAMIC_HASH AXIS ...
//
// With --every N it takes every N-th configuration of the grid, as one of N workers that take turns would. With --workers N it
// takes what a pool gives the first of N workers that are equally fast. Each round begins with a compiler that remembers nothing.
//
// An AXIS is written as for `mneme sweep --grid`.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "mneme/compile/backend.h"
#include "mneme/pool/compile_work.h"
#include "mneme/pool/job.h"
#include "mneme/pool/recorded_kernel.h"
#include "mneme/pool/translation_homes.h"
#include "mneme/pool/warm_up.h"
#include "mneme/sweep/grid.h"

namespace mneme {
namespace {

struct Options {
  unsigned rounds = 3, together = 1, every = 1, workers = 1;
  std::string architecture = "sm_90";
  PoolSetup setup;
  std::vector<GridAxis> axes;
};

Result<Options> read_options(std::vector<std::string> words) {
  Options options;
  while (words.size() >= 2 && words[0].starts_with("--")) {
    if (words[0] == "--rounds") options.rounds = static_cast<unsigned>(std::atoi(words[1].c_str()));
    if (words[0] == "--together") options.together = static_cast<unsigned>(std::atoi(words[1].c_str()));
    if (words[0] == "--every") options.every = static_cast<unsigned>(std::max(1, std::atoi(words[1].c_str())));
    if (words[0] == "--workers") options.workers = static_cast<unsigned>(std::max(1, std::atoi(words[1].c_str())));
    if (words[0] == "--architecture") options.architecture = words[1];
    words.erase(words.begin(), words.begin() + 2);
  }
  if (words.size() < 3) return error(Code::invalid_argument, "DATABASE, STATIC_HASH and DYNAMIC_HASH are needed");
  options.setup.database = words[0];
  MNEME_ASSIGN(options.setup.static_hash, Digest::from_hex(words[1]));
  MNEME_ASSIGN(options.setup.instances.emplace_back(), Digest::from_hex(words[2]));
  MNEME_ASSIGN(options.setup.device_kind, kind_of_architecture(options.architecture));
  for (size_t i = 3; i < words.size(); ++i) {
    MNEME_ASSIGN(GridAxis axis, parse_axis(words[i]));
    options.axes.push_back(std::move(axis));
  }
  return options;
}

class Processor {
 public:
  Processor() { ::getrusage(RUSAGE_SELF, &begin_); }
  void print(uint64_t count) const {
    rusage now{};
    ::getrusage(RUSAGE_SELF, &now);
    const auto each = [&](const timeval& to, const timeval& from) {
      return (1e3 * static_cast<double>(to.tv_sec - from.tv_sec) + 1e-3 * static_cast<double>(to.tv_usec - from.tv_usec)) /
             static_cast<double>(count);
    };
    fmt::print("{:.3f} ms user, {:.3f} ms system, {} page faults", each(now.ru_utime, begin_.ru_utime),
               each(now.ru_stime, begin_.ru_stime), static_cast<uint64_t>(now.ru_minflt - begin_.ru_minflt) / count);
  }

 private:
  rusage begin_{};
};

// The places in the grid of what one worker compiles.
std::vector<uint64_t> share_of_one(const Options& options, const Grid& grid) {
  std::vector<uint64_t> waiting, share, translations;
  for (uint64_t i = 0; i < grid.size(); i += options.every) waiting.push_back(i);
  if (options.workers == 1) return waiting;
  for (uint64_t i = 0; i < grid.size(); ++i) {
    const Configuration configuration = grid.at(i);
    translations.push_back(std::hash<std::string>()(translation_key(configuration, to_json(configuration))));
  }
  TranslationHomes homes;
  for (WorkerId worker = 0; !waiting.empty(); worker = (worker + 1) % options.workers) {
    std::vector<uint64_t> first;
    for (size_t i = 0; i < std::min(waiting.size(), TranslationHomes::kLookedThrough); ++i)
      first.push_back(translations[waiting[i]]);
    const auto taken = waiting.begin() + static_cast<ptrdiff_t>(homes.choose(first, worker));
    homes.add(translations[*taken], worker);
    if (worker == 0) share.push_back(*taken);
    waiting.erase(taken);
  }
  return share;
}

Status measure(const Options& options) {
  keep_freed_memory();
  MNEME_ASSIGN(const auto recorded, RecordedKernel::load(options.setup));
  warm_llvm_up(options.setup.device_kind, options.architecture, recorded->kernel.target);
  MNEME_ASSIGN(const Grid grid, Grid::create({}, options.axes));
  const std::vector<uint64_t> share = share_of_one(options, grid);
  for (unsigned round = 0; round < options.rounds; ++round) {
    MNEME_ASSIGN(const auto work, create_compile_work(*recorded, options.setup.device_kind, options.architecture));
    std::map<std::string, double> stages;
    const auto add = [&](const nlohmann::json& about) {
      for (const auto& [stage, time] : about.at("times").items()) stages[stage] += time.get<double>();
    };
    const Processor processor;
    const auto begin = std::chrono::steady_clock::now();
    Hasher objects;
    unsigned kept = 0;
    for (size_t i = 0; i < share.size(); ++i) {
      MNEME_ASSIGN(const TranslatedCode translated, work->translate(grid.at(share[i])));
      add(translated.about);
      work->keep();
      if (++kept < options.together && i + 1 < share.size()) continue;
      kept = 0;
      for (const Result<AssembledCode>& assembled : work->assemble()) {
        MNEME_TRY(assembled.status());
        add(assembled->description);
        objects.add(std::string_view(assembled->description.at("digest").get_ref<const std::string&>()));
      }
    }
    const std::chrono::duration<double, std::milli> passed = std::chrono::steady_clock::now() - begin;
    fmt::print("{} configurations, each {:.3f} ms: ", share.size(), passed.count() / static_cast<double>(share.size()));
    processor.print(share.size());
    for (const auto& [stage, time] : stages) fmt::print(", {} {:.3f}", stage, 1e-6 * time / static_cast<double>(share.size()));
    fmt::print("; objects {}\n", objects.finish().hex().substr(0, 8));
  }
  return {};
}

}  // namespace
}  // namespace mneme

int main(int argc, char** argv) {
  auto options = mneme::read_options({argv + 1, argv + argc});
  const mneme::Status status = options.ok() ? mneme::measure(*options) : options.status();
  if (!status.ok()) fmt::print(stderr, "mneme_bench_compile_rate: {}\n", status.to_string());
  return status.ok() ? 0 : 1;
}

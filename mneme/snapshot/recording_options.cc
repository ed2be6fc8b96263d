#include "mneme/snapshot/recording_options.h"

#include <algorithm>
#include <array>

#include "mneme/base/shown.h"
#include "mneme/snapshot/json_cursor.h"
#include "mneme/snapshot/launch_window.h"
#include "mneme/snapshot/name_expression.h"
#include "mneme/snapshot/ranks.h"

namespace mneme {
namespace {

constexpr char kName[] = "the recorder's options";
constexpr Bytes kStep = 2_MiB;
constexpr Bytes kLargest{uint64_t{1} << 40};

constexpr std::array<std::string_view, 3> kDistinctWords{"shape", "arguments", "data"};
constexpr uint64_t kNoLimit = ~uint64_t{0};

bool is_utf8(const std::string& text) try {
  (void)nlohmann::json(text).dump();
  return true;
} catch (const nlohmann::json::type_error&) {
  return false;
}

}  // namespace

std::string_view to_string(Distinct distinct) { return kDistinctWords.at(static_cast<size_t>(distinct)); }

Result<Distinct> parse_distinct(std::string_view word) {
  const auto found = std::find(kDistinctWords.begin(), kDistinctWords.end(), word);
  if (found == kDistinctWords.end())
    return error(Code::invalid_argument, "launches are distinct by shape, arguments or data, not by '{}'", shown(word));
  return static_cast<Distinct>(found - kDistinctWords.begin());
}

std::string_view to_string(MemoryFrom from) { return from == MemoryFrom::driver ? "driver" : "recorder"; }

Result<MemoryFrom> parse_memory_from(std::string_view word) {
  for (const MemoryFrom from : {MemoryFrom::recorder, MemoryFrom::driver})
    if (word == to_string(from)) return from;
  return error(Code::invalid_argument, "memory is from the recorder or the driver, not from '{}'", shown(word));
}

Status check_recording_options(const RecordingOptions& options) {
  Bytes space = options.address_space;
  if (space.count == 0 || space > kLargest || space.count % kStep.count != 0)
    return error(Code::invalid_argument, "an address range of {} cannot be reserved: from {} to {}, in steps of {}", space, kStep,
                 kLargest, kStep);
  if (options.staging && options.staging->count != 0 && *options.staging < kLeastStaging)
    return error(Code::invalid_argument, "recorded memory cannot wait in {}: give --staging {} or more, or 0", *options.staging,
                 kLeastStaging);
  // Others would reach the recorder under another name.
  if (!is_utf8(options.database))
    return error(Code::invalid_argument, "recording to {}: its path is no UTF-8: name the folder otherwise",
                 shown(options.database));
  MNEME_TRY(check_ranks(options.ranks));
  if (!options.window.empty()) MNEME_TRY(LaunchWindow::parse(options.window).status());
  MNEME_TRY(NameExpression::parse(options.exclude).status());
  return NameExpression::parse(options.kernels).status();
}

std::string encode_recording_options(const RecordingOptions& options) {
  const auto descriptor = [](int number) { return static_cast<uint64_t>(number + 1); };
  const auto limit = [](const std::optional<Bytes>& bytes) { return bytes ? bytes->count : kNoLimit; };
  nlohmann::json slowest = nlohmann::json::array();
  for (const Digest& name : options.slowest) slowest.push_back({{"name", name.hex()}});
  nlohmann::json json = {{"database", options.database},
                         {"address_space", options.address_space.count},
                         {"kernels", options.kernels},
                         {"exclude", options.exclude},
                         {"slowest", slowest},
                         {"window", options.window},
                         {"ranks", options.ranks},
                         {"skip", options.skip},
                         {"every", options.every},
                         {"max", options.max},
                         {"distinct", options.distinct ? to_string(*options.distinct) : ""},
                         {"max_launch_bytes", limit(options.max_launch_bytes)},
                         {"max_bytes", limit(options.max_bytes)},
                         {"staging", limit(options.staging)},
                         {"in_flight", options.in_flight},
                         {"memory_extent", to_string(options.memory_extent)},
                         {"memory_from", to_string(options.memory_from)},
                         {"profile", options.profile},
                         {"report", descriptor(options.report)},
                         {"profile_file", descriptor(options.profile_file)},
                         {"owner", static_cast<uint64_t>(options.owner)}};
  return json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

Result<RecordingOptions> decode_recording_options(std::string_view text) {
  MNEME_ASSIGN(nlohmann::json json, parse_json(text, kName));
  const std::string name = kName;
  JsonCursor root(json, name);
  RecordingOptions options;
  uint64_t max_launch_bytes = 0, max_bytes = 0, staging = 0, report = 0, profile_file = 0, owner = 0;
  std::string distinct, memory_extent, memory_from;
  MNEME_TRY(root.read("database", options.database));
  MNEME_TRY(root.read("address_space", options.address_space));
  MNEME_TRY(root.read("kernels", options.kernels));
  MNEME_TRY(root.read("exclude", options.exclude));
  MNEME_TRY(root.each("slowest", [&](const JsonCursor& entry) { return entry.read("name", options.slowest.emplace_back()); }));
  MNEME_TRY(root.read("window", options.window));
  MNEME_TRY(root.read("ranks", options.ranks));
  MNEME_TRY(root.read("skip", options.skip));
  MNEME_TRY(root.read("every", options.every));
  MNEME_TRY(root.read("max", options.max));
  MNEME_TRY(root.read("distinct", distinct));
  MNEME_TRY(root.read("max_launch_bytes", max_launch_bytes));
  MNEME_TRY(root.read("max_bytes", max_bytes));
  MNEME_TRY(root.read("staging", staging));
  MNEME_TRY(root.read("in_flight", options.in_flight));
  MNEME_TRY(root.read("memory_extent", memory_extent));
  MNEME_TRY(root.read("memory_from", memory_from));
  MNEME_TRY(root.read("profile", options.profile));
  MNEME_TRY(root.read("report", report, 1 << 30));
  MNEME_TRY(root.read("profile_file", profile_file, 1 << 30));
  MNEME_TRY(root.read("owner", owner, 1 << 30));
  if (!distinct.empty()) {
    MNEME_ASSIGN(options.distinct, parse_distinct(distinct));
  }
  MNEME_ASSIGN(options.memory_extent, parse_memory_extent(memory_extent));
  MNEME_ASSIGN(options.memory_from, parse_memory_from(memory_from));
  if (max_launch_bytes != kNoLimit) options.max_launch_bytes = Bytes(max_launch_bytes);
  if (max_bytes != kNoLimit) options.max_bytes = Bytes(max_bytes);
  if (staging != kNoLimit) options.staging = Bytes(staging);
  options.report = static_cast<int>(report) - 1;
  options.profile_file = static_cast<int>(profile_file) - 1;
  options.owner = static_cast<int>(owner);
  MNEME_TRY(check_recording_options(options));
  return options;
}

}  // namespace mneme

#include "mneme/snapshot/recording_options.h"

#include "mneme/base/shown.h"
#include "mneme/snapshot/json_cursor.h"
#include "mneme/snapshot/name_expression.h"

namespace mneme {
namespace {

constexpr char kName[] = "the recorder's options";
constexpr Bytes kStep = 2_MiB;
constexpr Bytes kLargest{uint64_t{1} << 40};

bool is_utf8(const std::string& text) try {
  (void)nlohmann::json(text).dump();
  return true;
} catch (const nlohmann::json::type_error&) {
  return false;
}

}  // namespace

Status check_recording_options(const RecordingOptions& options) {
  Bytes space = options.address_space;
  if (space.count == 0 || space > kLargest || space.count % kStep.count != 0)
    return error(Code::invalid_argument, "an address range of {} cannot be reserved: from {} to {}, in steps of {}", space, kStep,
                 kLargest, kStep);
  // Others would reach the recorder under another name.
  if (!is_utf8(options.database))
    return error(Code::invalid_argument, "recording to {}: its path is no UTF-8: name the folder otherwise",
                 shown(options.database));
  return NameExpression::parse(options.kernels).status();
}

std::string encode_recording_options(const RecordingOptions& options) {
  nlohmann::json json = {{"database", options.database}, {"address_space", options.address_space.count},
                         {"kernels", options.kernels},   {"skip", options.skip},
                         {"max", options.max},           {"max_bytes", options.max_bytes.value_or(Bytes(~uint64_t{0})).count},
                         {"profile", options.profile},   {"report", static_cast<uint64_t>(options.report + 1)}};
  return json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

Result<RecordingOptions> decode_recording_options(std::string_view text) {
  MNEME_ASSIGN(nlohmann::json json, parse_json(text, kName));
  const std::string name = kName;
  JsonCursor root(json, name);
  RecordingOptions options;
  uint64_t max_bytes = 0, report = 0;
  MNEME_TRY(root.read("database", options.database));
  MNEME_TRY(root.read("address_space", options.address_space));
  MNEME_TRY(root.read("kernels", options.kernels));
  MNEME_TRY(root.read("skip", options.skip));
  MNEME_TRY(root.read("max", options.max));
  MNEME_TRY(root.read("max_bytes", max_bytes));
  MNEME_TRY(root.read("profile", options.profile));
  MNEME_TRY(root.read("report", report, 1 << 30));
  if (max_bytes != ~uint64_t{0}) options.max_bytes = Bytes(max_bytes);
  options.report = static_cast<int>(report) - 1;
  MNEME_TRY(check_recording_options(options));
  return options;
}

}  // namespace mneme

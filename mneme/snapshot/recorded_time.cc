#include "mneme/snapshot/recorded_time.h"

#include "mneme/snapshot/json_cursor.h"

namespace mneme {

nlohmann::json to_json(const RecordedTime& time) {
  nlohmann::json json = {{"clock_source", time.clock_source}, {"others", {{"launches", time.others}}}};
  if (time.captured) json["captured"] = *time.captured;
  if (time.others != 0) {
    json["others"]["min"] = time.others_min;
    json["others"]["median"] = time.others_median;
  }
  return json;
}

Status read_recorded_time(const JsonCursor& at, RecordedTime& out) {
  MNEME_TRY(at.read("clock_source", out.clock_source));
  if (at.value().contains("captured")) MNEME_TRY(at.read("captured", out.captured.emplace()));
  MNEME_ASSIGN(JsonCursor others, at.member("others"));
  MNEME_TRY(others.read("launches", out.others));
  if (out.others == 0) return {};
  MNEME_TRY(others.read("min", out.others_min));
  return others.read("median", out.others_median);
}

}  // namespace mneme

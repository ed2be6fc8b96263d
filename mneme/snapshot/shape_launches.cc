#include "mneme/snapshot/shape_launches.h"

#include "mneme/snapshot/json_cursor.h"

namespace mneme {

nlohmann::json to_json(const ShapeLaunches& launches) {
  nlohmann::json json = {{"count", launches.count}};
  if (launches.total) json["total"] = *launches.total;
  return json;
}

Status read_shape_launches(const JsonCursor& at, ShapeLaunches& out) {
  MNEME_TRY(at.read("count", out.count));
  if (!at.value().contains("total")) return {};
  return at.read("total", out.total.emplace());
}

}  // namespace mneme

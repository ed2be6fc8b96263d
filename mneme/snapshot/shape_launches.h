// ShapeLaunches: how often the recorded program launched a kernel in the shape of one recorded launch, and how long that took.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "mneme/base/status.h"

namespace mneme {

class JsonCursor;

struct ShapeLaunches {
  uint64_t count = 0;  // launches of the shape in one process, recorded or not; those that go into graphs are not counted
  // Nanoseconds that all of them took: the mean of those that were timed, times `count`. Where one was timed:
  // with `mneme record --profile`, and on the CPU device always.
  std::optional<double> total;
  friend bool operator==(const ShapeLaunches&, const ShapeLaunches&) = default;
};

nlohmann::json to_json(const ShapeLaunches& launches);
// corrupt, with the key: a wrong type, or a time that cannot be.
Status read_shape_launches(const JsonCursor& at, ShapeLaunches& out);

}  // namespace mneme

// Grid: the configurations that a few lists of values span.
//
//   block.x=64:1024:64                  numbers from 64 to 1024 by 64
//   block.x=32:1024:*2                  32, 64, 128, … 1024
//   passes=default<O1>|default<O3>      these values; a range may be one of them
//   block.x=null|64|128                 null: as if the configuration did not have the member
//
// A key is the path of a member in a configuration's JSON. A value is JSON where it reads as JSON, and text where it does not.
#pragma once

#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "mneme/base/file_system.h"
#include "mneme/base/status.h"
#include "mneme/replay/configuration.h"

namespace mneme {

struct GridAxis {
  std::string key;
  std::vector<nlohmann::json> values;
  // Of an axis of "ir": for each value the digest of the file that it names, which becomes the configuration's "ir_digest".
  // Empty: not given.
  std::vector<std::string> digests = {};
};
// invalid_argument: it is not of the form above, a value comes twice, or there are more than a million.
Result<GridAxis> parse_axis(std::string_view text);

// Ties an axis of "ir" to the present content of its files: paths become absolute, and each file's digest is noted. Other axes
// stay as they are. incompatible: there are digests already, and a file has another one. io, not_found: a file cannot be read.
Status pin_files(GridAxis& axis, FileSystem& files);

class Grid {
 public:
  // invalid_argument: two axes for one member, one for a member that `base` computes (keep_threads), more points than 2^63, or a
  // value that no configuration takes (in configuration_from_json()'s words).
  static Result<Grid> create(const Configuration& base, std::vector<GridAxis> axes);

  uint64_t size() const { return size_; }
  const std::vector<GridAxis>& axes() const { return axes_; }
  // The last axis changes fastest. `index` is below size().
  Configuration at(uint64_t index) const;
  // The axes' values there, in their order.
  std::vector<nlohmann::json> values_at(uint64_t index) const;
  // `count` different points (all, where there are fewer), the same for the same seed everywhere.
  std::vector<uint64_t> sample(uint64_t count, uint64_t seed) const;

 private:
  std::vector<size_t> places_at(uint64_t index) const;  // of its values in the axes

  nlohmann::json base_;
  std::vector<GridAxis> axes_;
  uint64_t size_ = 1;
};

}  // namespace mneme

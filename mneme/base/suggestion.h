// "Did you mean …?"
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mneme {

// How many letters are inserted, dropped, replaced or swapped between the two (optimal string alignment).
size_t edit_distance(std::string_view a, std::string_view b);

// The candidate that is nearest to what was typed, counting inserted, dropped, replaced and swapped letters; nothing when even
// the nearest is off by more than a third of its length (at least two letters).
std::optional<std::string> nearest(std::string_view typed, const std::vector<std::string>& candidates);

// "; did you mean '<nearest>'?", or nothing where none is near.
std::string did_you_mean(std::string_view typed, const std::vector<std::string>& candidates);

}  // namespace mneme

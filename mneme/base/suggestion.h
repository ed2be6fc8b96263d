// Suggestions for a word that was mistyped: "did you mean …?"
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mneme {

// How many letters must be inserted, dropped, replaced or swapped with their neighbour to make the one text the other (the
// optimal string alignment distance).
size_t edit_distance(std::string_view a, std::string_view b);

// The candidate that is nearest to what was typed, by edit_distance(). Nothing where none is near: a candidate may be off by a
// third of its length, and by two letters even when it is short, but never by all of its letters.
std::optional<std::string> nearest(std::string_view typed, const std::vector<std::string>& candidates);

// "; did you mean '<nearest>'?", or an empty string where no candidate is near.
std::string did_you_mean(std::string_view typed, const std::vector<std::string>& candidates);

}  // namespace mneme

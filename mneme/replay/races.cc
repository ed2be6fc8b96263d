#include "mneme/replay/races.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace mneme {
namespace {

using Json = nlohmann::json;
using Words = std::array<uint32_t, kNoteWords>;

// One of a plane's comers that is not `other`; 0: none.
uint32_t other_than(const Words& comers, uint32_t other) {
  for (uint32_t comer : comers)
    if (comer != 0 && comer != other) return comer;
  return 0;
}

std::optional<RacingPair> between(const Words& ones, const char* one_does, const Words& others, const char* other_does) {
  for (uint32_t one : ones) {
    if (one == 0) continue;
    if (const uint32_t other = other_than(others, one)) return RacingPair{one, other, one_does, other_does};
  }
  return std::nullopt;
}

Dim3 place_in(const Dim3& extent, uint64_t linear) {
  return {static_cast<uint32_t>(linear % extent.x), static_cast<uint32_t>(linear / extent.x % extent.y),
          static_cast<uint32_t>(linear / extent.x / extent.y)};
}

// As CUDA's own assertions show an index: "[1,0,0]".
std::string shown_index(const Dim3& place) { return fmt::format("[{},{},{}]", place.x, place.y, place.z); }

// "block [1,0,0]", "thread [3,0,0] of block [1,0,0]"
std::string name_of(uint32_t comer, const NotesOfLaunch& notes) {
  uint64_t index = comer - 1;
  std::string text;
  if (notes.note == NoteOf::thread) {
    const uint64_t threads = notes.shape.block.volume();
    text = fmt::format("thread {} of ", shown_index(place_in(notes.shape.block, index % threads)));
    index /= threads;
  }
  return text + fmt::format("block {}", shown_index(place_in(notes.shape.grid, index)));
}

constexpr uint64_t kPiece = 1 << 18;  // bytes of memory

}  // namespace

std::optional<RacingPair> race_in(const Comers& c) {
  if (auto pair = between(c.stores, "writes", c.stores, "writes")) return pair;
  if (auto pair = between(c.stores, "writes", c.loads, "reads")) return pair;
  if (auto pair = between(c.stores, "writes", c.atomics, "accesses it by an atomic operation")) return pair;
  return between(c.atomics, "changes it by an atomic operation", c.loads, "reads");
}

Result<std::optional<Race>> find_race(Stream& stream, const NotesOfLaunch& notes, const MemoryPlan& plan,
                                      const TypedRange& range) {
  const uint64_t element = range.type ? size_of(*range.type).count : 1;
  Race race{range, range.size.count / element, 0, 0, {}};
  const uint64_t begin = plan.regions[range.region].offset + range.offset;
  std::vector<Words> planes[3];
  uint64_t last = UINT64_MAX;
  for (uint64_t at = 0; at < range.size.count; at += kPiece) {
    const uint64_t count = std::min(kPiece, range.size.count - at);
    for (size_t i = 0; i < std::size(planes); ++i) {
      planes[i].resize(count);
      const DevicePtr from = notes.memory + Bytes(i * notes.plane.count + (begin + at) * sizeof(Words));
      MNEME_TRY(stream.copy_to_host(std::as_writable_bytes(std::span(planes[i])), from));
    }
    for (uint64_t byte = 0; byte < count; ++byte) {
      const auto pair = race_in({planes[0][byte], planes[1][byte], planes[2][byte]});
      const uint64_t index = (at + byte) / element;
      if (!pair || index == last) continue;
      last = index;
      if (race.racing++ != 0) continue;
      race.first = index;
      race.what = fmt::format("{} {}, and {} {}", name_of(pair->first, notes), pair->first_does, name_of(pair->second, notes),
                              pair->second_does);
    }
  }
  return race.racing == 0 ? std::nullopt : std::optional(std::move(race));
}

std::vector<std::string> describe(const RaceReport& report) {
  if (!report.not_looked.empty()) return {"races were not looked for: " + report.not_looked};
  std::vector<std::string> lines;
  for (const Race& race : report.races)
    lines.push_back(fmt::format("race: {} of {} {} of {}, the first at index {}: {}{}", race.racing, race.elements,
                                race.range.type ? to_string(*race.range.type) : "bytes", race.range.where, race.first, race.what,
                                report.may_be_ordered ? " (fences or flags may order them: that is not seen)" : ""));
  return lines;
}

Json to_json(const RaceReport& report) {
  Json buffers = Json::array();
  for (const Race& race : report.races)
    buffers.push_back({{"where", race.range.where},
                       {"type", race.range.type ? Json(to_string(*race.range.type)) : Json()},
                       {"elements", race.elements},
                       {"racing", race.racing},
                       {"first", race.first},
                       {"what", race.what}});
  return {{"looked_for", report.not_looked.empty()},
          {"not_looked", report.not_looked.empty() ? Json() : Json(report.not_looked)},
          {"between", report.between == NoteOf::thread ? "threads" : "blocks"},
          {"may_be_ordered", report.may_be_ordered},
          {"buffers", buffers}};
}

}  // namespace mneme

#include "mneme/verify/mismatch.h"

#include <fmt/format.h>

#include "mneme/base/shown.h"

namespace mneme {

std::string describe(const std::vector<Mismatch>& mismatches) {
  if (mismatches.empty()) return "memory is as recorded";
  const Mismatch& first = mismatches.front();
  auto plural = [](uint64_t count, const char* what) { return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s"); };
  return fmt::format("memory differs in {}, first {} ({}, from offset {} on)", plural(mismatches.size(), "place"),
                     shown(first.buffer.empty() ? first.where : first.buffer), plural(first.differing_bytes, "byte"),
                     first.first_offset);
}

}  // namespace mneme

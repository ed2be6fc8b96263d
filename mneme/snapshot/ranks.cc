#include "mneme/snapshot/ranks.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "mneme/base/shown.h"

namespace mneme {
namespace {

std::optional<uint64_t> number(std::string_view text) {
  uint64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  return failed == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

// Calls visit(rank) for each, up to one that is no number. Returns whether all are.
template <typename Visit>
bool visit_ranks(std::string_view list, Visit visit) {
  for (bool more = true; more;) {
    const size_t comma = list.find(',');
    const auto rank = number(list.substr(0, comma));
    if (!rank) return false;
    visit(*rank);
    more = comma != list.npos;
    if (more) list.remove_prefix(comma + 1);
  }
  return true;
}

}  // namespace

std::optional<uint64_t> rank_of_process(const std::function<const char*(const char*)>& environment) {
  for (const char* name : {"RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID"})
    if (const char* text = environment(name))
      if (auto rank = number(text)) return rank;
  return std::nullopt;
}

bool records_rank(std::string_view ranks, std::optional<uint64_t> rank) {
  if (ranks == "all" || !rank) return true;
  bool found = false;
  visit_ranks(ranks, [&](uint64_t one) { found = found || one == *rank; });
  return found;
}

std::filesystem::path file_of_rank(const std::filesystem::path& file, std::string_view ranks, std::optional<uint64_t> rank) {
  uint64_t first = ranks == "all" ? 0 : std::numeric_limits<uint64_t>::max();
  visit_ranks(ranks, [&](uint64_t one) { first = std::min(first, one); });
  if (!rank || *rank == first || !file.has_filename()) return file;
  std::filesystem::path name = file.stem();
  name += fmt::format(".rank{}", *rank);
  name += file.extension();
  return file.parent_path() / name;
}

Status check_ranks(std::string_view ranks) {
  if (ranks == "all" || visit_ranks(ranks, [](uint64_t) {})) return {};
  return error(Code::invalid_argument, "ranks to record are all, or numbers with commas between them such as 0,2, not '{}'",
               shown(std::string(ranks)));
}

}  // namespace mneme

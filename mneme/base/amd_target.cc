#include "mneme/base/amd_target.h"

#include <algorithm>
#include <utility>

namespace mneme {
namespace {

// The processors that run the code of a generic one, each between blanks.
constexpr std::pair<std::string_view, std::string_view> kGeneric[] = {
    {"gfx9-generic", " gfx900 gfx902 gfx904 gfx906 gfx909 gfx90c "},
    {"gfx9-4-generic", " gfx942 gfx950 "},
    {"gfx10-1-generic", " gfx1010 gfx1011 gfx1012 gfx1013 "},
    {"gfx10-3-generic", " gfx1030 gfx1031 gfx1032 gfx1033 gfx1034 gfx1035 gfx1036 "},
    {"gfx11-generic", " gfx1100 gfx1101 gfx1102 gfx1103 gfx1150 gfx1151 gfx1152 gfx1153 "},
    {"gfx12-generic", " gfx1200 gfx1201 "},
};

bool is_of_generic(std::string_view generic, std::string_view processor) {
  const auto* row = std::ranges::find(kGeneric, generic, &std::pair<std::string_view, std::string_view>::first);
  if (row == std::end(kGeneric)) return false;
  const size_t at = row->second.find(processor);
  return !processor.empty() && at != std::string_view::npos && row->second[at - 1] == ' ' &&
         row->second[at + processor.size()] == ' ';
}

}  // namespace

std::string_view amd_processor(std::string_view target) { return target.substr(0, target.find(':')); }

std::vector<std::string_view> amd_settings(std::string_view target) {
  std::vector<std::string_view> settings;
  for (size_t at = target.find(':'); at != target.npos;) {
    const size_t next = target.find(':', at + 1);
    settings.push_back(target.substr(at + 1, next == target.npos ? next : next - at - 1));
    at = next;
  }
  return settings;
}

bool amd_device_runs(std::string_view target, std::string_view device) {
  const std::string_view code = amd_processor(target), processor = amd_processor(device);
  if (code != processor && !is_of_generic(code, processor)) return false;
  const auto has = amd_settings(device);
  return std::ranges::all_of(amd_settings(target),
                             [&](std::string_view one) { return std::ranges::find(has, one) != has.end(); });
}

}  // namespace mneme

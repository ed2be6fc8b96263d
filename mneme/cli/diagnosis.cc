#include "mneme/cli/diagnosis.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "mneme/base/disk_cache.h"
#include "mneme/base/file_system.h"
#include "mneme/base/shown.h"
#include "mneme/cli/installation.h"

namespace mneme::cli {
namespace {

// Of what `mneme record` reserves by default.
constexpr uint64_t kAddressRangeGib = 256;

Finding processor() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
    return {"processor", Health::good, "has AVX2, FMA and BMI2, which code for the CPU device uses", ""};
  return {"processor", Health::broken, "has no AVX2, FMA or BMI2, which code for the CPU device uses",
          "use a machine whose processor is an x86-64-v3 one, as most since 2015 are"};
}

Finding address_space() {
  void* range = ::mmap(nullptr, kAddressRangeGib << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED)
    return {"address space", Health::broken,
            fmt::format("the system refuses to reserve {} GiB of addresses, as recording does", kAddressRangeGib),
            "ulimit -v unlimited; or record with a smaller range: mneme record -vass 16"};
  ::munmap(range, kAddressRangeGib << 30);
  return {"address space", Health::good, fmt::format("{} GiB can be reserved, as recording does", kAddressRangeGib), ""};
}

// The nearest folder above that is there; making the folder itself would be a change.
Path existing_parent(Path folder) {
  std::error_code ignored;
  while (!std::filesystem::exists(folder, ignored) && folder.has_relative_path()) folder = folder.parent_path();
  return folder.empty() ? Path(".") : folder;
}

bool can_write(const Path& folder) { return ::access(folder.c_str(), W_OK | X_OK) == 0; }

Finding temporary_files() {
  std::error_code failure;
  const Path folder = std::filesystem::temp_directory_path(failure);
  if (!failure && can_write(folder)) return {"temporary files", Health::good, folder.string() + " can be written", ""};
  const std::string where = failure ? "the folder that TMPDIR names" : folder.string();
  return {"temporary files", Health::broken, where + " is no folder that can be written", "export TMPDIR=/tmp"};
}

Finding cache() {
  auto place = CachePlace::from_environment();
  if (!place.ok())
    return {"cache", Health::absent, "compiled code is not kept: " + place.status().message(),
            "export MNEME_CACHE_DIR=$HOME/.cache/mneme/objects; unset MNEME_CACHE_SIZE"};
  const Path above = existing_parent(place->folder);
  if (can_write(above)) return {"cache", Health::good, place->folder.string() + " can be written", ""};
  return {"cache", Health::absent, fmt::format("compiled code is not kept: {} cannot be written", above.string()),
          "export MNEME_CACHE_DIR=" + (std::filesystem::temp_directory_path() / "mneme-cache").string()};
}

}  // namespace

std::string_view to_string(Health health) {
  switch (health) {
    case Health::good: return "ok";
    case Health::absent: return "absent";
    case Health::broken: return "broken";
  }
  return "broken";
}

std::vector<Finding> diagnose_installation() {
  constexpr char kAgain[] = "install Mneme again: make dist or cmake --install, or pip install of the wheel";
  auto installation = Installation::find();
  if (!installation.ok()) return {{"Mneme", Health::broken, installation.status().message(), kAgain}};
  std::string missing;
  std::error_code ignored;
  for (const Path& part : {installation->plugin(), installation->runtime(), installation->emulation(), installation->recorder(),
                           installation->tuned(), installation->wrap_options()})
    if (!std::filesystem::exists(part, ignored)) missing += (missing.empty() ? "" : ", ") + part.string();
  if (!missing.empty()) return {{"Mneme", Health::broken, "not there: " + missing, kAgain}};
  return {{"Mneme", Health::good, fmt::format("{} in {}", MNEME_VERSION, installation->prefix.string()), ""}};
}

std::vector<Finding> diagnose_system() { return {processor(), address_space(), temporary_files(), cache()}; }

std::vector<Finding> diagnose(WantedDevice wanted) {
  std::vector<Finding> all = diagnose_installation();
  const auto append = [&](std::vector<Finding> some) { std::move(some.begin(), some.end(), std::back_inserter(all)); };
  append(diagnose_system());
  append(diagnose_gpu(wanted == WantedDevice::cuda ? Health::broken : Health::absent));
  append(diagnose_amd_gpu());
  append(diagnose_tools());
  append(diagnose_python());
  return all;
}

bool is_sound(const std::vector<Finding>& findings) {
  return std::none_of(findings.begin(), findings.end(), [](const Finding& f) { return f.health == Health::broken; });
}

std::string format_findings(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    text += fmt::format("{:<8}{:<22}{}\n", to_string(finding.health), finding.what, shown(finding.detail, 0));
    if (!finding.remedy.empty()) text += fmt::format("{:<8}{:<22}-> {}\n", "", "", shown(finding.remedy, 0));
  }
  return text;
}

nlohmann::json to_json(const Finding& finding) {
  return {{"what", finding.what},
          {"health", to_string(finding.health)},
          {"detail", finding.detail},
          {"remedy", finding.remedy.empty() ? nlohmann::json() : nlohmann::json(finding.remedy)}};
}

}  // namespace mneme::cli

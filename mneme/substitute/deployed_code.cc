#include "mneme/substitute/deployed_code.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "mneme/base/log.h"
#include "mneme/base/shown.h"
#include "mneme/hooks/kernel_handles.h"
#include "mneme/runtime/kernel_hash.h"

namespace mneme {
namespace {

// Devices beyond these run the program's own code.
constexpr int kMostDevices = 64;
// What every launch may have without asking.
constexpr Bytes kUsualShared = 48_KiB;

// 90 of "sm_90"; 0 where it is no such name, or is not known: then the newest code of a fat binary is the program's.
uint32_t number_of(const Result<std::string>& architecture) {
  uint32_t number = 0;
  constexpr std::string_view kPrefix = "sm_";
  if (architecture.ok() && architecture->starts_with(kPrefix))
    std::from_chars(architecture->data() + kPrefix.size(), architecture->data() + architecture->size(), number);
  return number;
}

// Never the same twice in the process, and never 0.
uint64_t next_generation() {
  static std::atomic<uint64_t> last = 0;
  return ++last;
}

bool runs_on(const TunedKernel& code, const Result<std::string>& architecture) {
  return architecture.ok() && *architecture == code.architecture;
}

}  // namespace

struct DeployedCode::Candidate {
  const TunedKernel* code = nullptr;
  std::mutex mutex;  // over loaded
  CodeLoader::Loaded loaded;
  std::atomic<uint64_t> ready = 0;  // a bit for each device
};

struct DeployedCode::Kernel {
  std::shared_ptr<const RegisteredKernel> registered;
  Digest static_hash;
  std::string name;  // for people
  std::vector<std::unique_ptr<Candidate>> candidates;
  std::atomic<bool> dropped = false;
  std::atomic<uint64_t> substituted = 0;
  std::array<std::atomic<uint64_t>, static_cast<size_t>(KeptBy::count)> kept{};

  void keep(KeptBy reason) { ++kept[static_cast<size_t>(reason)]; }
  void drop(const Status& why) {
    if (!dropped.exchange(true)) log::warning("tuned: {}: the program's own code runs from now on: {}", name, why.message());
  }
};

DeployedCode::DeployedCode(TunedFile file, std::string name)
    : file_(std::move(file)), name_(std::move(name)), generation_(next_generation()) {}
DeployedCode::~DeployedCode() = default;

std::unique_ptr<DeployedCode::Kernel> DeployedCode::describe_kernel(const ProgramLaunch& launch, Registry& registry,
                                                                    CodeLoader& loader) const {
  auto registered = registry.find_kernel(host_function_of(launch.function));
  if (!registered) return nullptr;
  // By name first: a library's code need not be read for kernels that nobody has deployed. In an image a name may have a suffix.
  const auto may_be = [&](const TunedKernel& code) {
    return code.device == loader.device_kind() && registered->name.starts_with(code.name);
  };
  if (std::none_of(file_.kernels.begin(), file_.kernels.end(), may_be)) return nullptr;
  if (const auto ordinal = loader.current_device(); ordinal.ok() && *ordinal >= 0 && *ordinal < kMostDevices)
    registry.set_architecture(number_of(loader.architecture(*ordinal)));
  const auto static_hash = static_hash_of(*registered);
  if (!static_hash.ok()) return nullptr;
  auto kernel = std::make_unique<Kernel>();
  // What was found for one shape before what was found for many.
  for (const auto covers : {LaunchRule::Covers::shape, LaunchRule::Covers::block, LaunchRule::Covers::any})
    for (const TunedKernel& code : file_.kernels) {
      if (code.rule.covers != covers || code.static_hash != *static_hash || !may_be(code)) continue;
      kernel->candidates.push_back(std::make_unique<Candidate>());
      kernel->candidates.back()->code = &code;
    }
  if (kernel->candidates.empty()) return nullptr;
  kernel->registered = std::move(registered);
  kernel->static_hash = *static_hash;
  kernel->name = shown(kernel->candidates.front()->code->demangled);
  const auto sizes = loader.parameter_sizes(launch.function, *kernel->registered);
  if (!sizes.ok()) kernel->drop(sizes.status());
  for (const auto& candidate : kernel->candidates)
    if (Status fits = sizes.ok() ? check_parameters(*candidate->code, *sizes) : Status(); !fits.ok()) kernel->drop(fits);
  return kernel;
}

// What a thread has found last is found without a lock.
DeployedCode::Kernel* DeployedCode::kernel_of(const ProgramLaunch& launch, Registry& registry, CodeLoader& loader) {
  struct Known {
    const void* function = nullptr;
    uint64_t generation = 0;
    Kernel* kernel = nullptr;
  };
  static thread_local std::array<Known, 16> recent;
  Known& last = recent[reinterpret_cast<uintptr_t>(launch.function) / 16 % recent.size()];
  const uint64_t generation = generation_;
  if (last.function == launch.function && last.generation == generation) return last.kernel;
  last = {launch.function, generation, look_up(launch, registry, loader)};
  return last.kernel;
}

DeployedCode::Kernel* DeployedCode::look_up(const ProgramLaunch& launch, Registry& registry, CodeLoader& loader) {
  {
    std::shared_lock lock(mutex_);
    if (auto known = kernels_.find(launch.function); known != kernels_.end()) return known->second.get();
  }
  auto described = describe_kernel(launch, registry, loader);
  std::unique_lock lock(mutex_);
  return kernels_.emplace(launch.function, std::move(described)).first->second.get();
}

Status DeployedCode::prepare(Kernel& kernel, Candidate& candidate, const ProgramLaunch& launch, int ordinal,
                             CodeLoader& loader) const {
  const TunedKernel& code = *candidate.code;
  std::lock_guard lock(candidate.mutex);
  if (!candidate.loaded.kernel) {
    MNEME_ASSIGN(candidate.loaded, loader.load(file_.images[code.image], code.name));
  }
  std::vector<uint64_t> addresses;
  for (const std::string& variable : code.variables) {
    MNEME_ASSIGN(const MemoryRange place, loader.find_variable(host_function_of(launch.function), *kernel.registered, variable));
    addresses.push_back(place.address.address);
  }
  if (!addresses.empty()) MNEME_TRY(loader.write_addresses(candidate.loaded, addresses));
  candidate.ready |= uint64_t{1} << ordinal;
  return {};
}

std::optional<DeployedCode::Substitute> DeployedCode::find(const ProgramLaunch& launch, Registry& registry, CodeLoader& loader) {
  Kernel* const kernel = kernel_of(launch, registry, loader);
  if (!kernel) return std::nullopt;
  const auto keep = [&](KeptBy reason) -> std::optional<Substitute> {
    kernel->keep(reason);
    return std::nullopt;
  };
  if (kernel->dropped) return keep(KeptBy::failure);
  if (launch.odd) return keep(KeptBy::attributes);
  const auto ordinal = loader.current_device();
  if (!ordinal.ok() || *ordinal < 0 || *ordinal >= kMostDevices) return keep(KeptBy::architecture);

  KeptBy reason = KeptBy::architecture;
  for (const auto& candidate : kernel->candidates) {
    const bool ready = candidate->ready >> *ordinal & 1;
    if (!ready && !runs_on(*candidate->code, loader.architecture(*ordinal))) continue;
    ProgramShape shape;
    if (const auto doubt = find_doubt(*candidate->code, launch, loader, shape)) {
      reason = std::max(reason, *doubt);
      continue;
    }
    if (!ready && loader.is_capturing(launch.stream)) return keep(KeptBy::capture);
    Status prepared = ready ? Status() : prepare(*kernel, *candidate, launch, *ordinal, loader);
    if (prepared.ok() && shape.shared > kUsualShared)
      prepared = loader.allow_shared_memory(candidate->loaded, *ordinal, shape.shared);
    if (!prepared.ok()) {
      kernel->drop(prepared);
      return keep(KeptBy::failure);
    }
    return Substitute{candidate->loaded.kernel, shape, kernel};
  }
  return keep(reason);
}

void DeployedCode::end(const Substitute& substitute, const Status& launched) {
  if (launched.ok()) {
    ++substitute.kernel->substituted;
    return;
  }
  substitute.kernel->drop(launched);
  substitute.kernel->keep(KeptBy::failure);
}

void DeployedCode::forget_kernels() {
  std::unique_lock lock(mutex_);
  generation_ = next_generation();
  for (auto& [function, kernel] : kernels_)
    if (kernel) former_.push_back(std::move(kernel));
  kernels_.clear();
}

void DeployedCode::forget_devices() {
  std::shared_lock lock(mutex_);
  for (const auto& [function, kernel] : kernels_) {
    if (!kernel) continue;
    for (const auto& candidate : kernel->candidates) candidate->ready = 0;
  }
}

bool DeployedCode::looks_at_memory() const {
  return std::any_of(file_.kernels.begin(), file_.kernels.end(), [](const TunedKernel& code) { return !code.alone.empty(); });
}

std::vector<std::string> DeployedCode::summary() const {
  struct Sum {
    uint64_t substituted = 0, launches = 0;
    std::array<uint64_t, static_cast<size_t>(KeptBy::count)> kept{};
  };
  std::map<std::string, Sum> sums;
  std::set<Digest> seen, all;
  const auto add = [&](const Kernel& kernel) {
    Sum& sum = sums[kernel.name];
    seen.insert(kernel.static_hash);
    sum.substituted += kernel.substituted;
    sum.launches += kernel.substituted;
    for (size_t i = 0; i < sum.kept.size(); ++i) {
      sum.kept[i] += kernel.kept[i];
      sum.launches += kernel.kept[i];
    }
  };
  std::shared_lock lock(mutex_);
  for (const auto& kernel : former_) add(*kernel);
  for (const auto& [function, kernel] : kernels_)
    if (kernel) add(*kernel);

  std::vector<std::string> lines;
  for (const auto& [name, sum] : sums) {
    std::string line = fmt::format("tuned: {}: {} of {} launches ran the deployed code", name, sum.substituted, sum.launches);
    const char* before = "; the others: ";
    for (size_t i = 0; i < sum.kept.size(); ++i) {
      if (sum.kept[i] == 0) continue;
      line += fmt::format("{}{} {}", std::exchange(before, ", "), sum.kept[i], describe(static_cast<KeptBy>(i)));
    }
    lines.push_back(std::move(line));
  }
  for (const TunedKernel& code : file_.kernels) all.insert(code.static_hash);
  if (seen.size() != all.size())
    lines.push_back(fmt::format("tuned: {} of {} kernels of {} were not launched here{}", all.size() - seen.size(), all.size(),
                                name_, seen.empty() ? ": was it made for another build of the program, or another device?" : ""));
  return lines;
}

}  // namespace mneme

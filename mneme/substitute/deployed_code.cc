#include "mneme/substitute/deployed_code.h"

#include <algorithm>
#include <map>
#include <set>

#include "mneme/base/amd_target.h"
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
constexpr uint64_t kUsualCluster = 8;

// Never the same twice in the process, and never 0.
uint64_t next_generation() {
  static std::atomic<uint64_t> last = 0;
  return ++last;
}

double median_of(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return (times[(times.size() - 1) / 2] + times[times.size() / 2]) / 2;
}

// The static hash of a kernel on devices of each architecture: a fat binary or bundle may hold other code for each of them.
class HashOnDevices {
 public:
  explicit HashOnDevices(const RegisteredKernel& kernel) : kernel_(kernel), own_(static_hash_of(kernel)) {}

  // Where the image holds nothing for the architecture, what it holds for the current device counts.
  bool is(const Digest& hash, const std::string& architecture) const {
    auto known = others_.find(architecture);
    if (known == others_.end()) known = others_.emplace(architecture, read(architecture)).first;
    const Result<Digest>& counts = known->second.ok() ? known->second : own_;
    return counts.ok() && *counts == hash;
  }

 private:
  // An image is read for one architecture.
  Result<Digest> read(const std::string& architecture) const {
    const RegisteredImage& image = *kernel_.image;
    auto twin = image.wrapper()
                    ? std::make_shared<RegisteredImage>(image.id(), image.handle(), image.table(), image.wrapper(), architecture)
                    : std::make_shared<RegisteredImage>(image.id(), image.handle(), image.loaded(), architecture);
    return static_hash_of(RegisteredKernel{kernel_.name, std::move(twin)});
  }

  const RegisteredKernel& kernel_;
  const Result<Digest> own_;
  mutable std::map<std::string, Result<Digest>> others_;
};

bool is_usual(const ProgramShape& shape) { return shape.shared <= kUsualShared && shape.cluster.volume() <= kUsualCluster; }

// Lets launches of the code on the current device have a shape.
Status allow(const ProgramShape& shape, const CodeLoader::Loaded& code, int ordinal, CodeLoader& loader) {
  if (shape.shared > kUsualShared) MNEME_TRY(loader.allow_shared_memory(code, ordinal, shape.shared));
  if (shape.cluster.volume() > kUsualCluster) MNEME_TRY(loader.allow_large_clusters(code, ordinal));
  return {};
}

bool runs_on(const TunedKernel& code, const Result<std::string>& architecture) {
  return architecture.ok() && (*architecture == code.architecture || amd_device_runs(code.architecture, *architecture));
}

}  // namespace

struct DeployedCode::Candidate {
  // What trials of launches of one shape have come to.
  struct Judged {
    uint64_t trials = 0;
    uint64_t undecided = 0;                  // as KeptBy::not_deterministic has it
    std::vector<double> deployed, original;  // times of all but the first, which loads what is loaded lazily
    std::optional<KeptBy> kept;              // for good
  };
  const TunedKernel* code = nullptr;
  std::mutex mutex;  // over loaded, for_trials and judged
  CodeLoader::Loaded loaded;
  CodeLoader::Loaded for_trials;
  std::map<ProgramShape, Judged> judged;                   // by the program's shape
  std::array<std::atomic<void*>, kMostDevices> handles{};  // for launches, by device; null: not ready there
  bool looks_at_arguments() const { return !code->arguments.empty() || !code->aligned.empty() || !code->alone.empty(); }
};

struct DeployedCode::Kernel {
  std::shared_ptr<const RegisteredKernel> registered;
  std::string name;             // for people
  std::vector<uint64_t> sizes;  // of the parameters
  std::vector<std::unique_ptr<Candidate>> candidates;
  std::atomic<bool> dropped = false;
  std::atomic<KeptBy> dropped_by = KeptBy::failure;
  std::mutex mutex;          // over difference and without_code
  std::string difference;    // what a trial has found, for people
  std::string without_code;  // of the first device for which the file has no code, for people
  std::atomic<bool> is_without_code = false;
  std::atomic<uint64_t> substituted = 0;
  std::array<std::atomic<uint64_t>, static_cast<size_t>(KeptBy::count)> kept{};

  void keep(KeptBy reason) { kept[static_cast<size_t>(reason)].fetch_add(1, std::memory_order_relaxed); }
  void tell(std::string found) {
    std::lock_guard lock(mutex);
    difference = std::move(found);
  }
  // A launch on a device of this architecture, for which there is no code.
  void keep_without_code(const Result<std::string>& architecture) {
    keep(KeptBy::architecture);
    if (!architecture.ok() || is_without_code.exchange(true)) return;
    std::string known;
    for (const auto& candidate : candidates)
      if (const std::string& one = candidate->code->architecture; known.find(one) == known.npos)
        known += (known.empty() ? "" : ", ") + one;
    std::lock_guard lock(mutex);
    without_code = fmt::format("the file's code is for {}, and the device is {}", shown(known), *architecture);
  }
  void drop(const Status& why, KeptBy by = KeptBy::failure) {
    if (!dropped) dropped_by = by;
    if (!dropped.exchange(true)) log::warning("tuned: {}: the program's own code runs from now on: {}", name, why.message());
  }
};

DeployedCode::DeployedCode(TunedFile file, std::string name, TrialOptions trials)
    : file_(std::move(file)), name_(std::move(name)), trials_(trials), generation_(next_generation()) {}
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
  if (const int ordinal = loader.current_device(); ordinal >= 0 && ordinal < kMostDevices)
    if (const auto architecture = loader.architecture(ordinal); architecture.ok()) registry.set_architecture(*architecture);
  const HashOnDevices hash(*registered);
  auto kernel = std::make_unique<Kernel>();
  // What was found for one shape before what was found for many.
  for (const auto covers : {LaunchRule::Covers::shape, LaunchRule::Covers::block, LaunchRule::Covers::any})
    for (const TunedKernel& code : file_.kernels) {
      if (code.rule.covers != covers || !may_be(code) || !hash.is(code.static_hash, code.architecture)) continue;
      kernel->candidates.push_back(std::make_unique<Candidate>());
      kernel->candidates.back()->code = &code;
    }
  if (kernel->candidates.empty()) return nullptr;
  kernel->registered = std::move(registered);
  kernel->name = shown(kernel->candidates.front()->code->demangled);
  const auto sizes = loader.parameter_sizes(launch.function, *kernel->registered);
  if (sizes.ok()) kernel->sizes = *sizes;
  if (!sizes.ok()) kernel->drop(sizes.status());
  for (const auto& candidate : kernel->candidates)
    if (Status fits = sizes.ok() ? check_parameters(*candidate->code, *sizes) : Status(); !fits.ok()) kernel->drop(fits);
  return kernel;
}

// What a thread has found last is found without a lock: the kernel of a function, and what took the place of its last launch,
// where that depends on nothing but the shape and the device, or on conditions that are looked at again.
struct DeployedCode::Known {
  const void* function = nullptr;
  uint64_t generation = 0;
  Kernel* kernel = nullptr;
  const Candidate* candidate = nullptr;  // null: no launch is known
  bool looks_at_arguments = false;
  int ordinal = 0;
  ProgramShape shape;
  Substitute substitute;
};

struct DeployedCode::Recent {
  std::array<Known, 16> known;
  Substitute other;  // what took the place of the last launch of which nothing is kept
  Known& of(const void* function) { return known[reinterpret_cast<uintptr_t>(function) / 16 % known.size()]; }
};

// A pointer has room in the memory that each thread of a program begins with, also when this library is loaded later, and is
// reached without a call.
DeployedCode::Recent& DeployedCode::recent() {
  static thread_local Recent* own [[gnu::tls_model("initial-exec")]] = nullptr;
  if (own) [[likely]]
    return *own;
  struct Ends {
    ~Ends() { delete std::exchange(own, nullptr); }
  };
  static thread_local Ends ends;
  (void)ends;
  return *(own = new Recent);
}

void DeployedCode::begin_known(Known& known, const ProgramLaunch& launch, Registry& registry, CodeLoader& loader) {
  const uint64_t generation = generation_.load(std::memory_order_acquire);
  known = {};
  known.kernel = look_up(launch, registry, loader);
  known.function = launch.function;
  known.generation = generation;
}

DeployedCode::Kernel* DeployedCode::look_up(const ProgramLaunch& launch, Registry& registry, CodeLoader& loader) {
  {
    std::shared_lock lock(mutex_);
    if (auto known = kernels_.find(launch.function); known != kernels_.end()) return known->second.get();
  }
  auto described = describe_kernel(launch, registry, loader);
  if (described) inherit(*described);
  std::unique_lock lock(mutex_);
  return kernels_.emplace(launch.function, std::move(described)).first->second.get();
}

// The code is loaded anew, since the program's variables may lie elsewhere.
void DeployedCode::inherit(Kernel& kernel) const {
  const Kernel* before = nullptr;
  {
    std::shared_lock lock(mutex_);
    if (const auto known = last_.find(kernel.candidates.front()->code); known != last_.end()) before = known->second;
  }
  if (!before) return;
  if (before->dropped) {
    kernel.dropped_by = before->dropped_by.load();
    kernel.dropped = true;
  }
  for (const auto& candidate : kernel.candidates)
    for (const auto& same : before->candidates)
      if (same->code == candidate->code) {
        std::lock_guard lock(same->mutex);
        candidate->judged = same->judged;
      }
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
  MNEME_ASSIGN(candidate.handles[static_cast<size_t>(ordinal)], loader.launch_handle(candidate.loaded));
  return {};
}

struct DeployedCode::Choice {
  Substitute substitute;
  const Candidate* candidate = nullptr;
  bool lasts = false;  // the next launch of this shape has the same substitute, where its arguments meet the conditions
};

const DeployedCode::Substitute* DeployedCode::find(const ProgramLaunch& launch, Registry& registry, CodeLoader& loader) {
  Recent& mine = recent();
  Known& last = mine.of(launch.function);
  if (last.function != launch.function || last.generation != generation_.load(std::memory_order_acquire)) [[unlikely]]
    begin_known(last, launch, registry, loader);
  Kernel* const kernel = last.kernel;
  if (!kernel) return nullptr;
  const auto keep = [&](KeptBy reason) -> const Substitute* {
    kernel->keep(reason);
    return nullptr;
  };
  if (kernel->dropped.load(std::memory_order_acquire)) return keep(kernel->dropped_by);
  if (launch.odd) return keep(KeptBy::attributes);
  const int ordinal = loader.current_device();
  if (ordinal < 0 || ordinal >= kMostDevices) return keep(KeptBy::architecture);

  if (last.candidate && last.ordinal == ordinal && last.shape == launch.shape &&
      (!last.looks_at_arguments || !find_doubt_in_arguments(*last.candidate->code, launch, loader)))
    return &last.substitute;
  const auto choice = choose(*kernel, launch, ordinal, loader);
  if (!choice) return nullptr;
  if (!choice->lasts) return &(mine.other = choice->substitute);
  last.candidate = choice->candidate;
  last.looks_at_arguments = choice->candidate->looks_at_arguments();
  last.ordinal = ordinal;
  last.shape = launch.shape;
  last.substitute = choice->substitute;
  return &last.substitute;
}

std::optional<DeployedCode::Choice> DeployedCode::choose(Kernel& kernel, const ProgramLaunch& launch, int ordinal,
                                                         CodeLoader& loader) {
  const auto keep = [&](KeptBy reason) -> std::optional<Choice> {
    kernel.keep(reason);
    return std::nullopt;
  };
  KeptBy reason = KeptBy::architecture;
  bool comes_first = true;  // no candidate before has doubts that other arguments would not raise
  for (const auto& candidate : kernel.candidates) {
    std::atomic<void*>& handle = candidate->handles[static_cast<size_t>(ordinal)];
    const bool ready = handle != nullptr;
    if (!ready && !runs_on(*candidate->code, loader.architecture(ordinal))) continue;
    ProgramShape shape;
    if (const auto doubt = find_doubt(*candidate->code, launch, loader, shape)) {
      reason = std::max(reason, *doubt);
      comes_first = comes_first && *doubt == KeptBy::shape;
      continue;
    }
    if (!ready && !launch.is_node && loader.is_capturing(launch.stream)) return keep(KeptBy::capture);
    Status prepared = ready ? Status() : prepare(kernel, *candidate, launch, ordinal, loader);
    const bool usual = is_usual(shape);
    if (prepared.ok()) prepared = allow(shape, candidate->loaded, ordinal, loader);
    if (!prepared.ok()) {
      kernel.drop(prepared);
      return keep(KeptBy::failure);
    }
    if (!ready) note_origin(handle, launch.function, candidate->code->rule, ordinal);
    Choice choice{{handle, shape, &kernel, nullptr}, candidate.get(), comes_first && usual};
    if (trials_needed() == 0) return choice;
    std::lock_guard lock(candidate->mutex);
    const Candidate::Judged& judged = candidate->judged[launch.shape];
    if (judged.kept) return keep(*judged.kept);
    if (judged.trials >= trials_needed()) return choice;
    if (launch.is_node || loader.is_capturing(launch.stream)) return keep(KeptBy::capture_before);
    choice.substitute.on_trial = candidate.get();
    choice.lasts = false;
    return choice;
  }
  if (reason != KeptBy::architecture) return keep(reason);
  kernel.keep_without_code(loader.architecture(ordinal));
  return std::nullopt;
}

void DeployedCode::note_origin(const void* handle, const void* function, const LaunchRule& rule, int ordinal) {
  std::unique_lock lock(mutex_);
  Origin& origin = origins_[handle];
  const bool is_known = origin.function == function && origin.rule == &rule;
  origin = {function, &rule, (is_known ? origin.devices : 0) | uint64_t{1} << ordinal};
}

std::optional<DeployedCode::Replaced> DeployedCode::replaced_by(const void* handle, const ProgramShape& shape) const {
  std::shared_lock lock(mutex_);
  const auto known = origins_.find(handle);
  if (known == origins_.end()) return std::nullopt;
  return Replaced{known->second.function, known->second.rule->undo(shape)};
}

void DeployedCode::end(const Substitute& substitute) { substitute.kernel->substituted.fetch_add(1, std::memory_order_relaxed); }

void DeployedCode::end(const Substitute& substitute, const Status& failure) {
  substitute.kernel->drop(failure);
  substitute.kernel->keep(KeptBy::failure);
}

void DeployedCode::end_without(const Substitute& substitute) { substitute.kernel->keep(KeptBy::failure); }

uint64_t DeployedCode::trials_needed() const { return trials_.race ? std::max(trials_.verify, kRacedLaunches) : trials_.verify; }

void DeployedCode::try_out(const Substitute& substitute, const TrialLaunch& launch, TrialDevice& device) {
  Kernel& kernel = *substitute.kernel;
  // One at a time: each takes memory. The others do not wait, since the one may wait for what they do.
  std::unique_lock alone(trial_mutex_, std::try_to_lock);
  const bool repeatable = substitute.on_trial->code->repeatable == Repeatable::yes && launch.launch.arguments != nullptr;
  if (!alone || !repeatable) {
    (void)launch.original();
    return kernel.keep(repeatable ? KeptBy::busy : KeptBy::not_repeatable);
  }
  const auto outcome = compare(substitute, launch, device);
  if (!outcome.ok()) {
    kernel.drop(outcome.status());
    return kernel.keep(KeptBy::failure);
  }
  kernel.keep(outcome->not_compared.value_or(KeptBy::compared));
  if (outcome->not_compared == KeptBy::not_deterministic) {
    kernel.tell(outcome->difference + ": where that is right, say by how much they may differ");
    return give_up_undecided(*substitute.on_trial, launch.launch.shape);
  }
  if (outcome->not_compared) return;
  if (!outcome->difference.empty()) {
    kernel.tell(outcome->difference);
    return kernel.drop(error(Code::incompatible, "{}", outcome->difference), KeptBy::difference);
  }
  std::lock_guard lock(substitute.on_trial->mutex);
  Candidate::Judged& judged = substitute.on_trial->judged[launch.launch.shape];
  if (++judged.trials > 1 && trials_.race) {
    judged.deployed.push_back(outcome->deployed);
    judged.original.push_back(outcome->original);
  }
  if (judged.trials == trials_needed() && trials_.race && median_of(judged.deployed) > median_of(judged.original))
    judged.kept = KeptBy::slower;
}

// As many as were to be compared have told nothing: those that follow will not either.
void DeployedCode::give_up_undecided(Candidate& candidate, const ProgramShape& shape) {
  std::lock_guard lock(candidate.mutex);
  Candidate::Judged& judged = candidate.judged[shape];
  if (++judged.undecided >= trials_needed()) judged.kept = KeptBy::not_deterministic;
}

Result<TrialOutcome> DeployedCode::compare(const Substitute& substitute, const TrialLaunch& launch, TrialDevice& device) {
  Candidate& candidate = *substitute.on_trial;
  Kernel& kernel = *substitute.kernel;
  TrialCode code{*candidate.code, kernel.sizes, candidate.loaded, {}};
  const auto describe_code = [&]() -> Status {
    for (const std::string& variable : candidate.code->variables) {
      MNEME_ASSIGN(const MemoryRange place,
                   device.find_variable(host_function_of(launch.launch.function), *kernel.registered, variable));
      code.variables.push_back(place);
      if (is_managed_pointer(*kernel.registered, variable)) code.managed_pointers.push_back(place.address);
    }
    if (code.variables.empty()) return {};
    // Loaded once more: meanwhile other threads may launch the code with the program's variables.
    if (!candidate.for_trials.kernel) {
      MNEME_ASSIGN(candidate.for_trials, device.load(file_.images[candidate.code->image], candidate.code->name));
    }
    code.loaded = candidate.for_trials;
    return allow(substitute.shape, code.loaded, device.current_device(), device);
  };
  if (Status described = describe_code(); !described.ok()) {
    (void)launch.original();
    return described;
  }
  return run_trial(code, launch, trials_.race ? Timed::yes : Timed::no, device);
}

void DeployedCode::forget_kernels() {
  std::unique_lock lock(mutex_);
  generation_ = next_generation();
  for (auto& [function, kernel] : kernels_) {
    if (!kernel) continue;
    Kernel*& last = last_[kernel->candidates.front()->code];
    if (!last || !last->dropped) last = kernel.get();
    former_.push_back(std::move(kernel));
  }
  kernels_.clear();
}

void DeployedCode::forget_devices(std::span<const int> ordinals) {
  std::unique_lock lock(mutex_);
  for (const int ordinal : ordinals) {
    if (ordinal < 0 || ordinal >= kMostDevices) continue;
    for (auto& [handle, origin] : origins_) origin.devices &= ~(uint64_t{1} << ordinal);
    for (const auto& [function, kernel] : kernels_) {
      if (!kernel) continue;
      for (const auto& candidate : kernel->candidates) candidate->handles[static_cast<size_t>(ordinal)] = nullptr;
    }
  }
  std::erase_if(origins_, [](const auto& known) { return known.second.devices == 0; });
  generation_ = next_generation();
}

bool DeployedCode::looks_at_memory() const {
  return trials_needed() != 0 ||
         std::any_of(file_.kernels.begin(), file_.kernels.end(), [](const TunedKernel& code) { return !code.alone.empty(); });
}

std::vector<std::string> DeployedCode::summary() const {
  struct Sum {
    uint64_t substituted = 0, launches = 0;
    std::array<uint64_t, static_cast<size_t>(KeptBy::count)> kept{};
    std::string difference, without_code;
  };
  std::map<std::string, Sum> sums;
  std::set<Digest> seen, all;
  const auto add = [&](Kernel& kernel) {
    Sum& sum = sums[kernel.name];
    {
      std::lock_guard alone(kernel.mutex);
      if (sum.difference.empty()) sum.difference = kernel.difference;
      if (sum.without_code.empty()) sum.without_code = kernel.without_code;
    }
    for (const auto& candidate : kernel.candidates) seen.insert(candidate->code->static_hash);
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
    if (!sum.difference.empty()) line += " (" + sum.difference + ")";
    if (!sum.without_code.empty()) line += " (" + sum.without_code + ")";
    lines.push_back(std::move(line));
  }
  for (const TunedKernel& code : file_.kernels) all.insert(code.static_hash);
  if (seen.size() != all.size())
    lines.push_back(fmt::format("tuned: {} of {} kernels of {} were not launched here{}", all.size() - seen.size(), all.size(),
                                name_, seen.empty() ? ": was it made for another build of the program, or another device?" : ""));
  return lines;
}

}  // namespace mneme

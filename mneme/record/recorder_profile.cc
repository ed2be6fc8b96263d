// How often and how long launches ran in the program: what is written at the process's end, and `mneme profile`, where launches
// are timed and nothing is recorded.
#include <unistd.h>

#include <map>

#include "mneme/base/log.h"
#include "mneme/record/recorder_state.h"
#include "mneme/snapshot/profile_file.h"

namespace mneme {
namespace {

// An instance that was given up is not there, which is no failure. False: the database is locked, and is not waited for again.
bool is_kept(const Status& status) {
  if (status.ok() || status.code() == Code::not_found) return true;
  log::warning("how often and how long launches ran in the program is not kept: {}", status.message());
  return status.code() != Code::timeout;
}

}  // namespace

Status Recorder::open_for_profile(Vendor& vendor) {
  MNEME_TRY(vendor.prepare());
  MNEME_ASSIGN(const int ordinal, vendor.current_device());
  MNEME_ASSIGN(auto profiled, open_profiled(vendor, ordinal));
  environment_.recording_begins();
  std::lock_guard lock(mutex_);
  profiled_[ordinal] = std::move(profiled);
  state_ = State::open;
  return {};
}

Result<std::shared_ptr<Recorder::Profiled>> Recorder::open_profiled(Vendor& vendor, int ordinal) {
  auto profiled = std::make_shared<Profiled>();
  MNEME_ASSIGN(profiled->device, environment_.open_device(vendor.device_kind(), ordinal));
  MNEME_TRY(choose_images(*profiled->device));
  profiled->profile = std::make_unique<Profile>(make_program_clock(*profiled->device), Profile::Of::all_launches);
  profiled->writer = fmt::format("{}.{}.{}", ::getpid(), ordinal, std::chrono::steady_clock::now().time_since_epoch().count());
  return profiled;
}

// Null: there is none, or it could not be opened.
std::shared_ptr<Recorder::Profiled> Recorder::current_profiled(Vendor& vendor) {
  const auto device = vendor.current_device();
  if (state_ != State::open || !device.ok()) return nullptr;
  const auto known = [&]() -> std::optional<std::shared_ptr<Profiled>> {
    std::lock_guard lock(mutex_);
    auto found = profiled_.find(*device);
    return found == profiled_.end() ? std::nullopt : std::optional(found->second);
  };
  if (auto profiled = known()) return *profiled;
  std::lock_guard one(open_mutex_);
  if (auto profiled = known()) return *profiled;
  auto opened = open_profiled(vendor, *device);
  if (!opened.ok()) log::warning("launches on device {} are not timed: {}", *device, opened.status().message());
  std::lock_guard lock(mutex_);
  return profiled_[*device] = opened.ok() ? *opened : nullptr;
}

// What is not timed may count in the profile of another device.
std::shared_ptr<Recorder::Profiled> Recorder::any_profiled(Vendor& vendor) {
  if (auto current = current_profiled(vendor)) return current;
  std::lock_guard lock(mutex_);
  for (const auto& [ordinal, profiled] : profiled_)
    if (profiled) return profiled;
  return nullptr;
}

Profile::Launched Recorder::launched_only(const ProgramShape& shape, const RecordableKernel* kernel) {
  Profile::Launched launched{{}, shape.grid, shape.block, shape.shared, shape.cooperative, {}, kernel, shape.cluster};
  if (kernel)
    launched.static_hash =
        kernel->status.ok() ? kernel->record.static_hash : digest_of(std::as_bytes(std::span(kernel->registered->name)));
  return launched;
}

std::optional<Recorder::Timing> Recorder::begin_timing_only(const Launch& launch, void* stream) {
  if (goes_into_graph(launch)) {
    if (environment_.report) environment_.report->count(NotRecorded::stream_capture, "");
    return std::nullopt;
  }
  const auto kernel = find_kernel(launch.function, launch.vendor);
  const Profile::Launched launched = launched_only(launch.shape(), kernel.get());
  if (auto profiled = in_stream_capture() ? nullptr : current_profiled(launch.vendor)) {
    const auto tag = profiled->profile->begin(launched, launch.vendor, stream);
    return tag ? std::optional(Timing{*tag, std::move(profiled)}) : std::nullopt;
  }
  if (auto profiled = any_profiled(launch.vendor)) profiled->profile->count(launched);
  return std::nullopt;
}

bool Recorder::is_sample(const Launch& launch, LaunchGroup& group) {
  if (in_stream_capture()) return group.keep_open(), false;
  const auto profiled = current_profiled(launch.vendor);
  if (!profiled) return false;
  const auto kernel = find_kernel(launch.function, launch.vendor);
  const Profile::Sample sample = profiled->profile->take_sample(launched_only(launch.shape(), kernel.get()));
  if (sample != Profile::Sample::complete) group.keep_open();
  return sample == Profile::Sample::taken;
}

void Recorder::count_untimed(const Launch& launch, LaunchGroup& group) {
  const auto kernel = find_kernel(launch.function, launch.vendor);
  group.add_launch();
  group.settle_untimed();
  group.add_shape(kernel, launch.shape());
  if (environment_.report) ++environment_.report->untimed;
  if (const auto profiled = any_profiled(launch.vendor)) profiled->profile->count(launched_only(launch.shape(), kernel.get()));
}

void Recorder::end_timing_only(const Timing& timed, bool launched) {
  timed.on->profile->end(timed.tag, launched);
  tell_profiles_when_due();
}

void Recorder::tell_profiles_when_due() {
  const auto passed = std::chrono::steady_clock::now() - begin_;
  auto due = profiles_due_.load();
  if (passed >= due && profiles_due_.compare_exchange_strong(due, passed + passed / 10)) tell_profiles();
}

void Recorder::tell_profiles() {
  count_shapes_of_groups();
  std::vector<std::shared_ptr<Profiled>> all;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [ordinal, profiled] : profiled_)
      if (profiled) all.push_back(profiled);
  }
  for (const auto& profiled : all) tell_profile(*profiled);
}

void Recorder::tell_profile(Profiled& profiled) {
  std::lock_guard one(profiled.telling);
  LaunchProfile told = profiled.profile->all();
  const DeviceProperties& device = profiled.device->properties();
  told.device_kind = to_string(device.kind);
  told.device_name = device.name;
  Status status = append_profile(options_.profile_file, profiled.writer, told);
  if (status.ok()) return;
  log::warning("the profile of this process is not kept: {}", status.message());
  profiles_due_ = std::chrono::steady_clock::duration::max();
}

std::optional<ShapeLaunches> Recorder::launches_of(const KernelCounts& counts, const Profile::Instance& instance,
                                                   const ProgramShape& shape) {
  ShapeLaunches launches{counts.shapes.launches(shape), std::nullopt};
  if (launches.count == 0) return std::nullopt;
  auto profile = current_profile();
  auto mean = profile ? profile->mean_of(instance) : std::nullopt;
  if (profile && !mean) mean = profile->mean_of(instance.static_hash, shape);
  if (mean) launches.total = *mean * static_cast<double>(launches.count);
  return launches;
}

void Recorder::finish() {
  const Timed timed(environment_.report, &RecordingReport::ending);
  const WriterThreads::Hurry hurry(*writers_);
  commit_groups_->at_once = true;
  const Groups::Waiter waiter(*commit_groups_);  // and wakes one that waits
  commits_.finish();
  endings_.finish();
  tell_counts();
}

void Recorder::tell_counts() {
  if (state_ != State::open) return;
  if (profiles_only()) return tell_profiles();
  std::shared_ptr<Database> database;
  {
    std::lock_guard lock(mutex_);
    database = database_;
  }
  if (!database) return;
  auto profile = options_.profile ? current_profile() : nullptr;
  if (!profile || finish_times(*database, *profile)) finish_launches(*database);
}

bool Recorder::finish_times(Database& database, Profile& profile) {
  std::map<Digest, std::map<Digest, RecordedTime>> times;  // of kernels
  for (const Profile::Instance& instance : profile.instances())
    if (auto time = profile.time_of(instance)) times[instance.static_hash][instance.dynamic_hash] = *time;
  for (const auto& [static_hash, of_kernel] : times)
    if (!is_kept(database.set_recorded_times(static_hash, of_kernel))) return false;
  return true;
}

void Recorder::finish_launches(Database& database) {
  count_shapes_of_groups();
  std::map<Digest, std::shared_ptr<KernelCounts>> kernels;
  {
    std::lock_guard lock(mutex_);
    kernels = counts_;
  }
  Database::LaunchesOfKernels launches;
  for (const auto& [static_hash, counts] : kernels)
    for (const auto& [dynamic_hash, shape] : counts->instances())
      if (auto of_shape = launches_of(*counts, {static_hash, dynamic_hash}, shape))
        launches[static_hash][dynamic_hash] = *of_shape;
  (void)is_kept(database.set_shape_launches(launches));
}

}  // namespace mneme

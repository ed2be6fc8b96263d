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
  auto profiled = std::make_shared<Profiled>();
  MNEME_ASSIGN(profiled->ordinal, vendor.current_device());
  MNEME_ASSIGN(profiled->device, environment_.open_device(vendor.device_kind(), profiled->ordinal));
  MNEME_TRY(choose_images(*profiled->device));
  profiled->profile = std::make_unique<Profile>(make_program_clock(*profiled->device), Profile::Of::all_launches);
  profiled->writer = fmt::format("{}.{}", ::getpid(), profiled->begin.time_since_epoch().count());
  environment_.recording_begins();
  std::lock_guard lock(mutex_);
  profiled_ = std::move(profiled);
  state_ = State::open;
  return {};
}

std::shared_ptr<Recorder::Profiled> Recorder::current_profiled() {
  std::lock_guard lock(mutex_);
  return state_ == State::open ? profiled_ : nullptr;
}

Profile::Launched Recorder::launched_only(const Launch& launch, const RecordableKernel* kernel) {
  Profile::Launched launched{{}, launch.grid, launch.block, launch.shared, launch.cooperative, {}, kernel, launch.cluster};
  if (kernel)
    launched.static_hash =
        kernel->status.ok() ? kernel->record.static_hash : digest_of(std::as_bytes(std::span(kernel->registered->name)));
  return launched;
}

std::optional<LaunchTag> Recorder::begin_timing_only(const Launch& launch, void* stream) {
  if (goes_into_graph(launch)) {
    if (environment_.report) environment_.report->count(NotRecorded::stream_capture, "");
    return std::nullopt;
  }
  auto profiled = current_profiled();
  if (!profiled) return std::nullopt;
  const auto kernel = find_kernel(launch.function, launch.vendor);
  const Profile::Launched launched = launched_only(launch, kernel.get());
  auto device = launch.vendor.current_device();
  if (device.ok() && *device == profiled->ordinal && !in_stream_capture())
    return profiled->profile->begin(launched, launch.vendor, stream);
  profiled->profile->count(launched);
  return std::nullopt;
}

void Recorder::count_untimed(const Launch& launch) {
  const auto profiled = current_profiled();
  if (!profiled) return;
  if (environment_.report) ++environment_.report->untimed;
  const auto kernel = find_kernel(launch.function, launch.vendor);
  profiled->profile->count(launched_only(launch, kernel.get()));
}

void Recorder::end_timing_only(LaunchTag timed, bool launched) {
  auto profiled = current_profiled();
  if (!profiled) return;
  profiled->profile->end(timed, launched);
  const auto passed = std::chrono::steady_clock::now() - profiled->begin;
  auto due = profiled->due.load();
  if (passed >= due && profiled->due.compare_exchange_strong(due, passed + passed / 10)) tell_profile(*profiled);
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
  profiled.due = std::chrono::steady_clock::duration::max();
}

std::optional<ShapeLaunches> Recorder::launches_of(const KernelCounts& counts, const Profile::Instance& instance,
                                                   const ProgramShape& shape) {
  ShapeLaunches launches{counts.shapes.launches(shape), std::nullopt};
  if (launches.count == 0) return std::nullopt;
  auto profile = current_profile();
  if (auto mean = profile ? profile->mean_of(instance) : std::nullopt)
    launches.total = *mean * static_cast<double>(launches.count);
  return launches;
}

void Recorder::finish_profile() {
  if (state_ != State::open) return;
  if (profiles_only()) {
    if (auto profiled = current_profiled()) tell_profile(*profiled);
    return;
  }
  std::shared_ptr<Database> database;
  {
    std::lock_guard lock(mutex_);
    database = database_;
  }
  if (!database) return;
  auto profile = current_profile();
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
  for (const auto& [static_hash, counts] : kernels) {
    std::map<Digest, ShapeLaunches> launches;
    for (const auto& [dynamic_hash, shape] : counts->instances())
      if (auto of_shape = launches_of(*counts, {static_hash, dynamic_hash}, shape)) launches[dynamic_hash] = *of_shape;
    if (launches.empty()) continue;
    if (!is_kept(database.set_shape_launches(static_hash, launches))) return;
  }
}

}  // namespace mneme

// The way of one launch: select, capture the prologue, (the launch), capture the epilogue, publish.
#include <algorithm>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <future>
#include <map>
#include <new>
#include <thread>
#include <utility>

#include "mneme/base/log.h"
#include "mneme/base/shown.h"
#include "mneme/record/reachable_memory.h"
#include "mneme/record/recorder_state.h"
#include "mneme/record/uncanceled.h"
#include "mneme/snapshot/launch_limits.h"

namespace mneme {
namespace {

std::string now_utc() {
  std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

bool points_into(ByteSpan parameters, const MemoryRange& place) {
  for (size_t at = 0; at + sizeof(uint64_t) <= parameters.size(); at += sizeof(uint64_t)) {
    uint64_t value = 0;
    std::memcpy(&value, parameters.data() + at, sizeof value);
    if (value >= place.address.address && value - place.address.address < place.size.count) return true;
  }
  return false;
}

// Variables that the kernel's own code does not name, but may reach by a pointer: those whose address may stand in memory, and
// those that an argument points into. One that the vendor does not find is left out: nothing of the kernel names it.
std::vector<CapturedGlobal> globals_behind_pointers(const RecordableKernel& kernel, ByteSpan parameters, Vendor& vendor) {
  std::vector<CapturedGlobal> globals;
  auto segments = kernel.registered->image->segments();
  if (!segments.ok()) return globals;
  std::map<std::string, const SegmentGlobal*> others;
  for (const EmbeddedSegment& segment : (*segments)->segments)
    for (const SegmentGlobal& global : segment.globals)
      if (const SegmentGlobal*& entry = others[std::string(global.name)]; !entry || global.escapes()) entry = &global;
  for (const auto& global : kernel.globals) others.erase(global.image_name);
  for (const auto& [name, global] : others) {
    if (global->managed()) continue;
    auto place = vendor.find_global(kernel, name);
    if (place.ok() && place->size.count != 0 && (global->escapes() || points_into(parameters, *place)))
      globals.push_back({std::string(global->ir_name), place->address, place->size});
  }
  return globals;
}

// What the program packed itself may be shorter, by padding at the end, or longer.
ByteVector take_packed(const RecordableKernel& kernel, ByteSpan packed) {
  ByteVector parameters(packed.begin(), packed.end());
  parameters.resize(kernel.record.parameter_bytes);
  for (const SegmentRange& range : kernel.padding) std::memset(parameters.data() + range.offset, 0, range.size);
  return parameters;
}

Status changed_meanwhile() { return error(Code::unavailable, "other threads have changed the memory meanwhile"); }

uint64_t nanoseconds_of(std::chrono::steady_clock::duration time) {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
}

// Of what waits to be stored but the pages.
Bytes size_in_queue(const Recording& recording, const RecordedCode& code, const CapturedMemory& before,
                    const CapturedMemory& after) {
  Bytes size = Bytes(code.ir.size()) + before.size_in_memory() + after.size_in_memory();
  for (const SharedBytes& image : code.images) size += Bytes(image.size());
  for (const MemoryState* state : {&recording.prologue, &recording.epilogue})
    for (const Region& region : state->regions) size += Bytes(sizeof(Region) + region.pages.size() * sizeof(Digest));
  return size;
}

// What the work gives, or exhausted where memory runs out on the way: the program knows nothing of such an exception.
template <typename Work>
auto in_memory(const Work& work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return error(Code::exhausted, "there is no memory to capture a launch with");
  }
}

bool arguments_are_there(const RecordableKernel& kernel, void* const* arguments) {
  const size_t count = kernel.record.parameters.size();
  if (count == 0) return true;
  return arguments && std::all_of(arguments, arguments + count, [](const void* argument) { return argument != nullptr; });
}

}  // namespace

// Cheap first: most launches of a program end here, beyond --max.
std::optional<NotRecorded> Recorder::select(const std::shared_ptr<const RecordableKernel>& found, const Launch& launch,
                                            uint64_t position, LaunchGroup* group) {
  const RecordableKernel& kernel = *found;
  if (!kernel.status.ok())
    return kernel.registered->image->wrapper() == nullptr ? NotRecorded::no_code
           : kernel.status.code() == Code::unsupported    ? NotRecorded::ambiguous_names
                                                          : NotRecorded::no_segment;
  if (kernel.left_out) return kernel.left_out;
  if (!goes_into_graph(launch)) kernel.counts->shapes.count(launch.shape());
  if (group) group->add_shape(found, launch.shape());
  if (kernel.counts->refused) return NotRecorded::damaged_file;
  if (auto reason = selection_.leaves_out(*kernel.counts, position)) return reason;
  if (launch.refusal) return launch.refusal;
  if (stream_captures_ > 0) return NotRecorded::during_capture;
  if (launch.packed.empty() && !arguments_are_there(kernel, launch.arguments)) return NotRecorded::launch_failed;
  if (kernel.record.level == CodeLevel::ir && kernel.reads_managed_variables()) return NotRecorded::managed_global;
  if (kernel.uses_textures && !textures_.any()) return NotRecorded::textures;
  if (kernel.has_same_names) return NotRecorded::same_names;
  if (kernel.uses_device_heap) return NotRecorded::device_heap;
  // Machine code is recorded with the kernels that it may launch, linked to the device runtime.
  if (kernel.launches_kernels && kernel.record.level != CodeLevel::cubin) return NotRecorded::device_launch;
  return std::nullopt;
}

Result<std::vector<CapturedGlobal>> Recorder::find_globals(const RecordableKernel& kernel, ByteSpan parameters, Vendor& vendor) {
  std::vector<CapturedGlobal> globals = globals_behind_pointers(kernel, parameters, vendor);
  for (const auto& global : kernel.globals) {
    auto place = vendor.find_global(kernel, global.image_name);
    if (place.status().code() == Code::not_found && kernel.record.level != CodeLevel::ir)
      continue;  // the loader keeps no variable that no code uses
    if (!place.ok())
      return place.status().with_context(
          fmt::format("finding the variable {} of {}", global.info.name, shown(kernel.display_name())));
    if (place->size.count != 0) globals.push_back({global.info.name, place->address, place->size});
  }
  return globals;
}

// What the kernels reach that a kernel launches itself, its own arguments do not tell.
MemoryExtent Recorder::extent_of(const RecordableKernel& kernel) const {
  return kernel.launches_kernels ? MemoryExtent::all : options_.memory_extent;
}

InstanceRecord Recorder::describe_instance(const RecordableKernel& kernel, const Launch& launch, ByteVector parameters) const {
  InstanceRecord instance;
  instance.static_hash = kernel.record.static_hash;
  instance.grid = launch.grid;
  instance.block = launch.block;
  instance.dynamic_shared_memory = launch.shared;
  instance.cooperative = launch.cooperative;
  instance.cluster = launch.cluster;
  for (const auto& [name, value] : launch.attributes) instance.attributes[std::string(name)] = std::to_string(value);
  instance.memory_extent = extent_of(kernel);
  const bool assembled = !kernel.record.images.empty() && kernel.record.images[0].kind == CodeImageRecord::Kind::ptx;
  for (const auto& [name, value] : kernel.registered->image->jit_options())
    if (assembled) instance.attributes[std::string(kDriverOption) + name] = value;
  instance.parameters = std::move(parameters);
  instance.recorded_at = now_utc();
  instance.mneme_version = MNEME_VERSION;
  return instance;
}

void Recorder::DeleteCapture::operator()(Capture* capture) const { delete capture; }

Recorder::CapturePtr Recorder::begin_launch(Launch& launch) {
  CapturePtr selected = select_launch(launch);
  return selected ? begin_launch(std::move(selected), launch) : nullptr;
}

Recorder::CapturePtr Recorder::select_launch(const Launch& launch, LaunchGroup* group) {
  CapturePtr selected;
  const Status status = in_memory([&]() -> Status {
    selected = select_or_count(launch, group);
    return {};
  });
  if (status.ok()) return selected;
  end(status);
  return count(NotRecorded::ended, ""), nullptr;
}

Recorder::CapturePtr Recorder::select_or_count(const Launch& launch, LaunchGroup* group) {
  if (environment_.report) ++environment_.report->launches;
  if (group) group->add_launch();
  const bool captured = goes_into_graph(launch) || stream_captures_ > 0;
  const uint64_t decision = selection_.changes();
  // Before the first look at a kernel, since the device decides which of a program's images counts.
  if (state_ == State::waiting && !captured && (!launch.refusal || profiles_only()))
    if (Status status = open(launch.vendor); !status.ok()) end(status);
  if (profiles_only()) return nullptr;
  const uint64_t position = selection_.next_position();
  // What an image holds is read once, for the device that the first launch opens.
  if (state_ == State::waiting && (launch.refusal || captured))
    return count(launch.refusal.value_or(NotRecorded::during_capture), ""), nullptr;
  auto kernel = find_kernel(launch.function, launch.vendor);
  if (!kernel) return count(NotRecorded::unknown_kernel, ""), nullptr;
  auto pass = [&](NotRecorded reason) { return count(reason, kernel->display_name()), nullptr; };
  if (auto reason = select(kernel, launch, position, group)) {
    if (group && selection_.lasts(*reason, position)) group->settle(*reason);
    if (!group) keep_passed(launch, *kernel, *reason, decision);
    return pass(*reason);
  }
  if (state_ == State::ended)
    return pass(selection_.begin_attempt(*kernel->counts) ? NotRecorded::ended : NotRecorded::beyond_max);

  auto opened = current_device(launch.vendor);
  if (!opened.ok()) return pass(NotRecorded::device_lost);
  if (!*opened) return pass(state_ == State::ended ? NotRecorded::ended : NotRecorded::other_device);
  if (auto reason = launch.vendor.refuse_stream(launch.stream)) return pass(*reason);
  CapturePtr capture(new Capture{kernel, *opened, launch.vendor});
  ByteVector parameters = launch.packed.empty() ? pack_arguments(*kernel, launch.arguments) : take_packed(*kernel, launch.packed);
  if (auto reason = find_foreign(parameters, (*opened)->ordinal)) return pass(*reason);
  if (is_given_pageable(*kernel, parameters, **opened, launch.vendor)) {
    pageable_was_given_ = true;
    return pass(NotRecorded::pageable_memory);
  }
  if (kernel->may_use_textures && textures_.any()) {
    const auto place = launch.vendor.current_place();
    if (!place.ok() || textures_.forbids(parameters, *place)) return pass(NotRecorded::textures);
  }
  if (auto reason = refuses(least_memory(*capture->opened, *kernel, parameters))) return pass(*reason);
  auto claim = selection_.claim_launch(*kernel->counts, launch.shape(), parameters);
  if (!claim) return pass(selection_.same());
  if (is_given_unknown_memory(*kernel, parameters, launch.vendor)) return pass(NotRecorded::other_device_memory);
  capture->claim = std::move(*claim);
  capture->recording.kernel = kernel->record;
  capture->recording.instance = describe_instance(*kernel, launch, std::move(parameters));

  if (!selection_.begin_attempt(*kernel->counts)) return pass(NotRecorded::beyond_max);
  return capture;
}

// What is timed, or said one by one, is looked at each time.
void Recorder::keep_passed(const Launch& launch, const RecordableKernel& kernel, NotRecorded reason, uint64_t decision) {
  const bool counts_in_shapes = kernel.status.ok() && !kernel.left_out;
  if (!selection_.lasts_for_kernel(reason) || !environment_.report || log::level() <= log::Level::debug) return;
  if (counts_in_shapes && has_profile_) return;
  const void* const handle = launch.handle ? launch.handle : launch.function;
  passed_.keep({handle, environment_.report, counts_in_shapes ? &kernel.counts->shapes : nullptr, reason}, decision);
}

std::shared_ptr<LaunchGroup> Recorder::keep_group(std::shared_ptr<LaunchGroup> group, Vendor& vendor) {
  // Launches that are not recorded are said one by one there.
  if (!group->is_settled() || log::level() <= log::Level::debug) return nullptr;
  count_shapes_of_groups();
  auto profiled = profiles_only() ? current_profiled(vendor) : nullptr;
  std::lock_guard lock(mutex_);
  groups_.push_back({group, std::move(profiled)});
  return group;
}

bool Recorder::is_current(const LaunchGroup& group) const {
  return group.changes() == selection_.changes() && stream_captures_ == 0;
}

bool Recorder::count_group(LaunchGroup& group) {
  if (!is_current(group)) return false;
  selection_.pass_positions(group.launches());
  group.count_call(environment_.report);
  if (profiles_only()) tell_profiles_when_due();
  return true;
}

// Groups that nobody else has any more go.
void Recorder::count_shapes_of_groups() {
  std::vector<KeptGroup> all;
  {
    std::lock_guard lock(mutex_);
    all = groups_;
    std::erase_if(groups_, [](const KeptGroup& kept) { return kept.group.use_count() == 2; });
  }
  for (const KeptGroup& kept : all)
    kept.group->take_shapes([&](const LaunchGroup::Shape& of, uint64_t launches) {
      if (kept.profiled)
        kept.profiled->profile->count(launched_only(of.shape, of.kernel.get()), launches);
      else
        of.kernel->counts->shapes.count(of.shape, launches);
    });
}

void Recorder::pass(CapturePtr selected, NotRecorded reason) {
  if (reason == NotRecorded::graph_untold || reason == NotRecorded::during_capture)
    selection_.take_back_attempt(*selected->kernel->counts);
  count(reason, selected->kernel->display_name());
}

Recorder::CapturePtr Recorder::begin_launch(CapturePtr capture, Launch& launch) {
  const Uncanceled here;
  const Timed timed(environment_.report, &RecordingReport::capturing);
  if (state_ == State::ended) return pass(std::move(capture), NotRecorded::ended), nullptr;
  // Before others wait: what is left of the limit is known when all is written.
  if (options_.max_bytes) wait_until_stored();
  if (!gate_.begin_capture()) return pass(std::move(capture), NotRecorded::concurrent), nullptr;
  // A capture that begins from here on waits at the gate. Under one that has begun nothing may wait for the device.
  if (stream_captures_ > 0) {
    gate_.end_capture();
    return pass(std::move(capture), NotRecorded::during_capture), nullptr;
  }
  auto is_new = in_memory([&] { return capture_prologue(*capture); });
  if (is_new.ok() && *is_new) return capture;
  // The program has unmapped memory that it had registered.
  if (!is_new.ok() && capture->opened->states->lost_host_memory()) return give_up(*capture, NotRecorded::host_memory), nullptr;
  if (!is_new.ok() && gate_.disturbed()) return give_up(*capture, NotRecorded::concurrent), nullptr;
  if (!is_new.ok() && capture->textures.lost_array()) return give_up(*capture, NotRecorded::textures), nullptr;
  if (!is_new.ok()) return fail(*capture, is_new.status()), nullptr;
  if (const Digest& hash = capture->recording.instance.dynamic_hash; hash != Digest()) {
    launch.known = hash;
    capture->claim.keep();
  }
  release(*capture);
  return nullptr;
}

// False when there is nothing to record: the instance is known, or the launch cannot be looked at, which has been counted.
Result<bool> Recorder::capture_prologue(Capture& capture) {
  Opened& opened = *capture.opened;
  capture.host_removals = host_memory_.removals();
  capture.memory.host = host_memory_.all();
  if (Waited waited = wait_for_devices(capture); waited != Waited::idle) {
    capture.idle = false;
    count(waited == Waited::failed ? NotRecorded::device_lost : NotRecorded::waits_for_host, capture.kernel->display_name());
    return false;
  }
  memory_was_read_ = true;
  MNEME_ASSIGN(capture.memory.globals, find_globals(*capture.kernel, capture.recording.instance.parameters, capture.vendor));
  if (!managed_variables_lie_right(capture)) {
    selection_.take_back_attempt(*capture.kernel->counts);
    count(NotRecorded::managed_global, capture.kernel->display_name());
    return false;
  }
  capture.memory.allocations = opened.space->allocations();
  capture.memory.mapped = outside_memory_.mapped(opened.ordinal);
  capture.memory.managed = outside_memory_.managed();
  if (opened.losses != std::exchange(opened.losses, losses_)) opened.states->forget();
  opened.states->forget_freed(capture.memory);
  auto reason = choose_textures(capture);
  if (!reason && extent_of(*capture.kernel) == MemoryExtent::reachable) MNEME_TRY(keep_reachable(capture));
  if (!reason && !capture.textures.take_memory(*opened.space, capture.memory).ok()) reason = NotRecorded::textures;
  if (!reason) reason = refuses(capture.memory.size());
  if (reason) {
    selection_.take_back_attempt(*capture.kernel->counts);
    count(*reason, capture.kernel->display_name());
    return false;
  }
  capture.memory.vendor = &capture.vendor;
  PublicationOptions publication;
  publication.writers = writers_;
  if (options_.max_bytes) {
    std::lock_guard lock(mutex_);
    publication.limit = Bytes(options_.max_bytes->count - std::min(options_.max_bytes->count, written_));
  }
  MNEME_ASSIGN(capture.publication, opened.database->begin_publication(publication));
  const uint64_t removals = opened.database->removals();
  if (std::exchange(opened.removals, removals) != removals) opened.states->forget();
  MNEME_TRY(read_memory(capture, capture.before));
  MNEME_TRY(note_pageable(capture));

  MemoryState& prologue = capture.recording.prologue;
  InstanceRecord& instance = capture.recording.instance;
  prologue = capture.before.outline();
  const DeviceProperties& device = opened.device->properties();
  instance.device_kind = to_string(device.kind);
  instance.device_name = device.name;
  if (opened.ordinal != 0) instance.attributes["device"] = std::to_string(opened.ordinal);
  put_limits(capture.vendor.limits(), instance.attributes);
  instance.space_base = opened.space->base();
  instance.space_size = opened.space->size();
  instance.state_bytes = prologue.bytes();
  instance.annotations = annotations_of(capture.vendor, prologue);
  prologue.textures = capture.textures.set();
  if (!decides_first_) return true;
  MNEME_TRY(wait_for_digests(capture));
  take_digests(opened, capture.before, prologue);
  instance.dynamic_hash = dynamic_hash(instance, prologue, capture.kernel->record.level);
  if (!selection_.claim_data(*capture.kernel->counts, instance.dynamic_hash, capture.claim)) {
    count(selection_.same(), capture.kernel->display_name());
    return false;
  }
  if (is_in_flight(instance)) wait_until_stored();
  MNEME_ASSIGN(const bool is_known, is_recorded(*opened.database, *capture.kernel, instance));
  return !is_known;
}

// Whether the database has the instance, which then has the annotations of this launch, and is counted.
Result<bool> Recorder::is_recorded(Database& database, const RecordableKernel& kernel, const InstanceRecord& instance) {
  MNEME_ASSIGN(const bool is_known, database.has_instance(instance.static_hash, instance.dynamic_hash));
  if (!is_known) return false;
  kernel.counts->remember(instance.dynamic_hash, shape_of(instance));
  MNEME_TRY(database.set_annotations(instance.static_hash, instance.dynamic_hash, instance.annotations));
  if (environment_.report) {
    ++environment_.report->duplicates;
    if (!kernel.counts->recorded.exchange(true)) environment_.report->count_kernel(instance.static_hash);
  }
  return true;
}

// In the order of the captures.
void Recorder::take_digests(Opened& opened, const CapturedMemory& captured, MemoryState& state) {
  TextureSet textures = std::move(state.textures);
  state = opened.history.add(captured);
  state.textures = std::move(textures);
}

// Where kernels reach the host's memory they may be waiting for the host, which waits here: not for ever, then.
Recorder::Waited Recorder::wait_for_devices(Vendor& vendor, bool kernels_reach_host) const {
  if (!kernels_reach_host) return wait_for_devices(vendor).ok() ? Waited::idle : Waited::failed;
  std::packaged_task<Status()> wait([&vendor, devices = devices_in_use(vendor)] { return wait_for(vendor, devices); });
  std::future<Status> result = wait.get_future();
  std::thread(std::move(wait)).detach();
  if (result.wait_for(environment_.patience) != std::future_status::ready) return Waited::running;
  return result.get().ok() ? Waited::idle : Waited::failed;
}

// A managed variable is captured as any other, by its name, if what has that name is the variable, and the host may reach it
// while kernels run.
bool Recorder::managed_variables_lie_right(const Capture& capture) {
  const auto& found = capture.memory.globals;
  return std::ranges::all_of(capture.kernel->globals, [&](const RecordableKernel::Global& global) {
    if (!global.info.managed) return true;
    const auto place = std::ranges::find(found, global.info.name, &CapturedGlobal::name);
    return place != found.end() && place->size == Bytes(global.info.size) && capture.vendor.is_managed(place->address);
  });
}

bool Recorder::kernels_reach_host() const {
  return host_memory_.bytes().count != 0 || pageable_was_given_ || !outside_memory_.managed().empty();
}

Recorder::Waited Recorder::wait_for_devices(const Capture& capture) const {
  return wait_for_devices(capture.vendor, kernels_reach_host() || capture.kernel->reads_managed_variables());
}

std::optional<NotRecorded> Recorder::wait_for_device(Vendor& vendor) const {
  if (stream_captures_ > 0) return NotRecorded::during_capture;
  switch (wait_for_devices(vendor, kernels_reach_host())) {
    case Waited::idle: return std::nullopt;
    case Waited::failed: return NotRecorded::device_lost;
    case Waited::running: return NotRecorded::waits_for_host;
  }
  return std::nullopt;
}

Status Recorder::read_memory(Capture& capture, CapturedMemory& found) {
  Opened& opened = *capture.opened;
  const StateCapture::Cost before = opened.states->cost();
  {
    const Gate::Reading reading(gate_);
    if (!reading.ok()) return changed_meanwhile();
    MNEME_TRY(capture.textures.copy_arrays(capture.vendor));
    MNEME_TRY(opened.states->capture(*opened.stream, capture.memory, *capture.publication, found));
  }
  tell_cost(before, opened.states->cost());
  return {};
}

void Recorder::tell_cost(const StateCapture::Cost& before, const StateCapture::Cost& after) {
  RecordingReport* report = environment_.report;
  if (!report) return;
  report->hashing += nanoseconds_of(after.hashing - before.hashing);
  report->pinning += nanoseconds_of(after.pinning - before.pinning);
  report->copying += nanoseconds_of(after.copying - before.copying);
  report->digesting += nanoseconds_of(after.digesting - before.digesting);
  report->copied_bytes += (after.copied - before.copied).count;
}

Status Recorder::wait_for_digests(Capture& capture) {
  const Timed timed(environment_.report, &RecordingReport::digesting);
  return capture.opened->states->finish(*capture.publication);
}

// Which of the program's textures the launch is recorded with: all of its context, which the current one is, since a handle may
// come from memory. Why it is not recorded; nothing: it is.
std::optional<NotRecorded> Recorder::choose_textures(Capture& capture) {
  if (!capture.kernel->may_use_textures || !textures_.any()) return std::nullopt;
  const auto place = capture.vendor.current_place();
  const bool known =
      place.ok() && capture.textures.choose(textures_.at(*place), capture.memory, capture.recording.instance.parameters);
  return known ? std::nullopt : std::optional(NotRecorded::textures);
}

// All that a launch on the device may see but variables.
StateCapture::Memory Recorder::whole_memory(const Opened& opened) {
  StateCapture::Memory memory;
  memory.allocations = opened.space->allocations();
  memory.mapped = outside_memory_.mapped(opened.ordinal);
  memory.managed = outside_memory_.managed();
  memory.host = host_memory_.all();
  return memory;
}

// The memory that a launch is recorded with at least, as far as can be told without reading memory.
Bytes Recorder::least_memory(const Opened& opened, const RecordableKernel& kernel, ByteSpan parameters) {
  if (extent_of(kernel) == MemoryExtent::all)
    return opened.space->allocated() + outside_memory_.bytes(opened.ordinal) + host_memory_.bytes();
  if (!options_.max_launch_bytes && !options_.max_bytes) return {};
  ReachableMemory reachable(whole_memory(opened));
  reachable.reach_from_parameters(parameters);
  return reachable.size();
}

// Why a launch that is recorded with so much memory is not.
std::optional<NotRecorded> Recorder::refuses(Bytes memory) {
  std::lock_guard lock(mutex_);
  if (memory.count >= too_large_ || (options_.max_bytes && written_ >= options_.max_bytes->count))
    return NotRecorded::beyond_bytes;
  return selection_.leaves_out(memory);
}

Status Recorder::keep_reachable(Capture& capture) {
  ReachableMemory reachable(capture.memory);
  reachable.reach_from_parameters(capture.recording.instance.parameters);
  reachable.reach_from_parameters(capture.textures.addresses());
  Stream& stream = *capture.opened->stream;
  const Gate::Reading reading(gate_);
  if (!reading.ok()) return changed_meanwhile();
  MNEME_TRY(reachable.reach_from(capture.memory.globals, stream, &capture.vendor));
  MNEME_TRY(reachable.follow(stream));
  reachable.keep_reached(capture.memory);
  return {};
}

void Recorder::end_launch(CapturePtr capture, bool launched) {
  const Uncanceled here;
  const Timed timed(environment_.report, &RecordingReport::capturing);
  if (!launched) return give_up(*capture, NotRecorded::launch_failed);
  Waited waited = wait_for_devices(*capture);
  if (waited == Waited::running) return abandon(*capture);
  if (waited == Waited::failed) return give_up(*capture, NotRecorded::launch_failed);
  if (gate_.disturbed() || host_memory_.removals() != capture->host_removals) return give_up(*capture, NotRecorded::concurrent);
  const Status status = in_memory([&] { return hand_over(*capture); });
  if (!status.ok() && (gate_.disturbed() || capture->opened->states->lost_host_memory()))
    return give_up(*capture, NotRecorded::concurrent);
  if (!status.ok() && capture->textures.lost_array()) return give_up(*capture, NotRecorded::textures);
  if (!status.ok()) return fail(*capture, status);
  release(*capture);
  capture.reset();
  const Timed waiting(environment_.report, &RecordingReport::waiting);
  wait_for_room();
  if (options_.max_bytes || disk_is_short()) wait_until_stored();
}

// Captures what the launch has left, and gives all of it to the commit queue: in the order of the captures, and so before another
// can begin.
Status Recorder::hand_over(Capture& capture) {
  InstanceRecord& instance = capture.recording.instance;
  // What is known so far, for a program that does not come to its end.
  if (auto profile = options_.profile ? current_profile() : nullptr)
    instance.recorded_time = profile->time_of({instance.static_hash, instance.dynamic_hash});
  const ProgramShape shape = shape_of(instance);
  count_shapes_of_groups();
  instance.shape_launches = launches_of(*capture.kernel->counts, {instance.static_hash, instance.dynamic_hash}, shape);
  std::shared_ptr<Captured> captured(new Captured{
      capture.kernel, capture.opened, capture.memory.size(), {}, {}, {}, {}, {}, {}, {}, Storing(environment_.report)});
  MNEME_TRY(capture_epilogue(capture));
  captured->recording = std::move(capture.recording);
  captured->code = std::move(capture.code);
  captured->before = std::move(capture.before);
  captured->after = std::move(capture.after);
  captured->publication = std::move(capture.publication);
  captured->claim = std::move(capture.claim);
  if (decides_first_) {
    std::lock_guard lock(mutex_);
    in_flight_.insert({captured->recording.instance.static_hash, captured->recording.instance.dynamic_hash});
  }
  captured->size_in_queue = size_in_queue(captured->recording, *captured->code, captured->before, captured->after);
  commits_.add(
      captured->size_in_queue, [this, captured] { commit(captured); },
      [captured] { return captured->publication->is_settled(); });
  return {};
}

// Where little is left, later launches would take it from those before them, and none would be whole.
bool Recorder::disk_is_short() const {
  constexpr Bytes kLittle{64 << 20};
  std::error_code failed;
  const auto space = std::filesystem::space(options_.database, failed);
  return !failed && space.available < kLittle.count;
}

bool Recorder::is_in_flight(const InstanceRecord& instance) {
  std::lock_guard lock(mutex_);
  return in_flight_.contains({instance.static_hash, instance.dynamic_hash});
}

std::shared_ptr<Profile> Recorder::current_profile() {
  if (!has_profile_) return nullptr;
  std::lock_guard lock(mutex_);
  return profile_;
}

std::optional<Recorder::Timing> Recorder::begin_timing(const Launch& launch, const Capture* capture, void* stream) {
  if (profiles_only()) return begin_timing_only(launch, stream);
  auto profile = state_ == State::open && stream_captures_ == 0 && !launch.refusal ? current_profile() : nullptr;
  if (!profile) return std::nullopt;
  auto kernel = find_kernel(launch.function, launch.vendor);
  if (!kernel || !kernel->status.ok() || kernel->left_out) return std::nullopt;
  Profile::Launched launched{kernel->record.static_hash, launch.grid, launch.block, launch.shared, launch.cooperative, {}};
  launched.cluster = launch.cluster;
  if (capture)
    launched.instance = {launched.static_hash, capture->recording.instance.dynamic_hash};
  else if (launch.known)
    launched.instance = {launched.static_hash, *launch.known};
  const bool read_before = memory_was_read_.exchange(launched.instance.has_value());
  if (!launched.instance && read_before) return std::nullopt;
  auto device = launch.vendor.current_device();
  if (!device.ok() || !opened_on(*device)) return std::nullopt;
  const auto tag = profile->begin(launched, launch.vendor, stream);
  return tag ? std::optional(Timing{*tag, nullptr}) : std::nullopt;
}

void Recorder::end_timing(const std::optional<Timing>& timed, bool launched) {
  if (!timed) return;
  if (profiles_only()) return end_timing_only(*timed, launched);
  if (auto profile = current_profile()) profile->end(timed->tag, launched);
}

Status Recorder::capture_epilogue(Capture& capture) {
  MNEME_TRY(read_memory(capture, capture.after));
  if (capture.vendor.reaches_pageable_memory()) capture.opened->pageable.add(capture.after);
  capture.recording.epilogue.textures = capture.textures.set();
  if (decides_first_) {
    MNEME_TRY(wait_for_digests(capture));
    take_digests(*capture.opened, capture.after, capture.recording.epilogue);
  }
  MNEME_ASSIGN(capture.code, code_of(*capture.kernel));
  return {};
}

// Lets the other threads go on, and frees what they meanwhile wanted to.
void Recorder::release(Capture& capture) {
  capture.publication.reset();
  // What a kernel may still use stays until the device has been waited for.
  if (capture.idle && !gate_.disturbed())
    for (const auto& opened : all_opened()) free_deferred(opened->ordinal);
  gate_.end_capture();
}

void Recorder::give_up(Capture& capture, NotRecorded reason) {
  count(reason, capture.kernel->display_name());
  capture.publication.reset();
  capture.opened->states->forget();
  release(capture);
}

// The kernel is still running: what the other threads wanted to free stays until the next time that the device is waited for.
void Recorder::abandon(Capture& capture) {
  count(NotRecorded::waits_for_host, capture.kernel->display_name());
  capture.publication.reset();
  capture.opened->states->forget();
  gate_.end_capture();
}

// Of what is read while recording, and of what is replaced, only a kernel's own files can fail for it alone.
bool Recorder::concerns_one_kernel(Database& database, const InstanceRecord& instance, const Status& status) {
  if (status.code() == Code::corrupt || status.code() == Code::incompatible) return true;
  return status.code() == Code::io && !database.check_own_files(instance.static_hash, instance.dynamic_hash).ok();
}

// Ends what a failure ends: this launch, the kernel, or recording. Returns what the launch is not recorded for.
NotRecorded Recorder::failure(const Publication* publication, const RecordableKernel& kernel, Database& database,
                              const InstanceRecord& instance, Bytes memory, const Status& status) {
  if (publication && publication->over_limit()) {
    std::lock_guard lock(mutex_);
    too_large_ = std::min(too_large_, memory.count);
    return NotRecorded::beyond_bytes;
  }
  if (concerns_one_kernel(database, instance, status)) {
    if (!kernel.counts->refused.exchange(true))
      log::warning("{} is not recorded, other kernels are: {}; remove the file, or name another directory with -rdb",
                   kernel.display_name(), status.message());
    selection_.change();
    return NotRecorded::damaged_file;
  }
  end(status.with_context("recording " + shown(kernel.display_name())));
  return NotRecorded::ended;
}

void Recorder::fail(Capture& capture, const Status& status) {
  give_up(capture, failure(capture.publication.get(), *capture.kernel, *capture.opened->database, capture.recording.instance,
                           capture.memory.size(), status));
}

}  // namespace mneme

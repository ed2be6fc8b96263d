#include "mneme/record/recorder.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "mneme/base/log.h"
#include "mneme/device/backend.h"
#include "mneme/record/recorder_state.h"
#include "mneme/record/uncanceled.h"

namespace mneme {
namespace {

CommitQueue::Most most_of(const RecordingOptions& options) {
  CommitQueue::Most most = CommitQueue::Most::of_process();
  most.not_done = options.in_flight;
  return most;
}

// The kernel's variables are memory of a device, too, and an argument may point right behind one.
bool points_to_variable(uint64_t address, const std::vector<CapturedGlobal>& globals) {
  return std::ranges::any_of(globals, [&](const CapturedGlobal& global) {
    return address >= global.address.address && address - global.address.address <= global.size.count;
  });
}

}  // namespace

Recorder::Recorder(RecordingOptions options, Environment environment, Status options_status)
    : options_(std::move(options)),
      environment_(std::move(environment)),
      gate_(environment_.patience),
      host_memory_(options_.address_space),
      staging_(StagingMemory::of(options_.staging)),
      decides_first_(options_.distinct == Distinct::data || options_.profile || options_.max_bytes || staging_.queue.count == 0),
      writers_(std::make_shared<WriterThreads>(0, staging_.pages)),
      commit_groups_(std::make_unique<Groups>()),
      endings_(staging_.queue, [] {}, {.waiting = 0, .in_group = 1}),
      commits_(half(staging_.queue), [this] { end_group(); }, most_of(options_)) {
  commit_groups_->at_once = staging_.queue.count == 0;
  if (environment_.report) ++environment_.report->recorders;
  Status status = std::move(options_status);
  if (status.ok()) status = selection_.status();
  if (!status.ok()) end(status);
}

Recorder::~Recorder() = default;

void Recorder::end(const Status& status) {
  if (state_.exchange(State::ended) == State::ended) return;
  // `mneme record` says the first reason at the end, in a line that only this level hides.
  const bool said_at_the_end =
      environment_.report && environment_.report->failure.set(status.message()) && log::level() <= log::Level::info;
  log::warning("recording ends here{}; the program goes on, and what was recorded before is whole",
               said_at_the_end ? "" : ": " + status.message());
}

void Recorder::count(NotRecorded reason, const std::string& kernel) {
  log::debug("not recorded: a launch of {}: {}", kernel.empty() ? "a kernel" : kernel, describe(reason));
  if (environment_.report) environment_.report->count(reason, kernel);
}

void Recorder::begin_stream_capture(const void* stream) {
  std::lock_guard lock(mutex_);
  capturing_.insert(stream);
  stream_captures_ = capturing_.size();
}
void Recorder::end_stream_capture(const void* stream) {
  std::lock_guard lock(mutex_);
  if (const auto one = capturing_.find(stream); one != capturing_.end()) capturing_.erase(one);
  stream_captures_ = capturing_.size();
}
void Recorder::forget_stream(const void* stream) {
  if (stream_captures_ == 0) return;
  std::lock_guard lock(mutex_);
  capturing_.erase(stream);
  stream_captures_ = capturing_.size();
}

void Recorder::before_fork() {
  {
    const Groups::Waiter waiter(*commit_groups_);
    commits_.pause();
    endings_.pause();
  }
  mutex_.lock();
  commit_groups_->mutex.lock();
}
void Recorder::after_fork_in_parent() {
  commit_groups_->mutex.unlock();
  mutex_.unlock();
  endings_.resume();
  commits_.resume();
}
void Recorder::after_fork_in_child() {
  after_fork_in_parent();
  state_ = State::ended;
}

// Opened late, when the application's own context exists: the recorder then shares it, and the application has chosen its flags.
Status Recorder::open(Vendor& vendor) {
  if (!profiles_only()) return current_device(vendor).status();
  std::lock_guard one(open_mutex_);
  return state_ == State::waiting ? open_for_profile(vendor) : Status();
}

// Null: the device is not recorded. A failure to open the first device is everyone's; of another one it is that one's.
Result<std::shared_ptr<Recorder::Opened>> Recorder::current_device(Vendor& vendor) {
  const auto known = [&](int ordinal) -> std::optional<std::shared_ptr<Opened>> {
    std::lock_guard lock(mutex_);
    auto found = opened_.find(ordinal);
    return found == opened_.end() ? std::nullopt : std::optional(found->second);
  };
  if (state_ == State::waiting) MNEME_TRY(vendor.prepare());
  MNEME_ASSIGN(const int ordinal, vendor.current_device());
  if (auto opened = known(ordinal)) return *opened;
  std::lock_guard one(open_mutex_);
  if (auto opened = known(ordinal)) return *opened;
  if (state_ == State::ended) return std::shared_ptr<Opened>();
  auto opened = open_device(vendor, ordinal);
  std::lock_guard lock(mutex_);
  if (!opened.ok() && opened_.empty()) return opened.status();
  if (!opened.ok()) log::warning("launches on device {} are not recorded: {}", ordinal, opened.status().message());
  return opened_[ordinal] = opened.ok() ? *opened : nullptr;
}

Result<std::shared_ptr<Recorder::Opened>> Recorder::open_device(Vendor& vendor, int ordinal) {
  const Uncanceled here;
  const Timed timed(environment_.report, &RecordingReport::opening);
  if (ordinal < 0 || ordinal >= kMostAddressSpaces)
    return error(Code::unsupported, "there is an address range for each of the first {} devices", kMostAddressSpaces);
  auto opened = std::make_shared<Opened>();
  opened->ordinal = ordinal;
  MNEME_ASSIGN(opened->device, environment_.open_device(vendor.device_kind(), ordinal));
  MNEME_TRY(choose_images(*opened->device));
  auto space = opened->device->reserve(address_space_base(ordinal, environment_.first_space), options_.address_space);
  if (!space.ok()) return space.status().with_context("reserving the address range of the recording (a smaller one: -vass)");
  opened->space = std::move(*space);
  if (vendor.shares_memory()) opened->space->make_exportable();
  MNEME_ASSIGN(opened->stream, opened->device->create_stream());
  opened->states = std::make_unique<StateCapture>(*opened->device, staging_.ring_piece, writers_);
  std::set<int> readers;
  {
    std::lock_guard lock(mutex_);
    opened->database = database_;
    readers = {readers_[ordinal].begin(), readers_[ordinal].end()};
  }
  for (int reader : readers) MNEME_TRY(opened->space->share_with(reader));
  if (!opened->database) {
    MNEME_ASSIGN(Database database, Database::create(options_.database, *environment_.files, environment_.lock_patience));
    opened->database = std::make_shared<Database>(std::move(database));
  }
  // On the host a launch has ended when its call returns: timing it costs nothing, and how long shapes ran is always told.
  const bool for_nothing = backend_of(opened->device->properties().kind).hardware == Hardware::host;
  auto profile = options_.profile || for_nothing ? std::make_shared<Profile>(make_program_clock(*opened->device)) : nullptr;
  environment_.recording_begins();
  log::debug("recording on {} in the address range from {}, {}", opened->device->properties().name, opened->space->base(),
             opened->space->size());
  space_sizes_[static_cast<size_t>(ordinal)] = opened->space->size().count;
  std::lock_guard lock(mutex_);
  database_ = opened->database;
  if (!profile_) profile_ = std::move(profile);
  has_profile_ = profile_ != nullptr;
  State waiting = State::waiting;
  state_.compare_exchange_strong(waiting, State::open);
  return opened;
}

// The program runs the code that was compiled for its devices: that is what is recorded.
Status Recorder::choose_images(const Device& device) {
  const std::string& architecture = device.properties().architecture;
  std::lock_guard lock(mutex_);
  if (opened_.empty()) architecture_ = architecture;
  if (architecture_ != architecture)
    return error(Code::unsupported, "it is of {}, and the first one of {}", architecture, architecture_);
  registry_.set_architecture(architecture);
  return {};
}

std::optional<int> Recorder::owner_of(uint64_t address) const {
  const uint64_t from_top = address_space_base(-1, environment_.first_space).address - 1 - address;
  const uint64_t ordinal = from_top / kAddressSpaceStride.count;
  if (ordinal >= space_sizes_.size()) return std::nullopt;
  const auto found = static_cast<int>(ordinal);
  const uint64_t offset = address - address_space_base(found, environment_.first_space).address;
  return offset < space_sizes_[ordinal] ? std::optional(found) : std::nullopt;
}

std::shared_ptr<Recorder::Opened> Recorder::opened_on(std::optional<int> ordinal) const {
  if (!ordinal) return nullptr;
  std::lock_guard lock(mutex_);
  auto found = opened_.find(*ordinal);
  return found == opened_.end() ? nullptr : found->second;
}

std::vector<std::shared_ptr<Recorder::Opened>> Recorder::all_opened() const {
  std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Opened>> all;
  for (const auto& [ordinal, opened] : opened_)
    if (opened) all.push_back(opened);
  return all;
}

std::set<int> Recorder::devices_in_use(Vendor& vendor) const {
  std::set<int> ordinals;
  if (auto current = vendor.current_device(); current.ok()) ordinals.insert(*current);
  for (const auto& opened : all_opened()) ordinals.insert(opened->ordinal);
  return ordinals;
}

Status Recorder::wait_for(Vendor& vendor, const std::set<int>& ordinals) {
  Status all;
  for (int ordinal : ordinals)
    if (Status one = vendor.synchronize(ordinal); all.ok()) all = std::move(one);
  return all;
}

void Recorder::share(int owner, int reader) {
  std::lock_guard one(open_mutex_);
  {
    std::lock_guard lock(mutex_);
    readers_[owner].insert(reader);
  }
  auto opened = opened_on(owner);
  if (!opened) return;
  if (Status status = opened->space->share_with(reader); !status.ok())
    log::warning("device {} does not reach memory of device {} that is recorded: {}", reader, owner, status.message());
}

void Recorder::keep_from(int owner, int reader) {
  std::lock_guard one(open_mutex_);
  {
    std::lock_guard lock(mutex_);
    std::multiset<int>& readers = readers_[owner];
    if (const auto found = readers.find(reader); found != readers.end()) readers.erase(found);
    if (readers.contains(reader)) return;
  }
  take_access(owner, reader);
}

void Recorder::keep_apart(int device) {
  std::lock_guard one(open_mutex_);
  std::vector<int> owners;
  {
    std::lock_guard lock(mutex_);
    readers_.erase(device);
    for (auto& [owner, readers] : readers_)
      if (readers.erase(device) != 0) owners.push_back(owner);
  }
  for (int owner : owners) take_access(owner, device);
}

// To be called with open_mutex_.
void Recorder::take_access(int owner, int reader) {
  auto opened = opened_on(owner);
  if (!opened) return;
  if (Status status = opened->space->keep_from(reader); !status.ok())
    log::warning("device {} still reaches memory of device {} that is recorded: {}", reader, owner, status.message());
}

Result<std::optional<DevicePtr>> Recorder::allocate(Vendor& vendor, Bytes size) {
  if (!is_recording()) return std::optional<DevicePtr>();
  auto opened = current_device(vendor);
  if (!opened.ok() && state_ == State::waiting) end(opened.status());
  if (!opened.ok() || !*opened) return std::optional<DevicePtr>();
  AddressSpace& space = *(*opened)->space;
  finish_stream_frees(vendor, Patience::none);
  auto pointer = space.allocate(size);
  if (pointer.status().code() == Code::exhausted) {
    finish_stream_frees(vendor, Patience::wait);
    pointer = space.allocate(size);
  }
  if (!pointer.ok()) return pointer.status();
  return std::optional(*pointer);
}

void Recorder::failed_allocation(const Status& status) {
  end(status.with_context("allocating for the program (-vass gives a larger range)"));
}

Status Recorder::free(Vendor& vendor, DevicePtr pointer) {
  auto opened = opened_on(owner_of(pointer.address));
  if (!opened) return error(Code::invalid_argument, "freeing {}: the recorder has no memory", pointer);
  if (auto memory = annotations_.empty() ? std::nullopt : find_memory(pointer); memory && memory->address == pointer)
    annotations_.forget(*memory);
  // Memory is not taken away under a capture that reads it, nor under a stream capture, in which nothing may wait for the device.
  if (stream_captures_ > 0 || !gate_.try_enter()) {
    const auto allocation = opened->space->find(pointer);
    if (!allocation || allocation->address != pointer)
      return error(Code::invalid_argument, "freeing {}: no allocation starts there", pointer);
    std::lock_guard lock(mutex_);
    deferred_.push_back({opened, pointer});
    return {};
  }
  Status waited = vendor.synchronize(opened->ordinal);
  Status freed = opened->space->free(pointer);
  free_deferred(opened->ordinal);
  gate_.leave();
  return waited.ok() ? freed : waited;
}

// To be called in the gate, when the device has been waited for.
void Recorder::free_deferred(int ordinal) {
  std::vector<Freed> ready;
  {
    std::lock_guard lock(mutex_);
    auto of_device =
        std::partition(deferred_.begin(), deferred_.end(), [&](const Freed& f) { return f.opened->ordinal != ordinal; });
    ready.assign(of_device, deferred_.end());
    deferred_.erase(of_device, deferred_.end());
  }
  for (const Freed& one : ready) [[maybe_unused]]
    Status ignored = one.opened->space->free(one.pointer);
}

Status Recorder::free_in_stream(Vendor& vendor, DevicePtr pointer, void* stream) {
  auto opened = opened_on(owner_of(pointer.address));
  const auto allocation = opened ? opened->space->find(pointer) : std::nullopt;
  if (!allocation || allocation->address != pointer)
    return error(Code::invalid_argument, "freeing {}: no allocation starts there", pointer);
  auto event =
      stream_captures_ > 0 ? Result<void*>(Status(Code::unsupported, "a stream is captured")) : vendor.record_event(stream);
  if (!event.ok()) return free(vendor, pointer);
  std::lock_guard lock(mutex_);
  stream_frees_.push_back({std::move(opened), pointer, *event});
  return {};
}

// Events that have happened are given up outside of the lock, which is not held while the vendor's code runs. What was freed
// under a device that has been reset meanwhile is gone with it, and is not put back.
void Recorder::finish_stream_frees(Vendor& vendor, Patience patience) {
  std::vector<Freed> waiting;
  {
    std::lock_guard lock(mutex_);
    if (patience == Patience::none && stream_frees_.empty()) return;
  }
  if (stream_captures_ > 0 || !gate_.try_enter()) return;
  {
    std::lock_guard lock(mutex_);
    waiting.swap(stream_frees_);
  }
  if (patience == Patience::wait) {
    for (const auto& opened : all_opened())
      if (vendor.synchronize(opened->ordinal).ok()) free_deferred(opened->ordinal);
  }
  auto done = std::partition(waiting.begin(), waiting.end(), [&](const Freed& w) { return !vendor.has_happened(w.event); });
  for (auto one = done; one != waiting.end(); ++one) {
    vendor.destroy_event(one->event);
    [[maybe_unused]] Status freed = one->opened->space->free(one->pointer);
  }
  gate_.leave();
  waiting.erase(done, waiting.end());
  std::lock_guard lock(mutex_);
  for (Freed& one : waiting)
    if (auto found = opened_.find(one.opened->ordinal); found != opened_.end() && found->second == one.opened)
      stream_frees_.push_back(std::move(one));
}

std::optional<MemoryRange> Recorder::find_allocation(DevicePtr address) const {
  auto opened = opened_on(owner_of(address.address));
  return opened ? opened->space->find(address) : std::nullopt;
}

Result<std::vector<ExportedMapping>> Recorder::export_allocation(DevicePtr address) const {
  auto opened = opened_on(owner_of(address.address));
  if (!opened)
    return error(Code::invalid_argument, "giving memory at {} to another process: the recorder has none there", address);
  return opened->space->export_allocation(address);
}

bool Recorder::can_export(DevicePtr address) const {
  auto opened = opened_on(owner_of(address.address));
  return opened && opened->space->can_export(address);
}

void Recorder::remember_foreign(uint64_t address, uint64_t size, NotRecorded reason) {
  if (address == 0 || size == 0) return;
  std::lock_guard lock(mutex_);
  foreign_.set({DevicePtr(address), Bytes(size)}, reason);
}

void Recorder::forget_foreign(uint64_t address) {
  std::lock_guard lock(mutex_);
  foreign_.erase_start(DevicePtr(address));
}

std::optional<NotRecorded> Recorder::find_foreign(ByteSpan parameters, int ordinal) const {
  for (size_t at = 0; at + sizeof(uint64_t) <= parameters.size(); at += sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, parameters.data() + at, sizeof word);
    if (auto refused = outside_memory_.refusal(DevicePtr(word), ordinal)) return refused;
    std::lock_guard lock(mutex_);
    if (const auto* found = foreign_.find(DevicePtr(word))) return found->value;
    if (auto owner = owner_of(word); owner && *owner != ordinal) return NotRecorded::peer_memory;
  }
  return std::nullopt;
}

// Whether an argument points to memory of a device of which no call has told.
bool Recorder::is_given_unknown_memory(const RecordableKernel& kernel, ByteSpan parameters, Vendor& vendor) {
  for (size_t at = 0; at + sizeof(uint64_t) <= parameters.size(); at += sizeof(uint64_t)) {
    if (!kernel.may_be_address(at)) continue;
    uint64_t word = 0;
    std::memcpy(&word, parameters.data() + at, sizeof word);
    if (word == 0 || owns(word) || !vendor.is_device_memory(DevicePtr(word))) continue;
    const auto globals = find_globals(kernel, parameters, vendor);
    if (globals.ok() && !points_to_variable(word, *globals)) return true;
  }
  return false;
}

bool Recorder::reset(Vendor& vendor, int ordinal) {
  wait_until_stored();
  tell_counts();
  selection_.change();
  std::shared_ptr<Opened> opened;
  const auto is_of_device = [&](const Freed& freed) { return freed.opened->ordinal == ordinal; };
  bool last = false, others = false;
  {
    std::lock_guard lock(mutex_);
    auto node = opened_.extract(ordinal);
    // Its groups have been counted, and it may hold the device.
    if (auto profiled = profiled_.extract(ordinal))
      std::erase_if(groups_, [&](const KeptGroup& kept) { return kept.profiled == profiled.mapped(); });
    // Of a device that was never opened nothing is known, and what is known is not of it.
    others = !opened_.empty() || !profiled_.empty();
    last = (node || profiles_only()) && !others;
    if (node) opened = std::move(node.mapped());
    std::erase_if(deferred_, is_of_device);
    std::erase_if(stream_frees_, is_of_device);  // their events go with the device
    // What is known of other devices stays.
    if (last) foreign_.clear(), capturing_.clear(), stream_captures_ = 0;
    if (last) database_.reset(), profile_.reset();
  }
  if (last) outside_memory_.clear(), annotations_.clear(), shadows_.clear();
  for (const MemoryRange& memory : outside_memory_.remove_allocations_of(ordinal)) annotations_.forget(memory);
  textures_.forget_device(ordinal);
  State open = State::open;
  if (profiles_only() && last) state_.compare_exchange_strong(open, State::waiting);
  if (!opened) return others;
  [[maybe_unused]] Status waited = vendor.synchronize(ordinal);
  space_sizes_[static_cast<size_t>(ordinal)] = 0;
  const Gate::Use use(gate_, Gate::Effect::removes_memory);
  for (const MemoryRange& allocation : opened->space->allocations()) {
    annotations_.forget(allocation);
    [[maybe_unused]] Status ignored = opened->space->free(allocation.address);
  }
  if (last) state_.compare_exchange_strong(open, State::waiting);
  return others;
}

void Recorder::renew(Vendor& vendor, int ordinal) {
  std::lock_guard one(open_mutex_);
  const auto old = opened_on(ordinal);
  if (!old) return;
  auto renewed = std::make_shared<Opened>();
  const Status status = [&]() -> Status {
    MNEME_ASSIGN(renewed->device, environment_.open_device(vendor.device_kind(), ordinal));
    MNEME_ASSIGN(renewed->stream, renewed->device->create_stream());
    renewed->states = std::make_unique<StateCapture>(*renewed->device, staging_.ring_piece, writers_);
    return {};
  }();
  if (!status.ok()) return end(status.with_context("opening a device again whose primary context was reset"));
  renewed->ordinal = ordinal;
  renewed->space = old->space;
  renewed->database = old->database;
  std::lock_guard lock(mutex_);
  superseded_.emplace_back(old->device, old->stream);
  for (auto* list : {&deferred_, &stream_frees_})
    for (Freed& freed : *list)
      if (freed.opened == old) freed.opened = renewed;
  opened_[ordinal] = std::move(renewed);
}

void Recorder::forget_kernels() {
  {
    std::unique_lock lock(kernels_mutex_);
    kernels_.clear();
  }
  selection_.change();  // behind it, so that nothing is kept of what was found before
}

std::shared_ptr<const RecordableKernel> Recorder::find_kernel(const void* function, Vendor& vendor) {
  {
    std::shared_lock lock(kernels_mutex_);
    if (auto found = kernels_.find(function); found != kernels_.end()) return found->second;
  }
  auto registered = registry_.find_kernel(function);
  if (!registered) return nullptr;
  auto kernel = std::make_shared<RecordableKernel>(describe_kernel(function, registered, vendor));
  if (!kernel->status.ok() && kernel->status.code() != Code::not_found)
    log::warning("{} is not recorded: {}", registered->name, kernel->status.message());
  if (kernel->status.ok()) {
    kernel->left_out = selection_.leaves_out(kernel->record);
    std::lock_guard lock(mutex_);
    auto& counts = counts_[kernel->record.static_hash];
    if (!counts) counts = std::make_shared<KernelCounts>();
    kernel->counts = counts;
  }
  std::unique_lock lock(kernels_mutex_);
  return kernels_.try_emplace(function, std::move(kernel)).first->second;
}

}  // namespace mneme

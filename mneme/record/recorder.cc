#include "mneme/record/recorder.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "mneme/base/log.h"
#include "mneme/record/recorder_state.h"

namespace mneme {
Recorder::Recorder(RecordingOptions options, Environment environment, Status options_status)
    : options_(std::move(options)),
      environment_(std::move(environment)),
      gate_(environment_.patience),
      host_memory_(options_.address_space) {
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

void Recorder::become_forked_child() { state_ = State::ended; }

// Opened late, when the application's own context exists: the recorder then shares it, and the application has chosen its flags.
Status Recorder::open(Vendor& vendor) {
  std::lock_guard one(open_mutex_);
  if (state_ != State::waiting) return {};
  if (profiles_only()) return open_for_profile(vendor);
  MNEME_TRY(vendor.prepare());
  auto opened = std::make_shared<Opened>();
  MNEME_ASSIGN(opened->ordinal, vendor.current_device());
  MNEME_ASSIGN(opened->device, environment_.open_device(vendor.device_kind(), opened->ordinal));
  auto space = opened->device->reserve(kDefaultAddressSpaceBase, options_.address_space);
  if (!space.ok()) return space.status().with_context("reserving the address range of the recording (a smaller one: -vass)");
  opened->space = std::move(*space);
  MNEME_ASSIGN(opened->stream, opened->device->create_stream());
  MNEME_ASSIGN(Database database, Database::create(options_.database, *environment_.files, environment_.lock_patience));
  opened->database = std::make_unique<Database>(std::move(database));
  choose_images(*opened->device);
  std::shared_ptr<Profile> profile;
  if (options_.profile) profile = std::make_shared<Profile>(make_program_clock(*opened->device));
  environment_.recording_begins();
  log::debug("recording on {} in the address range from {}, {}", opened->device->properties().name, opened->space->base(),
             opened->space->size());
  space_begin_ = opened->space->base().address;
  space_end_ = (opened->space->base() + opened->space->size()).address;
  std::lock_guard lock(mutex_);
  opened_ = std::move(opened);
  profile_ = std::move(profile);
  state_ = State::open;
  return {};
}

// The program runs the code that was compiled for this device: that is what is recorded.
void Recorder::choose_images(const Device& device) {
  const std::string& architecture = device.properties().architecture;
  if (architecture.starts_with("sm_")) registry_.set_architecture(static_cast<uint32_t>(std::atoi(architecture.c_str() + 3)));
}

bool Recorder::owns(uint64_t address) const { return address >= space_begin_ && address < space_end_; }

Result<std::optional<DevicePtr>> Recorder::allocate(Vendor& vendor, Bytes size) {
  if (!is_recording()) return std::optional<DevicePtr>();
  if (state_ == State::waiting)
    if (Status status = open(vendor); !status.ok()) {
      end(status);
      return std::optional<DevicePtr>();
    }
  std::shared_ptr<Opened> opened;
  {
    std::lock_guard lock(mutex_);
    opened = opened_;
  }
  if (!opened) return std::optional<DevicePtr>();
  auto device = vendor.current_device();
  if (!device.ok() || *device != opened->ordinal) return std::optional<DevicePtr>();
  finish_stream_frees(vendor, Patience::none);
  auto pointer = opened->space->allocate(size);
  if (pointer.status().code() == Code::exhausted) {
    finish_stream_frees(vendor, Patience::wait);
    pointer = opened->space->allocate(size);
  }
  if (!pointer.ok()) return pointer.status();
  return std::optional(*pointer);
}

void Recorder::failed_allocation(const Status& status) {
  end(status.with_context("allocating for the program (-vass gives a larger range)"));
}

Status Recorder::free(Vendor& vendor, DevicePtr pointer) {
  std::shared_ptr<Opened> opened;
  {
    std::lock_guard lock(mutex_);
    opened = opened_;
  }
  if (!opened) return error(Code::invalid_argument, "freeing {}: the recorder has no memory", pointer);
  if (auto memory = annotations_.empty() ? std::nullopt : find_memory(pointer); memory && memory->address == pointer)
    annotations_.forget(*memory);
  // Memory is not taken away under a capture that reads it, nor under a stream capture, in which nothing may wait for the device.
  if (stream_captures_ > 0 || !gate_.try_enter()) {
    const auto allocation = opened->space->find(pointer);
    if (!allocation || allocation->address != pointer)
      return error(Code::invalid_argument, "freeing {}: no allocation starts there", pointer);
    std::lock_guard lock(mutex_);
    deferred_.push_back(pointer);
    return {};
  }
  Status waited = vendor.synchronize();
  Status freed = opened->space->free(pointer);
  std::vector<DevicePtr> deferred;
  {
    std::lock_guard lock(mutex_);
    deferred.swap(deferred_);
  }
  for (DevicePtr old : deferred) [[maybe_unused]]
    Status ignored = opened->space->free(old);
  gate_.leave();
  return waited.ok() ? freed : waited;
}

Status Recorder::free_in_stream(Vendor& vendor, DevicePtr pointer, void* stream) {
  const auto allocation = find_allocation(pointer);
  if (!allocation || allocation->address != pointer)
    return error(Code::invalid_argument, "freeing {}: no allocation starts there", pointer);
  auto event =
      stream_captures_ > 0 ? Result<void*>(Status(Code::unsupported, "a stream is captured")) : vendor.record_event(stream);
  if (!event.ok()) return free(vendor, pointer);
  std::lock_guard lock(mutex_);
  stream_frees_.push_back({pointer, *event});
  return {};
}

// Events that have happened are given up outside of the lock, which is not held while the vendor's code runs.
void Recorder::finish_stream_frees(Vendor& vendor, Patience patience) {
  std::vector<StreamFree> waiting;
  {
    std::lock_guard lock(mutex_);
    if (stream_frees_.empty() || stream_captures_ > 0) return;
    waiting.swap(stream_frees_);
  }
  if (patience == Patience::wait) [[maybe_unused]]
    Status waited = vendor.synchronize();
  auto done = std::partition(waiting.begin(), waiting.end(), [&](const auto& w) { return !vendor.has_happened(w.event); });
  for (auto one = done; one != waiting.end(); ++one) {
    vendor.destroy_event(one->event);
    if (!gate_.try_enter()) {
      std::lock_guard lock(mutex_);
      deferred_.push_back(one->pointer);
      continue;
    }
    if (auto opened = [&] {
          std::lock_guard lock(mutex_);
          return opened_;
        }()) [[maybe_unused]]
      Status freed = opened->space->free(one->pointer);
    gate_.leave();
  }
  waiting.erase(done, waiting.end());
  std::lock_guard lock(mutex_);
  stream_frees_.insert(stream_frees_.begin(), waiting.begin(), waiting.end());
}

std::optional<MemoryRange> Recorder::find_allocation(DevicePtr address) const {
  std::shared_ptr<Opened> opened;
  {
    std::lock_guard lock(mutex_);
    opened = opened_;
  }
  return opened ? opened->space->find(address) : std::nullopt;
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

std::optional<NotRecorded> Recorder::find_foreign(ByteSpan parameters, int device) const {
  for (size_t at = 0; at + sizeof(uint64_t) <= parameters.size(); at += sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, parameters.data() + at, sizeof word);
    if (auto refused = outside_memory_.refusal(DevicePtr(word), device)) return refused;
    std::lock_guard lock(mutex_);
    if (const auto* found = foreign_.find(DevicePtr(word))) return found->value;
  }
  return std::nullopt;
}

void Recorder::reset(Vendor& vendor) {
  finish_profile();
  std::shared_ptr<Opened> opened;
  {
    std::lock_guard lock(mutex_);
    opened.swap(opened_);
    foreign_.clear();
    deferred_.clear();
    stream_frees_.clear();  // their events go with the device
    capturing_.clear();
    stream_captures_ = 0;
    profiled_.reset();
  }
  outside_memory_.clear();
  annotations_.clear();
  shadows_.clear();
  State open = State::open;
  if (profiles_only()) state_.compare_exchange_strong(open, State::waiting);
  if (!opened) return;
  [[maybe_unused]] Status waited = vendor.synchronize();
  space_begin_ = space_end_ = 0;
  for (const MemoryRange& allocation : opened->space->allocations()) [[maybe_unused]]
    Status ignored = opened->space->free(allocation.address);
  state_.compare_exchange_strong(open, State::waiting);
}

void Recorder::forget_kernels() {
  std::unique_lock lock(kernels_mutex_);
  kernels_.clear();
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

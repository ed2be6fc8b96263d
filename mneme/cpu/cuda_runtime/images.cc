#include "mneme/cpu/cuda_runtime/images.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "mneme/base/log.h"
#include "mneme/base/symbol_name.h"
#include "mneme/cpu/run/cpu_device.h"
#include "mneme/device/address_space.h"

namespace mneme::emulation {
namespace {

// The state globals of an image: defined ones, each once, by name.
std::map<std::string_view, SegmentGlobal> state_globals(const SegmentTable& table) {
  std::map<std::string_view, SegmentGlobal> globals;
  for (const EmbeddedSegment& segment : table.segments)
    for (const SegmentGlobal& global : segment.globals)
      if (!global.declaration()) globals.insert({global.name, global});
  return globals;
}

LowerRequest make_request(const SegmentTable& table, const std::map<std::string, MemoryRange>& globals) {
  LowerRequest request;
  for (const EmbeddedSegment& segment : table.segments) {
    LowerModule module{std::string(segment.name), ByteVector(segment.ir.begin(), segment.ir.end()), segment.ir_raw_size, {}};
    if (segment.name != segment.ir_name) module.renames.emplace_back(segment.ir_name, segment.name);
    for (const SegmentGlobal& global : segment.globals)
      if (global.name != global.ir_name) module.renames.emplace_back(global.ir_name, global.name);
    request.modules.push_back(std::move(module));
    if (segment.kind == MNEME_SEGMENT_KERNEL) request.kernels.emplace_back(segment.name);
  }
  for (const auto& [name, global] : state_globals(table))
    request.bindings.push_back({std::string(name), globals.at(std::string(name)).address});
  return request;
}

}  // namespace

DevicePtr GlobalWindow::base() const { return kEmulatedGlobalsBase + Bytes(kBytes.count * index_); }

Status GlobalWindow::map(Bytes size) {
  if (size > kBytes)
    return error(Code::exhausted, "the device globals of one program file take {}, at most {} are possible", size, kBytes);
  if (size.count == 0) return {};
  void* wanted = reinterpret_cast<void*>(base().address);
  void* got = ::mmap(wanted, size.count, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == MAP_FAILED)
    return error(Code::unavailable, "placing device globals of {} at {}: {}", size, base(), std::strerror(errno));
  if (got != wanted) {  // kernels before 4.17 take the address as a wish
    ::munmap(got, size.count);
    return error(Code::unavailable, "placing device globals of {} at {}: something else lies there", size, base());
  }
  mapped_ = size;
  return {};
}

GlobalWindow::~GlobalWindow() {
  if (mapped_.count != 0) ::munmap(reinterpret_cast<void*>(base().address), mapped_.count);
}

Result<std::shared_ptr<LoadedImage>> LoadedImage::load(Device& device, const RegisteredImage& image,
                                                       std::unique_ptr<GlobalWindow> window) {
  auto loaded = std::make_shared<LoadedImage>();
  loaded->window_ = std::move(window);
  MNEME_ASSIGN(const SegmentTable* table, image.segments());
  for (const Status& damage : table->damaged) log::warning("{}", damage.message());
  MNEME_TRY(loaded->place_globals(image));
  if (table->segments.empty()) return loaded;
  MNEME_ASSIGN(LowerReply reply, lower(make_request(*table, loaded->globals_)));
  MNEME_TRY(loaded->load_module(device, std::move(reply)));
  return loaded;
}

Status LoadedImage::place_globals(const RegisteredImage& image) {
  MNEME_ASSIGN(const SegmentTable* table, image.segments());
  uint64_t end = 0;
  auto place = [&](std::string_view name, uint64_t size, uint64_t alignment) {
    end = round_up(end, std::max<uint64_t>(alignment, 256));
    globals_[std::string(name)] = {window_->base() + Bytes(end), Bytes(size)};
    end += size;
  };
  for (const auto& [name, global] : state_globals(*table)) place(name, global.size, global.alignment);
  // Variables that no kernel reaches: the host may still copy to and from them.
  std::vector<RegisteredVariable> unreached;
  for (const RegisteredVariable& variable : image.variables()) {
    if (globals_.contains(variable.name)) continue;
    place(variable.name, variable.size, 256);
    unreached.push_back(variable);
  }
  MNEME_TRY(window_->map(Bytes(end)));
  MNEME_ASSIGN(DeviceElf elf, image.device_elf());
  for (const RegisteredVariable& variable : unreached) {
    ByteSpan initial = find_initial_value(elf.bytes, variable.name);
    std::memcpy(reinterpret_cast<void*>(globals_[variable.name].address.address), initial.data(),
                std::min<uint64_t>(initial.size(), variable.size));
  }
  return {};
}

Status LoadedImage::load_module(Device& device, LowerReply reply) {
  for (RefusedKernel& kernel : reply.refused) refused_[kernel.name] = kernel.reason;
  if (reply.image.empty()) return {};
  MNEME_ASSIGN(module_, device.load(CodeImage{DeviceKind::cpu, std::move(reply.image)}));
  for (const mneme_cpu_global& global : cpu::globals_of(*module_)) {
    if (global.bound && global.initializer) std::memcpy(global.address, global.initializer, global.size);
    if (!global.bound) globals_[global.name] = {DevicePtr(reinterpret_cast<uint64_t>(global.address)), Bytes(global.size)};
  }
  return {};
}

Result<Kernel*> LoadedImage::kernel(const RegisteredKernel& registered) const {
  if (auto refused = refused_.find(registered.name); refused != refused_.end())
    return error(Code::unsupported, "kernel {} cannot run on the CPU device: {}", demangle(registered.name), refused->second);
  MNEME_ASSIGN([[maybe_unused]] const EmbeddedSegment* segment, registered.segment());
  if (!module_) return error(Code::internal, "kernel {} was not lowered", registered.name);
  std::lock_guard lock(mutex_);
  return module_->kernel(registered.name);
}

Result<MemoryRange> LoadedImage::global(const std::string& name) const {
  auto found = globals_.find(name);
  if (found == globals_.end()) return error(Code::not_found, "there is no device variable {}", name);
  return found->second;
}

void LoadedImage::say_once(const std::string& kernel, const Status& failure) {
  std::lock_guard lock(mutex_);
  if (said_.insert(kernel).second) log::error("{}", failure.message());
}

void Images::add(const RegisteredImage& image) {
  std::lock_guard lock(mutex_);
  auto free = std::find(used_windows_.begin(), used_windows_.end(), false);
  if (free == used_windows_.end()) free = used_windows_.insert(used_windows_.end(), false);
  *free = true;
  auto entry = std::make_shared<Entry>();
  entry->window = static_cast<uint32_t>(free - used_windows_.begin());
  entries_[image.id()] = std::move(entry);
}

void Images::remove(const RegisteredImage& image) {
  std::lock_guard lock(mutex_);
  auto found = entries_.find(image.id());
  if (found == entries_.end()) return;
  used_windows_[found->second->window] = false;
  entries_.erase(found);
}

Result<std::shared_ptr<LoadedImage>> Images::find(const RegisteredImage& image) {
  std::shared_ptr<Entry> entry;
  {
    std::lock_guard lock(mutex_);
    auto found = entries_.find(image.id());
    if (found == entries_.end()) return error(Code::not_found, "fat binary {} is not registered", image.id());
    entry = found->second;
  }
  std::call_once(entry->once, [&] {
    if (entry->window >= GlobalWindow::kCount) {
      entry->status = error(Code::exhausted, "at most {} fat binaries can be loaded at a time", GlobalWindow::kCount);
    } else if (auto loaded = LoadedImage::load(device_, image, std::make_unique<GlobalWindow>(entry->window)); loaded.ok()) {
      entry->loaded = std::move(*loaded);
    } else {
      entry->status = loaded.status();
    }
    if (!entry->status.ok()) log::error("{}", entry->status.message());
  });
  if (!entry->status.ok()) return entry->status;
  return entry->loaded;
}

}  // namespace mneme::emulation

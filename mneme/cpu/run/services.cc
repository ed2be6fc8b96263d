// The services table, and the services that do not wait: output, the heap, ends of threads, clocks, textures and surfaces.
#include <immintrin.h>
#include <x86intrin.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <variant>

#include "mneme/base/shown.h"
#include "mneme/cpu/run/collectives.h"
#include "mneme/cpu/run/device_printf.h"
#include "mneme/cpu/run/scheduler.h"

namespace mneme::cpu {
namespace {

Scheduler& scheduler_of(const mneme_cpu_thread* thread) { return *static_cast<Scheduler*>(thread->block->executor); }

uint32_t active_mask(mneme_cpu_thread* thread) {
  if (thread->fiber == nullptr) return uint32_t{1} << thread->lane;
  return scheduler_of(thread).active_mask(__builtin_return_address(0));
}

void yield(mneme_cpu_thread* thread) {
  if (thread->fiber == nullptr) return _mm_pause();
  scheduler_of(thread).yield();
}

void keep_step(mneme_cpu_thread* thread, const void* address) {
  const mneme_cpu_block& block = *thread->block;
  const auto offset = static_cast<uint64_t>(static_cast<const uint8_t*>(address) - block.shared);
  if (thread->fiber != nullptr && offset < block.shared_bytes) scheduler_of(thread).keep_step(__builtin_return_address(0));
}

void grid_barrier(mneme_cpu_thread* thread, uint32_t threads) {
  auto* words = static_cast<uint32_t*>(thread->block->grid_workspace);
  if (words == nullptr)
    scheduler_of(thread).fail(*thread, FaultKind::misuse, "a barrier of the grid in a launch that is not cooperative",
                              __builtin_return_address(0));
  std::atomic_ref<uint32_t> arrived(words[0]), phase(words[1]);
  const uint32_t mine = phase.load();
  if (arrived.fetch_add(1) + 1 < threads) {
    while (phase.load() == mine) yield(thread);
    return;
  }
  arrived.store(0);
  phase.fetch_add(1);
}

int32_t vprintf(mneme_cpu_thread* thread, const char* format, const void* arguments) {
  const DeviceText formatted = format_device_printf(format, arguments);
  if (!scheduler_of(thread).tracing()) std::fwrite(formatted.text.data(), 1, formatted.text.size(), stdout);
  return formatted.arguments;
}

void host_call(mneme_cpu_thread* thread, uint32_t service, const uint64_t* arguments, uint64_t* results) {
  constexpr uint32_t kMessages = 2;
  Scheduler& scheduler = scheduler_of(thread);
  if (service != kMessages) {
    scheduler.fail(*thread, FaultKind::misuse,
                   fmt::format("a call of the host's service {}, which the CPU device does not have", service),
                   __builtin_return_address(0));
  }
  HostText text;
  results[0] = scheduler.messages().add(std::span<const uint64_t, 8>(arguments, 8), &text);
  results[1] = 0;
  if (!scheduler.tracing())
    std::fwrite(text.text.data(), 1, text.text.size(), text.stream == HostStream::error ? stderr : stdout);
}

void* heap_allocate(mneme_cpu_thread* thread, uint64_t size) { return scheduler_of(thread).heap().allocate(size); }

void heap_free(mneme_cpu_thread* thread, void* pointer) {
  if (pointer == nullptr || scheduler_of(thread).heap().free(pointer)) return;
  scheduler_of(thread).fail(*thread, FaultKind::misuse,
                            fmt::format("free of {}, which malloc in a kernel did not give or which was freed before", pointer),
                            __builtin_return_address(0));
}

void assert_fail(mneme_cpu_thread* thread, const char* message, const char* file, uint32_t line, const char* function) {
  const uint32_t* block = thread->block->index;
  const std::string text =
      fmt::format("{}:{}: {}: block: [{},{},{}], thread: [{},{},{}] Assertion `{}` failed.", file, line, function, block[0],
                  block[1], block[2], thread->index[0], thread->index[1], thread->index[2], message);
  if (!scheduler_of(thread).tracing()) std::fprintf(stderr, "%s\n", shown_message(text).c_str());
  scheduler_of(thread).fail(*thread, FaultKind::assertion, text);
}

void trap(mneme_cpu_thread* thread) {
  scheduler_of(thread).fail(*thread, FaultKind::trap, "the kernel executed a trap instruction", __builtin_return_address(0));
}

void wild_call(mneme_cpu_thread* thread, const void* target) {
  scheduler_of(thread).fail(*thread, FaultKind::illegal_instruction,
                            fmt::format("a call through the pointer {}, which points to no function of the kernel's", target),
                            __builtin_return_address(0));
}

void exit(mneme_cpu_thread* thread) {
  if (thread->fiber == nullptr) {
    scheduler_of(thread).fail(*thread, FaultKind::misuse, "an exit in a kernel whose image runs its threads as a loop");
  }
  scheduler_of(thread).exit_thread();
}

// The object of a handle, which must be one of the kind that the instruction is for.
template <typename Object>
const Object& object_of(mneme_cpu_thread* thread, uint64_t handle, const char* kind, const void* from) {
  const ImageObject* found = scheduler_of(thread).textures().find(handle);
  if (const auto* object = found ? std::get_if<Object>(found) : nullptr) return *object;
  scheduler_of(thread).fail(*thread, FaultKind::misuse, fmt::format("a use of {} object {:#x}, which there is not", kind, handle),
                            from);
}

const ImageObject& any_object_of(mneme_cpu_thread* thread, uint64_t handle, const void* from) {
  if (const ImageObject* found = scheduler_of(thread).textures().find(handle)) return *found;
  scheduler_of(thread).fail(*thread, FaultKind::misuse, fmt::format("a use of image {:#x}, which there is not", handle), from);
}

void texture_fetch(mneme_cpu_thread* thread, const mneme_cpu_texture_request* request, uint32_t* components) {
  const auto& texture = object_of<Texture>(thread, request->object, "texture", __builtin_return_address(0));
  const Components fetched = fetch(texture, *request);
  std::copy(fetched.begin(), fetched.end(), components);
}

std::byte* surface_element(mneme_cpu_thread* thread, const mneme_cpu_surface_request* request, const void* from) {
  const auto& surface = object_of<Surface>(thread, request->object, "surface", from);
  const SurfaceElement element = locate(surface, *request);
  if (element.fault) scheduler_of(thread).fail(*thread, FaultKind::trap, "an access to " + *element.fault, from);
  return element.address;
}

void surface_read(mneme_cpu_thread* thread, const mneme_cpu_surface_request* request, void* to) {
  const std::byte* element = surface_element(thread, request, __builtin_return_address(0));
  if (element != nullptr)
    std::memcpy(to, element, request->bytes);
  else
    std::memset(to, 0, request->bytes);
}

void surface_write(mneme_cpu_thread* thread, const mneme_cpu_surface_request* request, const void* from) {
  std::byte* element = surface_element(thread, request, __builtin_return_address(0));
  if (element != nullptr) std::memcpy(element, from, request->bytes);
}

void image_read(mneme_cpu_thread* thread, const mneme_cpu_image_request* request, uint32_t* components) {
  const auto& object = any_object_of(thread, request->object, __builtin_return_address(0));
  const Components read = std::visit([&](const auto& image) { return read_image(image, *request); }, object);
  std::copy(read.begin(), read.end(), components);
}

void image_write(mneme_cpu_thread* thread, const mneme_cpu_image_request* request, const uint32_t* components) {
  const auto& surface = object_of<Surface>(thread, request->object, "surface", __builtin_return_address(0));
  Components written{};
  std::copy_n(components, written.size(), written.begin());
  write_image(surface, *request, written);
}

uint32_t property_of_image(mneme_cpu_thread* thread, uint64_t object, uint32_t property) {
  const auto& image = any_object_of(thread, object, __builtin_return_address(0));
  return std::visit([&](const auto& each) { return image_property(each.format, property); }, image);
}

uint32_t in_stack(mneme_cpu_thread* thread, const void* address) {
  return scheduler_of(thread).in_stack(static_cast<const std::byte*>(address)) ? 1 : 0;
}

uint64_t clock(mneme_cpu_thread*) { return __rdtsc(); }

uint64_t global_timer(mneme_cpu_thread*) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace

const mneme_cpu_services kServices = {
    .barrier = barrier,
    .barrier_arrive = barrier_arrive,
    .barrier_reduce = barrier_reduce,
    .warp_sync = warp_sync,
    .shuffle = shuffle,
    .vote = vote,
    .match_any = match_any,
    .match_all = match_all,
    .reduce = reduce,
    .active_mask = active_mask,
    .yield = yield,
    .vprintf = vprintf,
    .malloc = heap_allocate,
    .free = heap_free,
    .assert_fail = assert_fail,
    .trap = trap,
    .exit = exit,
    .clock = clock,
    .global_timer = global_timer,
    .wild_call = wild_call,
    .texture_fetch = texture_fetch,
    .surface_read = surface_read,
    .surface_write = surface_write,
    .keep_step = keep_step,
    .wave_sync = wave_sync,
    .wave_ballot = wave_ballot,
    .wave_read = wave_read,
    .wave_push = wave_push,
    .in_stack = in_stack,
    .host_call = host_call,
    .grid_barrier = grid_barrier,
    .image_read = image_read,
    .image_write = image_write,
    .image_property = property_of_image,
};

}  // namespace mneme::cpu

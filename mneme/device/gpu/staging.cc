#include "mneme/device/gpu/staging.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <system_error>
#include <thread>

#include "mneme/base/processors.h"
#include "mneme/base/signals_blocked.h"

namespace mneme::gpu {

struct Staging::Transfer {
  DevicePtr device;
  const std::byte* source = nullptr;  // null when the copy is to the host
  std::byte* target = nullptr;
  uint64_t size = 0;
  std::atomic<uint64_t> next{0};
  std::atomic<bool> stop{false};
};

Staging::~Staging() {
  ContextScope scope(context_);
  if (!scope.status().ok()) return;
  for (Lane& lane : lanes_) {
    for (Buffer& buffer : lane.buffers) {
      if (buffer.done != nullptr) context_.api().destroy(buffer.done);
      if (buffer.host != nullptr) context_.api().free_host(buffer.host);
    }
  }
}

Status Staging::prepare(unsigned lanes) {
  const Api& api = context_.api();
  if (lanes_.size() < lanes) lanes_.resize(lanes);
  for (Lane& lane : lanes_) {
    for (Buffer& buffer : lane.buffers) {
      if (buffer.host == nullptr) {
        void* host = nullptr;
        MNEME_TRY(context_.check_call(api.allocate_host(&host, kChunkBytes), context_.words().allocate_host, "({})",
                                      Bytes(kChunkBytes)));
        buffer.host = static_cast<std::byte*>(host);
      }
      if (buffer.done == nullptr)
        MNEME_TRY(context_.check_call(api.create_event(&buffer.done, EventUse::waiting), context_.words().create_event));
    }
  }
  return {};
}

Status Staging::to_device(DevicePtr to, ByteSpan from) {
  if (from.empty()) return {};
  ContextScope scope(context_);
  MNEME_TRY(scope.status());
  const Api& api = context_.api();
  if (from.size() <= kDirectBytes) {
    MNEME_TRY(context_.check_call(api.copy_to_device(to.address, from.data(), from.size(), stream_),
                                  context_.words().copy_to_device, "({} to {})", Bytes(from.size()), to));
    return context_.check_call(api.synchronize(stream_), context_.words().synchronize, ", after copying {} to {}",
                               Bytes(from.size()), to);
  }
  Transfer transfer{.device = to, .source = from.data(), .size = from.size()};
  return run(transfer);
}

Status Staging::to_host(MutableByteSpan to, DevicePtr from) {
  if (to.empty()) return {};
  ContextScope scope(context_);
  MNEME_TRY(scope.status());
  const Api& api = context_.api();
  if (to.size() <= kDirectBytes) {
    MNEME_TRY(context_.check_call(api.copy_to_host(to.data(), from.address, to.size(), stream_), context_.words().copy_to_host,
                                  "({} from {})", Bytes(to.size()), from));
    return context_.check_call(api.synchronize(stream_), context_.words().synchronize, ", after copying {} from {}",
                               Bytes(to.size()), from);
  }
  Transfer transfer{.device = from, .target = to.data(), .size = to.size()};
  return run(transfer);
}

Status Staging::run(Transfer& transfer) {
  unsigned lanes = std::min(
      {kLanes, usable_processors(), static_cast<unsigned>(1 + std::min<uint64_t>(transfer.size / (4 * kChunkBytes), kLanes))});
  MNEME_TRY(prepare(lanes));

  std::mutex mutex;
  Status first;
  auto work = [&](Lane& lane) {
    Status status = run_lane(lane, transfer);
    if (status.ok()) return;
    transfer.stop = true;
    std::lock_guard lock(mutex);
    if (first.ok()) first = std::move(status);
  };
  std::vector<std::thread> threads;
  threads.reserve(lanes);
  {
    SignalsBlocked blocked;
    for (unsigned i = 1; i < lanes; ++i) {
      try {
        threads.emplace_back(work, std::ref(lanes_[i]));
      } catch (const std::system_error&) {
        break;  // the lanes that there are do all the work
      }
    }
  }
  work(lanes_[0]);
  for (std::thread& thread : threads) thread.join();
  return first;
}

Status Staging::run_lane(Lane& lane, Transfer& transfer) {
  ContextScope scope(context_);
  MNEME_TRY(scope.status());
  Status status;
  unsigned turn = 0;
  while (status.ok() && !transfer.stop) {
    uint64_t offset = transfer.next.fetch_add(kChunkBytes);
    if (offset >= transfer.size) break;
    Buffer& buffer = lane.buffers[turn];
    turn ^= 1;
    status = finish(buffer, transfer);
    if (status.ok()) status = start(buffer, transfer, offset, std::min(kChunkBytes, transfer.size - offset));
  }
  for (Buffer& buffer : lane.buffers) {
    Status finished = finish(buffer, transfer);
    if (status.ok()) status = std::move(finished);
  }
  return status;
}

Status Staging::start(Buffer& buffer, Transfer& transfer, uint64_t offset, uint64_t size) {
  const Api& api = context_.api();
  uint64_t address = transfer.device.address + offset;
  buffer.offset = offset;
  buffer.size = size;
  if (transfer.source != nullptr) {
    memcpy(buffer.host, transfer.source + offset, size);
    MNEME_TRY(context_.check_call(api.copy_to_device(address, buffer.host, size, stream_), context_.words().copy_to_device,
                                  "({} to {:#x})", Bytes(size), address));
  } else {
    MNEME_TRY(context_.check_call(api.copy_to_host(buffer.host, address, size, stream_), context_.words().copy_to_host,
                                  "({} from {:#x})", Bytes(size), address));
  }
  buffer.busy = true;
  return context_.check_call(api.record_event(buffer.done, stream_), context_.words().record_event, ", after copying {} at {:#x}",
                             Bytes(size), address);
}

Status Staging::finish(Buffer& buffer, Transfer& transfer) {
  if (!buffer.busy) return {};
  buffer.busy = false;
  MNEME_TRY(context_.check_call(context_.api().wait_for_event(buffer.done), context_.words().wait_for_event,
                                ", copying {} at {:#x}", Bytes(buffer.size), transfer.device.address + buffer.offset));
  if (transfer.target != nullptr) memcpy(transfer.target + buffer.offset, buffer.host, buffer.size);
  return {};
}

}  // namespace mneme::gpu

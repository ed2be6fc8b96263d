#include "mneme/record/driver/exported_memory.h"

#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>

#include <algorithm>
#include <system_error>
#include <thread>

#include "mneme/base/idle_threads.h"

namespace mneme::driver {

ExportedMemory& exported_memory() {
  static auto* const only = new ExportedMemory;
  return *only;
}

Result<MemoryName> ExportedMemory::name(const MemoryRange& allocation, const ExportMappings& export_mappings) {
  std::lock_guard lock(mutex_);
  MNEME_TRY(listen());
  const CUdeviceptr address = allocation.address.address;
  auto found = exported_.find(address);
  if (found == exported_.end()) {
    Export made;
    MNEME_ASSIGN(made.key, make_key());
    MNEME_ASSIGN(made.memory.mappings, export_mappings());
    made.memory.allocation = allocation;
    found = exported_.emplace(address, std::move(made)).first;
  }
  return MemoryName{process_, found->second.key};
}

// Under the lock.
Status ExportedMemory::listen() {
  if (listener_.open()) return {};
  static std::once_flag once;
  std::call_once(once, [] { ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child); });
  MNEME_ASSIGN(process_, make_key());
  MNEME_ASSIGN(Descriptor listener, listen_for_requests(process_));
  try {
    start_idle_thread([this, number = listener.number(), process = process_] { serve(number, process); });
  } catch (const std::system_error& failure) {
    return error(Code::unavailable, "starting a thread that gives device memory to other processes: {}", failure.what());
  }
  listener_ = std::move(listener);
  exports_ = true;
  return {};
}

void ExportedMemory::forget_export(CUdeviceptr address) {
  std::lock_guard lock(mutex_);
  exported_.erase(address);
}

bool ExportedMemory::has_made(const MemoryName& name) const {
  if (!exports_) return false;
  std::lock_guard lock(mutex_);
  return name.process == process_;
}

const NamedMemory* ExportedMemory::find(const RandomKey& memory) const {
  const auto found = std::find_if(exported_.begin(), exported_.end(), [&](const auto& one) { return one.second.key == memory; });
  return found == exported_.end() ? nullptr : &found->second.memory;
}

// Until the process ends, which it does when its other threads have.
void ExportedMemory::serve(int listener, const RandomKey& process) {
  constexpr std::chrono::milliseconds kPause{10};
  for (;;) {
    pollfd request{listener, POLLIN, 0};
    const int ready = ::poll(&request, 1, static_cast<int>(kIdleThreadsEnd.count()));
    if (ready == 0 && is_last_thread()) return;
    if (ready <= 0) continue;
    if (!is_socket_of(listener, process)) return;  // the program has closed it
    const Descriptor connection(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
    if (connection.open())
      answer_request(connection, mutex_, [this](const RandomKey& memory) { return find(memory); });
    else
      std::this_thread::sleep_for(kPause);  // too many open files, which may be for a moment
  }
}

void ExportedMemory::before_fork() { exported_memory().mutex_.lock(); }
void ExportedMemory::after_fork_in_parent() { exported_memory().mutex_.unlock(); }

// The socket would keep those waiting who ask a parent that has ended, and descriptors what the parent has freed.
void ExportedMemory::after_fork_in_child() {
  ExportedMemory& child = exported_memory();
  child.exports_ = false;
  child.listener_.close();
  child.exported_.clear();
  child.mutex_.unlock();
}

}  // namespace mneme::driver

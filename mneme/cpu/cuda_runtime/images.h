// The kernels and globals of the program's fat binaries, lowered to the CPU and loaded.
//
// A fat binary is loaded when one of its kernels or variables is first used. `mneme lower` lowers all its kernels, in a process
// of its own, unless the cache has the result of an earlier run. Its globals get memory at addresses that depend only on the
// order in which fat binaries were registered, so that the next run of the same program finds the code in the cache.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "mneme/base/file_system.h"
#include "mneme/base/status.h"
#include "mneme/device/device.h"
#include "mneme/runtime/lower_request.h"
#include "mneme/runtime/registry.h"

namespace mneme::emulation {

// The window of the address space in which the globals of one fat binary lie. There are kCount windows of kBytes each.
class GlobalWindow {
 public:
  static constexpr Bytes kBytes = 4_GiB;
  static constexpr uint32_t kCount = 256;

  explicit GlobalWindow(uint32_t index) : index_(index) {}
  ~GlobalWindow();
  GlobalWindow(const GlobalWindow&) = delete;
  GlobalWindow& operator=(const GlobalWindow&) = delete;

  DevicePtr base() const;
  uint32_t index() const { return index_; }
  // Maps zeroed memory for the first `size` bytes. unavailable: something else lies there. exhausted: `size` is more than
  // kBytes.
  Status map(Bytes size);

 private:
  uint32_t index_;
  Bytes mapped_;
};

// A fat binary that is loaded. Thread-safe.
class LoadedImage {
 public:
  // Lowers and loads it. Its globals go into `window`. Failures: those of lower(), of GlobalWindow::map() and of
  // Device::load().
  static Result<std::shared_ptr<LoadedImage>> load(Device& device, const RegisteredImage& image,
                                                   std::unique_ptr<GlobalWindow> window);

  // not_found, with what to do: the kernel has no IR. unsupported, with the instruction: the CPU device cannot run it.
  Result<Kernel*> kernel(const RegisteredKernel& registered) const;
  Result<MemoryRange> global(const std::string& name) const;  // not_found
  // Writes to standard error why a kernel does not run, once for each kernel.
  void say_once(const std::string& kernel, const Status& failure);

 private:
  Status place_globals(const RegisteredImage& image);
  Status load_module(Device& device, LowerReply reply);

  std::unique_ptr<GlobalWindow> window_;
  std::map<std::string, MemoryRange> globals_;
  std::unordered_map<std::string, std::string> refused_;  // kernel → reason
  std::unique_ptr<Module> module_;
  mutable std::mutex mutex_;  // over the use of module_, and said_
  std::set<std::string> said_;
};

// All fat binaries of the process. Thread-safe.
class Images {
 public:
  explicit Images(Device& device) : device_(device) {}

  // To be called in the order of registration: the image gets the lowest window that is free.
  void add(const RegisteredImage& image);
  void remove(const RegisteredImage& image);
  // Loads the image at the first call. A failure is remembered, and reported on standard error once. not_found: the image was
  // not added. exhausted: there are more than GlobalWindow::kCount.
  Result<std::shared_ptr<LoadedImage>> find(const RegisteredImage& image);

 private:
  struct Entry {
    uint32_t window;
    std::once_flag once;
    Status status;
    std::shared_ptr<LoadedImage> loaded;
  };
  Device& device_;
  std::mutex mutex_;
  std::map<uint64_t, std::shared_ptr<Entry>> entries_;  // by RegisteredImage::id
  std::vector<bool> used_windows_;
};

// Takes the answer from the cache, or starts a child process that lowers: $MNEME_COMMAND lower REQUEST REPLY. unavailable:
// there is no command, or it cannot be run. exhausted: there are no descriptors left. internal, with its exit status: it leaves
// no answer.
Result<LowerReply> lower(const LowerRequest& request);

}  // namespace mneme::emulation

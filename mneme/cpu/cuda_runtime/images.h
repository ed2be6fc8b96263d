// The kernels and globals of the program's fat binaries, lowered to the CPU and loaded.
//
// A fat binary is loaded when one of its kernels or variables is first used: all its kernels are lowered by `mneme lower` in a
// process of its own, or the result of an earlier run is taken from the cache; its globals get memory at addresses that depend
// only on the order of registration, so that the cache serves the next run of the same program.
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

// Where the globals of one fat binary lie: its own window of the address space.
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
  // Zeroed memory for the first `size` bytes. unavailable when something else lies there, exhausted when it is too large.
  Status map(Bytes size);

 private:
  uint32_t index_;
  Bytes mapped_;
};

// A program's image, loaded. Thread-safe.
class LoadedImage {
 public:
  // `window` is where its globals go.
  static Result<std::shared_ptr<LoadedImage>> load(Device& device, const RegisteredImage& image,
                                                   std::unique_ptr<GlobalWindow> window);

  // not_found for a kernel without IR, with what to do; unsupported for one that the CPU cannot run, with the instruction.
  Result<Kernel*> kernel(const RegisteredKernel& registered) const;
  Result<MemoryRange> global(const std::string& name) const;  // not_found
  // Says on standard error why a kernel does not run, the first time.
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

// Everything loaded in this process.
class Images {
 public:
  explicit Images(Device& device) : device_(device) {}

  // In the order of registration; the image gets the lowest window that is free.
  void add(const RegisteredImage& image);
  void remove(const RegisteredImage& image);
  // Loads at the first call. A failure is remembered, and reported on standard error once.
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

// Lowers by the cache or by a child process: $MNEME_COMMAND lower REQUEST REPLY. unavailable when there is no command or it
// cannot be run; internal, with its exit status, when it leaves no answer.
Result<LowerReply> lower(const LowerRequest& request);

}  // namespace mneme::emulation

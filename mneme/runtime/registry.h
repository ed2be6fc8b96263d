// Registry: what a program has registered with the CUDA runtime, by host address. An interposer feeds it from its hooks of
// __cudaRegisterFatBinary, __cudaRegisterFunction, …Var, …ManagedVar and __cudaUnregisterFatBinary.
//
// Registration happens before main and only stores names and addresses; a fat binary is read when the first of its kernels is
// asked for. Thread-safe throughout. Lookups take a shared lock for a hash lookup. What a lookup returns stays valid after the
// fat binary is unregistered, except the segments' views, which die when the object that holds the fat binary is unloaded.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/runtime/segments.h"

namespace mneme {

struct RegisteredVariable {
  const void* host_address =
      nullptr;       // what symbol functions take; for a managed variable, of the pointer that holds its address
  std::string name;  // symbol in the device image
  uint64_t size = 0;
  bool constant = false;
  bool managed = false;
};

struct RegisteredFunction {
  const void* host_function = nullptr;  // the host stub: what launches name the kernel by
  std::string name;                     // symbol in the device image
};

// One registered fat binary: one linked device image.
class RegisteredImage {
 public:
  RegisteredImage(uint64_t id, uint32_t table, const void* wrapper, uint32_t sm)
      : id_(id), table_(table), wrapper_(wrapper), sm_(sm) {}

  uint64_t id() const { return id_; }        // in order of registration, never used again in the process
  uint32_t table() const { return table_; }  // index of the call table it was registered through
  const void* wrapper() const { return wrapper_; }

  // Read at the first call; later calls return the same. Everything that goes wrong in reading is the status of each call.
  Result<const SegmentTable*> segments() const;
  Result<DeviceElf> device_elf() const;

  std::vector<RegisteredVariable> variables() const;
  std::vector<RegisteredFunction> functions() const;

 private:
  friend class Registry;
  void read() const;

  const uint64_t id_;
  const uint32_t table_;
  const void* const wrapper_;
  std::atomic<uint32_t> sm_;  // until it is read
  mutable std::mutex mutex_;  // over variables_ and functions_
  std::vector<RegisteredVariable> variables_;
  std::vector<RegisteredFunction> functions_;
  mutable std::once_flag read_once_;
  mutable Status read_status_;
  mutable DeviceElf elf_;
  mutable SegmentTable segments_;
};

struct RegisteredKernel {
  std::string name;
  std::shared_ptr<const RegisteredImage> image;
  // The kernel's segment; not_found when the image was not built with the plugin, with what to do.
  Result<const EmbeddedSegment*> segment() const;
};

struct RegisteredSymbol {
  RegisteredVariable variable;
  std::shared_ptr<const RegisteredImage> image;
};

class Registry {
 public:
  // Which device ELF of a fat binary counts; 0: the newest. Holds for images that have not been read yet, whenever they were
  // registered.
  void set_architecture(uint32_t sm);

  // `handle` is what the runtime's own registration returned (or what emulation invents).
  std::shared_ptr<const RegisteredImage> add_image(void** handle, uint32_t table, const void* wrapper);
  void add_function(void** handle, const void* host_function, const char* device_name);
  void add_variable(void** handle, RegisteredVariable variable);
  // Returns the image, or null for an unknown handle. Its functions and variables are no longer found.
  std::shared_ptr<const RegisteredImage> remove_image(void** handle);

  // By the host stub's address; null when none is registered. A kernel that several images define is the first one's.
  std::shared_ptr<const RegisteredKernel> find_kernel(const void* host_function) const;
  // By the host variable's address, or by the address of a managed variable's pointer; null when none is registered.
  std::shared_ptr<const RegisteredSymbol> find_variable(const void* host_address) const;
  // The variable, not a managed one, whose host variable has that byte.
  std::shared_ptr<const RegisteredSymbol> find_variable_around(const void* host_address) const;
  std::shared_ptr<const RegisteredImage> find_image(void** handle) const;
  std::vector<std::shared_ptr<const RegisteredImage>> images() const;  // in order of registration

 private:
  template <typename T>
  using Index = std::unordered_map<const void*, std::vector<std::shared_ptr<const T>>>;

  mutable std::shared_mutex mutex_;
  std::atomic<uint32_t> sm_ = 0;
  uint64_t next_id_ = 0;
  std::map<void**, std::shared_ptr<RegisteredImage>> images_;
  Index<RegisteredKernel> kernels_;
  Index<RegisteredSymbol> variables_;
};

}  // namespace mneme

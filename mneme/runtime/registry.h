// Registry: the kernels and variables that a program has registered with the CUDA runtime, by their addresses on the host, or
// that it has loaded by the driver, by the driver's handles. An interposer feeds it from its hooks of __cudaRegisterFatBinary,
// __cudaRegisterFunction, …Var, …ManagedVar and __cudaUnregisterFatBinary, or from those of the driver's functions that load
// code.
//
// Registration happens before main and only stores names and addresses. A fat binary is read when its segments are first asked
// for. Thread-safe; a lookup takes a shared lock. What a lookup returns stays valid after the fat binary is unregistered, except
// the views of its segments: they end when the object that holds the fat binary is unloaded.
#pragma once

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
      nullptr;       // what cudaMemcpyToSymbol and the like take; of a managed variable, where the pointer to it lies
  std::string name;  // symbol in the device image
  uint64_t size = 0;
  bool constant = false;
  bool managed = false;
};

struct RegisteredFunction {
  const void* host_function = nullptr;  // the host stub, by which launches name the kernel
  std::string name;                     // symbol in the device image
};

// An image that was given to the driver itself, by one of its functions that load code.
struct LoadedImage {
  ByteSpan bytes;                           // as image_at() gives them
  std::shared_ptr<const ByteVector> owner;  // of the bytes; null: they stay where they are until the image is unloaded
  std::map<std::string, std::string> jit_options = {};  // with which the driver assembles its PTX: "max_registers" → "32"
};

// One registered fat binary, which holds one linked device image (or several, for different architectures); or one loaded image.
class RegisteredImage {
 public:
  RegisteredImage(uint64_t id, void* handle, uint32_t table, const void* wrapper, std::string architecture)
      : id_(id), handle_(handle), table_(table), wrapper_(wrapper), architecture_(std::move(architecture)) {}
  RegisteredImage(uint64_t id, void* handle, LoadedImage loaded, std::string architecture)
      : id_(id), handle_(handle), loaded_(std::move(loaded)), architecture_(std::move(architecture)) {}

  uint64_t id() const { return id_; }        // in order of registration, never used again in the process
  void* handle() const { return handle_; }   // by which it was registered
  uint32_t table() const { return table_; }  // index of the call table it was registered through
  const void* wrapper() const { return wrapper_; }
  const LoadedImage& loaded() const { return loaded_; }  // empty: it was registered with a CUDA runtime
  const std::map<std::string, std::string>& jit_options() const { return loaded_.jit_options; }

  // What the image holds. The first call reads it; later calls return the same, and the same failure if reading has failed.
  Result<const SegmentTable*> segments() const;
  Result<DeviceElf> device_elf() const;
  // The code that the device runs. unsupported: the image was not loaded, but registered with a CUDA runtime.
  Result<const DeviceCode*> code() const;

  std::vector<RegisteredVariable> variables() const;
  std::vector<RegisteredFunction> functions() const;

 private:
  friend class Registry;
  void read() const;

  const uint64_t id_;
  void* const handle_;
  const uint32_t table_ = 0;
  const void* const wrapper_ = nullptr;
  const LoadedImage loaded_;
  mutable std::mutex mutex_;  // over the next three
  std::string architecture_;  // to be read for; not used after that
  std::vector<RegisteredVariable> variables_;
  std::vector<RegisteredFunction> functions_;
  mutable std::once_flag read_once_;
  mutable Status read_status_;
  mutable DeviceCode code_;
  mutable DeviceElf elf_;
  mutable SegmentTable segments_;
};

struct RegisteredKernel {
  std::string name;
  std::shared_ptr<const RegisteredImage> image;
  // The kernel's segment. not_found: the image was not built with the plugin; the message says what to do.
  Result<const EmbeddedSegment*> segment() const;
};

struct RegisteredSymbol {
  RegisteredVariable variable;
  std::shared_ptr<const RegisteredImage> image;
};

class Registry {
 public:
  // Chooses the device ELF that is read from each fat binary or bundle: the one that a device of this architecture runs ("sm_90",
  // "gfx90a:sramecc+:xnack-"). Without one, it is CUDA's newest, and HIP's first. Holds for all images that have not been read
  // yet, registered before or after this call.
  void set_architecture(const std::string& architecture);

  // `handle` is what the runtime's own registration returned, or what the emulation has made up. `wrapper` is what the program
  // registered, `table` the index of the call table through which it did.
  std::shared_ptr<const RegisteredImage> add_image(void** handle, uint32_t table, const void* wrapper);
  // An image that the driver has loaded under this handle.
  std::shared_ptr<const RegisteredImage> add_image(void** handle, LoadedImage image);
  void add_function(void** handle, const void* host_function, const char* device_name);
  void add_variable(void** handle, RegisteredVariable variable);
  // Returns the image, or null for an unknown handle. Its functions and variables are no longer found.
  std::shared_ptr<const RegisteredImage> remove_image(void** handle);

  // The kernel of a host stub; null when none is registered. Of a stub that several images register, the first image counts;
  // of a handle of the driver the last.
  std::shared_ptr<const RegisteredKernel> find_kernel(const void* host_function) const;
  // The variable with this RegisteredVariable::host_address; null when none is registered.
  std::shared_ptr<const RegisteredSymbol> find_variable(const void* host_address) const;
  // The variable whose bytes on the host hold this address; managed ones are left out. Looks at all variables.
  std::shared_ptr<const RegisteredSymbol> find_variable_around(const void* host_address) const;
  std::shared_ptr<const RegisteredImage> find_image(void** handle) const;
  std::vector<std::shared_ptr<const RegisteredImage>> images() const;  // in order of registration

 private:
  template <typename T>
  using Index = std::unordered_map<const void*, std::vector<std::shared_ptr<const T>>>;

  mutable std::shared_mutex mutex_;
  std::string architecture_;
  uint64_t next_id_ = 0;
  std::map<void**, std::shared_ptr<RegisteredImage>> images_;
  Index<RegisteredKernel> kernels_;
  Index<RegisteredSymbol> variables_;
};

}  // namespace mneme

// The code that a program gives to the CUDA driver: which container it is in, and what of it a device runs.
//
// An image that is loaded is a device ELF (a cubin), PTX text, a fat binary with some of both for several architectures, or the
// wrapper that points to a fat binary in a program. The functions are pure and may be called by any thread. Failures: corrupt,
// unsupported. Messages start with `name`.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mneme/base/digest.h"
#include "mneme/base/status.h"
#include "mneme/base/types.h"

namespace mneme {

// One device ELF of what a program holds for several architectures.
struct DeviceElf {
  ByteSpan bytes;
  uint32_t sm = 0;                          // CUDA: 90 for sm_90
  std::string architecture = {};            // HIP: the target, "gfx90a:xnack+"
  std::shared_ptr<const ByteVector> owner;  // of bytes that were decompressed; null: they lie in the program
};

// The bytes of the fat binary that a registration wrapper (__fatBinC_Wrapper_t) points to, as many as the fat binary's header
// says.
Result<ByteSpan> fat_binary_of_wrapper(const void* wrapper);

// The device ELF for architecture `sm` (90 for sm_90), or the nearest below it of the same major version; of several for one
// architecture that for it alone (sm_90a), then that for its family (sm_100f). 0 asks for the newest.
// A view into the fat binary, in which it must not be compressed.
Result<DeviceElf> find_device_elf(ByteSpan fat_binary, uint32_t sm, const std::string& name);

// All bytes of the image that begins at `image`, as many as its own headers say, or up to the end of the text. A wrapper stands
// for the fat binary that it points to. Nothing else says how long an image is that the driver is given. unsupported: it begins
// like no image.
Result<ByteSpan> image_at(const void* image);

// What of an image a device runs.
struct DeviceCode {
  ByteVector cubin;  // a device ELF; empty: the image has none for the device, and the driver assembles the PTX
  ByteVector ptx;    // text without a terminator; empty: there is none that the device could run
  uint32_t sm = 0;   // of the cubin, else of the PTX: 90 for sm_90
};

// The code for architecture `sm` in an image, decompressed: the cubin that the driver would choose, and the PTX that it would
// assemble if there were no cubin. unsupported: the image holds nothing that the device runs; the message lists what it holds.
Result<DeviceCode> read_device_code(ByteSpan image, uint32_t sm, const std::string& name);

// A kernel in a cubin.
struct CubinKernel {
  // A digest of the kernel's name, its own sections and all code of the cubin that is no kernel and may be called by it. It stays
  // the same when other kernels of the cubin change, unless it launches kernels: then it is of the whole cubin.
  Digest digest;
  bool allocates = false;  // it, a function that it may call, or a kernel that it may launch calls malloc or free
  bool launches = false;   // it, or a function that it may call, launches kernels
};
// not_found: the cubin has no such kernel.
Result<CubinKernel> read_cubin_kernel(ByteSpan cubin, std::string_view kernel, const std::string& name);

// A cubin, or an AMD code object, with zeros in the place of what is not the kernel's: the code of other kernels, and Mneme's
// segments. All else stays, in its place. not_found: as above.
Result<ByteVector> keep_kernel(ByteSpan code, std::string_view kernel, const std::string& name);

// A variable in a cubin, by the name that the driver finds it under.
struct CubinVariable {
  std::string name;
  uint64_t size = 0;
  uint32_t alignment = 1;
  bool constant_space = false;
  bool managed = false;
};
// All variables of a cubin but Mneme's own segments and what the compiler and the CUDA device runtime keep for themselves, in the
// order of their names.
Result<std::vector<CubinVariable>> read_cubin_variables(ByteSpan cubin, const std::string& name);

// What PTX says of a kernel and its surroundings.
struct PtxModule {
  std::vector<CubinVariable> variables;  // of the module, in the order of their names
  bool allocates = false;                // the kernel, or a function that it may call, calls malloc or free
  bool launches = false;                 // the kernel, or a function that it may call, launches kernels
  bool uses_textures = false;            // or surfaces: the kernel, or a function that it may call
};
// Reads PTX text. What it does not understand it passes over: the text has been assembled before.
PtxModule read_ptx(std::string_view text, std::string_view kernel);

}  // namespace mneme

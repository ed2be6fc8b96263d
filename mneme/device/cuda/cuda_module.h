// A loaded cubin or PTX text, and its kernels.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mneme/device/cuda/context.h"
#include "mneme/device/device.h"

namespace mneme::cuda {

class CudaKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<CudaKernel>> create(const Context& context, CUfunction function, const std::string& name);

  CUfunction function() const { return function_; }
  Result<std::optional<uint32_t>> active_blocks(const LaunchShape& shape) const override;
  // Lets launches of the kernel use `size` of dynamic shared memory; a kernel may use only a part of the device's without
  // asking. invalid_argument: the device does not have so much. Thread-safe.
  Status allow_dynamic_shared_memory(Bytes size) const;
  // Lets launches of the kernel be in clusters of these extents; those of more than 8 blocks must be asked for. Thread-safe.
  Status allow_clusters(const Dim3& cluster) const;
  // Drivers before CUDA 12.4 do not tell where the code has its arguments; with these, parameters are given as they are.
  Status expect_arguments(std::span<const PackedPlace> places) override;
  // The same parameters where the code has them; nothing where they lie so already.
  std::optional<ByteVector> moved(ByteSpan parameters) const;

 private:
  CudaKernel(const Context& context, CUfunction function) : context_(context), function_(function) {}
  Result<int> attribute(CUfunction_attribute attribute, const char* name) const;
  Result<std::vector<PackedPlace>> own_places() const;

  const Context& context_;
  CUfunction function_;
  std::vector<PackedPlace> given_, own_;  // of each argument: in what launches are given, and in the code; empty: the same
  mutable std::mutex mutex_;
  mutable uint64_t dynamic_shared_limit_ = 0;
  mutable bool large_clusters_ = false;
};

class CudaModule final : public Module {
 public:
  // Loads a cubin, a fat binary or PTX text, of which the driver's JIT makes code. incompatible: this device does not load the
  // image (the JIT's words are in the message). corrupt: a cubin that is cut short.
  static Result<std::unique_ptr<CudaModule>> load(const Context& context, const CodeImage& image);
  ~CudaModule() override;

  Result<Kernel*> kernel(const std::string& name) override;
  Result<MemoryRange> global(const std::string& name) override;

 private:
  CudaModule(const Context& context, CUmodule handle) : context_(context), handle_(handle) {}

  const Context& context_;
  CUmodule handle_;
  std::map<std::string, std::unique_ptr<CudaKernel>> kernels_;
};

}  // namespace mneme::cuda

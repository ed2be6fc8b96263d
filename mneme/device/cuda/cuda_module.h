// A loaded cubin or PTX text, and its kernels.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mneme/device/cuda/cuda_api.h"
#include "mneme/device/gpu/gpu_module.h"

namespace mneme::cuda {

class CudaKernel final : public gpu::GpuKernel {
 public:
  using GpuKernel::GpuKernel;
  Status prepare() override;
  // A kernel may use only a part of the device's dynamic shared memory without asking, and clusters of more than 8 blocks must be
  // asked for. invalid_argument: the device does not have so much.
  Status allow(const LaunchShape& shape) const override;
  // Drivers before CUDA 12.4 do not tell where the code has its arguments; with these, parameters are given as they are.
  Status expect_arguments(std::span<const PackedPlace> places) override;
  std::optional<ByteVector> moved(ByteSpan parameters) const override;

 private:
  CUfunction cuda_function() const { return reinterpret_cast<CUfunction>(function()); }
  Status allow_dynamic_shared_memory(Bytes size) const;
  Status allow_clusters(const Dim3& cluster) const;
  Result<std::vector<PackedPlace>> own_places() const;

  std::vector<PackedPlace> given_, own_;  // of each argument: in what launches are given, and in the code; empty: the same
  mutable std::mutex mutex_;
  mutable uint64_t dynamic_shared_limit_ = 0;
  mutable bool large_clusters_ = false;
};

class CudaModule final : public gpu::GpuModule {
 public:
  // Loads a cubin, a fat binary or PTX text, of which the driver's JIT makes code. incompatible: this device does not load the
  // image (the JIT's words are in the message). corrupt: a cubin that is cut short.
  static Result<std::unique_ptr<CudaModule>> load(const gpu::Context& context, const CodeImage& image);

 private:
  using GpuModule::GpuModule;
  std::unique_ptr<gpu::GpuKernel> make_kernel(gpu::FunctionHandle function, const std::string& name) const override;
};

}  // namespace mneme::cuda

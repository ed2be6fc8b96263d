#include "mneme/device/cuda/memory_kernels.h"

#include "mneme/device/cuda/cuda_module.h"

namespace mneme::cuda {

std::string ptx_of_kernels(std::string_view ptx, std::initializer_list<std::string_view> names) {
  constexpr std::string_view kEntry = ".visible .entry ";
  std::string chosen(ptx.substr(0, ptx.find(kEntry)));
  for (std::string_view name : names) {
    const size_t begin = ptx.find(fmt::format("{}{}(", kEntry, name));
    if (begin == std::string_view::npos) continue;
    chosen += '\n';
    chosen += ptx.substr(begin, ptx.find(kEntry, begin + 1) - begin);
  }
  return chosen;
}

Result<std::unique_ptr<gpu::GpuModule>> load_kernels(const gpu::Context& context, gpu::KernelSource source,
                                                     std::initializer_list<std::string_view> names) {
  const std::string ptx =
      ptx_of_kernels(source == gpu::KernelSource::memory ? memory_kernels_ptx() : element_kernels_ptx(), names);
  const auto text = std::as_bytes(std::span(ptx.data(), ptx.size() + 1));
  MNEME_ASSIGN(std::unique_ptr<gpu::GpuModule> module,
               CudaModule::load(context, {DeviceKind::cuda, ByteVector(text.begin(), text.end())}));
  return module;
}

}  // namespace mneme::cuda

// What ROCm 6 changed of types that programs get filled. Which it is is told by the types, so that one source serves the headers
// of each version.
#pragma once

#include "mneme/hip/headers.h"

namespace mneme::hip {

// Since ROCm 6 `type` is the name of what was `memoryType`, and its numbers are CUDA's: hosts' memory was 0, and devices' 1.
template <typename Attributes>
inline constexpr bool kHasCudasMemoryTypes = requires(Attributes attributes) { attributes.type; };
#if HIP_VERSION_MAJOR < 6
static_assert(!kHasCudasMemoryTypes<hipPointerAttribute_t> && hipMemoryTypeHost == 0 && hipMemoryTypeDevice == 1);
#else
static_assert(kHasCudasMemoryTypes<hipPointerAttribute_t>);
static_assert(static_cast<int>(hipMemoryTypeUnregistered) == static_cast<int>(cudaMemoryTypeUnregistered));
static_assert(static_cast<int>(hipMemoryTypeHost) == static_cast<int>(cudaMemoryTypeHost));
static_assert(static_cast<int>(hipMemoryTypeDevice) == static_cast<int>(cudaMemoryTypeDevice));
static_assert(static_cast<int>(hipMemoryTypeManaged) == static_cast<int>(cudaMemoryTypeManaged));
#endif

template <typename Attributes>
auto& memory_type_of(Attributes& attributes) {
  if constexpr (kHasCudasMemoryTypes<Attributes>)
    return attributes.type;
  else
    return attributes.memoryType;
}

// Fills hipPointerAttribute_t but for allocationFlags. hipErrorInvalidValue: the pointer is nobody's, which since ROCm 6 is a
// type.
template <typename Attributes>
hipError_t fill_attributes(Attributes& to, const cudaPointerAttributes& from) {
  to = {};
  auto& type = memory_type_of(to);
  using Type = std::remove_reference_t<decltype(type)>;
  if constexpr (kHasCudasMemoryTypes<Attributes>) {
    type = static_cast<Type>(from.type);
    to.device = hipInvalidDeviceId;
    if (from.type == cudaMemoryTypeUnregistered) return hipSuccess;
  } else {
    if (from.type == cudaMemoryTypeUnregistered) return hipErrorInvalidValue;
    type = static_cast<Type>(from.type == cudaMemoryTypeHost ? 0 : 1);
  }
  to.device = from.device;
  to.devicePointer = from.devicePointer;
  to.hostPointer = from.hostPointer;
  to.isManaged = from.type == cudaMemoryTypeManaged;
  return hipSuccess;
}

// What CUDA says of the memory that HIP's runtime has said these of.
template <typename Attributes>
cudaPointerAttributes to_cuda_attributes(const Attributes& from) {
  cudaPointerAttributes to{};
  const int type = static_cast<int>(memory_type_of(from));
  constexpr bool kCudas = kHasCudasMemoryTypes<Attributes>;
  if (from.isManaged)
    to.type = cudaMemoryTypeManaged;
  else if (kCudas && type == cudaMemoryTypeUnregistered)
    to.type = cudaMemoryTypeUnregistered;
  else
    to.type = type == (kCudas ? cudaMemoryTypeHost : 0) ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
  to.device = from.device;
  to.devicePointer = from.devicePointer;
  to.hostPointer = from.hostPointer;
  return to;
}

// The architecture as a number, 910 for gfx90a, which properties have before ROCm 6.
template <typename Properties>
void set_architecture_number(Properties& to, int number) {
  if constexpr (requires { to.gcnArch; }) to.gcnArch = number;
}

}  // namespace mneme::hip

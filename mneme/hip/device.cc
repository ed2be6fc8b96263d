// The device: the one that CUDA's slots have, which says that it is an AMD GPU of the architecture that the program was compiled
// for.
#include "mneme/hip/device.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>

#include "mneme/hip/loaded_code.h"
#include "mneme/hip/program_code.h"
#include "mneme/hip/rows.h"
#include "mneme/hip/shared_memory.h"
#include "mneme/hip/versions.h"

namespace mneme::hip {
namespace {

// "gfx90a" is version 9.0 with stepping 10, "gfx1030" is 10.3 with stepping 0.
struct ArchitectureVersion {
  int major = 9, minor = 0, stepping = 10;
};
ArchitectureVersion version_of(std::string_view architecture) {
  architecture = architecture.substr(0, architecture.find(':'));
  if (!architecture.starts_with("gfx") || architecture.size() < 6) return {};
  const std::string_view digits = architecture.substr(3);
  ArchitectureVersion version;
  const auto read = [](std::string_view text, int base, int& out) {
    std::from_chars(text.data(), text.data() + text.size(), out, base);
  };
  if (digits.find('-') != digits.npos) {  // of several GPUs: "gfx9-4-generic" is 9.4, "gfx11-generic" is 11.0
    version.minor = version.stepping = 0;
    read(digits.substr(0, digits.find('-')), 10, version.major);
    read(digits.substr(digits.find('-') + 1), 10, version.minor);
    return version;
  }
  read(digits.substr(0, digits.size() - 2), 10, version.major);
  read(digits.substr(digits.size() - 2, 1), 16, version.minor);
  read(digits.substr(digits.size() - 1), 16, version.stepping);
  return version;
}

// AMD's GPUs reach memory that the program has not allocated by HIP only with XNACK, which a program is to be compiled for.
bool reaches_pageable_memory(std::string_view architecture) { return architecture.find(":xnack+") != architecture.npos; }

// All that the header calls features of the architecture: GPUs from gfx9 on have them.
hipDeviceArch_t all_features() {
  hipDeviceArch_t arch{};
  arch.hasGlobalInt32Atomics = arch.hasGlobalFloatAtomicExch = arch.hasSharedInt32Atomics = arch.hasSharedFloatAtomicExch = 1;
  arch.hasFloatAtomicAdd = arch.hasGlobalInt64Atomics = arch.hasSharedInt64Atomics = arch.hasDoubles = 1;
  arch.hasWarpVote = arch.hasWarpBallot = arch.hasWarpShuffle = arch.has3dGrid = arch.hasThreadFenceSystem = 1;
  return arch;
}

void copy_text(char* to, size_t size, const std::string& text) {
  std::strncpy(to, text.c_str(), size - 1);
  to[size - 1] = '\0';
}

int ask(Table& table, cudaDeviceAttr attribute, int device) {
  int value = 0;
  return MNEME_CUDA(table, cudaDeviceGetAttribute)(&value, attribute, device) == cudaSuccess ? value : 0;
}

template <typename Properties>
void set_images(Properties& to, const cudaDeviceProp& from) {
  to.maxTexture1D = from.maxTexture1D;
  std::copy(std::begin(from.maxTexture2D), std::end(from.maxTexture2D), to.maxTexture2D);
  std::copy(std::begin(from.maxTexture3D), std::end(from.maxTexture3D), to.maxTexture3D);
  to.textureAlignment = from.textureAlignment;
  to.texturePitchAlignment = from.texturePitchAlignment;
}

template <typename Properties>
void set_architecture(Properties& to) {
  const std::string architecture = program_architecture();
  const ArchitectureVersion version = version_of(architecture);
  to.major = version.major;
  to.minor = version.minor;
  set_architecture_number(to, version.major * 100 + version.minor * 10 + version.stepping);
  copy_text(to.gcnArchName, sizeof to.gcnArchName, architecture);
  to.warpSize = wavefront_of(architecture);
  to.pageableMemoryAccess = to.pageableMemoryAccessUsesHostPageTables = reaches_pageable_memory(architecture);
  to.arch = all_features();
}

template <typename Properties>
void set_memory(Properties& to, const cudaDeviceProp& from) {
  to.totalGlobalMem = from.totalGlobalMem;
  to.totalConstMem = from.totalConstMem;
  to.memPitch = from.memPitch;
  to.memoryBusWidth = from.memoryBusWidth;
  to.l2CacheSize = from.l2CacheSize;
  to.sharedMemPerBlock = to.maxSharedMemoryPerMultiProcessor = kLdsBytes;
  to.canMapHostMemory = from.canMapHostMemory;
  to.integrated = from.integrated;
  to.managedMemory = from.managedMemory;
  to.directManagedMemAccessFromHost = from.directManagedMemAccessFromHost;
  to.concurrentManagedAccess = from.concurrentManagedAccess;
  to.ECCEnabled = from.ECCEnabled;
}

template <typename Properties>
void set_launches(Properties& to, const cudaDeviceProp& from) {
  to.regsPerBlock = from.regsPerBlock;
  to.maxThreadsPerBlock = from.maxThreadsPerBlock;
  std::copy(std::begin(from.maxThreadsDim), std::end(from.maxThreadsDim), to.maxThreadsDim);
  std::copy(std::begin(from.maxGridSize), std::end(from.maxGridSize), to.maxGridSize);
  to.multiProcessorCount = from.multiProcessorCount;
  to.maxThreadsPerMultiProcessor = from.maxThreadsPerMultiProcessor;
  to.concurrentKernels = from.concurrentKernels;
  to.cooperativeLaunch = from.cooperativeLaunch;
  to.cooperativeMultiDeviceLaunch = from.cooperativeLaunch;
}

template <typename Properties>
hipError_t get_properties(Table& table, Properties* out, int device) {
  if (!out) return hipErrorInvalidValue;
  cudaDeviceProp from{};
  if (cudaError_t code = MNEME_CUDA(table, cudaGetDeviceProperties)(&from, device); code != cudaSuccess) return to_hip(code);
  *out = {};
  copy_text(out->name, sizeof out->name, from.name);
  set_architecture(*out);
  set_memory(*out, from);
  set_launches(*out, from);
  set_images(*out, from);
  out->clockRate = out->clockInstructionRate = ask(table, cudaDevAttrClockRate, device);
  out->memoryClockRate = ask(table, cudaDevAttrMemoryClockRate, device);
  out->maxTexture1DLinear = ask(table, cudaDevAttrMaxTexture1DLinearWidth, device);
  out->computeMode = hipComputeModeDefault;
  out->pciBusID = from.pciBusID;
  out->pciDeviceID = from.pciDeviceID;
  out->pciDomainID = from.pciDomainID;
  return hipSuccess;
}

// Attributes that mean the same.
struct AttributePair {
  hipDeviceAttribute_t hip;
  cudaDeviceAttr cuda;
};
constexpr AttributePair kAttributes[] = {
    {hipDeviceAttributeEccEnabled, cudaDevAttrEccEnabled},
    {hipDeviceAttributeAccessPolicyMaxWindowSize, cudaDevAttrMaxAccessPolicyWindowSize},
    {hipDeviceAttributeAsyncEngineCount, cudaDevAttrAsyncEngineCount},
    {hipDeviceAttributeCanMapHostMemory, cudaDevAttrCanMapHostMemory},
    {hipDeviceAttributeCanUseHostPointerForRegisteredMem, cudaDevAttrCanUseHostPointerForRegisteredMem},
    {hipDeviceAttributeClockRate, cudaDevAttrClockRate},
    {hipDeviceAttributeComputeMode, cudaDevAttrComputeMode},
    {hipDeviceAttributeComputePreemptionSupported, cudaDevAttrComputePreemptionSupported},
    {hipDeviceAttributeConcurrentKernels, cudaDevAttrConcurrentKernels},
    {hipDeviceAttributeConcurrentManagedAccess, cudaDevAttrConcurrentManagedAccess},
    {hipDeviceAttributeCooperativeLaunch, cudaDevAttrCooperativeLaunch},
    {hipDeviceAttributeCooperativeMultiDeviceLaunch, cudaDevAttrCooperativeLaunch},
    {hipDeviceAttributeDeviceOverlap, cudaDevAttrGpuOverlap},
    {hipDeviceAttributeDirectManagedMemAccessFromHost, cudaDevAttrDirectManagedMemAccessFromHost},
    {hipDeviceAttributeGlobalL1CacheSupported, cudaDevAttrGlobalL1CacheSupported},
    {hipDeviceAttributeHostNativeAtomicSupported, cudaDevAttrHostNativeAtomicSupported},
    {hipDeviceAttributeIntegrated, cudaDevAttrIntegrated},
    {hipDeviceAttributeIsMultiGpuBoard, cudaDevAttrIsMultiGpuBoard},
    {hipDeviceAttributeKernelExecTimeout, cudaDevAttrKernelExecTimeout},
    {hipDeviceAttributeL2CacheSize, cudaDevAttrL2CacheSize},
    {hipDeviceAttributeLocalL1CacheSupported, cudaDevAttrLocalL1CacheSupported},
    {hipDeviceAttributeManagedMemory, cudaDevAttrManagedMemory},
    {hipDeviceAttributeMaxBlocksPerMultiProcessor, cudaDevAttrMaxBlocksPerMultiprocessor},
    {hipDeviceAttributeMaxBlockDimX, cudaDevAttrMaxBlockDimX},
    {hipDeviceAttributeMaxBlockDimY, cudaDevAttrMaxBlockDimY},
    {hipDeviceAttributeMaxBlockDimZ, cudaDevAttrMaxBlockDimZ},
    {hipDeviceAttributeMaxGridDimX, cudaDevAttrMaxGridDimX},
    {hipDeviceAttributeMaxGridDimY, cudaDevAttrMaxGridDimY},
    {hipDeviceAttributeMaxGridDimZ, cudaDevAttrMaxGridDimZ},
    {hipDeviceAttributeMaxSurface1D, cudaDevAttrMaxSurface1DWidth},
    {hipDeviceAttributeMaxTexture1DWidth, cudaDevAttrMaxTexture1DWidth},
    {hipDeviceAttributeMaxTexture1DLinear, cudaDevAttrMaxTexture1DLinearWidth},
    {hipDeviceAttributeMaxTexture2DWidth, cudaDevAttrMaxTexture2DWidth},
    {hipDeviceAttributeMaxTexture2DHeight, cudaDevAttrMaxTexture2DHeight},
    {hipDeviceAttributeMaxTexture3DWidth, cudaDevAttrMaxTexture3DWidth},
    {hipDeviceAttributeMaxTexture3DHeight, cudaDevAttrMaxTexture3DHeight},
    {hipDeviceAttributeMaxTexture3DDepth, cudaDevAttrMaxTexture3DDepth},
    {hipDeviceAttributeMaxThreadsDim, cudaDevAttrMaxBlockDimX},
    {hipDeviceAttributeMaxThreadsPerBlock, cudaDevAttrMaxThreadsPerBlock},
    {hipDeviceAttributeMaxThreadsPerMultiProcessor, cudaDevAttrMaxThreadsPerMultiProcessor},
    {hipDeviceAttributeMaxPitch, cudaDevAttrMaxPitch},
    {hipDeviceAttributeMemoryBusWidth, cudaDevAttrGlobalMemoryBusWidth},
    {hipDeviceAttributeMemoryClockRate, cudaDevAttrMemoryClockRate},
    {hipDeviceAttributeMultiGpuBoardGroupID, cudaDevAttrMultiGpuBoardGroupID},
    {hipDeviceAttributeMultiprocessorCount, cudaDevAttrMultiProcessorCount},
    {hipDeviceAttributePhysicalMultiProcessorCount, cudaDevAttrMultiProcessorCount},
    {hipDeviceAttributePciBusId, cudaDevAttrPciBusId},
    {hipDeviceAttributePciDeviceId, cudaDevAttrPciDeviceId},
    {hipDeviceAttributePciDomainID, cudaDevAttrPciDomainId},
    {hipDeviceAttributePersistingL2CacheMaxSize, cudaDevAttrMaxPersistingL2CacheSize},
    {hipDeviceAttributeMaxRegistersPerBlock, cudaDevAttrMaxRegistersPerBlock},
    {hipDeviceAttributeMaxRegistersPerMultiprocessor, cudaDevAttrMaxRegistersPerMultiprocessor},
    {hipDeviceAttributeStreamPrioritiesSupported, cudaDevAttrStreamPrioritiesSupported},
    {hipDeviceAttributeSurfaceAlignment, cudaDevAttrSurfaceAlignment},
    {hipDeviceAttributeTccDriver, cudaDevAttrTccDriver},
    {hipDeviceAttributeTextureAlignment, cudaDevAttrTextureAlignment},
    {hipDeviceAttributeTexturePitchAlignment, cudaDevAttrTexturePitchAlignment},
    {hipDeviceAttributeTotalConstantMemory, cudaDevAttrTotalConstantMemory},
    {hipDeviceAttributeUnifiedAddressing, cudaDevAttrUnifiedAddressing},
    {hipDeviceAttributeMemoryPoolsSupported, cudaDevAttrMemoryPoolsSupported},
    {hipDeviceAttributeClockInstructionRate, cudaDevAttrClockRate},
};

// Those that the program's architecture says.
std::optional<int> architecture_attribute(hipDeviceAttribute_t attribute) {
  const std::string architecture = program_architecture();
  const ArchitectureVersion version = version_of(architecture);
  switch (attribute) {
    case hipDeviceAttributeComputeCapabilityMajor: return version.major;
    case hipDeviceAttributeComputeCapabilityMinor: return version.minor;
#if HIP_VERSION_MAJOR < 6
    case hipDeviceAttributeGcnArch: return version.major * 100 + version.minor * 10 + version.stepping;
#endif
    case hipDeviceAttributeWarpSize: return wavefront_of(architecture);
    case hipDeviceAttributePageableMemoryAccess:
    case hipDeviceAttributePageableMemoryAccessUsesHostPageTables: return reaches_pageable_memory(architecture);
    case hipDeviceAttributeMaxSharedMemoryPerBlock:
    case hipDeviceAttributeSharedMemPerBlockOptin:
    case hipDeviceAttributeSharedMemPerMultiprocessor:
    case hipDeviceAttributeMaxSharedMemoryPerMultiprocessor: return kLdsBytes;
    case hipDeviceAttributeFineGrainSupport:
    case hipDeviceAttributeImageSupport:
    case hipDeviceAttributeIsLargeBar: return 1;
    case hipDeviceAttributeCanUseStreamWaitValue:
    case hipDeviceAttributeReservedSharedMemPerBlock:
    case hipDeviceAttributeAsicRevision: return 0;
    default: return std::nullopt;
  }
}

hipError_t get_attribute(Table& table, int* value, hipDeviceAttribute_t attribute, int device) {
  if (!value) return hipErrorInvalidValue;
  const auto* pair = std::ranges::find(kAttributes, attribute, &AttributePair::hip);
  if (pair != std::end(kAttributes)) return to_hip(MNEME_CUDA(table, cudaDeviceGetAttribute)(value, pair->cuda, device));
  // Asks for the device too, so that one that is not there is refused.
  if (cudaError_t code = MNEME_CUDA(table, cudaDeviceGetAttribute)(value, cudaDevAttrWarpSize, device); code != cudaSuccess)
    return to_hip(code);
  const auto known = architecture_attribute(attribute);
  if (!known) return hipErrorInvalidValue;
  *value = *known;
  return hipSuccess;
}

// What an interposer asks of the device. Those that HIP has no attribute of are refused, as HIP refuses what it does not know.
cudaError_t end_of_get_attribute(Table& table, int* value, cudaDeviceAttr attribute, int device) {
  constexpr AttributePair kOthers[] = {
      {hipDeviceAttributeWarpSize, cudaDevAttrWarpSize},
      {hipDeviceAttributeComputeCapabilityMajor, cudaDevAttrComputeCapabilityMajor},
      {hipDeviceAttributeComputeCapabilityMinor, cudaDevAttrComputeCapabilityMinor},
      {hipDeviceAttributePageableMemoryAccess, cudaDevAttrPageableMemoryAccess},
      {hipDeviceAttributePageableMemoryAccessUsesHostPageTables, cudaDevAttrPageableMemoryAccessUsesHostPageTables},
      {hipDeviceAttributeMaxSharedMemoryPerBlock, cudaDevAttrMaxSharedMemoryPerBlock}};
  const auto* pair = std::ranges::find(kAttributes, attribute, &AttributePair::cuda);
  if (pair == std::end(kAttributes)) {
    pair = std::ranges::find(kOthers, attribute, &AttributePair::cuda);
    if (pair == std::end(kOthers)) return cudaErrorInvalidValue;
  }
  return to_cuda(MNEME_REAL(table, hipDeviceGetAttribute)(value, pair->hip, device));
}

// What an interposer has loaded is the device's, too.
hipError_t reset(Table& table) {
  if (table.ends_in_runtime()) unload_from_current_device(table);
  return to_hip(MNEME_CUDA(table, cudaDeviceReset)());
}

// The driver's functions, to which a device is its number.
hipError_t properties_of(Table& table, hipDevice_t device, hipDeviceProp_t& out) { return get_properties(table, &out, device); }

hipError_t init(Table&, unsigned flags) { return flags == 0 ? hipSuccess : hipErrorInvalidValue; }
hipError_t get_device(Table& table, hipDevice_t* device, int ordinal) {
  int count = 0;
  if (!device) return hipErrorInvalidValue;
  if (cudaError_t code = MNEME_CUDA(table, cudaGetDeviceCount)(&count); code != cudaSuccess) return to_hip(code);
  if (ordinal < 0 || ordinal >= count) return hipErrorInvalidDevice;
  *device = ordinal;
  return hipSuccess;
}
hipError_t compute_capability(Table& table, int* major, int* minor, hipDevice_t device) {
  hipDeviceProp_t all;
  if (!major || !minor) return hipErrorInvalidValue;
  if (hipError_t result = properties_of(table, device, all); result != hipSuccess) return result;
  *major = all.major;
  *minor = all.minor;
  return hipSuccess;
}
hipError_t get_name(Table& table, char* name, int length, hipDevice_t device) {
  hipDeviceProp_t all;
  if (!name || length <= 0) return hipErrorInvalidValue;
  if (hipError_t result = properties_of(table, device, all); result != hipSuccess) return result;
  copy_text(name, static_cast<size_t>(length), all.name);
  return hipSuccess;
}
hipError_t total_memory(Table& table, size_t* bytes, hipDevice_t device) {
  hipDeviceProp_t all;
  if (!bytes) return hipErrorInvalidValue;
  if (hipError_t result = properties_of(table, device, all); result != hipSuccess) return result;
  *bytes = all.totalGlobalMem;
  return hipSuccess;
}
hipError_t get_uuid(Table& table, hipUUID* uuid, hipDevice_t device) {
  if (!uuid) return hipErrorInvalidValue;
  cudaDeviceProp from{};
  if (cudaError_t code = MNEME_CUDA(table, cudaGetDeviceProperties)(&from, device); code != cudaSuccess) return to_hip(code);
  static_assert(sizeof from.uuid == sizeof *uuid);
  std::memcpy(uuid, &from.uuid, sizeof *uuid);
  return hipSuccess;
}
// No device is another's peer.
hipError_t peer_attribute(Table&, int* value, hipDeviceP2PAttr, int, int) {
  if (!value) return hipErrorInvalidValue;
  *value = 0;
  return hipSuccess;
}

// The first device, which is as good as any.
template <typename Properties>
hipError_t choose(Table&, int* device, const Properties* wanted) {
  if (!device || !wanted) return hipErrorInvalidValue;
  *device = 0;
  return hipSuccess;
}

// Versions of HIP, which programs compare with those of its header.
hipError_t get_version(Table&, int* version) {
  if (!version) return hipErrorInvalidValue;
  *version = HIP_VERSION;
  return hipSuccess;
}

}  // namespace

// Since ROCm 6 the name is a macro for a function of another name, as of the rows below.
std::string architecture_of(Table& table, int ordinal) {
#if HIP_VERSION_MAJOR < 6
  const auto ask = MNEME_REAL(table, hipGetDeviceProperties);
  hipDeviceProp_t all{};
#else
  const auto ask = MNEME_REAL(table, hipGetDevicePropertiesR0600);
  hipDeviceProp_tR0600 all{};
#endif
  if (!ask || ask(&all, ordinal) != hipSuccess) return "";
  return {all.gcnArchName, ::strnlen(all.gcnArchName, sizeof all.gcnArchName)};
}

namespace {

// Since ROCm 6 the names are macros for functions of other names, whose structure is another one. No program that was compiled
// with its headers calls those of before.
#if HIP_VERSION_MAJOR < 6
#define MNEME_PROPERTIES_ROWS                                              \
  MNEME_EMULATED(hipGetDeviceProperties, get_properties<hipDeviceProp_t>), \
      MNEME_EMULATED(hipChooseDevice, choose<hipDeviceProp_t>)
#else
#define MNEME_PROPERTIES_ROWS                                                        \
  MNEME_EMULATED(hipGetDevicePropertiesR0600, get_properties<hipDeviceProp_tR0600>), \
      MNEME_EMULATED(hipChooseDeviceR0600, choose<hipDeviceProp_tR0600>)
#endif

using Rows = HookList<
    MNEME_ROW(hipGetDeviceCount, cudaGetDeviceCount), MNEME_ROW(hipGetDevice, cudaGetDevice),
    MNEME_ROW(hipSetDevice, cudaSetDevice), MNEME_ROW(hipDeviceSynchronize, cudaDeviceSynchronize),
    MNEME_OWN_THROUGH(hipDeviceReset, reset, cudaDeviceReset), MNEME_ROW(hipDeviceGetLimit, cudaDeviceGetLimit),
    MNEME_ROW(hipGetDeviceFlags, cudaGetDeviceFlags), MNEME_ROW(hipSetDeviceFlags, cudaSetDeviceFlags),
    MNEME_ROW(hipDeviceGetCacheConfig, cudaDeviceGetCacheConfig), MNEME_ROW(hipDeviceSetCacheConfig, cudaDeviceSetCacheConfig),
    MNEME_ROW(hipDeviceGetSharedMemConfig, cudaDeviceGetSharedMemConfig),
    MNEME_ROW(hipDeviceSetSharedMemConfig, cudaDeviceSetSharedMemConfig),
    MNEME_ROW(hipDeviceGetStreamPriorityRange, cudaDeviceGetStreamPriorityRange),
    MNEME_ROW(hipDeviceCanAccessPeer, cudaDeviceCanAccessPeer), MNEME_ROW(hipDeviceEnablePeerAccess, cudaDeviceEnablePeerAccess),
    MNEME_ROW(hipDeviceDisablePeerAccess, cudaDeviceDisablePeerAccess), MNEME_ROW(hipDeviceGetPCIBusId, cudaDeviceGetPCIBusId),
    MNEME_ROW(hipDeviceGetByPCIBusId, cudaDeviceGetByPCIBusId), MNEME_ROW(hipProfilerStart, cudaProfilerStart),
    MNEME_ROW(hipProfilerStop, cudaProfilerStop), MNEME_PROPERTIES_ROWS, MNEME_EMULATED(hipDeviceGetAttribute, get_attribute),
    MNEME_EMULATED(hipInit, init), MNEME_EMULATED(hipDeviceGet, get_device),
    MNEME_EMULATED(hipDeviceComputeCapability, compute_capability), MNEME_EMULATED(hipDeviceGetName, get_name),
    MNEME_EMULATED(hipDeviceTotalMem, total_memory), MNEME_EMULATED(hipDeviceGetUuid, get_uuid),
    MNEME_EMULATED(hipDeviceGetP2PAttribute, peer_attribute), MNEME_EMULATED(hipDriverGetVersion, get_version),
    MNEME_EMULATED(hipRuntimeGetVersion, get_version)>;

using Ends = HookList<MNEME_WRITTEN_END(hipDeviceGetAttribute, cudaDeviceGetAttribute, end_of_get_attribute),
                      MNEME_END(hipDeviceReset, cudaDeviceReset, hipError_t (*)())>;

}  // namespace

void install_device(const Table& table) { install_both_ways<Rows, Ends>(table); }

}  // namespace mneme::hip

#include "mneme/device/cuda/cuda_shared_memory.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>

namespace mneme::cuda {
namespace {

constexpr auto kDescriptor = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

CUmemLocation location_of(const Context& context) {
  CUmemLocation location{};
  location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  location.id = context.device();
  return location;
}

Result<Bytes> whole_granules(Bytes size, Bytes granularity, const char* what) {
  if (granularity.count == 0)
    return error(Code::unsupported, "{} {} of shared memory: the device has no virtual memory management", what, size);
  if (size.count == 0) return error(Code::invalid_argument, "{} shared memory: the size is 0", what);
  return Bytes((size.count + granularity.count - 1) / granularity.count * granularity.count);
}

Result<Descriptor> duplicate(const Descriptor& descriptor) {
  Descriptor copy(::fcntl(descriptor.number(), F_DUPFD_CLOEXEC, 0));
  if (!copy.open())
    return error(Code::invalid_argument, "descriptor {} of shared memory: {}", descriptor.number(), std::strerror(errno));
  return copy;
}

}  // namespace

Result<std::unique_ptr<SharedMemory>> CudaSharedMemory::allocate(const Context& context, Bytes size, Bytes granularity) {
  MNEME_ASSIGN(Bytes mapped, whole_granules(size, granularity, "allocating"));
  ContextScope scope(context);
  MNEME_TRY(scope.status());
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.requestedHandleTypes = kDescriptor;
  properties.location = location_of(context);
  CUmemGenericAllocationHandle handle = 0;
  MNEME_TRY(context.check(context.driver().cuMemCreate(&handle, mapped.count, &properties, 0),
                          "cuMemCreate({}), to be shared as a file descriptor", mapped));
  MNEME_ASSIGN(auto memory, map(context, handle, size, mapped, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
  return std::unique_ptr<SharedMemory>(std::move(memory));
}

Result<std::unique_ptr<SharedMemory>> CudaSharedMemory::import(const Context& context, const Descriptor& descriptor, Bytes size,
                                                               Bytes granularity) {
  MNEME_ASSIGN(Bytes mapped, whole_granules(size, granularity, "importing"));
  MNEME_ASSIGN(Descriptor kept, duplicate(descriptor));
  ContextScope scope(context);
  MNEME_TRY(scope.status());
  CUmemGenericAllocationHandle handle = 0;
  // The driver takes the number in place of a pointer.
  auto number = reinterpret_cast<void*>(static_cast<uintptr_t>(descriptor.number()));
  MNEME_TRY(context.check(context.driver().cuMemImportFromShareableHandle(&handle, number, kDescriptor),
                          "cuMemImportFromShareableHandle(descriptor {}), of {}", descriptor.number(), mapped));
  MNEME_ASSIGN(auto memory, map(context, handle, size, mapped, CU_MEM_ACCESS_FLAGS_PROT_READ));
  memory->imported_ = std::move(kept);
  return std::unique_ptr<SharedMemory>(std::move(memory));
}

Result<std::unique_ptr<CudaSharedMemory>> CudaSharedMemory::map(const Context& context, CUmemGenericAllocationHandle handle,
                                                                Bytes size, Bytes mapped, CUmemAccess_flags access) {
  const Driver& driver = context.driver();
  CUdeviceptr address = 0;
  bool is_mapped = false;
  auto try_map = [&]() -> Status {
    MNEME_TRY(context.check(driver.cuMemAddressReserve(&address, mapped.count, 0, 0, 0), "cuMemAddressReserve({})", mapped));
    MNEME_TRY(
        context.check(driver.cuMemMap(address, mapped.count, 0, handle, 0), "cuMemMap({} at {:#x}), shared", mapped, address));
    is_mapped = true;
    CUmemAccessDesc description{};
    description.location = location_of(context);
    description.flags = access;
    return context.check(driver.cuMemSetAccess(address, mapped.count, &description, 1), "cuMemSetAccess({} at {:#x}), shared",
                         mapped, address);
  };
  Status status = try_map();
  if (status.ok())
    return std::unique_ptr<CudaSharedMemory>(new CudaSharedMemory(context, handle, DevicePtr(address), size, mapped));
  if (is_mapped) driver.cuMemUnmap(address, mapped.count);
  if (address != 0) driver.cuMemAddressFree(address, mapped.count);
  driver.cuMemRelease(handle);
  return status;
}

CudaSharedMemory::~CudaSharedMemory() {
  ContextScope scope(context_);
  if (!scope.status().ok()) return;
  const Driver& driver = context_.driver();
  driver.cuMemUnmap(address().address, mapped_.count);
  driver.cuMemAddressFree(address().address, mapped_.count);
  driver.cuMemRelease(handle_);
}

Result<Descriptor> CudaSharedMemory::share() const {
  if (imported_.open()) return duplicate(imported_);
  ContextScope scope(context_);
  MNEME_TRY(scope.status());
  int number = -1;
  MNEME_TRY(context_.check(context_.driver().cuMemExportToShareableHandle(&number, handle_, kDescriptor, 0),
                           "cuMemExportToShareableHandle(), of {}", size()));
  return Descriptor(number);
}

}  // namespace mneme::cuda

#include "mneme/device/gpu/gpu_shared_memory.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>

namespace mneme::gpu {
namespace {

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

Result<std::unique_ptr<SharedMemory>> GpuSharedMemory::allocate(const Context& context, Bytes size, Bytes granularity) {
  MNEME_ASSIGN(Bytes mapped, whole_granules(size, granularity, "allocating"));
  ContextScope scope(context);
  MNEME_TRY(scope.status());
  MemoryHandle handle{};
  MNEME_TRY(context.check_call(context.api().create_memory(&handle, mapped.count, context.device(), Sharing::descriptor),
                               context.words().create_memory, "({}), to be shared as a file descriptor", mapped));
  MNEME_ASSIGN(auto memory, map(context, handle, size, mapped, MemoryAccess::read_write));
  return std::unique_ptr<SharedMemory>(std::move(memory));
}

Result<std::unique_ptr<SharedMemory>> GpuSharedMemory::import(const Context& context, const Descriptor& descriptor, Bytes size,
                                                              Bytes granularity) {
  MNEME_ASSIGN(Bytes mapped, whole_granules(size, granularity, "importing"));
  MNEME_ASSIGN(Descriptor kept, duplicate(descriptor));
  ContextScope scope(context);
  MNEME_TRY(scope.status());
  MemoryHandle handle{};
  MNEME_TRY(context.check_call(context.api().import_memory(&handle, descriptor.number()), context.words().import_memory,
                               "(descriptor {}), of {}", descriptor.number(), mapped));
  MNEME_ASSIGN(auto memory, map(context, handle, size, mapped, MemoryAccess::read));
  memory->imported_ = std::move(kept);
  return std::unique_ptr<SharedMemory>(std::move(memory));
}

Result<std::unique_ptr<GpuSharedMemory>> GpuSharedMemory::map(const Context& context, MemoryHandle handle, Bytes size,
                                                              Bytes mapped, MemoryAccess access) {
  const Api& api = context.api();
  uint64_t address = 0;
  bool is_mapped = false;
  auto try_map = [&]() -> Status {
    MNEME_TRY(context.check_call(api.reserve(&address, mapped.count, 0), context.words().reserve, "({})", mapped));
    MNEME_TRY(context.check_call(api.map(address, mapped.count, handle), context.words().map, "({} at {:#x}), shared", mapped,
                                 address));
    is_mapped = true;
    return context.check_call(api.set_access(address, mapped.count, context.device(), access), context.words().set_access,
                              "({} at {:#x}), shared", mapped, address);
  };
  Status status = try_map();
  if (status.ok())
    return std::unique_ptr<GpuSharedMemory>(new GpuSharedMemory(context, handle, DevicePtr(address), size, mapped));
  if (is_mapped) api.unmap(address, mapped.count);
  if (address != 0) api.unreserve(address, mapped.count);
  api.release(handle);
  return status;
}

GpuSharedMemory::~GpuSharedMemory() {
  ContextScope scope(context_);
  if (!scope.status().ok()) return;
  const Api& api = context_.api();
  api.unmap(address().address, mapped_.count);
  api.unreserve(address().address, mapped_.count);
  api.release(handle_);
}

Result<Descriptor> GpuSharedMemory::share() const {
  if (imported_.open()) return duplicate(imported_);
  ContextScope scope(context_);
  MNEME_TRY(scope.status());
  int number = -1;
  MNEME_TRY(
      context_.check_call(context_.api().export_memory(&number, handle_), context_.words().export_memory, "(), of {}", size()));
  return Descriptor(number);
}

}  // namespace mneme::gpu

#include "mneme/device/host_shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

namespace mneme {
namespace {

class HostSharedMemory final : public SharedMemory {
 public:
  HostSharedMemory(Descriptor memory, void* mapping, Bytes size)
      : SharedMemory(DevicePtr(reinterpret_cast<uint64_t>(mapping)), size), memory_(std::move(memory)) {}
  ~HostSharedMemory() override { ::munmap(reinterpret_cast<void*>(address().address), size().count); }

  Result<Descriptor> share() const override {
    Descriptor copy(::fcntl(memory_.number(), F_DUPFD_CLOEXEC, 0));
    if (!copy.open()) return error(Code::exhausted, "sharing {} of host memory: {}", size(), std::strerror(errno));
    return copy;
  }

 private:
  Descriptor memory_;
};

Result<std::unique_ptr<SharedMemory>> map(Descriptor memory, Bytes size, int protection, const char* what) {
  void* mapping = ::mmap(nullptr, size.count, protection, MAP_SHARED, memory.number(), 0);
  if (mapping == MAP_FAILED) return error(Code::exhausted, "{} {} of host memory: {}", what, size, std::strerror(errno));
  return std::unique_ptr<SharedMemory>(new HostSharedMemory(std::move(memory), mapping, size));
}

}  // namespace

Result<std::unique_ptr<SharedMemory>> allocate_shared_host_memory(Bytes size) {
  if (size.count == 0) return error(Code::invalid_argument, "allocating shared host memory: the size is 0");
  Descriptor memory(::memfd_create("mneme-shared", MFD_CLOEXEC));
  if (!memory.open() || ::ftruncate(memory.number(), static_cast<off_t>(size.count)) != 0)
    return error(Code::exhausted, "allocating {} of shared host memory: {}", size, std::strerror(errno));
  return map(std::move(memory), size, PROT_READ | PROT_WRITE, "mapping");
}

Result<std::unique_ptr<SharedMemory>> import_shared_host_memory(const Descriptor& descriptor, Bytes size) {
  struct stat status{};
  if (::fstat(descriptor.number(), &status) != 0 || size.count == 0 || static_cast<uint64_t>(status.st_size) < size.count)
    return error(Code::invalid_argument, "importing {} of shared memory: the descriptor is of other memory", size);
  Descriptor copy(::fcntl(descriptor.number(), F_DUPFD_CLOEXEC, 0));
  if (!copy.open()) return error(Code::exhausted, "importing {} of shared memory: {}", size, std::strerror(errno));
  return map(std::move(copy), size, PROT_READ, "importing");
}

}  // namespace mneme

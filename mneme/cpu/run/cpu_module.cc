#include "mneme/cpu/run/cpu_module.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "mneme/base/memory_file.h"
#include "mneme/cpu/run/line_table.h"

namespace mneme::cpu {
namespace {

Status wrong_version(const std::string& what, uint32_t version) {
  return error(Code::incompatible,
               "{} is of version {} of the image format, this build of Mneme runs version {}: compile the kernel again", what,
               version, MNEME_CPU_IMAGE_VERSION);
}

// Programs that were exported have images of the version of their time. That of version 6 ends before the size of its warps, 32;
// that of version 7 is as of today, and calls no service for images.
constexpr uint32_t kOldestVersion = 6, kFirstWithWarpSize = 7;
bool is_known(uint32_t version) { return version >= kOldestVersion && version <= MNEME_CPU_IMAGE_VERSION; }

mneme_cpu_kernel whole(const mneme_cpu_kernel& entry) {
  if (entry.version >= kFirstWithWarpSize) return entry;
  mneme_cpu_kernel copy{};
  std::memcpy(&copy, &entry, offsetof(mneme_cpu_kernel, warp_size));
  return copy;
}

// What the segments of a shared object take once it is loaded, its variables included. Zero of one whose headers lie elsewhere.
Bytes loaded_size(ByteSpan object) {
  Elf64_Ehdr header{};
  if (object.size() < sizeof header) return {};
  std::memcpy(&header, object.data(), sizeof header);
  const uint64_t size = uint64_t{header.e_phnum} * sizeof(Elf64_Phdr);
  if (header.e_phoff > object.size() || size > object.size() - header.e_phoff) return {};
  Bytes most;
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    std::memcpy(&segment, object.data() + header.e_phoff + i * sizeof segment, sizeof segment);
    if (segment.p_type == PT_LOAD) most = std::max(most, Bytes(segment.p_vaddr + segment.p_memsz));
  }
  return most;
}

// The loader says the same of an object that is damaged, of one that there is no memory for, and of one that it does not reach.
Status load_failure(ByteSpan object, const std::string& reason) {
  const Bytes size = loaded_size(object);
  void* memory =
      size == Bytes() ? nullptr : ::mmap(nullptr, size.count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return error(Code::exhausted, "loading a cpu image: its code and variables take {}, which the system does not give", size);
  if (memory != nullptr) ::munmap(memory, size.count);
  if (::access("/proc/self/fd", F_OK) != 0)
    return error(
        Code::unavailable,
        "loading a cpu image of {} B: it is loaded by a file in /proc, which is not mounted here: mount -t proc proc /proc",
        object.size());
  return error(Code::corrupt, "loading a cpu image of {} B: {}", object.size(), reason);
}

}  // namespace

std::optional<std::string> LoadedCode::line_of(uint64_t address) const {
  struct stat size{};
  if (!holds(address) || ::fstat(file.number(), &size) != 0 || size.st_size <= 0) return std::nullopt;
  const auto bytes = static_cast<size_t>(size.st_size);
  void* image = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file.number(), 0);
  if (image == MAP_FAILED) return std::nullopt;
  auto line = find_line({static_cast<const std::byte*>(image), bytes}, address - base);
  ::munmap(image, bytes);
  return line;
}

CpuKernel::CpuKernel(std::string name, const mneme_cpu_kernel& entry, const LoadedCode& code) : entry_(entry), code_(code) {
  name_ = std::move(name);
  resources_.static_shared_memory = Bytes(entry.static_shared_bytes);
  if (entry.stack_bytes != 0) resources_.local_memory = Bytes(entry.stack_bytes);
  if (entry.max_threads != 0) resources_.max_threads_per_block = entry.max_threads;
}

Result<std::unique_ptr<CpuModule>> CpuModule::load(const CodeImage& image) {
  if (image.device != DeviceKind::cpu) {
    return error(Code::incompatible, "loading an image made for the device {} on the device cpu: compile the kernel for cpu",
                 mneme::to_string(image.device));
  }
  constexpr char kElf[] = {0x7f, 'E', 'L', 'F'};
  if (image.bytes.size() < sizeof kElf || std::memcmp(image.bytes.data(), kElf, sizeof kElf) != 0) {
    return error(Code::corrupt, "loading a cpu image of {} B: it is no shared object", image.bytes.size());
  }
  auto made = make_memory_file("mneme-kernel", image.bytes);
  if (!made.ok()) return made.status().with_context("loading a cpu image");
  Descriptor file = std::move(*made);
  // The dynamic loader takes two objects of one name for the same: the descriptor stays open, so that no other image gets its
  // number. The process's id, not "self", lets a debugger find the file too.
  const std::string path = fmt::format("/proc/{}/fd/{}", ::getpid(), file.number());
  void* object = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (object == nullptr) {
    const std::string reason = ::dlerror();
    file.close();
    return load_failure(image.bytes, reason);
  }
  std::unique_ptr<CpuModule> module(new CpuModule(std::move(file), object));
  module->find_code();
  MNEME_TRY(module->read_globals());
  return module;
}

CpuModule::~CpuModule() { ::dlclose(object_); }

void CpuModule::find_code() {
  link_map* map = nullptr;
  if (::dlinfo(object_, RTLD_DI_LINKMAP, &map) != 0) return;
  code_.base = map->l_addr;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* found) {
        auto& code = *static_cast<LoadedCode*>(found);
        if (info->dlpi_addr != code.base) return 0;
        for (const ElfW(Phdr) & segment : std::span(info->dlpi_phdr, info->dlpi_phnum)) {
          if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
          code.begin = code.base + segment.p_vaddr;
          code.end = code.begin + segment.p_memsz;
        }
        return 1;
      },
      &code_);
}

Status CpuModule::read_globals() {
  const auto* table = static_cast<const mneme_cpu_image*>(::dlsym(object_, MNEME_CPU_IMAGE_SYMBOL));
  if (table == nullptr) {
    return error(Code::corrupt, "loading a cpu image: it has no symbol {}, so it was not made by Mneme", MNEME_CPU_IMAGE_SYMBOL);
  }
  if (!is_known(table->version)) return wrong_version("loading a cpu image: it", table->version);
  table_ = table;
  for (uint32_t i = 0; i < table->global_count; ++i) {
    const mneme_cpu_global& global = table->globals[i];
    globals_[global.name] = {DevicePtr(reinterpret_cast<uint64_t>(global.address)), Bytes(global.size)};
  }
  return {};
}

Result<Kernel*> CpuModule::kernel(const std::string& name) {
  if (auto found = kernels_.find(name); found != kernels_.end()) return static_cast<Kernel*>(found->second.get());
  const auto* entry = static_cast<const mneme_cpu_kernel*>(::dlsym(object_, (MNEME_CPU_KERNEL_PREFIX + name).c_str()));
  if (entry == nullptr) return error(Code::not_found, "the image has no kernel '{}'", name);
  const std::string what = fmt::format("the image's kernel '{}'", name);
  if (!is_known(entry->version)) return wrong_version(what, entry->version);
  const bool runs = entry->mode == MNEME_CPU_LOOP ? entry->run_block != nullptr
                                                  : entry->mode == MNEME_CPU_FIBERS && entry->run_thread != nullptr;
  if (!runs) return error(Code::corrupt, "{} has no code for its mode {}", what, entry->mode);
  auto& kernel = kernels_[name] = std::make_unique<CpuKernel>(name, whole(*entry), code_);
  return static_cast<Kernel*>(kernel.get());
}

Result<MemoryRange> CpuModule::global(const std::string& name) {
  auto found = globals_.find(name);
  if (found == globals_.end()) return error(Code::not_found, "the image has no global '{}'", name);
  return found->second;
}

}  // namespace mneme::cpu

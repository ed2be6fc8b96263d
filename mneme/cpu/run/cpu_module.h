// CpuModule: a loaded image of the CPU device, which is a shared object that is opened from memory.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "mneme/base/descriptor.h"
#include "mneme/base/status.h"
#include "mneme/cpu/run/image.h"
#include "mneme/device/device.h"

namespace mneme::cpu {

// Where an image's code lies.
struct LoadedCode {
  uint64_t base = 0;            // what is added to the addresses in the image
  uint64_t begin = 0, end = 0;  // of the instructions
  Descriptor file;              // holds the image's bytes

  bool holds(uint64_t address) const { return address >= begin && address < end; }
  // The source line of an instruction: "saxpy.cu:12"; nothing where the image does not tell (line_table.h).
  std::optional<std::string> line_of(uint64_t address) const;
};

class CpuKernel final : public Kernel {
 public:
  // `code` belongs to the module and must outlive the kernel.
  CpuKernel(std::string name, const mneme_cpu_kernel& entry, const LoadedCode& code);
  const mneme_cpu_kernel& entry() const { return entry_; }
  const LoadedCode& code() const { return code_; }

 private:
  const mneme_cpu_kernel entry_;
  const LoadedCode& code_;
};

class CpuModule final : public Module {
 public:
  // incompatible: the image is for another device, or of another version of image.h. corrupt: the bytes cannot be loaded.
  // exhausted: there is no memory for them.
  static Result<std::unique_ptr<CpuModule>> load(const CodeImage& image);
  ~CpuModule() override;

  Result<Kernel*> kernel(const std::string& name) override;
  Result<MemoryRange> global(const std::string& name) override;
  const mneme_cpu_image& table() const { return *table_; }

 private:
  CpuModule(Descriptor file, void* object) : object_(object) { code_.file = std::move(file); }
  void find_code();
  Status read_globals();

  void* object_;
  LoadedCode code_;  // its file stays open as long as the object: the loader knows the object by the descriptor's number
  const mneme_cpu_image* table_ = nullptr;
  std::map<std::string, MemoryRange> globals_;
  std::map<std::string, std::unique_ptr<CpuKernel>> kernels_;
};

}  // namespace mneme::cpu

// A loaded image of the CPU device: a shared object opened from memory.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "mneme/base/status.h"
#include "mneme/device/cpu/image.h"
#include "mneme/device/device.h"

namespace mneme::cpu {

class CpuKernel final : public Kernel {
 public:
  CpuKernel(std::string name, const mneme_cpu_kernel& entry);
  const mneme_cpu_kernel& entry() const { return entry_; }

 private:
  const mneme_cpu_kernel& entry_;
};

class CpuModule final : public Module {
 public:
  // incompatible for another device's image or another version of image.h; corrupt when the bytes cannot be loaded.
  static Result<std::unique_ptr<CpuModule>> load(const CodeImage& image);
  ~CpuModule() override;

  Result<Kernel*> kernel(const std::string& name) override;
  Result<GlobalAddress> global(const std::string& name) override;
  const mneme_cpu_image& table() const { return *table_; }

 private:
  CpuModule(int file, void* object) : file_(file), object_(object) {}
  Status read_globals();

  int file_;  // open as long as the object, whose name it is
  void* object_;
  const mneme_cpu_image* table_ = nullptr;
  std::map<std::string, GlobalAddress> globals_;
  std::map<std::string, std::unique_ptr<CpuKernel>> kernels_;
};

}  // namespace mneme::cpu

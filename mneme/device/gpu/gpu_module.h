// A loaded code image and its kernels, over the functions of Api. A vendor's module derives from it: it loads the image, and
// makes kernels of its own where they need more than this.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mneme/device/gpu/context.h"

namespace mneme::gpu {

class GpuKernel : public Kernel {
 public:
  GpuKernel(const Context& context, FunctionHandle function, const std::string& name) : context_(context), function_(function) {
    name_ = name;
  }
  // Asks for its resources; to be called once, before all else.
  virtual Status prepare();

  FunctionHandle function() const { return function_; }
  Result<std::optional<uint32_t>> active_blocks(const LaunchShape& shape) const override;
  Status expect_arguments(std::span<const PackedPlace> places) override;
  // Where each argument lies in packed parameters; empty where nobody has said it.
  std::span<const PackedPlace> places() const { return places_; }
  // Has the driver allow launches of this shape, where it wants to be asked. Thread-safe.
  virtual Status allow([[maybe_unused]] const LaunchShape& shape) const { return {}; }
  // The same parameters where the code has them; nothing where they lie so already.
  virtual std::optional<ByteVector> moved([[maybe_unused]] ByteSpan parameters) const { return std::nullopt; }

 protected:
  // `name` is for the message.
  Result<int> attribute(FunctionAttribute attribute, const char* name) const;

  const Context& context_;
  FunctionHandle function_;

 private:
  std::vector<PackedPlace> places_;
};

class GpuModule : public Module {
 public:
  ~GpuModule() override;
  Result<Kernel*> kernel(const std::string& name) override;
  Result<MemoryRange> global(const std::string& name) override;
  Result<GpuKernel*> gpu_kernel(const std::string& name);

 protected:
  // `image` is kept until the module has been unloaded, for drivers that read it as long as that.
  GpuModule(const Context& context, ModuleHandle handle, ByteVector image = {})
      : context_(context), handle_(handle), image_(std::move(image)) {}
  virtual std::unique_ptr<GpuKernel> make_kernel(FunctionHandle function, const std::string& name) const;
  const Context& context_;

 private:
  ModuleHandle handle_;
  ByteVector image_;
  std::map<std::string, std::unique_ptr<GpuKernel>> kernels_;
};

// What an ELF file of a vendor's code is called, and its e_machine.
struct ElfKind {
  std::string_view name;  // "cubin"
  uint16_t machine;
};
bool is_elf(ByteSpan image);
// A driver takes no size, and would read past the end of an image that was cut short. corrupt: its header names more than there
// is. incompatible: it is of another machine.
Status check_elf(ByteSpan image, const ElfKind& kind);

}  // namespace mneme::gpu

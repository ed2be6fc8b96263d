#include "mneme/device/hip/code_objects.h"

#include "mneme/base/compress.h"
#include "mneme/device/hip/hip_module.h"

// The file MNEME_HIP_CODE_OBJECTS. The assembler includes it, because compiler caches know that.
asm(".pushsection .rodata, \"a\"\n"
    ".balign 16\n"
    "mneme_hip_code_objects: .incbin \"" MNEME_HIP_CODE_OBJECTS
    "\"\n"
    ".popsection");
extern "C" __attribute__((visibility("hidden"))) const std::byte mneme_hip_code_objects[];

namespace mneme::hip {
namespace {

struct PackedCodeObject {
  std::string_view processor;
  gpu::KernelSource source;
  uint64_t offset, size;  // of its frame in the file
  uint64_t content;
};
using enum gpu::KernelSource;
constexpr PackedCodeObject kCodeObjects[] = {
#include MNEME_HIP_CODE_OBJECT_ROWS
};

}  // namespace

std::string_view processor_of(std::string_view architecture) { return architecture.substr(0, architecture.find(':')); }

std::vector<std::string_view> kernel_architectures() {
  std::vector<std::string_view> names;
  for (const PackedCodeObject& object : kCodeObjects)
    if (object.source == memory) names.push_back(object.processor);
  return names;
}

Result<ByteVector> kernel_code_object(gpu::KernelSource source, std::string_view architecture) {
  const std::string_view processor = processor_of(architecture);
  for (const PackedCodeObject& object : kCodeObjects) {
    if (object.source == source && object.processor == processor)
      return decompress({mneme_hip_code_objects + object.offset, object.size}, Bytes(object.content));
  }
  return error(Code::unsupported,
               "Mneme's own kernels are not compiled for {}, but for {}: build Mneme with -DMNEME_HIP_ARCHITECTURES=\"...;{}\"",
               processor, fmt::join(kernel_architectures(), ", "), processor);
}

gpu::LoadKernels kernel_loader(const std::string& architecture) {
  return [architecture](const gpu::Context& context, gpu::KernelSource source,
                        std::initializer_list<std::string_view>) -> Result<std::unique_ptr<gpu::GpuModule>> {
    MNEME_ASSIGN(ByteVector image, kernel_code_object(source, architecture));
    MNEME_ASSIGN(std::unique_ptr<gpu::GpuModule> module, HipModule::load(context, std::move(image)));
    return module;
  };
}

}  // namespace mneme::hip

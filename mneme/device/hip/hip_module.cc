#include "mneme/device/hip/hip_module.h"

#include "mneme/device/hip/hip_api.h"

namespace mneme::hip {
namespace {

constexpr gpu::ElfKind kCodeObject{"code object", 224};
constexpr std::string_view kBundleMagic = "__CLANG_OFFLOAD_BUNDLE__", kCompressedMagic = "CCOB";

bool starts_with(ByteSpan image, std::string_view magic) {
  const std::string_view text(reinterpret_cast<const char*>(image.data()), image.size());
  return text.starts_with(magic);
}

}  // namespace

Result<std::unique_ptr<HipModule>> HipModule::load(const gpu::Context& context, ByteVector image) {
  const bool bundle = starts_with(image, kBundleMagic) || starts_with(image, kCompressedMagic);
  if (!bundle && !gpu::is_elf(image))
    return error(Code::incompatible, "loading a code image: {} bytes that are neither a code object nor a bundle of them",
                 image.size());
  if (!bundle) MNEME_TRY(gpu::check_elf(image, kCodeObject));
  gpu::ContextScope scope(context);
  MNEME_TRY(scope.status());
  ModuleHandle handle = nullptr;
  MNEME_TRY(context.check(driver_of(context).hipModuleLoadData(&handle, image.data()), "hipModuleLoadData({} of {} bytes)",
                          bundle ? "a bundle" : "a code object", image.size()));
  return std::unique_ptr<HipModule>(new HipModule(context, reinterpret_cast<gpu::ModuleHandle>(handle), std::move(image)));
}

}  // namespace mneme::hip

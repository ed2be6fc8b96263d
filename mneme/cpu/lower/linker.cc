#include "mneme/cpu/lower/linker.h"

#include <mutex>

#include "mneme/compile/linker.h"

namespace mneme::cpu {
namespace {

// An empty library called libm.so.6 makes the image need the real one, wherever the machine has it.
Result<ByteVector> empty_libm() {
  static std::mutex mutex;
  static ByteVector libm;
  std::lock_guard lock(mutex);
  if (libm.empty()) {
    const ByteSpan nothing;
    MNEME_ASSIGN(libm, link_in_memory({"-m", "elf_x86_64", "--soname=libm.so.6"}, {&nothing, 1}));
  }
  return libm;
}

}  // namespace

Result<ByteVector> link_shared_object(ByteSpan object) {
  auto image = [&]() -> Result<ByteVector> {
    MNEME_ASSIGN(const ByteVector libm, empty_libm());
    const ByteSpan inputs[] = {object, libm};
    return link_in_memory({"--no-as-needed", "--build-id=none", "-z", "now"}, inputs);
  }();
  return image.ok() ? std::move(image) : Result<ByteVector>(image.status().with_context("linking the host code"));
}

}  // namespace mneme::cpu

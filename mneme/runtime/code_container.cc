#include "mneme/runtime/code_container.h"

#include <charconv>
#include <cstring>

#include "mneme/runtime/code_bundle.h"

namespace mneme {
namespace {

Result<DeviceElf> find_in_fat_binary(ByteSpan fat_binary, std::string_view architecture, const std::string& name) {
  return find_device_elf(fat_binary, sm_of(architecture), name);
}

constexpr CodeContainer kContainers[] = {
    {0x466243B1, fat_binary_of_wrapper, find_in_fat_binary, "`mneme config cxxflags`"},
    {0x48495046, bundle_of_wrapper, find_code_object, "`mneme config --hip cxxflags`"},
};

}  // namespace

uint32_t sm_of(std::string_view architecture) {
  uint32_t sm = 0;
  if (architecture.starts_with("sm_")) std::from_chars(architecture.data() + 3, architecture.data() + architecture.size(), sm);
  return sm;
}

std::string_view compile_options(const void* wrapper) {
  return wrapper ? container_of(wrapper).compile_options : kContainers[0].compile_options;
}

const CodeContainer& container_of(const void* wrapper) {
  uint32_t magic = 0;
  std::memcpy(&magic, wrapper, sizeof magic);
  for (const CodeContainer& container : kContainers)
    if (container.wrapper_magic == magic) return container;
  return kContainers[0];
}

}  // namespace mneme

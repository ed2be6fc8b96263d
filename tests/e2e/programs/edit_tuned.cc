// Makes of a file of deployed code one that another device, another Mneme or another build of the program might have left, whole
// and with a right checksum: edit_tuned FILE OUTPUT WHAT [VALUE]. See edit() for what can be changed.
#include <cstdio>
#include <string>

#include "mneme/base/file_system.h"
#include "mneme/snapshot/container.h"
#include "mneme/tuned/tuned_file.h"

namespace {

using namespace mneme;

Status edit(TunedFile& file, const std::string& what, const std::string& value) {
  for (TunedKernel& kernel : file.kernels) {
    if (what == "architecture")
      kernel.architecture = value;
    else if (what == "device")
      kernel.device = value;
    else if (what == "static_hash")
      kernel.static_hash = digest_of(std::as_bytes(std::span(value)));
    else if (what == "name")
      kernel.name = value;
    else if (what == "variable")
      kernel.variables = {value};
    else if (what == "argument")
      kernel.arguments = {{static_cast<uint32_t>(std::stoul(value)), ByteVector(4)}};
    else if (what != "image" && what != "major" && what != "minor")
      return error(Code::invalid_argument, "there is no {}", what);
  }
  if (what == "image")  // no code of any device
    for (ByteVector& image : file.images) image.assign(std::stoul(value), std::byte{0x5a});
  return {};
}

Status run(const char* input, const char* output, const std::string& what, const std::string& value) {
  MNEME_ASSIGN(const ByteVector bytes, FileSystem::posix().read(input));
  MNEME_ASSIGN(TunedFile file, decode_tuned(bytes, input));
  MNEME_TRY(edit(file, what, value));
  ByteVector changed = encode_tuned(file);
  if (what == "major" || what == "minor") {
    const auto version = static_cast<uint16_t>(std::stoul(value));
    std::memcpy(changed.data() + (what == "major" ? offsetof(ContainerStart, major) : offsetof(ContainerStart, minor)), &version,
                sizeof version);
    seal_container(changed);
  }
  return FileSystem::posix().write_atomically(output, changed);
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 4) return 64;
  const Status written = run(arguments[1], arguments[2], arguments[3], count > 4 ? arguments[4] : "");
  if (written.ok()) return 0;
  std::fprintf(stderr, "%s\n", written.to_string().c_str());
  return 2;
}

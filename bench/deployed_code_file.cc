// Writes a file of deployed code whose code is a kernel's own, for any launch: deployed_code_file CUBIN KERNEL FILE. What a
// launch takes with it and without it then differs by what stands before the launch alone (deployed_latency.py).
#include <cstdio>

#include "mneme/base/file_system.h"
#include "mneme/runtime/device_code.h"
#include "mneme/tuned/tuned_file.h"

namespace {

mneme::Status write(const char* cubin, const char* name, const char* output) {
  MNEME_ASSIGN(const mneme::ByteVector image, mneme::FileSystem::posix().read(cubin));
  MNEME_ASSIGN(const auto kernel, mneme::read_cubin_kernel(image, name, cubin));
  mneme::TunedKernel code;
  code.static_hash = kernel.digest;
  code.name = code.demangled = name;
  code.device = "cuda";
  code.architecture = "sm_90";
  code.rule = {mneme::LaunchRule::Covers::any};
  mneme::TunedFile file;
  file.add(code, image);
  return mneme::FileSystem::posix().write_atomically(output, mneme::encode_tuned(file));
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 4) return 64;
  const mneme::Status written = write(arguments[1], arguments[2], arguments[3]);
  if (written.ok()) return 0;
  std::fprintf(stderr, "%s\n", written.to_string().c_str());
  return 2;
}

// Makes a device image of a file of LLVM IR, for test rules: lower_image <kind> <architecture> <input> <output>
#include <cstdio>
#include <string>

#include "mneme/base/file_system.h"
#include "mneme/base/output_file.h"
#include "mneme/compile/compiler.h"
#include "mneme/ir/module.h"

namespace {

mneme::Status run(const std::string& kind_name, const std::string& architecture, const std::string& input,
                  const std::string& output) {
  MNEME_ASSIGN(mneme::DeviceKind kind, mneme::parse_device_kind(kind_name));
  mneme::FileSystem& files = mneme::FileSystem::posix();
  MNEME_ASSIGN(auto bytes, files.read(input));
  MNEME_ASSIGN(auto module, mneme::ir::Module::parse(bytes, input));
  MNEME_ASSIGN(auto compiler, mneme::Compiler::create(kind, architecture));
  MNEME_ASSIGN(auto code, compiler->compile(module, {}));
  return mneme::write_output_file(output, code.image.bytes);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return std::fprintf(stderr, "usage: %s <kind> <architecture> <input> <output>\n", argv[0]), 64;
  const mneme::Status status = run(argv[1], argv[2], argv[3], argv[4]);
  if (!status.ok()) std::fprintf(stderr, "%s: %s: %s\n", argv[0], argv[3], status.to_string().c_str());
  return status.ok() ? 0 : 1;
}

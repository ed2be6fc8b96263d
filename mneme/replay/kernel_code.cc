#include "mneme/replay/kernel_code.h"

#include "mneme/ir/signature.h"
#include "mneme/replay/compile_request.h"

namespace mneme {
namespace {

Result<ByteVector> read(const IrFile& file, FileSystem& files) {
  auto bytes = files.read(file.path);
  if (!bytes.ok()) return bytes.status().with_context("reading the IR in place of the recorded one");
  const std::string digest = digest_of(*bytes).hex();
  if (!file.digest.empty() && file.digest != digest)
    return error(Code::incompatible,
                 "the IR in place of the recorded one, {}, has changed: its digest is {}, and the configuration's {}", file.path,
                 digest, file.digest);
  return bytes;
}

}  // namespace

Status pin(IrFile& file, FileSystem& files) {
  if (file.path.empty()) return {};
  MNEME_ASSIGN(ByteVector bytes, read(file, files));
  file.digest = digest_of(bytes).hex();
  return {};
}

Result<KernelCode> KernelCode::load(const Database& database, const KernelRecord& kernel) {
  MNEME_ASSIGN(ir::Module module, load_module(database, kernel));
  return KernelCode(std::move(module), kernel.name, kernel.arch);
}

Result<KernelCode> KernelCode::replaced_by(const IrFile& file, FileSystem& files) const {
  MNEME_ASSIGN(ByteVector bytes, read(file, files));
  auto parsed = ir::Module::parse(bytes, file.path);
  // The user's file is wrong, not the database.
  if (!parsed.ok())
    return Status(Code::invalid_argument, parsed.status().message()).with_context("the IR in place of the recorded one");
  ir::Module module = std::move(*parsed);
  MNEME_TRY(ir::check_replacement(module_, module, kernel_));
  return KernelCode(std::move(module), kernel_, architecture_);
}

const Result<PointerUse>& KernelCode::pointer_use() {
  if (!pointer_use_) pointer_use_ = find_pointer_use(module_, kernel_, architecture_);
  return *pointer_use_;
}

Result<KernelCode*> KernelSources::find(IrFile file) {
  if (file.path.empty()) return &recorded_;
  MNEME_TRY(pin(file, FileSystem::posix()));
  auto known = replacements_.find(file.digest);
  if (known == replacements_.end()) {
    MNEME_ASSIGN(KernelCode code, recorded_.replaced_by(file, FileSystem::posix()));
    known = replacements_.emplace(file.digest, std::move(code)).first;
  }
  return &known->second;
}

}  // namespace mneme

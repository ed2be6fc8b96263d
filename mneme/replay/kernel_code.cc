#include "mneme/replay/kernel_code.h"

#include "mneme/base/activity.h"
#include "mneme/ir/kernel_launch.h"
#include "mneme/ir/signature.h"

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

Result<ir::Module> parse_recorded(ByteSpan bitcode, const std::string& demangled) {
  ActivityScope compiling(Activity::compiling);  // a damaged module can crash LLVM too
  return ir::Module::parse(bitcode, "the recorded IR of " + demangled);
}

Status pin(IrFile& file, FileSystem& files) {
  if (file.path.empty()) return {};
  MNEME_ASSIGN(ByteVector bytes, read(file, files));
  file.digest = digest_of(bytes).hex();
  return {};
}

Result<KernelCode> KernelCode::load(const Database& database, const KernelRecord& kernel) {
  KernelCode code;
  MNEME_ASSIGN(code.bitcode_, database.load_ir(kernel.static_hash));
  code.digest_ = digest_of(code.bitcode_);
  code.kernel_ = kernel.name;
  code.demangled_ = kernel.demangled;
  code.architecture_ = kernel.arch;
  return code;
}

Result<KernelCode> KernelCode::replaced_by(const IrFile& file, FileSystem& files) {
  MNEME_ASSIGN(const ir::Module* recorded, module());
  MNEME_ASSIGN(ByteVector bytes, read(file, files));
  auto parsed = ir::Module::parse(bytes, file.path);
  // The user's file is wrong, not the database.
  if (!parsed.ok())
    return Status(Code::invalid_argument, parsed.status().message()).with_context("the IR in place of the recorded one");
  ir::Module module = std::move(*parsed);
  MNEME_TRY(ir::check_replacement(*recorded, module, kernel_));
  KernelCode code;
  code.digest_ = module.digest();
  code.module_ = std::make_unique<const ir::Module>(std::move(module));
  code.kernel_ = kernel_;
  code.demangled_ = demangled_;
  code.architecture_ = architecture_;
  return code;
}

Result<const ir::Module*> KernelCode::module() {
  if (!module_) {
    MNEME_ASSIGN(ir::Module module, parse_recorded(bitcode_, demangled_));
    module_ = std::make_unique<const ir::Module>(std::move(module));
    bitcode_ = {};
  }
  return module_.get();
}

Result<std::optional<Dim3>> KernelCode::required_block() {
  if (const auto known = notes().required_block()) return *known;
  MNEME_ASSIGN(const ir::Module* code, module());
  const std::optional<Dim3> block = ir::required_block(*code, kernel_);
  notes().put_required_block(block);
  return block;
}

const Result<PointerUse>& KernelCode::pointer_use() {
  if (!pointer_use_) pointer_use_ = find_pointer_use_now();
  return *pointer_use_;
}

Result<PointerUse> KernelCode::find_pointer_use_now() {
  if (auto known = notes().pointer_use()) return std::move(*known);
  MNEME_ASSIGN(const ir::Module* code, module());
  MNEME_ASSIGN(PointerUse use, find_pointer_use(*code, kernel_, architecture_));
  notes().put_pointer_use(use);
  return use;
}

Result<KernelCode*> KernelSources::find(IrFile file) {
  if (file.path.empty()) return &recorded_;
  MNEME_TRY(pin(file, FileSystem::posix()));
  auto known = replacements_.find(file.digest);
  if (known == replacements_.end()) {
    MNEME_ASSIGN(KernelCode code, recorded_.replaced_by(file, FileSystem::posix()));
    code.use_cache(cache_);
    known = replacements_.emplace(file.digest, std::move(code)).first;
  }
  return &known->second;
}

void KernelSources::use_cache(const std::shared_ptr<DiskCache>& cache) {
  cache_ = cache;
  recorded_.use_cache(cache);
  for (auto& [digest, code] : replacements_) code.use_cache(cache);
}

}  // namespace mneme

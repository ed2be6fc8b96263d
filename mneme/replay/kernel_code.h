// KernelCode: the IR that a replay compiles, which is the recorded one or that of a file in its place.
//
// The IR is parsed when it is first asked for, since LLVM is loaded then: a replay whose code is in the cache asks for its digest
// and for what is noted of it there (IrNotes) alone.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "mneme/base/digest.h"
#include "mneme/base/disk_cache.h"
#include "mneme/base/file_system.h"
#include "mneme/base/status.h"
#include "mneme/compile/pointer_use.h"
#include "mneme/ir/module.h"
#include "mneme/replay/ir_notes.h"
#include "mneme/snapshot/snapshot.h"
#include "mneme/store/database.h"

namespace mneme {

// A file whose IR takes the place of the recorded one.
struct IrFile {
  std::string path = {};    // empty: none
  std::string digest = {};  // of its bytes, in hexadecimal digits; where it is given the file must have it
  friend bool operator==(const IrFile&, const IrFile&) = default;
};

// Reads the file and notes its digest, by which it is known from then on. Does nothing where no file is named. Failures: those of
// FileSystem::read(); incompatible: a digest is given already, and the file has another one.
Status pin(IrFile& file, FileSystem& files);

// Parses recorded IR of a kernel, as Activity::compiling, since bytes that are damaged in spite of their digest may crash LLVM.
// corrupt: it is no LLVM IR.
Result<ir::Module> parse_recorded(ByteSpan bitcode, const std::string& demangled);

class KernelCode {
 public:
  // Reads the recorded code. Failures: those of Database::load_ir().
  static Result<KernelCode> load(const Database& database, const KernelRecord& kernel);
  // The same kernel as a file with bitcode or textual IR has it. Failures: those of FileSystem::read(); invalid_argument: it is
  // no LLVM IR; incompatible: the file does not have the given digest, it is for another target, or the kernel takes other
  // parameters or is no kernel there; not_found: the file has no such kernel.
  Result<KernelCode> replaced_by(const IrFile& file, FileSystem& files);

  // The IR, parsed. Fails as parse_recorded(). What is returned lives as long as this object, or the one that it is moved to.
  Result<const ir::Module*> module();
  // That of the IR (ir::Module::digest()).
  const Digest& digest() const { return digest_; }
  // ir::required_block(). Fails as module() does.
  Result<std::optional<Dim3>> required_block();
  // How the kernel reaches memory, as find_pointer_use() tells. It is found when first asked for, and kept. Fails as that does,
  // and as module().
  const Result<PointerUse>& pointer_use();

  // From now on what the two tell is looked for in `cache` first, and kept there.
  void use_cache(std::shared_ptr<DiskCache> cache) { cache_ = std::move(cache); }

 private:
  KernelCode() = default;
  Result<PointerUse> find_pointer_use_now();
  IrNotes notes() const { return IrNotes(cache_, digest_, kernel_, architecture_); }

  std::string kernel_, demangled_, architecture_;
  Digest digest_;
  ByteVector bitcode_;                        // until it is parsed
  std::unique_ptr<const ir::Module> module_;  // null: not yet
  std::shared_ptr<DiskCache> cache_;          // null: none
  std::optional<Result<PointerUse>> pointer_use_;
};

// The recorded code, and the code of every file that has taken its place so far. Used by one thread at a time.
class KernelSources {
 public:
  explicit KernelSources(KernelCode recorded) : recorded_(std::move(recorded)) {}

  KernelCode& recorded() { return recorded_; }
  const KernelCode& recorded() const { return recorded_; }
  // The code of the file, or the recorded code where no file is named. The file is read each time, since it may have changed, but
  // is parsed once for each content. Failures: those of pin() and replaced_by(). What is returned lives as long as this object.
  Result<KernelCode*> find(IrFile file);
  // KernelCode::use_cache() for all of them.
  void use_cache(const std::shared_ptr<DiskCache>& cache);

 private:
  KernelCode recorded_;
  std::map<std::string, KernelCode> replacements_;  // by the digest of their file
  std::shared_ptr<DiskCache> cache_;                // null: none
};

}  // namespace mneme

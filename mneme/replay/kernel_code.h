// KernelCode: the IR that a replay compiles, which is the recorded one or that of a file in its place.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "mneme/base/digest.h"
#include "mneme/base/file_system.h"
#include "mneme/base/status.h"
#include "mneme/compile/pointer_use.h"
#include "mneme/ir/module.h"
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

class KernelCode {
 public:
  // Reads the recorded code. Fails as load_module() does.
  static Result<KernelCode> load(const Database& database, const KernelRecord& kernel);
  // The same kernel as a file with bitcode or textual IR has it. Failures: those of FileSystem::read(); invalid_argument: it is
  // no LLVM IR; incompatible: the file does not have the given digest, it is for another target, or the kernel takes other
  // parameters or is no kernel there; not_found: the file has no such kernel.
  Result<KernelCode> replaced_by(const IrFile& file, FileSystem& files) const;

  const ir::Module& module() const { return module_; }
  // How the kernel reaches memory, as find_pointer_use() tells. It is found when first asked for, and kept.
  const Result<PointerUse>& pointer_use();

 private:
  KernelCode(ir::Module module, std::string kernel, std::string architecture)
      : module_(std::move(module)), kernel_(std::move(kernel)), architecture_(std::move(architecture)) {}

  ir::Module module_;
  std::string kernel_;
  std::string architecture_;
  std::optional<Result<PointerUse>> pointer_use_;
};

// The recorded code, and the code of every file that has taken its place so far. Used by one thread at a time.
class KernelSources {
 public:
  explicit KernelSources(KernelCode recorded) : recorded_(std::move(recorded)) {}

  const KernelCode& recorded() const { return recorded_; }
  // The code of the file, or the recorded code where no file is named. The file is read each time, since it may have changed, but
  // is parsed once for each content. Failures: those of pin() and replaced_by(). What is returned lives as long as this object.
  Result<KernelCode*> find(IrFile file);

 private:
  KernelCode recorded_;
  std::map<std::string, KernelCode> replacements_;  // by the digest of their file
};

}  // namespace mneme

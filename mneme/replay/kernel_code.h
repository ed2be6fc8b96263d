// KernelCode: the IR that a replay compiles: what was recorded, or a file in its place.
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
  std::string digest = {};  // of its bytes, in hexadecimal digits; what the file must have, where it is given
  friend bool operator==(const IrFile&, const IrFile&) = default;
};

// Gives the digest that the file has now where none is given. What reading it says; incompatible when it has another.
Status pin(IrFile& file, FileSystem& files);

class KernelCode {
 public:
  // What the store says of a damaged file; corrupt.
  static Result<KernelCode> load(const Database& database, const KernelRecord& kernel);
  // This kernel by a file with bitcode or textual IR. What reading it says; corrupt (no LLVM IR); incompatible (its bytes are not
  // those of the digest, or it is for another target, or the kernel takes other parameters); not_found (it has no such kernel).
  Result<KernelCode> replaced_by(const IrFile& file, FileSystem& files) const;

  const ir::Module& module() const { return module_; }
  // Found when first asked for. See find_pointer_use.
  const Result<PointerUse>& pointer_use();

 private:
  KernelCode(ir::Module module, std::string kernel, std::string architecture)
      : module_(std::move(module)), kernel_(std::move(kernel)), architecture_(std::move(architecture)) {}

  ir::Module module_;
  std::string kernel_;
  std::string architecture_;
  std::optional<Result<PointerUse>> pointer_use_;
};

// The recorded code, and whatever files have taken its place so far.
class KernelSources {
 public:
  explicit KernelSources(KernelCode recorded) : recorded_(std::move(recorded)) {}

  const KernelCode& recorded() const { return recorded_; }
  // The file's, or the recorded one where there is no file. A file is read each time, since it may have changed; the code that is
  // in it is kept. Failures: those of pin() and replaced_by(). What is returned lives as long as this.
  Result<KernelCode*> find(IrFile file);

 private:
  KernelCode recorded_;
  std::map<std::string, KernelCode> replacements_;  // by the digest of their file
};

}  // namespace mneme

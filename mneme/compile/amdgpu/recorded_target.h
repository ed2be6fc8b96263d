// What a module for AMD GPUs says of what it was compiled for.
#pragma once

#include <llvm/ADT/StringRef.h>
#include <llvm/IR/Module.h>

#include <optional>
#include <string>

namespace mneme::amdgpu {

inline constexpr char kVersionFlag[] = "amdhsa_code_object_version";  // the module flag: kVersionUnit times the version
inline constexpr unsigned kVersionUnit = 100;
inline constexpr unsigned kUsualVersion = 5;  // of code objects, where a module says nothing

struct RecordedTarget {
  std::string processor, features;  // of a kernel, else of another function; empty: the module says nothing
  unsigned version = 0;             // of its code objects; 0: the module says nothing
};
RecordedTarget read_recorded_target(const llvm::Module& module);

// The last of a list of features ("+xnack,-sramecc") that names one: whether it is on. Nothing: none does.
std::optional<bool> find_feature(llvm::StringRef list, llvm::StringRef name);
// The lanes of a wavefront, 32 or 64, by such a list; nothing: it names neither, or both.
std::optional<unsigned> find_wavefront(llvm::StringRef list);
// What a processor has without such features: 32 where it can.
unsigned usual_wavefront(llvm::StringRef processor);

}  // namespace mneme::amdgpu

#include "mneme/instrument/names.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>
#include <llvm/Support/xxhash.h>

#include "mneme/instrument/linking.h"

namespace mneme::instrument {
namespace {

using llvm::StringRef;

constexpr StringRef kVisible = "__mneme";
// How clang begins its suffix of a static symbol: with dots, which PTX does not take.
constexpr StringRef kExternalised[] = {"__static__", "__intern__", ".static.", ".intern."};
constexpr size_t kHashDigits = 16;

bool is_hex(StringRef text) {
  return llvm::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}
bool is_decimal(StringRef text) { return !text.empty() && llvm::all_of(text, llvm::isDigit); }

// Only characters that PTX takes in a name.
void append_valid(std::string& name, StringRef text, StringRef replacement) {
  for (char c : text) {
    if (llvm::isAlnum(c) || c == '_' || c == '$')
      name += c;
    else
      name += replacement;
  }
}

// Drops `marker` and what follows it when that satisfies `matches` to the end of the name.
template <typename Predicate>
bool drop_suffix(StringRef& name, StringRef marker, Predicate matches) {
  size_t at = name.rfind(marker);
  if (at == StringRef::npos || at == 0 || !matches(name.substr(at + marker.size()))) return false;
  name = name.take_front(at);
  return true;
}

}  // namespace

StringRef canonical_name(StringRef name) {
  // clang writes its hash of the path as a number: without leading zeros.
  auto hash = [](StringRef rest) { return !rest.empty() && rest.size() <= kHashDigits && is_hex(rest); };
  auto own = [](StringRef rest) {
    return rest.empty() || (rest.consume_front("_") && rest.size() == kHashDigits && is_hex(rest));
  };
  auto drop_externalised = [&] { return llvm::any_of(kExternalised, [&](StringRef m) { return drop_suffix(name, m, hash); }); };
  while (drop_suffix(name, kVisible, own) || drop_externalised() || drop_suffix(name, ".__uniq.", is_decimal) ||
         drop_suffix(name, ".llvm.", is_decimal)) {
  }
  return name;
}

bool is_externalised(StringRef name) {
  return llvm::any_of(kExternalised, [&](StringRef marker) { return name.contains(marker); }) && canonical_name(name) != name;
}

std::string visible_name(StringRef name, StringRef suffix) {
  std::string result;
  append_valid(result, name, "_$_");
  result += kVisible;
  if (!suffix.empty()) result += ("_" + suffix).str();
  return result;
}

std::string file_tag(const llvm::Module& module) {
  std::string result = "__in_";
  append_valid(result, llvm::sys::path::filename(module.getSourceFileName()), "_");
  return result;
}

std::string module_suffix(const llvm::Module& module) {
  // clang's id of the compilation unit is made for exactly this; without one, what clang would make it from.
  std::string identity = compilation_unit_id();
  if (identity.empty()) {
    llvm::SmallString<256> directory;
    llvm::sys::fs::current_path(directory);
    identity = (directory + "\n" + module.getModuleIdentifier()).str();
  }
  for (const llvm::GlobalValue& value : module.global_values()) {
    if (!value.isDeclaration() && value.hasExternalLinkage()) identity += "\n" + value.getName().str();
  }
  return llvm::utohexstr(llvm::xxh3_64bits(StringRef(identity)), /*LowerCase=*/true, kHashDigits);
}

bool is_of_device_runtime(StringRef function) { return function.starts_with("__cudaCDP2"); }

bool is_provided_by_system(StringRef function) {
  static constexpr StringRef kNames[] = {"vprintf", "malloc", "free", "__assertfail", "__nvvm_reflect"};
  static constexpr StringRef kPrefixes[] = {"llvm.", "__nv_", "__ockl_", "__ocml_", "__hip_", "__kmpc_"};
  return llvm::is_contained(kNames, function) || is_of_device_runtime(function) ||
         llvm::any_of(kPrefixes, [&](StringRef p) { return function.starts_with(p); });
}

}  // namespace mneme::instrument

// Names of device symbols: which part of them comes from the source, and which from the place it was compiled in.
#pragma once

#include <llvm/ADT/StringRef.h>

#include <string>

namespace llvm {
class Module;
}

namespace mneme::instrument {

// The name without what depends on the file's path: clang's suffixes of externalised static symbols under relocatable device
// code (__static__ and __intern__ with up to 16 hexadecimal digits), of unique internal names (.__uniq.<digits>) and of promoted
// ones
// (.llvm.<digits>), and the plugin's own (see visible_name).
llvm::StringRef canonical_name(llvm::StringRef name);

// What an internal variable is called once it is made visible. `suffix` is module_suffix() where several files are linked to
// one image, else empty. Only characters that PTX takes.
std::string visible_name(llvm::StringRef name, llvm::StringRef suffix);

// What the name of a file's own state variable carries in the IR of code that is linked with other files' ("__in_file_cu"): two
// files may call theirs the same. The file's name without its folder.
std::string file_tag(const llvm::Module& module);

// 16 hexadecimal digits that no other translation unit of the same program has.
std::string module_suffix(const llvm::Module& module);

// True for functions that the device's own libraries or its assembler provide, so that no segment defines them.
bool is_provided_by_system(llvm::StringRef function);

}  // namespace mneme::instrument

// Names of device symbols: which part of them comes from the source, and which from the place it was compiled in.
#pragma once

#include <llvm/ADT/StringRef.h>

#include <string>

namespace llvm {
class Module;
}

namespace mneme::instrument {

// The name without the suffixes that depend on the file's path. clang adds them to externalised static symbols under relocatable
// device code (__static__ or __intern__, for AMDGCN .static. or .intern., and up to 16 hexadecimal digits), to unique internal
// names (.__uniq.<digits>) and to promoted ones (.llvm.<digits>); the plugin adds its own (visible_name()). Example: "scale" for
// "scale__static__1a2b3c4d".
llvm::StringRef canonical_name(llvm::StringRef name);

// Whether the name has one of the suffixes that clang adds under relocatable device code.
bool is_externalised(llvm::StringRef name);

// The name of an internal variable once it is made visible, of characters that PTX takes only. `suffix` is module_suffix() where
// several files are linked to one image, else empty.
std::string visible_name(llvm::StringRef name, llvm::StringRef suffix);

// What the name of a file's own state variable ends in, in IR that is linked with that of other files, since two files may use
// the same name for theirs. It is made of the file's name without its folder: "__in_file_cu" for "src/file.cu".
std::string file_tag(const llvm::Module& module);

// 16 hexadecimal digits that differ for each translation unit of a program. Made from clang's id of the unit, or from its path
// where there is none, and from the names that it defines.
std::string module_suffix(const llvm::Module& module);

// Whether the function is one of the CUDA device runtime, by which kernels launch kernels.
bool is_of_device_runtime(llvm::StringRef function);

// Whether the device's libraries or its assembler provide the function, so that no segment need define it.
bool is_provided_by_system(llvm::StringRef function);

}  // namespace mneme::instrument

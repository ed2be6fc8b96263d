// Whether the device code of a translation unit is a whole image or one part of it.
#pragma once

#include <string>

namespace llvm {
class Module;
}

namespace mneme::instrument {

enum class Linking {
  whole_program,  // the image is made from this module alone
  relocatable,    // -fgpu-rdc: other files may define what this one uses, and use what it defines
};

// How the module's device code is linked. LLVM IR has no flag that says so: the function looks for signs in the module, and then
// at the compiler's command line. Where neither tells, the answer is `relocatable`, which is right in both cases and only costs
// space.
Linking detect_linking(const llvm::Module& module);

// The id of the compilation unit that clang was given (-cuid= on this process's command line), or empty.
std::string compilation_unit_id();

}  // namespace mneme::instrument

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

// LLVM IR carries no flag for it. Signs in the module are looked at first, then the compiler's command line; where neither
// tells, relocatable, which is right for both and only costs space.
Linking detect_linking(const llvm::Module& module);

// clang's -cuid= of this process, or empty.
std::string compilation_unit_id();

}  // namespace mneme::instrument

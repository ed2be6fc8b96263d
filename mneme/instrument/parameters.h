// The layout of a kernel's parameters in the packed buffer that a launch takes.
#pragma once

#include <llvm/Support/Error.h>

#include <cstdint>
#include <string>
#include <vector>

namespace llvm {
class Function;
}

namespace mneme::instrument {

struct Parameter {
  uint32_t kind = 0;  // enum mneme_param_kind
  uint32_t alignment = 1;
  uint64_t offset = 0;
  uint64_t size = 0;
  std::string name;  // empty where the compiler discarded it
  std::string type;
};

struct ByteRange {
  uint64_t offset = 0;
  uint64_t size = 0;
};

struct ParameterLayout {
  std::vector<Parameter> parameters;
  std::vector<ByteRange> padding;  // bytes of the buffer that hold no value, by offset
  std::vector<ByteRange> numbers;  // bytes of the buffer that belong to no address, by offset
  uint64_t bytes = 0;
};

// The layout by the kernel ABIs of NVPTX and AMDGCN, which are the same here: each parameter stands at the next multiple of its
// alignment, and a struct passed by value stands there as its bytes. Fails for a parameter that has no fixed size.
llvm::Expected<ParameterLayout> parameter_layout(const llvm::Function& kernel);

}  // namespace mneme::instrument

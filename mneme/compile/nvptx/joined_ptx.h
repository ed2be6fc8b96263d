// Several kernels in one PTX text, so that the assembler is called once for all of them: most of what it takes for a small kernel
// is its start.
//
// What is joined gets the code that it gets alone. That holds for PTX in which a kernel stands alone: variables, and what is
// reached through them, have places in a module's constant banks, and these depend on what else is in the module. Such PTX is
// therefore not joined (docs/adr/0033-kernels-assembled-together.md).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace mneme::nvptx {

// PTX taken apart. The parts are of the text that find_lone_kernel() was given.
struct LoneKernel {
  std::string_view version, target, address_size;  // the values of the directives
  std::string_view before, name, after;            // from behind those directives up to the kernel's name, the name, the rest
};

// The kernel of PTX that defines and declares nothing else, and has no line directives. Nothing: the PTX is another, or is not
// read far enough to say.
std::optional<LoneKernel> find_lone_kernel(std::string_view ptx);

// Whether two kernels may stand in one text.
bool can_be_joined(const LoneKernel& a, const LoneKernel& b);

// What the kernel at that place is called in the joined text.
std::string joined_name(size_t place);
// The text of all kernels, at least one; each two can be joined.
std::string join_ptx(std::span<const LoneKernel> kernels);

}  // namespace mneme::nvptx

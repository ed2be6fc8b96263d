// Reads facts about a kernel from its cubin, and from what the assembler said when it made the cubin.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mneme/base/types.h"
#include "mneme/compile/code_facts.h"

namespace mneme::nvptx {

// The facts of a kernel in a cubin. `log` is what the assembler wrote under -v. A fact that is in neither is left empty.
// Instructions, of 16 bytes each since sm_70, are counted in all code sections, and in the kernel's own where the cubin has other
// kernels; without the padding at their ends: NOPs, and before them the branch to itself that ends every function.
CodeFacts read_facts(ByteSpan cubin, const std::string& log, const std::string& kernel);

// How many instructions one kernel of a cubin has, without the functions that it calls; nothing where it is not there.
std::optional<uint64_t> count_instructions(ByteSpan cubin, const std::string& kernel);

// The block that a kernel of a cubin must be launched with (.reqntid in PTX); nothing where any will do, or where it is not
// there.
std::optional<Dim3> required_block(ByteSpan cubin, const std::string& kernel);

// The lines of an assembler's log that are warnings, unchanged.
std::vector<std::string> read_warnings(const std::string& log);

// The warning that the assembler did not follow a register cap, since it was fewer than the ABI needs or more than a thread can
// have; empty where there is none.
std::string ignored_register_cap(const std::vector<std::string>& warnings);

}  // namespace mneme::nvptx

// What a cubin, and what the assembler said when it made it, tell of a kernel.
#pragma once

#include <string>
#include <vector>

#include "mneme/base/types.h"
#include "mneme/compile/code_facts.h"

namespace mneme::nvptx {

// Of a cubin with the one kernel `kernel`. Instructions are those of all code sections, 16 bytes each since sm_70, without the
// padding behind the last one: NOPs, and before them the branch to itself that ends every function. `log` is what the assembler
// wrote under -v; what is in neither is left empty.
CodeFacts read_facts(ByteSpan cubin, const std::string& log, const std::string& kernel);

// The lines of an assembler's log that warn, as they are.
std::vector<std::string> read_warnings(const std::string& log);

// The warning that a register cap for all kernels was not followed, or nothing: below what the ABI needs, or beyond what a thread
// can have.
std::string ignored_register_cap(const std::vector<std::string>& warnings);

}  // namespace mneme::nvptx

// Reads facts about a kernel from its cubin, and from what the assembler said when it made the cubin.
#pragma once

#include <string>
#include <vector>

#include "mneme/base/types.h"
#include "mneme/compile/code_facts.h"

namespace mneme::nvptx {

// The facts of a cubin whose only kernel is `kernel`. `log` is what the assembler wrote under -v. A fact that is in neither is
// left empty. Instructions, of 16 bytes each since sm_70, are counted in all code sections, without the padding at their ends:
// NOPs, and before them the branch to itself that ends every function.
CodeFacts read_facts(ByteSpan cubin, const std::string& log, const std::string& kernel);

// The lines of an assembler's log that are warnings, unchanged.
std::vector<std::string> read_warnings(const std::string& log);

// The warning that the assembler did not follow a register cap, since it was fewer than the ABI needs or more than a thread can
// have; empty where there is none.
std::string ignored_register_cap(const std::vector<std::string>& warnings);

}  // namespace mneme::nvptx

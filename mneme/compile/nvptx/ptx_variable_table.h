// The table of variables (mneme/compile/variable_table.h) in PTX that no IR is known of: a program's own, as nvcc has made it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mneme/base/status.h"

namespace mneme::nvptx {

// The PTX with the table MNEME_VARIABLE_TABLE behind the declarations of the variables, and with code that loads their addresses
// from there. At first the table has the addresses of the module's own; of a name that the PTX does not declare it has 0. What is
// in constant memory is read as global memory then: addresses of variables there become generic ones, which are the same numbers
// as those in global memory. Text that assemblers would refuse is not looked for. unsupported, with the variable: it is reached
// by an instruction of which that is not known, is declared behind code, or has its name with a parameter; or the code reaches a
// variable that is none of `names` and no text of printf ("$str"), which would be state of its own. unsupported, with the
// instruction: where one of the variables is in constant memory, and it is not known whether the instruction reads that.
Result<std::string> reach_by_table(std::string_view ptx, const std::vector<std::string>& names);

}  // namespace mneme::nvptx

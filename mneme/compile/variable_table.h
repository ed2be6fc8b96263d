// The table of variables: code that reaches a program's variables through a table of their addresses, which whoever loads the
// code into the program writes. Before that the table has the addresses that a replay has: those of the module's own variables,
// or those that they are bound to.
#pragma once

#include <llvm/IR/Module.h>

#include <string>
#include <vector>

#include "mneme/base/status.h"

namespace mneme {

// Makes the variable MNEME_VARIABLE_TABLE (mneme/abi/deployed_code.h), an array of an address for each of `names`, and has
// functions load the addresses from there. Where the module has no such variable of state the address is null. To be called
// behind prepare_module(), and before bind_globals(). Nothing is done where there are no names. unsupported, with the variable:
// its address stands in a constant of the module, or it is accessed where nothing but the constant bank can be.
Status reach_by_table(llvm::Module& module, const std::vector<std::string>& names);

}  // namespace mneme

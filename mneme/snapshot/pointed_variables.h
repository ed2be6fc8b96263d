// Which of a launch's variables pointers in memory may lead to, although no code takes their addresses: the host has asked for
// these (cudaGetSymbolAddress) and put them there. A recording has their names as an attribute of the launch, which is missing
// where there are none. A replay of IR has such variables at their recorded addresses; one of machine code cannot.
#pragma once

#include <map>
#include <set>
#include <string>

namespace mneme {

inline constexpr char kPointedVariables[] = "pointed_variables";

// Adds the attribute where there are some: their names, each behind the other with a blank between.
void put_pointed_variables(const std::set<std::string>& names, std::map<std::string, std::string>& attributes);
std::set<std::string> pointed_variables_in(const std::map<std::string, std::string>& attributes);

}  // namespace mneme

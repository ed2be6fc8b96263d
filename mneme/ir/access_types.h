// The types of elements that a kernel reads and writes through its parameters and globals.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "mneme/base/element.h"
#include "mneme/base/status.h"
#include "mneme/ir/module.h"

namespace mneme::ir {

struct AccessTypes {
  // One entry for each parameter. It is empty where the parameter is no pointer, where the accesses through it have several types
  // or one that base/element.h does not have, and where the pointer cannot be followed. Integers come as signed, since IR does
  // not tell.
  std::vector<std::optional<ElementType>> parameters;
  std::map<std::string, ElementType> globals;  // by name; those without such a type are left out
};

// Works on a copy of the module. not_found: there is no such kernel.
Result<AccessTypes> access_types(const Module& module, const std::string& kernel);

}  // namespace mneme::ir

// What a kernel takes its memory for: the types by which it reads and writes through its parameters and globals.
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
  // One for each parameter; empty where it is no pointer, where accesses are of more than one type or by none of
  // base/element.h, or where the pointer goes where it cannot be followed. Whole numbers come as signed: IR does not tell.
  std::vector<std::optional<ElementType>> parameters;
  std::map<std::string, ElementType> globals;
};

// not_found when there is no such kernel. The module is left as it is.
Result<AccessTypes> access_types(const Module& module, const std::string& kernel);

}  // namespace mneme::ir

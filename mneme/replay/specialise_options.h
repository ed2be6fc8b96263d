// SpecialiseOptions: which facts of the recorded launch the code may be compiled for. It is the section "specialise" of a
// configuration. It only names the facts; resolve_facts() (facts.h) finds their values.
#pragma once

#include <string>
#include <vector>

#include "mneme/compile/specialisation.h"

namespace mneme {

struct SpecialiseOptions {
  std::vector<std::string> arguments = {};  // that become constants: names or indices of parameters; "*" is all of them
  bool dimensions = false;                  // blockDim and gridDim become constants
  bool ranges = false;                      // indices and dimensions get the ranges that the launch has
  bool alignment = false;                   // pointer arguments are as aligned as the recorded ones
  bool no_alias = false;                    // pointer arguments alias nothing, where the recording proves it
  LaunchBounds bounds = {};

  bool empty() const { return *this == SpecialiseOptions(); }
  friend bool operator==(const SpecialiseOptions&, const SpecialiseOptions&) = default;
};

}  // namespace mneme

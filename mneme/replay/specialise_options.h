// The configuration's section "specialise": which facts of the recorded launch the code may be made for. Names only; facts.h
// finds the values.
#pragma once

#include <string>
#include <vector>

#include "mneme/compile/specialisation.h"

namespace mneme {

struct SpecialiseOptions {
  std::vector<std::string> arguments = {};  // that become constants: names or indices of parameters; "*" is all of them
  bool dimensions = false;                  // blockDim and gridDim become constants
  bool ranges = false;                      // indices and dimensions get the ranges that the launch has
  bool alignment = false;                   // of pointer arguments, as far as the recorded ones are aligned
  bool no_alias = false;                    // of pointer arguments, where the recording proves it
  LaunchBounds bounds = {};

  bool empty() const { return *this == SpecialiseOptions(); }
  friend bool operator==(const SpecialiseOptions&, const SpecialiseOptions&) = default;
};

}  // namespace mneme

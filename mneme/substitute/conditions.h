// The conditions of deployed code, looked at for one launch.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/substitute/code_loader.h"
#include "mneme/tuned/tuned_file.h"

namespace mneme {

// Why a launch is the program's own, in the order in which it is found out.
enum class KeptBy {
  architecture,
  attributes,
  shape,
  arguments,
  alignment,
  memory,
  capture,
  failure,
  // Of launches that are to be run both ways (trial.h):
  compared,  // they were: the program's own launch stands
  busy,
  not_repeatable,
  unknown_memory,
  no_room,
  capture_before,
  not_deterministic,  // the program's own code does not leave the same twice
  difference,
  slower,
  count
};
// For people: "another launch shape".
std::string_view describe(KeptBy reason);

struct ProgramLaunch {
  const void* function = nullptr;
  ProgramShape shape;
  void* const* arguments = nullptr;  // a pointer for each parameter
  void* stream = nullptr;            // the vendor's
  bool odd = false;                  // it has attributes, or arguments given in a way, that no replay has
  bool is_node = false;              // of a graph that the program builds, which runs it later
};

// As find_doubt(), of all conditions but the shape's.
std::optional<KeptBy> find_doubt_in_arguments(const TunedKernel& code, const ProgramLaunch& launch, CodeLoader& loader);
// Why the code cannot take the launch's place; nothing: it can, with the shape `becomes`. The arguments must be there
// (check_parameters()).
std::optional<KeptBy> find_doubt(const TunedKernel& code, const ProgramLaunch& launch, CodeLoader& loader, ProgramShape& becomes);

// invalid_argument: a condition is about arguments that a kernel with parameters of these sizes does not have.
Status check_parameters(const TunedKernel& code, const std::vector<uint64_t>& sizes);

}  // namespace mneme

// What the fronts of a process share.
#pragma once

#include "mneme/runtime/registry.h"
#include "mneme/substitute/allocations.h"
#include "mneme/substitute/deployed_code.h"

namespace mneme::substitute {

// Never destroyed: programs launch from destructors and exit handlers.
struct Process {
  Process(TunedFile file, std::string name, TrialOptions trials) : code(std::move(file), std::move(name), trials) {}
  DeployedCode code;
  Registry registry;
  Allocations allocations;  // of programs that were built for recording; the driver knows those of others
};
// To be set before a table is attached.
inline Process*& process() {
  static constinit Process* only = nullptr;
  return only;
}

}  // namespace mneme::substitute

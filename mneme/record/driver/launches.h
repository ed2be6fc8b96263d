// What the recorder is told of a launch, however the driver is asked for it: by a call, or by a node of a graph.
#pragma once

#include <cuda.h>

#include "mneme/record/recorder.h"

namespace mneme::driver {

// `function` is a CUfunction, or a CUkernel in its place. `extra` is null, or a list of names and values by which the program
// gives the arguments as it has packed them itself.
Launch launch_of(const void* function, Dim3 grid, Dim3 block, unsigned shared, void** parameters, void** extra);

// Takes an attribute of a launch into its description. A recording has a place for those that change what runs; others are kept
// by name. With one that a recording does not hold the launch is refused.
void take_attribute(const CUlaunchAttribute& attribute, Launch& what) noexcept;

}  // namespace mneme::driver

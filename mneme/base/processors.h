// How many processors this process may use.
#pragma once

namespace mneme {

// The processors in the affinity mask of this process, which a batch system or taskset may have narrowed. At least one.
unsigned usable_processors();

}  // namespace mneme

// How many processors this process may use.
#pragma once

namespace mneme {

// Those of its affinity mask, which a batch system or taskset may have narrowed: at least one.
unsigned usable_processors();

}  // namespace mneme

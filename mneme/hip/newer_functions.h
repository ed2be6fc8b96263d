// Functions that HIP's runtime has gained since 5.2. The headers that Mneme is built with need not have them, so that they are
// known by their names, and those with a handler by their documented arguments.
#pragma once

#include <cstdint>
#include <string_view>

#include "mneme/hip/table.h"

namespace mneme::hip {

enum class NewerTreatment {
  own,       // has a handler
  harmless,  // goes to the program's runtime, and changes nothing that Mneme keeps account of
  unseen,    // goes to the program's runtime, and Mneme does not see what it does: what is lost thereby is the reason
  refused,   // returns hipErrorNotSupported beside an interposer, for the reason
};

struct NewerFunction {
  std::string_view name;
  NewerTreatment treatment;
  std::string_view reason;  // empty for those with a handler
};

// hipLaunchKernelExC. A configuration of HIP's is one of CUDA's.
using LaunchWithConfig = hipError_t (*)(const cudaLaunchConfig_t*, const void*, void**);

// Null for a function that is not known.
const NewerFunction* find_newer_function(std::string_view name);

// The handler of the table of that index; null where the function has none.
mneme_function own_function(std::string_view name, uint32_t table);

// Why a function that no row is for is refused beside an interposer; empty where it goes to the runtime. A function that is not
// known is refused if its name says that it takes handles of modules.
std::string_view reason_for_refusal(std::string_view name);

}  // namespace mneme::hip

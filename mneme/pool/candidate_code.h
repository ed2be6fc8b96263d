// CandidateCode: what a configuration is compiled to: one or more objects, of which each recorded instance runs one. There are
// several where the code is specialised to the instances and they differ.
#pragma once

#include <vector>

#include "mneme/base/status.h"
#include "mneme/compile/compiler.h"

namespace mneme {

struct CandidateCode {
  std::vector<CompiledCode> objects;  // each once
  std::vector<uint32_t> object_of;    // for each instance, the index of its object in `objects`
  const CompiledCode& of_instance(size_t instance) const { return objects[object_of[instance]]; }
};

// As bytes for another process of the same version of Mneme.
ByteVector encode(const CandidateCode& code);
// corrupt: it is not what encode() made.
Result<CandidateCode> decode_candidate_code(ByteSpan bytes);

}  // namespace mneme

// CandidateCode: the objects of one configuration, of which each recorded instance runs one.
#pragma once

#include <vector>

#include "mneme/base/status.h"
#include "mneme/compile/compiler.h"

namespace mneme {

struct CandidateCode {
  std::vector<CompiledCode> objects;  // different ones
  std::vector<uint32_t> object_of;    // by instance: an index
  const CompiledCode& of_instance(size_t instance) const { return objects[object_of[instance]]; }
};

// For another process of the same program.
ByteVector encode(const CandidateCode& code);
// corrupt: it is not what encode() made.
Result<CandidateCode> decode_candidate_code(ByteSpan bytes);

}  // namespace mneme

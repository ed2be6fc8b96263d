// The static hash of a registered kernel: what it is called in databases and in files of deployed code.
#pragma once

#include <string>
#include <vector>

#include "mneme/base/digest.h"
#include "mneme/base/status.h"
#include "mneme/runtime/registry.h"

namespace mneme {

// The kernel's segment and those that it needs. Failures: those of RegisteredKernel::segment() and SegmentTable::closure().
Result<std::vector<const EmbeddedSegment*>> closure_of(const RegisteredKernel& kernel);
// A kernel that is linked from several segments is what all of them are.
Digest static_hash_of(const std::vector<const EmbeddedSegment*>& closure);
// Of a kernel of which there is only PTX. That is not taken apart: the kernels of one text are told apart by their names.
Digest static_hash_of_ptx(const std::string& kernel, ByteSpan ptx);

// Of any kernel that a recording can hold. Failures: those of closure_of(), and of reading the code that is loaded.
Result<Digest> static_hash_of(const RegisteredKernel& kernel);

}  // namespace mneme

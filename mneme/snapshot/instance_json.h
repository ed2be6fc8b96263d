// An instance as a JSON object, as it stands in the list of its kernel, and in version 1 in the kernel's own document. Not for
// other rooms.
#pragma once

#include "mneme/snapshot/json_cursor.h"
#include "mneme/snapshot/snapshot.h"

namespace mneme {

nlohmann::json to_json(const InstanceRecord& instance);
Status read_instance(const JsonCursor& at, const KernelRecord& kernel, InstanceRecord& out);

}  // namespace mneme

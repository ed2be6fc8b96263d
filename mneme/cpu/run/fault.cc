#include "mneme/cpu/run/fault.h"

namespace mneme::cpu {

Status Fault::status() const {
  return error(Code::device_fault, "kernel '{}', block {}, {}{}: {}", kernel, to_string(block),
               thread ? "thread " + to_string(*thread) : "one of its threads", line ? ", " + *line : "", what);
}

}  // namespace mneme::cpu

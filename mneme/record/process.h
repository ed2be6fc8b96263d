// The recorder of this process, which the hooks of every front call.
#pragma once

#include "mneme/record/recorder.h"

namespace mneme {

// It is made when the first front is attached, and never destroyed; null before that.
Recorder* recorder();
void set_recorder(Recorder* recorder);

}  // namespace mneme

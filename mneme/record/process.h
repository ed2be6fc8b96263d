// The recorder of this process, which the hooks of every front call.
#pragma once

#include "mneme/record/recorder.h"

namespace mneme {

// It is made when the first front is attached, and never destroyed; null before that.
Recorder* recorder();
void set_recorder(Recorder* recorder);

// A hook's handler, as one that counts in the report the calls that succeed: counted<&RecordingReport::allocations, on_malloc>.
template <auto kCounter, auto kHandler>
struct Counted;
template <auto kCounter, typename R, typename... A, R (*kHandler)(A...)>
struct Counted<kCounter, kHandler> {
  static R call(A... arguments) {
    const R code = kHandler(arguments...);
    RecordingReport* const report = recorder()->report();
    if (static_cast<int>(code) == 0 && report) ++(report->*kCounter);
    return code;
  }
};
template <auto kCounter, auto kHandler>
inline constexpr auto counted = &Counted<kCounter, kHandler>::call;

}  // namespace mneme

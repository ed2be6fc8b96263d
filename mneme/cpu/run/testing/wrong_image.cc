// Shared objects that the CPU device refuses, and one of an earlier version, which it takes.
#include "mneme/cpu/run/image.h"

#ifdef MNEME_TEST_VERSION
extern "C" __attribute__((visibility("default"))) const mneme_cpu_image __mneme_cpu_image = {MNEME_TEST_VERSION, 0, nullptr};
#else
extern "C" __attribute__((visibility("default"))) int unrelated = 1;
#endif

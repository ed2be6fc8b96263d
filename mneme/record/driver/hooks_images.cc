// Loading of code, as the recorder sees it.
#include "mneme/hooks/driver_images.h"
#include "mneme/record/driver/driver_front.h"

namespace mneme::driver {
namespace {

struct RecorderFront {
  static mneme_driver_function real(mneme_driver_call slot) { return front().real(slot); }
  static mneme_driver_function find(const char* name) { return front().find(name); }
  static Registry& registry() { return recorder()->registry(); }
  static void on_load() {
    if (RecordingReport* const report = recorder()->report()) ++report->loads;
  }
  static void on_unload() { recorder()->forget_kernels(); }
  static void on_module(const void* handle) { front().add_image(handle); }
  static void on_library(const void* handle) { front().add_library(handle); }
  static void on_library_unload(const void* handle) { front().forget_library(handle); }
};

}  // namespace

void forget_image(const void* handle) { DriverImages<RecorderFront>::forget(handle); }

std::vector<DriverHook> image_hooks() { return DriverImages<RecorderFront>::hooks(); }

}  // namespace mneme::driver

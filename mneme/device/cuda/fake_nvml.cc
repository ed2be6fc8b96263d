// NVML over the fake driver's state.
#include "mneme/device/cuda/fake_driver.h"

using namespace mneme::cuda;

extern "C" {

int nvmlInit_v2() { return fake_enter(__func__); }
int nvmlDeviceGetHandleByPciBusId_v2(const char* address, void** device) {
  fake_state().pci_address = address;
  *device = &fake_state();
  return fake_enter(__func__);
}
int nvmlDeviceGetClockInfo(void*, int domain, unsigned* mhz) {
  *mhz = domain == 1 ? fake_state().sm_mhz : 0;
  return fake_enter(__func__);
}
int nvmlDeviceGetCurrentClocksEventReasons(void*, unsigned long long* bits) {
  *bits = fake_state().clock_reasons;
  return fake_enter(__func__);
}

}  // extern "C"

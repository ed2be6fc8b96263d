// In the process of the test: what waits for whom.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <future>

#include "mneme/base/testing/temporary_folder.h"
#include "mneme/record/driver/driver_front.h"

namespace mneme::driver {
namespace {

using namespace std::chrono_literals;

std::atomic<bool> gone;
CUresult take_context(CUcontext) { return gone = true, CUDA_SUCCESS; }
CUresult take_device(CUdevice) { return gone = true, CUDA_SUCCESS; }

// The driver of the tests, but for what takes contexts away, behind the recorder.
class ContextsOfAProgram : public ::testing::Test {
 protected:
  void SetUp() override {
    void* library = ::dlopen(MNEME_TEST_DRIVER_FOLDER "/libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << ::dlerror();
    size_t i = 0;
#define MNEME_FIND(name) slots_[i] = real_[i] = reinterpret_cast<mneme_driver_function>(::dlsym(library, #name)), ++i;
    MNEME_DRIVER_CALLS(MNEME_FIND)
#undef MNEME_FIND
    for (mneme_driver_call slot : {MNEME_DRIVER_CALL_cuCtxDestroy_v2, MNEME_DRIVER_CALL_cuCtxDetach})
      real_[slot] = reinterpret_cast<mneme_driver_function>(&take_context);
    for (mneme_driver_call slot : {MNEME_DRIVER_CALL_cuDevicePrimaryCtxReset_v2, MNEME_DRIVER_CALL_cuDevicePrimaryCtxRelease_v2})
      real_[slot] = reinterpret_cast<mneme_driver_function>(&take_device);
    RecordingOptions options;
    options.database = folder_.path() / "database";
    Recorder::Environment environment;
    environment.patience = 1ms;
    recorder_.emplace(options, environment);
    set_recorder(&*recorder_);
    mneme_driver_table table{MNEME_DRIVER_TABLE_VERSION, MNEME_DRIVER_CALL_COUNT, slots_, real_, library};
    ASSERT_TRUE(attach_driver(table).ok());
    call<decltype(::cuDevicePrimaryCtxRetain)>(MNEME_DRIVER_CALL_cuDevicePrimaryCtxRetain, &primary_, 0);
  }
  void TearDown() override { set_recorder(nullptr); }

  template <typename F, typename... A>
  CUresult call(mneme_driver_call slot, A... arguments) {
    return reinterpret_cast<F*>(slots_[slot])(arguments...);
  }
  // Whether `take` waits for a capture that reads memory, in another thread.
  template <typename Take>
  bool waits_for_a_reading(Take take) {
    gone = false;
    EXPECT_TRUE(recorder_->gate().begin_capture());
    std::future<void> other;
    bool gone_meanwhile = false;
    {
      const Gate::Reading reading(recorder_->gate());
      other = std::async(std::launch::async, take);
      while (!recorder_->gate().disturbed() && !gone) std::this_thread::yield();  // its patience is at its end
      std::this_thread::sleep_for(20ms);
      gone_meanwhile = gone;
    }
    other.wait();
    recorder_->gate().end_capture();
    return gone && !gone_meanwhile;
  }

  const TemporaryDirectory folder_;
  mneme_driver_function real_[MNEME_DRIVER_CALL_COUNT], slots_[MNEME_DRIVER_CALL_COUNT];
  std::optional<Recorder> recorder_;
  CUcontext primary_ = nullptr;
};

TEST_F(ContextsOfAProgram, AreNotTakenAwayUnderAReading) {
  using OfContext = CUresult(CUcontext);
  using OfDevice = CUresult(CUdevice);
  CUcontext own = nullptr;
  call<CUresult(CUcontext*, unsigned, CUdevice)>(MNEME_DRIVER_CALL_cuCtxCreate_v2, &own, 0u, 0);
  EXPECT_TRUE(waits_for_a_reading([&] { call<OfContext>(MNEME_DRIVER_CALL_cuCtxDestroy_v2, own); }));
  EXPECT_TRUE(waits_for_a_reading([&] { call<OfContext>(MNEME_DRIVER_CALL_cuCtxDetach, own); }));
  EXPECT_TRUE(waits_for_a_reading([&] { call<OfDevice>(MNEME_DRIVER_CALL_cuDevicePrimaryCtxReset_v2, 0); }));
  EXPECT_TRUE(waits_for_a_reading([&] { call<OfDevice>(MNEME_DRIVER_CALL_cuDevicePrimaryCtxRelease_v2, 0); }));
}

}  // namespace
}  // namespace mneme::driver

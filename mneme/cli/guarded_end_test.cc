#include "mneme/cli/guarded_end.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace mneme::cli {
namespace {

using How = GuardedEnd::How;
std::string explained(How how, int number, Activity activity) {
  return explain({how, number, activity, GuardLimits::Seconds(0.5), ""}).to_string();
}

TEST(Explain, ALimitNamesItsOption) {
  EXPECT_EQ(
      explained(How::out_of_time, 0, Activity::compiling),
      "timeout: compiling took longer than 0.5 s and was ended: the pipeline may never end; --compile-timeout S allows more "
      "(0: no limit)");
  EXPECT_EQ(explained(How::out_of_time, 0, Activity::running),
            "timeout: the kernel's launch took longer than 0.5 s and was ended: it may never end under this configuration; "
            "--run-timeout S allows more (0: no limit)");
  EXPECT_EQ(explained(How::out_of_time, 0, Activity::loading),
            "timeout: preparing the device took longer than 0.5 s and was ended: the device or its driver may hang; "
            "--load-timeout S allows more (0: no limit)");
  EXPECT_EQ(explained(How::out_of_time, 0, Activity::timing),
            "timeout: a batch of timed launches took longer than 0.5 s and was ended, though the verified launch came back: what "
            "the kernel does may depend on more than its memory; --run-timeout S allows more (0: no limit)");
  EXPECT_EQ(explained(How::out_of_time, 0, Activity::tracking),
            "timeout: the launch that notes what the kernel accesses, to find what can be masked, took longer than 0.5 s and was "
            "ended, "
            "though the launch itself came back: --no-mask does without it, --run-timeout S allows more");
}

TEST(Explain, ACrashNamesItsActivityAndSignal) {
  EXPECT_EQ(explained(How::signalled, SIGSEGV, Activity::compiling),
            "internal: compiling ended by signal 11 (Segmentation fault): LLVM, a pass of the pipeline or a plugin crashed; "
            "shorten the pipeline to find which, or run it with --no-guard under a debugger");
  EXPECT_EQ(explained(How::signalled, SIGABRT, Activity::running),
            "device_fault: the kernel's launch ended by signal 6 (Aborted): the kernel took its process down under this "
            "configuration; run it with --no-guard under a debugger");
  EXPECT_EQ(explained(How::signalled, SIGBUS, Activity::working),
            "internal: preparing or comparing memory ended by signal 7 (Bus error); run it with --no-guard under a debugger");
}

TEST(Explain, ACrashOfALaunchIsADeviceFaultWhicheverItIs) {
  EXPECT_EQ(explained(How::signalled, SIGSEGV, Activity::timing),
            "device_fault: a batch of timed launches ended by signal 11 (Segmentation fault): the kernel took its process down "
            "under this configuration; run it with --no-guard under a debugger");
  EXPECT_EQ(explained(How::signalled, SIGSEGV, Activity::tracking),
            "device_fault: the launch that notes what the kernel accesses, to find what can be masked, ended by signal 11 "
            "(Segmentation "
            "fault); --no-mask does without it, --no-guard shows it to a debugger");
  EXPECT_EQ(explained(How::signalled, SIGSEGV, Activity::loading),
            "internal: preparing the device ended by signal 11 (Segmentation fault); run it with --no-guard under a debugger");
}

TEST(Explain, AKilledChildMayHaveRunOutOfMemory) {
  EXPECT_EQ(explained(How::signalled, SIGKILL, Activity::compiling),
            "io: compiling ended by signal 9 (Killed): somebody killed the process, or the system did because memory ran out "
            "(dmesg tells)");
}

TEST(Explain, AnExitNamesItsStatus) {
  EXPECT_EQ(explained(How::exited, 3, Activity::compiling),
            "internal: compiling ended its process with exit status 3 before there was a result");
}

}  // namespace
}  // namespace mneme::cli

#include "mneme/device/cuda/shown_devices.h"

#include <gtest/gtest.h>

#include <fstream>

#include "mneme/base/testing/temporary_folder.h"

namespace mneme::cuda {
namespace {

class ShownDevices : public ::testing::Test {
 protected:
  void make(std::initializer_list<const char*> names) const {
    for (const char* name : names) std::ofstream(folder_.path() / name) << "";
  }
  bool shown(const char* visible = nullptr, const char* job = nullptr) const {
    return shows_a_device({folder_.path(), visible, job});
  }
  const TemporaryDirectory folder_;
};

TEST_F(ShownDevices, NoFilesShowNone) {
  EXPECT_FALSE(shown());
  EXPECT_FALSE(shows_a_device({folder_.path() / "missing", nullptr, nullptr}));
  make({"nvidiactl", "nvidia-uvm", "nvidia-caps", "nvidia-uvm-tools", "nvidia", "nvidia0a"});
  EXPECT_FALSE(shown());
}

TEST_F(ShownDevices, FilesOfAGpuShowIt) {
  make({"nvidiactl", "nvidia3"});
  EXPECT_FALSE(shown()) << "without the file of its memory no program can use it";
  make({"nvidia-uvm"});
  EXPECT_TRUE(shown());
}

TEST_F(ShownDevices, WhatHidesDevicesIsADoubt) {
  make({"nvidiactl", "nvidia-uvm", "nvidia0", "nvidia1"});
  for (const char* visible : {"0", "1", "1,0", "0,GPU-1234"}) EXPECT_TRUE(shown(visible)) << visible;
  for (const char* hidden : {"", "-1", "2", "0x1", "none", "GPU-8932f937", "MIG-1", " 0", "99999999999999999999"})
    EXPECT_FALSE(shown(hidden)) << hidden;
}

TEST_F(ShownDevices, ABatchSystemSaysWhichDevicesThereAre) {
  make({"nvidiactl", "nvidia-uvm", "nvidia0"});
  EXPECT_FALSE(shown(nullptr, "17"));
  EXPECT_TRUE(shown("0", "17"));
}

}  // namespace
}  // namespace mneme::cuda

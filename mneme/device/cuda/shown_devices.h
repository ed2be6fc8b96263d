// Whether a GPU is there, as the system shows it: without the driver, whose start takes a good part of a second where no other
// process uses the GPU, and is undone when the process ends that has started it.
#pragma once

#include <string>

#include "mneme/base/file_system.h"

namespace mneme::cuda {

// What is looked at.
struct Surroundings {
  Path devices = "/dev";
  const char* visible_devices = nullptr;  // CUDA_VISIBLE_DEVICES
  const char* batch_job = nullptr;        // SLURM_JOB_ID: such a system may deny devices whose files are there

  static Surroundings of_this_process();
};

// True where programs have a GPU without a doubt: its files are there for this user, and CUDA_VISIBLE_DEVICES, where it is set,
// begins with the number of one. False says nothing: the driver is to be asked.
bool shows_a_device(const Surroundings& surroundings = Surroundings::of_this_process());

}  // namespace mneme::cuda

// The types that the sources of Recorder share. Not for other files.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>

#include "mneme/record/recorder.h"

namespace mneme {

// Everything that exists once the device is open. Destroyed in reverse order.
struct Recorder::Opened {
  int ordinal = 0;
  std::unique_ptr<Device> device;
  std::unique_ptr<AddressSpace> space;
  std::unique_ptr<Stream> stream;  // for captures
  std::shared_ptr<Database> database;
  StateCapture states;  // used by the capturing thread only
};

// Where nothing is recorded, from the opening of the device to its reset.
struct Recorder::Profiled {
  int ordinal = 0;
  std::unique_ptr<Device> device;
  std::unique_ptr<Profile> profile;  // of the device
  std::string writer;                // in the ProfileFile
  const std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  // How long after the begin the profile is told again: a tenth later each time, so that little is lost of a program that is
  // killed, and little time with telling.
  std::atomic<std::chrono::steady_clock::duration> due = std::chrono::steady_clock::duration(std::chrono::milliseconds(250));
  std::mutex telling;
};

struct Recorder::Capture {
  std::shared_ptr<const RecordableKernel> kernel;
  std::shared_ptr<Opened> opened;
  Vendor& vendor;
  StateCapture::Memory memory;
  uint64_t host_removals = 0;  // HostMemory::removals() when it was listed
  std::unique_ptr<Publication> publication;
  Recording recording;
  Selection::Claim claim{};  // refers to the kernel's counts
  bool idle = true;          // whether the device had nothing to do when it was last waited for
};

}  // namespace mneme

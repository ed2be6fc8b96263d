// The types that the sources of Recorder share. Not for other files.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>

#include "mneme/record/captured_textures.h"
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

// Of a device where nothing is recorded, from its opening to its reset.
struct Recorder::Profiled {
  std::unique_ptr<Device> device;
  std::unique_ptr<Profile> profile;
  std::string writer;  // in the ProfileFile
  std::mutex telling;
};

struct Recorder::Capture {
  std::shared_ptr<const RecordableKernel> kernel;
  std::shared_ptr<Opened> opened;
  Vendor& vendor;
  StateCapture::Memory memory{};
  CapturedTextures textures{};
  uint64_t host_removals = 0;  // HostMemory::removals() when it was listed
  std::unique_ptr<Publication> publication{};
  Recording recording{};
  Selection::Claim claim{};  // refers to the kernel's counts
  bool idle = true;          // whether the device had nothing to do when it was last waited for
};

}  // namespace mneme

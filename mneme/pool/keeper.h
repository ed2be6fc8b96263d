// Keeper: a process that has what the device workers of one device have copied there of the recorded launches, so that it
// outlives them and a worker that takes a lost one's place need not read, upload and look for a mask again. It runs nothing on
// the device.
//
//   device worker ──InstanceCopies──▶ pool ──▶ keeper; to a device worker that starts later the same
#pragma once

#include <functional>
#include <memory>

#include "mneme/device/device.h"
#include "mneme/process/channel.h"

namespace mneme {

// Keeps what it is sent, the last of each instance, until the connection closes.
void serve_keeper(Channel channel, Result<std::unique_ptr<Device>> device);

}  // namespace mneme

// Keeper: a process that holds on to the copies of recorded memory which the workers of one device have made there. The copies
// outlive the workers, so that a worker which takes the place of a lost one need not read the recording, upload it and look for a
// mask again. A keeper runs nothing on the device.
//
//   device worker ──InstanceCopies──▶ pool ──InstanceCopies──▶ keeper
//                                          ──InstanceCopies──▶ device workers that start later
#pragma once

#include <functional>
#include <memory>

#include "mneme/device/device.h"
#include "mneme/process/channel.h"

namespace mneme {

// Keeps the copies that it is sent, the latest of each instance, until the connection closes or another message comes. Copies
// that cannot be had are left out. Returns at once where `device` is a failure.
void serve_keeper(Channel channel, Result<std::unique_ptr<Device>> device);

}  // namespace mneme

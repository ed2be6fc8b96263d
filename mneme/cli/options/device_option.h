// DeviceOption: --device of the subcommands. The table of backends (mneme/device/backend.h) has the kinds that there are, and
// says what "auto" stands for.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>

#include "mneme/base/status.h"
#include "mneme/device/device.h"

namespace mneme::cli {

class DeviceOption {
 public:
  // `what` is the option's description in the help.
  void declare(CLI::App& app, const std::string& what);

  // The kind that is named; nothing under "auto".
  std::optional<DeviceKind> named() const;
  // Opens the device: of the kind that is named, or under "auto" of the first kind that opens. unavailable: there is no device of
  // the kind that is named.
  Result<std::unique_ptr<Device>> open() const;
  // The kind that is named, whether or not there is a device of it; under "auto" the first kind of which there is one. Opens
  // none.
  Result<DeviceKind> kind() const;
  // The kind of device that a program is started on which calls this vendor's runtime ("CUDA"; empty: that is not known).
  // invalid_argument: the kind that is named runs no programs of that runtime. That there is one is asked as Proof::shown has it:
  // neither is a device opened nor, where the system shows one, the driver started, which takes as long as a short program. Where
  // there is none, that is unavailable if it is named; under "auto" the program runs on the CPU device, which is said on standard
  // error with the reason.
  Result<DeviceKind> kind_for_program(std::string_view runtime) const;
  // The kind of device that code is made for; none needs to be there. "auto" is the kind that a kernel was compiled for, told
  // from its architecture ("sm_90").
  Result<DeviceKind> kind_for_code(const std::string& architecture) const;

 private:
  bool is_automatic() const;
  std::string name_ = "auto";
};

}  // namespace mneme::cli

// DeviceOption: --device of the subcommands. Which kinds there are and what "auto" stands for is the table of backends' matter
// (mneme/device/backend.h).
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "mneme/base/status.h"
#include "mneme/device/device.h"

namespace mneme::cli {

class DeviceOption {
 public:
  // `what`: what the device is for, in the words of the help.
  void declare(CLI::App& app, const std::string& what);

  // The device, opened: the one that is named, or the first that opens. unavailable: there is none of that kind.
  Result<std::unique_ptr<Device>> open() const;
  // The kind that is named, whether or not there is a device of it, or the first of which there is one. Opens none.
  Result<DeviceKind> kind() const;
  // The kind that a program is started on. A GPU is opened to see that it can be used: unavailable where it is asked for and
  // cannot; "auto" then says on standard error on what the program runs instead, and why.
  Result<DeviceKind> kind_for_program() const;
  // The kind that code is made for, which needs no device; "auto" is the kind that a kernel was compiled for, by its
  // architecture.
  Result<DeviceKind> kind_for_code(const std::string& architecture) const;

 private:
  bool is_automatic() const;
  std::string name_ = "auto";
};

}  // namespace mneme::cli

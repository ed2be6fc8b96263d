// Which recorded launch, and on which device: the options that replay, ir and their like share.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "mneme/base/digest.h"
#include "mneme/base/status.h"
#include "mneme/device/device.h"
#include "mneme/store/database.h"

namespace mneme::cli {

// One instance of a kernel.
class InstanceOption {
 public:
  void declare(CLI::App& app);
  // invalid_argument: none was named and there are several; not_found: not one that begins so. Both list those there are.
  Result<Digest> choose(const KernelDocument& document) const;

 private:
  std::string first_digits_;
};

// One or more instances of a kernel: --rid, repeated, or --all-instances.
class InstancesOption {
 public:
  void declare(CLI::App& app);
  bool several() const { return all_ || first_digits_.size() > 1; }
  // In the order they were named, each once. As InstanceOption.
  Result<std::vector<Digest>> choose(const KernelDocument& document) const;

 private:
  std::vector<std::string> first_digits_;
  bool all_ = false;
};

class DeviceOption {
 public:
  void declare(CLI::App& app, const std::string& what);
  const std::string& name() const { return name_; }  // "auto", "cuda" or "cpu"
  // unavailable: there is none of that kind.
  Result<std::unique_ptr<Device>> open() const;

 private:
  std::string name_ = "auto";
};

}  // namespace mneme::cli

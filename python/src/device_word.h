// The word by which Python names what works: a kind of device, "cuda", or "compile:gfx942" where code is made and nothing is run.
#pragma once

#include <string>

#include "mneme/compile/backend.h"
#include "mneme/device/code_image.h"

namespace mneme::python {

struct DeviceWord {
  DeviceKind kind = DeviceKind::cuda;
  std::string compile_for;  // the architecture; empty: it is a kind of device
};

// invalid_argument: it names no kind of device. unsupported: there is no compiler for the architecture.
inline Result<DeviceWord> read_device_word(const std::string& word) {
  constexpr std::string_view kCompile = "compile:";
  if (word.starts_with(kCompile)) {
    std::string architecture = word.substr(kCompile.size());
    MNEME_ASSIGN(const DeviceKind kind, kind_of_architecture(architecture));
    return DeviceWord{kind, std::move(architecture)};
  }
  MNEME_ASSIGN(const DeviceKind kind, parse_device_kind(word));
  return DeviceWord{kind, ""};
}

}  // namespace mneme::python

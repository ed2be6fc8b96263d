// A configuration as the extension holds it.
#pragma once

#include <string>

#include "mneme/replay/configuration.h"

namespace mneme::python {

struct Config {
  explicit Config(Configuration configuration);
  const Configuration value;
  const std::string text;  // its JSON: equal where the configurations are
};

}  // namespace mneme::python

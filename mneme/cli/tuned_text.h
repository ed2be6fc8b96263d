// A file of deployed code, for people.
#pragma once

#include <string>

#include "mneme/tuned/tuned_file.h"

namespace mneme::cli {

// Each kernel with its code, the launches that it is for, the conditions, and the evidence.
std::string tuned_text(const TunedFile& file, const std::string& name);

}  // namespace mneme::cli

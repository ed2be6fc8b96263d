// ProfileFile: where the processes of a program leave their profiles for `mneme profile`: a file in memory whose descriptor they
// inherit. It outlives them, and each adds to it.
#pragma once

#include "mneme/base/descriptor.h"
#include "mneme/base/status.h"
#include "mneme/snapshot/launch_profile.h"

namespace mneme {

class ProfileFile {
 public:
  // Makes an empty file, behind a new descriptor that child processes inherit. io: there is no memory for it.
  static Result<ProfileFile> create();
  int descriptor() const { return file_.number(); }
  // What all processes have left until now, added up.
  Result<LaunchProfile> sum() const;

 private:
  explicit ProfileFile(Descriptor file) : file_(std::move(file)) {}
  Descriptor file_;
};

// Adds a profile to the file behind an inherited descriptor. invalid_argument: no such file is behind it, for example because the
// program has closed it and opened another file.
Status append_profile(int descriptor, const LaunchProfile& profile);

}  // namespace mneme

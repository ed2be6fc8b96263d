// ProfileFile: where the processes of a program leave their profiles for `mneme profile`: a file in memory whose descriptor they
// inherit. It outlives them. Each process adds its profile to the file as it grows, so that one that is killed has left most of
// it.
#pragma once

#include <string>

#include "mneme/base/descriptor.h"
#include "mneme/base/status.h"
#include "mneme/snapshot/launch_profile.h"

namespace mneme {

class ProfileFile {
 public:
  // Makes an empty file, behind a new descriptor that child processes inherit. io: there is no memory for it.
  static Result<ProfileFile> create();
  int descriptor() const { return file_.number(); }
  // What all writers have told last, added up.
  Result<LaunchProfile> sum() const;

 private:
  explicit ProfileFile(Descriptor file) : file_(std::move(file)) {}
  Descriptor file_;
};

// Adds what `writer` has to tell now, in place of what it told before, to the file behind an inherited descriptor. A writer is
// any text that no other process uses. invalid_argument: no such file is behind the descriptor, for example because the program
// has closed it and opened another file.
Status append_profile(int descriptor, const std::string& writer, const LaunchProfile& profile);

}  // namespace mneme

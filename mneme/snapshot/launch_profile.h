// LaunchProfile: how often a program launched its kernels and how long they took: the result of `mneme profile`, and the format
// of its file, which docs/reference/profile.md specifies.
//
// Times are in nanoseconds. A launch that is not timed counts with the mean of those that are, so that totals are of all
// launches.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mneme/base/digest.h"
#include "mneme/base/status.h"
#include "mneme/snapshot/program_shape.h"

namespace mneme {

// Some launches, and the times of those of them that were timed.
struct TimedLaunches {
  uint64_t launches = 0, timed = 0;
  double mean = 0, min = 0, max = 0;  // zero where none was timed

  void add_time(double time);
  void add(const TimedLaunches& others);
  double total() const { return mean * static_cast<double>(launches); }
  friend bool operator==(const TimedLaunches&, const TimedLaunches&) = default;
};

struct ShapeProfile {
  ProgramShape shape;
  TimedLaunches launches;
  friend bool operator==(const ShapeProfile&, const ShapeProfile&) = default;
};

struct KernelProfile {
  std::string name;  // mangled; empty: all kernels that the program made at run time
  std::string demangled;
  std::optional<Digest> static_hash;  // nothing: the kernel cannot be recorded
  // How long its first launch took, where that includes loading its code: then it is not among the timed ones.
  std::optional<double> first;
  std::vector<ShapeProfile> shapes;  // the one with most launches first

  TimedLaunches launches() const;
  // What its launches took in all. Where only first ones have a time, each counts with `first`.
  double total() const;
  friend bool operator==(const KernelProfile&, const KernelProfile&) = default;
};

struct LaunchProfile {
  std::string clock_source;  // by the same names as in a replay's result
  std::string device_kind, device_name;
  std::vector<KernelProfile> kernels;  // the one that took most time first

  // Adds what another process of the same program tells, and puts kernels and shapes in their order.
  void add(const LaunchProfile& other);
  double total() const;
  friend bool operator==(const LaunchProfile&, const LaunchProfile&) = default;
};

// The names of the `count` kernels that can be recorded and take most time, or of all where there are fewer.
std::vector<std::string> slowest_kernels(const LaunchProfile& profile, size_t count);

std::string encode_launch_profile(const LaunchProfile& profile);
// Trusts nothing: a wrong type or a missing key is corrupt, a newer format incompatible. Messages start with `name`.
Result<LaunchProfile> decode_launch_profile(std::string_view text, const std::string& name);

}  // namespace mneme

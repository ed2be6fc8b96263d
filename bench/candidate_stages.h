// What a candidate took, stage by stage, as it is printed.
#pragma once

#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

#include "mneme/device/device.h"

namespace mneme {

inline double microseconds(Nanoseconds time) { return time.count() / 1e3; }

class CandidateStages {
 public:
  void add(const std::string& stage, Nanoseconds time) {
    if (stage == "session") return;
    if (stages_.try_emplace(stage).second) order_.push_back(stage);
    stages_[stage] += time;
  }

  // Each line is of one of `candidates` candidates, which took `total` together.
  void print(Nanoseconds total, unsigned candidates) const {
    Nanoseconds known{};
    for (const std::string& stage : order_) {
      print_line(stage, stages_.at(stage) / candidates, total / candidates);
      known += stages_.at(stage);
    }
    print_line("(rest)", (total - known) / candidates, total / candidates);
    print_line("a candidate", total / candidates, total / candidates);
  }

  static void print_line(const std::string& name, Nanoseconds time, Nanoseconds candidate) {
    fmt::print("  {:<44} {:>10.1f} us  {:>5.1f} %\n", name, microseconds(time), 100 * (time / candidate));
  }

 private:
  std::map<std::string, Nanoseconds> stages_;
  std::vector<std::string> order_;
};

}  // namespace mneme

// What `mneme doctor` finds on this machine: what Mneme needs or can use, whether it is there, and what mends it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace mneme::cli {

enum class Health {
  good,
  absent,  // Mneme works without it; the detail says what does not
  broken,  // what was asked about does not work
};
std::string_view to_string(Health health);

struct Finding {
  std::string what;  // "NVIDIA driver"
  Health health = Health::good;
  std::string detail;
  std::string remedy;  // a command, or what to do; empty where nothing needs mending
  friend bool operator==(const Finding&, const Finding&) = default;
};

enum class WantedDevice { any, cuda };

// In the order in which they are told. Opens the GPU, in a child process with a limit of time, and changes nothing.
std::vector<Finding> diagnose(WantedDevice wanted);

// Parts of it. `absent_gpu` is what a GPU that is not there is: absent, or broken where one is wanted.
std::vector<Finding> diagnose_installation();
std::vector<Finding> diagnose_system();
std::vector<Finding> diagnose_gpu(Health absent_gpu);
std::vector<Finding> diagnose_tools();
std::vector<Finding> diagnose_python();

bool is_sound(const std::vector<Finding>& findings);  // none is broken
std::string format_findings(const std::vector<Finding>& findings);
nlohmann::json to_json(const Finding& finding);

}  // namespace mneme::cli

// Diagnosis: what `mneme doctor` finds on this machine. It looks for everything that Mneme needs or can use, and says whether it
// is there and what to do where it is not.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace mneme::cli {

enum class Health {
  good,
  absent,  // it is not there; Mneme works without it, and the detail says what cannot be done
  broken,  // it is needed, or was asked about, and does not work
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

// Looks at everything, and returns the findings in the order in which they are shown. Opens the GPU in a child process with a
// limit of time. Changes nothing.
std::vector<Finding> diagnose(WantedDevice wanted);

// The parts of diagnose(). `absent_gpu` is the health of a GPU that is not there: absent, or broken where one is wanted.
std::vector<Finding> diagnose_installation();
std::vector<Finding> diagnose_system();
std::vector<Finding> diagnose_gpu(Health absent_gpu);
std::vector<Finding> diagnose_amd_gpu();  // empty where Mneme was built without HIP
std::vector<Finding> diagnose_tools();
std::vector<Finding> diagnose_python();

bool is_sound(const std::vector<Finding>& findings);  // none is broken
std::string format_findings(const std::vector<Finding>& findings);
nlohmann::json to_json(const Finding& finding);

}  // namespace mneme::cli

// Explaining: what each single thing of a found configuration is worth, and what stands for it in a program's source or build
// (docs/guide/to-your-program.md). Each is taken back alone, and what is left is verified and measured in turn with the whole
// configuration and with the launch as recorded.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "mneme/deploy/found.h"
#include "mneme/device/device.h"
#include "mneme/snapshot/snapshot.h"

namespace mneme {

// One thing that a configuration changes.
struct Ingredient {
  std::string key;        // the member of the configuration: "block", "specialise.no_alias", "assembler.max_registers"
  std::string in_source;  // what a person writes for it
  Configuration without;  // the configuration with this taken back
};
// All of a configuration, each alone. `no_alias` are the pointers of which that was proven.
std::vector<Ingredient> ingredients_of(const Configuration& configuration, const KernelRecord& kernel,
                                       const InstanceRecord& instance, const std::vector<std::string>& no_alias);

struct ExplainedIngredient {
  std::string key, in_source;
  Status failure;               // why it was not measured; ok: what is left without it is right
  SpeedUp speed_up;             // of the whole configuration over the one without it
  std::optional<double> share;  // of the logarithm of the whole gain; nothing where there is none
};

struct Explanation {
  Path folder;
  std::string kernel;  // demangled
  Digest instance;
  std::string device;                            // its name
  Status failure;                                // why there is nothing to explain
  SpeedUp speed_up;                              // of the whole configuration over the launch as recorded
  std::vector<ExplainedIngredient> ingredients;  // those that are worth most first, then those that were not measured
};

// For each instance that was found on. Failures are those of Database::open() and Database::load_kernel(), and device_fault; all
// others are in the result. `progress` is called with what is measured next.
Result<std::vector<Explanation>> explain(const FoundConfiguration& found, Device& device,
                                         const std::function<void(const std::string&)>& progress = {});

// "add(float*), 2a9e…: 1.532 times as fast (…)", and a line for each ingredient.
std::string describe(const Explanation& explanation);
// What `mneme deploy --explain` leaves in the folder, explained.json.
nlohmann::json to_json(const std::vector<Explanation>& explanations, const Configuration& configuration);

}  // namespace mneme

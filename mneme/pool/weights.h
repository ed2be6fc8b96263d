// How the times of several instances of a kernel are added to one time: by equal weights, or as often as the program launched
// each.
//
// Weights add up to the number of instances, so that a time is as long as one run of each whatever the weights are, and is their
// plain sum where all were launched equally often.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/snapshot/codec.h"

namespace mneme {

enum class WeighedBy {
  program,  // how often the program launched the instance's shape
  equal,    // each counts the same
};
std::string_view to_string(WeighedBy by);
std::optional<WeighedBy> parse_weighed_by(std::string_view name);

struct Weights {
  WeighedBy by = WeighedBy::equal;
  std::vector<double> of;  // one for each instance, in their order
  // Where nothing was asked for and these are equal: why the program's cannot be had. Empty otherwise.
  std::string why_equal;

  // PoolOptions::weights: none where each is 1.
  std::vector<double> of_pool() const { return by == WeighedBy::program ? of : std::vector<double>(); }
  friend bool operator==(const Weights&, const Weights&) = default;
};

// The weights by which the program weighs the instances: each has the launches of its shape (InstanceRecord::shape_launches),
// which instances of one shape share. not_found: it is not known of one how often that was.
Result<std::vector<double>> weights_of_program(std::span<const InstanceRecord> instances);

// The weights that are `asked` for; where nothing is asked, the program's if they are known. Of one instance they are equal, and
// there is nothing to say of it. Failures: those of weights_of_program(), where the program's are asked for.
Result<Weights> choose_weights(std::optional<WeighedBy> asked, std::span<const InstanceRecord> instances);
// The same of instances of the kernel, by their dynamic hashes. not_found: the kernel has none with such a hash, too.
Result<Weights> choose_weights(std::optional<WeighedBy> asked, const KernelDocument& kernel, std::span<const Digest> instances);

// invalid_argument: there is one for each instance neither, nor none at all; or one is not a finite number above 0.
Status check_weights(std::span<const double> weights, size_t instances);

// "2 instances, weighed as the program launched them, 1.5 : 0.5", "2 instances, weighed equally: …" with why; empty for one.
std::string describe(const Weights& weights);

// {"by": "program", "of": [1.5, 0.5]}, with "why_equal" where there is a reason.
nlohmann::json to_json(const Weights& weights);
// Of so many instances. corrupt, beginning with "'weights'": it is not what to_json() wrote.
Result<Weights> weights_from_json(const nlohmann::json& json, size_t instances);

}  // namespace mneme

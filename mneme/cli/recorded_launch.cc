#include "mneme/cli/recorded_launch.h"

#include <algorithm>

#include "mneme/base/activity.h"
#include "mneme/base/shown.h"
#include "mneme/cli/values.h"

namespace mneme::cli {
namespace {

// The only one that begins so.
Result<Digest> choose_instance(const KernelDocument& document, const std::string& first_digits) {
  std::vector<const InstanceRecord*> matching;
  std::string all;
  const std::string kernel = shown(document.kernel.demangled);
  for (const InstanceRecord& instance : document.instances) {
    if (instance.dynamic_hash.hex().starts_with(first_digits)) matching.push_back(&instance);
    all += fmt::format("\n  {}  grid {}, block {}, {}", instance.dynamic_hash.hex(), instance.grid, instance.block,
                       instance.state_bytes);
  }
  if (matching.size() == 1) return matching[0]->dynamic_hash;
  if (first_digits.empty())
    return error(Code::invalid_argument, "{} has {} instances: choose one with -rid{}", kernel, document.instances.size(), all);
  const std::string matches = matching.empty() ? fmt::format("no instance of {} begins", kernel)
                                               : fmt::format("{} instances of {} begin", matching.size(), kernel);
  return error(Code::not_found, "{} with '{}'; there are{}", matches, shown(first_digits), all);
}

}  // namespace

void InstanceOption::declare(CLI::App& app) {
  app.add_option("--rid,--record-id", first_digits_,
                 "the recorded instance: a dynamic hash, or its first digits (default: the only one)")
      ->transform(hash_digits());
}

Result<Digest> InstanceOption::choose(const KernelDocument& document) const { return choose_instance(document, first_digits_); }

void InstancesOption::declare(CLI::App& app) {
  auto* some = app.add_option("--rid,--record-id", first_digits_,
                              "the recorded instance: a dynamic hash, or its first digits (default: the only one). May be "
                              "repeated: right is what is right on each")
                   ->allow_extra_args(false)
                   ->take_all()
                   ->transform(hash_digits())
                   ->type_name("TEXT");
  app.add_flag("--all-instances", all_, "every recorded instance of the kernel: right is what is right on all")->excludes(some);
}

Result<std::vector<Digest>> InstancesOption::choose(const KernelDocument& document) const {
  std::vector<Digest> chosen;
  if (all_) {
    for (const InstanceRecord& instance : document.instances) chosen.push_back(instance.dynamic_hash);
    return chosen;
  }
  for (const std::string& first_digits : first_digits_.empty() ? std::vector<std::string>{""} : first_digits_) {
    MNEME_ASSIGN(Digest digest, choose_instance(document, first_digits));
    if (std::find(chosen.begin(), chosen.end(), digest) == chosen.end()) chosen.push_back(digest);
  }
  return chosen;
}

void DeviceOption::declare(CLI::App& app, const std::string& what) {
  app.add_option("--device", name_, what)->check(CLI::IsMember({"auto", "cuda", "cpu"}))->capture_default_str();
}

Result<std::unique_ptr<Device>> DeviceOption::open() const {
  ActivityScope opening(Activity::loading);
  if (name_ == "auto") return Device::open_best();
  MNEME_ASSIGN(DeviceKind kind, parse_device_kind(name_));
  return Device::open(kind);
}

}  // namespace mneme::cli

#include "mneme/cli/recorded_launch.h"

namespace mneme::cli {

void InstanceOption::declare(CLI::App& app) {
  app.add_option("--rid,--record-id", first_digits_,
                 "the recorded instance: a dynamic hash, or its first digits (default: the only one)");
}

Result<Digest> InstanceOption::choose(const KernelDocument& document) const {
  std::vector<const InstanceRecord*> matching;
  std::string all;
  for (const InstanceRecord& instance : document.instances) {
    if (instance.dynamic_hash.hex().starts_with(first_digits_)) matching.push_back(&instance);
    all += fmt::format("\n  {}  grid {}, block {}, {}", instance.dynamic_hash.hex(), instance.grid, instance.block,
                       instance.state_bytes);
  }
  if (matching.size() == 1) return matching[0]->dynamic_hash;
  if (first_digits_.empty())
    return error(Code::invalid_argument, "{} has {} instances: choose one with -rid{}", document.kernel.demangled,
                 document.instances.size(), all);
  return error(Code::not_found, "{} instances of {} begin with '{}'; there are{}", matching.size(), document.kernel.demangled,
               first_digits_, all);
}

void DeviceOption::declare(CLI::App& app, const std::string& what) {
  app.add_option("--device", name_, what)->check(CLI::IsMember({"auto", "cuda", "cpu"}))->capture_default_str();
}

Result<std::unique_ptr<Device>> DeviceOption::open() const {
  if (name_ == "auto") return Device::open_best();
  MNEME_ASSIGN(DeviceKind kind, parse_device_kind(name_));
  return Device::open(kind);
}

}  // namespace mneme::cli

#include "mneme/cli/options/device_option.h"

#include <utility>

#include "mneme/base/activity.h"
#include "mneme/base/log.h"
#include "mneme/compile/backend.h"
#include "mneme/device/backend.h"

namespace mneme::cli {
namespace {

constexpr char kAutomatic[] = "auto";

// That nothing for a GPU is installed is usual, and said in three words, of the first kind alone; anything else is to be known.
void tell(const std::vector<PassedOver>& passed, DeviceKind taken) {
  bool told = false;
  for (const PassedOver& one : passed) {
    const std::string& reason = one.reason.message();
    const std::string_view why = one.missing ? backend_of(one.kind).missing : reason;
    if (!one.missing || !std::exchange(told, true)) log::info("{}: running on the {}", why, backend_of(taken).title);
    if (one.missing) log::debug("{}", reason);
  }
}

}  // namespace

void DeviceOption::declare(CLI::App& app, const std::string& what) {
  std::vector<std::string> names = user_device_names();
  names.insert(names.begin(), kAutomatic);
  app.add_option("--device", name_, what)->check(CLI::IsMember(names))->capture_default_str();
}

bool DeviceOption::is_automatic() const { return name_ == kAutomatic; }

std::optional<DeviceKind> DeviceOption::named() const {
  if (is_automatic()) return std::nullopt;
  const auto kind = parse_device_kind(name_);
  return kind.ok() ? std::optional(*kind) : std::nullopt;
}

Result<std::unique_ptr<Device>> DeviceOption::open() const {
  ActivityScope opening(Activity::loading);
  if (is_automatic()) return Device::open_best();
  MNEME_ASSIGN(DeviceKind kind, parse_device_kind(name_));
  return Device::open(kind);
}

Result<DeviceKind> DeviceOption::kind() const {
  if (!is_automatic()) return parse_device_kind(name_);
  MNEME_ASSIGN(const AutomaticDevice chosen, choose_automatically(Proof::counted));
  return chosen.kind;
}

Result<DeviceKind> DeviceOption::kind_for_program(std::string_view runtime) const {
  if (!is_automatic()) {
    MNEME_ASSIGN(const DeviceKind kind, parse_device_kind(name_));
    if (!runs_programs_of(backend_of(kind), runtime))
      return error(Code::invalid_argument, "--device {}: the program calls the {} runtime, which has no {}: --device cpu", name_,
                   runtime, backend_of(kind).title);
    if (backend_of(kind).hardware != Hardware::own) return kind;
    MNEME_TRY(check_shown(kind));
    return kind;
  }
  MNEME_ASSIGN(const AutomaticDevice chosen, choose_automatically(Proof::shown, backends(), runtime));
  tell(chosen.passed, chosen.kind);
  return chosen.kind;
}

Result<DeviceKind> DeviceOption::kind_for_code(const std::string& architecture) const {
  return is_automatic() ? kind_of_architecture(architecture) : parse_device_kind(name_);
}

}  // namespace mneme::cli

#include "mneme/device/backend.h"

#include <algorithm>

#include "mneme/device/device_count.h"

namespace mneme {
namespace {

// Null where no row is of the kind.
const Backend* find_backend(DeviceKind kind) {
  const std::span<const Backend> table = backends();
  const auto found = std::ranges::find(table, kind, &Backend::kind);
  return found == table.end() ? nullptr : &*found;
}

std::string registered_names() {
  std::vector<std::string_view> names;
  for (const Backend& backend : backends()) names.push_back(backend.name);
  return fmt::format("{} and {}", fmt::join(names.begin(), names.end() - 1, ", "), names.back());
}

// Whether a row gives the proof; what it opens for it is kept.
Status prove(const Backend& backend, Proof proof, std::unique_ptr<Device>& device) {
  if (proof == Proof::opened) {
    MNEME_ASSIGN(device, backend.open(0));
    return {};
  }
  if (proof == Proof::shown && backend.is_shown && backend.is_shown()) return {};
  MNEME_ASSIGN(const int count, backend.count());
  return count > 0 ? Status() : error(Code::unavailable, "there is no {} here", backend.title);
}

}  // namespace

std::string_view to_string(DeviceKind kind) {
  const Backend* backend = find_backend(kind);
  return backend ? backend->name : "unknown";
}

Result<DeviceKind> parse_device_kind(std::string_view text) {
  for (const Backend& backend : backends())
    if (backend.name == text) return backend.kind;
  return error(Code::invalid_argument, "'{}' is no kind of device: the kinds are {}", text, registered_names());
}

const Backend& backend_of(DeviceKind kind) {
  const Backend* backend = find_backend(kind);
  return backend ? *backend : *find_backend(DeviceKind::fake);
}

std::vector<std::string> user_device_names() {
  std::vector<std::string> names;
  for (const Backend& backend : backends())
    if (backend.audience == Audience::users) names.emplace_back(backend.name);
  return names;
}

Result<int> count_devices(DeviceKind kind) {
  const Backend* backend = find_backend(kind);
  if (!backend) return error(Code::invalid_argument, "counting devices: {} is no kind of device", static_cast<int>(kind));
  return backend->count();
}

Status check_shown(DeviceKind kind) {
  const Backend& backend = backend_of(kind);
  MNEME_TRY(backend.find());
  std::unique_ptr<Device> none;
  return prove(backend, Proof::shown, none);
}

Result<std::unique_ptr<Device>> Device::open(DeviceKind kind, int ordinal) {
  const Backend* backend = find_backend(kind);
  if (!backend)
    return error(Code::invalid_argument, "opening device {}: {} is no kind of device", ordinal, static_cast<int>(kind));
  return backend->open(ordinal);
}

Result<std::unique_ptr<Device>> Device::open_best() {
  MNEME_ASSIGN(AutomaticDevice chosen, choose_automatically(Proof::opened));
  return std::move(chosen.device);
}

bool runs_programs_of(const Backend& backend, std::string_view runtime) {
  return runtime.empty() || backend.runtime.empty() || backend.runtime == runtime;
}

Result<AutomaticDevice> choose_automatically(Proof proof, std::span<const Backend> table, std::string_view runtime) {
  AutomaticDevice chosen{};
  for (const Backend& backend : table) {
    if (backend.audience != Audience::users || !runs_programs_of(backend, runtime)) continue;
    chosen.kind = backend.kind;
    Status status = backend.find();
    const bool missing = !status.ok();
    if (!missing) status = prove(backend, proof, chosen.device);
    if (status.ok()) return chosen;
    chosen.passed.push_back({backend.kind, missing, std::move(status)});
  }
  std::string reasons;
  for (const PassedOver& passed : chosen.passed)
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", to_string(passed.kind), passed.reason.message());
  return error(Code::unavailable, "opening the best device: none opens ({})", reasons);
}

}  // namespace mneme

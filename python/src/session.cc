// Session: one recorded launch on a device of this process.
#include "mneme/replay/session.h"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "bind.h"
#include "config.h"
#include "device_word.h"
#include "errors.h"
#include "mneme/device/backend.h"
#include "mneme/device/device_count.h"
#include "mneme/memory/recorded_addresses.h"
#include "mneme/pool/conclusion.h"
#include "mneme/replay/code_level.h"
#include "mneme/replay/device_knobs.h"
#include "mneme/verify/buffers.h"

namespace mneme::python {
namespace nb = nanobind;

namespace {

class PreparedSession {
 public:
  static Result<std::unique_ptr<PreparedSession>> prepare(std::shared_ptr<Database> database, const KernelRecord& kernel,
                                                          const InstanceRecord& instance, DeviceKind kind, int ordinal,
                                                          bool cache) {
    std::unique_ptr<PreparedSession> prepared(new PreparedSession);
    prepared->database_ = std::move(database);
    MNEME_ASSIGN(prepared->device_, Device::open(kind, ordinal));
    MNEME_ASSIGN(prepared->session_,
                 Session::prepare(*prepared->database_, kernel.static_hash, instance.dynamic_hash, *prepared->device_));
    if (cache) MNEME_TRY(prepared->use_cache());
    return prepared;
  }

  PoolResult replay(const Config& config) {
    PoolResult result = pool_result_of(session_->replay(config.value));
    result.configuration = config.value;
    return result;
  }
  const std::string& device() const { return device_->properties().name; }

  void close() {
    session_.reset();
    device_.reset();
  }
  // In a child that this process has forked nothing of it works, its end least of all.
  void abandon() {
    [[maybe_unused]] auto* session = session_.release();
    [[maybe_unused]] auto* device = device_.release();
  }
  bool open() const { return session_ != nullptr; }

 private:
  PreparedSession() = default;

  // Without a place for a cache everything is compiled.
  Status use_cache() {
    auto place = CachePlace::from_environment();
    if (place.ok())
      session_->use_cache(std::make_shared<DiskCache>(std::move(*place)));
    else if (place.status().code() != Code::not_found)
      return place.status();
    return {};
  }

  std::shared_ptr<Database> database_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Session> session_;
};

void check_open(const PreparedSession& session) {
  if (!session.open()) raise(error(Code::invalid_argument, "replaying: the session is closed"));
}

int count(const std::string& kind) {
  const DeviceKind parsed = unwrap(parse_device_kind(kind));
  auto counted = [&] {
    nb::gil_scoped_release release;
    return count_devices(parsed);
  }();
  return unwrap(std::move(counted));
}

std::string automatic_kind() {
  auto chosen = [] {
    nb::gil_scoped_release release;
    return choose_automatically(Proof::counted);
  }();
  return std::string(to_string(unwrap(std::move(chosen)).kind));
}

Status check_tolerances(const Database& database, const KernelRecord& kernel, const InstanceRecord& instance,
                        const Configuration& configuration) {
  MNEME_ASSIGN(auto recorded, database.load_instance(kernel.static_hash, instance.dynamic_hash));
  MNEME_ASSIGN(const MemoryPlan plan, plan_memory(kernel, recorded.instance, recorded.prologue, recorded.epilogue));
  return resolve_tolerances(configuration.tolerance, kernel, recorded.instance, plan).status();
}

}  // namespace

void bind_session(nb::module_& module) {
  nb::class_<PreparedSession>(module, "Session", "One recorded launch on a device of this process. Used by one thread at a time.")
      .def_static(
          "prepare",
          [](std::shared_ptr<Database> database, const KernelDocument& kernel, const InstanceRecord& instance,
             const std::string& kind, int ordinal, bool cache) {
            const DeviceKind parsed = unwrap(parse_device_kind(kind));
            auto prepared = [&] {
              nb::gil_scoped_release release;
              return PreparedSession::prepare(std::move(database), kernel.kernel, instance, parsed, ordinal, cache);
            }();
            return unwrap(std::move(prepared));
          },
          nb::arg("database"), nb::arg("kernel"), nb::arg("instance"), nb::kw_only(), nb::arg("kind"), nb::arg("ordinal"),
          nb::arg("cache"))
      .def(
          "replay",
          [](PreparedSession& self, const Config& config) {
            check_open(self);
            nb::gil_scoped_release release;
            return self.replay(config);
          },
          nb::arg("configuration"))
      .def_prop_ro("device",
                   [](const PreparedSession& self) {
                     check_open(self);
                     return self.device();
                   })
      .def("close", &PreparedSession::close, nb::call_guard<nb::gil_scoped_release>())
      .def("abandon", &PreparedSession::abandon, "In a forked child: lets go of it without ending it.");
  nb::class_<HeldAddresses>(module, "HeldAddresses", "Addresses of this process that are kept free for a session.")
      .def("release", &HeldAddresses::release, "Holds nothing from now on.");
  module.def(
      "hold_addresses",
      [](const Database& database, const KernelDocument& kernel, const InstanceRecord& instance) {
        nb::gil_scoped_release release;
        return hold_recorded_addresses(database, kernel.kernel.static_hash, {&instance.dynamic_hash, 1});
      },
      nb::arg("database"), nb::arg("kernel"), nb::arg("instance"),
      "Keeps the addresses of a recorded launch free, until a session takes them: called before the driver is started.");
  module.def(
      "check_knobs",
      [](const Config& config, const std::string& kind) {
        check(check_knobs(config.value, unwrap(read_device_word(kind)).kind));
      },
      nb::arg("configuration"), nb::arg("kind"),
      "Raises where a configuration has a knob that the kind of device has no use for.");
  module.def(
      "check_code",
      [](const KernelDocument& kernel, const Config& config, const std::string& kind) {
        check(check_device(kernel.kernel, unwrap(read_device_word(kind)).kind));
        check(check_code_level(config.value, kernel.kernel));
      },
      nb::arg("kernel"), nb::arg("configuration"), nb::arg("kind"),
      "Raises where a kernel without IR does not run on the kind of device, or its code lacks what a configuration changes.");
  module.def(
      "check_tolerances",
      [](const Database& database, const KernelDocument& kernel, const InstanceRecord& instance, const Config& config) {
        Status status = [&] {
          nb::gil_scoped_release release;
          return check_tolerances(database, kernel.kernel, instance, config.value);
        }();
        check(status);
      },
      nb::arg("database"), nb::arg("kernel"), nb::arg("instance"), nb::arg("configuration"),
      "Raises where a configuration's tolerances are not for the memory of an instance.");
  module.def("count_devices", &count, nb::arg("kind"), "How many devices of a kind there are; opens none.");
  module.def("device_kinds", &user_device_names, "The kinds of devices that there may be.");
  module.def("automatic_kind", &automatic_kind, "The kind that stands where none is named; opens no device.");
}

}  // namespace mneme::python

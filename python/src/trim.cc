// Trimming: recorded launches lose the memory that they do not touch, in this process.
#include "mneme/replay/trim.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind.h"
#include "errors.h"

namespace mneme::python {
namespace nb = nanobind;

namespace {

// The database is opened anew, so that it may write.
Result<Trimmed> trim_one(const std::string& folder, const Digest& static_hash, const Digest& dynamic_hash,
                         const std::string& kind, int ordinal, bool dry_run) {
  MNEME_ASSIGN(Database database, dry_run ? Database::open(folder) : Database::create(folder));
  MNEME_ASSIGN(const DeviceKind parsed, parse_device_kind(kind));
  MNEME_ASSIGN(const auto device, Device::open(parsed, ordinal));
  return trim(database, static_hash, dynamic_hash, *device, dry_run ? Deed::tell : Deed::remove);
}

}  // namespace

void bind_trim(nb::module_& module) {
  nb::class_<Trimmed>(module, "Trimmed", "What trimming one instance has come to.")
      .def_prop_ro("before", [](const Trimmed& self) { return self.before.hex(); })
      .def_prop_ro("after", [](const Trimmed& self) { return self.after.hex(); })
      .def_ro("pages", &Trimmed::pages)
      .def_ro("all_pages", &Trimmed::all_pages)
      .def_prop_ro("bytes", [](const Trimmed& self) { return self.bytes.count; })
      .def_prop_ro("stored", [](const Trimmed& self) { return self.stored.count; })
      .def_prop_ro("stored_now", [](const Trimmed& self) { return self.stored_now.count; })
      .def_ro("left", &Trimmed::left);
  module.def(
      "trim",
      [](const std::string& folder, const std::string& static_hash, const std::string& dynamic_hash, const std::string& kind,
         int ordinal, bool dry_run) {
        const Digest kernel = unwrap(Digest::from_hex(static_hash)), instance = unwrap(Digest::from_hex(dynamic_hash));
        auto trimmed = [&] {
          nb::gil_scoped_release release;
          return trim_one(folder, kernel, instance, kind, ordinal, dry_run);
        }();
        return unwrap(std::move(trimmed));
      },
      nb::arg("database"), nb::arg("static_hash"), nb::arg("dynamic_hash"), nb::kw_only(), nb::arg("kind"), nb::arg("ordinal"),
      nb::arg("dry_run"), "Drops the pages of one instance that its launch does not touch, proven by a replay.");
}

}  // namespace mneme::python

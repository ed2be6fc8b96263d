// Programs: one recorded launch as an executable that needs nothing of Mneme.
#include <nanobind/stl/string.h>

#include "bind.h"
#include "config.h"
#include "errors.h"
#include "mneme/base/code_folder.h"
#include "mneme/base/output_file.h"
#include "mneme/replay/configuration_file.h"
#include "mneme/reproducer/make_program.h"

namespace mneme::python {
namespace nb = nanobind;

namespace {

Result<MadeProgram> make(const Database& database, const Digest& static_hash, const Digest& dynamic_hash,
                         const std::string& output, const Configuration& configuration, const std::string& kind, int ordinal,
                         bool whole) {
  MNEME_TRY(check_output_file(output));
  MNEME_TRY(check_files(configuration, FileSystem::posix()));
  MNEME_ASSIGN(const DeviceKind parsed, parse_device_kind(kind));
  MNEME_ASSIGN(const auto device, Device::open(parsed, ordinal));
  return make_program({database, static_hash, dynamic_hash, configuration, whole ? ProgramMemory::whole : ProgramMemory::touched,
                       code_folder() / "mneme" / "program", output},
                      *device);
}

}  // namespace

void bind_program(nb::module_& module) {
  nb::class_<MadeProgram>(module, "MadeProgram", "What an exported program is, and what it found when it was run once.")
      .def_ro("verified", &MadeProgram::verified)
      .def_prop_ro("size", [](const MadeProgram& self) { return self.size.count; })
      .def_prop_ro("memory", [](const MadeProgram& self) { return self.description.memory.count; })
      .def_prop_ro("left_out", [](const MadeProgram& self) { return self.description.left_out.count; })
      .def_prop_ro("kept", [](const MadeProgram& self) { return self.description.kept; });
  module.def(
      "make_program",
      [](const Database& database, const std::string& static_hash, const std::string& dynamic_hash, const std::string& output,
         const Config& config, const std::string& kind, int ordinal, bool whole) {
        const Digest kernel = unwrap(Digest::from_hex(static_hash)), instance = unwrap(Digest::from_hex(dynamic_hash));
        auto made = [&] {
          nb::gil_scoped_release release;
          return make(database, kernel, instance, output, config.value, kind, ordinal, whole);
        }();
        return unwrap(std::move(made));
      },
      nb::arg("database"), nb::arg("static_hash"), nb::arg("dynamic_hash"), nb::arg("output"), nb::kw_only(),
      nb::arg("configuration"), nb::arg("kind"), nb::arg("ordinal"), nb::arg("whole"),
      "Writes one launch as a program, and runs it once.");
}

}  // namespace mneme::python

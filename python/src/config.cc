// Configuration: made from Python's values by its JSON codec, which says what is wrong with them.
#include "config.h"

#include <nanobind/operators.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "bind.h"
#include "errors.h"
#include "json.h"
#include "mneme/pool/pool_result.h"
#include "mneme/replay/configuration_file.h"
#include "mneme/replay/knobs.h"
#include "mneme/snapshot/tolerance.h"

namespace mneme::python {
namespace nb = nanobind;
using Json = nlohmann::json;

namespace {

Config from_json(const Json& json) { return Config(unwrap(configuration_from_json(json))); }

Config from_text(const std::string& text) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) raise(error(Code::invalid_argument, "configuration: the text is no JSON"));
  return from_json(json);
}

nb::object tolerance(const std::string& text) {
  const BufferTolerance parsed = unwrap(parse_buffer_tolerance(text));
  Configuration one;
  one.tolerance.push_back(parsed);
  return python_of(to_json(one)["tolerance"][0]);
}

Config change(const Config& configuration, const std::vector<std::pair<std::string, std::vector<std::string>>>& changes) {
  std::vector<KnobChange> known;
  for (const auto& [name, texts] : changes) {
    const Knob* knob = find_knob(name);
    if (!knob) raise(error(Code::invalid_argument, "there is no option {}", name));
    known.push_back({knob, texts});
    if (Status status = check_change(known.back()); !status.ok())
      raise(knob->form == Knob::Form::setting ? status : status.with_context(name));
  }
  return Config(unwrap(changed(configuration.value, known, FileSystem::posix())));
}

// Of the command line: names, heading, what it says, the name of its value (empty: takes none), whether each text counts, and
// former names, which are taken and not shown.
using KnobText = std::tuple<std::vector<std::string>, std::string, std::string, std::string, bool, std::vector<std::string>>;
std::vector<KnobText> all_knobs() {
  std::vector<KnobText> all;
  for (const Knob& knob : knobs())
    all.emplace_back(knob.names, knob.group, knob.what, knob.value_name(), knob.repeats(), knob.former_names);
  return all;
}

}  // namespace

Config::Config(Configuration configuration) : value(std::move(configuration)), text(to_json(value).dump()) {}

void bind_config(nb::module_& module) {
  nb::class_<Config>(module, "Configuration", "A configuration of a replay, as the C++ API has it. Immutable.")
      .def_static(
          "from_dict", [](nb::handle members) { return from_json(json_of(members, "configuration")); }, nb::arg("members").none())
      .def_static("from_json", &from_text)
      .def_static(
          "read", [](const std::string& path) { return Config(unwrap(read_configuration(path, FileSystem::posix()))); },
          nb::arg("path"), "What a file has: a configuration's JSON, or an object that has it under 'configuration'.")
      .def("changed", &change, nb::arg("changes"),
           "With knobs changed: their names on a command line, as '--block-dim-x' or '--set', and the texts given there.")
      .def(
          "to_dict", [](const Config& self) { return python_of(to_json(self.value)); },
          nb::sig("def to_dict(self) -> dict[str, typing.Any]"))
      .def("to_json", [](const Config& self) { return to_json(self.value).dump(2); })
      .def_prop_ro("digest", [](const Config& self) { return whole_digest(self.value).hex(); })
      .def(
          "__eq__", [](const Config& self, const Config& other) { return self.text == other.text; }, nb::is_operator(),
          nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def("__hash__", [](const Config& self) { return std::hash<std::string>()(self.text); });
  module.def("knobs", &all_knobs,
             "The options that change a configuration: (names, heading, what it is, name of the value, whether it repeats, "
             "former names).");
  module.def("former_names", &former_names,
             "Paths of members as older versions called them, each with the path that it has now: 'verdict.mask'.");
  module.def("parse_tolerance", &tolerance, nb::arg("text"), "'BUFFER: TOLERANCE' as a configuration has it.");
  module.def(
      "digest_of",
      [](const nb::bytes& bytes) { return digest_of({static_cast<const std::byte*>(bytes.data()), bytes.size()}).hex(); },
      nb::arg("bytes"), "The digest by which Mneme names a file's content: 32 hexadecimal digits.");
}

}  // namespace mneme::python

// Configuration: made from Python's values by its JSON codec, which says what is wrong with them.
#include "config.h"

#include <nanobind/operators.h>
#include <nanobind/stl/string.h>

#include <algorithm>

#include "bind.h"
#include "errors.h"
#include "json.h"
#include "mneme/pool/pool_result.h"
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

}  // namespace

Config::Config(Configuration configuration) : value(std::move(configuration)), text(to_json(value).dump()) {}

void bind_config(nb::module_& module) {
  nb::class_<Config>(module, "Configuration", "A configuration of a replay, as the C++ API has it. Immutable.")
      .def_static(
          "from_dict", [](nb::handle members) { return from_json(json_of(members, "configuration")); }, nb::arg("members").none())
      .def_static("from_json", &from_text)
      .def(
          "to_dict", [](const Config& self) { return python_of(to_json(self.value)); },
          nb::sig("def to_dict(self) -> dict[str, typing.Any]"))
      .def("to_json", [](const Config& self) { return to_json(self.value).dump(2); })
      .def_prop_ro("digest", [](const Config& self) { return whole_digest(self.value).hex(); })
      .def(
          "__eq__", [](const Config& self, const Config& other) { return self.text == other.text; }, nb::is_operator(),
          nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def("__hash__", [](const Config& self) { return std::hash<std::string>()(self.text); });
  module.def("parse_tolerance", &tolerance, nb::arg("text"), "'BUFFER: TOLERANCE' as a configuration has it.");
  module.def(
      "digest_of",
      [](const nb::bytes& bytes) { return digest_of({static_cast<const std::byte*>(bytes.data()), bytes.size()}).hex(); },
      nb::arg("bytes"), "The digest by which Mneme names a file's content: 32 hexadecimal digits.");
}

}  // namespace mneme::python

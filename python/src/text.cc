// How text from outside is shown to a person, see mneme/base/shown.h; times and sizes, as every command shows them; and the known
// word that is nearest to an unknown one, as every command names it.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <string_view>

#include "bind.h"
#include "mneme/base/shown.h"
#include "mneme/base/suggestion.h"
#include "mneme/base/types.h"
#include "mneme/measure/time_statistics.h"

namespace mneme::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

std::string_view view_of(const nb::bytes& text) { return {text.c_str(), text.size()}; }

}  // namespace

void bind_text(nb::module_& module) {
  module.def("shown", [](const nb::bytes& text, size_t most) { return shown(view_of(text), most); }, "text"_a, "most"_a);
  module.def("shown_lines", [](const nb::bytes& text) { return shown_lines(view_of(text)); }, "text"_a);
  module.def("format_time", [](double nanoseconds) { return format_time(Nanoseconds(nanoseconds)); }, "nanoseconds"_a);
  module.def("format_bytes", [](uint64_t count) { return format_bytes(Bytes(count)); }, "count"_a);
  module.def("nearest", &nearest, "typed"_a, "candidates"_a);
  module.def("shown_message", [](const nb::bytes& text) { return shown_message(view_of(text)); }, "text"_a);
}

}  // namespace mneme::python

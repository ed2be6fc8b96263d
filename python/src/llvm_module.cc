// mneme._native.llvm: modules and pipelines.
#include "bind.h"
#include "llvm.h"
#include "mneme/compile/run_passes.h"
#include "mneme/ir/module_ref.h"
#include "mneme/pool/isolated.h"

namespace mneme::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;
using ir::ModuleRef;
using Callback = nb::typed<nb::callable, nb::object()>;

ModuleRef parse(nb::bytes source, const std::string& name) {
  Result<ir::Module> parsed = [&] {
    nb::gil_scoped_release released;
    return ir::Module::parse(span_of(source), name);
  }();
  return ModuleRef(unwrap(std::move(parsed)));
}

// Waits with Ctrl-C answered, and other threads running; then the process is killed. `timeout` is in seconds, negative: none.
IsolatedOutcome run_isolated(const IsolatedWork& work, double timeout, const std::string& what) {
  constexpr std::chrono::duration<double> look(0.1);
  IsolatedRun run = unwrap(IsolatedRun::begin(work));
  const auto begin = std::chrono::steady_clock::now();
  for (bool ended = false; !ended;) {
    const std::chrono::duration<double> left =
        std::chrono::duration<double>(timeout) - (std::chrono::steady_clock::now() - begin);
    if (timeout >= 0 && left.count() <= 0) raise(error(Code::timeout, "{}: not done after {} s", what, timeout));
    const auto piece = std::chrono::ceil<std::chrono::milliseconds>(timeout < 0 ? look : std::min(look, left));
    {
      nb::gil_scoped_release released;
      ended = run.wait(piece);
    }
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }
  return unwrap(run.end());
}

ModuleRef parse_isolated(nb::bytes source, const std::string& name) {
  const ByteSpan bytes = span_of(source);
  const IsolatedWork work{.source = {bytes.begin(), bytes.end()}, .name = name, .pipeline = {}, .options = {}};
  const IsolatedOutcome read = run_isolated(work, -1, "");
  return ModuleRef(unwrap(ir::Module::parse(read.bitcode, name)));
}

// Returns what the passes wrote. A failure leaves the module and its handles alone.
std::string run_passes_isolated(ModuleRef& module, const std::string& pipeline, std::vector<std::string> plugins, std::string cpu,
                                std::string features, unsigned codegen_level, double timeout, uint64_t memory) {
  const std::string name = unwrap(module.name());
  const IsolatedWork work{.source = unwrap(module.bitcode()),
                          .name = name,
                          .pipeline = pipeline,
                          .options = {.plugins = std::move(plugins),
                                      .passes = {},
                                      .cpu = std::move(cpu),
                                      .features = std::move(features),
                                      .codegen_level = codegen_level},
                          .memory = Bytes(memory)};
  struct Running {  // other threads are refused the module
    explicit Running(ModuleRef of) : module(std::move(of)) { check(module.begin_run()); }
    ~Running() { module.end_run(); }
    ModuleRef module;
  };
  IsolatedOutcome outcome = [&] {
    Running running(module);
    return run_isolated(work, timeout, "running '" + pipeline + "' on module " + name);
  }();
  module.become(unwrap(ir::Module::parse(outcome.bitcode, name)),
                "another process ran a pipeline on its module, which only functions, global variables and aliases outlast");
  return std::move(outcome.said);
}

// An exception of a pass goes through LLVM as a status, and is raised again behind it.
struct Raised {
  std::optional<nb::python_error> exception;
};

ModulePass pass_of(std::string name, nb::callable function, Raised& raised) {
  return {std::move(name), [function, &raised]() -> Status {
            nb::gil_scoped_acquire locked;
            try {
              function();
              return {};
            } catch (nb::python_error& exception) {
              raised.exception.emplace(std::move(exception));
              return error(Code::internal, "the pass raised an exception");
            }
          }};
}

void run(ModuleRef& module, const std::string& pipeline, const std::vector<std::pair<std::string, Callback>>& passes,
         std::vector<std::string> plugins, std::string cpu, std::string features, unsigned codegen_level) {
  Raised raised;
  PassOptions options{.plugins = std::move(plugins),
                      .passes = {},
                      .cpu = std::move(cpu),
                      .features = std::move(features),
                      .codegen_level = codegen_level};
  for (const auto& [name, function] : passes) options.passes.push_back(pass_of(name, function, raised));
  ModuleRef running = module;
  PassRun passes_run = unwrap(PassRun::begin(running, options));
  {
    nb::gil_scoped_release released;
    passes_run.run(pipeline);
  }
  const Status status = passes_run.end();
  module = running;
  if (raised.exception) throw std::move(*raised.exception);
  check(status);
}

}  // namespace

void bind_llvm_module(nb::module_& module) {
  nb::class_<ModuleRef>(module, "ModuleRef")
      .def("name", raising(&ModuleRef::name))
      .def("set_name", raising(&ModuleRef::set_name))
      .def("source_name", raising(&ModuleRef::source_name))
      .def("triple", raising(&ModuleRef::triple))
      .def("set_triple", raising(&ModuleRef::set_triple))
      .def("data_layout", raising(&ModuleRef::data_layout))
      .def("set_data_layout", raising(&ModuleRef::set_data_layout))
      .def("verify", raising(&ModuleRef::verify))
      .def("print", [](const ModuleRef& self) { return text_of(unwrap(self.print())); })
      .def("bitcode", [](const ModuleRef& self) { return bytes_of(unwrap(self.bitcode())); })
      .def("digest", [](const ModuleRef& self) { return unwrap(self.digest()).hex(); })
      .def("clone", [](const ModuleRef& self) { return ModuleRef(unwrap(self.copy())); })
      .def("link", raising(&ModuleRef::link))
      .def("strip_debug_info", raising(&ModuleRef::strip_debug_info))
      .def("name_launch_reads", raising(&ModuleRef::name_launch_reads))
      .def("functions", raising(&ModuleRef::functions))
      .def("global_variables", raising(&ModuleRef::global_variables))
      .def("aliases", raising(&ModuleRef::aliases))
      .def("named_metadata", raising(&ModuleRef::named_metadata))
      .def("type", raising(&ModuleRef::type))
      .def("constant", raising(&ModuleRef::constant))
      .def("add_function", raising(&ModuleRef::add_function))
      .def("add_global_variable",
           [](ModuleRef& self, const std::string& name, const ir::TypeRef& type, std::string linkage, unsigned address_space,
              bool is_constant) {
             return unwrap(self.add_global_variable(
                 name, type, {.linkage = std::move(linkage), .address_space = address_space, .is_constant = is_constant}));
           })
      .def("metadata_string", raising(&ModuleRef::metadata_string))
      .def("metadata_value", raising(&ModuleRef::metadata_value))
      .def("metadata_node", raising(&ModuleRef::metadata_node))
      .def("add_named_metadata", raising(&ModuleRef::add_named_metadata))
      .def("run", &run)
      .def(
          "run_isolated",
          [](ModuleRef& self, const std::string& pipeline, std::vector<std::string> plugins, std::string cpu,
             std::string features, unsigned codegen_level, double timeout, uint64_t memory) {
            return text_of(run_passes_isolated(self, pipeline, std::move(plugins), std::move(cpu), std::move(features),
                                               codegen_level, timeout, memory));
          },
          nb::sig("def run_isolated(self, pipeline: str, plugins: collections.abc.Sequence[str], cpu: str, features: str, "
                  "codegen_level: int, timeout: float, memory: int, /) -> str"));
  module.def("parse", &parse, "source"_a, "name"_a);
  module.def("parse_isolated", &parse_isolated, "source"_a, "name"_a);
  module.def("create", raising(&ModuleRef::create), "name"_a, "triple"_a, "data_layout"_a);
}

}  // namespace mneme::python

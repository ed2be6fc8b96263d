// The table of compilers: a kind of device that code can be compiled for joins here by one row.
#include "mneme/compile/amdgpu/architecture.h"
#include "mneme/compile/amdgpu/code_object_comparison.h"
#include "mneme/compile/amdgpu/compiler.h"
#include "mneme/compile/amdgpu/identity.h"
#include "mneme/compile/backend.h"
#include "mneme/compile/nvptx/architecture.h"
#include "mneme/compile/nvptx/compiler.h"
#include "mneme/compile/nvptx/cubin_comparison.h"
#include "mneme/compile/nvptx/identity.h"
#include "mneme/compile/nvptx/program_code.h"
#include "mneme/compile/nvptx/ptx_variable_table.h"
#include "mneme/cpu/lower/compiler.h"
#include "mneme/cpu/lower/identity.h"
#include "mneme/cpu/lower/options.h"

namespace mneme {
namespace {

constexpr CompilerBackend kCompilerBackends[] = {
    {.kind = DeviceKind::cuda,
     .architecture_prefix = "sm_",
     .architecture = [](const std::string& recorded) { return recorded; },
     .create = nvptx::create_compiler,
     .plan = nvptx::plan_compiler,
     .check_options = nvptx::check_options,
     .runs_on = nvptx::runs_on,
     .take_program_code = nvptx::take_program_code,
     .required_block = nvptx::required_block,
     .reach_by_table = nvptx::reach_by_table,
     .compare_machine_code = nvptx::compare_cubins},
    {.kind = DeviceKind::hip,
     .architecture_prefix = "gfx",
     .architecture = [](const std::string& recorded) { return recorded; },
     .create = amdgpu::create_compiler,
     .plan = amdgpu::plan_compiler,
     .check_options = amdgpu::check_options,
     .runs_on = amdgpu::runs_on,
     .compare_machine_code = amdgpu::compare_code_objects},
    {.kind = DeviceKind::cpu,
     .architecture_prefix = cpu::kArchitecture,
     .architecture = [](const std::string&) { return std::string(cpu::kArchitecture); },
     .create = cpu::create_compiler,
     .plan = cpu::plan_compiler,
     .check_options = cpu::check_options,
     .runs_on = [](std::string_view, std::string_view) { return true; }},  // check_options() takes no other target
};

}  // namespace

std::span<const CompilerBackend> compiler_backends() { return kCompilerBackends; }

}  // namespace mneme

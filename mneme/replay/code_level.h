// Code levels: what a replay can change of a kernel that was recorded without IR (docs/adr/0018-code-levels.md).
//
// Of a kernel at the level ptx it can change what the assembler is asked for, and at both levels the launch, as far as the code
// allows. Whatever else a configuration asks for is refused by its name: nothing that was asked for is ever left out in silence.
#pragma once

#include <optional>
#include <string>

#include "mneme/base/status.h"
#include "mneme/compile/program_code.h"
#include "mneme/device/device.h"
#include "mneme/replay/configuration.h"
#include "mneme/snapshot/snapshot.h"

namespace mneme {

// Whether a replay can run the program's own code: that of a kernel without IR, and of one with IR whose compiler's pipeline is
// not known, while its machine code is (a kernel of Triton's whose IR was found). There as-built names the machine code.
bool has_program_code(const KernelRecord& kernel);
// What a replay has of the program's own code: `ptx` or `cubin`.
CodeLevel program_level(const KernelRecord& kernel);
// What as-built stands for where neither the pipeline nor machine code was recorded.
inline constexpr const char* kWhereNotKnown = "default<O3>";
// What as-built is of the kernel, for people: "default<O2>", "the program's own code", or "default<O3>, as the recording does not
// say".
std::string describe_as_built(const KernelRecord& kernel);
// A pipeline for people: with what as-built is of the kernel, where it names that.
std::string describe_pipeline(const std::string& passes, const KernelRecord& kernel);
// Whether the configuration runs the program's own code of the kernel.
bool names_program_code(const Configuration& configuration, const KernelRecord& kernel);

// unsupported, with the member's path and the reason: the configuration changes what the level of the kernel's code lacks. The
// pipeline may be as-built; default<O3> too, which is what older versions wrote for a configuration that names none. At the level
// ir anything is ok, unless as-built names the program's own code.
Status check_code_level(const Configuration& configuration, const KernelRecord& kernel);

// The configuration as it is shown: of a kernel without IR as-built is its pipeline, however an older version called it.
Configuration shown_for(Configuration configuration, const KernelRecord& kernel);

// unsupported: the kernel was recorded without IR, and devices of the kind do not run the program's own code.
Status check_device(const KernelRecord& kernel, DeviceKind kind);

// invalid_argument: the code can be launched with one block alone (required_block()), and `shape` has another.
Status check_block(const ProgramCode& code, const KernelRecord& kernel, const LaunchShape& shape, DeviceKind kind);

// The same of code that requires `required`, if it requires a block (KernelCode::required_block()).
Status check_block(const std::optional<Dim3>& required, const KernelRecord& kernel, const LaunchShape& shape);

// Why what needs IR was not done: "no IR: <what>".
Status no_ir(const KernelRecord& kernel, std::string_view what);

}  // namespace mneme

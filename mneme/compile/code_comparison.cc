#include "mneme/compile/code_comparison.h"

#include <fmt/format.h>

#include "mneme/compile/backend.h"

namespace mneme {
namespace {

std::string list(const MachineCodeFacts& facts) {
  std::string text = fmt::format("{} instructions", facts.instructions);
  if (facts.registers) text += fmt::format(", {} registers", *facts.registers);
  return text;
}

std::string likely_reason(const CodeComparison& comparison) {
  const MachineCodeFacts &program = comparison.program, &made = comparison.made;
  if (!program.assembler.empty() && !made.assembler.empty() && program.assembler != made.assembler)
    return fmt::format("; the program's was assembled by {}, this by {}", program.assembler, made.assembler);
  if (!program.options.empty() && !made.options.empty() && program.options != made.options)
    return fmt::format("; the program's was assembled with '{}', this with '{}'", program.options, made.options);
  return "";
}

}  // namespace

std::string describe(const CodeComparison& comparison) {
  if (comparison.same) return list(comparison.program);
  std::string text = fmt::format("{} differs first at offset {:#x}", comparison.where, comparison.offset);
  text += fmt::format(": the program's has {}, this {}", list(comparison.program), list(comparison.made));
  return text + likely_reason(comparison);
}

Result<CodeComparison> compare_machine_code(ByteSpan program, ByteSpan made, const std::string& kernel, DeviceKind kind) {
  const CompilerBackend* backend = find_compiler_backend(kind);
  if (backend == nullptr || backend->compare_machine_code == nullptr)
    return error(Code::unsupported, "the {} has no machine code that could be compared", to_string(kind));
  return backend->compare_machine_code(program, made, kernel);
}

}  // namespace mneme

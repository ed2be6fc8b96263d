#include "mneme/cli/tuned_text.h"

#include "mneme/base/shown.h"
#include "mneme/measure/time_statistics.h"
#include "mneme/snapshot/json_cursor.h"

namespace mneme::cli {
namespace {

std::string shape_text(const ProgramShape& shape) {
  std::string text = fmt::format("{} blocks of {}", shape.grid, shape.block);
  if (shape.shared != Bytes()) text += fmt::format(", {} of shared memory", shape.shared);
  return text + (shape.cooperative ? ", cooperative" : "");
}

std::string rule_text(const LaunchRule& rule) {
  switch (rule.covers) {
    case LaunchRule::Covers::shape:
      return rule.tuned == rule.recorded ? shape_text(rule.recorded)
                                         : fmt::format("{} become {}", shape_text(rule.recorded), shape_text(rule.tuned));
    case LaunchRule::Covers::block:
      return fmt::format("blocks of {} become as many threads in blocks of {}", rule.recorded.block, rule.tuned.block);
    case LaunchRule::Covers::any:
      return rule.max_threads == 0 ? "any, as they are" : fmt::format("any with at most {} threads in a block", rule.max_threads);
  }
  return "";
}

std::string line(std::string_view what, std::string_view text) { return fmt::format("  {:<14} {}\n", what, shown(text)); }

std::string conditions_text(const TunedKernel& kernel) {
  std::string text;
  for (const ArgumentIs& one : kernel.arguments)
    text += line("if", fmt::format("argument {} has the bytes {}", one.parameter, hex_of(one.bytes)));
  for (const PointerAligned& one : kernel.aligned)
    text += line("if", fmt::format("argument {} is a multiple of {}", one.parameter, one.alignment));
  for (const PointerAlone& one : kernel.alone)
    text += line(
        "if", fmt::format("argument {} leads to memory that {} other pointers do not lead to", one.parameter, one.others.size()));
  for (const TunedTolerance& one : kernel.tolerances)
    text += line("right if", fmt::format("{} from byte {} {} on are within {}",
                                         one.bytes == 0 ? "bytes" : fmt::format("{} bytes", one.bytes), one.offset,
                                         one.variable ? "of the variable " + shown(kernel.variables.at(*one.variable))
                                                      : fmt::format("behind argument {}", one.pointer.parameter),
                                         format_tolerance(one.tolerance)));
  if (kernel.repeatable == Repeatable::no)
    text += line("run twice", "no: it does more than change memory, and --verify leaves it out");
  return text;
}

std::string kernel_text(const TunedKernel& kernel, const ByteVector& image) {
  const Evidence& evidence = kernel.evidence;
  std::string text = shown(kernel.demangled) + "\n";
  text += line("static hash", kernel.static_hash.hex());
  text += line("code", fmt::format("{} {}, {} by {}, Mneme {}", kernel.device, kernel.architecture, Bytes(image.size()),
                                   evidence.assembler, evidence.mneme));
  text += line("launches", rule_text(kernel.rule));
  text += conditions_text(kernel);
  for (const std::string& variable : kernel.variables) text += line("variable", variable);
  text += line("speed-up", fmt::format("{:.3f} ({:.3f} to {:.3f}, 95 %){}", evidence.speed_up.value, evidence.speed_up.low,
                                       evidence.speed_up.high, evidence.confirmed ? "" : ", not confirmed to be faster"));
  text += line("time", fmt::format("{} in place of {}, on {}{}", format_time(Nanoseconds(evidence.tuned)),
                                   format_time(Nanoseconds(evidence.baseline)), evidence.device_name,
                                   evidence.driver.empty() ? "" : ", driver " + evidence.driver));
  for (const Digest& instance : evidence.instances) text += line("verified on", instance.hex());
  return text + line("configuration", evidence.configuration);
}

}  // namespace

std::string tuned_text(const TunedFile& file, const std::string& name) {
  std::string text =
      fmt::format("{}: code of {} {}\n", shown(name), file.kernels.size(), file.kernels.size() == 1 ? "kernel" : "kernels");
  for (const TunedKernel& kernel : file.kernels) text += "\n" + kernel_text(kernel, file.images[kernel.image]);
  return text;
}

}  // namespace mneme::cli

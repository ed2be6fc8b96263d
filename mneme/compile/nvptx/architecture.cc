#include "mneme/compile/nvptx/architecture.h"

#include <llvm/ADT/StringRef.h>

#include <optional>
#include <string>

namespace mneme::nvptx {
namespace {

struct Architecture {
  unsigned major = 0, minor = 0;
  std::string variant;  // "", "a" or "f"
};

std::optional<Architecture> parse(llvm::StringRef text) {
  unsigned number = 0;
  if (!text.consume_front("sm_") || text.consumeInteger(10, number) || number < 10) return std::nullopt;
  if (!text.empty() && text != "a" && text != "f") return std::nullopt;
  return Architecture{number / 10, number % 10, text.str()};
}

}  // namespace

Status check_registers(const char* knob, std::optional<uint32_t> cap, const std::string& architecture) {
  if (!cap || (*cap >= kFewestRegisters && *cap <= kMostRegisters)) return {};
  return error(Code::invalid_argument, "{} is {}, {} on {}: ask for {} to {}, or leave it out", knob, *cap,
               *cap < kFewestRegisters
                   ? fmt::format("fewer than the {} registers that the calling convention needs", kFewestRegisters)
                   : fmt::format("more than the {} registers that a thread can have", kMostRegisters),
               architecture, kFewestRegisters, kMostRegisters);
}

bool runs_on(std::string_view target, std::string_view device) {
  auto code = parse(target), machine = parse(device);
  if (!code || !machine || code->major != machine->major) return false;
  return code->variant == "a" ? code->minor == machine->minor : code->minor <= machine->minor;
}

}  // namespace mneme::nvptx

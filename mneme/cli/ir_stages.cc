#include "mneme/cli/ir_stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "mneme/base/suggestion.h"

namespace mneme::cli {
namespace {

constexpr std::pair<std::string_view, std::string_view> kMeant[] = {
    {"original", "recorded"},
    {"input", "recorded"},
    {"specialized", "specialised"},
    {"optimized", "optimised"},
    {"opt", "optimised"},
    {"llvm", "optimised"},
    {"ll", "optimised"},
    {"assembly", "asm"},
    {"ptx", "asm"},
    {"s", "asm"},
    {"disassemble", "sass"},
    {"disassembly", "sass"},
    {"disasm", "sass"},
    {"cubin", "sass"},
    {"nvdisasm", "sass"},
    {"cuobjdump", "sass"},
};
constexpr std::array kCommands = {"replay", "diff", "check", "show", "sweep", "tune"};

}  // namespace

const std::vector<std::string>& ir_stages() {
  static const std::vector<std::string> stages{"recorded", "specialised", "optimised", "asm", "sass"};
  return stages;
}

std::string_view stage_meant_by(std::string_view word) {
  for (const std::string& stage : ir_stages())
    if (stage == word) return stage;
  for (const auto& [other, stage] : kMeant)
    if (other == word) return stage;
  return {};
}

std::string check_stage(const std::string& word) {
  const std::vector<std::string>& stages = ir_stages();
  if (std::find(stages.begin(), stages.end(), word) != stages.end()) return {};
  if (const std::string_view stage = stage_meant_by(word); !stage.empty())
    return fmt::format("there is no stage '{}'; '{}' is that", word, stage);
  if (word == "bitcode" || word == "bc") return fmt::format("there is no stage '{}'; --bitcode writes a stage's IR so", word);
  if (std::find(kCommands.begin(), kCommands.end(), word) != kCommands.end())
    return fmt::format("there is no stage '{}'; it is a command: mneme {} DB KERNEL", word, word);
  return fmt::format("there is no stage '{}'{}; there are: {}", word, did_you_mean(word, stages), fmt::join(stages, ", "));
}

}  // namespace mneme::cli

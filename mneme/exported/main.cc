// The runner of exported programs: what `mneme export --program` puts in front of a launch. It runs what stands behind its own
// end.
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "mneme/base/shown.h"
#include "mneme/exported/program.h"

namespace {

using namespace mneme;

constexpr int kVerified = 0, kNotVerified = 1, kCannotRun = 2;
constexpr uint32_t kMostRuns = 1'000'000;

struct Arguments {
  std::optional<uint32_t> runs;
  uint32_t device = 0;
  bool help = false;
};

int fail(const std::string& name, const std::string& message) {
  std::fputs(fmt::format("{}: {}\n", shown(name, 0), shown_lines(message)).c_str(), stderr);
  return kCannotRun;
}

Result<uint32_t> number(std::string_view option, std::string_view text, uint32_t most) {
  uint32_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size() || value > most)
    return error(Code::invalid_argument, "{} takes a number from 0 to {}, and not '{}'", option, most, text);
  return value;
}

Result<Arguments> parse(int count, char** words) {
  Arguments arguments;
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    if (word == "--help" || word == "-h") {
      arguments.help = true;
    } else if (word == "--runs" || word == "--device") {
      if (++i == count) return error(Code::invalid_argument, "{} takes a number", word);
      MNEME_ASSIGN(const uint32_t value, number(word, words[i], word == "--runs" ? kMostRuns : 1023));
      if (word == "--runs")
        arguments.runs = value;
      else
        arguments.device = value;
    } else {
      return error(Code::invalid_argument, "there is no option '{}'; --help shows those that there are", word);
    }
  }
  return arguments;
}

void print_help(const std::string& name) {
  std::fputs(
      fmt::format("usage: {} [--runs N] [--device N]\n\n"
                  "Runs one recorded launch of a kernel: restores its memory, launches it, compares what it leaves with what\n"
                  "was recorded, and times further launches.\n\n"
                  "  --runs N    launches to time (default: 10; 0: none)\n"
                  "  --device N  the device to run on, by its number (default: 0)\n\n"
                  "Exit status: 0 the memory is as recorded, 1 it is not, 2 the launch could not be run, or the command line\n"
                  "is wrong.\n",
                  shown(name, 0))
          .c_str(),
      stdout);
}

void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

}  // namespace

int main(int count, char** words) {
  const std::string name = count > 0 ? words[0] : "program";
  const auto arguments = parse(count, words);
  if (!arguments.ok()) return fail(name, arguments.status().message());
  if (arguments->help) {
    print_help(name);
    return kVerified;
  }
  auto file = FileSystem::posix().open("/proc/self/exe");
  if (!file.ok()) file = FileSystem::posix().open(name);
  if (!file.ok()) return fail(name, file.status().message());
  auto program = ExportedProgram::open(std::move(*file), name);
  if (!program.ok()) return fail(name, program.status().message());
  const HeldAddresses held = (*program)->hold_addresses();
  auto device = Device::open((*program)->description().device, static_cast<int>(arguments->device));
  if (!device.ok()) return fail(name, device.status().message());
  print(describe_program(**program, (*device)->properties().name));
  const auto run = (*program)->run(**device, arguments->runs.value_or((*program)->description().runs));
  if (!run.ok()) return fail(name, run.status().message());
  print(describe_run(*run));
  return run->verified() ? kVerified : kNotVerified;
}

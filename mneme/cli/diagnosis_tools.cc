// The part of a diagnosis that is about programs and packages of others.
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "mneme/cli/application.h"
#include "mneme/cli/build_flags.h"
#include "mneme/cli/diagnosis.h"
#include "mneme/cli/installation.h"
#include "mneme/cli/python_commands.h"
#include "mneme/compile/nvptx/disassembler.h"
#include "mneme/compile/nvptx/ptx_assembler.h"

namespace mneme::cli {
namespace {

constexpr char kGetToolkit[] = "install a CUDA 13 toolkit and export CUDA_HOME=<its folder>";

Finding assembler() {
  auto found = nvptx::find_assembler(nvptx::AssemblerSearch::from_environment());
  if (!found.ok()) return {"PTX assembler", Health::broken, found.status().message(), "unset MNEME_PTX_ASSEMBLER"};
  if ((*found)->name() != "driver") {
    std::string identity = (*found)->identity();  // ends in the file's size and time
    for (size_t end; (end = identity.find_last_not_of("-0123456789")) < identity.size() - 1 && identity[end] == ' ';)
      identity.resize(end);
    return {"PTX assembler", Health::good, identity, ""};
  }
  return {"PTX assembler", Health::absent, "only the driver's: neither registers nor most of the assembler's options are known",
          kGetToolkit};
}

Finding disassembler() {
  std::error_code ignored;
  for (const std::string& path : nvptx::nvdisasm_paths())
    if (std::filesystem::exists(path, ignored)) return {"nvdisasm", Health::good, path, ""};
  return {"nvdisasm", Health::absent, "not found: mneme ir --stage sass needs it", kGetToolkit};
}

Finding compiler() {
  constexpr char kGet[] = "apt-get install clang-22 clang-tools-22 (from apt.llvm.org where the system has none)";
  std::string programs;
  for (const char* program : {"clang++", "clang-linker-wrapper"}) {
    auto found = find_clang(program);
    if (!found.ok())
      return {"clang 22", Health::absent, "programs cannot be built for Mneme here: " + found.status().message(), kGet};
    programs += (programs.empty() ? "" : ", ") + found->string();
  }
  return {"clang 22", Health::good, programs, ""};
}

Finding toolkit() {
  auto found = find_cuda_toolkit();
  if (found.ok()) return {"CUDA toolkit", Health::good, found->string(), ""};
  return {"CUDA toolkit", Health::absent, "programs cannot be built for Mneme here: " + found.status().message(), kGetToolkit};
}

struct PythonExtra {
  const char* name;
  std::vector<const char*> modules;
};
const std::array<PythonExtra, 2>& extras() {
  static const std::array<PythonExtra, 2> all = {
      {{"tune", {"optuna", "pandas", "pyarrow", "rich", "yaml", "cmaes"}}, {"report", {"plotly", "jinja2", "pygments"}}}};
  return all;
}

// The words that run a script's interpreter: of its first line, "#!/usr/bin/python3"; where that is a shell, as pip writes it for
// long paths, of its second: '''exec' "/long/path/python3" "$0" "$@".
std::vector<std::string> interpreter_of(const Path& script) {
  std::ifstream file(script);
  std::string first, second;
  std::getline(file, first);
  std::getline(file, second);
  if (!first.starts_with("#!")) return {};
  constexpr std::string_view kExec = "'''exec' ";
  std::string line = first.substr(2);
  if (line == "/bin/sh" && second.starts_with(kExec)) {
    line = second.substr(kExec.size(), second.find(" \"$0\"") - kExec.size());
    std::erase(line, '"');
    return {line};
  }
  std::istringstream words(line);
  return {std::istream_iterator<std::string>(words), {}};
}

// The modules that this Python cannot find, or why it cannot be asked.
Result<std::vector<std::string>> missing_modules(const std::vector<std::string>& interpreter,
                                                 const std::vector<const char*>& modules) {
  if (interpreter.empty()) return error(Code::unavailable, "its first line names no interpreter");
  std::vector<std::string> words = interpreter;
  words.insert(words.end(), {"-c",
                             "import importlib.util as u, sys\n"
                             "print(*[m for m in sys.argv[1:] if u.find_spec(m) is None], 'end')"});
  words.insert(words.end(), modules.begin(), modules.end());
  MNEME_ASSIGN(const std::string text, output_of(words));
  std::vector<std::string> missing;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find_first_of(" \n", begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (word == "end") return missing;
    missing.push_back(word);
    begin = end + 1;
  }
  return error(Code::unavailable, "{} does not run", join_for_shell(interpreter));
}

Finding extra_finding(const PythonExtra& extra, const std::vector<std::string>& interpreter) {
  const std::string what = fmt::format("mneme {}", extra.name);
  auto missing = missing_modules(interpreter, extra.modules);
  if (!missing.ok()) return {what, Health::broken, missing.status().message(), how_to_get_python("tune,report")};
  if (missing->empty()) return {what, Health::good, "has its Python packages", ""};
  for (std::string& module : *missing)
    if (module == "yaml") module = "pyyaml";
  return {what, Health::absent, fmt::format("lacks Python packages: {}", fmt::join(*missing, " ")),
          fmt::format("{} -m pip install {}", join_for_shell(interpreter), fmt::join(*missing, " "))};
}

}  // namespace

std::vector<Finding> diagnose_tools() { return {assembler(), disassembler(), compiler(), toolkit()}; }

std::vector<Finding> diagnose_python() {
  auto program = find_program("mneme-tune");
  if (!program.ok())
    return {{"Python package", Health::absent, "there is no mneme-tune on the PATH: no mneme tune, mneme report, import mneme",
             how_to_get_python("tune,report")}};
  const std::vector<std::string> interpreter = interpreter_of(*program);
  std::vector<Finding> findings;
  auto package = missing_modules(interpreter, {"mneme.tune"});
  if (!package.ok() || !package->empty())
    findings.push_back({"Python package", Health::broken, fmt::format("{}: its Python has no module mneme", program->string()),
                        how_to_get_python("tune,report")});
  else
    findings.push_back(
        {"Python package", Health::good, fmt::format("{}, of {}", program->string(), join_for_shell(interpreter)), ""});
  for (const PythonExtra& extra : extras()) findings.push_back(extra_finding(extra, interpreter));
  return findings;
}

}  // namespace mneme::cli

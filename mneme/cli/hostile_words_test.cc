// Whatever words a recording, the environment or a command line hold: what Mneme prints of them is escaped.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "mneme/base/file_system.h"
#include "mneme/base/testing/temporary_folder.h"
#include "mneme/snapshot/codec.h"
#include "mneme/store/instance_list.h"

namespace mneme::cli {
namespace {

// Changes a window's title, forges a line, turns the reading direction, clears the screen in eight bits.
constexpr char kWords[] = "\x1b]0;title\x07\nFORGED: recorded\r\u202etxt\u009b2J\x7f";
constexpr char kKernel[] = "2860ab17c62173867bb5cfae93fbb671.json";

struct Ended {
  int status = -1;
  std::string output;  // both streams
};

// Through a shell, so that both streams arrive in one.
Ended run(const std::string& arguments) {
  const std::string line = "'" MNEME_TEST_COMMAND "' " + arguments + " 2>&1";
  Ended ended;
  FILE* pipe = ::popen(line.c_str(), "r");
  if (pipe == nullptr) return ended;
  char piece[4096];
  while (size_t size = std::fread(piece, 1, sizeof piece, pipe)) ended.output.append(piece, size);
  const int status = ::pclose(pipe);
  ended.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ended;
}

void expect_escaped(const Ended& ended) {
  const std::string& text = ended.output;
  for (const char* raw : {"\x1b", "\x07", "\r", "\x7f", "\u202e", "\u009b", "\xff", "\nFORGED"})
    EXPECT_EQ(text.find(raw), std::string::npos) << raw[0] << " in:\n" << text;
}

// A database of a kernel that does what an honest one does, under other names.
class HostileWords : public testing::Test {
 protected:
  HostileWords() {
    std::filesystem::copy(MNEME_TEST_CORPUS, folder_ / "db", std::filesystem::copy_options::recursive);
    const Path file = folder_ / "db" / kKernel;
    std::ifstream stream(file);
    const std::string text(std::istreambuf_iterator<char>(stream), {});
    KernelDocument document = *decode_kernel(text, file);
    KernelRecord& kernel = document.kernel;
    for (std::string* words : {&kernel.demangled, &kernel.source}) *words = std::string("a") + kWords;
    for (Parameter& parameter : kernel.parameters) parameter.name += kWords;
    InstanceRecord& instance = document.instances[0];
    for (std::string* words : {&instance.device_name, &instance.recorded_at, &instance.mneme_version}) *words = kWords;
    for (Annotation& annotation : instance.annotations) annotation.tag = kWords;
    std::ofstream(file) << encode_kernel(document);
    const Digest& hash = kernel.static_hash;
    std::ofstream(folder_ / "db" / list_file_name(hash)) << InstanceList::encode(hash, document.instances);
  }
  std::string database() const { return (folder_ / "db").string(); }
  std::string kernel() const { return (folder_ / "db" / kKernel).string(); }

  const TemporaryDirectory directory_;
  const Path& folder_ = directory_.path();
};

TEST_F(HostileWords, AreEscapedInLists) {
  for (const std::string& arguments : {"ls " + database(), "show " + kernel(), "show --check " + kernel()}) {
    const Ended ended = run(arguments);
    EXPECT_EQ(ended.status, 0);
    expect_escaped(ended);
    EXPECT_NE(ended.output.find("a\\x1b]0;title\\x07\\nFORGED: recorded\\r\\u202etxt\\u009b2J\\u007f"), std::string::npos)
        << ended.output;
  }
}

TEST_F(HostileWords, LeaveJsonWhatItIs) {
  const Ended ended = run("show --json " + kernel());
  expect_escaped(ended);
  EXPECT_EQ(nlohmann::json::parse(ended.output)["demangled"], std::string("a") + kWords);
}

TEST_F(HostileWords, AreEscapedInVerdicts) {
  // No launch of two threads has the recorded result.
  for (const std::string command : {"diff", "check --runs 2", "replay --iterations 1 -rdb"}) {
    const Ended ended = run(command + " " + kernel() + " --device cpu --no-cache --block-dim-x 2");
    EXPECT_EQ(ended.status, 1) << ended.output;
    expect_escaped(ended);
  }
}

TEST_F(HostileWords, AreEscapedInTheTableOfASweep) {
  const Ended ended = run("sweep " + kernel() + " --device cpu --compile-workers 1 --results-dir " + folder_.string() +
                          "/out --grid \"passes=default<O1>|default<O2>$(printf '\\033]0;title\\007')\"");
  expect_escaped(ended);
  EXPECT_NE(ended.output.find("\\x1b]0;title\\x07"), std::string::npos) << ended.output;
}

TEST_F(HostileWords, AreEscapedInErrors) {
  const std::string words = "\"$(printf 'a\\033]0;title\\007\\nFORGED\\r\\377z')\"";
  for (const std::string& arguments :
       {words, "replay --" + words, "ls " + words, "run " + words, "run -- ./" + words, "config " + words, "show " + words,
        "replay -rdb " + kernel() + " --rid " + words, "replay -rdb " + kernel() + " --device " + words,
        "replay -rdb " + kernel() + " --config " + words, "ls " + database() + " " + words}) {
    const Ended ended = run(arguments);
    EXPECT_NE(ended.status, 0) << arguments;
    expect_escaped(ended);
  }
}

TEST_F(HostileWords, AreEscapedInPathsButForAnotherProgram) {
  const Path odd = folder_ / "a\x1b\nFORGED";
  ASSERT_EQ(::setenv("MNEME_CACHE_DIR", odd.c_str(), 1), 0);
  expect_escaped(run("cache"));
  std::filesystem::create_directories(odd / "include");
  std::filesystem::create_directories(odd / "nvvm" / "libdevice");
  std::ofstream(odd / "include" / "cuda_runtime.h") << "";
  std::ofstream(odd / "nvvm" / "libdevice" / "libdevice.10.bc") << "";
  ASSERT_EQ(::setenv("CUDA_HOME", odd.c_str(), 1), 0);
  EXPECT_EQ(run("config cudadir").output, odd.string() + "\n");  // what a build gets is the path
  ::unsetenv("CUDA_HOME");
  ::unsetenv("MNEME_CACHE_DIR");
}

}  // namespace
}  // namespace mneme::cli

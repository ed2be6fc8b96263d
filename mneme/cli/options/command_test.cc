#include "mneme/cli/options/command.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "mneme/base/file_system.h"
#include "mneme/cli/options/help_format.h"

namespace mneme::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Seen {
  std::string database;
  int size = 0;
  std::string pipeline;
  std::vector<std::string> application;
};
Seen seen;
bool is_help = false;  // what is required of `launch` only there

class EchoCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    app.add_option("--rdb,--record-db-dir", seen.database, "database")->required();
    app.add_option("--grid-dim-x", seen.size, "grid");
    app.add_option("PIPELINE", seen.pipeline, "pipeline");
  }
  int run() override { return 7; }
};

class LaunchCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    seen.database = "auto";
    app.add_option("--device", seen.database, "device")->check(CLI::IsMember({"auto", "cuda", "cpu"}))->capture_default_str();
    app.add_option("--max", seen.size, "launches")->required(is_help);
    app.add_option("--level", seen.size, "level")->check(CLI::Range(0, 3));
    app.add_option("--iterations", seen.size, "of another command")->group(kWithoutEffect);
  }
  int run() override {
    seen.application = application();
    return 0;
  }
};

class ThrowCommand : public Command {
 public:
  void add_options(CLI::App&) override {}
  int run() override { throw std::runtime_error("resource temporarily unavailable"); }
};

const Registration thrower({.name = "throw", .summary = "a test", .visibility = Visibility::hidden},
                           [] { return std::make_unique<ThrowCommand>(); });
const Registration echo({.name = "echo", .summary = "a test"}, [] { return std::make_unique<EchoCommand>(); });
const Registration launch({.name = "launch",
                           .summary = "a test",
                           .application = Application::required,
                           .examples = {{"mneme launch -- ./app", "the usual"},
                                        {"mneme launch --device cpu -- ./app", "on the CPU"}}},
                          [] { return std::make_unique<LaunchCommand>(); });
const Registration hidden({.name = "inner", .summary = "a test", .visibility = Visibility::hidden},
                          [] { return std::make_unique<EchoCommand>(); });

struct Outcome {
  int status;
  std::string out, err;
};
Outcome run(const std::vector<std::string>& arguments) {
  seen = {};
  is_help = !arguments.empty() && arguments.back() == "--help";
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int status = run_command_line(arguments);
  std::fflush(stdout);
  return {status, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
}

TEST(CommandLine, RunsTheSubcommandAndReturnsItsStatus) {
  EXPECT_EQ(run({"echo", "--record-db-dir", "db", "default<O3>", "--grid-dim-x=5"}).status, 7);
  EXPECT_EQ(seen.database, "db");
  EXPECT_EQ(seen.size, 5);
  EXPECT_EQ(seen.pipeline, "default<O3>");
}

TEST(CommandLine, TakesLongOptionsWithOneDash) {
  EXPECT_EQ(run({"echo", "-rdb", "db"}).status, 7);
  EXPECT_EQ(seen.database, "db");
  EXPECT_EQ(run({"echo", "-rdb=other", "-grid-dim-x", "-1"}).status, 7);
  EXPECT_EQ(seen.database, "other");
  EXPECT_EQ(seen.size, -1);
}

TEST(CommandLine, NamesTheNearestOption) {
  const Outcome outcome = run({"echo", "-rdb", "db", "--grid-dmi-x", "5"});
  EXPECT_EQ(outcome.status, kExitUsage);
  EXPECT_EQ(outcome.err, "mneme echo: unknown option '--grid-dmi-x'; did you mean '--grid-dim-x'?\nSee 'mneme echo --help'.\n");
}

TEST(CommandLine, NamesAMistypedOptionBeforeWhatItMakesMissing) {
  const Outcome outcome = run({"echo", "--record-db-dri", "db"});
  EXPECT_EQ(outcome.status, kExitUsage);
  EXPECT_THAT(outcome.err, HasSubstr("unknown option '--record-db-dri'; did you mean '--record-db-dir'?"));
}

TEST(CommandLine, RefusesMissingAndIllTypedOptions) {
  Outcome outcome = run({"echo"});
  EXPECT_EQ(outcome.status, kExitUsage);
  EXPECT_THAT(outcome.err, HasSubstr("--rdb"));
  outcome = run({"echo", "-rdb", "db", "--grid-dim-x", "many"});
  EXPECT_EQ(outcome.status, kExitUsage);
  EXPECT_THAT(outcome.err, HasSubstr("many"));
  outcome = run({"echo", "-rdb", "db", "one", "two"});
  EXPECT_EQ(outcome.status, kExitUsage);
  EXPECT_THAT(outcome.err, HasSubstr("unexpected argument 'two'"));
}

TEST(CommandLine, GivesTheApplicationItsArgumentsUntouched) {
  EXPECT_EQ(run({"launch", "--device", "cpu", "--", "./app", "--device", "-n", "--", "x y"}).status, 0);
  EXPECT_EQ(seen.database, "cpu");
  EXPECT_THAT(seen.application, ElementsAre("./app", "--device", "-n", "--", "x y"));
}

TEST(CommandLine, SaysWhenThereIsNoApplication) {
  const Outcome outcome = run({"launch", "--device", "cpu"});
  EXPECT_EQ(outcome.status, kExitUsage);
  EXPECT_EQ(outcome.err,
            "mneme launch: no program to run: put it behind --, as in 'mneme launch -- ./app'\nSee 'mneme launch --help'.\n");
  EXPECT_THAT(run({"launch", "./app"}).err,
              HasSubstr("mneme launch: unexpected argument './app'; a program to run stands behind --: mneme launch "
                        "[OPTIONS] -- ./app\n"));
}

TEST(CommandLine, NamesTheNearestCommand) {
  const Outcome outcome = run({"ehco"});
  EXPECT_EQ(outcome.status, kExitUsage);
  EXPECT_EQ(outcome.err,
            "mneme: there is no command 'ehco', and no mneme-ehco on the PATH; did you mean 'echo'?\nSee 'mneme help'.\n");
  EXPECT_THAT(run({"lau"}).err, HasSubstr("did you mean 'launch'?"));
  EXPECT_THAT(run({"list"}).err, HasSubstr("did you mean 'ls'?"));
  EXPECT_EQ(run({}).status, kExitUsage);
  EXPECT_EQ(run({"--vresion"}).status, kExitUsage);
}

TEST(CommandLine, SaysWhatBringsTheCommandsOfPython) {
  const char* path = getenv("PATH");
  const std::string before = path == nullptr ? "" : path;
  setenv("PATH", "/nonexistent", 1);
  for (const std::string name : {"tune", "report"}) {
    const Outcome outcome = run({name, "db"});
    EXPECT_EQ(outcome.status, kExitUsage);
    EXPECT_EQ(outcome.err, "mneme: '" + name + "' comes with Mneme's Python package, and there is no mneme-" + name +
                               " on the PATH: pip install '.[" + name + "]' in the sources of Mneme\n");
  }
  const std::string help = run({"help"}).out;
  EXPECT_THAT(help, HasSubstr("  tune        search for the fastest right configuration of a recorded launch (not installed)\n"));
  EXPECT_THAT(help, HasSubstr("  report      write one HTML page of what tune or sweep found (not installed)\n"));
  EXPECT_THAT(help, HasSubstr("tune and report come with Mneme's Python package: pip install '.[tune,report]' in the sources"));
  setenv("PATH", before.c_str(), 1);
}

TEST(CommandLine, HelpSaysNotHowToGetWhatIsThere) {
  const Path folder = Path(testing::TempDir()) / ("python-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  for (const char* name : {"mneme-tune", "mneme-report"}) {
    std::ofstream(folder / name) << "#!/bin/sh\n";
    ::chmod((folder / name).c_str(), 0755);
  }
  const char* path = getenv("PATH");
  const std::string before = path == nullptr ? "" : path;
  setenv("PATH", folder.c_str(), 1);
  const std::string help = run({"help"}).out;
  setenv("PATH", before.c_str(), 1);
  std::filesystem::remove_all(folder);
  EXPECT_THAT(help, HasSubstr("  tune        search for the fastest right configuration of a recorded launch\n"));
  EXPECT_EQ(help.find("pip install"), std::string::npos) << help;
}

TEST(CommandLine, HelpListsWhatIsNotHidden) {
  const Outcome outcome = run({"help"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out, HasSubstr("echo"));
  EXPECT_EQ(outcome.out.find("inner"), std::string::npos);
  EXPECT_THAT(run({"help", "echo"}).out, HasSubstr("--grid-dim-x"));
}

TEST(CommandLine, HelpIsInWordsForPeople) {
  EXPECT_EQ(run({"launch", "--help"}).out,
            "A test.\n"
            "\n"
            "Examples:\n"
            "  # the usual\n"
            "  mneme launch -- ./app\n"
            "  # on the CPU\n"
            "  mneme launch --device cpu -- ./app\n"
            "\n"
            "Usage: mneme launch [OPTIONS] -- PROGRAM [ARGUMENT...]\n"
            "\n"
            "Options:\n"
            "  -h,--help                     print this and exit\n"
            "  --help-all                    print this with every option that is taken, and exit\n"
            "  --device auto|cuda|cpu        device (default: auto)\n"
            "  --max N                       launches (required)\n"
            "  --level 0..3                  level\n"
            "\n"
            "--help-all shows options too that are taken but have no effect here.\n");
}

// Whether no line is longer than `most`, but those of the examples.
bool fits(const std::string& help, size_t most) {
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);)
    if (line.size() > most && !line.starts_with("  mneme ") && !line.starts_with("  #")) return false;
  return true;
}

TEST(CommandLine, HelpIsAsWideAsTheTerminal) {
  ::setenv("COLUMNS", "60", 1);
  const std::string narrow = run({"launch", "--help"}).out, commands = run({"help"}).out;
  ::setenv("COLUMNS", "200", 1);
  const std::string wide = run({"help"}).out;
  for (const char* none : {"60x", "0", "-60", ""}) {
    ::setenv("COLUMNS", none, 1);
    EXPECT_EQ(help_width(), 100u) << "'" << none << "'";
  }
  ::unsetenv("COLUMNS");
  EXPECT_THAT(narrow, HasSubstr("  --help-all                    print this with every option\n"
                                "                                that is taken, and exit\n"));
  EXPECT_TRUE(fits(narrow, 60)) << narrow;
  EXPECT_TRUE(fits(commands, 60)) << commands;
  EXPECT_THAT(commands,
              HasSubstr("  tune        search for the fastest right configuration of\n              a recorded launch"));
  EXPECT_THAT(wide, HasSubstr("makes commands and kernels complete with Tab.\n"));
  EXPECT_TRUE(fits(run({"help"}).out, 100));
}

TEST(CommandLine, HelpIsBrokenBetweenWords) {
  EXPECT_EQ(wrap("one two three", 7), "one two\nthree");
  EXPECT_EQ(wrap("one two three\n", 8), "one two\nthree\n");
  EXPECT_EQ(wrap("/a/path/that/is/long word", 7), "/a/path/that/is/long\nword");
  EXPECT_EQ(wrap("run this:\n\n    mneme ls db --json\n", 9), "run this:\n\n    mneme ls db --json\n");
  EXPECT_EQ(wrap("", 10), "");
}

TEST(CommandLine, HelpShowsOnlyOptionsThatDoSomethingThere) {
  EXPECT_EQ(run({"launch", "--help"}).out.find("--iterations"), std::string::npos);
  EXPECT_THAT(run({"launch", "--help-all"}).out,
              HasSubstr("\nTaken, without effect here:\n  --iterations N                of another command\n"));
  EXPECT_EQ(run({"launch", "--iterations", "3", "--", "./app"}).status, 0);
}

TEST(CommandLine, DeclaresCommandsForThoseWhoDescribeThem) {
  EXPECT_THAT(command_names(), ElementsAre("echo", "launch"));
  EXPECT_FALSE(declare_command("ehco"));
  auto declared = declare_command("launch");
  ASSERT_TRUE(declared);
  EXPECT_EQ(declared->info.examples.size(), 2u);
  EXPECT_THAT(choices_of(*declared->app->get_option("--device")), ElementsAre("auto", "cuda", "cpu"));
  EXPECT_THAT(choices_of(*declared->app->get_option("--max")), ElementsAre());
  EXPECT_EQ(value_name(*declared->app->get_option("--max")), "N");
}

TEST(CommandLine, ReportSaysWhatToDoAboutDamage) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(report(error(Code::corrupt, "db/x: offset 0: damaged")), kExitCannotRun);
  EXPECT_EQ(report(error(Code::io, "reading x: no")), kExitCannotRun);
  EXPECT_EQ(report(error(Code::corrupt, "results/x: damaged"), "begin anew"), kExitCannotRun);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "mneme: error: db/x: offset 0: damaged; take the file from a copy, or remove the kernel's and record it again\n"
            "mneme: error: reading x: no\n"
            "mneme: error: results/x: damaged; begin anew\n");
}

TEST(CommandLine, WhatIsThrownIsAnError) {
  const Outcome outcome = run({"throw"});
  EXPECT_EQ(outcome.status, kExitCannotRun);
  EXPECT_EQ(outcome.err, "mneme: error: mneme throw: resource temporarily unavailable\n");
}

TEST(CommandLine, AnExternalCommandThatDoesNotRunIsNoUnknownOne) {
  const Path folder = Path(testing::TempDir()) / ("refused-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "mneme-probe") << "#!/bin/sh\n";
  ::chmod((folder / "mneme-probe").c_str(), 0644);
  const std::string before = getenv("PATH");
  setenv("PATH", folder.c_str(), 1);
  const Outcome outcome = run({"probe"});
  setenv("PATH", before.c_str(), 1);
  std::filesystem::remove_all(folder);
  EXPECT_EQ(outcome.status, kExitCannotRun);
  EXPECT_EQ(outcome.err, "mneme: error: running mneme-probe: Permission denied\n");
}

TEST(CommandLine, PrintsTheVersion) { EXPECT_EQ(run({"--version"}).out, std::string("mneme ") + MNEME_VERSION + "\n"); }

TEST(CommandLine, RunsAnExternalCommandFromThePath) {
  const Path folder = Path(testing::TempDir()) / ("external-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "mneme-probe") << "#!/bin/sh\n[ \"$1\" = --flag ] && [ \"$2\" = 'a b' ] && exit 23\n";
  ::chmod((folder / "mneme-probe").c_str(), 0755);
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv("PATH", (folder.string() + ":/usr/bin:/bin").c_str(), 1);
    ::_exit(run_command_line({"probe", "--flag", "a b"}));
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 23);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace mneme::cli

#include "mneme/runtime/recordable.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "mneme/base/file_system.h"

namespace mneme {
namespace {

// Runs a command line and returns standard output and error together.
std::string run(const std::string& environment, const std::string& program, const std::string& arguments = "") {
  std::string command = environment + " " + program + " " + arguments + " 2>&1";
  FILE* pipe = ::popen(command.c_str(), "r");
  std::string out;
  char buffer[256];
  while (size_t count = std::fread(buffer, 1, sizeof buffer, pipe)) out.append(buffer, count);
  ::pclose(pipe);
  return out;
}

TEST(Recordable, ForwardsWhenNothingIsAsked) {
  EXPECT_EQ(run("", MNEME_TEST_PROGRAM), "constructor 0\nmain 0 0\n");
  EXPECT_EQ(run("MNEME_INTERPOSERS=", MNEME_TEST_PROGRAM), "constructor 0\nmain 0 0\n");
  EXPECT_EQ(run("", MNEME_TEST_PROGRAM_NO_PIE), "constructor 0\nmain 0 0\n");
  EXPECT_EQ(run("", MNEME_TEST_PROGRAM, MNEME_TEST_LIBRARY), "constructor 0\nmain 0 0\nlibrary 0\n");
}

TEST(Recordable, InterposerIsThereBeforeRegistration) {
  EXPECT_EQ(run("MNEME_INTERPOSERS=" MNEME_TEST_INTERPOSER, MNEME_TEST_PROGRAM), "constructor 1100\nmain 1100 0\n");
  EXPECT_EQ(run("MNEME_INTERPOSERS=" MNEME_TEST_INTERPOSER, MNEME_TEST_PROGRAM_NO_PIE), "constructor 1100\nmain 1100 0\n");
}

TEST(Recordable, EachObjectHasItsOwnTable) {
  EXPECT_EQ(run("MNEME_INTERPOSERS=" MNEME_TEST_INTERPOSER, MNEME_TEST_PROGRAM, MNEME_TEST_LIBRARY),
            "constructor 1100\nmain 1100 0\nlibrary 2100\n");
}

TEST(Recordable, AnnotationsReachTheInterposer) {
  for (const char* program : {MNEME_TEST_PROGRAM, MNEME_TEST_PROGRAM_NO_PIE})
    EXPECT_EQ(run("MNEME_TEST_ANNOTATE=1 MNEME_INTERPOSERS=" MNEME_TEST_INTERPOSER, program),
              "constructor 1100\nannotation 0: 3 elements of 4 within 0.5, error 1, norm 2, nan 1, tag data\nmain 1100 0\n");
}

TEST(Recordable, AnnotationsDoNothingInAProgramThatIsNotRecordable) {
  for (const char* program : {MNEME_TEST_PLAIN_PROGRAM, MNEME_TEST_PLAIN_PROGRAM_NO_PIE})
    EXPECT_EQ(run("MNEME_INTERPOSERS=" MNEME_TEST_INTERPOSER, program), "constructor 0\nmain 0 0\n");
}

TEST(Recordable, SaysWhichInterposerIsMissing) {
  EXPECT_EQ(run("MNEME_INTERPOSERS=/nowhere.so", MNEME_TEST_PROGRAM),
            "mneme: warning: " MNEME_TEST_PROGRAM
            " goes on without the interposer /nowhere.so: /nowhere.so: cannot open shared object file: No such "
            "file or directory\nconstructor 0\nmain 0 0\n");
  EXPECT_EQ(run("MNEME_INTERPOSERS=" MNEME_TEST_STUB, MNEME_TEST_PROGRAM),
            "mneme: warning: " MNEME_TEST_PROGRAM " goes on without the interposer " MNEME_TEST_STUB
            ": it does not export mneme_attach\nconstructor 0\nmain 0 0\n");
}

TEST(ObjectFile, TellsRecordableFilesFromOthers) {
  auto read = [](const char* path) {
    auto file = FileSystem::posix().read(path);
    return read_object_file(*file, path);
  };
  Result<ObjectFile> program = read(MNEME_TEST_PROGRAM);
  ASSERT_TRUE(program.ok()) << program.status().to_string();
  EXPECT_TRUE(program->recordable);
  EXPECT_FALSE(program->device_code);
  EXPECT_TRUE(check_note(program->note, "app").ok());
  EXPECT_NE(std::find(program->needed.begin(), program->needed.end(), "libmneme_stub_cudart.so"), program->needed.end());
  EXPECT_TRUE(read(MNEME_TEST_LIBRARY)->recordable);
  EXPECT_FALSE(read(MNEME_TEST_INTERPOSER)->recordable);
  EXPECT_EQ(read_object_file(std::as_bytes(std::span("#!/bin/sh")), "script").status().to_string(),
            "invalid_argument: script is not a program file (64-bit ELF)");
}

TEST(ObjectFile, RefusesTruncatedFiles) {
  ByteVector whole = *FileSystem::posix().read(MNEME_TEST_PROGRAM);
  for (size_t size : {size_t{64}, size_t{100}, whole.size() / 2, whole.size() - 1}) {
    Result<ObjectFile> object = read_object_file(ByteSpan(whole).first(size), "cut");
    ASSERT_FALSE(object.ok()) << size;
    EXPECT_EQ(object.status().code(), Code::corrupt);
    EXPECT_NE(object.status().message().find("cut: offset "), std::string::npos);
  }
}

TEST(ObjectFile, ComparesVersions) {
  EXPECT_EQ(check_note({7, MNEME_CALL_COUNT, MNEME_CUDA_CALLS_DIGEST}, "app").message(),
            "app was linked by a Mneme with ABI version 7, this one has 2: link it again with `mneme config ldflags`");
  EXPECT_EQ(check_note({MNEME_ABI_VERSION, 1, 0}, "app").code(), Code::incompatible);
}

}  // namespace
}  // namespace mneme

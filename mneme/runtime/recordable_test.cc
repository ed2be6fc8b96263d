#include "mneme/runtime/recordable.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "mneme/base/file_system.h"
#include "mneme/base/testing/temporary_folder.h"
#include "mneme/runtime/testing/run_program.h"

namespace mneme {
namespace {

using testing::run_program;

TEST(Recordable, ForwardsWhenNothingIsAsked) {
  EXPECT_EQ(run_program("", MNEME_TEST_PROGRAM), "constructor 0\nmain 0 0\n");
  EXPECT_EQ(run_program("MNEME_INTERPOSERS=", MNEME_TEST_PROGRAM), "constructor 0\nmain 0 0\n");
  EXPECT_EQ(run_program("", MNEME_TEST_PROGRAM_NO_PIE), "constructor 0\nmain 0 0\n");
  EXPECT_EQ(run_program("", MNEME_TEST_PROGRAM, MNEME_TEST_LIBRARY), "constructor 0\nmain 0 0\nlibrary 0\n");
}

TEST(Recordable, InterposerIsThereBeforeRegistration) {
  EXPECT_EQ(run_program("MNEME_INTERPOSERS=" MNEME_TEST_INTERPOSER, MNEME_TEST_PROGRAM), "constructor 1100\nmain 1100 0\n");
  EXPECT_EQ(run_program("MNEME_INTERPOSERS=" MNEME_TEST_INTERPOSER, MNEME_TEST_PROGRAM_NO_PIE),
            "constructor 1100\nmain 1100 0\n");
}

TEST(Recordable, DeployedCodeNeedsNoCommand) {
  const TemporaryDirectory folder;
  std::filesystem::create_symlink(MNEME_TEST_INTERPOSER, folder.path() / "libmneme_tuned.so");
  const std::string tuned = "MNEME_TUNED=app.tuned LD_LIBRARY_PATH=" + folder.path().string();
  EXPECT_EQ(run_program(tuned, MNEME_TEST_PROGRAM), "constructor 1100\nmain 1100 0\n");
  EXPECT_EQ(run_program(tuned + " MNEME_INTERPOSERS=" MNEME_TEST_INTERPOSER, MNEME_TEST_PROGRAM),
            "constructor 1100\nmain 1100 0\n")
      << "once: those that are named are all";
  EXPECT_EQ(run_program("MNEME_TUNED=", MNEME_TEST_PROGRAM), "constructor 0\nmain 0 0\n");
}

TEST(Recordable, EachObjectHasItsOwnTable) {
  EXPECT_EQ(run_program("MNEME_INTERPOSERS=" MNEME_TEST_INTERPOSER, MNEME_TEST_PROGRAM, MNEME_TEST_LIBRARY),
            "constructor 1100\nmain 1100 0\nlibrary 2100\n");
}

TEST(Recordable, AnnotationsReachTheInterposer) {
  for (const char* program : {MNEME_TEST_PROGRAM, MNEME_TEST_PROGRAM_NO_PIE})
    EXPECT_EQ(run_program("MNEME_TEST_ANNOTATE=1 MNEME_INTERPOSERS=" MNEME_TEST_INTERPOSER, program),
              "constructor 1100\nannotation 0: 3 elements of 4 within 0.5, error 1, norm 2, nan 1, tag data\nmain 1100 0\n");
}

TEST(Recordable, AnnotationsDoNothingInAProgramThatIsNotRecordable) {
  for (const char* program : {MNEME_TEST_PLAIN_PROGRAM, MNEME_TEST_PLAIN_PROGRAM_NO_PIE})
    EXPECT_EQ(run_program("MNEME_INTERPOSERS=" MNEME_TEST_INTERPOSER, program), "constructor 0\nmain 0 0\n");
}

TEST(Recordable, SaysWhichInterposerIsMissing) {
  EXPECT_EQ(run_program("MNEME_INTERPOSERS=/nowhere.so", MNEME_TEST_PROGRAM),
            "mneme: warning: " MNEME_TEST_PROGRAM
            " goes on without the interposer /nowhere.so: /nowhere.so: cannot open shared object file: No such "
            "file or directory\nconstructor 0\nmain 0 0\n");
  EXPECT_EQ(run_program("MNEME_INTERPOSERS=" MNEME_TEST_STUB, MNEME_TEST_PROGRAM),
            "mneme: warning: " MNEME_TEST_PROGRAM " goes on without the interposer " MNEME_TEST_STUB
            ": it does not export mneme_attach\nconstructor 0\nmain 0 0\n");
}

TEST(Recordable, AMissingInterposerKeepsNoOtherFromBeingLoaded) {
  const std::string warning =
      "mneme: warning: " MNEME_TEST_PROGRAM
      " goes on without the interposer /nowhere.so: /nowhere.so: cannot open shared object file: No such file or directory\n";
  EXPECT_EQ(run_program("MNEME_INTERPOSERS=/nowhere.so:" MNEME_TEST_INTERPOSER, MNEME_TEST_PROGRAM),
            warning + "constructor 1100\nmain 1100 0\n");
  EXPECT_EQ(run_program("MNEME_INTERPOSERS=" MNEME_TEST_INTERPOSER ":/nowhere.so", MNEME_TEST_PROGRAM),
            warning + "constructor 1100\nmain 1100 0\n");
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

// An ELF file with sections of these names and contents, and a dynamic section.
ByteVector make_object(const std::vector<std::pair<std::string, size_t>>& sections, const std::vector<Elf64_Dyn>& dynamic,
                       const std::string& texts) {
  std::string names(1, '\0');
  std::vector<Elf64_Shdr> headers(1);
  std::string content;
  const auto add = [&](const std::string& name, uint32_t type, const void* data, size_t size) -> Elf64_Shdr& {
    Elf64_Shdr& header = headers.emplace_back();
    header.sh_name = static_cast<uint32_t>(names.size());
    header.sh_type = type;
    header.sh_offset = sizeof(Elf64_Ehdr) + content.size();
    header.sh_size = size;
    names += name + '\0';
    if (data) content.append(static_cast<const char*>(data), size);
    return header;
  };
  for (const auto& [name, size] : sections) add(name, SHT_PROGBITS, std::string(size, 'x').data(), size);
  add(".dynstr", SHT_STRTAB, texts.data(), texts.size());
  const auto strings = static_cast<uint32_t>(headers.size() - 1);
  add(".dynamic", SHT_DYNAMIC, dynamic.data(), dynamic.size() * sizeof(Elf64_Dyn)).sh_link = strings;
  Elf64_Shdr& last = add(".shstrtab", SHT_STRTAB, nullptr, 0);
  last.sh_size = names.size();
  content += names;
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_machine = EM_X86_64;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<uint16_t>(headers.size());
  header.e_shstrndx = static_cast<uint16_t>(headers.size() - 1);
  header.e_shoff = sizeof header + content.size();
  ByteVector out(sizeof header + content.size() + headers.size() * sizeof(Elf64_Shdr));
  std::memcpy(out.data(), &header, sizeof header);
  std::memcpy(out.data() + sizeof header, content.data(), content.size());
  std::memcpy(out.data() + header.e_shoff, headers.data(), headers.size() * sizeof(Elf64_Shdr));
  return out;
}

TEST(ObjectFile, SaysWhereItLooksForWhichLibraries) {
  const std::string texts("\0liba.so\0/one:$ORIGIN/two:/three\0/old\0libb.so\0", 50);
  const auto at = [&](const char* text) { return texts.find(text); };
  std::vector<Elf64_Dyn> entries;
  for (const auto& [tag, text] : std::vector<std::pair<Elf64_Sxword, const char*>>{
           {DT_NEEDED, "liba.so"}, {DT_RPATH, "/old"}, {DT_RUNPATH, "/one:"}, {DT_SONAME, "/one:"}, {DT_NEEDED, "libb.so"}}) {
    Elf64_Dyn entry{};
    entry.d_tag = tag;
    entry.d_un.d_val = at(text);
    entries.push_back(entry);
  }
  Result<ObjectFile> object = read_object_file(make_object({}, entries, texts), "x");
  ASSERT_TRUE(object.ok()) << object.status().to_string();
  EXPECT_EQ(object->needed, (std::vector<std::string>{"liba.so", "libb.so"}));
  EXPECT_EQ(object->run_path, (std::vector<std::string>{"/old", "/one", "$ORIGIN/two", "/three"}));
}

TEST(ObjectFile, IsOfThisMachine) {
  ByteVector other = make_object({}, {}, std::string(1, '\0'));
  EXPECT_TRUE(read_object_file(other, "x").ok());
  other[offsetof(Elf64_Ehdr, e_machine)] = std::byte{EM_AARCH64};
  EXPECT_EQ(read_object_file(other, "x").status().to_string(), "invalid_argument: x is a program for another machine (183)");
}

TEST(ObjectFile, TellsDeviceCodeFromWhatTheLinkerDropped) {
  const auto read = [](const std::vector<std::pair<std::string, size_t>>& sections) {
    return *read_object_file(make_object(sections, {}, std::string(1, '\0')), "x");
  };
  EXPECT_TRUE(read({{".nv_fatbin", 8}}).device_code);
  EXPECT_FALSE(read({{".nv_fatbin", 0}}).device_code) << "an empty section has none";
  EXPECT_FALSE(read({{".text", 8}}).device_code);
  EXPECT_TRUE(read({{"llvm_offload_entries", 8}}).dropped_device_code);
  EXPECT_TRUE(read({{"llvm_offload_entries", 8}, {".nv_fatbin", 0}}).dropped_device_code);
  EXPECT_FALSE(read({{"llvm_offload_entries", 8}, {".nv_fatbin", 8}}).dropped_device_code);
  EXPECT_FALSE(read({{".nv_fatbin", 8}, {"llvm_offload_entries", 8}}).dropped_device_code);
  EXPECT_FALSE(read({{".text", 8}}).dropped_device_code);
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
            "app was linked by a Mneme with ABI version 7, this one has 3: link it again with `mneme config ldflags`");
  EXPECT_EQ(check_note({MNEME_ABI_VERSION, 1, 0}, "app").code(), Code::incompatible);
}

}  // namespace
}  // namespace mneme

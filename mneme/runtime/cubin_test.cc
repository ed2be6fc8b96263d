// What is kept of a program's cubin beside a kernel's IR.
#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "mneme/abi/segment.h"
#include "mneme/runtime/device_code.h"
#include "mneme/runtime/testing/device_image.h"

namespace mneme {
namespace {

using testing::bytes_of;

struct TestSection {
  std::string name;
  uint32_t type = SHT_PROGBITS;
  ByteVector content = {};
  uint32_t link = 0;
};

// A cubin with the kernels `one` and `two`, a function that is none, and a segment of Mneme's beside a variable.
class MadeCubin {
 public:
  MadeCubin() {
    add({".text.one", SHT_PROGBITS, bytes_of("code of one")});
    add({".text.two", SHT_PROGBITS, bytes_of("code of two")});
    add({".rel.text.two", SHT_REL, bytes_of("references of 2")});
    add({".text.called", SHT_PROGBITS, bytes_of("code of called")});
    add({".nv.info.two", SHT_PROGBITS, bytes_of("attributes of two")});
    add({".nv.global.init", SHT_PROGBITS, bytes_of("segmentvariable")});
    constexpr unsigned char kKernel = 0x10;
    symbol("one", 1, STT_FUNC, kKernel, 0, 11);
    symbol("two", 2, STT_FUNC, kKernel, 0, 11);
    symbol("called", 4, STT_FUNC, 0, 0, 14);
    symbol(MNEME_SEGMENT_PREFIX "0", 6, STT_OBJECT, 0, 0, 7);
    symbol("variable", 6, STT_OBJECT, 0, 7, 8);
  }

  // The kernel needs a function of the device's system.
  MadeCubin& needs(const std::string& kernel, const std::string& function) {
    const uint32_t attribute[] = {0x00040f04, static_cast<uint32_t>(symbols_.size())};  // a list of symbols, in 4 bytes
    symbol(function, SHN_UNDEF, STT_FUNC, 0, 0, 0);
    const ByteSpan content = std::as_bytes(std::span(attribute));
    add({".nv.info." + kernel, SHT_PROGBITS, {content.begin(), content.end()}});
    return *this;
  }

  MadeCubin& has_variable(const std::string& name) {
    symbol(name, 6, STT_OBJECT, 0, 7, 8);
    return *this;
  }

  ByteVector build() {
    const auto names_of_symbols = static_cast<uint32_t>(sections_.size() + 2);
    const ByteSpan symbols = std::as_bytes(std::span(symbols_));
    add({".symtab", SHT_SYMTAB, {symbols.begin(), symbols.end()}, names_of_symbols});
    add({".strtab", SHT_STRTAB, bytes_of(strings_)});
    add({".shstrtab", SHT_STRTAB});
    std::string names(1, '\0');
    std::vector<Elf64_Shdr> headers(1);
    for (const TestSection& section : sections_) {
      Elf64_Shdr& header = headers.emplace_back();
      header.sh_name = static_cast<uint32_t>(names.size());
      header.sh_type = section.type;
      header.sh_link = section.link;
      names += section.name + '\0';
    }
    sections_.back().content = bytes_of(names);
    Elf64_Ehdr file{};
    std::memcpy(file.e_ident, ELFMAG, SELFMAG);
    file.e_ident[EI_CLASS] = ELFCLASS64;
    file.e_machine = 190;
    file.e_shentsize = sizeof(Elf64_Shdr);
    file.e_shnum = static_cast<uint16_t>(headers.size());
    file.e_shstrndx = static_cast<uint16_t>(headers.size() - 1);
    file.e_shoff = sizeof file;
    uint64_t offset = sizeof file + headers.size() * sizeof(Elf64_Shdr);
    for (size_t i = 0; i < sections_.size(); ++i) {
      headers[i + 1].sh_offset = offset;
      offset += headers[i + 1].sh_size = sections_[i].content.size();
    }
    ByteVector out;
    const auto append = [&](ByteSpan bytes) { out.insert(out.end(), bytes.begin(), bytes.end()); };
    append(std::as_bytes(std::span(&file, 1)));
    append(std::as_bytes(std::span(headers)));
    for (const TestSection& section : sections_) append(section.content);
    return out;
  }

 private:
  void add(TestSection section) { sections_.push_back(std::move(section)); }
  void symbol(const std::string& name, uint16_t section, unsigned char type, unsigned char other, uint64_t at, uint64_t size) {
    Elf64_Sym& made = symbols_.emplace_back();
    made.st_name = static_cast<uint32_t>(strings_.size());
    made.st_info = ELF64_ST_INFO(STB_GLOBAL, type);
    made.st_other = other;
    made.st_shndx = section;
    made.st_value = at;
    made.st_size = size;
    strings_ += name + '\0';
  }

  std::vector<TestSection> sections_;
  std::vector<Elf64_Sym> symbols_ = std::vector<Elf64_Sym>(1);
  std::string strings_ = std::string(1, '\0');
};

bool holds(const ByteVector& bytes, std::string_view text) {
  const ByteVector wanted = bytes_of(text);
  return std::search(bytes.begin(), bytes.end(), wanted.begin(), wanted.end()) != bytes.end();
}

TEST(KeepKernel, LeavesOutOtherKernelsCodeAndSegmentsAlone) {
  const ByteVector cubin = MadeCubin().build();
  const auto kept = keep_kernel(cubin, "one", "x");
  ASSERT_TRUE(kept.ok()) << kept.status().to_string();
  EXPECT_EQ(kept->size(), cubin.size());
  for (const char* text : {"code of one", "code of called", "attributes of two", "variable", ".text.two"})
    EXPECT_TRUE(holds(*kept, text)) << text;
  for (const char* text : {"code of two", "references of 2", "segmentvariable"}) EXPECT_FALSE(holds(*kept, text)) << text;
  EXPECT_EQ(read_cubin_kernel(*kept, "one", "x")->digest, read_cubin_kernel(cubin, "one", "x")->digest);
}

TEST(KeepKernel, WhatHasNoSuchKernelIsRefused) {
  EXPECT_EQ(keep_kernel(MadeCubin().build(), "called", "x").status().to_string(), "not_found: x: the cubin has no kernel called");
  EXPECT_EQ(keep_kernel(bytes_of("no cubin"), "one", "x").status().code(), Code::corrupt);
}

TEST(CubinKernel, SaysWhatItNeedsOfTheDevicesSystem) {
  const auto kernel_of = [](const std::string& function, const char* name) {
    return read_cubin_kernel(MadeCubin().needs("one", function).build(), name, "x").value();
  };
  for (const char* function : {"malloc", "free"}) EXPECT_TRUE(kernel_of(function, "one").allocates) << function;
  EXPECT_FALSE(kernel_of("malloc", "one").launches);
  EXPECT_FALSE(kernel_of("malloc", "two").allocates);
  EXPECT_TRUE(kernel_of("__cuda_syscall_cnpv2LaunchDeviceV2", "one").launches);
  EXPECT_FALSE(kernel_of("__cuda_syscall_cnpv2LaunchDeviceV2", "two").launches);
  EXPECT_FALSE(kernel_of("vprintf", "one").allocates || kernel_of("vprintf", "one").launches);
}

// These hold addresses, which are others in each process.
TEST(CubinVariables, AreNoneOfTheDeviceRuntime) {
  MadeCubin cubin;
  for (const char* name : {"__nv_static_52__f4510a67_22_cuda_device_runtime_cu_3ecce0c0_2317245_set_kernel32", "cudartErrorTable",
                           "cudartErrorCnpMapEntryCount", "__CNPRT_VERSION_NUMBER__"})
    cubin.has_variable(name);
  const auto found = read_cubin_variables(cubin.has_variable("cuda_device_count").build(), "x");
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ((*found)[0].name, "cuda_device_count");
  EXPECT_EQ((*found)[1].name, "variable");
}

// What it launches is code of the cubin, and which, the instructions would have to tell.
TEST(CubinKernel, ThatLaunchesIsTheWholeCubin) {
  const auto kernel_of = [](MadeCubin cubin) { return read_cubin_kernel(cubin.build(), "one", "x").value(); };
  const std::string launch = "__cuda_syscall_cnpv2LaunchDeviceV2";
  const CubinKernel launching = kernel_of(MadeCubin().needs("one", launch));
  EXPECT_NE(launching.digest, kernel_of(MadeCubin().needs("one", launch).needs("two", "vprintf")).digest);
  EXPECT_FALSE(launching.allocates);
  EXPECT_TRUE(kernel_of(MadeCubin().needs("one", launch).needs("two", "malloc")).allocates);
}

}  // namespace
}  // namespace mneme

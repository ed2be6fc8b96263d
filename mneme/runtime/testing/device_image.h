// For tests: makes segments, device ELF files and fat binaries by hand, in the layouts that the compiler plugin, ptxas and
// fatbinary give them.
#pragma once

#include <elf.h>
#include <xxhash.h>

#include <cstring>
#include <string>
#include <vector>

#include "mneme/abi/segment.h"
#include "mneme/base/compress.h"
#include "mneme/base/types.h"

namespace mneme::testing {

inline ByteVector bytes_of(std::string_view text) {
  ByteSpan bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

struct TestParameter {
  mneme_param_kind kind;
  uint64_t offset, size;
  std::string name;
  std::string type = "i32";
  uint32_t alignment = 4;
};
struct TestGlobal {
  std::string name;
  uint64_t size;
  uint32_t flags = 0;
  std::string ir_name = {};
  uint32_t alignment = 16;
};
struct TestSegment {
  mneme_segment_kind kind = MNEME_SEGMENT_KERNEL;
  std::string name = "kernel";
  std::string ir_name = {};  // empty: the same
  std::vector<TestParameter> parameters = {};
  uint64_t parameter_bytes = 0;
  std::vector<TestGlobal> globals = {};
  std::vector<std::string> needs = {};
  uint64_t uses = 0;  // enum mneme_segment_uses
  std::string bitcode = "bitcode";
  std::vector<std::pair<uint64_t, uint64_t>> padding = {};  // offset and size
  uint8_t hash = 7;                                         // the first byte of the static hash
  mneme_segment_target target = MNEME_TARGET_NVPTX;
  std::vector<std::pair<uint64_t, uint64_t>> numbers = {};  // offset and size

  ByteVector build() const {
    ByteVector out(sizeof(mneme_segment_header));
    auto append = [&](const void* data, size_t size) {
      size_t at = out.size();
      out.resize(at + size);
      std::memcpy(out.data() + at, data, size);
      return static_cast<uint32_t>(at);
    };
    auto string = [&](const std::string& text) {
      return mneme_segment_string{append(text.data(), text.size()), static_cast<uint32_t>(text.size())};
    };
    mneme_segment_header header{};
    std::memcpy(header.magic, MNEME_SEGMENT_MAGIC, 8);
    header.abi_version = MNEME_ABI_VERSION;
    header.header_bytes = sizeof header;
    header.kind = kind;
    header.target = target;
    header.static_hash[0] = hash;
    header.name = string(name);
    header.ir_name = string(ir_name.empty() ? name : ir_name);
    header.source = string("file.cu:12");
    header.arch = string("sm_90");
    header.pipeline = string("default<O2>");
    header.uses = uses;
    std::vector<mneme_segment_param> parameter_rows;
    for (const TestParameter& parameter : parameters)
      parameter_rows.push_back({parameter.kind, parameter.alignment, parameter.offset, parameter.size, string(parameter.name),
                                string(parameter.type)});
    header.params_offset = append(parameter_rows.data(), parameter_rows.size() * sizeof(mneme_segment_param));
    header.params_count = static_cast<uint32_t>(parameter_rows.size());
    std::vector<mneme_segment_global> global_rows;
    for (const TestGlobal& global : globals)
      global_rows.push_back({string(global.name), global.size, global.alignment, global.flags,
                             string(global.ir_name.empty() ? global.name : global.ir_name)});
    header.globals_offset = append(global_rows.data(), global_rows.size() * sizeof(mneme_segment_global));
    header.globals_count = static_cast<uint32_t>(global_rows.size());
    std::vector<mneme_segment_range> padding_rows;
    for (const auto& [offset, size] : padding) padding_rows.push_back({offset, size});
    header.padding_offset = append(padding_rows.data(), padding_rows.size() * sizeof(mneme_segment_range));
    header.padding_count = static_cast<uint32_t>(padding_rows.size());
    std::vector<mneme_segment_range> number_rows;
    for (const auto& [offset, size] : numbers) number_rows.push_back({offset, size});
    header.numbers_offset = append(number_rows.data(), number_rows.size() * sizeof(mneme_segment_range));
    header.numbers_count = static_cast<uint32_t>(number_rows.size());
    std::vector<mneme_segment_string> need_rows;
    for (const std::string& symbol : needs) need_rows.push_back(string(symbol));
    header.needs_offset = append(need_rows.data(), need_rows.size() * sizeof(mneme_segment_string));
    header.needs_count = static_cast<uint32_t>(need_rows.size());
    ByteVector raw = bytes_of(bitcode), packed = compress(raw);
    header.ir_offset = append(packed.data(), packed.size());
    header.ir_bytes = packed.size();
    header.ir_raw_bytes = raw.size();
    header.param_bytes = parameter_bytes;
    header.total_bytes = out.size();
    std::memcpy(out.data(), &header, sizeof header);
    seal(out);
    return out;
  }

  // Makes the checksum right again after a test has changed bytes.
  static void seal(ByteVector& segment) {
    uint64_t checksum = XXH3_64bits(segment.data() + sizeof(mneme_segment_header), segment.size() - sizeof(mneme_segment_header));
    std::memcpy(segment.data() + offsetof(mneme_segment_header, checksum), &checksum, sizeof checksum);
  }
};

// A variable with its initial value.
using TestVariable = std::pair<std::string, std::vector<int>>;

// A device ELF whose section .nv.global.init holds each of `segments` as a symbol, and the variables. `address` is where the
// section would lie, from which symbols are counted.
inline ByteVector make_device_elf(const std::vector<ByteVector>& segments, const std::vector<TestVariable>& variables = {},
                                  uint64_t address = 0) {
  ByteVector content;
  std::string strings(1, '\0');
  std::vector<Elf64_Sym> symbols(1);
  auto add = [&](const std::string& name, ByteSpan value) {
    content.resize((content.size() + 7) / 8 * 8);
    Elf64_Sym symbol{};
    symbol.st_name = static_cast<uint32_t>(strings.size());
    symbol.st_shndx = 1;
    symbol.st_value = address + content.size();
    symbol.st_size = value.size();
    symbols.push_back(symbol);
    strings += name + '\0';
    content.insert(content.end(), value.begin(), value.end());
  };
  for (size_t i = 0; i < segments.size(); ++i) add(MNEME_SEGMENT_PREFIX + std::to_string(i), segments[i]);
  for (const auto& [name, value] : variables) add(name, std::as_bytes(std::span(value)));
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = ET_EXEC;
  header.e_machine = 190;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 4;
  header.e_shoff = sizeof header;
  Elf64_Shdr sections[4] = {};
  uint64_t offset = sizeof header + sizeof sections;
  sections[1].sh_type = SHT_PROGBITS;
  sections[1].sh_addr = address;
  sections[1].sh_offset = offset;
  sections[1].sh_size = content.size();
  sections[2].sh_type = SHT_SYMTAB;
  sections[2].sh_link = 3;
  sections[2].sh_offset = offset += content.size();
  sections[2].sh_size = symbols.size() * sizeof(Elf64_Sym);
  sections[3].sh_type = SHT_STRTAB;
  sections[3].sh_offset = offset += sections[2].sh_size;
  sections[3].sh_size = strings.size();
  ByteVector out;
  auto append = [&](const void* data, size_t size) {
    auto* begin = static_cast<const std::byte*>(data);
    out.insert(out.end(), begin, begin + size);
  };
  append(&header, sizeof header);
  append(sections, sizeof sections);
  append(content.data(), content.size());
  append(symbols.data(), symbols.size() * sizeof(Elf64_Sym));
  append(strings.data(), strings.size());
  return out;
}

// An AMD code object, whose section .mneme holds the segments one behind another.
inline ByteVector make_code_object(const std::vector<ByteVector>& segments) {
  constexpr std::string_view kNames("\0.mneme\0.shstrtab\0", 18);
  ByteVector content;
  for (const ByteVector& segment : segments) {
    content.insert(content.end(), segment.begin(), segment.end());
    content.resize((content.size() + 7) / 8 * 8);
  }
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = ET_DYN;
  header.e_machine = 224;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 3;
  header.e_shstrndx = 2;
  header.e_shoff = sizeof header;
  Elf64_Shdr sections[3] = {};
  sections[1].sh_name = 1;
  sections[1].sh_type = SHT_PROGBITS;
  sections[1].sh_offset = sizeof header + sizeof sections;
  sections[1].sh_size = content.size();
  sections[2].sh_name = 8;
  sections[2].sh_type = SHT_STRTAB;
  sections[2].sh_offset = sections[1].sh_offset + content.size();
  sections[2].sh_size = kNames.size();
  ByteVector out;
  auto append = [&](const void* data, size_t size) {
    auto* begin = static_cast<const std::byte*>(data);
    out.insert(out.end(), begin, begin + size);
  };
  append(&header, sizeof header);
  append(sections, sizeof sections);
  append(content.data(), content.size());
  append(kNames.data(), kNames.size());
  return out;
}

// A bundle of code objects, by their names in it: "hipv4-amdgcn-amd-amdhsa--gfx90a".
inline ByteVector make_bundle(const std::vector<std::pair<std::string, ByteVector>>& entries) {
  ByteVector out = bytes_of("__CLANG_OFFLOAD_BUNDLE__");
  auto append = [&](ByteSpan bytes) { out.insert(out.end(), bytes.begin(), bytes.end()); };
  auto word = [&](uint64_t value) { append(std::as_bytes(std::span(&value, 1))); };
  uint64_t offset = 32;
  for (const auto& [name, content] : entries) offset += 24 + name.size();
  word(entries.size());
  for (const auto& [name, content] : entries) {
    word(offset);
    word(content.size());
    word(name.size());
    append(std::as_bytes(std::span(name)));
    offset += content.size();
  }
  for (const auto& [name, content] : entries) append(content);
  return out;
}

// What a program's registration code passes to __hipRegisterFatBinary.
struct TestBundleWrapper {
  uint32_t magic = 0x48495046;
  uint32_t version = 1;
  const std::byte* bundle = nullptr;
  const void* unused = nullptr;
};

struct TestFatEntry {
  uint16_t kind = 2;
  uint32_t sm = 90;
  ByteVector data;
  uint64_t flags = 0x11;
};

inline ByteVector make_fat_binary(const std::vector<TestFatEntry>& entries) {
  ByteVector out(16);
  for (const TestFatEntry& entry : entries) {
    size_t at = out.size();
    uint64_t padded = (entry.data.size() + 7) / 8 * 8;
    out.resize(at + 64 + padded);
    auto put = [&](size_t offset, auto value) { std::memcpy(out.data() + at + offset, &value, sizeof value); };
    put(0, entry.kind);
    put(2, uint16_t{0x101});
    put(4, uint32_t{64});
    put(8, padded);
    put(28, entry.sm);
    put(40, entry.flags);
    std::memcpy(out.data() + at + 64, entry.data.data(), entry.data.size());
  }
  uint32_t magic = 0xBA55ED50;
  uint16_t version = 1, header_bytes = 16;
  uint64_t content = out.size() - 16;
  std::memcpy(out.data(), &magic, 4);
  std::memcpy(out.data() + 4, &version, 2);
  std::memcpy(out.data() + 6, &header_bytes, 2);
  std::memcpy(out.data() + 8, &content, 8);
  return out;
}

// What a program's registration code passes to __cudaRegisterFatBinary.
struct TestWrapper {
  uint32_t magic = 0x466243B1;
  uint32_t version = 1;
  const std::byte* fat_binary = nullptr;
  const void* prelinked = nullptr;
};

}  // namespace mneme::testing

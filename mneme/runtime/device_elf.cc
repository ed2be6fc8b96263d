// What is in a device ELF: segments, and the initial values of variables.
#include <algorithm>

#include "mneme/runtime/elf_view.h"
#include "mneme/runtime/segments.h"

namespace mneme {
namespace {

bool begins_segment(ByteSpan bytes) {
  return bytes.size() >= sizeof(mneme_segment_header) && std::memcmp(bytes.data(), MNEME_SEGMENT_MAGIC, 8) == 0;
}

void add_segment(SegmentTable& table, const ElfView& elf, const Elf64_Sym& symbol, const std::string& name) {
  Result<ByteSpan> bytes = elf.bytes_of(symbol);
  if (!bytes.ok()) return table.damaged.push_back(bytes.status());
  Result<EmbeddedSegment> segment = parse_segment(*bytes, name);
  if (!segment.ok()) return table.damaged.push_back(segment.status());
  table.segments.push_back(std::move(*segment));
}

// NVIDIA: each segment is what a symbol names.
Result<SegmentTable> read_at_symbols(const ElfView& elf, const std::string& name) {
  SegmentTable table;
  MNEME_TRY(elf.visit_symbols([&](const Elf64_Sym& symbol, std::string_view symbol_name) {
    if (symbol_name.starts_with(MNEME_SEGMENT_PREFIX)) add_segment(table, elf, symbol, name);
  }));
  return table;
}

// AMD: one segment stands behind another. Behind a damaged one the next begins where its magic is.
void read_all(SegmentTable& table, ByteSpan bytes, const std::string& name) {
  while (!bytes.empty()) {
    Result<EmbeddedSegment> segment = parse_segment(bytes, name);
    uint64_t size = 8;
    if (segment.ok()) {
      size = (segment->bytes.size() + 7) / 8 * 8;
      table.segments.push_back(std::move(*segment));
    } else {
      table.damaged.push_back(segment.status());
      while (size < bytes.size() && !begins_segment(bytes.subspan(size))) size += 8;
    }
    bytes = bytes.subspan(std::min<uint64_t>(size, bytes.size()));
  }
}

Result<SegmentTable> read_section(const ElfView& elf, const std::string& name) {
  SegmentTable table;
  for (uint64_t index = 0; index < elf.section_count(); ++index) {
    MNEME_ASSIGN(const Elf64_Shdr section, elf.section(index));
    if (section.sh_type != SHT_PROGBITS) continue;
    MNEME_ASSIGN(const std::string_view section_name, elf.name_of(section));
    if (section_name != MNEME_SEGMENT_SECTION) continue;
    MNEME_ASSIGN(const ByteSpan content, elf.content(section));
    read_all(table, content, name);
  }
  return table;
}

struct Reader {
  uint16_t machine;
  Result<SegmentTable> (*read)(const ElfView& elf, const std::string& name);
};
constexpr Reader kReaders[] = {{kMachineCuda, read_at_symbols}, {kMachineAmdGpu, read_section}};

}  // namespace

Result<SegmentTable> read_segments(ByteSpan device_elf, const std::string& name) {
  MNEME_ASSIGN(ElfView elf, ElfView::open_any(device_elf, name));
  for (const auto& [machine, read] : kReaders)
    if (elf.header().e_machine == machine) return read(elf, name);
  return error(Code::incompatible, "{}: a device ELF for machine {}, {} (CUDA) or {} (AMD GPU) expected", name,
               elf.header().e_machine, kMachineCuda, kMachineAmdGpu);
}

ByteSpan find_initial_value(ByteSpan device_elf, std::string_view variable) {
  std::string name(variable);
  Result<ElfView> elf = ElfView::open_any(device_elf, name);
  if (!elf.ok()) return {};
  ByteSpan value;
  [[maybe_unused]] Status status = elf->visit_symbols([&](const Elf64_Sym& symbol, std::string_view symbol_name) {
    if (symbol_name != variable) return;
    if (Result<ByteSpan> bytes = elf->bytes_of(symbol); bytes.ok()) value = *bytes;
  });
  return value;
}

}  // namespace mneme

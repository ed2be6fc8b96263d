// What is in a device ELF: segments, and the initial values of variables.
#include "mneme/runtime/elf_view.h"
#include "mneme/runtime/segments.h"

namespace mneme {
namespace {

void add_segment(SegmentTable& table, const ElfView& elf, const Elf64_Sym& symbol, const std::string& name) {
  Result<ByteSpan> bytes = elf.bytes_of(symbol);
  if (!bytes.ok()) return table.damaged.push_back(bytes.status());
  Result<EmbeddedSegment> segment = parse_segment(*bytes, name);
  if (!segment.ok()) return table.damaged.push_back(segment.status());
  table.segments.push_back(std::move(*segment));
}

}  // namespace

Result<SegmentTable> read_segments(ByteSpan device_elf, const std::string& name) {
  MNEME_ASSIGN(ElfView elf, ElfView::open(device_elf, name));
  SegmentTable table;
  MNEME_TRY(elf.visit_symbols([&](const Elf64_Sym& symbol, std::string_view symbol_name) {
    if (symbol_name.starts_with(MNEME_SEGMENT_PREFIX)) add_segment(table, elf, symbol, name);
  }));
  return table;
}

ByteSpan find_initial_value(ByteSpan device_elf, std::string_view variable) {
  std::string name(variable);
  Result<ElfView> elf = ElfView::open(device_elf, name);
  if (!elf.ok()) return {};
  ByteSpan value;
  [[maybe_unused]] Status status = elf->visit_symbols([&](const Elf64_Sym& symbol, std::string_view symbol_name) {
    if (symbol_name != variable) return;
    if (Result<ByteSpan> bytes = elf->bytes_of(symbol); bytes.ok()) value = *bytes;
  });
  return value;
}

}  // namespace mneme

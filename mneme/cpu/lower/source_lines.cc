#include "mneme/cpu/lower/source_lines.h"

#include <llvm/DebugInfo/DIContext.h>
#include <llvm/DebugInfo/DWARF/DWARFContext.h>
#include <llvm/Object/ObjectFile.h>

#include <map>

#include "mneme/cpu/run/line_table.h"

namespace mneme::cpu {
namespace {

using Lines = llvm::DWARFDebugLine::LineTable;
using Kind = llvm::DILineInfoSpecifier::FileLineInfoKind;

class Collector {
 public:
  void add(const Lines& lines, const char* folder) {
    std::map<uint64_t, uint32_t> files;  // the unit's numbers
    for (const llvm::DWARFDebugLine::Row& row : lines.Rows) {
      auto [file, first] = files.try_emplace(row.File, 0);
      if (first) file->second = add_file(lines, row.File, folder);
      const LineTable::Row known{row.Address.Address, file->second, row.EndSequence ? 0 : row.Line};
      // Where one sequence begins at the end of another, what begins counts; of several rows, the last.
      if (row.EndSequence)
        rows_.try_emplace(known.address, known);
      else
        rows_.insert_or_assign(known.address, known);
    }
  }

  LineTable take() {
    for (const auto& [address, row] : rows_) table_.rows.push_back(row);
    return std::move(table_);
  }

 private:
  uint32_t add_file(const Lines& lines, uint64_t number, const char* folder) {
    std::string name;
    lines.getFileNameByIndex(number, folder, Kind::RelativeFilePath, name);
    table_.files.push_back(std::move(name));
    return static_cast<uint32_t>(table_.files.size() - 1);
  }

  LineTable table_;
  std::map<uint64_t, LineTable::Row> rows_;
};

}  // namespace

void keep_source_lines(ByteVector& shared_object) {
  llvm::StringRef bytes(reinterpret_cast<const char*>(shared_object.data()), shared_object.size());
  auto object = llvm::object::ObjectFile::createObjectFile({bytes, "image"});
  if (!object) return llvm::consumeError(object.takeError());
  Collector collector;
  auto context = llvm::DWARFContext::create(**object);
  for (const auto& unit : context->compile_units())
    if (const Lines* lines = context->getLineTableForUnit(unit.get())) collector.add(*lines, unit->getCompilationDir());
  LineTable table = collector.take();
  if (!table.rows.empty()) append_lines(shared_object, table);
}

}  // namespace mneme::cpu

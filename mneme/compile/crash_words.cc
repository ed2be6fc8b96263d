#include "mneme/compile/crash_words.h"

#include <llvm/ADT/StringRef.h>
#include <llvm/Support/PrettyStackTrace.h>

namespace mneme {
namespace {

constexpr llvm::StringRef kBegin = "Stack dump:\n";
constexpr llvm::StringRef kAdvice = "PLEASE submit a bug report";
constexpr llvm::StringRef kRunning = "Running ";
constexpr size_t kLongest = 300;

}  // namespace

void write_words_when_crashing() { llvm::EnablePrettyStackTrace(); }

CrashWords read_crash_words(std::string_view written) {
  const auto [before, dump] = llvm::StringRef(written).rsplit(kBegin);
  CrashWords words{"", before.split(kAdvice).first.str()};
  llvm::SmallVector<llvm::StringRef> lines;
  dump.split(lines, '\n');
  for (llvm::StringRef line : lines) {  // "2.\tRunning pass …"
    unsigned depth = 0;
    if (!line.consumeInteger(10, depth) && line.consume_front(".\t") && line.consume_front(kRunning))
      words.pass = line.take_front(kLongest).str();
  }
  return words;
}

}  // namespace mneme

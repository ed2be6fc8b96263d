#include "mneme/instrument/place_segment.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/Endian.h>
#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Support/xxhash.h>
#include <llvm/TargetParser/Triple.h>

#include "mneme/abi/segment.h"

namespace mneme::instrument {
namespace {

using namespace llvm;

constexpr size_t kWordsInLine = 8;

std::string symbol_of(ArrayRef<uint8_t> bytes) {
  const XXH128_hash_t hash = xxh3_128bits(bytes);
  return MNEME_SEGMENT_PREFIX + utohexstr(hash.high64, true, 16) + utohexstr(hash.low64, true, 16);
}

GlobalValue* place_variable(Module& module, const std::string& symbol, ArrayRef<uint8_t> bytes) {
  if (module.getNamedValue(symbol)) return nullptr;
  Constant* value = ConstantDataArray::get(module.getContext(), bytes);
  auto* variable = new GlobalVariable(module, value->getType(), /*isConstant=*/true, GlobalValue::WeakODRLinkage, value, symbol,
                                      nullptr, GlobalValue::NotThreadLocal, /*AddressSpace=*/1);
  variable->setAlignment(Align(8));
  variable->setDSOLocal(true);
  return variable;
}

// Three things keep one of equal segments. Where the linker links IR, the assembly of all files becomes one text, of which the
// condition keeps one; then the linker generates code in several parts, each with all of the text, and merges entries (M) that
// are equal, which is what an entry as large as the section is for. Where it links objects, it keeps one group (G) of a name.
void place_assembly(Module& module, const std::string& symbol, ArrayRef<uint8_t> bytes) {
  std::string text;
  raw_string_ostream out(text);
  out << formatv(
      ".ifndef {0}\n.pushsection {1},\"MG\",@progbits,{2},{0},comdat\n.p2align 3\n.weak {0}\n.hidden {0}\n.type "
      "{0},@object\n{0}:\n",
      symbol, MNEME_SEGMENT_SECTION, bytes.size());
  for (size_t at = 0; at < bytes.size(); at += 8) {
    out << (at % (8 * kWordsInLine) == 0 ? at == 0 ? ".quad " : "\n.quad " : ",")
        << format_hex(support::endian::read64le(bytes.data() + at), 0);
  }
  out << formatv("\n.size {0}, {1}\n.popsection\n.endif\n", symbol, bytes.size());
  module.appendModuleInlineAsm(text);
}

}  // namespace

bool has_segments(const Module& module) {
  return StringRef(module.getModuleInlineAsm()).contains(MNEME_SEGMENT_PREFIX) ||
         any_of(module.globals(), [](const GlobalVariable& g) { return g.getName().starts_with(MNEME_SEGMENT_PREFIX); });
}

GlobalValue* place_segment(Module& module, ArrayRef<uint8_t> bytes) {
  const std::string symbol = symbol_of(bytes);
  if (Triple(module.getTargetTriple()).isNVPTX()) return place_variable(module, symbol, bytes);
  place_assembly(module, symbol, bytes);
  return nullptr;
}

}  // namespace mneme::instrument

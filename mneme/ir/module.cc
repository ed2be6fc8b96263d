#include "mneme/ir/module.h"

#include <llvm/AsmParser/Parser.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

#include <cstring>

#include "mneme/base/stack_limit.h"
#include "mneme/ir/access.h"
#include "mneme/ir/diagnostics.h"
#include "mneme/ir/link.h"

namespace mneme::ir {
namespace {

constexpr uint32_t kBitcodeMagic = 0xdec04342;  // "BC" 0xc0de
constexpr uint32_t kBitcodeWrapperMagic = 0x0b17c0de;

uint32_t word_at(ByteSpan bytes, uint64_t offset) {
  uint32_t word = 0;
  std::memcpy(&word, bytes.data() + offset, sizeof word);
  return word;
}

bool is_bitcode(ByteSpan bytes) {
  return bytes.size() >= 4 && (word_at(bytes, 0) == kBitcodeMagic || word_at(bytes, 0) == kBitcodeWrapperMagic);
}

// Where the bitcode file at the start of `bytes` ends: at the end, or where another one begins. LLVM reads several modules in
// one file, but not several files one after another. At the top level of the format each block starts on a word with its
// abbreviation id 1 in the low two bits, and its length in words follows; the magic number of the next file has 2 there.
uint64_t first_file_size(ByteSpan bytes) {
  if (word_at(bytes, 0) != kBitcodeMagic) return bytes.size();
  uint64_t offset = 4;
  while (bytes.size() - offset >= 8) {
    const uint32_t word = word_at(bytes, offset);
    if (word == kBitcodeMagic) return offset;
    if ((word & 3) != 1) break;
    const uint64_t length = 8 + uint64_t{4} * word_at(bytes, offset + 4);
    if (length > bytes.size() - offset) break;
    offset += length;
  }
  return bytes.size();
}

llvm::StringRef text(ByteSpan bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// Debug information that is broken is dropped: a kernel without lines is better than none.
Status check(llvm::Module& module, const std::string& name) {
  std::string words;
  llvm::raw_string_ostream stream(words);
  bool broken_debug_info = false;
  if (llvm::verifyModule(module, &stream, &broken_debug_info))
    return error(Code::corrupt, "{} is not valid LLVM IR: {}", name, llvm::StringRef(words).rtrim().str());
  if (broken_debug_info) llvm::StripDebugInfo(module);
  return {};
}

Result<std::unique_ptr<llvm::Module>> parse_bitcode_file(llvm::LLVMContext& context, ByteSpan bytes, const std::string& name) {
  const auto corrupt = [&](llvm::Error failure) {
    return error(Code::corrupt, "reading bitcode {}: {}", name, llvm::toString(std::move(failure)));
  };
  auto parts = llvm::getBitcodeModuleList(llvm::MemoryBufferRef(text(bytes), name));
  if (!parts) return corrupt(parts.takeError());
  if (parts->empty()) return error(Code::corrupt, "reading bitcode {}: there is no module in it", name);
  std::unique_ptr<llvm::Module> whole;
  for (llvm::BitcodeModule& part : *parts) {
    auto module = part.parseModule(context);
    if (!module) return corrupt(module.takeError());
    (*module)->setModuleIdentifier(name);
    MNEME_TRY(check(**module, name));
    if (!whole)
      whole = std::move(*module);
    else
      MNEME_TRY(link_modules(*whole, std::move(*module)));
  }
  return whole;
}

Result<std::unique_ptr<llvm::Module>> parse_bitcode(llvm::LLVMContext& context, ByteSpan bytes, const std::string& name) {
  std::unique_ptr<llvm::Module> whole;
  for (bool first = true; is_bitcode(bytes); first = false) {
    const uint64_t size = first_file_size(bytes);
    MNEME_ASSIGN(auto module, parse_bitcode_file(context, bytes.first(size), name));
    if (first)
      whole = std::move(module);
    else
      MNEME_TRY(link_modules(*whole, std::move(module)));
    bytes = bytes.subspan(size);
  }
  return whole;
}

Result<std::unique_ptr<llvm::Module>> parse_text(llvm::LLVMContext& context, ByteSpan bytes, const std::string& name) {
  llvm::SMDiagnostic diagnostic;
  const std::string copy = text(bytes).str();  // the parser wants a terminator
  auto module = llvm::parseAssembly(llvm::MemoryBufferRef(copy, name), diagnostic, context);
  if (!module) {
    return error(Code::corrupt, "reading {} as textual LLVM IR: line {}, column {}: {}", name, diagnostic.getLineNo(),
                 diagnostic.getColumnNo() + 1, diagnostic.getMessage().str());
  }
  MNEME_TRY(check(*module, name));
  return module;
}

}  // namespace

Module::Module(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Module::~Module() = default;
Module::Module(Module&&) noexcept = default;
Module& Module::operator=(Module&&) noexcept = default;

Result<Module> Module::parse(ByteSpan bytes, const std::string& name) {
  if (bytes.empty()) return error(Code::corrupt, "reading LLVM IR {}: it is empty", name);
  MNEME_TRY(provide_stack());
  auto impl = std::make_unique<Impl>();
  impl->context = std::make_unique<llvm::LLVMContext>();
  DiagnosticCollector diagnostics(*impl->context);
  auto parsed = is_bitcode(bytes) ? parse_bitcode(*impl->context, bytes, name) : parse_text(*impl->context, bytes, name);
  MNEME_ASSIGN(impl->module, std::move(parsed));
  if (diagnostics.failed()) return error(Code::corrupt, "reading LLVM IR {}: {}", name, diagnostics.errors());
  impl->source = digest_of(bytes);
  return Module(std::move(impl));
}

Result<Module> Module::clone() const { return parse(bitcode(), impl_->module->getModuleIdentifier()); }

Status Module::link(Module other) {
  // Another context's module gets into this one through its bitcode.
  const ByteVector bytes = other.bitcode();
  impl_->source.reset();
  DiagnosticCollector diagnostics(*impl_->context);
  MNEME_ASSIGN(auto module, parse_bitcode(*impl_->context, bytes, other.impl_->module->getModuleIdentifier()));
  return link_modules(*impl_->module, std::move(module));
}

Status Module::rename(const std::string& from, const std::string& to) {
  llvm::GlobalValue* symbol = impl_->module->getNamedValue(from);
  if (!symbol) return {};
  if (impl_->module->getNamedValue(to)) {
    return error(Code::incompatible, "renaming {} to {} in {}: there is a {} already", from, to,
                 impl_->module->getModuleIdentifier(), to);
  }
  impl_->source.reset();
  symbol->setName(to);
  return {};
}

Status Module::verify() const {
  std::string words;
  llvm::raw_string_ostream stream(words);
  if (llvm::verifyModule(*impl_->module, &stream))
    return error(Code::corrupt, "{} is not valid LLVM IR: {}", impl_->module->getModuleIdentifier(),
                 llvm::StringRef(words).rtrim().str());
  return {};
}

std::string Module::print() const {
  std::string printed;
  llvm::raw_string_ostream stream(printed);
  impl_->module->print(stream, nullptr);
  return printed;
}

ByteVector Module::bitcode() const {
  llvm::SmallVector<char, 0> buffer;
  llvm::raw_svector_ostream stream(buffer);
  llvm::WriteBitcodeToFile(*impl_->module, stream);
  const auto bytes = std::as_bytes(std::span(buffer.data(), buffer.size()));
  return {bytes.begin(), bytes.end()};
}

Digest Module::digest() const { return impl_->source ? *impl_->source : digest_of(bitcode()); }

std::string Module::target_triple() const { return impl_->module->getTargetTriple().str(); }

std::vector<FunctionInfo> Module::functions() const {
  std::vector<FunctionInfo> found;
  for (const llvm::Function& function : *impl_->module) {
    if (function.isIntrinsic()) continue;
    found.push_back({function.getName().str(), function.isDeclaration(), is_kernel(function), function.getInstructionCount()});
  }
  return found;
}

std::vector<GlobalVariableInfo> Module::global_variables() const {
  std::vector<GlobalVariableInfo> found;
  const llvm::DataLayout& layout = impl_->module->getDataLayout();
  for (const llvm::GlobalVariable& variable : impl_->module->globals()) {
    if (variable.getName().starts_with("llvm.")) continue;
    const llvm::TypeSize size =
        variable.getValueType()->isSized() ? layout.getTypeAllocSize(variable.getValueType()) : llvm::TypeSize::getFixed(0);
    found.push_back({variable.getName().str(), size.getFixedValue(), variable.getAddressSpace(), variable.isDeclaration(),
                     variable.isConstant()});
  }
  return found;
}

}  // namespace mneme::ir

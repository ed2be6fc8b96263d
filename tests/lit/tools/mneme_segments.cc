// mneme-segments [--ir] [--hash] [--name REGEX] [--extract DIR] FILE: prints the segments in a device image (ELF), a HIP
// executable with images for several architectures, bitcode or textual IR.
//
// For the tests, and for whoever wants to see what the plugin embedded. An independent reading of mneme/abi/segment.h: every
// offset is checked, and the checksum; a damaged segment ends the program with 1.
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IRReader/IRReader.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Object/OffloadBundle.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/Compression.h>
#include <llvm/Support/Endian.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/Regex.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Support/xxhash.h>

#include <algorithm>
#include <cstring>

#include "mneme/abi/segment.h"

using namespace llvm;

namespace {

cl::opt<std::string> input(cl::Positional, cl::Required, cl::desc("FILE"));
cl::opt<bool> print_ir("ir", cl::desc("print each segment's IR too"));
cl::opt<std::string> name_filter("name", cl::desc("only segments whose symbol matches this regular expression"));
cl::opt<bool> only_hash("hash", cl::desc("print only the static hash and the IR's name"));

cl::opt<std::string> extract_to("extract", cl::desc("write each segment's IR to DIR/<name>.bc"), cl::value_desc("DIR"));

[[noreturn]] void fail(const Twine& message) {
  errs() << "mneme-segments: " << input << ": " << message << '\n';
  exit(1);
}

struct Found {
  std::string bytes;
};

class Segment {
 public:
  explicit Segment(StringRef bytes) : bytes_(bytes) {
    if (bytes.size() < sizeof header_) fail("a segment is shorter than its header");
    std::memcpy(&header_, bytes.data(), sizeof header_);
    if (std::memcmp(header_.magic, MNEME_SEGMENT_MAGIC, sizeof header_.magic)) fail("a segment does not begin with its magic");
    if (header_.abi_version != MNEME_ABI_VERSION || header_.header_bytes != sizeof header_) fail("a segment of another version");
    if (header_.total_bytes != bytes.size()) fail("a segment's size is not its symbol's");
    if (header_.checksum != xxh3_64bits(bytes.drop_front(sizeof header_))) fail("a segment's checksum is wrong");
  }

  const mneme_segment_header& header() const { return header_; }
  StringRef text(mneme_segment_string s) const { return slice(s.offset, s.bytes); }
  StringRef slice(uint64_t offset, uint64_t size) const {
    if (offset > bytes_.size() || size > bytes_.size() - offset) fail("a segment points outside of itself");
    return bytes_.substr(offset, size);
  }
  template <typename T>
  std::vector<T> table(uint32_t offset, uint32_t count) const {
    StringRef part = slice(offset, uint64_t{count} * sizeof(T));
    std::vector<T> entries(count);
    std::memcpy(entries.data(), part.data(), part.size());
    return entries;
  }
  std::string ir() const {
    SmallVector<uint8_t, 0> raw;
    StringRef part = slice(header_.ir_offset, header_.ir_bytes);
    if (Error error = compression::zstd::decompress(ArrayRef(part.bytes_begin(), part.size()), raw, header_.ir_raw_bytes)) {
      fail("decompressing IR: " + toString(std::move(error)));
    }
    return std::string(raw.begin(), raw.end());
  }

 private:
  StringRef bytes_;
  mneme_segment_header header_;
};

// NVIDIA's images: each segment is what a symbol names.
std::vector<Found> at_symbols(const object::ELF64LEObjectFile& elf) {
  std::vector<Found> found;
  for (const object::ELFSymbolRef symbol : elf.symbols()) {
    StringRef name = cantFail(symbol.getName());
    if (!name.starts_with(MNEME_SEGMENT_PREFIX)) continue;
    auto section = cantFail(symbol.getSection());
    if (section == elf.section_end()) fail("symbol '" + name + "' is not defined");
    StringRef contents = cantFail(section->getContents());
    uint64_t begin = cantFail(symbol.getValue()) - (elf.isRelocatableObject() ? 0 : section->getAddress());
    uint64_t size = symbol.getSize();
    if (begin > contents.size() || size > contents.size() - begin) fail("symbol '" + name + "' lies outside of its section");
    found.push_back({contents.substr(begin, size).str()});
  }
  return found;
}

// AMD's images: one segment behind another.
std::vector<Found> in_section(StringRef contents) {
  std::vector<Found> found;
  while (!contents.empty()) {
    if (contents.size() < sizeof(mneme_segment_header))
      fail("the section " MNEME_SEGMENT_SECTION " ends within a segment's header");
    uint64_t size = support::endian::read64le(contents.data() + offsetof(mneme_segment_header, total_bytes));
    if (size == 0 || size > contents.size()) fail("a segment reaches beyond the section " MNEME_SEGMENT_SECTION);
    found.push_back({contents.take_front(size).str()});
    contents = contents.drop_front(size);
  }
  return found;
}

std::vector<Found> in_elf(MemoryBufferRef buffer);

// clang's bundle of images: magic, number of entries, and for each its offset, its size, the length of its name and its name.
std::vector<Found> in_bundle(StringRef bundle, uint64_t& bundle_size) {
  auto word = [&](uint64_t at) {
    if (at + 8 > bundle.size()) fail("a bundle of images is cut off");
    return support::endian::read64le(bundle.data() + at);
  };
  std::vector<Found> found;
  uint64_t at = 32;
  for (uint64_t left = word(24); left != 0; --left) {
    uint64_t offset = word(at), size = word(at + 8), name_size = word(at + 16);
    if (offset > bundle.size() || size > bundle.size() - offset || name_size > bundle.size())
      fail("an image reaches beyond its bundle");
    at += 24 + name_size;
    bundle_size = std::max({bundle_size, at, offset + size});
    if (size == 0) continue;  // the host's entry
    for (Found& one : in_elf(MemoryBufferRef(bundle.substr(offset, size), "image"))) found.push_back(std::move(one));
  }
  return found;
}

// One bundle for each file, or for each program; padding stands between.
std::vector<Found> in_fat_binary(StringRef contents) {
  std::vector<Found> found;
  auto add = [&](std::vector<Found> more) { std::move(more.begin(), more.end(), std::back_inserter(found)); };
  while (!contents.empty()) {
    uint64_t size = 0;
    if (contents.starts_with("__CLANG_OFFLOAD_BUNDLE__")) {
      add(in_bundle(contents, size));
    } else if (contents.starts_with("CCOB")) {
      auto header = object::CompressedOffloadBundle::CompressedBundleHeader::tryParse(contents);
      if (!header || !header->FileSize) fail("a compressed bundle has no size: " + (header ? "" : toString(header.takeError())));
      size = *header->FileSize;
      auto plain = object::CompressedOffloadBundle::decompress(*MemoryBuffer::getMemBuffer(contents.take_front(size), "", false));
      if (!plain) fail("decompressing a bundle: " + toString(plain.takeError()));
      uint64_t unused = 0;
      add(in_bundle((*plain)->getBuffer(), unused));
    } else {
      size = 1;
    }
    contents = contents.drop_front(std::min<uint64_t>(size, contents.size()));
  }
  return found;
}

std::vector<Found> in_elf(MemoryBufferRef buffer) {
  auto object = object::ObjectFile::createELFObjectFile(buffer);
  if (!object) fail(toString(object.takeError()));
  auto* elf = dyn_cast<object::ELF64LEObjectFile>(object->get());
  if (!elf) fail("not a 64-bit little-endian ELF file");
  for (const object::ELFSectionRef section : elf->sections()) {
    StringRef name = cantFail(section.getName());
    if (name == MNEME_SEGMENT_SECTION && !elf->isRelocatableObject()) return in_section(cantFail(section.getContents()));
    if (name == ".hip_fatbin") return in_fat_binary(cantFail(section.getContents()));
  }
  return at_symbols(*elf);
}

// Assembly that the plugin wrote: a label, and lines of words up to the symbol's size.
std::vector<Found> in_assembly(StringRef text) {
  std::vector<Found> found;
  SmallVector<StringRef> lines;
  text.split(lines, '\n');
  for (StringRef line : lines) {
    if (line.starts_with(MNEME_SEGMENT_PREFIX) && line.ends_with(":")) found.emplace_back();
    if (!line.consume_front(".quad ") || found.empty()) continue;
    SmallVector<StringRef> words;
    line.split(words, ',');
    for (StringRef word : words) {
      char bytes[8];
      uint64_t value = 0;
      if (word.getAsInteger(0, value)) fail("'" + word + "' is no word of a segment");
      support::endian::write64le(bytes, value);
      found.back().bytes.append(bytes, sizeof bytes);
    }
  }
  return found;
}

std::vector<Found> in_ir(MemoryBufferRef buffer) {
  LLVMContext context;
  SMDiagnostic diagnostic;
  auto module = parseIR(buffer, diagnostic, context);
  if (!module) fail(diagnostic.getMessage());
  std::vector<Found> found = in_assembly(module->getModuleInlineAsm());
  for (const GlobalVariable& variable : module->globals()) {
    if (!variable.getName().starts_with(MNEME_SEGMENT_PREFIX) || !variable.hasInitializer()) continue;
    auto* data = dyn_cast<ConstantDataArray>(variable.getInitializer());
    if (!data) fail("'" + variable.getName() + "' is not an array of bytes");
    found.push_back({data->getRawDataValues().str()});
  }
  return found;
}

std::string hex(const uint8_t (&digest)[16]) { return toHex(ArrayRef(digest), /*LowerCase=*/true); }

void extract(const Segment& segment) {
  std::string path = extract_to + "/" + segment.text(segment.header().name).str() + ".bc";
  std::error_code error;
  raw_fd_ostream file(path, error);
  if (error) fail("writing " + path + ": " + error.message());
  file << segment.ir();
}

void print(const Segment& segment) {
  static const char* const kKinds[] = {"?", "kernel", "function", "global"};
  static const char* const kTargets[] = {"?", "nvptx", "amdgcn"};
  static const char* const kParams[] = {"?", "integer", "float", "pointer", "aggregate"};
  const mneme_segment_header& h = segment.header();
  outs() << "segment " << kKinds[std::min(h.kind, 3u) % 4] << ' ' << segment.text(h.name) << '\n'
         << "  ir-name " << segment.text(h.ir_name) << '\n'
         << "  demangled " << demangle(segment.text(h.ir_name)) << '\n'
         << "  static-hash " << hex(h.static_hash) << '\n'
         << "  target " << kTargets[std::min(h.target, 2u)] << ' ' << segment.text(h.arch) << '\n';
  if (h.pipeline.bytes != 0) outs() << "  pipeline " << segment.text(h.pipeline) << '\n';
  if (h.uses & MNEME_USES_TEXTURES) outs() << "  uses textures\n";
  if (h.uses & MNEME_USES_DEVICE_HEAP) outs() << "  uses device heap\n";
  if (h.uses & MNEME_USES_DEVICE_LAUNCH) outs() << "  uses device launch\n";
  if (h.source.bytes) outs() << "  source " << segment.text(h.source) << '\n';
  if (h.kind == MNEME_SEGMENT_KERNEL) outs() << "  param-bytes " << h.param_bytes << '\n';
  for (const auto& p : segment.table<mneme_segment_param>(h.params_offset, h.params_count)) {
    outs() << "  param " << kParams[std::min(p.kind, 4u)] << " offset " << p.offset << " size " << p.size << " align "
           << p.alignment << " type " << segment.text(p.type) << " name " << segment.text(p.name) << '\n';
  }
  for (const auto& r : segment.table<mneme_segment_range>(h.padding_offset, h.padding_count)) {
    outs() << "  padding offset " << r.offset << " size " << r.size << '\n';
  }
  for (const auto& r : segment.table<mneme_segment_range>(h.numbers_offset, h.numbers_count)) {
    outs() << "  numbers offset " << r.offset << " size " << r.size << '\n';
  }
  for (const auto& g : segment.table<mneme_segment_global>(h.globals_offset, h.globals_count)) {
    outs() << "  global " << segment.text(g.name) << " ir-name " << segment.text(g.ir_name) << " size " << g.size << " align "
           << g.alignment << (g.flags & MNEME_GLOBAL_CONSTANT_SPACE ? " constant" : "")
           << (g.flags & MNEME_GLOBAL_MANAGED ? " managed" : "") << (g.flags & MNEME_GLOBAL_DECLARATION ? " declaration" : "")
           << (g.flags & MNEME_GLOBAL_ESCAPES ? " escapes" : "") << '\n';
  }
  for (const auto& n : segment.table<mneme_segment_string>(h.needs_offset, h.needs_count))
    outs() << "  needs " << segment.text(n) << '\n';
  if (!print_ir) return;
  std::string bitcode = segment.ir();
  LLVMContext context;
  SMDiagnostic diagnostic;
  auto module = parseIR(MemoryBufferRef(bitcode, "segment"), diagnostic, context);
  if (!module) fail("IR of '" + segment.text(h.name) + "': " + diagnostic.getMessage());
  outs() << *module;
}

}  // namespace

int main(int argc, char** argv) {
  cl::ParseCommandLineOptions(argc, argv);
  auto file = MemoryBuffer::getFileOrSTDIN(input);
  if (!file) fail(file.getError().message());
  bool is_elf = (*file)->getBuffer().starts_with(
      "\x7f"
      "ELF");
  bool is_bundle = (*file)->getBuffer().starts_with("__CLANG_OFFLOAD_BUNDLE__");
  std::vector<Found> found = is_elf ? in_elf(**file) : is_bundle ? in_fat_binary((*file)->getBuffer()) : in_ir(**file);
  Regex filter(name_filter);
  // Kernels first, then by name and architecture: an order that does not depend on the file.
  std::vector<Segment> segments;
  for (const Found& f : found) {
    Segment segment{StringRef(f.bytes)};
    if (name_filter.empty() || filter.match(segment.text(segment.header().name))) segments.push_back(segment);
  }
  std::sort(segments.begin(), segments.end(), [](const Segment& a, const Segment& b) {
    if (a.header().kind != b.header().kind) return a.header().kind < b.header().kind;
    if (a.text(a.header().name) != b.text(b.header().name)) return a.text(a.header().name) < b.text(b.header().name);
    return a.text(a.header().arch) < b.text(b.header().arch);
  });
  for (const Segment& segment : segments) {
    if (!extract_to.empty()) extract(segment);
    if (only_hash)
      outs() << hex(segment.header().static_hash) << ' ' << segment.text(segment.header().ir_name) << '\n';
    else
      print(segment);
  }
  if (!only_hash) outs() << segments.size() << " segments\n";
}

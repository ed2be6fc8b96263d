#include "mneme/compile/amdgpu/code_object.h"

#include <llvm/BinaryFormat/ELF.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/AMDHSAKernelDescriptor.h>

#include <algorithm>
#include <cstring>

#include "mneme/compile/amdgpu/architecture.h"
#include "mneme/compile/amdgpu/message_pack.h"
#include "mneme/compile/target_triple.h"

namespace mneme::amdgpu {
namespace {

using ElfType = llvm::object::ELF64LE;
using Elf = llvm::object::ELFFile<ElfType>;
using Descriptor = llvm::amdhsa::kernel_descriptor_t;

Status damaged(std::string_view what) { return error(Code::corrupt, "reading a code object for an AMD GPU: {}", what); }

template <typename T>
Result<T> value_of(llvm::Expected<T> expected) {
  if (expected) return std::move(*expected);
  return damaged(llvm::toString(expected.takeError()));
}

class Members {
 public:
  explicit Members(const MessageNode& map) : map_(map) {}
  Status failure() const { return failure_; }

  std::string text(const char* key) {
    const MessageNode* node = find(key, MessageNode::Kind::text, /*required=*/true);
    return node ? node->text : std::string();
  }
  uint64_t number(const char* key, bool required = true) {
    const MessageNode* node = find(key, MessageNode::Kind::number, required);
    return node ? node->number : 0;
  }
  uint32_t count(const char* key, bool required = true) { return static_cast<uint32_t>(number(key, required)); }
  bool flag(const char* key) {
    const MessageNode* node = find(key, MessageNode::Kind::flag, /*required=*/false);
    return node && node->number != 0;
  }

 private:
  const MessageNode* find(const char* key, MessageNode::Kind kind, bool required) {
    const MessageNode* node = map_.find(key);
    if (node && node->kind == kind) return node;
    if ((node || required) && failure_.ok()) failure_ = damaged(fmt::format("its metadata lacks '{}'", key));
    return nullptr;
  }

  const MessageNode& map_;
  Status failure_;
};

// Code that is linked of several parts, as by clang's newer offload driver, has one of each.
Result<std::vector<llvm::ArrayRef<uint8_t>>> find_notes(const Elf& file) {
  std::vector<llvm::ArrayRef<uint8_t>> found;
  MNEME_ASSIGN(const auto sections, value_of(file.sections()));
  for (const auto& section : sections) {
    if (section.sh_type != llvm::ELF::SHT_NOTE) continue;
    llvm::Error failure = llvm::Error::success();
    for (const auto& note : file.notes(section, failure))
      if (note.getName() == "AMDGPU" && note.getType() == llvm::ELF::NT_AMDGPU_METADATA)
        found.push_back(note.getDesc(std::max<size_t>(section.sh_addralign, 4)));
    if (failure) return damaged(llvm::toString(std::move(failure)));
  }
  if (found.empty()) return damaged("it has no metadata");
  return found;
}

// The descriptor whose symbol is `name`.
Result<Descriptor> read_descriptor(const Elf& file, const std::string& name) {
  MNEME_ASSIGN(const auto sections, value_of(file.sections()));
  for (const auto& table : sections) {
    if (table.sh_type != llvm::ELF::SHT_SYMTAB && table.sh_type != llvm::ELF::SHT_DYNSYM) continue;
    MNEME_ASSIGN(const auto symbols, value_of(file.symbols(&table)));
    MNEME_ASSIGN(const auto names, value_of(file.getStringTableForSymtab(table)));
    for (const auto& symbol : symbols) {
      MNEME_ASSIGN(const llvm::StringRef own, value_of(symbol.getName(names)));
      if (own != name || symbol.st_shndx == llvm::ELF::SHN_UNDEF) continue;
      MNEME_ASSIGN(const auto* section, value_of(file.getSection(symbol.st_shndx)));
      MNEME_ASSIGN(const auto content, value_of(file.getSectionContents(*section)));
      const uint64_t begin = symbol.st_value - section->sh_addr;
      Descriptor descriptor;
      if (begin > content.size() || content.size() - begin < sizeof descriptor)
        return damaged(fmt::format("the descriptor '{}' lies outside of its section", name));
      std::memcpy(&descriptor, content.data() + begin, sizeof descriptor);
      return descriptor;
    }
  }
  return damaged(fmt::format("it has no descriptor '{}'", name));
}

Result<KernelEntry> read_kernel(const Elf& file, const MessageNode& map) {
  Members members(map);
  KernelEntry kernel;
  const std::string symbol = members.text(".symbol");
  kernel.name = members.text(".name");
  kernel.vector_registers = members.count(".vgpr_count");
  kernel.accumulation_registers = members.count(".agpr_count", /*required=*/false);
  kernel.scalar_registers = members.count(".sgpr_count");
  kernel.vector_spills = members.count(".vgpr_spill_count", /*required=*/false);
  kernel.scalar_spills = members.count(".sgpr_spill_count", /*required=*/false);
  kernel.scratch = Bytes(members.number(".private_segment_fixed_size"));
  kernel.shared = Bytes(members.number(".group_segment_fixed_size"));
  kernel.kernel_arguments = Bytes(members.number(".kernarg_segment_size"));
  kernel.wavefront = members.count(".wavefront_size");
  kernel.max_threads = members.count(".max_flat_workgroup_size");
  kernel.dynamic_stack = members.flag(".uses_dynamic_stack");
  MNEME_TRY(members.failure());
  MNEME_ASSIGN(const Descriptor descriptor, read_descriptor(file, symbol));
  if (descriptor.group_segment_fixed_size != kernel.shared.count || descriptor.private_segment_fixed_size != kernel.scratch.count)
    return damaged(fmt::format("the metadata and the descriptor of '{}' contradict each other", kernel.name));
  return kernel;
}

// Adds what one note says.
Status read_note(const Elf& file, llvm::ArrayRef<uint8_t> note, CodeObject& object) {
  const auto read = read_message_pack(llvm::toStringRef(note));
  if (!read.ok()) return damaged("its metadata: " + read.status().message());
  const MessageNode& root = *read;
  Members members(root);
  const std::string target = members.text("amdhsa.target");
  MNEME_TRY(members.failure());
  constexpr llvm::StringLiteral kBefore = "amdgcn-amd-amdhsa--";
  if (!llvm::StringRef(target).starts_with(kBefore)) return damaged(fmt::format("its target is '{}'", target));
  object.target = target.substr(kBefore.size());
  const MessageNode* kernels = root.find("amdhsa.kernels");
  if (!kernels || kernels->kind != MessageNode::Kind::list) return damaged("its metadata lacks 'amdhsa.kernels'");
  for (const MessageNode& node : kernels->elements) {
    MNEME_ASSIGN(KernelEntry kernel, read_kernel(file, node));
    object.kernels.push_back(std::move(kernel));
  }
  return {};
}

}  // namespace

const KernelEntry* CodeObject::find(const std::string& kernel) const {
  const auto found = std::ranges::find(kernels, kernel, &KernelEntry::name);
  return found == kernels.end() ? nullptr : &*found;
}

Result<InstructionSet> instruction_set(const CodeObject& object) {
  MNEME_ASSIGN(const TargetId id, parse_target_id(object.target));
  const uint32_t wavefront = object.kernels.empty() ? 64 : object.kernels.front().wavefront;
  return InstructionSet{kAmdgcnTriple, id.processor, fmt::format("-wavefrontsize{},+wavefrontsize{}", 96 - wavefront, wavefront)};
}

Result<CodeObject> read_code_object(ByteSpan bytes) {
  MNEME_ASSIGN(const Elf file, value_of(Elf::create({reinterpret_cast<const char*>(bytes.data()), bytes.size()})));
  if (file.getHeader().e_machine != llvm::ELF::EM_AMDGPU) return damaged("it is for another machine");
  MNEME_ASSIGN(const auto notes, find_notes(file));
  CodeObject object;
  for (const auto& note : notes) MNEME_TRY(read_note(file, note, object));
  return object;
}

}  // namespace mneme::amdgpu

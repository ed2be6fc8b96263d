#include "mneme/runtime/recordable.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

namespace mneme {
namespace {

class HostElf {
 public:
  HostElf(ByteSpan bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  template <typename T>
  Status read(uint64_t offset, T& out) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) return corrupt(offset);
    std::memcpy(&out, bytes_.data() + offset, sizeof(T));
    return {};
  }
  Result<ByteSpan> view(uint64_t offset, uint64_t size) const {
    if (offset > bytes_.size() || size > bytes_.size() - offset) return corrupt(offset);
    return bytes_.subspan(offset, size);
  }
  Result<std::string> string(const Elf64_Shdr& table, uint64_t offset) const {
    MNEME_ASSIGN(ByteSpan text, view(table.sh_offset, table.sh_size));
    if (offset >= text.size()) return corrupt(table.sh_offset);
    const char* begin = reinterpret_cast<const char*>(text.data()) + offset;
    return std::string(begin, strnlen(begin, text.size() - offset));
  }
  Status corrupt(uint64_t offset) const {
    return error(Code::corrupt, "{}: offset {}: the ELF file is damaged or cut off", name_, offset);
  }

 private:
  ByteSpan bytes_;
  const std::string& name_;
};

Status read_note(const HostElf& elf, const Elf64_Shdr& section, ObjectFile& out) {
  struct {
    Elf64_Nhdr header;
    char owner[8];
    mneme_note note;
  } found;
  MNEME_TRY(elf.read(section.sh_offset, found));
  out.calls = runtime_calls_of_note(found.header.n_type);
  if (!out.calls || found.header.n_namesz != sizeof MNEME_NOTE_OWNER ||
      std::memcmp(found.owner, MNEME_NOTE_OWNER, sizeof MNEME_NOTE_OWNER) != 0)
    return {};
  out.recordable = true;
  out.note = found.note;
  return {};
}

Status read_dynamic(const HostElf& elf, const Elf64_Shdr& dynamic, const Elf64_Shdr& strings, ObjectFile& out) {
  for (uint64_t at = 0; at + sizeof(Elf64_Dyn) <= dynamic.sh_size; at += sizeof(Elf64_Dyn)) {
    Elf64_Dyn entry;
    MNEME_TRY(elf.read(dynamic.sh_offset + at, entry));
    if (entry.d_tag != DT_NEEDED && entry.d_tag != DT_RUNPATH && entry.d_tag != DT_RPATH) continue;
    MNEME_ASSIGN(std::string text, elf.string(strings, entry.d_un.d_val));
    if (entry.d_tag == DT_NEEDED) {
      out.needed.push_back(std::move(text));
      continue;
    }
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = std::min(text.find(':', begin), text.size());
      out.run_path.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  return {};
}

}  // namespace

Result<ObjectFile> read_object_file(ByteSpan bytes, const std::string& name) {
  HostElf elf(bytes, name);
  Elf64_Ehdr header;
  if (bytes.size() < sizeof header || std::memcmp(bytes.data(), ELFMAG, SELFMAG) != 0 ||
      std::to_integer<int>(bytes[EI_CLASS]) != ELFCLASS64)
    return error(Code::invalid_argument, "{} is not a program file (64-bit ELF)", name);
  MNEME_TRY(elf.read(0, header));
  if (header.e_machine != EM_X86_64)
    return error(Code::invalid_argument, "{} is a program for another machine ({})", name, header.e_machine);
  auto section = [&](uint64_t index) -> Result<Elf64_Shdr> {
    Elf64_Shdr out;
    if (index >= header.e_shnum || header.e_shentsize != sizeof out) return elf.corrupt(header.e_shoff);
    MNEME_TRY(elf.read(header.e_shoff + index * sizeof out, out));
    return out;
  };
  ObjectFile out;
  if (header.e_shnum == 0) return out;
  MNEME_ASSIGN(Elf64_Shdr names, section(header.e_shstrndx));
  bool offload_entries = false;
  out.loaded_dynamically = false;
  for (uint64_t index = 0; index < header.e_shnum; ++index) {
    MNEME_ASSIGN(Elf64_Shdr current, section(index));
    MNEME_ASSIGN(std::string current_name, elf.string(names, current.sh_name));
    if ((current_name == ".nv_fatbin" || current_name == ".hip_fatbin") && current.sh_size != 0) out.device_code = true;
    if (current_name == ".interp") out.loaded_dynamically = true;
    if (current_name == "llvm_offload_entries") offload_entries = true;
    if (current_name == ".note.mneme") MNEME_TRY(read_note(elf, current, out));
    if (current.sh_type == SHT_DYNAMIC) {
      MNEME_ASSIGN(Elf64_Shdr strings, section(current.sh_link));
      MNEME_TRY(read_dynamic(elf, current, strings, out));
    }
  }
  out.dropped_device_code = offload_entries && !out.device_code;
  return out;
}

Status check_note(const mneme_note& note, const std::string& name, const RuntimeCalls& calls) {
  if (calls.call_count == 0)
    return error(Code::unsupported,
                 "{} calls the {} runtime, and this Mneme was built without it: build it where ROCm is installed", name,
                 calls.name);
  if (note.abi_version != MNEME_ABI_VERSION)
    return error(Code::incompatible, "{} was linked by a Mneme with ABI version {}, this one has {}: link it again with {}", name,
                 note.abi_version, MNEME_ABI_VERSION, calls.link_options);
  if (note.call_count != calls.call_count || note.calls_digest != calls.calls_digest)
    return error(
        Code::incompatible,
        "{} was linked by a Mneme built for another version of the {} runtime ({} functions, this one has {}): link it again "
        "with {}",
        name, calls.name, note.call_count, calls.call_count, calls.link_options);
  return {};
}

}  // namespace mneme

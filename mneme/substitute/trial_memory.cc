#include "mneme/substitute/trial_memory.h"

#include <algorithm>
#include <cstring>

#include "mneme/device/host_mappings.h"

namespace mneme {
namespace {

constexpr uint64_t kWord = sizeof(uint64_t);
// As the recorder takes them: a pointer so near to an allocation belongs to it, such as its end.
constexpr uint64_t kNear = 64 << 10;
// What allocations are aligned to, by every vendor, and more.
constexpr uint64_t kLeastAlignment = 4096;
// Of free memory so much stays for the program.
constexpr uint64_t kShareOfFree = 2;

uint64_t word_at(const ByteVector& bytes, uint64_t offset) {
  uint64_t word = 0;
  std::memcpy(&word, bytes.data() + offset, kWord);
  return word;
}

uint64_t aligned(uint64_t address, uint64_t alignment) { return (address + alignment - 1) / alignment * alignment; }

}  // namespace

TrialMemory::~TrialMemory() {
  for (const Piece& piece : pieces_)
    for (const DevicePtr block : {piece.block, piece.before, piece.result})
      if (block != DevicePtr()) device_.release(block);
}

Result<std::optional<KeptBy>> TrialMemory::take(const TrialCode& code, const ProgramLaunch& launch) {
  for (size_t i = 0; i < code.sizes.size(); ++i) {
    const auto* argument = static_cast<const std::byte*>(launch.arguments[i]);
    values_.emplace_back(argument, argument + code.sizes[i]);
  }
  MNEME_ASSIGN(const bool all_is_known, find_pieces(code));
  if (!all_is_known) return std::optional(KeptBy::unknown_memory);
  uint64_t alignment = kLeastAlignment;
  for (const PointerAligned& pointer : code.code.aligned) alignment = std::max(alignment, pointer.alignment);
  MNEME_ASSIGN(const bool there_is_room, allocate_copies(alignment));
  if (!there_is_room) return std::optional(KeptBy::no_room);
  MNEME_TRY(refresh());
  for (const Piece& piece : pieces_)
    if (keeps_before_) MNEME_TRY(device_.copy(piece.before, piece.copy, piece.source.size, stream_));
  MNEME_ASSIGN(const bool elsewhere, leads_elsewhere());
  if (elsewhere) return std::optional(KeptBy::unknown_memory);
  point_arguments_to_copies();
  return std::optional<KeptBy>();
}

// False: an argument or a managed variable leads to memory of which nothing is known, or the argument stands where it cannot be
// changed.
Result<bool> TrialMemory::find_pieces(const TrialCode& code) {
  for (const MemoryRange& variable : code.variables) pieces_.emplace_back().source = variable;
  for (const DevicePtr pointer : code.managed_pointers) managed_.emplace_back(pointer, DevicePtr());
  MNEME_ASSIGN(const bool managed_is_known, add_managed_memory());
  if (!managed_is_known) return false;
  for (const ByteVector& value : values_)
    for (uint64_t offset = 0; offset + kWord <= value.size(); ++offset)
      if (!add_pointer(word_at(value, offset), offset % kWord == 0)) return false;
  merge_pieces();
  return true;
}

Result<bool> TrialMemory::add_managed_memory() {
  for (auto& [pointer, memory] : managed_) {
    MNEME_TRY(device_.read(reinterpret_cast<std::byte*>(&memory.address), pointer, Bytes(kWord), stream_));
    if (!device_.allocation_of(memory) || !add_pointer(memory.address, true)) return false;
  }
  return true;
}

bool TrialMemory::add_pointer(uint64_t word, bool can_be_changed) {
  const DevicePtr address(word);
  const auto own = [&](const Piece& piece) { return piece.source.contains(address); };
  if (std::any_of(pieces_.begin(), pieces_.end(), own)) return can_be_changed;
  const auto allocation = word == 0 ? std::nullopt : device_.allocation_of(address);
  if (allocation) {
    pieces_.emplace_back().source = *allocation;
    return can_be_changed;
  }
  return word == 0 || (!device_.is_memory(address) && !(device_.reaches_host_memory() && HostMappings::now().is_writable(word)));
}

// A pointer between two that touch may be the end of the first or the beginning of the second: as one, they have one copy.
void TrialMemory::merge_pieces() {
  std::sort(pieces_.begin(), pieces_.end(), [](const Piece& a, const Piece& b) { return a.source.address < b.source.address; });
  std::vector<Piece> merged;
  for (const Piece& piece : pieces_) {
    if (merged.empty() || merged.back().source.end() < piece.source.address) {
      merged.push_back(piece);
      continue;
    }
    MemoryRange& last = merged.back().source;
    last.size = std::max(last.end(), piece.source.end()) - last.address;
  }
  pieces_ = std::move(merged);
}

// Each copy lies as its source does with respect to `alignment`. False: there is no room.
Result<bool> TrialMemory::allocate_copies(uint64_t alignment) {
  MNEME_ASSIGN(const Bytes available, device_.free_memory());
  uint64_t left = available.count / kShareOfFree;
  for (const Piece& piece : pieces_) {
    const uint64_t needed = piece.source.size.count + 2 * alignment;
    if (needed < alignment || needed > left) return false;
    left -= needed;
  }
  for (Piece& piece : pieces_) {
    const auto block = device_.allocate(piece.source.size + Bytes(2 * alignment));
    if (!block.ok()) return false;
    piece.block = *block;
    piece.copy = DevicePtr(aligned(block->address, alignment) + piece.source.address.address % alignment);
  }
  // Nothing runs on these, so that they may lie anywhere.
  keeps_before_ = allocate_all(&Piece::before, left);
  return true;
}

bool TrialMemory::allocate_all(DevicePtr Piece::* member, uint64_t left) {
  for (const Piece& piece : pieces_) {
    if (piece.source.size.count > left) return false;
    left -= piece.source.size.count;
  }
  for (Piece& piece : pieces_) {
    const auto block = device_.allocate(piece.source.size);
    if (!block.ok()) return false;
    piece.*member = *block;
  }
  return true;
}

Status TrialMemory::refresh() {
  for (const Piece& piece : pieces_) MNEME_TRY(device_.copy(piece.copy, piece.source.address, piece.source.size, stream_));
  return point_managed_variables_to_copies();
}

Status TrialMemory::restore() {
  for (const Piece& piece : pieces_) MNEME_TRY(device_.copy(piece.copy, piece.before, piece.source.size, stream_));
  return {};
}

Result<bool> TrialMemory::keep_result() {
  MNEME_ASSIGN(const Bytes available, device_.free_memory());
  if (!allocate_all(&Piece::result, available.count / kShareOfFree)) return false;
  for (const Piece& piece : pieces_) MNEME_TRY(device_.copy(piece.result, piece.copy, piece.source.size, stream_));
  return true;
}

const TrialMemory::Piece* TrialMemory::piece_at(DevicePtr address) const {
  const auto found =
      std::find_if(pieces_.begin(), pieces_.end(), [&](const Piece& piece) { return piece.source.contains(address); });
  return found == pieces_.end() ? nullptr : &*found;
}

const TrialMemory::Piece* TrialMemory::piece_near(DevicePtr address) const {
  if (const Piece* piece = piece_at(address)) return piece;
  const auto is_near = [&](const Piece& piece) {
    const uint64_t begin = piece.source.address.address, end = piece.source.end().address, at = address.address;
    return at < begin ? begin - at <= kNear : at - end <= kNear;
  };
  const auto found = std::find_if(pieces_.begin(), pieces_.end(), is_near);
  return found == pieces_.end() ? nullptr : &*found;
}

DevicePtr TrialMemory::copy_of(DevicePtr address) const {
  const Piece* piece = piece_near(address);
  return piece ? DevicePtr(piece->copy.address + (address.address - piece->source.address.address)) : address;
}

DevicePtr TrialMemory::kept_of(DevicePtr address) const {
  const Piece* piece = piece_at(address);
  return piece ? piece->result + (address - piece->source.address) : address;
}

void TrialMemory::point_arguments_to_copies() {
  for (ByteVector& value : values_) {
    for (uint64_t offset = 0; offset + kWord <= value.size(); offset += kWord) {
      const uint64_t moved = copy_of(DevicePtr(word_at(value, offset))).address;
      std::memcpy(value.data() + offset, &moved, kWord);
    }
    pointers_.push_back(value.data());
  }
}

Status TrialMemory::point_managed_variables_to_copies() {
  for (const auto& [pointer, memory] : managed_) {
    const uint64_t moved = copy_of(memory).address;
    MNEME_TRY(device_.write(copy_of(pointer), reinterpret_cast<const std::byte*>(&moved), Bytes(kWord), stream_));
  }
  return {};
}

// The copies are looked through, which nobody changes meanwhile.
Result<bool> TrialMemory::leads_elsewhere() const {
  const HostMappings mappings = HostMappings::now();
  const bool host_counts = device_.reaches_host_memory();
  const auto leads_to_a_copy = [&](DevicePtr at) {
    return std::any_of(managed_.begin(), managed_.end(), [&](const auto& one) { return one.first == at; });
  };
  ByteVector chunk;
  for (const Piece& piece : pieces_) {
    // Words lie at multiples of their size in the program's memory.
    const uint64_t begin = aligned(piece.source.address.address, kWord), end = piece.source.end().address;
    for (uint64_t at = begin; at < end; at += kTrialChunk.count) {
      chunk.resize(std::min(end - at, kTrialChunk.count) / kWord * kWord);
      if (chunk.empty()) break;
      MNEME_TRY(device_.read(chunk.data(), copy_of(DevicePtr(at)), Bytes(chunk.size()), stream_));
      for (uint64_t offset = 0; offset < chunk.size(); offset += kWord) {
        const uint64_t word = word_at(chunk, offset);
        if (leads_to_a_copy(DevicePtr(at + offset))) continue;
        if (!mappings.holds(word)) continue;
        if ((host_counts && mappings.is_writable(word)) || device_.is_memory(DevicePtr(word))) return true;
      }
    }
  }
  return false;
}

}  // namespace mneme

#include "mneme/record/reachable_memory.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "mneme/device/host_pages.h"
#include "mneme/record/host_memory.h"
#include "mneme/record/vendor.h"

namespace mneme {
namespace {

constexpr uint64_t kWord = sizeof(uint64_t);
constexpr uint64_t kAddressBits = (uint64_t{1} << 48) - 1;

DevicePtr before(const MemoryRange& memory) {
  return DevicePtr(memory.address.address - std::min(memory.address.address, ReachableMemory::kReach.count));
}

}  // namespace

MemoryRange words_of(const MemoryRange& memory) {
  const uint64_t begin = (memory.address.address + kWord - 1) / kWord * kWord;
  const uint64_t end = std::max(begin, memory.end().address / kWord * kWord);
  return {DevicePtr(begin), Bytes(end - begin)};
}

void mark_from_host(const MemoryRange& memory, std::span<const MemoryRange> targets, std::span<uint8_t> marks) {
  ByteVector buffer(Bytes(1_MiB).count);
  const MemoryRange words = words_of(memory);
  for (uint64_t done = 0; done < words.size.count; done += buffer.size()) {
    const MutableByteSpan part = MutableByteSpan(buffer).first(std::min<uint64_t>(buffer.size(), words.size.count - done));
    if (!read_own_memory(part, words.address + Bytes(done)).ok()) return;
    mark_host_pointers(marks, targets, part);
  }
}

ReachableMemory::ReachableMemory(const StateCapture::Memory& all) {
  std::vector<std::pair<MemoryRange, bool>> places;  // whether it is the host's
  for (const auto* list : all.device_lists())
    for (const MemoryRange& memory : *list) places.emplace_back(memory, false);
  for (const MemoryRange& memory : all.host) places.emplace_back(memory, true);
  std::sort(places.begin(), places.end());
  for (const auto& [memory, on_host] : places) {
    if (pieces_.empty() || memory.address > pieces_.back().range.end()) pieces_.push_back({{memory.address, {}}, {}, {}});
    Piece& piece = pieces_.back();
    piece.range.size = std::max(piece.range.end(), memory.end()) - piece.range.address;
    (on_host ? piece.host : piece.on_device).push_back(memory);
  }
  for (size_t i = 0; i < pieces_.size(); ++i) {
    const MemoryRange& range = pieces_[i].range;
    const DevicePtr end = range.end() + Bytes(1), behind = range.end() + kReach;
    if (i == 0) add_target(before(range), range.address, i, i);
    add_target(range.address, end, i, i);
    if (i + 1 == pieces_.size()) {
      add_target(end, behind, i, i);
      break;
    }
    const MemoryRange& next = pieces_[i + 1].range;
    if (before(next) < behind) {
      add_target(end, next.address, i, i + 1);
    } else {
      add_target(end, behind, i, i);
      add_target(before(next), next.address, i + 1, i + 1);
    }
  }
  marks_.resize(targets_.size());
}

void ReachableMemory::add_target(DevicePtr begin, DevicePtr end, size_t first, size_t last) {
  if (begin >= end) return;
  targets_.push_back({begin, end - begin});
  stands_for_.push_back({first, last});
}

void ReachableMemory::take_marks() {
  for (size_t i = 0; i < marks_.size(); ++i)
    if (marks_[i] != 0) pieces_[stands_for_[i].first].reached = pieces_[stands_for_[i].last].reached = true;
}

void ReachableMemory::reach_from_parameters(ByteSpan parameters) {
  ByteVector words;
  for (size_t at = 0; at + kWord <= parameters.size(); ++at) {
    uint64_t word;
    std::memcpy(&word, parameters.data() + at, kWord);
    word &= kAddressBits;
    const auto bytes = std::as_bytes(std::span(&word, 1));
    words.insert(words.end(), bytes.begin(), bytes.end());
  }
  mark_host_pointers(marks_, targets_, words);
  take_marks();
}

Status ReachableMemory::reach_from(std::span<const CapturedGlobal> globals, Stream& stream, Vendor* vendor) {
  for (const CapturedGlobal& global : globals) {
    const MemoryRange words = words_of({global.address, global.size});
    ByteVector bytes(words.size.count);
    if (bytes.empty()) continue;
    MNEME_TRY(vendor ? vendor->read_variable(stream, bytes, words.address) : stream.copy_to_host(bytes, words.address));
    mark_host_pointers(marks_, targets_, bytes);
  }
  take_marks();
  return {};
}

Status ReachableMemory::follow(Stream& stream) {
  while (!std::ranges::all_of(pieces_, &Piece::reached)) {
    std::vector<MemoryRange> on_device, on_host;
    for (Piece& piece : pieces_) {
      if (!piece.reached || std::exchange(piece.followed, true)) continue;
      on_device.insert(on_device.end(), piece.on_device.begin(), piece.on_device.end());
      on_host.insert(on_host.end(), piece.host.begin(), piece.host.end());
    }
    if (on_device.empty() && on_host.empty()) break;
    MNEME_TRY(stream.find_pointers(marks_, targets_, on_device));
    for (const MemoryRange& memory : on_host) mark_from_host(memory, targets_, marks_);
    take_marks();
  }
  return {};
}

Bytes ReachableMemory::size() const {
  Bytes sum;
  for (const Piece& piece : pieces_) {
    if (!piece.reached) continue;
    for (const auto* list : {&piece.on_device, &piece.host})
      for (const MemoryRange& memory : *list) sum += memory.size;
  }
  return sum;
}

bool ReachableMemory::reaches(const MemoryRange& memory) const {
  const auto after = std::upper_bound(pieces_.begin(), pieces_.end(), memory.address,
                                      [](DevicePtr place, const Piece& piece) { return place < piece.range.address; });
  return after != pieces_.begin() && std::prev(after)->reached;
}

void ReachableMemory::keep_reached(StateCapture::Memory& memory) const {
  for (auto* list : {&memory.allocations, &memory.mapped, &memory.managed, &memory.host})
    std::erase_if(*list, [&](const MemoryRange& piece) { return !reaches(piece); });
}

}  // namespace mneme

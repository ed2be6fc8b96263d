#include "mneme/record/state_capture.h"

#include <algorithm>
#include <tuple>

#include "mneme/device/host_pages.h"
#include "mneme/record/host_memory.h"
#include "mneme/record/vendor.h"

namespace mneme {
namespace {

// A batch is what one writer thread works on at a time.
constexpr uint64_t kBatchPages = Bytes(4_MiB).count / kPageSize.count;

bool has(const std::vector<MemoryRange>& memory, uint64_t address) {
  auto found = std::lower_bound(memory.begin(), memory.end(), address,
                                [](const MemoryRange& a, uint64_t wanted) { return a.address.address < wanted; });
  return found != memory.end() && found->address.address == address;
}

}  // namespace

class StateCapture::Source {
 public:
  virtual ~Source() = default;
  virtual Status read(MutableByteSpan to, DevicePtr from) = 0;
  virtual Status hash(std::span<uint64_t> hashes, DevicePtr from, Bytes size) = 0;

  // Pages are aligned by address and hash counts from where it starts: a first page that is not whole is a call of its own.
  Status hash_pages(const MemoryRange& memory, std::span<uint64_t> hashes) {
    MemoryRange head = page_extent(memory, 0);
    uint64_t aligned = 0;
    if (head.size != kPageSize && hashes.size() > 1) {
      MNEME_TRY(hash(hashes.first(1), head.address, head.size));
      aligned = head.size.count;
      hashes = hashes.subspan(1);
    }
    return hash(hashes, memory.address + Bytes(aligned), memory.size - Bytes(aligned));
  }
};

class StateCapture::DeviceSource final : public Source {
 public:
  explicit DeviceSource(Stream& stream) : stream_(stream) {}
  Status read(MutableByteSpan to, DevicePtr from) override { return stream_.copy_to_host(to, from); }
  Status hash(std::span<uint64_t> hashes, DevicePtr from, Bytes size) override {
    return stream_.hash_pages(hashes, from, size, kPageSize);
  }

 private:
  Stream& stream_;
};

// A variable lies in the context that its code was loaded into, which need not be the stream's.
class StateCapture::VariableSource final : public Source {
 public:
  VariableSource(Stream& stream, Vendor* vendor) : stream_(stream), vendor_(vendor) {}
  Status read(MutableByteSpan to, DevicePtr from) override {
    return vendor_ ? vendor_->read_variable(stream_, to, from) : stream_.copy_to_host(to, from);
  }
  Status hash(std::span<uint64_t> hashes, DevicePtr from, Bytes size) override {
    return stream_.hash_pages(hashes, from, size, kPageSize);
  }

 private:
  Stream& stream_;
  Vendor* vendor_;
};

class StateCapture::HostSource final : public Source {
 public:
  Status read(MutableByteSpan to, DevicePtr from) override { return read_own_memory(to, from); }
  Status hash(std::span<uint64_t> hashes, DevicePtr from, Bytes size) override {
    ByteVector page(kPageSize.count);
    for (size_t i = 0; i < hashes.size(); ++i) {
      const uint64_t begin = i * kPageSize.count;
      MutableByteSpan bytes = MutableByteSpan(page).first(std::min(kPageSize.count, size.count - begin));
      MNEME_TRY(read_own_memory(bytes, from + Bytes(begin)));
      hashes[i] = hash_host_page(bytes, kPageSize, 0);
    }
    return {};
  }
};

Status StateCapture::read_pages(Source& source, const MemoryRange& memory, uint64_t first, uint64_t last, Digest* digests,
                                Publication& publication) {
  for (uint64_t begin = first; begin < last; begin += kBatchPages) {
    const uint64_t end = std::min(begin + kBatchPages, last);
    const MemoryRange head = page_extent(memory, begin), tail = page_extent(memory, end - 1);
    const Bytes size = tail.end() - head.address;
    PageBatch batch;
    batch.bytes = std::make_unique_for_overwrite<std::byte[]>(size.count);
    MNEME_TRY(source.read({batch.bytes.get(), size.count}, head.address));
    for (uint64_t i = begin; i < end; ++i) batch.pages.push_back({page_extent(memory, i).size.count, &digests[i]});
    MNEME_TRY(publication.put(std::move(batch)));
  }
  return {};
}

Status StateCapture::capture_allocation(Source& source, const MemoryRange& allocation, Publication& publication) {
  Known& known = known_[allocation.address.address];
  const uint64_t pages = page_count(allocation);
  const bool fresh = known.size != allocation.size;
  std::vector<uint64_t> hashes(pages);
  MNEME_TRY(source.hash_pages(allocation, hashes));
  if (fresh) known.digests.assign(pages, {});
  for (uint64_t i = 0; i < pages;) {
    uint64_t end = i;
    while (end < pages && (fresh || known.hashes[end] != hashes[end])) ++end;
    if (end > i) MNEME_TRY(read_pages(source, allocation, i, end, known.digests.data(), publication));
    i = std::max(end, i + 1);
  }
  known.size = allocation.size;
  known.hashes = std::move(hashes);
  return {};
}

Bytes StateCapture::Memory::size() const {
  Bytes sum;
  for (const auto* list : lists())
    for (const MemoryRange& memory : *list) sum += memory.size;
  return sum;
}

void StateCapture::forget_freed(const Memory& all) {
  const auto lists = all.lists();
  const auto is_there = [&](uint64_t address) {
    return std::any_of(lists.begin(), lists.end(), [&](const auto* list) { return has(*list, address); });
  };
  std::erase_if(known_, [&](const auto& entry) { return !is_there(entry.first); });
}

Status StateCapture::capture(Stream& stream, const Memory& memory, Publication& publication) {
  memory_ = memory;
  lost_host_memory_ = false;
  DeviceSource device(stream);
  HostSource host;
  for (const auto* list : memory.device_lists())
    for (const MemoryRange& allocation : *list) MNEME_TRY(capture_allocation(device, allocation, publication));
  for (const MemoryRange& allocation : memory.host) {
    Status status = capture_allocation(host, allocation, publication);
    lost_host_memory_ = status.code() == Code::not_found;
    MNEME_TRY(std::move(status));
  }

  VariableSource variables(stream, memory.vendor);
  globals_.clear();
  for (const CapturedGlobal& global : memory.globals) {
    Region& region = globals_.emplace_back(Region{Region::Kind::global, global.address, global.size, global.name, {}});
    region.pages.resize(page_count(region.range()));
    // The vector inside stays where it is when globals_ grows.
    MNEME_TRY(read_pages(variables, region.range(), 0, region.pages.size(), region.pages.data(), publication));
  }
  return {};
}

MemoryState StateCapture::state() const {
  MemoryState state;
  auto add = [&](Region::Kind kind, const std::vector<MemoryRange>& memory) {
    for (const MemoryRange& allocation : memory)
      state.regions.push_back({kind, allocation.address, allocation.size, "", known_.at(allocation.address.address).digests});
  };
  add(Region::Kind::allocation, memory_.allocations);
  add(Region::Kind::mapped, memory_.mapped);
  add(Region::Kind::managed, memory_.managed);
  add(Region::Kind::array, memory_.arrays);
  add(Region::Kind::host, memory_.host);
  state.regions.insert(state.regions.end(), globals_.begin(), globals_.end());
  std::sort(state.regions.begin(), state.regions.end(),
            [](const Region& a, const Region& b) { return std::tie(a.address, a.name) < std::tie(b.address, b.name); });
  // Two names of one variable are one region.
  uint64_t end = 0;
  std::erase_if(state.regions, [&](const Region& region) {
    if (region.address.address < end) return true;
    end = region.address.address + region.size.count;
    return false;
  });
  return state;
}

}  // namespace mneme

#include "mneme/record/state_capture.h"

#include <algorithm>
#include <new>
#include <utility>

#include "mneme/device/host_pages.h"
#include "mneme/record/host_memory.h"
#include "mneme/record/vendor.h"

namespace mneme {
namespace {

using Clock = std::chrono::steady_clock;

// Adds the time of its life to a duration.
class Timed {
 public:
  explicit Timed(Clock::duration& sum) : sum_(sum) {}
  ~Timed() { sum_ += Clock::now() - begin_; }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  Clock::duration& sum_;
  const Clock::time_point begin_ = Clock::now();
};

bool has(const std::vector<MemoryRange>& memory, uint64_t address) {
  auto found = std::lower_bound(memory.begin(), memory.end(), address,
                                [](const MemoryRange& a, uint64_t wanted) { return a.address.address < wanted; });
  return found != memory.end() && found->address.address == address;
}

const ByteVector& zero_page() {
  static const ByteVector zeros(kPageSize.count);
  return zeros;
}

const Digest& zero_digest() {
  static const Digest digest = digest_of(zero_page());
  return digest;
}

// Pages are aligned by address, and ranges are hashed by pages from where they start: a first page that is not whole is a range
// of its own.
std::vector<MemoryRange> ranges_to_hash(const std::vector<MemoryRange>& allocations) {
  std::vector<MemoryRange> ranges;
  for (const MemoryRange& allocation : allocations) {
    const MemoryRange head = page_extent(allocation, 0);
    if (head.size != kPageSize && head.size < allocation.size) {
      ranges.push_back(head);
      ranges.push_back({head.end(), allocation.size - head.size});
    } else {
      ranges.push_back(allocation);
    }
  }
  return ranges;
}

}  // namespace

class StateCapture::Source {
 public:
  virtual ~Source() = default;
  virtual Status read(MutableByteSpan to, std::span<const MemoryRange> from) = 0;
  virtual Status hash(std::span<uint64_t> hashes, std::span<const MemoryRange> from) = 0;
  // The hash of a whole page of zeros; nothing: it is not known.
  virtual std::optional<uint64_t> zero_hash() = 0;
};

class StateCapture::DeviceSource final : public Source {
 public:
  DeviceSource(StateCapture& capture, Stream& stream) : capture_(capture), stream_(stream) {}
  Status read(MutableByteSpan to, std::span<const MemoryRange> from) override {
    if (capture_.ring_.is_pinned()) return stream_.gather(to, from);
    for (const MemoryRange& range : from) {
      MNEME_TRY(stream_.copy_to_host(to.first(range.size.count), range.address));
      to = to.subspan(range.size.count);
    }
    return {};
  }
  Status hash(std::span<uint64_t> hashes, std::span<const MemoryRange> from) override {
    return stream_.hash_ranges(hashes, from, kPageSize);
  }
  std::optional<uint64_t> zero_hash() override { return capture_.hash_zeros(stream_); }

 private:
  StateCapture& capture_;
  Stream& stream_;
};

class StateCapture::HostSource final : public Source {
 public:
  Status read(MutableByteSpan to, std::span<const MemoryRange> from) override {
    for (const MemoryRange& range : from) {
      MNEME_TRY(read_own_memory(to.first(range.size.count), range.address));
      to = to.subspan(range.size.count);
    }
    return {};
  }
  Status hash(std::span<uint64_t> hashes, std::span<const MemoryRange> from) override {
    ByteVector page(kPageSize.count);
    auto hash = hashes.begin();
    for (const MemoryRange& range : from)
      for (Bytes done; done < range.size; done += kPageSize) {
        const MutableByteSpan bytes = MutableByteSpan(page).first(std::min(kPageSize, range.size - done).count);
        MNEME_TRY(read_own_memory(bytes, range.address + done));
        *hash++ = hash_host_page(bytes, kPageSize, 0);
      }
    return {};
  }
  std::optional<uint64_t> zero_hash() override { return hash_host_page(zero_page(), kPageSize, 0); }
};

// Nothing where the device has no memory for it: zeros are then copied as other pages are.
std::optional<uint64_t> StateCapture::hash_zeros(Stream& stream) {
  if (zero_hash_) return zero_hash_;
  auto zeros = device_.allocate(kPageSize);
  if (!zeros.ok()) return std::nullopt;
  uint64_t hash = 0;
  Status status = stream.fill(*zeros, std::byte{0}, kPageSize);
  if (status.ok()) status = stream.hash_pages({&hash, 1}, *zeros, kPageSize, kPageSize);
  if (status.ok()) zero_hash_ = hash;
  [[maybe_unused]] Status freed = device_.free(*zeros);
  return zero_hash_;
}

// So that the database has the page whose digest the capture knows without copying one. The digest that is filled in lies behind
// the page.
Status StateCapture::put_zeros(Publication& publication) {
  std::shared_ptr<std::byte[]> bytes(new std::byte[kPageSize.count + sizeof(Digest)]());
  auto* digest = new (bytes.get() + kPageSize.count) Digest;
  return publication.put({std::move(bytes), {{kPageSize.count, digest}}, true});
}

// Where the ring has no piece, it waits for the digests of what is in one.
Result<std::shared_ptr<std::byte[]>> StateCapture::take_piece() {
  const Clock::time_point begin = Clock::now();
  std::optional<WriterThreads::Hurry> hurry;  // once it waits
  auto piece = ring_.take([&] {
    if (!hurry) hurry.emplace(*writers_);
    return writers_->help(WriterThreads::Order::first);
  });
  const Clock::duration pinning = ring_.pinning() - std::exchange(pinned_before_, ring_.pinning());
  cost_.pinning += pinning;
  cost_.digesting += Clock::now() - begin - pinning;
  return piece;
}

Status StateCapture::copy_pages(Source& source, std::span<const Page> pages, Publication& publication) {
  while (!pages.empty()) {
    PageBatch batch;
    batch.lent = true;
    MNEME_ASSIGN(batch.bytes, take_piece());
    const Timed timed(cost_.copying);
    std::vector<MemoryRange> ranges;
    Bytes size;
    for (; !pages.empty() && size + pages[0].range.size <= ring_.piece(); pages = pages.subspan(1)) {
      const MemoryRange& page = pages[0].range;
      size += page.size;
      batch.pages.push_back({page.size.count, pages[0].digest});
      // What lies beside it may be another allocation, and a copy of both at once be refused.
      if (!ranges.empty() && !pages[0].is_first && ranges.back().end() == page.address)
        ranges.back().size += page.size;
      else
        ranges.push_back(page);
    }
    MNEME_TRY(source.read({batch.bytes.get(), size.count}, ranges));
    cost_.copied += size;
    MNEME_TRY(publication.put(std::move(batch)));
  }
  return {};
}

Status StateCapture::capture_regions(Source& source, std::span<CapturedMemory::Region> regions, Publication& publication) {
  if (regions.empty()) return {};
  uint64_t count = 0;
  std::vector<MemoryRange> ranges;
  for (const CapturedMemory::Region& region : regions) {
    ranges.push_back(region.range);
    count += page_count(region.range);
  }
  std::vector<uint64_t> hashes(count);
  std::optional<uint64_t> zeros;
  {
    const Timed timed(cost_.hashing);
    MNEME_TRY(source.hash(hashes, ranges_to_hash(ranges)));
    zeros = source.zero_hash();
  }
  std::vector<Page> changed;
  bool some_zeros = false;
  auto hash = hashes.begin();
  for (CapturedMemory::Region& region : regions) {
    Known& known = known_[region.range.address.address];
    const uint64_t pages = page_count(region.range);
    const bool fresh = known.size != region.range.size;
    if (fresh) known = {region.range.size, std::vector<uint64_t>(pages)};
    const auto first = hash;
    for (uint64_t i = 0; i < pages; ++i, ++hash)
      if (fresh || known.hashes[i] != *hash) region.pages.push_back(i), known.hashes[i] = *hash;
    region.digests.resize(region.pages.size());
    for (size_t at = 0; at < region.pages.size(); ++at) {
      const uint64_t i = region.pages[at];
      const MemoryRange page = page_extent(region.range, i);
      if (zeros == first[static_cast<std::ptrdiff_t>(i)] && page.size == kPageSize) {
        region.digests[at] = zero_digest();
        some_zeros = true;
      } else {
        changed.push_back({page, &region.digests[at], i == 0});
      }
    }
  }
  if (some_zeros) MNEME_TRY(put_zeros(publication));
  return copy_pages(source, changed, publication);
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
  std::erase_if(known_, [&](const auto& entry) {
    if (is_there(entry.first)) return false;
    freed_.emplace_back(entry.first);
    return true;
  });
}

Status StateCapture::capture(Stream& stream, const Memory& memory, Publication& publication, CapturedMemory& found) {
  lost_host_memory_ = false;
  found.freed = std::exchange(freed_, {});
  const auto add = [&](Region::Kind kind, const std::vector<MemoryRange>& ranges) {
    for (const MemoryRange& range : ranges) found.regions.push_back({kind, range, ""});
  };
  add(Region::Kind::allocation, memory.allocations);
  add(Region::Kind::mapped, memory.mapped);
  add(Region::Kind::managed, memory.managed);
  add(Region::Kind::array, memory.arrays);
  const size_t on_device = found.regions.size();
  add(Region::Kind::host, memory.host);
  const std::span<CapturedMemory::Region> regions(found.regions);
  DeviceSource device(*this, stream);
  MNEME_TRY(capture_regions(device, regions.first(on_device), publication));
  HostSource host;
  Status status = capture_regions(host, regions.subspan(on_device), publication);
  lost_host_memory_ = status.code() == Code::not_found;
  MNEME_TRY(std::move(status));

  return read_variables(stream, memory, publication, found);
}

// A variable lies in the context that its code was loaded into, which need not be the stream's, and is small: each is read whole,
// by itself, into memory of its own.
Status StateCapture::read_variables(Stream& stream, const Memory& memory, Publication& publication, CapturedMemory& found) {
  const Timed timed(cost_.copying);
  for (const CapturedGlobal& global : memory.globals) {
    CapturedMemory::Region& region =
        found.regions.emplace_back(CapturedMemory::Region{Region::Kind::global, {global.address, global.size}, global.name});
    region.digests.resize(page_count(region.range));
    PageBatch batch;
    batch.lent = true;
    batch.bytes = std::shared_ptr<std::byte[]>(new std::byte[global.size.count]);
    const MutableByteSpan bytes(batch.bytes.get(), global.size.count);
    MNEME_TRY(memory.vendor ? memory.vendor->read_variable(stream, bytes, global.address)
                            : stream.copy_to_host(bytes, global.address));
    // The vector inside stays where it is when the regions grow.
    for (uint64_t i = 0; i < region.digests.size(); ++i) {
      region.pages.push_back(i);
      batch.pages.push_back({page_extent(region.range, i).size.count, &region.digests[i]});
    }
    cost_.copied += global.size;
    MNEME_TRY(publication.put(std::move(batch)));
  }
  return {};
}

Status StateCapture::finish(Publication& publication) {
  const Timed timed(cost_.digesting);
  return publication.wait();
}

}  // namespace mneme

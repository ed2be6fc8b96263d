#include <algorithm>
#include <future>

#include "mneme/replay/compile_request.h"
#include "mneme/replay/session.h"

namespace mneme {

// Where the content of one page goes.
struct PageUpload {
  Digest digest;
  DevicePtr to;
  Bytes size;
};

namespace {

// Pages travel to the device in batches of about this size: one is read and decompressed while the one before is copied.
constexpr Bytes kBatch = 64_MiB;

// What the slack between allocations holds, so that a write to it is seen.
constexpr std::byte kSlack{0xa7};

uint64_t round_down(uint64_t value, uint64_t unit) { return value / unit * unit; }
uint64_t round_up(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

struct Batch {
  ByteVector bytes;
  size_t first = 0, last = 0;  // indices into the uploads
};

Result<Batch> read_batch(const Database& database, const std::vector<PageUpload>& pages, size_t first) {
  Batch batch{{}, first, first};
  uint64_t size = 0;
  while (batch.last < pages.size() && size < kBatch.count) size += pages[batch.last++].size.count;
  batch.bytes.resize(size);
  std::vector<PageRequest> requests;
  uint64_t at = 0;
  for (size_t i = first; i < batch.last; ++i) {
    requests.push_back({pages[i].digest, MutableByteSpan(batch.bytes).subspan(at, pages[i].size.count)});
    at += pages[i].size.count;
  }
  MNEME_TRY(database.read_pages(requests));
  return batch;
}

Status copy_batch(Stream& stream, const std::vector<PageUpload>& pages, const Batch& batch) {
  uint64_t at = 0;
  for (size_t i = batch.first; i < batch.last;) {
    uint64_t size = pages[i].size.count;
    size_t next = i + 1;
    while (next < batch.last && pages[next].to == pages[i].to + Bytes(size)) size += pages[next++].size.count;
    MNEME_TRY(stream.copy_to_device(pages[i].to, ByteSpan(batch.bytes).subspan(at, size)));
    at += size;
    i = next;
  }
  return {};
}

// Uploads of a region's pages to `base` (the address that stands for its first byte).
void append_pages(std::vector<PageUpload>& uploads, const Region& region, DevicePtr base, const Region* unless_equal = nullptr) {
  for (uint64_t i = 0; i < region.pages.size(); ++i) {
    if (unless_equal && unless_equal->pages[i] == region.pages[i]) continue;
    PageExtent extent = page_extent(region.address, region.size, i);
    uploads.push_back({region.pages[i], base + (extent.address - region.address), extent.size});
  }
}

Result<ByteVector> read_region(const Database& database, const Region& region) {
  ByteVector bytes(region.size.count);
  std::vector<PageRequest> requests;
  for (uint64_t i = 0; i < region.pages.size(); ++i) {
    PageExtent extent = page_extent(region.address, region.size, i);
    requests.push_back(
        {region.pages[i], MutableByteSpan(bytes).subspan((extent.address - region.address).count, extent.size.count)});
  }
  MNEME_TRY(database.read_pages(requests));
  return bytes;
}

}  // namespace

Result<std::unique_ptr<Session>> Session::prepare(const Database& database, const Digest& static_hash, const Digest& dynamic_hash,
                                                  Device& device, const PrepareProgress& progress) {
  auto start = std::chrono::steady_clock::now();
  std::unique_ptr<Session> session(new Session(database, device));
  MNEME_TRY(session->load(static_hash, dynamic_hash));
  MNEME_TRY(session->reserve_addresses());
  MNEME_TRY(session->reserve_bound_globals());
  MNEME_TRY(session->map_host_memory());
  MNEME_ASSIGN(session->stream_, device.create_stream());
  session->measurer_ = std::make_unique<Measurer>(device, *session->stream_);
  MNEME_TRY(session->allocate_copies());
  MNEME_TRY(session->upload(progress));
  MNEME_TRY(session->read_symbol_states());
  session->prepare_time_ = std::chrono::steady_clock::now() - start;
  return session;
}

Session::~Session() {
  poison_.reset();
  stream_.reset();
  for (DevicePtr copy : {pristine_, expected_})
    if (copy != DevicePtr()) [[maybe_unused]]
      Status ignored = device_.free(copy);
  for (const auto& [name, state] : symbols_)
    if (state.pristine != DevicePtr()) [[maybe_unused]]
      Status ignored = device_.free(state.pristine);
}

Status Session::load(const Digest& static_hash, const Digest& dynamic_hash) {
  MNEME_ASSIGN(kernel_, database_.load_kernel(static_hash));
  MNEME_ASSIGN(auto recorded, database_.load_instance(static_hash, dynamic_hash));
  instance_ = std::move(recorded.instance);
  MNEME_ASSIGN(plan_, plan_memory(kernel_, instance_, recorded.prologue, recorded.epilogue));
  map_spans(plan_, device_.properties().allocation_granularity);
  MNEME_ASSIGN(KernelCode code, KernelCode::load(database_, kernel_));
  code_ = std::make_unique<KernelCode>(std::move(code));
  MNEME_ASSIGN(compiler_, Compiler::create(device_.properties().kind, device_.properties().architecture));
  return {};
}

Status Session::reserve_addresses() {
  bool any = std::any_of(plan_.regions.begin(), plan_.regions.end(),
                         [](const PlannedRegion& r) { return r.prologue.kind == Region::Kind::allocation; });
  if (!any) return {};
  auto space = device_.reserve(instance_.space_base, instance_.space_size);
  if (!space.ok()) return space.status().with_context("reserving the recorded addresses");
  space_ = std::move(*space);
  for (const PlannedRegion& region : plan_.regions) {
    if (region.prologue.kind != Region::Kind::allocation) continue;
    Status status = space_->allocate_at(region.prologue.address, region.prologue.size);
    if (!status.ok()) return status.with_context("allocating the recorded memory");
  }
  return {};
}

// Bound globals lie where the driver or the emulation had put them, outside of the recorder's range: those that share a
// unit of reservation share one.
Status Session::reserve_bound_globals() {
  std::vector<const Region*> bound;
  for (const PlannedRegion& region : plan_.regions)
    if (region.prologue.kind == Region::Kind::global && region.placement == Placement::recorded_address)
      bound.push_back(&region.prologue);
  const uint64_t unit = device_.properties().reservation_granularity.count;
  for (size_t i = 0; i < bound.size();) {
    uint64_t first = bound[i]->address.address, end = first + bound[i]->size.count;
    size_t next = i + 1;
    for (; next < bound.size() && bound[next]->address.address < round_up(end, unit); ++next)
      end = std::max(end, bound[next]->address.address + bound[next]->size.count);
    DevicePtr base(round_down(first, unit));
    auto space = device_.reserve(base, Bytes(round_up(end, unit) - base.address));
    if (!space.ok())
      return space.status().with_context(
          fmt::format("reserving the recorded address {} of the global '{}'", bound[i]->address, bound[i]->name));
    DevicePtr aligned(round_down(first, AddressSpace::kAlignment.count));
    MNEME_TRY((*space)->allocate_at(aligned, Bytes(end - aligned.address)));
    global_spaces_.push_back(std::move(*space));
    i = next;
  }
  return {};
}

Status Session::map_host_memory() {
  for (const MappedSpan& span : plan_.spans) {
    if (plan_.regions[span.regions.front()].prologue.kind != Region::Kind::host) continue;
    auto mapping = device_.map_host(span.address, span.size);
    if (!mapping.ok()) {
      Status status = mapping.status().with_context("mapping the recorded host memory");
      // Memory that the program allocated by the CUDA runtime lies where nothing else does.
      if (status.code() != Code::unavailable || span.address >= kHostMemoryBase) return status;
      return error(
          Code::unavailable,
          "{}; the program had registered memory of its own there (cudaHostRegister): try again, since the system places "
          "libraries elsewhere each time",
          status.message());
    }
    host_mappings_.push_back(std::move(*mapping));
  }
  return {};
}

Status Session::allocate_copies() {
  if (plan_.copy_size == Bytes()) return {};
  for (DevicePtr* copy : {&pristine_, &expected_}) {
    auto memory = device_.allocate(plan_.copy_size);
    if (!memory.ok())
      return memory.status().with_context(fmt::format("a replay holds the recorded memory ({}) three times, and {} has {} in all",
                                                      plan_.copy_size, device_.properties().name,
                                                      device_.properties().total_memory));
    *copy = *memory;
  }
  return {};
}

Status Session::upload(const PrepareProgress& progress) {
  if (plan_.copy_size != Bytes()) MNEME_TRY(stream_->fill(pristine_, kSlack, plan_.copy_size));
  std::vector<PageUpload> before, after;
  for (const PlannedRegion& region : plan_.regions) {
    if (region.placement != Placement::recorded_address) continue;
    append_pages(before, region.prologue, pristine_ + Bytes(region.offset));
    append_pages(after, region.epilogue, expected_ + Bytes(region.offset), &region.prologue);
  }
  MNEME_TRY(upload_pages(before, progress, "reading the memory before the launch"));
  if (plan_.copy_size != Bytes()) MNEME_TRY(stream_->copy(expected_, pristine_, plan_.copy_size));
  return upload_pages(after, progress, "reading the memory after the launch");
}

Status Session::upload_pages(const std::vector<PageUpload>& pages, const PrepareProgress& progress, std::string_view what) {
  if (pages.empty()) return {};
  auto read = [&](size_t first) {
    return std::async(std::launch::async, read_batch, std::cref(database_), std::cref(pages), first);
  };
  std::future<Result<Batch>> reading = read(0);
  for (;;) {
    MNEME_ASSIGN(Batch batch, reading.get());
    bool more = batch.last < pages.size();
    if (more) reading = read(batch.last);
    if (progress) progress(what, static_cast<double>(batch.last) / static_cast<double>(pages.size()));
    Status status = copy_batch(*stream_, pages, batch);
    if (!status.ok() && more) reading.wait();
    MNEME_TRY(status);
    if (!more) return {};
  }
}

Status Session::read_symbol_states() {
  for (const PlannedRegion& region : plan_.regions) {
    if (region.placement != Placement::module_symbol) continue;
    SymbolState& state = symbols_[region.prologue.name];
    MNEME_ASSIGN(state.prologue, read_region(database_, region.prologue));
    MNEME_ASSIGN(state.epilogue, read_region(database_, region.epilogue));
    MNEME_ASSIGN(state.pristine, device_.allocate(Bytes(state.prologue.size())));
    MNEME_TRY(stream_->copy_to_device(state.pristine, state.prologue));
  }
  return {};
}

}  // namespace mneme

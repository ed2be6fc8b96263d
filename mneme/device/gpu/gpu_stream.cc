#include "mneme/device/gpu/gpu_stream.h"

#include <algorithm>
#include <array>
#include <utility>

#include "mneme/device/host_pages.h"

namespace mneme::gpu {
namespace {

// Of Stream::gather(): ranges that are this long on average are copied one by one; others by a kernel, in pieces of this size. So
// many blocks of it fill the bus, and leave the device to what else runs there.
constexpr uint64_t kLongRange = 1 << 20;
constexpr Bytes kGatheredPiece{64 << 10};
constexpr uint32_t kGatheringBlocks = 16;
constexpr uint64_t kHashesAtOnce = uint64_t{1} << 20;  // 8 MiB of scratch
// Comparisons that are started before their results are read: of two words each, the first of which is kNotTold before.
constexpr uint64_t kResults = 256;
constexpr uint64_t kResultBytes = 2 * sizeof(uint64_t);
constexpr uint64_t kNotTold = ~uint64_t{0};
// As tell() of memory_kernels.cu leaves it.
constexpr uint64_t kNothingGathered[] = {0, ~uint64_t{0}, 0};

Comparison comparison_of(const uint64_t* result) {
  Comparison comparison;
  comparison.differing_bytes = result[0];
  if (result[0] != 0) comparison.first_difference = result[1];
  return comparison;
}

}  // namespace

Result<std::unique_ptr<GpuStream>> GpuStream::create(const Context& context, const DeviceProperties& properties,
                                                     LazyMemoryKernels& kernels, LazyLaunchClock& clock) {
  ContextScope scope(context);
  MNEME_TRY(scope.status());
  StreamHandle handle = nullptr;
  MNEME_TRY(context.check_call(context.api().create_stream(&handle), context.words().create_stream));
  return std::unique_ptr<GpuStream>(new GpuStream(context, properties, kernels, clock, handle));
}

GpuStream::~GpuStream() {
  for (LaunchTag tag : timed_) activity_->forget(tag);
  ContextScope scope(context_);
  if (!scope.status().ok()) return;
  const Api& api = context_.api();
  api.synchronize(handle_);
  if (scratch_ != 0) api.free(scratch_);
  if (gathered_ != 0) api.free(gathered_);
  if (results_ != nullptr) api.free_host(results_);
  if (compared_ != nullptr) api.destroy(compared_);
  for (const EventPair& pair : events_) {
    api.destroy(pair.start);
    api.destroy(pair.end);
  }
  api.destroy(handle_);
}

Status GpuStream::copy_to_device(DevicePtr to, ByteSpan from) { return staging_.to_device(to, from); }
Status GpuStream::copy_to_host(MutableByteSpan to, DevicePtr from) { return staging_.to_host(to, from); }

Status GpuStream::copy_to_device_later(DevicePtr to, ByteSpan from) {
  if (from.empty()) return {};
  ContextScope scope(context_);
  MNEME_TRY(scope.status());
  return context_.check_call(context_.api().copy_to_device(to.address, from.data(), from.size(), handle_),
                             context_.words().copy_to_device, "({} to {})", Bytes(from.size()), to);
}

Status GpuStream::copy(DevicePtr to, DevicePtr from, Bytes size) {
  if (size.count == 0) return {};
  ContextScope scope(context_);
  MNEME_TRY(scope.status());
  return context_.check_call(context_.api().copy(to.address, from.address, size.count, handle_), context_.words().copy,
                             "({} from {} to {})", size, from, to);
}

Status GpuStream::fill(DevicePtr to, std::byte value, Bytes size) {
  if (size.count == 0) return {};
  ContextScope scope(context_);
  MNEME_TRY(scope.status());
  auto byte = std::to_integer<unsigned char>(value);
  return context_.check_call(context_.api().fill(to.address, byte, size.count, handle_), context_.words().fill, "({} at {}, {})",
                             size, to, byte);
}

Status GpuStream::synchronize() {
  ContextScope scope(context_);
  MNEME_TRY(scope.status());
  return context_.check_call(context_.api().synchronize(handle_), context_.words().synchronize);
}

Status GpuStream::reserve_scratch(uint64_t size) {
  if (size <= scratch_size_) return {};
  if (scratch_ != 0) {
    MNEME_TRY(context_.check_call(context_.api().free(scratch_), context_.words().free, "({:#x})", scratch_));
    scratch_ = 0;
    scratch_size_ = 0;
  }
  MNEME_TRY(
      context_.check_call(context_.api().allocate(&scratch_, size), context_.words().allocate, "({}), for results", Bytes(size)));
  scratch_size_ = size;
  return {};
}

Status GpuStream::launch_own(FunctionHandle function, const char* name, uint32_t blocks, void** arguments) {
  const LaunchShape shape{.grid = {blocks, 1, 1}, .block = {LazyMemoryKernels::kThreads, 1, 1}};
  return context_.check_call(
      context_.api().launch({.function = function, .shape = shape, .stream = handle_, .arguments = arguments}),
      context_.words().launch, "({}, {} blocks)", name, blocks);
}

Result<Comparison> GpuStream::compare(DevicePtr a, DevicePtr b, Bytes size) {
  Comparison comparison;
  if (size.count == 0) return comparison;
  ContextScope scope(context_);
  MNEME_TRY(scope.status());
  MNEME_TRY(reserve_scratch(2 * sizeof(uint64_t)));
  std::array<uint64_t, 2> result{};
  MNEME_TRY(fill(DevicePtr(scratch_), std::byte{0}, Bytes(sizeof(uint64_t))));
  MNEME_TRY(fill(DevicePtr(scratch_ + sizeof(uint64_t)), std::byte{0xff}, Bytes(sizeof(uint64_t))));

  MNEME_TRY(launch_compare(a, b, size, {scratch_}));
  MNEME_TRY(staging_.to_host(std::as_writable_bytes(std::span(result)), DevicePtr(scratch_))
                .with_context(fmt::format("comparing {} at {} and {}", size, a, b)));
  return comparison_of(result.data());
}

Status GpuStream::launch_compare(DevicePtr a, DevicePtr b, Bytes size, Findings findings) {
  MNEME_ASSIGN(const MemoryKernels* kernels, kernels_.get());
  void* arguments[] = {&a.address, &b.address, &size.count, &findings.gathered, &findings.told};
  uint64_t useful = (size.count / 16 + LazyMemoryKernels::kThreads) / LazyMemoryKernels::kThreads;
  auto blocks = static_cast<uint32_t>(std::min<uint64_t>(kernels->compare_blocks, useful));
  return launch_own(kernels->compare, "mneme_compare", blocks, arguments);
}

Status GpuStream::prepare_results() {
  if (gathered_ != 0) return {};
  const Api& api = context_.api();
  if (results_ == nullptr) {
    void* pinned = nullptr;
    const Bytes size(kResults * kResultBytes);
    MNEME_TRY(
        context_.check_call(api.allocate_host(&pinned, size.count), context_.words().allocate_host, "({}), for results", size));
    results_ = static_cast<uint64_t*>(pinned);
  }
  std::vector<uint64_t> fresh(std::begin(kNothingGathered), std::end(kNothingGathered));
  fresh.insert(fresh.end(), std::begin(kNothingGathered), std::end(kNothingGathered));
  const Bytes size(fresh.size() * sizeof(uint64_t));
  uint64_t memory = 0;
  MNEME_TRY(context_.check_call(api.allocate(&memory, size.count), context_.words().allocate, "({}), for results", size));
  Status filled = staging_.to_device(DevicePtr(memory), std::as_bytes(std::span(fresh)));
  if (filled.ok())
    gathered_ = memory;
  else
    api.free(memory);
  return filled;
}

// Of the next comparison, which counts once results_used_ does. The kernel writes to pinned memory at the address that it has on
// the host, as all kernels can.
Result<GpuStream::Findings> GpuStream::next_findings() {
  MNEME_TRY(prepare_results());
  if (results_used_ == kResults) MNEME_TRY(collect_results());
  ended_ = false;
  uint64_t* const result = results_ + 2 * results_used_;
  *result = kNotTold;
  // Whatever was left there: by a comparison of which a part alone was started, or by a kernel that writes where it must not.
  const Bytes size(sizeof kNothingGathered);
  MNEME_TRY(copy(DevicePtr(gathered_), DevicePtr(gathered_) + size, size));
  return Findings{gathered_, reinterpret_cast<uint64_t>(result)};
}

Status GpuStream::compare_later(DevicePtr a, DevicePtr b, Bytes size) {
  ContextScope scope(context_);
  MNEME_TRY(scope.status());
  MNEME_ASSIGN(const Findings findings, next_findings());
  MNEME_TRY(launch_compare(a, b, size, findings));
  ++results_used_;
  return {};
}

Status GpuStream::compare_hashes_later(DevicePtr hashes, DevicePtr expected, std::span<const MemoryRange> ranges, Bytes page) {
  ContextScope scope(context_);
  MNEME_TRY(scope.status());
  MNEME_ASSIGN(const Findings findings, next_findings());
  const PageHashes to{.hashes = hashes, .expected = expected, .findings = findings};
  MNEME_TRY(launch_hashes(to, ranges, page));
  ++results_used_;
  return {};
}

// All ranges have findings together, which the last one tells.
Status GpuStream::launch_hashes(const PageHashes& to, std::span<const MemoryRange> ranges, Bytes page) {
  uint64_t pages = 0;
  for (const MemoryRange& range : ranges) {
    MNEME_ASSIGN(const uint64_t of_range, pages_of(range.size, page));
    pages += of_range;
  }
  if (pages == 0) return launch_compare(to.hashes, to.expected, Bytes(), to.findings);
  PageHashes some = to;
  for (const MemoryRange& range : ranges) {
    MNEME_ASSIGN(const uint64_t of_range, pages_of(range.size, page));
    if (of_range == 0) continue;
    some.findings.told = some.first + of_range == pages ? to.findings.told : 0;
    MNEME_TRY(launch_hash(some, range, page));
    some.first += of_range;
  }
  return {};
}

Status GpuStream::end_comparisons() {
  ContextScope scope(context_);
  MNEME_TRY(scope.status());
  const Api& api = context_.api();
  if (compared_ == nullptr)
    MNEME_TRY(context_.check_call(api.create_event(&compared_, EventUse::waiting), context_.words().create_event));
  MNEME_TRY(context_.check_call(api.record_event(compared_, handle_), context_.words().record_event));
  ended_ = true;
  return {};
}

// Waits for the stream, or as far as end_comparisons() has said.
Status GpuStream::collect_results() {
  const uint64_t count = std::exchange(results_used_, 0);
  ContextScope scope(context_);
  MNEME_TRY(scope.status());
  const Api& api = context_.api();
  if (std::exchange(ended_, false))
    MNEME_TRY(context_.check_call(api.wait_for_event(compared_), context_.words().wait_for_event));
  else
    MNEME_TRY(context_.check_call(api.synchronize(handle_), context_.words().synchronize));
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t* const result = results_ + 2 * i;
    if (*result == kNotTold) return error(Code::internal, "comparing memory: the device was waited for, and has told no result");
    collected_.push_back(comparison_of(result));
  }
  return {};
}

Result<std::vector<Comparison>> GpuStream::take_comparisons() {
  Status status = collect_results();
  std::vector<Comparison> comparisons = std::exchange(collected_, {});
  MNEME_TRY(std::move(status));
  return comparisons;
}

Status GpuStream::copy_listed(DevicePtr list, uint64_t count) {
  if (count == 0) return {};
  MNEME_ASSIGN(const MemoryKernels* kernels, kernels_.get());
  ContextScope scope(context_);
  MNEME_TRY(scope.status());
  void* arguments[] = {&list.address, &count};
  auto blocks = static_cast<uint32_t>(std::min<uint64_t>(kernels->compare_blocks, count));
  return launch_own(kernels->copy_listed, "mneme_copy_listed", blocks, arguments);
}

Status GpuStream::update_byte_set(ByteSetStep step, DevicePtr set, DevicePtr a, DevicePtr b, Bytes size) {
  if (size.count == 0) return {};
  MNEME_ASSIGN(const LoneKernel* kernel, kernels_.byte_set(step));
  ContextScope scope(context_);
  MNEME_TRY(scope.status());
  void* arguments[] = {&set.address, &a.address, &b.address, &size.count};
  const uint64_t useful = size.count / 8 / LazyMemoryKernels::kThreads + 1;
  const auto blocks = static_cast<uint32_t>(std::min<uint64_t>(kernel->blocks, useful));
  return launch_own(kernel->function, kernel->name.c_str(), blocks, arguments);
}

Status GpuStream::hash_pages_to(DevicePtr hashes, DevicePtr from, Bytes size, Bytes page) {
  ContextScope scope(context_);
  MNEME_TRY(scope.status());
  return launch_hash({.hashes = hashes, .expected = {}, .findings = {}}, {from, size}, page);
}

Status GpuStream::launch_hash(const PageHashes& to, const MemoryRange& range, Bytes page) {
  if (page.count == 0) return error(Code::invalid_argument, "hashing {} at {}: pages of 0 bytes", range.size, range.address);
  MNEME_ASSIGN(uint64_t pages, pages_of(range.size, page));
  if (pages == 0) return {};
  MNEME_ASSIGN(const MemoryKernels* kernels, kernels_.get());
  PageHashes where = to;
  MemoryRange from = range;
  void* arguments[] = {&where.hashes.address, &from.address.address,   &from.size.count,         &page.count,         &pages,
                       &where.first,          &where.expected.address, &where.findings.gathered, &where.findings.told};
  return launch_own(kernels->hash_pages, "mneme_hash_pages", static_cast<uint32_t>(std::min(pages, kHashesAtOnce)), arguments);
}

Result<element::Tally> GpuStream::tally_elements_impl(DevicePtr actual, DevicePtr recorded, uint64_t elements, ElementType type,
                                                      const element::Measure& measure) {
  MNEME_ASSIGN(const LoneKernel* kernel, kernels_.elements(type));
  ContextScope scope(context_);
  MNEME_TRY(scope.status());
  // Each block stores what it saw; the host merges that in the order of the blocks, so that sums are the same every time.
  constexpr uint64_t kThreads = LazyMemoryKernels::kThreads;
  uint64_t bytes = elements * size_of(type).count;
  auto blocks = static_cast<uint32_t>(std::min<uint64_t>(kernel->blocks, (bytes / 16 + kThreads) / kThreads));
  std::vector<element::Tally> tallies(blocks);
  const uint64_t size = tallies.size() * sizeof(element::Tally);
  MNEME_TRY(reserve_scratch(size));
  element::Measure argument = measure;
  void* arguments[] = {&actual.address, &recorded.address, &elements, &argument, &scratch_};
  MNEME_TRY(launch_own(kernel->function, kernel->name.c_str(), blocks, arguments));
  MNEME_TRY(staging_.to_host(std::as_writable_bytes(std::span(tallies)), DevicePtr(scratch_))
                .with_context(fmt::format("comparing {} of {} at {} and {}", Bytes(bytes), to_string(type), actual, recorded)));
  element::Tally total;
  for (const element::Tally& tally : tallies) element::merge(total, tally, measure.sum);
  return total;
}

Status GpuStream::find_pointers_impl(std::span<uint8_t> marks, std::span<const MemoryRange> targets,
                                     std::span<const MemoryRange> pieces) {
  MNEME_ASSIGN(const LoneKernel* kernel, kernels_.find_pointers());
  ContextScope scope(context_);
  MNEME_TRY(scope.status());
  MNEME_TRY(reserve_scratch(targets.size_bytes() + pieces.size_bytes() + marks.size()));
  uint64_t targets_there = scratch_, pieces_there = targets_there + targets.size_bytes();
  uint64_t marks_there = pieces_there + pieces.size_bytes();
  MNEME_TRY(staging_.to_device(DevicePtr(targets_there), std::as_bytes(targets)));
  MNEME_TRY(staging_.to_device(DevicePtr(pieces_there), std::as_bytes(pieces)));
  MNEME_TRY(staging_.to_device(DevicePtr(marks_there), std::as_bytes(marks)));
  uint64_t target_count = targets.size(), piece_count = pieces.size();
  void* arguments[] = {&marks_there, &targets_there, &target_count, &pieces_there, &piece_count};
  const auto blocks = static_cast<uint32_t>(std::min<uint64_t>(kernel->blocks, piece_count));
  MNEME_TRY(launch_own(kernel->function, kernel->name.c_str(), blocks, arguments));
  return staging_.to_host(std::as_writable_bytes(marks), DevicePtr(marks_there))
      .with_context(fmt::format("finding pointers to {} ranges", target_count));
}

Status GpuStream::hash_pages(std::span<uint64_t> hashes, DevicePtr from, Bytes size, Bytes page) {
  if (page.count == 0 || hashes.size() != size.count / page.count + (size.count % page.count != 0)) {
    return error(Code::invalid_argument, "hashing {} at {}: room for {} hashes, which does not fit pages of {} bytes", size, from,
                 hashes.size(), page.count);
  }
  const MemoryRange range{from, size};
  return hash_ranges(hashes, {&range, 1}, page);
}

// Ranges are hashed together as far as their hashes have room in the scratch memory, and cut where that ends.
Status GpuStream::hash_ranges(std::span<uint64_t> hashes, std::span<const MemoryRange> ranges, Bytes page) {
  MNEME_TRY(check_page_count(hashes.size(), ranges, page));
  std::vector<MemoryRange> some;
  uint64_t pages = 0;  // of these
  const auto hash_them = [&]() -> Status {
    MNEME_TRY(hash_some(hashes.first(pages), some, page));
    hashes = hashes.subspan(std::exchange(pages, 0));
    some.clear();
    return {};
  };
  for (MemoryRange rest : ranges) {
    while (rest.size.count != 0) {
      const MemoryRange part{rest.address, std::min(rest.size, Bytes((kHashesAtOnce - pages) * page.count))};
      some.push_back(part);
      pages += (part.size.count + page.count - 1) / page.count;
      rest = {part.end(), rest.size - part.size};
      if (pages == kHashesAtOnce) MNEME_TRY(hash_them());
    }
  }
  return some.empty() ? Status() : hash_them();
}

Status GpuStream::hash_some(std::span<uint64_t> hashes, std::span<const MemoryRange> ranges, Bytes page) {
  ContextScope scope(context_);
  MNEME_TRY(scope.status());
  MNEME_TRY(reserve_scratch(hashes.size_bytes()));
  DevicePtr to(scratch_);
  for (const MemoryRange& range : ranges) {
    MNEME_TRY(hash_pages_to(to, range.address, range.size, page));
    to = to + Bytes((range.size.count + page.count - 1) / page.count * sizeof(uint64_t));
  }
  return staging_.to_host(std::as_writable_bytes(hashes), DevicePtr(scratch_))
      .with_context(fmt::format("hashing {} at {}{}", ranges[0].size, ranges[0].address,
                                ranges.size() == 1 ? "" : fmt::format(" and {} more ranges", ranges.size() - 1)));
}

// The bus's copy engine takes long ranges; of many short ones it would be busy with beginning each.
Status GpuStream::gather_impl(MutableByteSpan to, std::span<const MemoryRange> from) {
  ContextScope scope(context_);
  MNEME_TRY(scope.status());
  const Api& api = context_.api();
  std::byte* at = to.data();
  std::vector<ListedCopy> list;  // which may be read until the stream has been waited for
  if (to.size() / from.size() >= kLongRange) {
    for (const MemoryRange& range : from) {
      MNEME_TRY(context_.check_call(api.copy_to_host(at, range.address.address, range.size.count, handle_),
                                    context_.words().copy_to_host, "({} from {})", range.size, range.address));
      at += range.size.count;
    }
  } else {
    MNEME_ASSIGN(const MemoryKernels* kernels, kernels_.get());
    for (const MemoryRange& range : from)
      for (Bytes done; done < range.size; done += kGatheredPiece) {
        const Bytes size = std::min(kGatheredPiece, range.size - done);
        list.push_back({DevicePtr(reinterpret_cast<uint64_t>(at)), range.address + done, size});
        at += size.count;
      }
    const Bytes bytes(list.size() * sizeof(ListedCopy));
    MNEME_TRY(reserve_scratch(bytes.count));
    MNEME_TRY(context_.check_call(api.copy_to_device(scratch_, list.data(), bytes.count, handle_),
                                  context_.words().copy_to_device, "({}), the list of what is gathered", bytes));
    uint64_t count = list.size();
    void* arguments[] = {&scratch_, &count};
    MNEME_TRY(launch_own(kernels->copy_listed, "mneme_copy_listed",
                         static_cast<uint32_t>(std::min<uint64_t>(kGatheringBlocks, count)), arguments));
  }
  return context_.check_call(api.synchronize(handle_), context_.words().synchronize, ", after gathering {} of {} ranges",
                             Bytes(to.size()), from.size());
}

Status GpuStream::launch_packed(const GpuKernel& kernel, const LaunchShape& shape, ByteSpan parameters) {
  MNEME_TRY(kernel.allow(shape));
  const std::optional<ByteVector> moved = kernel.moved(parameters);
  if (moved) parameters = *moved;
  const ResultCode result = context_.api().launch(
      {.function = kernel.function(), .shape = shape, .stream = handle_, .packed = parameters, .places = kernel.places()});
  if (result == kSuccess) return {};
  const Words& words = context_.words();
  const bool clusters = shape.cluster != kNoCluster;
  return context_.check_call(result, shape.cooperative ? words.launch_cooperative : words.launch,
                             "({}, grid {}, block {}, {} bytes of dynamic shared memory, {} bytes of parameters{}{})",
                             kernel.name(), shape.grid, shape.block, shape.dynamic_shared_memory.count, parameters.size(),
                             shape.cooperative ? ", cooperative" : "",
                             clusters ? fmt::format(", clusters of {}", shape.cluster) : "");
}

Status GpuStream::launch_impl(const Kernel& kernel, const LaunchShape& shape, ByteSpan parameters) {
  ContextScope scope(context_);
  MNEME_TRY(scope.status());
  return launch_packed(static_cast<const GpuKernel&>(kernel), shape, parameters);
}

// The index of a pair that is free.
Result<size_t> GpuStream::prepare_events() {
  if (events_used_ < events_.size()) return events_used_;
  const Api& api = context_.api();
  EventPair pair;
  MNEME_TRY(context_.check_call(api.create_event(&pair.start, EventUse::timing), context_.words().create_event));
  if (Status status = context_.check_call(api.create_event(&pair.end, EventUse::timing), context_.words().create_event);
      !status.ok()) {
    api.destroy(pair.start);
    return status;
  }
  events_.push_back(pair);
  return events_used_;
}

Status GpuStream::launch_between_events(const GpuKernel& kernel, const LaunchShape& shape, ByteSpan parameters) {
  const Api& api = context_.api();
  MNEME_ASSIGN(size_t free, prepare_events());
  MNEME_TRY(context_.check_call(api.record_event(events_[free].start, handle_), context_.words().record_event));
  MNEME_TRY(launch_packed(kernel, shape, parameters));
  MNEME_TRY(context_.check_call(api.record_event(events_[free].end, handle_), context_.words().record_event));
  ++events_used_;
  return {};
}

Status GpuStream::launch_timed_impl(const Kernel& kernel, const LaunchShape& shape, ByteSpan parameters) {
  ContextScope scope(context_);
  MNEME_TRY(scope.status());
  const auto& launched = static_cast<const GpuKernel&>(kernel);
  MNEME_ASSIGN(LaunchClock clock, clock_.get());
  activity_ = clock.activity;
  if (activity_ == nullptr) return launch_between_events(launched, shape, parameters);
  const LaunchTag tag = activity_->begin();
  Status status = launch_packed(launched, shape, parameters);
  activity_->end(tag, status.ok());
  if (status.ok()) timed_.push_back(tag);
  return status;
}

Result<std::vector<Nanoseconds>> GpuStream::elapsed_between_events(size_t count) {
  std::vector<Nanoseconds> times;
  for (size_t i = 0; i < count; ++i) {
    float milliseconds = 0;
    MNEME_TRY(
        context_.check_call(context_.api().elapsed(&milliseconds, events_[i].start, events_[i].end), context_.words().elapsed));
    times.emplace_back(double{milliseconds} * 1e6);
  }
  return times;
}

Result<std::vector<Nanoseconds>> GpuStream::take_times() {
  const std::vector<LaunchTag> tags = std::exchange(timed_, {});
  const size_t events = std::exchange(events_used_, 0);
  if (Status status = synchronize(); !status.ok()) {
    for (LaunchTag tag : tags) activity_->forget(tag);
    return status;
  }
  if (!tags.empty()) return activity_->take_all(tags);
  ContextScope scope(context_);
  MNEME_TRY(scope.status());
  return elapsed_between_events(events);
}

// A comparison of the range with itself reads it, and nobody asks for the result.
Status GpuStream::read_through(DevicePtr from, Bytes size) {
  if (size.count == 0) return {};
  MNEME_ASSIGN(const MemoryKernels* kernels, kernels_.get());
  ContextScope scope(context_);
  MNEME_TRY(scope.status());
  MNEME_TRY(reserve_scratch(2 * sizeof(uint64_t)));
  uint64_t told = 0;
  void* arguments[] = {&from.address, &from.address, &size.count, &scratch_, &told};
  return launch_own(kernels->compare, "mneme_compare", kernels->compare_blocks, arguments);
}

}  // namespace mneme::gpu

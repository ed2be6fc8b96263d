#include "mneme/replay/prepared_memory.h"

#include <algorithm>

#include "mneme/base/activity.h"

namespace mneme {
namespace {

// Each page of the epilogue that is not the prologue's, to where it was recorded.
std::vector<PageUpload> changed_pages(const MemoryPlan& plan) {
  std::vector<PageUpload> pages;
  for (const PlannedRegion& planned : plan.regions) {
    if (planned.placement != Placement::recorded_address) continue;
    const Region& region = planned.epilogue;
    for (uint64_t i = 0; i < region.pages.size(); ++i) {
      if (region.pages[i] == planned.prologue.pages[i]) continue;
      const PageExtent extent = page_extent(region.address, region.size, i);
      pages.push_back({region.pages[i], extent.address, extent.size});
    }
  }
  return pages;
}

enum class Room { own, shareable };

Result<DeviceBuffer> room_for(Device& device, Bytes size, const char* what, Room room = Room::own) {
  ActivityScope loading(Activity::loading);
  size = std::max(size, Bytes(8));
  auto memory = room == Room::own ? DeviceBuffer::allocate(device, size) : DeviceBuffer::allocate_shared(device, size);
  if (memory.ok()) return memory;
  return memory.status().with_context(fmt::format("allocating room for {}, {}, where {} has {} in all", what, size,
                                                  device.properties().name, device.properties().total_memory));
}

}  // namespace

Result<std::unique_ptr<PreparedMemory>> PreparedMemory::create(const Database& database, const InstanceRecord& instance,
                                                               const MemoryPlan& plan, Device& device, Stream& stream,
                                                               const PrepareProgress& progress, RecordedCopies copies) {
  std::unique_ptr<PreparedMemory> memory(new PreparedMemory(database, instance, plan, device, stream));
  memory->changed_ = changed_blocks(plan);
  for (const MappedSpan& span : plan.spans) memory->blocks_ += block_count(span);
  const bool fresh = !copies;
  memory->copies_ = std::move(copies);
  if (fresh) {
    MNEME_ASSIGN(CopySizes sizes, plan_copies(plan, device.properties()));
    memory->copies_.all_before = sizes.all_before;
  }
  MNEME_TRY(memory->take_addresses());
  MNEME_ASSIGN(memory->hashes_, room_for(device, Bytes(8 * memory->blocks_), "hashes"));
  if (fresh) MNEME_TRY(memory->make_copies(progress));
  if (!fresh) MNEME_TRY(memory->attach_copies());
  MNEME_TRY(memory->read_symbol_states());
  return memory;
}

PreparedMemory::~PreparedMemory() { [[maybe_unused]] Status ignored = stream_.synchronize(); }

// The memory that the kernel works on is where the copies are put together.
Status PreparedMemory::make_copies(const PrepareProgress& progress) {
  const Bytes changed = total_size(changed_);
  const Room room = copies_.shareable ? Room::shareable : Room::own;
  MNEME_ASSIGN(copies_.after, room_for(device_, changed, "what the kernel changes", room));
  MNEME_ASSIGN(copies_.hashes, room_for(device_, Bytes(8 * blocks_), "hashes", room));
  auto before = room_for(device_, copies_.all_before ? plan_.copy_size : changed, "the memory before the launch", room);
  // Other processes may have their part of the device.
  if (!before.ok() && before.status().code() == Code::exhausted && std::exchange(copies_.all_before, false))
    before = room_for(device_, changed, "what the kernel changes", room);
  MNEME_ASSIGN(copies_.before, std::move(before));
  MNEME_TRY(attach_copies());

  std::vector<PageUpload> pages;
  for (const MappedSpan& span : plan_.spans) {
    MNEME_TRY(stream_.fill(span.address, kSlack, span.size));
    std::vector<PageUpload> of_span = prologue_pages(plan_, span.address, span.size);
    pages.insert(pages.end(), of_span.begin(), of_span.end());
  }
  MNEME_TRY(upload_pages(database_, stream_, pages, progress, "reading the memory before the launch"));
  MNEME_TRY((everything_ ? *everything_ : before_).take(stream_));
  MNEME_TRY(upload_pages(database_, stream_, changed_pages(plan_), progress, "reading the memory after the launch"));
  MNEME_TRY(after_.take(stream_));
  MNEME_TRY(hash_all());
  return stream_.copy(copies_.hashes.address(), hashes_.address(), Bytes(8 * blocks_));
}

Status PreparedMemory::attach_copies() {
  MNEME_ASSIGN(after_, MappedCopy::create(device_, stream_, changed_, copies_.after.address()));
  if (copies_.all_before) {
    MNEME_ASSIGN(everything_, MappedCopy::create(device_, stream_, all_spans(plan_), copies_.before.address()));
    MNEME_ASSIGN(before_, everything_->part(device_, stream_, changed_));
  } else {
    everything_.reset();
    MNEME_ASSIGN(before_, MappedCopy::create(device_, stream_, changed_, copies_.before.address()));
  }
  if (copies_.poisoned) {
    MNEME_ASSIGN(poisoned_, MappedCopy::create(device_, stream_, copies_.poisoned_blocks, copies_.poisoned.address()));
  }
  expected_ = std::make_unique<ExpectedMemory>(database_, plan_, device_, stream_, after_, everything_ ? &*everything_ : nullptr);
  return {};
}

Status PreparedMemory::read_symbol_states() {
  for (const PlannedRegion& region : plan_.regions) {
    if (region.placement != Placement::module_symbol) continue;
    SymbolState& state = symbols_[region.prologue.name];
    MNEME_ASSIGN(state.prologue, read_region(database_, region.prologue));
    MNEME_ASSIGN(state.epilogue, read_region(database_, region.epilogue));
    MNEME_ASSIGN(state.pristine, DeviceBuffer::allocate(device_, Bytes(state.prologue.size())));
    MNEME_ASSIGN(state.expected, DeviceBuffer::allocate(device_, Bytes(state.prologue.size())));
    MNEME_TRY(stream_.copy_to_device(state.pristine.address(), state.prologue));
    MNEME_TRY(stream_.copy_to_device(state.expected.address(), state.epilogue));
  }
  constexpr uint64_t kAlignment = 256;
  Bytes end;
  for (auto& [name, state] : symbols_) {
    state.offset = end;
    end = Bytes((end.count + state.prologue.size() + kAlignment - 1) / kAlignment * kAlignment);
  }
  return note_poisoned_symbols();
}

void PreparedMemory::give_addresses_up() { addresses_.reset(); }

Status PreparedMemory::take_addresses() {
  ActivityScope loading(Activity::loading);
  MNEME_ASSIGN(addresses_, RecordedAddresses::reserve(instance_, plan_, device_));
  restore_everything_ = true;
  return {};
}

Result<SymbolPlaces> PreparedMemory::places_in(Module& module) const {
  SymbolPlaces places;
  for (const auto& [name, state] : symbols_) {
    auto global = module.global(name);
    // A pipeline may have removed a global that the code never needed; then nothing can have changed it.
    const bool unchanged = state.prologue == state.epilogue && !state.poisoned;
    if (!global.ok() && global.status().code() == Code::not_found && unchanged) continue;
    if (!global.ok())
      return global.status().with_context(fmt::format("looking up the recorded global '{}' in the compiled code", name));
    if (global->size.count != 0 && global->size.count != state.prologue.size())
      return error(Code::incompatible, "the recorded global '{}' has {}, and {} in the compiled code", name,
                   Bytes(state.prologue.size()), global->size);
    places[name] = global->address;
  }
  return places;
}

Status PreparedMemory::restore(const SymbolPlaces& symbols, From from) {
  if (restore_everything_) MNEME_TRY(put_everything_back());
  if (from == From::poisoned && copies_.poisoned)
    MNEME_TRY(poisoned_.put_back(stream_));
  else if (!restore_everything_)
    MNEME_TRY(before_.put_back(stream_));
  for (const auto& [name, address] : symbols) {
    const SymbolState& state = symbols_.at(name);
    const bool poisoned = from == From::poisoned && copies_.poisoned_symbols;
    const DevicePtr source = poisoned ? copies_.poisoned_symbols.address() + state.offset : state.pristine.address();
    MNEME_TRY(stream_.copy(address, source, Bytes(state.prologue.size())));
  }
  return {};
}

Status PreparedMemory::put_everything_back() {
  if (everything_) return everything_->put_back(stream_);
  MNEME_TRY(repair());
  return before_.put_back(stream_);
}

// Blocks that the kernel does not change are before the launch what they are after it.
Status PreparedMemory::repair() {
  MNEME_TRY(hash_all());
  std::vector<uint64_t> now(blocks_), right(blocks_);
  MNEME_TRY(stream_.copy_to_host(std::as_writable_bytes(std::span(now)), hashes_.address()));
  MNEME_TRY(stream_.copy_to_host(std::as_writable_bytes(std::span(right)), copies_.hashes.address()));
  std::vector<PageUpload> pages;
  size_t i = 0;
  for (const MappedSpan& span : plan_.spans) {
    for (uint64_t block = 0; block < block_count(span); ++block, ++i) {
      const DevicePtr address = span.address + Bytes(block * kBlock.count);
      const Bytes size = std::min(kBlock, span.address + span.size - address);
      auto changed = before_.find(address);
      if (now[i] == right[i] || (changed != before_.pieces().end() && changed->address <= address)) continue;
      MNEME_TRY(stream_.fill(address, kSlack, size));
      std::vector<PageUpload> of_block = prologue_pages(plan_, address, size);
      pages.insert(pages.end(), of_block.begin(), of_block.end());
    }
  }
  return upload_pages(database_, stream_, pages, {}, "");
}

Status PreparedMemory::read_through(const SymbolPlaces& symbols) {
  for (const PlannedRegion& region : plan_.regions)
    if (region.placement == Placement::recorded_address)
      MNEME_TRY(stream_.read_through(region.prologue.address, region.prologue.size));
  for (const auto& [name, address] : symbols) MNEME_TRY(stream_.read_through(address, Bytes(symbols_.at(name).prologue.size())));
  return {};
}

Status PreparedMemory::keep_poisoned(const std::vector<MappedRun>& blocks, Bytes poisoned_bytes) {
  std::vector<MappedRun> runs = changed_;
  runs.insert(runs.end(), blocks.begin(), blocks.end());
  runs = whole_blocks(plan_, std::move(runs));
  MNEME_ASSIGN(DeviceBuffer place,
               room_for(device_, total_size(runs), "poisoned memory", copies_.shareable ? Room::shareable : Room::own));
  MNEME_ASSIGN(poisoned_, MappedCopy::create(device_, stream_, runs, place.address()));
  MNEME_TRY(poisoned_.take(stream_));
  copies_.poisoned = std::move(place);
  copies_.poisoned_blocks = std::move(runs);
  copies_.poisoned_bytes = poisoned_bytes;
  return {};
}

Status PreparedMemory::poison_symbols(const std::set<std::string>& names) {
  const auto& [last, state_of_last] = *symbols_.rbegin();
  poisoned_symbols_.resize(state_of_last.offset.count + state_of_last.prologue.size());
  for (const auto& [name, state] : symbols_) {
    const auto place = poisoned_symbols_.begin() + static_cast<ptrdiff_t>(state.offset.count);
    if (names.contains(name))
      std::transform(state.epilogue.begin(), state.epilogue.end(), place, [](std::byte right) { return ~right; });
    else
      std::copy(state.prologue.begin(), state.prologue.end(), place);
  }
  MNEME_ASSIGN(copies_.poisoned_symbols, room_for(device_, Bytes(poisoned_symbols_.size()), "poisoned globals",
                                                  copies_.shareable ? Room::shareable : Room::own));
  return stream_.copy_to_device(copies_.poisoned_symbols.address(), poisoned_symbols_);
}

Status PreparedMemory::keep_poisoned_symbols(const std::set<std::string>& names, const SymbolPlaces& now) {
  uint64_t poisoned = 0;
  for (const std::string& name : names) {
    const SymbolState& state = symbols_.at(name);
    ByteVector actual(state.epilogue.size());
    MNEME_TRY(stream_.copy_to_host(actual, now.at(name)));
    for (size_t i = 0; i < actual.size(); ++i) {
      if (actual[i] == state.epilogue[i])
        ++poisoned;
      else
        poisoned_symbols_[state.offset.count + i] = state.prologue[i];
    }
  }
  if (poisoned == 0) {
    forget_poisoned_symbols();
    return {};
  }
  poisoned_symbol_bytes_ = Bytes(poisoned);
  copies_.poisoned_bytes = copies_.poisoned_bytes + poisoned_symbol_bytes_;
  MNEME_TRY(stream_.copy_to_device(copies_.poisoned_symbols.address(), poisoned_symbols_));
  return note_poisoned_symbols();
}

void PreparedMemory::forget_poisoned_symbols() {
  poisoned_symbols_.clear();
  copies_.poisoned_symbols = DeviceBuffer();
  copies_.poisoned_bytes = Bytes(copies_.poisoned_bytes.count - std::exchange(poisoned_symbol_bytes_, {}).count);
  for (auto& [name, state] : symbols_) state.poisoned = false;
}

Status PreparedMemory::note_poisoned_symbols() {
  if (!copies_.poisoned_symbols) return {};
  for (auto& [name, state] : symbols_) {
    ByteVector start(state.prologue.size());
    MNEME_TRY(stream_.copy_to_host(start, copies_.poisoned_symbols.address() + state.offset));
    state.poisoned = start != state.prologue;
  }
  return {};
}

Result<SharedCopies> PreparedMemory::share_copies(const std::string& no_poison) {
  MNEME_TRY(stream_.synchronize());
  copies_.no_poison = no_poison;
  auto shared = mneme::share_copies(copies_, device_);
  MNEME_TRY(attach_copies());
  return shared;
}

Status PreparedMemory::hash_all() {
  DevicePtr to = hashes_.address();
  for (const MappedSpan& span : plan_.spans) {
    MNEME_TRY(stream_.hash_pages_to(to, span.address, span.size, kBlock));
    to = to + Bytes(8 * block_count(span));
  }
  return {};
}

Status PreparedMemory::check_later(const SymbolPlaces& symbols) {
  MNEME_TRY(hash_all());
  MNEME_TRY(stream_.compare_later(hashes_.address(), copies_.hashes.address(), Bytes(8 * blocks_)));
  checked_.push_back(DevicePtr());
  for (const auto& [name, address] : symbols) {
    const SymbolState& state = symbols_.at(name);
    MNEME_TRY(stream_.compare_later(address, state.expected.address(), Bytes(state.epilogue.size())));
    checked_.push_back(address);
  }
  return {};
}

Result<std::vector<PreparedMemory::Check>> PreparedMemory::take_checks() {
  const std::vector<DevicePtr> checked = std::exchange(checked_, {});
  MNEME_ASSIGN(std::vector<Comparison> comparisons, stream_.take_comparisons());
  if (comparisons.size() != checked.size())
    return error(Code::internal, "{} comparisons were started, and {} have a result", checked.size(), comparisons.size());
  std::vector<Check> checks;
  for (size_t i = 0; i < checked.size(); ++i) {
    if (checked[i] == DevicePtr()) checks.push_back({true, {}});
    Check& check = checks.back();
    if (comparisons[i].differing_bytes == 0 || !check.equal) continue;
    check = {false, checked[i]};
    uint64_t block = comparisons[i].first_difference.value_or(0) / 8;
    if (checked[i] != DevicePtr()) continue;
    for (const MappedSpan& span : plan_.spans) {
      if (block < block_count(span)) {
        check.first = span.address + Bytes(block * kBlock.count);
        break;
      }
      block -= block_count(span);
    }
  }
  return checks;
}

void PreparedMemory::forget_checks() {
  if (!checked_.empty()) [[maybe_unused]]
    auto ignored = stream_.take_comparisons();
  checked_.clear();
}

Result<RunMemory> PreparedMemory::observe(const SymbolPlaces& symbols, From from) {
  std::map<std::string, SymbolContent> contents;
  for (const auto& [name, address] : symbols) {
    const ByteVector& recorded = symbols_.at(name).epilogue;
    SymbolContent& content = contents[name] = {address, ByteVector(recorded.size()), recorded, {}};
    MNEME_TRY(stream_.copy_to_host(content.actual, address));
    if (from == From::recorded || !copies_.poisoned_symbols) continue;
    content.started.resize(recorded.size());
    MNEME_TRY(stream_.copy_to_host(content.started, copies_.poisoned_symbols.address() + symbols_.at(name).offset));
  }
  const bool poisoned = from == From::poisoned && copies_.poisoned;
  return RunMemory(stream_, plan_, *expected_, std::move(contents), poisoned ? &poisoned_ : nullptr);
}

Result<Verification> PreparedMemory::judge(const Check& check, const SymbolPlaces& symbols,
                                           const std::vector<ToleratedRange>& tolerated) {
  Verification verification;
  if (!check.equal || !tolerated.empty()) {
    MNEME_ASSIGN(RunMemory memory, observe(symbols));
    MNEME_ASSIGN(verification, verify_memory(memory, tolerated, check.equal ? Known::equal : Known::nothing));
  }
  // What was tolerated may lie in pages that the recorded kernel left alone.
  restore_everything_ = !verification.right() || !verification.exact;
  return verification;
}

Result<Verification> PreparedMemory::verify(const SymbolPlaces& symbols, const std::vector<ToleratedRange>& tolerated) {
  MNEME_TRY(check_later(symbols));
  MNEME_ASSIGN(std::vector<Check> checks, take_checks());
  return judge(checks.back(), symbols, tolerated);
}

}  // namespace mneme

#include "mneme/memory/prepared_memory.h"

#include <algorithm>

#include "mneme/base/activity.h"

namespace mneme {
namespace {

// Each page of the epilogue that is not the prologue's, to where a copy of what is changed has it.
std::vector<PageUpload> changed_pages(const MemoryPlan& plan, const MappedCopy& copy) {
  std::vector<PageUpload> pages;
  for (const PlannedRegion& planned : plan.regions) {
    if (planned.placement != Placement::recorded_address) continue;
    const Region& region = planned.epilogue;
    for (uint64_t i = 0; i < region.pages.size(); ++i) {
      if (region.pages[i] == planned.prologue.pages[i]) continue;
      const MemoryRange extent = page_extent(region.range(), i);
      const auto piece = copy.find(extent.address);
      pages.push_back({region.pages[i], piece->copy + (extent.address - piece->address), extent.size});
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
  for (const MappedSpan& span : plan.spans) {
    memory->spans_.push_back(span.range());
    memory->blocks_ += block_count(span);
  }
  const bool fresh = !copies;
  memory->copies_ = std::move(copies);
  if (fresh) {
    MNEME_ASSIGN(CopySizes sizes, plan_copies(plan, device.properties()));
    memory->copies_.all_before = sizes.all_before;
  }
  const auto begin = std::chrono::steady_clock::now();
  MNEME_TRY(memory->take_addresses());
  MNEME_ASSIGN(memory->hashes_, room_for(device, Bytes(8 * memory->blocks_), "hashes"));
  memory->times_.addresses = std::chrono::steady_clock::now() - begin;
  if (fresh) MNEME_TRY(memory->make_copies(progress));
  if (!fresh) MNEME_TRY(memory->attach_copies());
  MNEME_TRY(memory->read_symbol_states());
  return memory;
}

// Textures go before the memory that they are of.
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
  PageUploader uploader(database_, device_, stream_, progress);
  MNEME_TRY(uploader.upload(pages, "reading the memory before the launch"));
  MNEME_TRY((everything_ ? *everything_ : before_).take(stream_));
  // A block can have more in it than what changes.
  MNEME_TRY(after_.take(stream_));
  MNEME_TRY(uploader.upload(changed_pages(plan_, after_), "reading the memory after the launch"));
  times_.reading = uploader.reading();
  times_.copying = uploader.copying();
  MNEME_TRY(after_.put_back(stream_));
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
  if (copies_.masked) {
    MNEME_ASSIGN(masked_, MappedCopy::create(device_, stream_, copies_.masked_blocks, copies_.masked.address()));
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
  return note_masked_symbols();
}

void PreparedMemory::give_addresses_up() {
  textures_.reset();
  addresses_.reset();
}

Status PreparedMemory::take_addresses() {
  ActivityScope loading(Activity::loading);
  MNEME_ASSIGN(addresses_, RecordedAddresses::reserve(instance_, plan_, device_));
  trusted_ = false;
  parameters_ = instance_.parameters;
  if (plan_.textures.empty()) return {};
  auto textures = device_.create_textures(plan_.textures);
  if (!textures.ok()) {
    Status status = textures.status().code() == Code::unavailable ? addresses_->check_descriptors(plan_.textures) : Status();
    return (status.ok() ? textures.status() : status).with_context("making the recorded textures and surfaces");
  }
  textures_ = std::move(*textures);
  return replace_handles(parameters_, plan_.textures, textures_->handles());
}

Result<SymbolPlaces> PreparedMemory::places_in(Module& module) const {
  SymbolPlaces places;
  for (const auto& [name, state] : symbols_) {
    auto global = module.global(name);
    // A pipeline may have removed a global that the code never needed; then nothing can have changed it.
    const bool unchanged = state.prologue == state.epilogue && !state.masked;
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

Result<RestoredRun> PreparedMemory::restore(SymbolPlaces symbols, StartState start) {
  // What was put back for another start is of no run's making: masked memory may have wrong bytes where nothing changes.
  const std::optional<StartState> ahead = std::exchange(restored_ahead_, std::nullopt);
  const bool trusted = std::exchange(trusted_, false) && (!ahead || *ahead == start);
  const Extent extent = trusted ? Extent::changed : Extent::everything;
  if (trusted && ahead)
    MNEME_TRY(put_globals_back(symbols, start));
  else
    MNEME_TRY(put_back(symbols, start, extent));
  trusted_ = true;
  return RestoredRun(*this, std::move(symbols), start, extent);
}

Status PreparedMemory::restore_ahead(StartState start) {
  if (!trusted_) return {};
  Status restored = stream_.end_comparisons();
  if (restored.ok()) {
    restored_ahead_ = start;
    restored = put_memory_back(start, Extent::changed);
  }
  if (!restored.ok()) trusted_ = false;
  return restored;
}

Status PreparedMemory::put_back(const SymbolPlaces& symbols, StartState start, Extent extent) {
  MNEME_TRY(put_memory_back(start, extent));
  return put_globals_back(symbols, start);
}

Status PreparedMemory::put_memory_back(StartState start, Extent extent) {
  if (extent == Extent::everything) MNEME_TRY(put_everything_back());
  if (start == StartState::masked && copies_.masked)
    MNEME_TRY(masked_.put_back(stream_));
  else if (extent == Extent::changed)
    MNEME_TRY(before_.put_back(stream_));
  return textures_ ? textures_->fill_arrays(stream_) : Status();
}

Status PreparedMemory::put_globals_back(const SymbolPlaces& symbols, StartState start) {
  for (const auto& [name, address] : symbols) {
    const SymbolState& state = symbols_.at(name);
    const bool masked = start == StartState::masked && copies_.masked_symbols;
    const DevicePtr source = masked ? copies_.masked_symbols.address() + state.offset : state.pristine.address();
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
  return upload_pages(database_, device_, stream_, pages);
}

Status PreparedMemory::read_through(const SymbolPlaces& symbols) {
  for (const PlannedRegion& region : plan_.regions)
    if (region.placement == Placement::recorded_address)
      MNEME_TRY(stream_.read_through(region.prologue.address, region.prologue.size));
  for (const auto& [name, address] : symbols) MNEME_TRY(stream_.read_through(address, Bytes(symbols_.at(name).prologue.size())));
  return {};
}

Status PreparedMemory::keep_masked(const std::vector<MemoryRange>& blocks, Bytes masked_bytes) {
  std::vector<MemoryRange> runs = changed_;
  runs.insert(runs.end(), blocks.begin(), blocks.end());
  runs = whole_blocks(plan_, std::move(runs));
  MNEME_ASSIGN(DeviceBuffer place,
               room_for(device_, total_size(runs), "masked memory", copies_.shareable ? Room::shareable : Room::own));
  MNEME_ASSIGN(masked_, MappedCopy::create(device_, stream_, runs, place.address()));
  MNEME_TRY(masked_.take(stream_));
  copies_.masked = std::move(place);
  copies_.masked_blocks = std::move(runs);
  copies_.masked_bytes = masked_bytes;
  return {};
}

Status PreparedMemory::mask_symbols(const std::set<std::string>& names) {
  const auto& [last, state_of_last] = *symbols_.rbegin();
  masked_symbols_.resize(state_of_last.offset.count + state_of_last.prologue.size());
  for (const auto& [name, state] : symbols_) {
    const auto place = masked_symbols_.begin() + static_cast<ptrdiff_t>(state.offset.count);
    if (names.contains(name))
      std::transform(state.epilogue.begin(), state.epilogue.end(), place, [](std::byte right) { return ~right; });
    else
      std::copy(state.prologue.begin(), state.prologue.end(), place);
  }
  MNEME_ASSIGN(copies_.masked_symbols, room_for(device_, Bytes(masked_symbols_.size()), "masked globals",
                                                copies_.shareable ? Room::shareable : Room::own));
  return stream_.copy_to_device(copies_.masked_symbols.address(), masked_symbols_);
}

Status PreparedMemory::keep_masked_symbols(const std::set<std::string>& names, const SymbolPlaces& now) {
  uint64_t masked = 0;
  for (const std::string& name : names) {
    const SymbolState& state = symbols_.at(name);
    ByteVector actual(state.epilogue.size());
    MNEME_TRY(stream_.copy_to_host(actual, now.at(name)));
    for (size_t i = 0; i < actual.size(); ++i) {
      if (actual[i] == state.epilogue[i])
        ++masked;
      else
        masked_symbols_[state.offset.count + i] = state.prologue[i];
    }
  }
  if (masked == 0) {
    forget_masked_symbols();
    return {};
  }
  masked_symbol_bytes_ = Bytes(masked);
  copies_.masked_bytes = copies_.masked_bytes + masked_symbol_bytes_;
  MNEME_TRY(stream_.copy_to_device(copies_.masked_symbols.address(), masked_symbols_));
  return note_masked_symbols();
}

void PreparedMemory::forget_masked_symbols() {
  masked_symbols_.clear();
  copies_.masked_symbols = DeviceBuffer();
  copies_.masked_bytes = Bytes(copies_.masked_bytes.count - std::exchange(masked_symbol_bytes_, {}).count);
  for (auto& [name, state] : symbols_) state.masked = false;
}

Status PreparedMemory::read_masked(const SeePage& see) {
  if (copies_.masked) {
    [[maybe_unused]] const auto run = restore({}, StartState::masked);
    MNEME_TRY(run.status());
  }
  ByteVector content;
  for (size_t i = 0; i < plan_.regions.size(); ++i) {
    const PlannedRegion& region = plan_.regions[i];
    const MemoryRange range = region.prologue.range();
    const auto symbol = symbols_.find(region.prologue.name);
    const bool on_symbol = region.placement == Placement::module_symbol;
    if (on_symbol && (symbol == symbols_.end() || !symbol->second.masked)) continue;
    for (size_t page = 0; page < region.prologue.pages.size(); ++page) {
      const MemoryRange extent = page_extent(range, page);
      DevicePtr from = extent.address;
      if (on_symbol) {
        from = copies_.masked_symbols.address() + symbol->second.offset + (extent.address - range.address);
      } else {
        const auto piece = masked_.find(extent.address);
        if (!copies_.masked || piece == masked_.pieces().end() || piece->address >= extent.end()) continue;
      }
      content.resize(extent.size.count);
      MNEME_TRY(stream_.copy_to_host(content, from));
      MNEME_TRY(see(i, page, content));
    }
  }
  return {};
}

Status PreparedMemory::note_masked_symbols() {
  if (!copies_.masked_symbols) return {};
  for (auto& [name, state] : symbols_) {
    ByteVector start(state.prologue.size());
    MNEME_TRY(stream_.copy_to_host(start, copies_.masked_symbols.address() + state.offset));
    state.masked = start != state.prologue;
  }
  return {};
}

Result<SharedCopies> PreparedMemory::share_copies(const std::string& no_mask) {
  MNEME_TRY(stream_.synchronize());
  copies_.no_mask = no_mask;
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

Status PreparedMemory::start_check(const SymbolPlaces& symbols) {
  if (textures_) MNEME_TRY(textures_->copy_arrays(stream_));
  MNEME_TRY(stream_.compare_hashes_later(hashes_.address(), copies_.hashes.address(), spans_, kBlock));
  checked_.push_back(DevicePtr());
  for (const auto& [name, address] : symbols) {
    const SymbolState& state = symbols_.at(name);
    MNEME_TRY(stream_.compare_later(address, state.expected.address(), Bytes(state.epilogue.size())));
    checked_.push_back(address);
  }
  return {};
}

Result<std::vector<CheckedRun>> PreparedMemory::take_checks() {
  const bool trusted = std::exchange(trusted_, false);  // until the results are there
  const std::vector<DevicePtr> checked = std::exchange(checked_, {});
  MNEME_ASSIGN(std::vector<Comparison> comparisons, stream_.take_comparisons());
  if (comparisons.size() != checked.size())
    return error(Code::internal, "{} comparisons were started, and {} have a result", checked.size(), comparisons.size());
  std::vector<CheckedRun> checks;
  for (size_t i = 0; i < checked.size(); ++i) {
    if (checked[i] == DevicePtr()) checks.push_back({true, {}});
    CheckedRun& check = checks.back();
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
  trusted_ = trusted && std::all_of(checks.begin(), checks.end(), [](const CheckedRun& check) { return check.equal; });
  return checks;
}

void PreparedMemory::forget_checks() {
  if (!checked_.empty()) [[maybe_unused]]
    auto ignored = stream_.take_comparisons();
  checked_.clear();
  trusted_ = false;
}

Result<RunMemory> PreparedMemory::observe(const SymbolPlaces& symbols, StartState start) {
  std::map<std::string, SymbolContent> contents;
  for (const auto& [name, address] : symbols) {
    const ByteVector& recorded = symbols_.at(name).epilogue;
    SymbolContent& content = contents[name] = {address, ByteVector(recorded.size()), recorded, {}};
    MNEME_TRY(stream_.copy_to_host(content.actual, address));
    if (start == StartState::recorded || !copies_.masked_symbols) continue;
    content.started.resize(recorded.size());
    MNEME_TRY(stream_.copy_to_host(content.started, copies_.masked_symbols.address() + symbols_.at(name).offset));
  }
  const bool masked = start == StartState::masked && copies_.masked;
  return RunMemory(stream_, plan_, *expected_, std::move(contents), masked ? &masked_ : nullptr);
}

}  // namespace mneme

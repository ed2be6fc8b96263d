#include "mneme/replay/prepared_memory.h"

#include "mneme/base/activity.h"

namespace mneme {
namespace {

// What the slack between allocations holds, so that a write to it is seen.
constexpr std::byte kSlack{0xa7};

// Uploads of a region's pages to `base` (the address that stands for its first byte).
void append_pages(std::vector<PageUpload>& uploads, const Region& region, DevicePtr base, const Region* unless_equal = nullptr) {
  for (uint64_t i = 0; i < region.pages.size(); ++i) {
    if (unless_equal && unless_equal->pages[i] == region.pages[i]) continue;
    PageExtent extent = page_extent(region.address, region.size, i);
    uploads.push_back({region.pages[i], base + (extent.address - region.address), extent.size});
  }
}

}  // namespace

Result<std::unique_ptr<PreparedMemory>> PreparedMemory::create(const Database& database, const InstanceRecord& instance,
                                                               const MemoryPlan& plan, Device& device, Stream& stream,
                                                               const PrepareProgress& progress) {
  std::unique_ptr<PreparedMemory> memory(new PreparedMemory(database, instance, plan, device, stream));
  MNEME_TRY(memory->take_addresses());
  MNEME_TRY(memory->allocate_copies());
  MNEME_TRY(memory->upload(progress));
  MNEME_TRY(memory->read_symbol_states());
  return memory;
}

PreparedMemory::~PreparedMemory() {
  [[maybe_unused]] Status ignored = stream_.synchronize();
  for (DevicePtr copy : {pristine_, expected_})
    if (copy != DevicePtr()) ignored = device_.free(copy);
  for (const auto& [name, state] : symbols_)
    if (state.pristine != DevicePtr()) ignored = device_.free(state.pristine);
}

Status PreparedMemory::allocate_copies() {
  if (plan_.copy_size == Bytes()) return {};
  ActivityScope loading(Activity::loading);
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

Status PreparedMemory::upload(const PrepareProgress& progress) {
  if (plan_.copy_size != Bytes()) MNEME_TRY(stream_.fill(pristine_, kSlack, plan_.copy_size));
  std::vector<PageUpload> before, after;
  for (const PlannedRegion& region : plan_.regions) {
    if (region.placement != Placement::recorded_address) continue;
    append_pages(before, region.prologue, pristine_ + Bytes(region.offset));
    append_pages(after, region.epilogue, expected_ + Bytes(region.offset), &region.prologue);
  }
  MNEME_TRY(upload_pages(database_, stream_, before, progress, "reading the memory before the launch"));
  if (plan_.copy_size != Bytes()) MNEME_TRY(stream_.copy(expected_, pristine_, plan_.copy_size));
  return upload_pages(database_, stream_, after, progress, "reading the memory after the launch");
}

Status PreparedMemory::read_symbol_states() {
  for (const PlannedRegion& region : plan_.regions) {
    if (region.placement != Placement::module_symbol) continue;
    SymbolState& state = symbols_[region.prologue.name];
    MNEME_ASSIGN(state.prologue, read_region(database_, region.prologue));
    MNEME_ASSIGN(state.epilogue, read_region(database_, region.epilogue));
    MNEME_ASSIGN(state.pristine, device_.allocate(Bytes(state.prologue.size())));
    MNEME_TRY(stream_.copy_to_device(state.pristine, state.prologue));
  }
  return {};
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
    if (!global.ok() && global.status().code() == Code::not_found && state.prologue == state.epilogue) continue;
    if (!global.ok())
      return global.status().with_context(fmt::format("looking up the recorded global '{}' in the compiled code", name));
    if (global->size.count != 0 && global->size.count != state.prologue.size())
      return error(Code::incompatible, "the recorded global '{}' has {}, and {} in the compiled code", name,
                   Bytes(state.prologue.size()), global->size);
    places[name] = global->address;
  }
  return places;
}

Status PreparedMemory::restore(const SymbolPlaces& symbols) {
  if (restore_everything_) {
    for (const MappedSpan& span : plan_.spans) MNEME_TRY(stream_.copy(span.address, pristine_ + Bytes(span.offset), span.size));
  } else {
    for (const PlannedRegion& region : plan_.regions) {
      if (region.placement != Placement::recorded_address) continue;
      DevicePtr copy = pristine_ + Bytes(region.offset);
      for (const PageRun& run : region.changed)
        MNEME_TRY(stream_.copy(region.prologue.address + Bytes(run.offset), copy + Bytes(run.offset), run.size));
    }
  }
  for (const auto& [name, address] : symbols) {
    const SymbolState& state = symbols_.at(name);
    MNEME_TRY(stream_.copy(address, state.pristine, Bytes(state.prologue.size())));
  }
  return {};
}

Status PreparedMemory::read_through(const SymbolPlaces& symbols) {
  for (const PlannedRegion& region : plan_.regions)
    if (region.placement == Placement::recorded_address)
      MNEME_TRY(stream_.read_through(region.prologue.address, region.prologue.size));
  for (const auto& [name, address] : symbols) MNEME_TRY(stream_.read_through(address, Bytes(symbols_.at(name).prologue.size())));
  return {};
}

Result<RunMemory> PreparedMemory::observe(const SymbolPlaces& symbols) {
  std::map<std::string, SymbolContent> contents;
  for (const auto& [name, address] : symbols) {
    const ByteVector& recorded = symbols_.at(name).epilogue;
    SymbolContent& content = contents[name] = {address, ByteVector(recorded.size()), recorded};
    MNEME_TRY(stream_.copy_to_host(content.actual, address));
  }
  return RunMemory(stream_, plan_, expected_, std::move(contents));
}

Result<Verification> PreparedMemory::verify(const SymbolPlaces& symbols, const std::vector<ToleratedRange>& tolerated) {
  MNEME_ASSIGN(RunMemory memory, observe(symbols));
  MNEME_ASSIGN(Verification verification, verify_memory(memory, tolerated));
  // What was tolerated may lie in pages that the recorded kernel left alone.
  restore_everything_ = !verification.right() || !verification.exact;
  return verification;
}

}  // namespace mneme

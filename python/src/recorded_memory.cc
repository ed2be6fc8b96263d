#include "recorded_memory.h"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <set>

#include "mneme/ir/access_types.h"
#include "mneme/replay/compile_request.h"
#include "mneme/verify/buffers.h"
#include "mneme/verify/typed_ranges.h"

namespace mneme::python {
namespace {

constexpr size_t kAlignment = 64;

const char* to_string(Buffer::Kind kind) {
  switch (kind) {
    case Buffer::Kind::argument: return "argument";
    case Buffer::Kind::global: return "global";
    case Buffer::Kind::annotation: return "annotation";
    case Buffer::Kind::range: break;
  }
  return "allocation";
}

// What nothing else names: allocations that no argument begins in, by the range that a tolerance would name.
std::vector<Buffer> with_allocations(std::vector<Buffer> buffers, const MemoryPlan& plan) {
  std::set<size_t> named;
  for (const Buffer& buffer : buffers)
    if (buffer.kind != Buffer::Kind::annotation) named.insert(buffer.region);
  for (size_t i = 0; i < plan.regions.size(); ++i) {
    const Region& region = plan.regions[i].prologue;
    if (named.contains(i)) continue;
    buffers.push_back({Buffer::Kind::range, fmt::format("{}+{}", region.address, region.size.count), 0, i, 0, region.size});
  }
  return buffers;
}

// The type by which the code accesses it, else the one that an annotation of just this memory names.
std::optional<ElementType> element_of(const Buffer& buffer, DevicePtr address, const KernelRecord& kernel,
                                      const InstanceRecord& instance, const ir::AccessTypes& accesses) {
  if (buffer.kind == Buffer::Kind::argument || buffer.kind == Buffer::Kind::global)
    if (auto type = accessed_as(buffer, kernel, accesses)) return type;
  for (const Annotation& annotation : instance.annotations)
    if (annotation.address == address && annotation.size == buffer.size) return annotation.tolerance.type;
  return std::nullopt;
}

RecordedBuffer describe(const Buffer& buffer, const MemoryPlan& plan, const KernelRecord& kernel, const InstanceRecord& instance,
                        const ir::AccessTypes& accesses) {
  RecordedBuffer recorded{.name = buffer.name, .kind = to_string(buffer.kind), .region = buffer.region, .offset = buffer.offset};
  recorded.address = plan.regions[buffer.region].prologue.address + Bytes(buffer.offset);
  recorded.size = buffer.size;
  const auto type = element_of(buffer, recorded.address, kernel, instance, accesses);
  if (!type || buffer.size < size_of(*type)) return recorded;
  recorded.element = mneme::to_string(*type);
  recorded.size = Bytes(buffer.size.count / size_of(*type).count * size_of(*type).count);
  return recorded;
}

}  // namespace

RecordedBytes::RecordedBytes(Bytes size)
    : bytes_(static_cast<std::byte*>(
          std::aligned_alloc(kAlignment, (std::max<uint64_t>(size.count, 1) + kAlignment - 1) / kAlignment * kAlignment))) {
  if (!bytes_) throw std::bad_alloc();
}

void RecordedBytes::Free::operator()(std::byte* bytes) const { std::free(bytes); }

Result<RecordedMemory> RecordedMemory::load(std::shared_ptr<Database> database, const KernelRecord& kernel,
                                            const InstanceRecord& instance) {
  MNEME_ASSIGN(RecordedInstance recorded, database->load_instance(kernel.static_hash, instance.dynamic_hash));
  MNEME_ASSIGN(MemoryPlan plan, plan_memory(kernel, instance, recorded.prologue, recorded.epilogue));
  ir::AccessTypes accesses;  // none are known without IR
  if (kernel.level == CodeLevel::ir) {
    MNEME_ASSIGN(ir::Module module, load_module(*database, kernel));
    MNEME_ASSIGN(accesses, ir::access_types(module, kernel.name));
  }
  RecordedMemory memory(std::move(database), std::move(plan));
  std::set<std::string> names;
  for (const Buffer& buffer : with_allocations(buffers_of(kernel, instance, memory.plan_), memory.plan_)) {
    RecordedBuffer described = describe(buffer, memory.plan_, kernel, instance, accesses);
    if (!names.insert(described.name).second) {  // another one of that name
      described.name = fmt::format("{}+{}", described.address, described.size.count);
      if (!names.insert(described.name).second) continue;
    }
    memory.buffers_.push_back(std::move(described));
  }
  return memory;
}

Result<std::shared_ptr<const RecordedBytes>> RecordedMemory::read(const RecordedBuffer& buffer, Moment moment) {
  const PlannedRegion& planned = plan_.regions[buffer.region];
  if (planned.changed.empty()) moment = Moment::prologue;
  std::lock_guard lock(*mutex_);
  std::weak_ptr<const RecordedBytes>& kept = kept_[{buffer.region, moment}];
  if (auto there = kept.lock()) return there;
  const Region& region = moment == Moment::prologue ? planned.prologue : planned.epilogue;
  auto bytes = std::make_shared<RecordedBytes>(region.size);
  std::vector<PageRequest> requests;
  for (size_t page = 0; page < region.pages.size(); ++page) {
    const MemoryRange extent = page_extent(region.range(), page);
    requests.push_back({region.pages[page], {bytes->data() + (extent.address - region.address).count, extent.size.count}});
  }
  MNEME_TRY(database_->read_pages(requests));
  kept = bytes;
  return std::shared_ptr<const RecordedBytes>(std::move(bytes));
}

Result<ByteVector> recorded_bitcode(const Database& database, const KernelRecord& kernel) {
  MNEME_ASSIGN(ir::Module module, load_module(database, kernel));
  return module.bitcode();
}

}  // namespace mneme::python

#include "mneme/replay/poison.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "mneme/base/activity.h"

namespace mneme {
namespace {

constexpr char kSelect[] = "mneme_select", kDrop[] = "mneme_drop", kApply[] = "mneme_apply";

// A kernel whose threads take bytes of the set in turn, and the eight bits of each. {0}: its name; {1}: the byte of the set that
// the bits start from; {2}: what becomes of it with the bit %bit of byte %i of `a` and `b`: code that defines %result.
constexpr char kBitKernel[] = R"(
define ptx_kernel void @{0}(ptr %bits, ptr %a, ptr %b, i64 %size) {{
entry:
  %tid32 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block32 = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %width32 = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %blocks32 = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
  %tid = zext i32 %tid32 to i64
  %block = zext i32 %block32 to i64
  %width = zext i32 %width32 to i64
  %blocks = zext i32 %blocks32 to i64
  %first = mul i64 %block, %width
  %thread = add i64 %first, %tid
  %threads = mul i64 %blocks, %width
  %rounded = add i64 %size, 7
  %bytes = lshr i64 %rounded, 3
  br label %loop
loop:
  %m = phi i64 [ %thread, %entry ], [ %next_m, %next ]
  %more = icmp ult i64 %m, %bytes
  br i1 %more, label %byte, label %done
byte:
  %place = getelementptr i8, ptr %bits, i64 %m
  %old = load i8, ptr %place
  %start = {1}
  %base = shl i64 %m, 3
  br label %bit_loop
bit_loop:
  %k = phi i64 [ 0, %byte ], [ %next_k, %bit_end ]
  %value = phi i8 [ %start, %byte ], [ %next_value, %bit_end ]
  %i = add i64 %base, %k
  %inside = icmp ult i64 %i, %size
  br i1 %inside, label %work, label %bit_end
work:
  %k8 = trunc i64 %k to i8
  %bit = shl i8 1, %k8
  %at_a = getelementptr i8, ptr %a, i64 %i
  %at_b = getelementptr i8, ptr %b, i64 %i
{2}
  br label %work_end
work_end:
  br label %bit_end
bit_end:
  %next_value = phi i8 [ %value, %bit_loop ], [ %result, %work_end ]
  %next_k = add i64 %k, 1
  %again = icmp ult i64 %next_k, 8
  br i1 %again, label %bit_loop, label %store
store:
  store i8 %next_value, ptr %place
  br label %next
next:
  %next_m = add i64 %m, %threads
  br label %loop
done:
  ret void
}}
)";

// a: written, b: read.
constexpr char kSelectBit[] = R"(
  %written = load i8, ptr %at_a
  %read = load i8, ptr %at_b
  %is_written = icmp ne i8 %written, 0
  %unread = icmp eq i8 %read, 0
  %both = and i1 %is_written, %unread
  %set = or i8 %value, %bit
  %result = select i1 %both, i8 %set, i8 %value)";

// a: what is there, b: what is expected.
constexpr char kDropBit[] = R"(
  %actual = load i8, ptr %at_a
  %expected = load i8, ptr %at_b
  %equal = icmp eq i8 %actual, %expected
  %mask = xor i8 %bit, -1
  %cleared = and i8 %value, %mask
  %result = select i1 %equal, i8 %value, i8 %cleared)";

constexpr char kApplyBit[] = R"(
  %chosen = and i8 %value, %bit
  %is_chosen = icmp ne i8 %chosen, 0
  br i1 %is_chosen, label %poison, label %rest
poison:
  %expected = load i8, ptr %at_b
  %wrong = xor i8 %expected, -1
  store i8 %wrong, ptr %at_a
  br label %rest
rest:
  %result = or i8 %value, 0)";

std::string kernels_ir() {
  std::string text = R"(
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
)";
  text += fmt::format(kBitKernel, kSelect, "xor i8 %old, %old", kSelectBit);
  text += fmt::format(kBitKernel, kDrop, "or i8 %old, 0", kDropBit);
  text += fmt::format(kBitKernel, kApply, "or i8 %old, 0", kApplyBit);
  return text;
}

bool is_placed(const PlannedRegion& region) { return region.placement == Placement::recorded_address; }

}  // namespace

Result<AccessNotes> AccessNotes::create(Device& device, Stream& stream, const MemoryPlan& plan) {
  const Bytes both(2 * plan.copy_size.count);
  MNEME_ASSIGN(DevicePtr memory, device.allocate(both));
  AccessNotes notes(device, memory, plan.copy_size);
  MNEME_TRY(stream.fill(memory, std::byte{0}, both));
  return notes;
}

AccessNotes::AccessNotes(AccessNotes&& other) noexcept
    : device_(other.device_), memory_(std::exchange(other.memory_, {})), plane_(other.plane_) {}

AccessNotes::~AccessNotes() {
  if (memory_ != DevicePtr()) [[maybe_unused]]
    Status ignored = device_->free(memory_);
}

AccessTracking AccessNotes::tracking(const MemoryPlan& plan) {
  AccessTracking tracking{{}, plan.copy_size};
  for (const PlannedRegion& region : plan.regions)
    if (is_placed(region)) tracking.ranges.push_back({region.prologue.address, region.prologue.size, Bytes(region.offset)});
  return tracking;
}

Status AccessNotes::attach(Module& tracked, Stream& stream) const {
  MNEME_ASSIGN(const GlobalAddress variable, tracked.global(kAccessNotesVariable));
  const uint64_t address = memory_.address;
  MNEME_TRY(stream.copy_to_device(variable.address, std::as_bytes(std::span(&address, 1))));
  return stream.synchronize();
}

Result<std::unique_ptr<Poison>> Poison::create(Device& device, Stream& stream, Compiler& compiler, const MemoryPlan& plan,
                                               DevicePtr expected, const AccessNotes& notes) {
  std::unique_ptr<Poison> poison(new Poison(device, stream, plan, expected));
  MNEME_TRY(poison->load_kernels(compiler));
  uint64_t size = 0;
  for (const PlannedRegion& region : plan.regions) {
    const uint64_t own = is_placed(region) ? (region.prologue.size.count + 7) / 8 : 0;
    poison->sets_.push_back({DevicePtr(size), Bytes(own), false});
    size += own;
  }
  MNEME_ASSIGN(poison->bits_, device.allocate(Bytes(size)));
  for (size_t i = 0; i < plan.regions.size(); ++i) {
    RegionSet& set = poison->sets_[i];
    set.bits = poison->bits_ + Bytes(set.bits.address);
    const Bytes offset(plan.regions[i].offset);
    if (set.size != Bytes()) MNEME_TRY(poison->launch(kSelect, i, notes.written() + offset, notes.read() + offset));
  }
  MNEME_TRY(poison->count());
  return poison;
}

Poison::~Poison() {
  if (bits_ != DevicePtr()) [[maybe_unused]]
    Status ignored = device_.free(bits_);
}

Status Poison::load_kernels(Compiler& compiler) {
  const std::string text = kernels_ir();
  MNEME_ASSIGN(ir::Module module, ir::Module::parse(std::as_bytes(std::span(text)), "Mneme's poison kernels"));
  MNEME_ASSIGN(CompiledCode code, compiler.compile(module, {}));
  ActivityScope loading(Activity::loading);
  MNEME_ASSIGN(module_, device_.load(code.image));
  return {};
}

Status Poison::launch(const char* name, size_t region, DevicePtr a, DevicePtr b) {
  constexpr uint32_t kWidth = 256;
  MNEME_ASSIGN(Kernel * kernel, module_->kernel(name));
  const RegionSet& set = sets_[region];
  const uint64_t arguments[] = {set.bits.address, a.address, b.address, plan_.regions[region].prologue.size.count};
  const auto blocks =
      static_cast<uint32_t>(std::min<uint64_t>(set.size.count / kWidth + 1, 32 * device_.properties().multiprocessors));
  return stream_.launch(*kernel, {{blocks, 1, 1}, {kWidth, 1, 1}}, std::as_bytes(std::span(arguments)));
}

Status Poison::launch_where_used(const char* name) {
  for (size_t i = 0; i < sets_.size(); ++i) {
    const PlannedRegion& region = plan_.regions[i];
    if (sets_[i].used) MNEME_TRY(launch(name, i, region.prologue.address, expected_ + Bytes(region.offset)));
  }
  return {};
}

Status Poison::apply() { return launch_where_used(kApply); }

Status Poison::drop_wrong() {
  MNEME_TRY(launch_where_used(kDrop));
  return count();
}

Status Poison::count() {
  constexpr Bytes kPiece = 16_MiB;
  size_ = 0;
  ByteVector piece;
  for (RegionSet& set : sets_) {
    uint64_t bytes = 0;
    for (uint64_t at = 0; at < set.size.count; at += kPiece.count) {
      piece.resize(std::min(kPiece.count, set.size.count - at));
      MNEME_TRY(stream_.copy_to_host(piece, set.bits + Bytes(at)));
      for (std::byte bits : piece) bytes += static_cast<unsigned>(std::popcount(std::to_integer<uint8_t>(bits)));
    }
    set.used = bytes != 0;
    size_ += bytes;
  }
  return {};
}

}  // namespace mneme

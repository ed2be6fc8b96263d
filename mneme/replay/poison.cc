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

Bytes AccessNotes::size(const MemoryPlan& plan, NoteOf note) {
  return Bytes(plan.copy_size.count * (note == NoteOf::access ? 2 : 3 * kNoteWords * sizeof(uint32_t)));
}

Result<AccessNotes> AccessNotes::create(Device& device, Stream& stream, const MemoryPlan& plan, NoteOf note) {
  const Bytes all = size(plan, note);
  MNEME_ASSIGN(DevicePtr memory, device.allocate(all));
  AccessNotes notes(device, memory, plan.copy_size);
  MNEME_TRY(stream.fill(memory, std::byte{0}, all));
  return notes;
}

AccessNotes::AccessNotes(AccessNotes&& other) noexcept
    : device_(other.device_), memory_(std::exchange(other.memory_, {})), plane_(other.plane_) {}

AccessNotes::~AccessNotes() {
  if (memory_ != DevicePtr()) [[maybe_unused]]
    Status ignored = device_->free(memory_);
}

AccessTracking AccessNotes::tracking(const MemoryPlan& plan, NoteOf note) {
  AccessTracking tracking{{}, plan.copy_size, note};
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
                                               ExpectedMemory& expected, const AccessNotes& notes) {
  std::unique_ptr<Poison> poison(new Poison(device, stream, plan, expected));
  MNEME_TRY(poison->load_kernels(compiler));
  // A span is of whole pages of the host at least.
  MNEME_ASSIGN(poison->bits_, DeviceBuffer::allocate(device, Bytes(plan.copy_size.count / 8)));
  for (const MappedSpan& span : plan.spans) {
    const Bytes offset(span.offset);
    MNEME_TRY(
        poison->launch(kSelect, poison->bits_of(span, span.address), notes.written() + offset, notes.read() + offset, span.size));
  }
  MNEME_TRY(poison->count());
  return poison;
}

Poison::~Poison() { [[maybe_unused]] Status ignored = stream_.synchronize(); }

Status Poison::load_kernels(Compiler& compiler) {
  const std::string text = kernels_ir();
  MNEME_ASSIGN(ir::Module module, ir::Module::parse(std::as_bytes(std::span(text)), "Mneme's poison kernels"));
  MNEME_ASSIGN(CompiledCode code, compiler.compile(module, {}));
  ActivityScope loading(Activity::loading);
  MNEME_ASSIGN(module_, device_.load(code.image));
  return {};
}

DevicePtr Poison::bits_of(const MappedSpan& span, DevicePtr address) const {
  return bits_.address() + Bytes((span.offset + (address - span.address).count) / 8);
}

Status Poison::launch(const char* name, DevicePtr bits, DevicePtr a, DevicePtr b, Bytes size) {
  constexpr uint32_t kWidth = 256;
  MNEME_ASSIGN(Kernel * kernel, module_->kernel(name));
  const uint64_t arguments[] = {bits.address, a.address, b.address, size.count};
  const auto blocks =
      static_cast<uint32_t>(std::min<uint64_t>(size.count / 8 / kWidth + 1, 32 * device_.properties().multiprocessors));
  return stream_.launch(*kernel, {{blocks, 1, 1}, {kWidth, 1, 1}}, std::as_bytes(std::span(arguments)));
}

Status Poison::launch_where_used(const char* name) {
  for (const MappedRun& run : runs_) {
    auto span = std::find_if(plan_.spans.begin(), plan_.spans.end(),
                             [&](const MappedSpan& s) { return s.address <= run.address && run.address < s.address + s.size; });
    MNEME_TRY(expected_.for_each(run.address, run.size, [&](DevicePtr at, Bytes size, DevicePtr expected) {
      return launch(name, bits_of(*span, at), at, expected, size);
    }));
  }
  return {};
}

Status Poison::apply() { return launch_where_used(kApply); }

Status Poison::drop_wrong() {
  MNEME_TRY(launch_where_used(kDrop));
  return count();
}

Status Poison::count() {
  constexpr uint64_t kOfABlock = kBlock.count / 8, kPiece = 2048 * kOfABlock;
  size_ = 0;
  std::vector<MappedRun> used;
  ByteVector piece;
  for (const MappedSpan& span : plan_.spans) {
    const uint64_t bits = span.size.count / 8;
    for (uint64_t at = 0; at < bits; at += kPiece) {
      piece.resize(std::min(kPiece, bits - at));
      MNEME_TRY(stream_.copy_to_host(piece, bits_of(span, span.address + Bytes(8 * at))));
      for (uint64_t begin = 0; begin < piece.size(); begin += kOfABlock) {
        const ByteSpan block = ByteSpan(piece).subspan(begin, std::min(kOfABlock, piece.size() - begin));
        uint64_t bytes = 0;
        for (std::byte byte : block) bytes += static_cast<unsigned>(std::popcount(std::to_integer<uint8_t>(byte)));
        if (bytes != 0) used.push_back({span.address + Bytes(8 * (at + begin)), Bytes(8 * block.size())});
        size_ += bytes;
      }
    }
  }
  runs_ = whole_blocks(plan_, std::move(used));
  return {};
}

}  // namespace mneme

#include "vector_add.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <random>
#include <span>

#include "mneme/device/address_space.h"
#include "mneme/store/database.h"

namespace mneme {
namespace {

constexpr char kBefore[] = R"(
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
define ptx_kernel void @add(ptr %in, ptr %out, i32 %n) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %width = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %first = mul i32 %block, %width
  %i = add i32 %first, %tid
  %inside = icmp slt i32 %i, %n
  br i1 %inside, label %body, label %end
body:
  %from = getelementptr float, ptr %in, i32 %i
  %v = load float, ptr %from
  %r = fadd float %v, 1.5
)";

constexpr char kElement[] = R"(  %to = getelementptr float, ptr %out, i32 %i
  store float %r, ptr %to
  br label %end
)";

constexpr char kAfter[] = R"(end:
  ret void
}
)";

ByteVector bytes_of(const void* data, size_t size) {
  auto first = static_cast<const std::byte*>(data);
  return {first, first + size};
}

Status put_region(Publication& publication, DevicePtr address, const std::vector<float>& values, MemoryState& state) {
  Region region{Region::Kind::allocation, address, Bytes(values.size() * sizeof(float)), "", {}};
  region.pages.resize(page_count(region.range()));
  state.regions.push_back(std::move(region));
  Region& there = state.regions.back();
  PageBatch batch{std::make_unique<std::byte[]>(there.size.count), {}};
  std::memcpy(batch.bytes.get(), values.data(), there.size.count);
  for (size_t i = 0; i < there.pages.size(); ++i)
    batch.pages.push_back({page_extent(there.range(), i).size.count, &there.pages[i]});
  MNEME_TRY(publication.put(std::move(batch)));
  return publication.wait();
}

}  // namespace

std::string vector_add_ir(const std::string& body) { return std::string(kBefore) + (body.empty() ? kElement : body) + kAfter; }

Result<InstanceRecord> record_vector_add(const Path& folder, uint64_t elements) {
  MNEME_ASSIGN(Database database, Database::create(folder));
  MNEME_ASSIGN(auto publication, database.begin_publication());
  const auto n = static_cast<uint32_t>(elements);
  std::mt19937 random(1);
  std::vector<float> in(n), zeros(n), out(n);
  for (uint32_t i = 0; i < n; ++i) {
    in[i] = static_cast<float>(random() % 100000);
    out[i] = in[i] + 1.5f;
  }
  const DevicePtr from = kDefaultAddressSpaceBase;
  const DevicePtr to = from + Bytes((n * sizeof(float) + 511) / 512 * 512);
  const std::string ir = vector_add_ir();
  Recording recording;
  recording.kernel.name = recording.kernel.demangled = "add";
  recording.kernel.static_hash = digest_of(std::as_bytes(std::span(ir)));
  recording.kernel.target = "nvptx";
  recording.kernel.arch = "sm_90";
  recording.kernel.parameters = {{Parameter::Kind::pointer, "in", "ptr", 0, 8, 8},
                                 {Parameter::Kind::pointer, "out", "ptr", 8, 8, 8},
                                 {Parameter::Kind::integer, "n", "i32", 16, 4, 4}};
  recording.kernel.parameter_bytes = 20;
  recording.ir = bytes_of(ir.data(), ir.size());
  for (auto [state, result] : {std::pair(&recording.prologue, &zeros), std::pair(&recording.epilogue, &out)}) {
    state->regions.reserve(2);
    MNEME_TRY(put_region(*publication, from, in, *state));
    MNEME_TRY(put_region(*publication, to, *result, *state));
  }
  InstanceRecord& instance = recording.instance;
  instance.static_hash = recording.kernel.static_hash;
  instance.grid = {(n + 255) / 256, 1, 1};
  instance.block = {256, 1, 1};
  const uint64_t pointers[] = {from.address, to.address};
  instance.parameters = bytes_of(pointers, sizeof pointers);
  const ByteVector count = bytes_of(&n, sizeof n);
  instance.parameters.insert(instance.parameters.end(), count.begin(), count.end());
  instance.device_kind = "cpu";
  instance.device_name = "made";
  instance.space_base = kDefaultAddressSpaceBase;
  instance.space_size = 8_GiB;
  instance.state_bytes = recording.prologue.bytes();
  instance.recorded_at = "2026-01-01T00:00:00Z";
  instance.mneme_version = "made";
  instance.dynamic_hash = dynamic_hash(instance, recording.prologue);
  MNEME_TRY(publication->commit(recording));
  return instance;
}

TemporaryFolder::TemporaryFolder(const std::string& name)
    : path_(std::filesystem::temp_directory_path() / fmt::format("mneme-{}-{}", name, ::getpid())) {}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace mneme

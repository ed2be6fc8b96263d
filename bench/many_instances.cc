// What the database takes to publish one more instance of a kernel that has many, and to list them: no program, no device.
//
//   mneme_bench_many_instances DIR [COUNT...]
//
// Publishes as many instances of one kernel as the last COUNT says (default: 1000 10000 100000) into a new database DIR, and
// prints one line of JSON at each COUNT: microseconds of processor time for each instance since the line before, seconds in all,
// and seconds to load what the kernel's list says.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "mneme/store/database.h"

namespace {

using namespace mneme;

double processor_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

Status publish(Database& database, const KernelRecord& kernel, uint64_t number) {
  constexpr size_t kSize = 256;
  MNEME_ASSIGN(auto publication, database.begin_publication({.threads = 1}));
  Recording recording{kernel, ByteVector(1000), {}, {}, {}};
  recording.instance.static_hash = kernel.static_hash;
  recording.instance.device_kind = recording.instance.device_name = "cpu";
  recording.instance.recorded_at = "2026-01-01T00:00:00Z";
  for (MemoryState* state : {&recording.prologue, &recording.epilogue}) {
    Region& region =
        state->regions.emplace_back(Region{Region::Kind::allocation, DevicePtr(0x7a0000000000), Bytes(kSize), "", {{}}});
    PageBatch batch;
    batch.bytes = std::make_unique<std::byte[]>(kSize);
    const uint64_t content = 2 * number + (state == &recording.epilogue ? 1 : 0);
    std::memcpy(batch.bytes.get(), &content, sizeof content);
    batch.pages.push_back({kSize, region.pages.data()});
    MNEME_TRY(publication->put(std::move(batch)));
    MNEME_TRY(publication->wait());
  }
  recording.instance.dynamic_hash = dynamic_hash(recording.instance, recording.prologue);
  MNEME_ASSIGN(const bool is_there, database.has_instance(kernel.static_hash, recording.instance.dynamic_hash));
  return is_there ? error(Code::internal, "instance {} is there already", number) : publication->commit(recording);
}

Status measure(const Path& directory, const std::vector<uint64_t>& counts) {
  MNEME_ASSIGN(Database database, Database::create(directory));
  KernelRecord kernel;
  kernel.static_hash.bytes.fill(7);
  kernel.name = kernel.demangled = "kernel";
  kernel.target = "nvptx";
  const auto begin = std::chrono::steady_clock::now();
  uint64_t number = 0;
  for (uint64_t count : counts) {
    const uint64_t first = number;
    const double before = processor_seconds();
    for (; number < count; ++number) MNEME_TRY(publish(database, kernel, number));
    const double processor = processor_seconds() - before;
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
    const double loading = processor_seconds();
    MNEME_ASSIGN(const Database reader, Database::open(directory));
    MNEME_ASSIGN(const KernelDocument document, reader.load_document(kernel.static_hash));
    if (document.instances.size() != count) return error(Code::internal, "{} instances are listed", document.instances.size());
    fmt::print("{{\"instances\": {}, \"processor_us_each\": {:.0f}, \"wall_s\": {:.1f}, \"load_processor_s\": {:.2f}}}\n", count,
               processor / static_cast<double>(count - first) * 1e6, wall.count(), processor_seconds() - loading);
    std::fflush(stdout);
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<uint64_t> counts;
  for (int i = 2; i < argc; ++i) counts.push_back(std::strtoull(argv[i], nullptr, 10));
  if (counts.empty()) counts = {1000, 10'000, 100'000};
  const Status status = argc < 2 ? error(Code::invalid_argument, "name the directory of the database") : measure(argv[1], counts);
  if (!status.ok()) fmt::print(stderr, "{}\n", status.to_string());
  return status.ok() ? 0 : 1;
}

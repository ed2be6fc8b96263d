// The suite on the fake device: each kernel as a host function with the same result.
#include <cmath>
#include <cstdio>
#include <utility>

#include "mneme/device/conformance/conformance.h"
#include "mneme/device/fake/fake_device.h"

namespace mneme::conformance {
namespace {

using fake::FakeDevice;
using fake::FakeLaunch;

// Reads the packed arguments in order.
class Parameters {
 public:
  explicit Parameters(const FakeLaunch& launch) : bytes_(launch.parameters) {}
  template <typename T>
  T next() {
    offset_ = (offset_ + alignof(T) - 1) / alignof(T) * alignof(T);
    T value;
    std::memcpy(&value, bytes_.data() + offset_, sizeof(T));
    offset_ += sizeof(T);
    return value;
  }
  template <typename T>
  T* pointer() {
    return reinterpret_cast<T*>(next<uint64_t>());
  }

 private:
  ByteSpan bytes_;
  size_t offset_ = 0;
};

uint64_t threads_of(const FakeLaunch& launch) { return launch.shape.grid.volume() * launch.shape.block.volume(); }

Status write_indices(const FakeLaunch& launch) {
  auto* out = Parameters(launch).pointer<ThreadIndices>();
  const auto [grid, block] = std::pair(launch.shape.grid, launch.shape.block);
  for (uint32_t b = 0; b < grid.volume(); ++b) {
    for (uint32_t t = 0; t < block.volume(); ++t) {
      *out++ = {{t % block.x, t / block.x % block.y, t / block.x / block.y},
                {b % grid.x, b / grid.x % grid.y, b / grid.x / grid.y}};
    }
  }
  return {};
}

Status vector_add(const FakeLaunch& launch) {
  Parameters p(launch);
  const auto *a = p.pointer<float>(), *b = p.pointer<float>();
  auto* sum = p.pointer<float>();
  const auto n = p.next<uint32_t>();
  for (uint32_t i = 0; i < std::min<uint64_t>(n, threads_of(launch)); ++i) sum[i] = a[i] + b[i];
  return {};
}

Status reverse_in_block(const FakeLaunch& launch) {
  auto* data = Parameters(launch).pointer<uint32_t>();
  const uint64_t n = launch.shape.block.volume();
  for (uint64_t b = 0; b < launch.shape.grid.volume(); ++b) std::reverse(data + b * n, data + (b + 1) * n);
  return {};
}

Status by_value(const FakeLaunch& launch) {
  Parameters p(launch);
  const auto first = p.next<char>();
  const auto particle = p.next<Particle>();
  const auto second = p.next<short>();
  auto* out = p.pointer<double>();
  const double values[] = {double(first),
                           double(particle.tag),
                           particle.position[0] + particle.position[1] * 10 + particle.position[2] * 100,
                           double(particle.charge),
                           double(particle.id),
                           double(particle.flags[0] + particle.flags[4]),
                           double(second)};
  std::copy(std::begin(values), std::end(values), out);
  return {};
}

Status warp_collectives(const FakeLaunch& launch) {
  Parameters p(launch);
  const auto* in = p.pointer<int32_t>();
  auto* out = p.pointer<WarpResults>();
  for (uint64_t i = 0; i < threads_of(launch); ++i) {
    const int32_t* warp = in + i / 32 * 32;
    WarpResults r{};
    r.all = 1;
    for (uint32_t lane = 0; lane < 32; ++lane) {
      r.sum += warp[lane];
      if (lane <= i % 32) r.prefix += warp[lane];
      r.ballot |= static_cast<uint32_t>(warp[lane] & 1) << lane;
      r.any |= warp[lane] == 7 ? 1 : 0;
      r.all &= warp[lane] < 1000 ? 1 : 0;
    }
    r.butterfly = r.sum;
    r.broadcast = warp[5];
    r.segment = warp[i % 32 / 8 * 8 + 1];
    out[i] = r;
  }
  return {};
}

Status collectives_after_exit(const FakeLaunch& launch) {
  auto* out = Parameters(launch).pointer<uint32_t>();
  for (uint64_t i = 0; i < threads_of(launch); i += 2) out[i] = 0x55555555;
  return {};
}

Status barrier_reductions(const FakeLaunch& launch) {
  auto* out = Parameters(launch).pointer<uint32_t>();
  const auto n = static_cast<uint32_t>(threads_of(launch));
  for (uint32_t i = 0; i < n; ++i)
    out[3 * i] = (n + 2) / 3, out[3 * i + 1] = n <= 1000 ? 1 : 0, out[3 * i + 2] = n > 1000 ? 1 : 0;
  return {};
}

Status atomic_operations(const FakeLaunch& launch) {
  auto* r = Parameters(launch).pointer<AtomicResults>();
  for (uint32_t i = 0; i < threads_of(launch); ++i) {
    r->add += static_cast<int32_t>(i);
    r->maximum = std::max(r->maximum, static_cast<int32_t>(i * 7919 % 1009));
    r->minimum = std::min(r->minimum, -static_cast<int32_t>(i));
    r->bits_or |= 1u << (i % 32);
    r->bits_and &= ~(1u << (i % 8));
    r->bits_xor ^= i;
    r->compared += 2;
    r->exchanged = 5;
    r->wide += uint64_t{1} << 33;
    r->real += 0.5f;
    r->wrapped = r->wrapped >= 99 ? 0 : r->wrapped + 1;
  }
  return {};
}

Status aggregated_count(const FakeLaunch& launch) {
  Parameters p(launch);
  const auto* keys = p.pointer<uint32_t>();
  auto *count = p.pointer<uint32_t>(), *places = p.pointer<uint32_t>();
  for (uint32_t i = 0; i < threads_of(launch); ++i) {
    if (keys[i] % 3 == 0) places[(*count)++] = i;
  }
  return {};
}

Status group_sums(const FakeLaunch& launch) {
  Parameters p(launch);
  const auto* in = p.pointer<int32_t>();
  auto* out = p.pointer<int32_t>();
  for (uint64_t i = 0; i < threads_of(launch); ++i) {
    out[i] = static_cast<int32_t>(i / 8) * 1000;
    for (uint64_t k = 0; k < 8; ++k) out[i] += in[i / 8 * 8 + k];
  }
  return {};
}

Status match_lanes(const FakeLaunch& launch) {
  Parameters p(launch);
  const auto* in = p.pointer<uint64_t>();
  auto* out = p.pointer<uint32_t>();
  for (uint32_t i = 0; i < 32; ++i) {
    out[3 * i] = 0, out[3 * i + 1] = ~0u, out[3 * i + 2] = 1;
    for (uint32_t k = 0; k < 32; ++k) out[3 * i] |= (in[k] == in[i] ? 1u : 0u) << k;
  }
  return {};
}

uint32_t fibonacci(uint32_t n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

Status call_by_pointer(const FakeLaunch& launch) {
  auto* out = Parameters(launch).pointer<uint32_t>();
  for (uint32_t i = 0; i < threads_of(launch); ++i) out[i] = i % 2 == 0 ? fibonacci(i % 16) : 2 * (i % 16);
  return {};
}

Status heap(const FakeLaunch& launch) {
  auto* out = Parameters(launch).pointer<uint32_t>();
  for (uint32_t i = 0; i < threads_of(launch); ++i) out[i] = 40 * i + 780;
  return {};
}

Status named_barriers(const FakeLaunch& launch) {
  auto* out = Parameters(launch).pointer<uint32_t>();
  for (uint32_t i = 0; i < 64; ++i) out[i] = i < 32 ? 2 : 1;
  return {};
}

Status mathematics(const FakeLaunch& launch) {
  Parameters p(launch);
  const auto* in = p.pointer<double>();
  auto* out = p.pointer<double>();
  auto* singles = p.pointer<float>();
  for (uint64_t i = 0; i < threads_of(launch); ++i) {
    out[i] =
        std::sin(in[i]) + std::exp(-in[i]) + std::pow(in[i] + 1, 1.5) + std::sqrt(in[i]) + (2 * in[i] + 1) + std::floor(in[i]);
    singles[i] = static_cast<float>(std::sin(in[i]) + std::exp(-in[i]) + 1 / std::sqrt(in[i] + 1));
  }
  return {};
}

Status print(const FakeLaunch& launch) {
  Parameters p(launch);
  const auto number = p.next<int32_t>();
  std::printf("number %d, real %.3f, %s %c %llu\n", number, p.next<double>(), "string", 'c', 1ull << 40);
  return {};
}

Status busy(const FakeLaunch& launch) {
  Parameters p(launch);
  const auto iterations = p.next<uint32_t>();
  auto* out = p.pointer<uint32_t>();
  for (uint32_t i = 0; i < threads_of(launch); ++i) {
    out[i] = i;
    for (uint32_t k = 0; k < iterations; ++k) out[i] = out[i] * 1664525 + 1013904223;
  }
  return {};
}

Status grid_rounds(const FakeLaunch& launch) {
  Parameters p(launch);
  auto *arrivals = p.pointer<uint32_t>(), *written = p.pointer<uint32_t>();
  p.pointer<uint32_t>();
  const auto rounds = p.next<uint32_t>();
  *arrivals = 2 * rounds * launch.shape.grid.x;
  std::fill_n(written, launch.shape.grid.x, rounds);
  return {};
}

Status write_to(const FakeLaunch& launch) {
  return error(Code::device_fault, "write_to: a write to address {:#x}", Parameters(launch).next<uint64_t>());
}

Status trap_if(const FakeLaunch& launch) {
  return Parameters(launch).next<int32_t>() == 0 ? Status() : error(Code::device_fault, "trap_if: a trap");
}

Status assert_positive(const FakeLaunch& launch) {
  return Parameters(launch).next<int32_t>() > 0 ? Status()
                                                : error(Code::device_fault, "assert_positive: Assertion `n > 0` failed");
}

Result<std::unique_ptr<Device>> open() {
  auto device = std::make_unique<FakeDevice>();
  const std::pair<const char*, fake::KernelBody> kernels[] = {
      {"write_indices", write_indices},
      {"vector_add", vector_add},
      {"by_value", by_value},
      {"warp_collectives", warp_collectives},
      {"collectives_after_exit", collectives_after_exit},
      {"barrier_reductions", barrier_reductions},
      {"atomic_operations", atomic_operations},
      {"aggregated_count", aggregated_count},
      {"group_sums", group_sums},
      {"match_lanes", match_lanes},
      {"call_by_pointer", call_by_pointer},
      {"heap", heap},
      {"named_barriers", named_barriers},
      {"mathematics", mathematics},
      {"print", print},
      {"busy", busy},
      {"grid_rounds", grid_rounds},
      {"write_to", write_to},
      {"trap_if", trap_if},
      {"assert_positive", assert_positive},
  };
  for (const auto& [name, body] : kernels) device->define_kernel(name, body);
  KernelResources with_shared_memory;
  with_shared_memory.static_shared_memory = Bytes(kReverseThreads * 4);
  device->define_kernel("reverse_in_block", fake::FakeKernel{reverse_in_block, with_shared_memory, Nanoseconds(1000)});

  MNEME_ASSIGN(MemoryRange counters, device->define_global("counters", Bytes(kGlobalCounters * 4)));
  MNEME_ASSIGN(MemoryRange table, device->define_global("table", Bytes(kTableEntries * 4)));
  auto* counts = reinterpret_cast<uint32_t*>(counters.address.address);
  for (uint32_t i = 0; i < kGlobalCounters; ++i) counts[i] = 10 * (i + 1);
  device->define_kernel("read_globals",
                        [counts, reals = reinterpret_cast<const float*>(table.address.address)](const FakeLaunch& launch) {
                          Parameters p(launch);
                          auto* sum = p.pointer<uint32_t>();
                          auto* real_sum = p.pointer<float>();
                          *sum = 0, *real_sum = 0;
                          for (uint32_t i = 0; i < kGlobalCounters; ++i) *sum += counts[i]++;
                          for (uint32_t i = 0; i < kTableEntries; ++i) *real_sum += reals[i];
                          return Status();
                        });
  return std::unique_ptr<Device>(std::move(device));
}

}  // namespace

const Target& target() {
  static const Target fake = {DeviceKind::fake, open, [] { return CodeImage{DeviceKind::fake, {}}; }, 0x7000,
                              "its kernels are the host's functions"};
  return fake;
}

}  // namespace mneme::conformance

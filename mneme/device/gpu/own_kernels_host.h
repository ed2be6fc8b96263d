// For the drivers of tests: runs one of Mneme's own kernels on the host.
#pragma once

#include <algorithm>
#include <string>

#include "mneme/device/gpu/element_kernels_host.h"

namespace mneme::gpu::host {

// `p` has the addresses of the kernel's arguments.
inline void run_own_kernel(const std::string& name, unsigned blocks, unsigned threads, void** p) {
  auto u64_at = [&](int i) { return *static_cast<unsigned long long*>(p[i]); };
  auto bytes_at = [&](int i) { return reinterpret_cast<const unsigned char*>(u64_at(i)); };
  auto writable_at = [&](int i) { return reinterpret_cast<unsigned char*>(u64_at(i)); };
  auto words_at = [&](int i) { return reinterpret_cast<unsigned long long*>(u64_at(i)); };
  for (const auto& [known, kernel] : elements::kKernels) {
    if (name != known) continue;
    auto tallies = reinterpret_cast<element::Tally*>(u64_at(4));
    std::fill_n(tallies, blocks, element::Tally());
    const auto& measure = *static_cast<const element::Measure*>(p[3]);
    return host::run(blocks, threads, [&] { kernel(bytes_at(0), bytes_at(1), u64_at(2), measure, tallies); });
  }
  if (name == "mneme_compare") {
    host::run(blocks, threads, [&] { mneme_compare(bytes_at(0), bytes_at(1), u64_at(2), words_at(3), words_at(4)); });
  } else if (name == "mneme_copy_listed") {
    auto list = reinterpret_cast<const ListedCopy*>(u64_at(0));
    host::run(blocks, threads, [&] { mneme_copy_listed(list, u64_at(1)); });
  } else if (name == "mneme_find_pointers") {
    auto ranges_at = [&](int i) { return reinterpret_cast<const AddressRange*>(u64_at(i)); };
    host::run(blocks, threads, [&] { mneme_find_pointers(writable_at(0), ranges_at(1), u64_at(2), ranges_at(3), u64_at(4)); });
  } else if (name == "mneme_select_bytes") {
    host::run(blocks, threads, [&] { mneme_select_bytes(writable_at(0), bytes_at(1), bytes_at(2), u64_at(3)); });
  } else if (name == "mneme_drop_wrong_bytes") {
    host::run(blocks, threads, [&] { mneme_drop_wrong_bytes(writable_at(0), bytes_at(1), bytes_at(2), u64_at(3)); });
  } else if (name == "mneme_complement_bytes") {
    host::run(blocks, threads, [&] { mneme_complement_bytes(writable_at(0), writable_at(1), bytes_at(2), u64_at(3)); });
  } else {
    host::run(blocks, threads, [&] {
      mneme_hash_pages(words_at(0), bytes_at(1), u64_at(2), u64_at(3), u64_at(4), u64_at(5), words_at(6), words_at(7),
                       words_at(8));
    });
  }
}

}  // namespace mneme::gpu::host

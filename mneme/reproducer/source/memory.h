// Puts the recorded memory where it was: addresses, files, variables. launch.h says what there is.
#pragma once

#include <cuda.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "launch.h"

using Content = std::vector<unsigned char>;

[[noreturn]] inline void fail(const std::string& what, const std::string& why) {
  std::fprintf(stderr, "%s: %s\n", what.c_str(), why.c_str());
  std::exit(2);
}

#define CHECK(call) check(call, #call)
inline void check(CUresult result, const char* call) {
  const char* words = "the driver does not know the error";
  if (result == CUDA_SUCCESS) return;
  cuGetErrorString(result, &words);
  fail(call, words);
}

inline Content read_file(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  Content content{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || file.bad()) fail(name, "it cannot be read");
  return content;
}

// What a span of memory holds before the launch, or after it. The files have the pages that the kernel touches, one behind the
// other; all other memory has kLeftOut in every byte.
inline Content content_of(size_t span, bool after) {
  Content content(spans[span].size, kLeftOut);
  for (size_t region = 0; region < regions.size(); ++region) {
    const Region& r = regions[region];
    if (r.span != span) continue;
    const char* name = after && r.after != kSame ? r.after : r.before;
    const Content file = name == kZero ? Content() : read_file(name);
    size_t at = 0;
    for (const Pages& pages : kept_pages) {
      if (pages.region != region) continue;
      unsigned char* to = &content[r.offset + pages.offset];
      if (name != kZero && file.size() - at < pages.size) fail(name, "it is cut short");
      if (name == kZero)
        std::fill_n(to, pages.size, static_cast<unsigned char>(0));
      else
        std::copy_n(&file[at], pages.size, to);
      at += pages.size;
    }
  }
  return content;
}

// The driver places things of its own where there is room, and so does the system: the addresses are held until they are mapped.
inline void* hold(unsigned long long address, unsigned long long size, int access) {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
  return mmap(reinterpret_cast<void*>(address), size, access, kFlags, -1, 0);
}
inline void let_go(const Range& range) { munmap(reinterpret_cast<void*>(range.address), range.size); }

// To be called when the driver has started, which never gives away what it finds mapped then, and before it opens a device, for
// which it maps memory of its own.
inline void hold_addresses() {
  for (const Range& range : reservations) hold(range.address, range.size, PROT_NONE);
  for (const Span& span : spans)
    if (span.on_host) hold(span.address, span.size, PROT_NONE);
}

inline void map_memory(CUdevice device) {
  const char* const kTaken = "a recorded address is taken in this process: try again";
  CUmemAllocationProp kind{};
  kind.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  kind.location = {CU_MEM_LOCATION_TYPE_DEVICE, {device}};
  for (const Range& range : reservations) {
    let_go(range);
    CUdeviceptr got = 0;
    CHECK(cuMemAddressReserve(&got, range.size, 0, range.address, 0));
    if (got != range.address) fail("cuMemAddressReserve", kTaken);
  }
  for (const Span& span : spans) {
    if (span.variable != nullptr) continue;
    if (span.on_host) {  // memory of the host that the device reaches at the same address
      let_go({span.address, span.size});
      if (hold(span.address, span.size, PROT_READ | PROT_WRITE) == MAP_FAILED) fail("mmap", kTaken);
      constexpr unsigned kFlags = CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_PORTABLE;
      CHECK(cuMemHostRegister(reinterpret_cast<void*>(span.address), span.size, kFlags));
      continue;
    }
    CUmemGenericAllocationHandle memory;
    CHECK(cuMemCreate(&memory, span.size, &kind, 0));
    CHECK(cuMemMap(span.address, span.size, 0, memory, 0));
    const CUmemAccessDesc access{kind.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CHECK(cuMemSetAccess(span.address, span.size, &access, 1));
  }
}

// Where each span is: at its recorded address, or, of a variable of the module, where the driver has put it. 0: the code lacks
// it.
inline std::vector<CUdeviceptr> places_in(CUmodule module) {
  std::vector<CUdeviceptr> places;
  for (const Span& span : spans) {
    CUdeviceptr place = span.address;
    size_t size = span.size;
    if (span.variable != nullptr) {
      const CUresult result = cuModuleGetGlobal(&place, &size, module, span.variable);
      if (result == CUDA_ERROR_NOT_FOUND && !span.changed)
        place = 0;
      else
        check(result, span.variable);
      if (place != 0 && size != span.size) fail(span.variable, "the code has it in another size");
    }
    places.push_back(place);
  }
  return places;
}

// Copies what a span holds to its place, and back.
inline void put(size_t span, CUdeviceptr place, const Content& content) {
  if (spans[span].on_host)
    std::copy(content.begin(), content.end(), reinterpret_cast<unsigned char*>(place));
  else
    CHECK(cuMemcpyHtoD(place, content.data(), content.size()));
}
inline Content get(size_t span, CUdeviceptr place) {
  Content content(spans[span].size);
  if (spans[span].on_host)
    std::copy_n(reinterpret_cast<unsigned char*>(place), content.size(), content.begin());
  else
    CHECK(cuMemcpyDtoH(content.data(), place, content.size()));
  return content;
}

// Puts the recorded memory where it was: addresses, files, variables. launch.h says what there is.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <string>
#include <vector>

#include "files.h"
#include "gpu.h"
#include "launch.h"

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

inline void map_memory() {
  const char* const kTaken = "a recorded address is taken in this process: try again";
  for (const Range& range : reservations) {
    let_go(range);
    if (gpu::reserve(range) != range.address) fail(gpu::kReserve, kTaken);
  }
  for (const Span& span : spans) {
    if (span.variable != nullptr) continue;
    if (span.on_host) {
      let_go({span.address, span.size});
      if (hold(span.address, span.size, PROT_READ | PROT_WRITE) == MAP_FAILED) fail("mmap", kTaken);
      gpu::share(span);
    } else {
      gpu::map(span);
    }
  }
}

// Where each span is: at its recorded address, or, of a variable of the loaded code, where the driver has put it. 0: the code
// lacks it.
inline std::vector<gpu::Address> find_places() {
  std::vector<gpu::Address> places;
  for (const Span& span : spans) {
    gpu::Address place = span.address;
    size_t size = span.size;
    if (span.variable != nullptr && !gpu::find(span.variable, &place, &size)) {
      if (span.changed) fail(span.variable, "the code lacks it");
      place = 0;
    }
    if (place != 0 && size != span.size) fail(span.variable, "the code has it in another size");
    places.push_back(place);
  }
  return places;
}

// Copies what a span holds to its place, and back.
inline void put(size_t span, gpu::Address place, const Content& content) {
  if (spans[span].on_host)
    std::copy(content.begin(), content.end(), reinterpret_cast<unsigned char*>(place));
  else
    gpu::copy_to_device(place, content.data(), content.size());
}
inline Content get(size_t span, gpu::Address place) {
  Content content(spans[span].size);
  if (spans[span].on_host)
    std::copy_n(reinterpret_cast<unsigned char*>(place), content.size(), content.begin());
  else
    gpu::copy_to_host(content.data(), place, content.size());
  return content;
}

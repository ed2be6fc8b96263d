// The memory of a folder of sources (make_source.h): which there is, and its files.
#pragma once

#include <string>
#include <vector>

#include "mneme/base/output_folder.h"
#include "mneme/base/status.h"
#include "mneme/memory/memory_plan.h"
#include "mneme/reproducer/masked_pages.h"
#include "mneme/store/database.h"

namespace mneme {

// In what granules a GPU's memory is mapped, as main.cpp maps it.
inline constexpr Bytes kSourceGranularity = 2_MiB;

struct SourceMemory {
  // What is mapped in one piece at its recorded address, or a variable of the module, which is where the driver puts it.
  struct Span {
    MemoryRange range;     // of a variable: as it was recorded
    std::string variable;  // empty: none
    bool on_host = false;
    bool changed = false;  // by the recorded kernel
  };
  struct Region {
    size_t span = 0;
    uint64_t offset = 0;        // in the span
    std::string what;           // for people: "allocation 0x…, 4.00 MiB"
    std::string before, after;  // files, "memory/0x….before"; empty: all bytes of it are zero
    bool same = false;          // after the launch it is as before
  };
  // A run of pages of a region that are in its files, in the order of the files.
  struct Pages {
    size_t region = 0;
    uint64_t offset = 0;  // in the region
    Bytes size;
  };

  std::vector<MemoryRange> reservations;  // of device addresses
  std::vector<Span> spans;
  std::vector<Region> regions;  // those of the plan, in its order
  std::vector<Pages> pages;
};

// Writes the memory of a plan whose spans are mapped (map_spans(), of kSourceGranularity). Pages that were dropped
// (mneme/snapshot/trimming.h) are left out. Failures: those of the database and of the folder.
Result<SourceMemory> write_source_memory(const Database& database, const MaskedPages& masked, const MemoryPlan& plan,
                                         OutputFolder& folder);

}  // namespace mneme

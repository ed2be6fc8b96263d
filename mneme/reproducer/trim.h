// Trimming: a recorded launch without the memory that it does not touch.
#pragma once

#include <string>

#include "mneme/base/status.h"
#include "mneme/memory/memory_plan.h"
#include "mneme/replay/configuration.h"
#include "mneme/replay/session.h"
#include "mneme/reproducer/masked_pages.h"
#include "mneme/store/database.h"
#include "mneme/store/recording_sink.h"

namespace mneme {

struct TrimmedRecording {
  RecordedInstance recorded;
  Bytes memory;    // that it has
  Bytes left_out;  // that it had before and has no more
};

// The whole of it.
TrimmedRecording untrimmed(const RecordedInstance& recorded);
// Without the pages that are not touched. Regions of which no page is touched are left out, but globals; in others the pages that
// are not touched have kDropped in every byte (mneme/snapshot/trimming.h), before the launch and after it. Annotations of what is
// left out go too. The dynamic hash stays, as the name of the launch that it was.
TrimmedRecording trim(const RecordedInstance& recorded, const Session::TouchedPages& touched);

// How everything made of a launch runs it once: under the configuration, and with no mask where all memory is kept, since nothing
// is looked for then.
Configuration run_once(const Configuration& configuration, bool whole);

// What is made of a launch and how much memory it keeps.
struct ReducedRecording {
  TrimmedRecording trimmed;
  MaskedPages masked;
  std::string kept;      // why nothing is left out; empty: what is not touched is
  std::string unmasked;  // why nothing is masked; empty: something is
};
// Trims the recording by what the session's kernel touches, and masks what it writes and does not read, where `mask` asks for it.
// `whole`: neither. What cannot be found out keeps all memory. device_fault: the device has failed meanwhile.
Result<ReducedRecording> reduce(Session& session, const Database& database, const RecordedInstance& recorded, bool whole,
                                bool mask);

// Writes the recording as an archive without code. The pages are those of `database`, masked ones, and dropped ones.
Status write_trimmed(const Database& database, const MaskedPages& masked, const KernelRecord& kernel,
                     const RecordedInstance& recorded, WritableFile& out);

}  // namespace mneme

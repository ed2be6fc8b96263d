// Sessions on a recording made by hand.
#pragma once

#include "mneme/replay/session.h"
#include "mneme/store/testing/made_recording.h"

namespace mneme::testing_replay {

using testing_store::bytes_of;
using testing_store::MadeRecording;
using testing_store::MadeRegion;

class MadeDatabase : public testing_store::MadeDatabase {
 public:
  Result<std::unique_ptr<Session>> prepare(const MadeRecording& made, Device& device) {
    MNEME_ASSIGN(InstanceRecord instance, publish(made));
    MNEME_ASSIGN(Database reading, Database::open(directory()));
    database_ = std::make_unique<Database>(std::move(reading));
    return Session::prepare(*database_, instance.static_hash, instance.dynamic_hash, device);
  }

 private:
  std::unique_ptr<Database> database_;
};

}  // namespace mneme::testing_replay

#include "mneme/base/activity.h"
#include "mneme/device/launch_limits.h"
#include "mneme/replay/code_level.h"
#include "mneme/replay/session.h"
#include "mneme/snapshot/launch_limits.h"

namespace mneme {

Result<std::unique_ptr<Session>> Session::prepare(const Database& database, const Digest& static_hash, const Digest& dynamic_hash,
                                                  Device& device, const PrepareProgress& progress, RecordedCopies copies) {
  const auto start = std::chrono::steady_clock::now();
  std::unique_ptr<Session> session(new Session(database, device));
  MNEME_TRY(session->load_kernel(static_hash));
  MNEME_ASSIGN(RecordedInstance recorded, database.load_instance(static_hash, dynamic_hash));
  MNEME_TRY(session->load(std::move(recorded)));
  MNEME_TRY(session->prepare_memory(start, progress, std::move(copies)));
  return session;
}

Result<std::unique_ptr<Session>> Session::prepare(const Database& database, RecordedInstance recorded, Device& device,
                                                  const PrepareProgress& progress) {
  const auto start = std::chrono::steady_clock::now();
  std::unique_ptr<Session> session(new Session(database, device));
  MNEME_TRY(session->load_kernel(recorded.instance.static_hash));
  MNEME_TRY(session->load(std::move(recorded)));
  MNEME_TRY(session->prepare_memory(start, progress, {}));
  return session;
}

Status Session::prepare_memory(std::chrono::steady_clock::time_point start, const PrepareProgress& progress,
                               RecordedCopies copies) {
  const Nanoseconds loading_time = std::chrono::steady_clock::now() - start;
  {
    ActivityScope loading(Activity::loading);
    MNEME_ASSIGN(const LaunchLimits limits, limits_in(instance_.attributes));
    MNEME_TRY(raise_limits(device_, limits));
    MNEME_ASSIGN(stream_, device_.create_stream());
  }
  measurer_ = std::make_unique<Measurer>(device_, *stream_);
  if (!copies.no_mask.empty()) why_no_mask_ = Status(Code::unsupported, copies.no_mask);
  MNEME_ASSIGN(memory_, PreparedMemory::create(database_, instance_, plan_, device_, *stream_, progress, std::move(copies)));
  const PreparationTimes& times = memory_->times();
  session_times_ = {
      {"recording", loading_time}, {"addresses", times.addresses}, {"read", times.reading}, {"upload", times.copying}};
  prepare_time_ = std::chrono::steady_clock::now() - start;
  return {};
}

// What is running may use modules that the session keeps.
Session::~Session() {
  if (stream_) [[maybe_unused]]
    Status ignored = stream_->synchronize();
}

Status Session::load_kernel(const Digest& static_hash) {
  MNEME_ASSIGN(kernel_, database_.load_kernel(static_hash));
  return check_device(kernel_, device_.properties().kind);
}

Status Session::load(RecordedInstance recorded) {
  instance_ = std::move(recorded.instance);
  MNEME_ASSIGN(plan_, plan_memory(kernel_, instance_, recorded.prologue, recorded.epilogue));
  map_spans(plan_, device_.properties().allocation_granularity);
  MNEME_ASSIGN(code_, RecordedCode::load(database_, kernel_));
  if (code_->sources() == nullptr) why_no_mask_ = no_ir(kernel_, "and which bytes it only writes is not known");
  MNEME_ASSIGN(compiler_, Compiler::create_when_asked(device_.properties().kind, device_.properties().architecture));
  return {};
}

}  // namespace mneme

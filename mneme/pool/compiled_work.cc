#include "mneme/pool/compiled_work.h"

#include <utility>

#include "mneme/pool/candidate_code.h"

namespace mneme {
namespace {

class CompiledWork final : public DeviceWork {
 public:
  CompiledWork(const RecordedKernel& recorded, CodeFor made_for) : recorded_(recorded), made_for_(std::move(made_for)) {}

  PoolResult measure(const Configuration& configuration, ByteSpan object, const nlohmann::json&, const Watch&) override {
    PoolResult result;
    const auto code = decode_candidate_code(object);
    if (!code.ok() || code->object_of.size() != recorded_.launches.size()) {
      result.failure = Failure::worker_lost;
      result.reason = code.ok() ? "the code is of other instances" : code.status().to_string();
      return result;
    }
    const bool several = recorded_.launches.size() > 1;
    result.details.together = result_of(configuration, *code, 0);
    if (several) result.details.together = ReplayResult();
    for (size_t i = 0; several && i < recorded_.launches.size(); ++i)
      result.details.instances.push_back({recorded_.launches[i].instance.dynamic_hash, result_of(configuration, *code, i)});
    result.details.together.stage = ReplayStage::compiled;
    return result;
  }

 private:
  // The compile worker has refused a shape that there cannot be.
  ReplayResult result_of(const Configuration& configuration, const CandidateCode& code, size_t instance) const {
    const InstanceRecord& recorded = recorded_.launches[instance].instance;
    ReplayResult result;
    result.recorded_on = recorded.device_kind;
    result.recorded_time = recorded.recorded_time;
    if (auto shape = configuration.launch_shape(recorded); shape.ok()) {
      result.shape = *shape;
      result.fewer_threads = fewer_threads(*shape, recorded_shape(recorded));
    }
    return compiled_only(made_for_, code.of_instance(instance), std::move(result));
  }

  const RecordedKernel& recorded_;
  const CodeFor made_for_;
};

}  // namespace

std::unique_ptr<DeviceWork> create_compiled_work(const RecordedKernel& recorded, CodeFor made_for) {
  return std::make_unique<CompiledWork>(recorded, std::move(made_for));
}

}  // namespace mneme

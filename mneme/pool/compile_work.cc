#include "mneme/pool/compile_work.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "mneme/base/activity.h"
#include "mneme/compile/assembly_memory.h"
#include "mneme/compile/compile_key.h"
#include "mneme/compile/translation_memory.h"
#include "mneme/pool/candidate_code.h"
#include "mneme/pool/warm_up.h"
#include "mneme/replay/code_level.h"
#include "mneme/replay/compile_request.h"

namespace mneme {
namespace {

using Json = nlohmann::json;

// Of all objects together.
Json stage_times(const std::vector<std::vector<StageTime>>& all) {
  std::map<std::string, double> sums;
  for (const std::vector<StageTime>& times : all)
    for (const StageTime& time : times) sums[time.stage] += time.time.count();
  return sums;
}

class RecordedCompileWork final : public CompileWork {
 public:
  RecordedCompileWork(RecordedKernel& recorded, DeviceKind kind, std::string architecture, std::unique_ptr<Compiler> compiler)
      : recorded_(recorded), kind_(kind), architecture_(std::move(architecture)), compiler_(std::move(compiler)) {}

  Status check_launch(const Configuration& configuration) override {
    for (const RecordedKernel::Launch& launch : recorded_.launches) {
      MNEME_ASSIGN(const LaunchShape shape, configuration.launch_shape(launch.instance));
      MNEME_TRY(check_block_of(configuration, shape));
    }
    return {};
  }

  Result<TranslatedCode> translate(const Configuration& configuration) override {
    ActivityScope compiling(Activity::compiling);
    translations_.clear();
    object_of_.clear();
    if (recorded_.code.program(configuration) != nullptr) return take_program_code(configuration);
    MNEME_ASSIGN(KernelCode * source, recorded_.code.sources()->find(configuration.ir));
    std::vector<Digest> asked;  // what each translation answers
    Json specialised = Json::array();
    for (const auto& [instance, plan, weight] : recorded_.launches) {
      MNEME_ASSIGN(CompileRequest request, compile_request(configuration, {recorded_.kernel, instance, plan}, *source));
      if (!configuration.specialise.empty()) specialised.push_back(to_json(report_of(request.specialised)));
      Hasher hasher;
      add_to(hasher, request.options);
      const Digest key = hasher.finish();
      auto same = std::find(asked.begin(), asked.end(), key);
      if (same == asked.end()) {
        MNEME_ASSIGN(const ir::Module* module, source->module());
        MNEME_ASSIGN(Translation translation, translated_.translate(*module, request.options, *compiler_));
        translations_.push_back(std::move(translation));
        same = asked.insert(asked.end(), key);
      }
      object_of_.push_back(static_cast<uint32_t>(same - asked.begin()));
    }
    return TranslatedCode{unite_same(), {{"times", times()}, {"specialised", specialised}}};
  }

  void keep() override { kept_.push_back({std::exchange(translations_, {}), std::exchange(object_of_, {})}); }

  std::vector<Result<AssembledCode>> assemble() override {
    ActivityScope compiling(Activity::compiling);
    std::vector<Translation> together;
    for (Candidate& candidate : kept_) std::ranges::move(candidate.translations, std::back_inserter(together));
    std::vector<Result<CompiledCode>> objects = assembled_.assemble_all(together, *compiler_);
    std::vector<Result<AssembledCode>> all;
    for (size_t begin = 0; const Candidate& candidate : std::exchange(kept_, {})) {
      const size_t count = candidate.translations.size();
      all.push_back(
          code_of(candidate.object_of, std::span(together).subspan(begin, count), std::span(objects).subspan(begin, count)));
      begin += count;
    }
    return all;
  }

 private:
  // One configuration.
  struct Candidate {
    std::vector<Translation> translations;  // that differ
    std::vector<uint32_t> object_of;        // by instance
  };

  static Result<AssembledCode> code_of(const std::vector<uint32_t>& object_of, std::span<const Translation> translations,
                                       std::span<Result<CompiledCode>> objects) {
    CandidateCode code{{}, object_of};
    std::vector<std::vector<StageTime>> times;
    std::string digest;
    for (size_t i = 0; i < objects.size(); ++i) {
      MNEME_ASSIGN(CompiledCode object, std::move(objects[i]));
      times.push_back(object.times);
      times.back().erase(times.back().begin(), times.back().begin() + static_cast<ptrdiff_t>(translations[i].times.size()));
      digest += (digest.empty() ? "" : "+") + object.digest.hex();
      code.objects.push_back(std::move(object));
    }
    for (uint32_t object : object_of)
      if (objects.size() > 1) digest += fmt::format(" {}", object);
    return AssembledCode{encode(code), {{"digest", digest}, {"times", stage_times(times)}}};
  }

  // Of IR in the place of the recorded one translate() tells.
  Status check_block_of(const Configuration& configuration, const LaunchShape& shape) const {
    if (const ProgramCode* code = recorded_.code.program(configuration))
      return check_block(*code, recorded_.kernel, shape, kind_);
    if (!configuration.ir.path.empty()) return {};
    MNEME_ASSIGN(const std::optional<Dim3> required, recorded_.code.sources()->recorded().required_block());
    return check_block(required, recorded_.kernel, shape);
  }

  // Instances differ in nothing but with what the program had the code assembled.
  Result<TranslatedCode> take_program_code(const Configuration& configuration) {
    MNEME_TRY(check_code_level(configuration, recorded_.kernel));
    for (const RecordedKernel::Launch& launch : recorded_.launches) {
      MNEME_ASSIGN(Translation translation,
                   translate_program_code(*recorded_.code.program(configuration), configuration.assembler,
                                          driver_options(launch.instance), kind_, architecture_));
      object_of_.push_back(static_cast<uint32_t>(translations_.size()));
      translations_.push_back(std::move(translation));
    }
    return TranslatedCode{unite_same(), {{"times", times()}, {"specialised", Json::array()}}};
  }

  Json times() const {
    std::vector<std::vector<StageTime>> all;
    for (const Translation& translation : translations_) all.push_back(translation.times);
    return stage_times(all);
  }

  // Keeps of equal translations the first. The digest of them all, and of who runs which.
  std::string unite_same() {
    std::vector<Digest> digests;
    std::vector<Translation> different;
    std::vector<uint32_t> place;
    for (Translation& translation : translations_) {
      const Digest digest = translation.digest();
      auto same = std::find(digests.begin(), digests.end(), digest);
      place.push_back(static_cast<uint32_t>(same - digests.begin()));
      if (same != digests.end()) continue;
      digests.push_back(digest);
      different.push_back(std::move(translation));
    }
    translations_ = std::move(different);
    Hasher hasher;
    for (const Digest& digest : digests) hasher.add(std::as_bytes(std::span(digest.bytes)));
    for (uint32_t& object : object_of_) hasher.add(uint64_t{object = place[object]});
    return hasher.finish().hex();
  }

  RecordedKernel& recorded_;
  const DeviceKind kind_;
  const std::string architecture_;
  std::unique_ptr<Compiler> compiler_;
  TranslationMemory translated_;
  AssemblyMemory assembled_;
  std::vector<Translation> translations_;  // of the last configuration
  std::vector<uint32_t> object_of_;        // by instance
  std::vector<Candidate> kept_;
};

}  // namespace

Result<std::unique_ptr<CompileWork>> create_compile_work(RecordedKernel& recorded, DeviceKind kind,
                                                         const std::string& architecture) {
  MNEME_ASSIGN(auto compiler, Compiler::create(kind, architecture));
  warm_assembler_up(*compiler, recorded.kernel.target);
  return std::unique_ptr<CompileWork>(new RecordedCompileWork(recorded, kind, architecture, std::move(compiler)));
}

}  // namespace mneme

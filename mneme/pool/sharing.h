// Sharing: finds what configurations have in common, so that it is compiled, assembled or measured once.
//
//   configuration ──compile key──▶ translation ──its digest──▶ code ──object and launch key──▶ measurement
//
// Configurations that have the same key at an arrow share what it leads to: it is made for the first of them, and the others
// wait. A failure of the first is a failure of the others too where it says something about them, as a compiler's crash does.
// Where it does not (somebody killed the worker), the next of them is tried.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "mneme/pool/job.h"

namespace mneme {

// What a configuration ended in, kept for configurations that share it.
class Outcome {
 public:
  Outcome() = default;
  Outcome(const PoolResult& result, const Digest& found_for);
  // The result for another configuration. It says that it is shared, and with which configuration.
  PoolResult share() const;

 private:
  Failure failure_ = Failure::none;
  std::string reason_;
  ResultDetails details_;
  Digest found_for_;
};

// What a job does next.
struct NextStep {
  enum class Kind {
    compile,  // a compile worker is to have it
    wait,     // another job does the same; the job is returned as waiting when that one has ended
    code,     // its code is there already: Sharing::measure_or_wait() is next
    measure,  // a device worker is to have it
    end,      // `result` is its result, which was found out for another job
  };
  Kind kind = Kind::compile;
  PoolResult result = {};
};

class Sharing {
 public:
  // How many objects are kept for jobs to come. Each takes a descriptor of this process.
  static constexpr size_t kMostKept = 128;

  // False: every configuration is compiled and measured for itself.
  explicit Sharing(bool share) : share_(share) {}
  // Takes over the measurements of an earlier run, given by whole_digest().
  void remember(const std::map<Digest, PoolResult>& known);

  bool is_on() const { return share_; }
  uint64_t distinct_objects() const { return distinct_objects_; }

  // A job whose turn it is to be compiled: compile, wait, code or end.
  NextStep before_compiling(Job& job);

  // A compile worker has translated the job.
  struct Translated {
    bool assemble = false;  // the worker is to assemble it too
    NextStep next = {};     // if not: what the job does next, away from the worker: wait, code or end
    std::vector<JobId> again =
        {};  // jobs that waited for this translation: their turn to be compiled comes now, before all others'
  };
  Translated translated(Job& job, const std::string& code_digest, const nlohmann::json& about);

  // A compile worker has assembled the job's code. Returns the jobs that waited for it, and now have their code too.
  std::vector<JobId> assembled(Job& job, const nlohmann::json& description, ObjectHandle object);
  // Keeps the object of that code for jobs to come; beyond kMostKept the oldest is no longer kept. Called after assembled(), when
  // the jobs that waited have got the object.
  void keep_object(const std::string& code_digest);

  // The job's compilation has failed. Returns the jobs that waited for it: their turn to be compiled comes again.
  std::vector<JobId> compilation_failed(const Job& job, const PoolResult& result);
  // The compile worker that had the job was lost, and the job will be given to another. Returns the jobs that waited for it:
  // their turn to be compiled comes again, behind that of the job.
  std::vector<JobId> compilation_lost(const Job& job);

  // The code of a job whose next step is `code`, or that was assembled.
  const DeviceCode& code_of(const Job& job);
  // The job has its code. The next step is measure, wait or end.
  NextStep measure_or_wait(Job& job, const DeviceCode& code);

  // The job has a result.
  struct Measured {
    std::optional<Outcome> outcome = {};  // the result for the jobs that waited too; nothing: it says nothing about them
    std::vector<JobId> waiting = {};      // these; without an outcome measure_or_wait() is next for them, with the job's code
  };
  Measured measured(const Job& job, const PoolResult& result);

 private:
  struct Translation {
    bool under_way = false;
    std::string code_digest;     // once it is known
    nlohmann::json specialised;  // as in CodeTranslated::about
    std::optional<Outcome> failed;
    std::vector<JobId> waiting;
  };
  struct Code {
    bool assembling = false;
    DeviceCode assembled;  // its description is null until it was assembled, and stays; its object is there while it is kept
    std::optional<Outcome> failed;
    std::vector<JobId> waiting;
  };
  struct Measurement {
    std::optional<Outcome> outcome;
    std::vector<JobId> waiting;
  };

  bool shares_measurement(const Job& job) const { return share_ && job.label.empty(); }
  bool is_measured(const Job& job, const Code& code) const;

  bool share_;
  uint64_t distinct_objects_ = 0;
  std::unordered_map<std::string, Translation> translations_;  // by compile_key()
  std::unordered_map<std::string, Code> codes_;                // by the digest of the translation
  std::deque<std::string> kept_;                               // whose objects are kept, the oldest first
  std::unordered_map<std::string, Measurement> measurements_;
};

}  // namespace mneme

// Sharing: what configurations have in common, so that it is done once.
//
//   configuration ──compile key──▶ translation ──its digest──▶ code ──object and launch key──▶ measurement
//
// Two configurations with one key there are one thing from there on: it is done for the first, and the others wait for it. What
// fails for the first fails for those that wait, if the failure says something about them too: a compiler that crashed does, a
// worker that somebody killed does not, and then the next is tried.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "mneme/pool/job.h"

namespace mneme {

// What a configuration ended in, kept for those that end in the same.
class Outcome {
 public:
  Outcome() = default;
  Outcome(const PoolResult& result, const Digest& found_for);
  // The result of another configuration, which says that it is shared and with whom.
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
    wait,     // another job does the same: the job is named again when that has ended
    code,     // its code is there already: Sharing::measure_or_wait() is next
    measure,  // a device worker is to have it
    end,      // `result` is its result, which another one has found out
  };
  Kind kind = Kind::compile;
  PoolResult result = {};
};

class Sharing {
 public:
  // Objects that are kept for launches to come. Each is a descriptor of this process.
  static constexpr size_t kMostKept = 128;

  // False: every configuration is compiled and measured for itself.
  explicit Sharing(bool share) : share_(share) {}
  // The measurements of an earlier run, by whole_digest().
  void remember(const std::map<Digest, PoolResult>& known);

  bool is_on() const { return share_; }
  uint64_t distinct_objects() const { return distinct_objects_; }

  // A job whose turn it is to be compiled: compile, wait, code or end.
  NextStep before_compiling(Job& job);

  // A compile worker has translated the job. `assemble`: it is to go on; else the job has left it and does `next`: wait, code or
  // end. `again` asked the compiler the same: their turn to be compiled comes again, before all others'.
  struct Translated {
    bool assemble = false;
    NextStep next = {};
    std::vector<JobId> again = {};
  };
  Translated translated(Job& job, const std::string& code_digest, const nlohmann::json& about);

  // A compile worker has assembled the job's code. Returned are the jobs that waited for it: the code of all of them is there.
  std::vector<JobId> assembled(Job& job, const nlohmann::json& description, ObjectHandle object);
  // Keeps the object for jobs to come, and lets the oldest of those that are kept go; to be called once those that waited have
  // it.
  void keep_object(const std::string& code_digest);

  // The job's compilation has failed. Returned are those that waited for it: their turn to be compiled comes again.
  std::vector<JobId> compilation_failed(const Job& job, const PoolResult& result);
  // The job was at hand of a compile worker that was lost. Returned are those that waited for it: their turn to be compiled comes
  // again, behind that of the job.
  std::vector<JobId> compilation_lost(const Job& job);

  // The code that a job of before_compiling() or translated() ends in.
  const DeviceCode& code_of(const Job& job);
  // The code is there: measure, wait or end.
  NextStep measure_or_wait(Job& job, const DeviceCode& code);

  // The job has a result. Where `outcome` is set it is also that of those in `waiting`; else they have the job's code and are
  // asked again what to do.
  struct Measured {
    std::optional<Outcome> outcome = {};
    std::vector<JobId> waiting = {};
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

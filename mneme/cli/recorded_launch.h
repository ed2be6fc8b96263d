// Which recorded launch: the options that replay, ir, show and their like share.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mneme/base/digest.h"
#include "mneme/base/status.h"
#include "mneme/cli/configuration_options.h"
#include "mneme/store/recorded_name.h"

namespace mneme::cli {

// The words behind the command's name, DB [KERNEL[#N]] [PIPELINE] or DIR/<static-hash>.json [PIPELINE], of which -rdb may give
// the first (mneme/store/recorded_name.h); and -rid and --all-instances.
class RecordedOption {
 public:
  enum class Launches {
    all,      // it is about a kernel, of which #N chooses some: no -rid
    one,      // about one launch: -rid
    several,  // one or more: -rid, repeated, and --all-instances
  };

  explicit RecordedOption(Launches launches) : launches_(launches) {}
  RecordedOption(const RecordedOption&) = delete;  // the declared options refer to it
  RecordedOption& operator=(const RecordedOption&) = delete;

  // What is wrong with the words is a wrong command line. `configuration` has the word PIPELINE, of a command that takes one.
  void declare(CLI::App& app, ConfigurationOptions* configuration = nullptr);
  // Nothing needs to be named.
  void make_optional() { optional_ = true; }

  bool given() const { return given_; }
  const std::string& database() const { return database_; }
  // "DB KERNEL", as they were given.
  std::string words() const { return kernel_.empty() ? database_ : database_ + " " + kernel_; }
  // Whether a kernel was named, by a word or by its file.
  bool names_kernel() const { return !kernel_.empty() || names_kernel_file(database_); }
  // Whether several instances were asked for, be it that they are one.
  bool several() const;
  // Whether any instance was named.
  bool names_instances() const;

  // The kernel; `instances` are those of #N. As locate_recorded().
  Result<RecordedLaunches> kernel() const;
  // The launches that were named: at least one; where none was, the only one. In the order they were named, each once.
  // invalid_argument: none was named and there are several, or #N and -rid were; not_found: not one that is so named, or there
  // is none. Messages list those there are.
  Result<RecordedLaunches> launches() const;
  // The kernel of that hash, for a command that knows it, in the database that was named.
  Result<RecordedLaunches> kernel_of(const Digest& static_hash) const;

 private:
  void take_words(ConfigurationOptions* configuration);
  std::vector<uint64_t> numbers() const;  // of #N

  const Launches launches_;
  bool optional_ = false, given_ = false;
  std::string rdb_, words_[2];
  CLI::Option *rdb_option_ = nullptr, *word_options_[2] = {};
  std::string database_, kernel_;
  std::vector<std::string> first_digits_;
  bool all_ = false;
};

// The kernel with these of its instances; with all, where none are given.
KernelDocument only(KernelDocument kernel, const std::vector<Digest>& instances);

}  // namespace mneme::cli

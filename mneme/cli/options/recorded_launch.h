// RecordedOption: the words and options by which replay, ir, show and their like are told which recorded launches they are about.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mneme/base/digest.h"
#include "mneme/base/status.h"
#include "mneme/cli/options/configuration_options.h"
#include "mneme/store/recorded_name.h"

namespace mneme::cli {

// Recordings of one database that a command is about.
struct ChosenRecordings {
  Database database;
  std::vector<KernelDocument> kernels;  // with the chosen instances alone
  std::vector<Status> damaged;          // one for each kernel that cannot be read
  bool whole = false;                   // all that the database holds: nothing of it was named
};

// The words are DB [KERNEL[#N]] [PIPELINE] or DIR/<static-hash>.json [PIPELINE] (mneme/store/recorded_name.h); -rdb may give the
// first. The options are -rid and --all-instances.
class RecordedOption {
 public:
  enum class Launches {
    all,      // the command is about a database or a kernel, of which #N chooses launches; no -rid
    one,      // the command is about one launch: -rid
    any,      // the command is about a database, or kernels or launches of it: -rid, which may be repeated
    several,  // the command is about one or more: -rid, which may be repeated, and --all-instances
  };

  explicit RecordedOption(Launches launches) : launches_(launches) {}
  RecordedOption(const RecordedOption&) = delete;  // the declared options refer to it
  RecordedOption& operator=(const RecordedOption&) = delete;

  // Declares the words and options. A command that takes PIPELINE passes its `configuration`, whose word this then puts right
  // (ConfigurationOptions::pipeline()). Words that make no sense fail in parsing, as a wrong command line does.
  void declare(CLI::App& app, ConfigurationOptions* configuration = nullptr);
  // The command line need not name anything; given() then tells.
  void make_optional() { optional_ = true; }

  bool given() const { return given_; }
  const std::string& database() const { return database_; }
  // "DB KERNEL", as they were given; "DB" where there was no kernel.
  std::string words() const { return kernel_.empty() ? database_ : database_ + " " + kernel_; }
  // Whether a kernel was named, by a word or by its file.
  bool names_kernel() const { return !kernel_.empty() || names_kernel_file(database_); }
  // Whether several instances were asked for: by --all-instances, even where the kernel has one, or by several names.
  bool several() const;
  // Whether any instance was asked for, by #N, -rid or --all-instances.
  bool names_instances() const;

  // The kernel that was named; RecordedLaunches::instances has those of #N. Fails as locate_recorded() does.
  Result<RecordedLaunches> kernel() const;
  // The launches that were asked for, at least one: in the order in which they were named, each once. Where none was named it is
  // the only one of the kernel. invalid_argument: none was named and there are several; #N was given beside -rid or
  // --all-instances; or #N names several and the command takes one. not_found: no instance has such a name, or the kernel has
  // none. Messages list the instances that there are.
  Result<RecordedLaunches> launches() const;
  // Of Launches::any: what was named, or all that the database holds. Fails as launches() does; not_found, too: several kernels
  // have an instance whose hash begins with the digits.
  Result<ChosenRecordings> chosen() const;
  // The kernel, for a command that knows its hash already: where a database alone was named, the kernel of that hash in it; else
  // as kernel().
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

// The kernel with these of its instances alone; with all of them where `instances` is empty.
KernelDocument only(KernelDocument kernel, const std::vector<Digest>& instances);

}  // namespace mneme::cli

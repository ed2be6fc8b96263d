#include "mneme/cli/options/recorded_launch.h"

#include <algorithm>
#include <deque>
#include <map>

#include "mneme/base/shown.h"
#include "mneme/cli/options/values.h"

namespace mneme::cli {
namespace {

CLI::ParseError wrong(const std::string& message) { return {message, CLI::ExitCodes::ValidationError}; }

// A name that is none of a kernel's may be a pipeline that stands where the kernel's name is expected.
bool looks_like_pipeline(const std::string& word) {
  return word.starts_with("@") || word.starts_with("default<") || word.find_first_of("(,") != std::string::npos;
}

// The kernel and the dynamic hash of the one instance whose hash begins with these digits.
Result<std::pair<Digest, Digest>> find_instance(const ChosenRecordings& all, const std::string& first_digits) {
  std::vector<std::pair<Digest, Digest>> found;
  std::string names;
  for (const bool trimmed : {false, true})
    for (const KernelDocument& document : all.kernels)
      for (const InstanceRecord& instance : document.instances)
        if (trimmed ? found.empty() && was_recorded_as(instance, first_digits)
                    : instance.dynamic_hash.hex().starts_with(first_digits)) {
          found.emplace_back(instance.static_hash, instance.dynamic_hash);
          names += fmt::format("\n  {} of {}", instance.dynamic_hash.hex(), shown(document.kernel.demangled));
        }
  if (found.empty() && !all.damaged.empty()) return all.damaged.front();
  if (found.empty())
    return error(Code::not_found, "no instance in {} begins with '{}': `mneme ls` lists them", all.database.directory().string(),
                 first_digits);
  if (found.size() > 1)
    return error(Code::not_found, "{} instances in {} begin with '{}': give more digits, or name the kernel, too{}", found.size(),
                 all.database.directory().string(), first_digits, names);
  return found.front();
}

}  // namespace

void RecordedOption::declare(CLI::App& app, ConfigurationOptions* configuration) {
  word_options_[0] = app.add_option("DB", words_[0], "the database, as `mneme record -rdb` wrote it, or DIR/<static-hash>.json");
  word_options_[1] = app.add_option(
      "KERNEL", words_[1],
      launches_ == Launches::one
          ? "the kernel, and its launch: NAME#N. A name, a part of one, or first digits of a hash; `mneme ls` has the numbers N"
          : "the kernel, and its launches: NAME#N or NAME#N,N. A name, a part of one, or first digits of a hash; `mneme ls` has "
            "the numbers N");
  rdb_option_ = app.add_option("--rdb,--record-db", rdb_, "the database, in place of the word DB");
  app.parse_complete_callback([this, configuration] { take_words(configuration); });
  if (launches_ == Launches::all) return;
  auto* some = app.add_option("--rid,--record-id", first_digits_,
                              launches_ == Launches::one
                                  ? "the recorded instance: a dynamic hash, or its first digits (default: the only one)"
                              : launches_ == Launches::any
                                  ? "an instance: a dynamic hash, or its first digits (default: all). May be repeated"
                                  : "the recorded instance: a dynamic hash, or its first digits (default: the only one). May be "
                                    "repeated: right is what is right on each")
                   ->allow_extra_args(false)
                   ->take_all()
                   ->transform(hash_digits())
                   ->type_name("TEXT");
  if (launches_ == Launches::several)
    app.add_flag("--all-instances", all_, "every recorded instance of the kernel: right is what is right on all")->excludes(some);
}

void RecordedOption::take_words(ConfigurationOptions* configuration) {
  std::optional<std::string>* pipeline = configuration ? &configuration->pipeline() : nullptr;
  std::deque<std::string> words;
  for (size_t i = 0; i < std::size(words_); ++i)
    if (word_options_[i]->count() != 0) words.push_back(words_[i]);
  if (pipeline && *pipeline) words.push_back(**pipeline);
  const auto take = [&words] {
    std::string word = words.front();
    words.pop_front();
    return word;
  };
  given_ = rdb_option_->count() != 0 || !words.empty();
  if (!given_ && optional_) return;
  if (!given_ && (launches_ == Launches::all || launches_ == Launches::any))
    throw wrong("no database: give DB, the folder that `mneme record -rdb` wrote, and to see one kernel of it DB KERNEL");
  if (!given_) throw wrong("no recorded kernel: give DB KERNEL, as `mneme ls DB` lists them, or DIR/<static-hash>.json");
  database_ = rdb_option_->count() != 0 ? rdb_ : take();
  if (!words.empty() && !names_kernel_file(database_)) kernel_ = take();
  if (pipeline) *pipeline = words.empty() ? std::nullopt : std::optional(take());
  if (!words.empty()) throw wrong(fmt::format("unexpected argument '{}'", words.front()));
  if (configuration)
    if (Status status = configuration->check_pipeline(); !status.ok()) throw wrong(status.message());
  if (launches_ == Launches::one && first_digits_.size() > 1) throw wrong("--rid is given twice, and one instance is taken");
}

std::vector<uint64_t> RecordedOption::numbers() const {
  return (kernel_.empty() ? split_file_name(database_) : split_launch_name(kernel_)).instances;
}

bool RecordedOption::names_instances() const { return all_ || !first_digits_.empty() || !numbers().empty(); }

bool RecordedOption::several() const { return all_ || first_digits_.size() > 1 || numbers().size() > 1; }

Result<RecordedLaunches> RecordedOption::kernel() const {
  auto found = locate_recorded(database_, kernel_);
  if (found.status().code() == Code::not_found && looks_like_pipeline(kernel_))
    return error(Code::not_found, "{}\n  a pass pipeline stands behind the kernel's name: DB KERNEL PIPELINE",
                 found.status().message());
  return found;
}

Result<RecordedLaunches> RecordedOption::kernel_of(const Digest& static_hash) const {
  return kernel_.empty() && !names_kernel_file(database_) ? locate_recorded(database_, static_hash.hex()) : kernel();
}

Result<RecordedLaunches> RecordedOption::launches() const {
  MNEME_ASSIGN(RecordedLaunches found, kernel());
  const std::string name = shown(found.kernel.kernel.demangled);
  if (!found.instances.empty() && (all_ || !first_digits_.empty()))
    return error(Code::invalid_argument, "{}: #N names instances, and {} does: leave one of the two out", name,
                 all_ ? "--all-instances" : "-rid");
  if (launches_ == Launches::one && found.instances.size() > 1)
    return error(Code::invalid_argument, "{}: one instance is taken, and {} are named", name, found.instances.size());
  if (all_) {
    for (const InstanceRecord& instance : found.kernel.instances) found.instances.push_back(instance.dynamic_hash);
    if (found.instances.empty()) return find_instance(found.kernel, "").status();
  }
  if (!found.instances.empty()) return found;
  for (const std::string& first_digits : first_digits_.empty() ? std::vector<std::string>{""} : first_digits_) {
    MNEME_ASSIGN(Digest digest, find_instance(found.kernel, first_digits));
    if (std::find(found.instances.begin(), found.instances.end(), digest) == found.instances.end())
      found.instances.push_back(digest);
  }
  return found;
}

Result<ChosenRecordings> RecordedOption::chosen() const {
  if (names_kernel()) {
    MNEME_ASSIGN(RecordedLaunches found, first_digits_.empty() ? kernel() : launches());
    std::vector<KernelDocument> kernels{only(std::move(found.kernel), found.instances)};
    return ChosenRecordings{std::move(found.database), std::move(kernels), {}, false};
  }
  MNEME_ASSIGN(Database database, Database::open(database_));
  MNEME_ASSIGN(Listing listing, database.list());
  ChosenRecordings all{std::move(database), std::move(listing.kernels), std::move(listing.damaged), first_digits_.empty()};
  if (all.whole) return all;
  std::map<Digest, std::vector<Digest>> named;  // of kernels
  for (const std::string& first_digits : first_digits_) {
    MNEME_ASSIGN(const auto instance, find_instance(all, first_digits));
    named[instance.first].push_back(instance.second);
  }
  std::erase_if(all.kernels, [&](const KernelDocument& document) { return !named.contains(document.kernel.static_hash); });
  for (KernelDocument& document : all.kernels) document = only(std::move(document), named[document.kernel.static_hash]);
  return all;
}

KernelDocument only(KernelDocument kernel, const std::vector<Digest>& instances) {
  if (instances.empty()) return kernel;
  std::erase_if(kernel.instances, [&](const InstanceRecord& instance) {
    return std::find(instances.begin(), instances.end(), instance.dynamic_hash) == instances.end();
  });
  return kernel;
}

}  // namespace mneme::cli

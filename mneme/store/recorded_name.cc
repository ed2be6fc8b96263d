#include "mneme/store/recorded_name.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "mneme/base/shell_word.h"
#include "mneme/base/shown.h"

namespace mneme {
namespace {

constexpr size_t kMostListed = 20;
constexpr size_t kForms = 5;         // of a name
constexpr size_t kFewestDigits = 4;  // of a hash that stands for a name

std::string without_spaces(std::string_view text) {
  std::string result;
  std::copy_if(text.begin(), text.end(), std::back_inserter(result), [](char c) { return c != ' '; });
  return result;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

// Where the bracket opens that the last character closes; npos where that closes none.
size_t opening(std::string_view text) {
  const char close = text.empty() ? '\0' : text.back();
  const char open = close == ')' ? '(' : close == '>' ? '<' : '\0';
  if (open == '\0') return std::string_view::npos;
  int depth = 0;
  for (size_t i = text.size(); i-- > 0;) {
    if (text[i] == close && !(close == '>' && i > 0 && text[i - 1] == '-')) ++depth;
    if (text[i] == open && --depth == 0) return i;
  }
  return std::string_view::npos;
}

// Behind the last `mark` that stands in no brackets.
std::string_view behind_last(std::string_view text, std::string_view mark) {
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (std::string_view("<({").find(text[i]) != std::string_view::npos) ++depth;
    if (std::string_view(">)}").find(text[i]) != std::string_view::npos) --depth;
    if (depth == 0 && text.substr(i).starts_with(mark)) begin = i + mark.size();
  }
  return text.substr(begin);
}

std::string_view without_last(std::string_view text, char bracket) {
  if (!text.ends_with(bracket)) return text;
  const size_t open = opening(text);
  return open == std::string_view::npos || open == 0 ? text : text.substr(0, open);
}

// What a kernel is called, the shortest first: "scale", "ns::scale", "scale<float>", "ns::scale<float>", "void
// ns::scale<float>(int)".
struct Names {
  std::string_view unqualified, qualified, short_instantiated, instantiated, demangled;
};

Names names_of(const KernelRecord& kernel) {
  Names names;
  names.demangled = kernel.demangled;
  names.instantiated = behind_last(without_last(kernel.demangled, ')'), " ");
  names.short_instantiated = behind_last(names.instantiated, "::");
  names.qualified = without_last(names.instantiated, '>');
  names.unqualified = behind_last(names.qualified, "::");
  return names;
}

// The kernels by what they are called, with white space left out.
class Index {
 public:
  explicit Index(const std::vector<KernelDocument>& kernels) {
    for (const KernelDocument& document : kernels) {
      const Names names = names_of(document.kernel);
      Entry entry{document.kernel.static_hash.hex(), document.kernel.name, {}};
      size_t form = 0;
      for (std::string_view name :
           {names.demangled, names.instantiated, names.short_instantiated, names.qualified, names.unqualified})
        entry.names[form++] = without_spaces(name);
      entries_.push_back(std::move(entry));
    }
  }

  // Those of which this is a whole name: the longest form that any has.
  std::vector<size_t> whole(std::string_view name) const {
    const std::string wanted = without_spaces(name), digits = lower(wanted);
    std::vector<size_t> found =
        places([&](const Entry& entry) { return entry.names[0] == wanted || entry.mangled == wanted || entry.hash == digits; });
    for (size_t form = 1; found.empty() && form < kForms; ++form)
      found = places([&](const Entry& entry) { return entry.names[form] == wanted; });
    return wanted.empty() ? std::vector<size_t>() : found;
  }

  // Those that this is a part of; punctuation alone is of none.
  std::vector<size_t> part(std::string_view name) const {
    const std::string wanted = without_spaces(name), digits = lower(wanted);
    const auto means_something = [](unsigned char c) { return std::isalnum(c) || c == '_' || c >= 0x80; };
    if (std::none_of(wanted.begin(), wanted.end(), means_something)) return {};
    return places([&](const Entry& entry) {
      return entry.hash.starts_with(digits) || entry.names[0].find(wanted) != std::string::npos ||
             entry.mangled.find(wanted) != std::string::npos;
    });
  }

  std::vector<size_t> find(std::string_view name) const {
    std::vector<size_t> found = whole(name);
    return found.empty() ? part(name) : found;
  }

 private:
  struct Entry {
    std::string hash, mangled;
    std::array<std::string, kForms> names;  // the longest first
  };

  template <class Fits>
  std::vector<size_t> places(Fits fits) const {
    std::vector<size_t> found;
    for (size_t i = 0; i < entries_.size(); ++i)
      if (fits(entries_[i])) found.push_back(i);
    return found;
  }

  std::vector<Entry> entries_;
};

std::string kernel_lines(const std::vector<KernelDocument>& kernels, const std::vector<size_t>& places) {
  std::string lines;
  for (size_t i = 0; i < places.size() && i < kMostListed; ++i) {
    const KernelRecord& kernel = kernels[places[i]].kernel;
    lines += fmt::format("\n  {}  {}", kernel.static_hash.hex(), shown(kernel.demangled));
  }
  if (places.size() > kMostListed) lines += fmt::format("\n  and {} more: `mneme ls` has all", places.size() - kMostListed);
  return lines;
}

std::string instance_lines(const KernelDocument& kernel, const std::vector<size_t>& places) {
  std::string lines;
  for (size_t i = 0; i < places.size() && i < kMostListed; ++i) {
    const InstanceRecord& instance = kernel.instances[places[i]];
    lines += fmt::format("\n  #{}  {}  grid {}, block {}, {}", places[i], instance.dynamic_hash.hex(), instance.grid,
                         instance.block, instance.state_bytes);
  }
  if (places.size() > kMostListed) lines += fmt::format("\n  and {} more: `mneme ls` has all", places.size() - kMostListed);
  return lines;
}

std::vector<size_t> all_places(size_t count) {
  std::vector<size_t> places(count);
  for (size_t i = 0; i < count; ++i) places[i] = i;
  return places;
}

Result<size_t> only_kernel(const Listing& listing, const Path& database) {
  if (listing.kernels.size() == 1 && listing.damaged.empty()) return 0;
  if (listing.kernels.empty() && !listing.damaged.empty()) return listing.damaged.front();
  if (listing.kernels.empty()) return error(Code::not_found, "{} holds no kernel", database.string());
  const size_t count = listing.kernels.size() + listing.damaged.size();
  return error(Code::invalid_argument,
               "{} has {} kernels: name one behind it, by its name, a part of that, or the first digits of its hash{}{}",
               database.string(), count, kernel_lines(listing.kernels, all_places(listing.kernels.size())),
               listing.damaged.empty() ? "" : fmt::format("\n  damaged: {}", listing.damaged.front().message()));
}

Result<RecordedLaunches> load(Database database, const Digest& static_hash, const std::vector<uint64_t>& numbers) {
  MNEME_ASSIGN(KernelDocument kernel, database.load_document(static_hash));
  MNEME_ASSIGN(std::vector<Digest> instances, numbered_instances(kernel, numbers));
  return RecordedLaunches{std::move(database), std::move(kernel), std::move(instances)};
}

}  // namespace

LaunchName split_launch_name(std::string_view word) {
  const LaunchName whole{std::string(word), {}};
  const size_t mark = word.rfind('#');
  if (mark == std::string_view::npos) return whole;
  LaunchName parts{std::string(word.substr(0, mark)), {}};
  const char *at = word.data() + mark + 1, *const end = word.data() + word.size();
  for (;;) {
    uint64_t number = 0;
    auto [next, failure] = std::from_chars(at, end, number);
    if (failure != std::errc()) return whole;
    parts.instances.push_back(number);
    if (next == end) return parts;
    if (*next != ',') return whole;
    at = next + 1;
  }
}

std::vector<size_t> find_kernels(const std::vector<KernelDocument>& kernels, std::string_view name) {
  return Index(kernels).find(name);
}

Result<size_t> choose_kernel(const Listing& listing, const Path& database, std::string_view name) {
  if (name.empty()) return only_kernel(listing, database);
  const std::vector<size_t> found = find_kernels(listing.kernels, name);
  if (found.size() == 1) return found[0];
  if (found.size() > 1)
    return error(Code::not_found, "{} kernels in {} match '{}': choose one by its hash{}", found.size(), database.string(),
                 shown(name), kernel_lines(listing.kernels, found));
  if (!listing.damaged.empty())
    return error(Code::corrupt, "no kernel in {} matches '{}', and not all can be read: {}", database.string(), shown(name),
                 listing.damaged.front().message());
  return error(Code::not_found, "no kernel in {} matches '{}'; there are{}", database.string(), shown(name),
               kernel_lines(listing.kernels, all_places(listing.kernels.size())));
}

bool was_recorded_as(const InstanceRecord& instance, std::string_view first_digits) {
  if (!instance.trimmed) return false;
  const std::vector<Digest>& of = instance.trimmed->of;
  return std::any_of(of.begin(), of.end(), [&](const Digest& hash) { return hash.hex().starts_with(first_digits); });
}

Result<Digest> find_instance(const KernelDocument& kernel, std::string_view first_digits) {
  const std::string digits = lower(first_digits), name = shown(kernel.kernel.demangled);
  std::vector<size_t> matching;
  for (size_t i = 0; i < kernel.instances.size(); ++i)
    if (kernel.instances[i].dynamic_hash.hex().starts_with(digits)) matching.push_back(i);
  if (matching.empty() && !digits.empty())
    for (size_t i = 0; i < kernel.instances.size(); ++i)
      if (was_recorded_as(kernel.instances[i], digits)) matching.push_back(i);
  if (matching.size() == 1) return kernel.instances[matching[0]].dynamic_hash;
  if (kernel.instances.empty()) return error(Code::not_found, "{} has no recorded instance", name);
  const std::string all = instance_lines(kernel, all_places(kernel.instances.size()));
  if (digits.empty())
    return error(Code::invalid_argument, "{} has {} instances: choose one by its number, KERNEL#N, or its hash with -rid{}", name,
                 kernel.instances.size(), all);
  if (matching.empty())
    return error(Code::not_found, "no instance of {} begins with '{}'; there are{}", name, shown(first_digits), all);
  return error(Code::not_found, "{} instances of {} begin with '{}'; there are{}", matching.size(), name, shown(first_digits),
               instance_lines(kernel, matching));
}

Result<std::vector<Digest>> numbered_instances(const KernelDocument& kernel, const std::vector<uint64_t>& numbers) {
  std::vector<Digest> instances;
  for (uint64_t number : numbers) {
    const size_t count = kernel.instances.size();
    if (number >= count)
      return error(Code::not_found, "{} has {} instance{}, numbered from 0, and none is #{}", shown(kernel.kernel.demangled),
                   count, count == 1 ? "" : "s", number);
    const Digest& digest = kernel.instances[number].dynamic_hash;
    if (std::find(instances.begin(), instances.end(), digest) == instances.end()) instances.push_back(digest);
  }
  return instances;
}

LaunchName split_file_name(const std::string& database) {
  std::error_code ignored;
  if (std::filesystem::exists(database, ignored)) return {database, {}};
  LaunchName file = split_launch_name(database);
  return file.kernel.ends_with(".json") ? file : LaunchName{database, {}};
}

bool names_kernel_file(const std::string& database) {
  std::error_code ignored;
  return !std::filesystem::is_directory(database, ignored) && split_launch_name(database).kernel.ends_with(".json");
}

Result<RecordedLaunches> locate_recorded(const std::string& database, std::string_view kernel) {
  if (names_kernel_file(database)) {
    const LaunchName file = split_file_name(database);
    if (!kernel.empty())
      return error(Code::invalid_argument, "{} names one kernel already, and '{}' is another name: leave one of the two out",
                   file.kernel, shown(kernel));
    MNEME_ASSIGN(KernelFile located, locate_kernel(file.kernel));
    MNEME_ASSIGN(Database opened, Database::open(located.directory));
    return load(std::move(opened), located.static_hash, file.instances);
  }
  MNEME_ASSIGN(Database opened, Database::open(database));
  const LaunchName wanted = split_launch_name(kernel);
  if (auto whole = Digest::from_hex(lower(wanted.kernel)); whole.ok())  // one kernel is read, however many there are
    if (auto found = opened.load_document(*whole); found.ok()) return load(std::move(opened), *whole, wanted.instances);
  MNEME_ASSIGN(const Listing listing, opened.list());
  MNEME_ASSIGN(const size_t place, choose_kernel(listing, opened.directory(), wanted.kernel));
  MNEME_ASSIGN(std::vector<Digest> instances, numbered_instances(listing.kernels[place], wanted.instances));
  return RecordedLaunches{std::move(opened), listing.kernels[place], std::move(instances)};
}

std::vector<KernelName> kernel_names(const Listing& listing) {
  const Index index(listing.kernels);
  std::vector<KernelName> all;
  for (size_t place = 0; place < listing.kernels.size(); ++place) {
    const KernelDocument& document = listing.kernels[place];
    const auto means_it = [&](std::string_view word, const std::vector<size_t>& found) {
      return found.size() == 1 && found[0] == place && shown(word) == word && split_launch_name(word).instances.empty();
    };
    const Names names = names_of(document.kernel);
    KernelName name{"", document.kernel.demangled, document.kernel.static_hash, document.instances.size()};
    for (std::string_view word :
         {names.unqualified, names.qualified, names.short_instantiated, names.instantiated, names.demangled})
      if (name.word.empty() && means_it(word, index.whole(word))) name.word = word;
    const std::string hash = document.kernel.static_hash.hex();
    for (size_t digits = kFewestDigits; name.word.empty() && digits < hash.size(); ++digits)
      if (means_it(hash.substr(0, digits), index.find(hash.substr(0, digits)))) name.word = hash.substr(0, digits);
    if (name.word.empty()) name.word = hash;
    all.push_back(std::move(name));
  }
  return all;
}

std::string launch_word(const KernelName& name, const KernelDocument& kernel, const std::vector<Digest>& instances) {
  std::string numbers;
  for (size_t i = 0; i < kernel.instances.size(); ++i)
    if (std::find(instances.begin(), instances.end(), kernel.instances[i].dynamic_hash) != instances.end())
      numbers += fmt::format("{}{}", numbers.empty() ? "#" : ",", i);
  return kernel.instances.size() > 1 ? name.word + numbers : name.word;
}

Result<std::string> launch_words(const Path& database, const Digest& static_hash, const std::vector<Digest>& instances) {
  MNEME_ASSIGN(const Database opened, Database::open(database));
  MNEME_ASSIGN(const Listing listing, opened.list());
  const std::vector<KernelName> names = kernel_names(listing);
  const auto name = std::find_if(names.begin(), names.end(), [&](const KernelName& n) { return n.static_hash == static_hash; });
  if (name == names.end())
    return error(Code::not_found, "{} holds no kernel {} that can be read", database.string(), static_hash.hex());
  const KernelDocument& kernel = listing.kernels[static_cast<size_t>(name - names.begin())];
  std::error_code ignored;
  Path from_here = std::filesystem::proximate(database, ignored);
  if (ignored || from_here.empty() || *from_here.begin() == "..") from_here = database;
  return shell_word(from_here.string()) + " " + shell_word(launch_word(*name, kernel, instances));
}

}  // namespace mneme

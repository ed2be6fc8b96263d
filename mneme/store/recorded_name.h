// How a person names recorded kernels and launches. Every command, the Python package and shell completion use this code.
//
//   DB                        the only kernel of a database
//   DB KERNEL                 one of its kernels: its name as in the source, with or without parameters, template arguments and
//                             namespaces; its mangled name; its static hash; the first digits of that, or a part of its name
//   DB KERNEL#N               a launch of it, by its number: in the order of recording, from 0; KERNEL#0,2 are two of them
//   DIR/<static-hash>.json    the kernel of that file; #N may stand behind it
//
// White space within a name means nothing. A kernel whose whole name is given goes before one that has it as a part. A name that
// several kernels fit is refused, and the message lists them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/snapshot/codec.h"
#include "mneme/store/database.h"

namespace mneme {

// The word KERNEL#N, taken apart.
struct LaunchName {
  std::string kernel;               // empty: the only kernel of the database
  std::vector<uint64_t> instances;  // the numbers behind '#'; empty: no launch was named
  friend bool operator==(const LaunchName&, const LaunchName&) = default;
};
// Takes a word apart at its last '#'. Where no numbers follow, the '#' is a part of the kernel's name: those of lambdas have one.
LaunchName split_launch_name(std::string_view word);

// The indices of the kernels that `name` fits, in order: none, one or several. An empty name fits none.
std::vector<size_t> find_kernels(const std::vector<KernelDocument>& kernels, std::string_view name);
// The index of the one kernel that `name` fits; with an empty name, of the only kernel in the database. not_found: it fits none
// or several. invalid_argument: the name is empty, and there are several. In both cases the message lists kernels to choose from.
// corrupt: it fits none, and some kernels could not be read.
Result<size_t> choose_kernel(const Listing& listing, const Path& database, std::string_view name);

// Whether the instance was trimmed, and recorded with a dynamic hash that begins with these digits.
bool was_recorded_as(const InstanceRecord& instance, std::string_view first_digits);

// The instance whose dynamic hash begins with these digits; without digits, the only one. Where none begins so, one that
// was recorded as such. not_found: none begins so, or several
// do. invalid_argument: there are no digits and several instances. The message lists the instances to choose from.
Result<Digest> find_instance(const KernelDocument& kernel, std::string_view first_digits);
// The instances with these numbers, each once. not_found: the kernel has no instance of a number; the message says how many it
// has.
Result<std::vector<Digest>> numbered_instances(const KernelDocument& kernel, const std::vector<uint64_t>& numbers);

// A kernel that was named, in its database, and perhaps some of its launches.
struct RecordedLaunches {
  Database database;
  KernelDocument kernel;
  std::vector<Digest> instances;  // the instances that #N named; empty: none was named
};
// Opens the database and finds the kernel. `database` is DB or DIR/<static-hash>.json[#N]; `kernel` is the word KERNEL[#N] behind
// a DB, or empty. invalid_argument: no kernel was named and there are several, or one was named twice. Other failures are those
// of choose_kernel(), numbered_instances() and Database::open().
Result<RecordedLaunches> locate_recorded(const std::string& database, std::string_view kernel = {});
// Whether the word names the file of one kernel, so that no KERNEL follows it.
bool names_kernel_file(const std::string& database);
// DIR/<static-hash>.json[#N], taken apart. Where a file has the whole word as its name, nothing is taken off.
LaunchName split_file_name(const std::string& database);

// The best word to name a kernel by.
struct KernelName {
  std::string word;       // the shortest of its names that fits this kernel alone; where none does, first digits of its hash
  std::string demangled;  // as the database has it; it may hold any character, so show it with shown()
  Digest static_hash;
  size_t instances = 0;
};
// One for every kernel that can be read, in the order of the listing.
std::vector<KernelName> kernel_names(const Listing& listing);
// The word for these instances of a kernel: "scale" where the kernel has only one, else for example "scale#0,2".
std::string launch_word(const KernelName& name, const KernelDocument& kernel, const std::vector<Digest>& instances);
// The words DB KERNEL#N, quoted for a shell, to be put into advice. The database is given relative to the current folder where it
// lies below it.
Result<std::string> launch_words(const Path& database, const Digest& static_hash, const std::vector<Digest>& instances);

}  // namespace mneme

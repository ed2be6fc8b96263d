// How a person names what is recorded. Every command, the Python package and completion read and write names with this code.
//
//   DB                        the only kernel of a database
//   DB KERNEL                 one of its kernels: its name as in the source, with or without parameters, template arguments and
//                             namespaces; its mangled name; its static hash; the first digits of that, or a part of its name
//   DB KERNEL#N               a launch of it, by its number: in the order of recording, from 0; KERNEL#0,2 are two of them
//   DIR/<static-hash>.json    the kernel of that file; #N may stand behind it
//
// White space within a name means nothing. A whole name goes before a part of another one. What more than one kernel may mean is
// refused, and the message has all that there is to choose from.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/snapshot/codec.h"
#include "mneme/store/database.h"

namespace mneme {

// The word KERNEL#N in its parts.
struct LaunchName {
  std::string kernel;               // empty: the only one
  std::vector<uint64_t> instances;  // numbers; empty: none was named
  friend bool operator==(const LaunchName&, const LaunchName&) = default;
};
// What is no number behind the last '#' belongs to the kernel's name, as that of a lambda has one.
LaunchName split_launch_name(std::string_view word);

// The indices of the kernels that `name` may mean, in their order: none, one, or several. An empty name means nothing.
std::vector<size_t> find_kernels(const std::vector<KernelDocument>& kernels, std::string_view name);
// The only one; with an empty name, the only one that there is. not_found: none, or several; invalid_argument: no name and
// several; the message has those there are. corrupt: none, and not all could be read.
Result<size_t> choose_kernel(const Listing& listing, const Path& database, std::string_view name);

// The instance whose dynamic hash begins so; with no digits, the only one. not_found, invalid_argument (no digits and several):
// the message has those there are.
Result<Digest> find_instance(const KernelDocument& kernel, std::string_view first_digits);
// The instances of these numbers, each once. not_found: it has no such one; the message says how many it has.
Result<std::vector<Digest>> numbered_instances(const KernelDocument& kernel, const std::vector<uint64_t>& numbers);

// What was named.
struct RecordedLaunches {
  Database database;
  KernelDocument kernel;
  std::vector<Digest> instances;  // those that #N named; empty: none was
};
// `database` is DB or DIR/<static-hash>.json[#N], `kernel` the word KERNEL[#N] behind a DB, or empty. invalid_argument: no kernel
// was named and there are several, or one was named twice; else as choose_kernel(), numbered_instances() and Database::open().
Result<RecordedLaunches> locate_recorded(const std::string& database, std::string_view kernel = {});
// Whether that names one kernel's file, so that no KERNEL comes behind it.
bool names_kernel_file(const std::string& database);
// DIR/<static-hash>.json[#N] in its parts. Where a file of that whole name is there, it is that.
LaunchName split_file_name(const std::string& database);

// A kernel as it is best named.
struct KernelName {
  std::string word;       // the shortest that means this kernel alone: of its names, else the first digits of its hash
  std::string demangled;  // as it is in the database: it may hold any character
  Digest static_hash;
  size_t instances = 0;
};
// Of every kernel that can be read, in the order of the listing.
std::vector<KernelName> kernel_names(const Listing& listing);
// The word that means these instances of a kernel: "scale", where it has no others, else "scale#0,2".
std::string launch_word(const KernelName& name, const KernelDocument& kernel, const std::vector<Digest>& instances);
// DB KERNEL#N as a shell takes it, for advice; the database as seen from here, where it is below.
Result<std::string> launch_words(const Path& database, const Digest& static_hash, const std::vector<Digest>& instances);

}  // namespace mneme

// InstanceList: the file that lists a kernel's instances, one line each, in the order of recording. It only grows at its end, so
// adding or changing an instance takes the same time however many there are. Of two lines about one instance the later counts.
//
// The first line says how much of the file counts, and is written last. What lies beyond was left by a recording that was killed;
// the next one overwrites it. A reader therefore needs no lock.
//
// Thread-safe. Failures: not_found (no such file), corrupt (names the file and the offset), io.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "mneme/base/file_system.h"
#include "mneme/snapshot/codec.h"

namespace mneme {

class InstanceList {
 public:
  InstanceList(Path path, KernelRecord kernel, FileSystem& files)
      : path_(std::move(path)), kernel_(std::move(kernel)), files_(files) {}

  // The content of a whole file.
  static std::string encode(const Digest& static_hash, const std::vector<InstanceRecord>& instances);

  // All instances of a whole file, each as its latest line says. `name` is what messages call the file.
  static Result<std::vector<InstanceRecord>> decode(std::string_view file, const KernelRecord& kernel, const std::string& name);

  // Reads all instances, each as its latest line says.
  Result<std::vector<InstanceRecord>> read_all() const;

  // Reads what this or another process has added since the last call.
  Status refresh();
  // The hash by which the list has an instance: its own, or that of the trimmed instance that has taken its place. Nothing: it
  // has neither.
  std::optional<Digest> name_of(const Digest& dynamic_hash) const;
  // Nothing when there is no such instance.
  Result<std::optional<InstanceRecord>> find(const Digest& dynamic_hash) const;
  // The same of several, for which the file is opened once.
  Result<std::vector<std::optional<InstanceRecord>>> find_all(std::span<const Digest> dynamic_hashes) const;

  // Adds a line for each instance. The caller must hold the database's lock, and must have called refresh() since it took it.
  Status append(const std::vector<InstanceRecord>& instances);

  // The same of several lists. The disk is waited for as if it were one. A status for each.
  struct Lines {
    std::shared_ptr<InstanceList> list;
    std::vector<InstanceRecord> instances;
  };
  static std::vector<Status> append_all(FileSystem& files, std::span<const Lines> all);

 private:
  struct Place {
    uint64_t offset = 0;
    uint64_t size = 0;  // without the line feed
  };
  struct Part {
    InstanceListHeader header;
    std::string lines;  // from the offset that was asked for to the end of what counts
  };
  // What has been written behind the lines that count.
  struct Addition {
    std::unique_ptr<ChangeableFile> file;
    std::vector<Place> places;
    InstanceListHeader header;  // with these lines
  };
  Result<Addition> write_lines(const std::vector<InstanceRecord>& instances);
  Status count_lines(const Addition& addition, const std::vector<InstanceRecord>& instances);
  Result<Part> read_from(uint64_t offset) const;
  Result<Part> try_read_from(uint64_t offset) const;
  Status read_new();                                  // under the mutex
  void note_trimmed(const InstanceRecord& instance);  // likewise

  const Path path_;
  const KernelRecord kernel_;
  FileSystem& files_;

  mutable std::mutex mutex_;
  InstanceListHeader header_;  // as of the last refresh; `bytes` is 0 before the first one
  std::unordered_map<Digest, Place> places_;
  std::unordered_map<Digest, Digest> trimmed_;  // by the hashes that launches were recorded with, those of trimmed instances
};

}  // namespace mneme

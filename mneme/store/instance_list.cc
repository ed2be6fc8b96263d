#include "mneme/store/instance_list.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>

#include "mneme/store/text.h"

namespace mneme {
namespace {

// Calls `visit` with each line and the offset at which it begins; the first of `lines` is at `offset`.
Status each_line(std::string_view lines, uint64_t offset, const std::string& name,
                 const std::function<Status(std::string_view line, uint64_t offset)>& visit) {
  while (!lines.empty()) {
    const size_t end = lines.find('\n');
    if (end == std::string_view::npos)
      return error(Code::corrupt, "{}: offset {}: the line has no end: it was changed or damaged", name, offset);
    MNEME_TRY(visit(lines.substr(0, end), offset));
    lines.remove_prefix(end + 1);
    offset += end + 1;
  }
  return {};
}

Status check_lines(uint64_t lines, const InstanceListHeader& header, const std::string& name) {
  if (lines == header.lines) return {};
  return error(Code::corrupt, "{}: offset 0: the file has {} lines, {} expected", name, lines, header.lines);
}

Status check_kernel(const InstanceListHeader& header, const KernelRecord& kernel, const std::string& name) {
  if (header.static_hash == kernel.static_hash) return {};
  return error(Code::corrupt, "{}: offset 0: the file lists the instances of kernel {}", name, header.static_hash.hex());
}

// All instances of the lines behind the first, each as its latest line says.
Result<std::vector<InstanceRecord>> instances_in(std::string_view all, const InstanceListHeader& header,
                                                 const KernelRecord& kernel, const std::string& name) {
  std::vector<InstanceRecord> instances;
  std::unordered_map<Digest, size_t> places;
  uint64_t lines = 0;
  MNEME_TRY(each_line(all, kListHeaderBytes, name, [&](std::string_view line, uint64_t offset) -> Status {
    MNEME_ASSIGN(InstanceRecord instance, decode_instance(line, kernel, name, offset));
    ++lines;
    auto [place, is_new] = places.try_emplace(instance.dynamic_hash, instances.size());
    if (is_new)
      instances.push_back(std::move(instance));
    else
      instances[place->second] = std::move(instance);
    return {};
  }));
  MNEME_TRY(check_lines(lines, header, name));
  return instances;
}

FormatVersion version_for(const std::vector<InstanceRecord>& instances) {
  FormatVersion version = kCommonVersion;
  for (const InstanceRecord& instance : instances) version = std::max(version, version_of(instance));
  return version;
}

}  // namespace

std::string InstanceList::encode(const Digest& static_hash, const std::vector<InstanceRecord>& instances) {
  std::string lines;
  for (const InstanceRecord& instance : instances) lines += encode_instance(instance);
  return encode_list_header({static_hash, kListHeaderBytes + lines.size(), instances.size(), version_for(instances)}) + lines;
}

Result<InstanceList::Part> InstanceList::try_read_from(uint64_t offset) const {
  MNEME_ASSIGN(auto file, files_.open(path_));
  std::string head(std::min<uint64_t>(file->size().count, kListHeaderBytes), '\0');
  MNEME_TRY(file->read(0, std::as_writable_bytes(std::span(head))));
  Part part;
  MNEME_ASSIGN(part.header, decode_list_header(head, path_.string()));
  MNEME_TRY(check_kernel(part.header, kernel_, path_.string()));
  if (part.header.bytes > file->size().count)
    return error(Code::corrupt, "{}: offset {}: the file ends there, {} bytes expected: it was cut short", path_.string(),
                 file->size().count, part.header.bytes);
  if (offset >= part.header.bytes) return part;
  part.lines.resize(part.header.bytes - offset);
  MNEME_TRY(file->read(offset, std::as_writable_bytes(std::span(part.lines))));
  return part;
}

// What is read while another process writes the first line, or was opened before the lines came, does not fit together: it does
// when it is read again.
Result<InstanceList::Part> InstanceList::read_from(uint64_t offset) const {
  constexpr int kAttempts = 3;
  for (int attempt = 1;; ++attempt) {
    auto part = try_read_from(offset);
    if (part.ok() || part.status().code() != Code::corrupt || attempt == kAttempts) return part;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

Result<std::vector<InstanceRecord>> InstanceList::decode(std::string_view file, const KernelRecord& kernel,
                                                         const std::string& name) {
  MNEME_ASSIGN(const InstanceListHeader header, decode_list_header(file, name));
  MNEME_TRY(check_kernel(header, kernel, name));
  if (header.bytes != file.size())
    return error(Code::corrupt, "{}: offset {}: the file ends there, {} bytes expected", name, file.size(), header.bytes);
  return instances_in(file.substr(kListHeaderBytes), header, kernel, name);
}

Result<std::vector<InstanceRecord>> InstanceList::read_all() const {
  MNEME_ASSIGN(Part part, read_from(kListHeaderBytes));
  return instances_in(part.lines, part.header, kernel_, path_.string());
}

Status InstanceList::refresh() {
  std::lock_guard lock(mutex_);
  if (header_.bytes != 0 && read_new().ok()) return {};
  // For the first time, or because another file has taken the place of the one that was read.
  header_ = {};
  places_.clear();
  trimmed_.clear();
  return read_new();
}

Status InstanceList::read_new() {
  const uint64_t from = std::max<uint64_t>(header_.bytes, kListHeaderBytes);
  MNEME_ASSIGN(Part part, read_from(from));
  if (part.header.bytes < header_.bytes || part.header.lines < header_.lines)
    return error(Code::corrupt, "{}: offset 0: the list has become shorter", path_.string());
  uint64_t lines = header_.lines;
  MNEME_TRY(each_line(part.lines, from, path_.string(), [&](std::string_view line, uint64_t offset) -> Status {
    MNEME_ASSIGN(const InstanceRecord instance, decode_instance(line, kernel_, path_.string(), offset));
    places_[instance.dynamic_hash] = {offset, line.size()};
    note_trimmed(instance);
    ++lines;
    return {};
  }));
  MNEME_TRY(check_lines(lines, part.header, path_.string()));
  header_ = part.header;
  return {};
}

void InstanceList::note_trimmed(const InstanceRecord& instance) {
  if (instance.trimmed)
    for (const Digest& of : instance.trimmed->of) trimmed_[of] = instance.dynamic_hash;
}

std::optional<Digest> InstanceList::name_of(const Digest& dynamic_hash) const {
  std::lock_guard lock(mutex_);
  if (places_.contains(dynamic_hash)) return dynamic_hash;
  const auto trimmed = trimmed_.find(dynamic_hash);
  return trimmed == trimmed_.end() ? std::nullopt : std::optional(trimmed->second);
}

Result<std::optional<InstanceRecord>> InstanceList::find(const Digest& dynamic_hash) const {
  MNEME_ASSIGN(auto found, find_all({&dynamic_hash, 1}));
  return std::move(found[0]);
}

Result<std::vector<std::optional<InstanceRecord>>> InstanceList::find_all(std::span<const Digest> dynamic_hashes) const {
  std::vector<std::optional<Place>> places;
  {
    std::lock_guard lock(mutex_);
    for (const Digest& dynamic_hash : dynamic_hashes) {
      auto found = places_.find(dynamic_hash);
      if (const auto trimmed = trimmed_.find(dynamic_hash); found == places_.end() && trimmed != trimmed_.end())
        found = places_.find(trimmed->second);
      places.push_back(found == places_.end() ? std::nullopt : std::optional(found->second));
    }
  }
  std::unique_ptr<ReadableFile> file;
  std::vector<std::optional<InstanceRecord>> instances;
  for (const std::optional<Place>& place : places) {
    std::optional<InstanceRecord>& instance = instances.emplace_back();
    if (!place) continue;
    if (!file) {
      MNEME_ASSIGN(file, files_.open(path_));
    }
    std::string line(place->size, '\0');
    MNEME_TRY(file->read(place->offset, std::as_writable_bytes(std::span(line))));
    MNEME_ASSIGN(instance, decode_instance(line, kernel_, path_.string(), place->offset));
  }
  return instances;
}

Status InstanceList::append(const std::vector<InstanceRecord>& instances) {
  if (instances.empty()) return {};
  MNEME_ASSIGN(const Addition addition, write_lines(instances));
  MNEME_TRY(addition.file->sync());
  MNEME_TRY(count_lines(addition, instances));
  return addition.file->sync();
}

std::vector<Status> InstanceList::append_all(FileSystem& files, std::span<const Lines> all) {
  std::vector<Status> statuses(all.size());
  std::vector<Addition> additions(all.size());
  const auto sync = [&] {
    std::vector<UnsyncedFile*> unsynced;
    std::vector<size_t> places;
    for (size_t i = 0; i < all.size(); ++i)
      if (statuses[i].ok() && additions[i].file) unsynced.push_back(additions[i].file.get()), places.push_back(i);
    const std::vector<Status> synced = files.sync_all(unsynced);
    for (size_t i = 0; i < places.size(); ++i) statuses[places[i]] = synced[i];
  };
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].instances.empty()) continue;
    auto addition = all[i].list->write_lines(all[i].instances);
    statuses[i] = addition.status();
    if (addition.ok()) additions[i] = std::move(*addition);
  }
  sync();
  for (size_t i = 0; i < all.size(); ++i)
    if (statuses[i].ok() && additions[i].file) statuses[i] = all[i].list->count_lines(additions[i], all[i].instances);
  sync();
  return statuses;
}

Result<InstanceList::Addition> InstanceList::write_lines(const std::vector<InstanceRecord>& instances) {
  std::lock_guard lock(mutex_);
  Addition addition{nullptr, {}, header_};
  std::string lines;
  for (const InstanceRecord& instance : instances) {
    const std::string line = encode_instance(instance);
    addition.places.push_back({header_.bytes + lines.size(), line.size() - 1});
    lines += line;
  }
  addition.header.bytes += lines.size();
  addition.header.lines += instances.size();
  addition.header.version = std::max(header_.version, version_for(instances));
  MNEME_ASSIGN(addition.file, files_.open_to_change(path_));
  MNEME_TRY(addition.file->write(header_.bytes, bytes_of(lines)));
  return addition;
}

// Once the lines are on the disk: it may keep the later of two writes and lose the earlier.
Status InstanceList::count_lines(const Addition& addition, const std::vector<InstanceRecord>& instances) {
  std::lock_guard lock(mutex_);
  MNEME_TRY(addition.file->write(0, bytes_of(encode_list_header(addition.header))));
  header_ = addition.header;
  for (size_t i = 0; i < instances.size(); ++i) {
    places_[instances[i].dynamic_hash] = addition.places[i];
    note_trimmed(instances[i]);
  }
  return {};
}

}  // namespace mneme

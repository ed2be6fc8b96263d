#include "mneme/store/instance_list.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>

namespace mneme {
namespace {

ByteSpan bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

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

size_t InstanceList::size() const {
  std::lock_guard lock(mutex_);
  return places_.size();
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
  Place place;
  {
    std::lock_guard lock(mutex_);
    auto found = places_.find(dynamic_hash);
    if (const auto trimmed = trimmed_.find(dynamic_hash); found == places_.end() && trimmed != trimmed_.end())
      found = places_.find(trimmed->second);
    if (found == places_.end()) return std::optional<InstanceRecord>();
    place = found->second;
  }
  MNEME_ASSIGN(auto file, files_.open(path_));
  std::string line(place.size, '\0');
  MNEME_TRY(file->read(place.offset, std::as_writable_bytes(std::span(line))));
  MNEME_ASSIGN(InstanceRecord instance, decode_instance(line, kernel_, path_.string(), place.offset));
  return std::optional(std::move(instance));
}

Status InstanceList::append(const std::vector<InstanceRecord>& instances) {
  if (instances.empty()) return {};
  std::lock_guard lock(mutex_);
  std::string lines;
  std::unordered_map<Digest, Place> added;
  for (const InstanceRecord& instance : instances) {
    const std::string line = encode_instance(instance);
    added[instance.dynamic_hash] = {header_.bytes + lines.size(), line.size() - 1};
    lines += line;
  }
  InstanceListHeader header = header_;
  header.bytes += lines.size();
  header.lines += instances.size();
  header.version = std::max(header.version, version_for(instances));
  MNEME_ASSIGN(auto file, files_.open_to_change(path_));
  MNEME_TRY(file->write(header_.bytes, bytes_of(lines)));
  MNEME_TRY(file->sync());
  MNEME_TRY(file->write(0, bytes_of(encode_list_header(header))));
  MNEME_TRY(file->sync());
  header_ = header;
  for (const auto& [hash, place] : added) places_[hash] = place;
  for (const InstanceRecord& instance : instances) note_trimmed(instance);
  return {};
}

}  // namespace mneme

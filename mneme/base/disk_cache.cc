#include "mneme/base/disk_cache.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "mneme/base/log.h"

namespace mneme {
namespace {

namespace fs = std::filesystem;

// An entry's file: this header, then the content.
struct Header {
  std::array<char, 8> magic = {'M', 'N', 'E', 'M', 'E', 'O', 'B', 'J'};
  uint32_t version = 1;
  uint32_t reserved = 0;
  Digest key;
  Digest content;
  uint64_t size = 0;
};
static_assert(sizeof(Header) == 56);

// Of what others may still be writing nothing is removed that is younger.
constexpr std::chrono::hours kAbandoned{1};

const char* environment(const char* name) {
  const char* value = std::getenv(name);
  return value && *value ? value : nullptr;
}

Result<Bytes> parse_size(std::string_view text) {
  uint64_t value = 0;
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string_view unit(end, text.data() + text.size() - end);
  constexpr std::string_view kUnits = "KMGT";
  unsigned shift = 0;
  if (unit.size() == 1 && kUnits.find(unit[0]) != std::string_view::npos) {
    shift = 10 * (static_cast<unsigned>(kUnits.find(unit[0])) + 1);
    unit = {};
  }
  if (failure != std::errc() || !unit.empty() || value > (UINT64_MAX >> shift))
    return error(Code::invalid_argument, "MNEME_CACHE_SIZE is '{}', not a number of bytes, as in 500M or 4G", text);
  return Bytes(value << shift);
}

bool is_shard(const std::string& name) {
  return name.size() == 2 && name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace

struct DiskCache::Entry {
  Path path;
  Bytes size;
  fs::file_time_type used;
};

Result<CachePlace> CachePlace::from_environment() {
  CachePlace place;
  if (const char* size = environment("MNEME_CACHE_SIZE")) {
    MNEME_ASSIGN(place.limit, parse_size(size));
  }
  const char* base = environment("XDG_CACHE_HOME");
  const char* home = environment("HOME");
  if (const char* folder = environment("MNEME_CACHE_DIR"))
    place.folder = fs::absolute(folder);
  else if (base && *base == '/')
    place.folder = Path(base) / "mneme" / "objects";
  else if (home && *home == '/')
    place.folder = Path(home) / ".cache" / "mneme" / "objects";
  else
    return error(Code::not_found, "none of MNEME_CACHE_DIR, XDG_CACHE_HOME and HOME names a folder");
  return place;
}

Path DiskCache::path_of(const Digest& key) const {
  const std::string name = key.hex();
  return place_.folder / name.substr(0, 2) / name;
}

std::optional<ByteVector> DiskCache::read(const Digest& key) {
  const Path path = path_of(key);
  auto file = files_.read(path);
  if (!file.ok()) return std::nullopt;
  Header header;
  const Header expected;
  const bool whole = file->size() >= sizeof header;
  if (whole) std::memcpy(static_cast<void*>(&header), file->data(), sizeof header);
  const ByteSpan content = whole ? ByteSpan(*file).subspan(sizeof header) : ByteSpan();
  if (!whole || header.magic != expected.magic || header.version != expected.version || header.reserved != 0 ||
      header.key != key || header.size != content.size() || header.content != digest_of(content)) {
    log::debug("the cache's entry {} is damaged: removed", path.string());
    drop(key);
    return std::nullopt;
  }
  std::error_code ignored;
  fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);
  return ByteVector(content.begin(), content.end());
}

void DiskCache::put(const Digest& key, ByteSpan bytes) {
  if (!writable_ || bytes.size() > place_.limit.count / 4) return;
  Status status = write(key, bytes);
  if (status.ok()) status = count(Bytes(bytes.size() + sizeof(Header)));
  if (status.ok() || !writable_.exchange(false)) return;
  log::warning("nothing more is kept in the cache of compiled code: {}; MNEME_CACHE_DIR names another folder", status.message());
}

Status DiskCache::write(const Digest& key, ByteSpan bytes) {
  Header header;
  header.key = key;
  header.content = digest_of(bytes);
  header.size = bytes.size();
  const Path path = path_of(key), folder = place_.folder / "tmp";
  auto temporary = files_.create_temporary(folder / key.hex());
  if (!temporary.ok()) {
    MNEME_TRY(files_.create_directories(folder));
    temporary = files_.create_temporary(folder / key.hex());
  }
  MNEME_TRY(temporary.status());
  auto fill = [&]() -> Status {
    MNEME_TRY(temporary->file->append(std::as_bytes(std::span(&header, 1))));
    MNEME_TRY(temporary->file->append(bytes));
    MNEME_TRY(temporary->file->close());
    if (files_.rename(temporary->path, path).ok()) return {};
    MNEME_TRY(files_.create_directories(path.parent_path()));
    return files_.rename(temporary->path, path);
  };
  Status status = fill();
  if (!status.ok()) [[maybe_unused]]
    Status ignored = files_.remove(temporary->path);
  return status;
}

void DiskCache::drop(const Digest& key) {
  [[maybe_unused]] Status ignored = files_.remove(path_of(key));  // another process may have removed it
}

// The count is written in place under the lock; one that is cut short is no count, and the folder is scanned.
Status DiskCache::write_count(Bytes total) {
  MNEME_ASSIGN(auto file, files_.create(place_.folder / "usage"));
  MNEME_TRY(file->append(std::as_bytes(std::span(&total.count, 1))));
  return file->close();
}

std::optional<Bytes> DiskCache::read_count() const {
  uint64_t total = 0;
  auto counted = files_.read(place_.folder / "usage");
  if (!counted.ok() || counted->size() != sizeof total) return std::nullopt;
  std::memcpy(&total, counted->data(), sizeof total);
  return Bytes(total);
}

Status DiskCache::count(Bytes added) {
  bool known = false;
  {
    MNEME_ASSIGN(auto lock, files_.lock(place_.folder / "lock"));
    const std::optional<Bytes> counted = read_count();
    known = counted.has_value();
    if (known) MNEME_TRY(write_count(*counted + added));
    if (known && *counted + added <= place_.limit) return {};
  }
  return evict(known ? Bytes() : added);
}

std::vector<DiskCache::Entry> DiskCache::entries() const {
  std::vector<Entry> found;
  auto folders = files_.list(place_.folder);
  if (!folders.ok()) return found;
  for (const std::string& folder : *folders) {
    if (!is_shard(folder) && folder != "tmp") continue;
    auto names = files_.list(place_.folder / folder);
    if (!names.ok()) continue;
    for (const std::string& name : *names) {
      const Path path = place_.folder / folder / name;
      std::error_code failure;
      const auto used = fs::last_write_time(path, failure);
      auto size = files_.size(path);
      if (failure || !size.ok()) continue;  // gone meanwhile
      if (folder == "tmp" && used > fs::file_time_type::clock::now() - kAbandoned) continue;
      found.push_back({path, *size, used});
    }
  }
  return found;
}

// By when they were used. Gives the size of what is left: more than `target` where entries cannot be removed.
Bytes DiskCache::remove_oldest(Bytes target) {
  std::vector<Entry> all = entries();
  std::sort(all.begin(), all.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
  Bytes total;
  for (const Entry& entry : all) total += entry.size;
  Bytes left = total;
  for (const Entry& entry : all) {
    const bool abandoned = entry.path.parent_path().filename() == "tmp";
    if (left <= target && !abandoned) continue;
    if (files_.remove(entry.path).ok() || !files_.exists(entry.path)) left = left - entry.size;
  }
  log::debug("the cache {}: {} given up, {} left", place_.folder.string(), total - left, left);
  return left;
}

// One process at a time: two that scanned at once would each put the count right by what both had given up. Who finds another at
// it goes on, and that one begins again where too much was added meanwhile.
Status DiskCache::evict(Bytes uncounted) {
  constexpr int kRounds = 8;
  const Bytes target(place_.limit.count / 5 * 4);
  auto evicting = files_.lock(place_.folder / "evicting", {.limit = std::chrono::milliseconds(0)});
  if (evicting.status().code() == Code::timeout) return {};
  MNEME_TRY(evicting.status());
  for (int round = 0; round < kRounds; ++round) {
    Bytes before;
    {
      MNEME_ASSIGN(auto lock, files_.lock(place_.folder / "lock"));
      const std::optional<Bytes> counted = read_count();
      before = counted.value_or(Bytes()) + std::exchange(uncounted, {});
      MNEME_TRY(write_count(before));
      if (counted && before <= place_.limit) return {};
    }
    const Bytes left = remove_oldest(target);
    MNEME_ASSIGN(auto lock, files_.lock(place_.folder / "lock"));
    const Bytes now = read_count().value_or(before);
    // What others have added since is on top, also where the scan has seen it; what cannot be removed is not looked at again by
    // the next that is added.
    MNEME_TRY(write_count(std::min(left, target) + (now - std::min(now, before))));
  }
  return {};
}

DiskCache::Usage DiskCache::usage() const {
  Usage usage;
  for (const Entry& entry : entries()) {
    usage.size += entry.size;
    usage.entries += entry.path.parent_path().filename() == "tmp" ? 0 : 1;
  }
  return usage;
}

Result<DiskCache::Usage> DiskCache::clear() {
  Usage removed;
  for (const Entry& entry : entries()) {
    Status status = files_.remove(entry.path);
    if (!status.ok() && status.code() != Code::not_found) return status;
    removed.size += entry.size;
    removed.entries += entry.path.parent_path().filename() == "tmp" ? 0 : 1;
  }
  if (files_.exists(place_.folder)) {
    MNEME_ASSIGN(auto lock, files_.lock(place_.folder / "lock"));
    MNEME_TRY(write_count(Bytes()));
  }
  return removed;
}

}  // namespace mneme

#include "mneme/store/database.h"

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <set>

#include "mneme/store/database_impl.h"

namespace mneme {
namespace {

constexpr std::string_view kKernelExtension = ".json";
constexpr std::string_view kTemporary = ".tmp.";

std::string_view text_of(ByteSpan bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

std::optional<Digest> kernel_of_file(std::string_view name) {
  if (!name.ends_with(kKernelExtension)) return std::nullopt;
  auto digest = Digest::from_hex(name.substr(0, name.size() - kKernelExtension.size()));
  return digest.ok() && kernel_file_name(*digest) == name ? std::optional(*digest) : std::nullopt;
}

// "<name>.tmp.<process>.<number>" of a process that is no more.
bool is_left_over(const std::string& name) {
  size_t at = name.rfind(kTemporary);
  if (at == std::string::npos) return false;
  const char* first = name.data() + at + kTemporary.size();
  pid_t process = 0;
  auto parsed = std::from_chars(first, name.data() + name.size(), process);
  if (parsed.ec != std::errc() || *parsed.ptr != '.' || process <= 0) return false;
  return ::kill(process, 0) != 0 && errno == ESRCH;
}

// What cannot be removed does no harm: no reader looks at it.
void remove_left_over(FileSystem& files, const Path& directory) {
  auto names = files.list(directory);
  if (!names.ok()) return;
  for (const std::string& name : *names)
    if (is_left_over(name)) [[maybe_unused]]
      Status ignored = files.remove(directory / name);
}

Status no_directory(const Path& directory) {
  return error(Code::not_found, "there is no directory {}: give the one that `mneme record -rdb` wrote", directory.string());
}

}  // namespace

Result<KernelFile> locate_kernel(const Path& path) {
  if (path.empty()) return error(Code::invalid_argument, "the recorded kernel has no name: give DIR/<static-hash>.json");
  FileSystem& files = FileSystem::posix();
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    return error(Code::invalid_argument,
                 "{} is a directory: name one of the kernels in it, {}/<static-hash>.json (`mneme ls {}` lists them)",
                 path.string(), path.string(), path.string());
  std::optional<Digest> static_hash = kernel_of_file(path.filename().string());
  if (!static_hash)
    return error(Code::invalid_argument, "{} is not named like a recorded kernel, DIR/<static-hash>.json (32 hexadecimal digits)",
                 path.string());
  if (!files.exists(path)) return error(Code::not_found, "there is no recorded kernel {}", path.string());
  return KernelFile{path.has_parent_path() ? path.parent_path() : Path("."), *static_hash};
}

Database::Database(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Database::~Database() = default;
Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&&) noexcept = default;

Result<Database> Database::open(const Path& directory, FileSystem& files) {
  std::error_code ignored;
  if (directory.empty()) return error(Code::invalid_argument, "the database has no name: give the directory of a recording");
  if (std::filesystem::exists(directory, ignored) && !std::filesystem::is_directory(directory, ignored)) {
    if (kernel_of_file(directory.filename().string()))
      return error(Code::invalid_argument, "{} is one kernel of a database: `mneme show {}` shows it", directory.string(),
                   directory.string());
    return error(Code::invalid_argument, "{} is a file: a database is a directory, as `mneme record -rdb` wrote it",
                 directory.string());
  }
  auto names = files.list(directory);
  if (names.status().code() == Code::not_found) return no_directory(directory);
  if (!names.ok()) return names.status().with_context("opening the database");
  bool holds =
      std::any_of(names->begin(), names->end(), [](const std::string& name) { return name == "pages" || kernel_of_file(name); });
  if (!holds) return error(Code::not_found, "{} holds no recording (no <static-hash>.json)", directory.string());
  return Database(std::make_unique<Impl>(directory, files));
}

Result<Database> Database::create(const Path& directory, FileSystem& files) {
  std::error_code ignored;
  if (std::filesystem::exists(directory, ignored) && !std::filesystem::is_directory(directory, ignored))
    return error(Code::invalid_argument,
                 "the database {} cannot be written: it is a file; name a directory, or one that is to be made",
                 directory.string());
  auto impl = std::make_unique<Impl>(directory, files);
  Status status = files.create_directories(impl->store.directory());
  if (status.ok()) status = files.lock(impl->lock_path()).status();
  if (!status.ok()) return status.with_context(fmt::format("the database {} cannot be written", directory.string()));
  remove_left_over(files, directory);
  remove_left_over(files, impl->store.directory());
  return Database(std::move(impl));
}

const Path& Database::directory() const { return impl_->directory; }

Result<KernelDocument> Database::Impl::load_document(const Digest& static_hash) const {
  const Path path = path_of(kernel_file_name(static_hash));
  auto file = files.read(path);
  if (file.status().code() == Code::not_found)
    return error(Code::not_found, "the database {} holds no kernel {}", directory.string(), static_hash.hex());
  if (!file.ok()) return file.status();
  MNEME_ASSIGN(KernelDocument document, decode_kernel(text_of(*file), path.string()));
  if (document.kernel.static_hash != static_hash)
    return error(Code::corrupt, "{}: /kernel/static_hash: the file is about kernel {}", path.string(),
                 document.kernel.static_hash.hex());
  return document;
}

Result<StateDocument> Database::Impl::load_state(Moment moment, const Digest& static_hash, const Digest& dynamic_hash) const {
  const Path path = path_of(state_file_name(moment, static_hash, dynamic_hash));
  auto file = files.read(path);
  if (file.status().code() == Code::not_found)
    return error(Code::corrupt, "{} is missing, though its kernel's file lists the instance", path.string());
  if (!file.ok()) return file.status();
  MNEME_ASSIGN(StateDocument document, decode_state(*file, path.string()));
  if (document.moment != moment || document.static_hash != static_hash || document.dynamic_hash != dynamic_hash)
    return error(Code::corrupt, "{}: offset 40: the file holds the state of another instance", path.string());
  return document;
}

Result<Listing> Database::list() const {
  MNEME_ASSIGN(auto names, impl_->files.list(impl_->directory));
  Listing listing;
  for (const std::string& name : names) {
    std::optional<Digest> static_hash = kernel_of_file(name);
    if (!static_hash) continue;
    auto document = impl_->load_document(*static_hash);
    if (document.ok())
      listing.kernels.push_back(std::move(*document));
    else
      listing.damaged.push_back(document.status());
  }
  return listing;
}

Result<KernelDocument> Database::load_document(const Digest& static_hash) const { return impl_->load_document(static_hash); }

Result<KernelRecord> Database::load_kernel(const Digest& static_hash) const {
  MNEME_ASSIGN(KernelDocument document, impl_->load_document(static_hash));
  return std::move(document.kernel);
}

Result<ByteVector> Database::load_ir(const Digest& static_hash) const {
  MNEME_ASSIGN(KernelDocument document, impl_->load_document(static_hash));
  const Path path = impl_->path_of(ir_file_name(static_hash));
  auto ir = impl_->files.read(path);
  if (ir.status().code() == Code::not_found)
    return error(Code::corrupt, "{} is missing, though its kernel's file is there", path.string());
  if (!ir.ok()) return ir.status();
  if (ir->size() != document.ir_size.count)
    return error(Code::corrupt, "{}: offset {}: the file has {} bytes, {} expected", path.string(),
                 std::min<uint64_t>(ir->size(), document.ir_size.count), ir->size(), document.ir_size.count);
  if (Digest found = digest_of(*ir); found != document.ir_digest)
    return error(Code::corrupt, "{}: offset 0: the file's digest is {}, {} expected: it was damaged", path.string(), found.hex(),
                 document.ir_digest.hex());
  return ir;
}

Result<RecordedInstance> Database::load_instance(const Digest& static_hash, const Digest& dynamic_hash) const {
  MNEME_ASSIGN(KernelDocument document, impl_->load_document(static_hash));
  auto found = std::find_if(document.instances.begin(), document.instances.end(),
                            [&](const InstanceRecord& i) { return i.dynamic_hash == dynamic_hash; });
  if (found == document.instances.end())
    return error(Code::not_found, "kernel {} has no instance {} (`mneme show {}` lists its {})", static_hash.hex(),
                 dynamic_hash.hex(), impl_->path_of(kernel_file_name(static_hash)).string(), document.instances.size());
  MNEME_ASSIGN(StateDocument prologue, impl_->load_state(Moment::prologue, static_hash, dynamic_hash));
  MNEME_ASSIGN(StateDocument epilogue, impl_->load_state(Moment::epilogue, static_hash, dynamic_hash));
  return RecordedInstance{std::move(*found), std::move(prologue.state), std::move(epilogue.state)};
}

Status Database::read_pages(std::span<const PageRequest> requests) const { return impl_->store.read(requests); }

Result<InstanceSize> Database::instance_size(const Digest& static_hash, const Digest& dynamic_hash) const {
  InstanceSize size;
  std::set<Digest> seen;
  for (Moment moment : {Moment::prologue, Moment::epilogue}) {
    MNEME_ASSIGN(StateDocument document, impl_->load_state(moment, static_hash, dynamic_hash));
    MNEME_ASSIGN(Bytes file, impl_->files.size(impl_->path_of(state_file_name(moment, static_hash, dynamic_hash))));
    size.states += file;
    for (const Region& region : document.state.regions) {
      for (const Digest& digest : region.pages) {
        if (!seen.insert(digest).second) continue;
        MNEME_ASSIGN(PackedPage page, impl_->store.find(digest));
        size.pages += Bytes(page.stored);
      }
    }
  }
  return size;
}

Status Database::check_instance(const Digest& static_hash, const Digest& dynamic_hash) const {
  MNEME_TRY(load_ir(static_hash).status());
  MNEME_ASSIGN(RecordedInstance recorded, load_instance(static_hash, dynamic_hash));
  std::set<Digest> seen;
  std::vector<std::pair<Digest, Bytes>> pages;
  for (const MemoryState* state : {&recorded.prologue, &recorded.epilogue})
    for (const Region& region : state->regions)
      for (uint64_t i = 0; i < region.pages.size(); ++i)
        if (seen.insert(region.pages[i]).second)
          pages.emplace_back(region.pages[i], page_extent(region.address, region.size, i).size);
  constexpr size_t kBatch = 512;
  ByteVector bytes(std::min(kBatch, pages.size()) * kPageSize.count);
  std::vector<PageRequest> requests;
  for (size_t i = 0; i < pages.size(); ++i) {
    requests.push_back({pages[i].first, MutableByteSpan(bytes).subspan(i % kBatch * kPageSize.count, pages[i].second.count)});
    if (requests.size() < kBatch && i + 1 < pages.size()) continue;
    MNEME_TRY(read_pages(requests));
    requests.clear();
  }
  return {};
}

Result<Bytes> Database::disk_size() const {
  Bytes sum;
  for (const Path& directory : {impl_->directory, impl_->store.directory()}) {
    auto names = impl_->files.list(directory);
    if (!names.ok()) continue;  // no pages yet
    for (const std::string& name : *names) {
      if (directory == impl_->directory && name == "pages") continue;
      if (auto size = impl_->files.size(directory / name); size.ok()) sum += *size;
    }
  }
  return sum;
}

Result<bool> Database::has_instance(const Digest& static_hash, const Digest& dynamic_hash) const {
  if (!impl_->files.exists(impl_->path_of(kernel_file_name(static_hash)))) return false;
  MNEME_ASSIGN(KernelDocument document, impl_->load_document(static_hash));
  return std::any_of(document.instances.begin(), document.instances.end(),
                     [&](const InstanceRecord& i) { return i.dynamic_hash == dynamic_hash; });
}

}  // namespace mneme

#include "mneme/store/database.h"

#include <algorithm>
#include <set>

#include "mneme/store/database_impl.h"
#include "mneme/store/image_file.h"
#include "mneme/store/text.h"
#include "mneme/store/unlisted.h"

namespace mneme {
namespace {

constexpr std::string_view kKernelExtension = ".json";

// Of recordings that were killed: what nobody has locked. What cannot be removed does no harm: no reader looks at it.
void remove_left_over(FileSystem& files, const Path& directory) {
  auto names = files.list(directory);
  if (!names.ok()) return;
  for (const std::string& name : *names)
    if (is_temporary(name)) [[maybe_unused]]
      Status ignored = files.remove_unused(directory / name);
}

Status missing(const Path& path) {
  return error(Code::corrupt, "{} is missing, though its kernel's file is there", path.string());
}

Status no_directory(const Path& directory) {
  return error(Code::not_found, "there is no directory {}: give the one that `mneme record -rdb` wrote", directory.string());
}

}  // namespace

std::vector<PageOfState> pages_of(const RecordedInstance& recorded) {
  std::set<Digest> seen;
  std::vector<PageOfState> pages;
  for (const MemoryState* state : {&recorded.prologue, &recorded.epilogue})
    for (const Region& region : state->regions)
      for (uint64_t i = 0; i < region.pages.size(); ++i)
        if (seen.insert(region.pages[i]).second) pages.push_back({region.pages[i], page_extent(region.range(), i).size});
  return pages;
}

std::optional<Digest> kernel_of_file(std::string_view name) {
  if (!name.ends_with(kKernelExtension)) return std::nullopt;
  auto digest = Digest::from_hex(name.substr(0, name.size() - kKernelExtension.size()));
  return digest.ok() && kernel_file_name(*digest) == name ? std::optional(*digest) : std::nullopt;
}

Status check_ir(const KernelDocument& document, ByteSpan bitcode, const std::string& name) {
  if (bitcode.size() != document.ir_size.count)
    return error(Code::corrupt, "{}: offset {}: the file has {} bytes, {} expected", name,
                 std::min<uint64_t>(bitcode.size(), document.ir_size.count), bitcode.size(), document.ir_size.count);
  if (const Digest found = digest_of(bitcode); found != document.ir_digest)
    return error(Code::corrupt, "{}: offset 0: the file's digest is {}, {} expected: it was damaged", name, found.hex(),
                 document.ir_digest.hex());
  return {};
}

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
  return KernelFile{folder_of(path), *static_hash};
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
  auto impl = std::make_unique<Impl>(directory, files);
  recover_unlisted(*impl, *names);
  return Database(std::move(impl));
}

Result<Database> Database::create(const Path& directory, FileSystem& files, const LockPatience& patience) {
  if (directory.empty())
    return error(Code::invalid_argument, "the database has no name: give a directory, or one that is to be made");
  std::error_code ignored;
  if (std::filesystem::exists(directory, ignored) && !std::filesystem::is_directory(directory, ignored))
    return error(Code::invalid_argument,
                 "the database {} cannot be written: it is a file; name a directory, or one that is to be made",
                 directory.string());
  auto impl = std::make_unique<Impl>(directory, files);
  impl->patience = patience;
  Status status = files.create_directories(impl->store.directory());
  if (status.ok()) status = files.lock(impl->lock_path(), patience).status();
  if (!status.ok()) return status.with_context(fmt::format("the database {} cannot be written", directory.string()));
  // What another process is about to list may not go.
  auto names = files.list(directory);
  if (!names.ok() || recover_unlisted(*impl, *names)) {
    remove_left_over(files, directory);
    remove_left_over(files, impl->store.directory());
  }
  return Database(std::move(impl));
}

const Path& Database::directory() const { return impl_->directory; }

Result<KernelDocument> Database::Impl::load_head(const Digest& static_hash) const {
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

Result<KernelDocument> Database::Impl::load_document(const Digest& static_hash) const {
  MNEME_ASSIGN(KernelDocument document, load_head(static_hash));
  if (document.lists_instances) return document;
  const Path path = path_of(list_file_name(static_hash));
  auto instances = InstanceList(path, document.kernel, files).read_all();
  if (instances.status().code() == Code::not_found) return missing(path);
  if (!instances.ok()) return instances.status();
  document.instances = std::move(*instances);
  return document;
}

void Database::Impl::notice_removals() {
  const auto size = files.size(use_path());
  const uint64_t now = size.ok() ? size->count : 0;
  if (removals.exchange(now) == now) return;
  store.forget();
  std::lock_guard lock(mutex);
  lists.clear();
  whole_ir.clear();
  whole_images.clear();
  whole_instances.clear();
}

std::shared_ptr<InstanceList> Database::Impl::list_of(const KernelRecord& kernel) {
  notice_removals();
  std::lock_guard lock(mutex);
  auto& list = lists[kernel.static_hash];
  if (!list) list = std::make_shared<InstanceList>(path_of(list_file_name(kernel.static_hash)), kernel, files);
  return list;
}

std::shared_ptr<InstanceList> Database::Impl::known_list(const Digest& static_hash) {
  std::lock_guard lock(mutex);
  const auto found = lists.find(static_hash);
  return found == lists.end() ? nullptr : found->second;
}

Result<std::shared_ptr<InstanceList>> Database::Impl::open_list(const KernelRecord& kernel) {
  auto list = list_of(kernel);
  Status status = list->refresh();
  if (status.code() == Code::not_found) return missing(path_of(list_file_name(kernel.static_hash)));
  MNEME_TRY(status);
  return list;
}

Result<std::optional<InstanceRecord>> Database::Impl::find_instance(const Digest& static_hash, const Digest& dynamic_hash) {
  MNEME_ASSIGN(KernelDocument document, load_head(static_hash));
  if (!document.lists_instances) {
    MNEME_ASSIGN(auto list, open_list(document.kernel));
    return list->find(dynamic_hash);
  }
  auto found = std::find_if(document.instances.begin(), document.instances.end(),
                            [&](const InstanceRecord& i) { return i.dynamic_hash == dynamic_hash; });
  return found == document.instances.end() ? std::nullopt : std::optional(std::move(*found));
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

namespace {

Result<ByteVector> read_ir(FileSystem& files, const Path& path, const KernelDocument& document) {
  auto ir = files.read(path);
  if (ir.status().code() == Code::not_found) return missing(path);
  if (!ir.ok()) return ir.status();
  MNEME_TRY(check_ir(document, *ir, path.string()));
  return ir;
}

}  // namespace

Result<ByteVector> Database::load_ir(const Digest& static_hash) const {
  MNEME_ASSIGN(KernelDocument document, impl_->load_head(static_hash));
  if (document.kernel.level != CodeLevel::ir)
    return error(Code::unsupported, "{}: {}, without LLVM IR", impl_->path_of(kernel_file_name(static_hash)).string(),
                 recorded_as(document.kernel));
  return read_ir(impl_->files, impl_->path_of(ir_file_name(static_hash)), document);
}

Result<ByteVector> Database::load_image(const CodeImageRecord& image) const { return impl_->load_image(image); }

Result<ByteVector> Database::load_image(const KernelRecord& kernel, CodeImageRecord::Kind kind) const {
  if (const CodeImageRecord* image = kernel.find_image(kind)) return impl_->load_image(*image);
  return error(Code::not_found, "{}: the kernel was recorded without an image of the kind {}",
               impl_->path_of(kernel_file_name(kernel.static_hash)).string(), to_string(kind));
}

Result<ByteVector> Database::Impl::load_image(const CodeImageRecord& image) const {
  const Path path = path_of(image_file_name(image));
  auto file = files.read(path);
  if (file.status().code() == Code::not_found) return missing(path);
  if (!file.ok()) return file.status();
  return decode_image(image, *file, path.string());
}

bool Database::Impl::has_image(const CodeImageRecord& image) {
  const std::string name = image_file_name(image);
  {
    std::lock_guard lock(mutex);
    if (whole_images.contains(name)) return true;
  }
  if (!load_image(image).ok()) return false;
  std::lock_guard lock(mutex);
  whole_images.insert(name);
  return true;
}

bool Database::Impl::has_images(const KernelRecord& kernel) {
  return std::all_of(kernel.images.begin(), kernel.images.end(), [&](const CodeImageRecord& image) { return has_image(image); });
}

bool Database::Impl::has_ir(const KernelDocument& document) {
  if (document.kernel.level != CodeLevel::ir) return true;
  const Digest& static_hash = document.kernel.static_hash;
  {
    std::lock_guard lock(mutex);
    if (whole_ir.contains(static_hash)) return true;
  }
  if (!read_ir(files, path_of(ir_file_name(static_hash)), document).ok()) return false;
  std::lock_guard lock(mutex);
  whole_ir.insert(static_hash);
  return true;
}

Result<RecordedInstance> Database::load_instance(const Digest& static_hash, const Digest& dynamic_hash) const {
  MNEME_ASSIGN(std::optional<InstanceRecord> found, impl_->find_instance(static_hash, dynamic_hash));
  if (found) return load_memory(*found);
  MNEME_ASSIGN(KernelDocument document, impl_->load_document(static_hash));
  return error(Code::not_found, "kernel {} has no instance {} (`mneme show {}` lists its {})", static_hash.hex(),
               dynamic_hash.hex(), impl_->path_of(kernel_file_name(static_hash)).string(), document.instances.size());
}

Result<RecordedInstance> Database::load_memory(const InstanceRecord& instance) const {
  MNEME_ASSIGN(StateDocument prologue, impl_->load_state(Moment::prologue, instance.static_hash, instance.dynamic_hash));
  MNEME_ASSIGN(StateDocument epilogue, impl_->load_state(Moment::epilogue, instance.static_hash, instance.dynamic_hash));
  impl_->store.expect(prologue.packs);
  impl_->store.expect(epilogue.packs);
  return RecordedInstance{instance, std::move(prologue.state), std::move(epilogue.state)};
}

Status Database::read_pages(std::span<const PageRequest> requests) const { return impl_->store.read(requests); }

Status Database::send(const std::vector<KernelDocument>& kernels, RecordingSink& to) const {
  std::set<Digest> sent;
  for (const KernelDocument& document : kernels) {
    SentKernel kernel{document, {}, {}};
    if (document.kernel.level == CodeLevel::ir) {
      MNEME_ASSIGN(kernel.ir, load_ir(document.kernel.static_hash));
    }
    for (const CodeImageRecord& image : document.kernel.images) {
      MNEME_ASSIGN(kernel.images.emplace_back(), load_image(image));
    }
    MNEME_TRY(to.begin_kernel(std::move(kernel)));
    for (const InstanceRecord& instance : document.instances) {
      MNEME_ASSIGN(const RecordedInstance recorded, load_memory(instance));
      MNEME_ASSIGN(const bool wanted, to.wants(recorded));
      if (!wanted) continue;
      for (const PageOfState& page : pages_of(recorded)) {
        if (!sent.insert(page.digest).second) continue;
        MNEME_ASSIGN(const StoredPage stored, impl_->store.read_stored(page.digest, page.size));
        MNEME_TRY(to.put_page(stored));
      }
      MNEME_TRY(to.put_instance(recorded));
    }
  }
  return {};
}

Result<InstanceSize> Database::instance_size(const Digest& static_hash, const Digest& dynamic_hash) const {
  MNEME_ASSIGN(const RecordedInstance recorded, load_instance(static_hash, dynamic_hash));
  return instance_size(recorded);
}

Bytes Database::stored_pages(const RecordedInstance& recorded) const {
  Bytes sum;
  for (const PageOfState& each : pages_of(recorded))
    if (const auto page = impl_->store.find(each.digest); page.ok()) sum += Bytes(page->stored);
  return sum;
}

Result<InstanceSize> Database::instance_size(const RecordedInstance& recorded) const {
  const InstanceRecord& instance = recorded.instance;
  InstanceSize size;
  for (Moment moment : {Moment::prologue, Moment::epilogue}) {
    MNEME_ASSIGN(Bytes file,
                 impl_->files.size(impl_->path_of(state_file_name(moment, instance.static_hash, instance.dynamic_hash))));
    size.states += file;
  }
  for (const PageOfState& each : pages_of(recorded)) {
    MNEME_ASSIGN(PackedPage page, impl_->store.find(each.digest));
    size.pages += Bytes(page.stored);
  }
  return size;
}

Status Database::check_instance(const Digest& static_hash, const Digest& dynamic_hash) const {
  MNEME_ASSIGN(const KernelDocument document, impl_->load_head(static_hash));
  if (document.kernel.level == CodeLevel::ir) MNEME_TRY(load_ir(static_hash).status());
  for (const CodeImageRecord& image : document.kernel.images) MNEME_TRY(load_image(image).status());
  MNEME_ASSIGN(RecordedInstance recorded, load_instance(static_hash, dynamic_hash));
  const std::vector<PageOfState> pages = pages_of(recorded);
  constexpr size_t kBatch = 512;
  ByteVector bytes(std::min(kBatch, pages.size()) * kPageSize.count);
  std::vector<PageRequest> requests;
  for (size_t i = 0; i < pages.size(); ++i) {
    requests.push_back({pages[i].digest, MutableByteSpan(bytes).subspan(i % kBatch * kPageSize.count, pages[i].size.count)});
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

Status Database::Impl::check_files(const KernelDocument& document, const Digest& dynamic_hash) {
  const Digest& static_hash = document.kernel.static_hash;
  if (!has_ir(document)) return error(Code::corrupt, "{} is damaged", path_of(ir_file_name(static_hash)).string());
  for (const CodeImageRecord& image : document.kernel.images)
    if (!has_image(image)) return error(Code::corrupt, "{} is damaged", path_of(image_file_name(image)).string());
  {
    std::lock_guard lock(mutex);
    if (whole_instances.contains({static_hash, dynamic_hash})) return {};
  }
  MNEME_ASSIGN(StateDocument prologue, load_state(Moment::prologue, static_hash, dynamic_hash));
  MNEME_ASSIGN(StateDocument epilogue, load_state(Moment::epilogue, static_hash, dynamic_hash));
  bool looked = false;  // for packs of other processes
  for (const PageOfState& page : pages_of({{}, std::move(prologue.state), std::move(epilogue.state)})) {
    bool whole = store.holds_whole(page.digest, page.size);
    if (!whole && !std::exchange(looked, true)) {
      store.refresh();
      whole = store.holds_whole(page.digest, page.size);
    }
    if (!whole) return error(Code::corrupt, "{}: page {} is damaged", store.directory().string(), page.digest.hex());
  }
  std::lock_guard lock(mutex);
  whole_instances.emplace(static_hash, dynamic_hash);
  return {};
}

Status Database::check_own_files(const Digest& static_hash, const Digest& dynamic_hash,
                                 const std::vector<CodeImageRecord>& images) const {
  std::vector<std::string> names = {kernel_file_name(static_hash), list_file_name(static_hash), ir_file_name(static_hash),
                                    state_file_name(Moment::prologue, static_hash, dynamic_hash),
                                    state_file_name(Moment::epilogue, static_hash, dynamic_hash)};
  for (const CodeImageRecord& image : images) names.push_back(image_file_name(image));
  for (const std::string& name : names)
    if (Status status = impl_->files.open(impl_->path_of(name)).status(); !status.ok() && status.code() != Code::not_found)
      return status;
  Status read = impl_->load_document(static_hash).status();
  return read.code() == Code::not_found ? Status() : read;
}

Result<bool> Database::has_instance(const Digest& static_hash, const Digest& dynamic_hash) const {
  impl_->notice_removals();
  // Most that is asked for is new, which the list alone tells once it is known that there is one.
  if (const auto list = impl_->known_list(static_hash); list && list->refresh().ok() && !list->name_of(dynamic_hash))
    return false;
  if (!impl_->files.exists(impl_->path_of(kernel_file_name(static_hash)))) return false;
  MNEME_ASSIGN(KernelDocument document, impl_->load_head(static_hash));
  std::optional<Digest> listed;
  if (std::any_of(document.instances.begin(), document.instances.end(),
                  [&](const InstanceRecord& i) { return i.dynamic_hash == dynamic_hash; }))
    listed = dynamic_hash;
  if (!document.lists_instances) {
    // Without its list a kernel has no instances until the next one is recorded.
    if (!impl_->files.exists(impl_->path_of(list_file_name(static_hash)))) return false;
    MNEME_ASSIGN(auto list, impl_->open_list(document.kernel));
    listed = list->name_of(dynamic_hash);
  }
  return listed && impl_->check_files(document, *listed).ok();
}

}  // namespace mneme

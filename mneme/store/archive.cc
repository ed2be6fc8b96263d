#include "mneme/store/archive.h"

#include <cstring>
#include <map>

#include "mneme/store/database_impl.h"
#include "mneme/store/image_file.h"
#include "mneme/store/instance_list.h"
#include "mneme/store/text.h"

namespace mneme {
namespace {

// A pack of an archive is held in memory, on both sides.
constexpr size_t kPackBytes = 64 << 20;
const std::string kPagesFolder = "pages/";

class BytesInMemory final : public ReadableFile {
 public:
  explicit BytesInMemory(ByteSpan bytes) : bytes_(bytes) {}
  Bytes size() const override { return Bytes(bytes_.size()); }
  Status read(uint64_t offset, MutableByteSpan into) override {
    if (offset > bytes_.size() || into.size() > bytes_.size() - offset)
      return error(Code::corrupt, "offset {}: the bytes end before", bytes_.size());
    if (!into.empty()) std::memcpy(into.data(), bytes_.data() + offset, into.size());
    return {};
  }

 private:
  const ByteSpan bytes_;
};

// What the files of an archive are, in their order.
class Reader {
 public:
  Reader(ByteSource& source, const std::string& name, RecordingSink& to) : tar_(source, name), to_(to) {}

  Status read() {
    MNEME_TRY(advance());
    MNEME_ASSIGN(const TarEntry first, take(kArchiveHeaderName));
    MNEME_ASSIGN(const ArchiveHeader header, decode_archive_header(text_of(first.content), place_of(first)));
    uint64_t kernels = 0;
    for (; next_; ++kernels) MNEME_TRY(read_kernel());
    if (kernels != header.kernels || instances_ != header.instances)
      return error(Code::corrupt, "{}: {} kernels and {} instances, {} and {} expected: it was changed", tar_.name(), kernels,
                   instances_, header.kernels, header.instances);
    return {};
  }

 private:
  // What messages call a file.
  std::string place_of(const TarEntry& entry) const { return tar_.name() + ": " + entry.name; }

  Status advance() {
    MNEME_ASSIGN(next_, tar_.next());
    return {};
  }

  Result<TarEntry> take(const std::string& name) {
    if (!next_) return error(Code::corrupt, "{}: the archive ends where '{}' is expected", tar_.name(), name);
    if (next_->name != name)
      return error(Code::corrupt, "{}: offset {}: '{}' stands where '{}' is expected", tar_.name(), next_->offset, next_->name,
                   name);
    TarEntry entry = std::move(*next_);
    MNEME_TRY(advance());
    return entry;
  }

  Status read_kernel() {
    const std::optional<Digest> static_hash = kernel_of_file(next_->name);
    if (!static_hash)
      return error(Code::corrupt, "{}: offset {}: '{}' stands where a kernel is expected", tar_.name(), next_->offset,
                   next_->name);
    MNEME_ASSIGN(const TarEntry entry, take(next_->name));
    SentKernel sent;
    MNEME_ASSIGN(sent.document, decode_kernel(text_of(entry.content), place_of(entry)));
    const KernelRecord kernel = sent.document.kernel;
    if (kernel.static_hash != *static_hash || sent.document.lists_instances)
      return error(Code::corrupt, "{}: /kernel/static_hash: the file is about kernel {}, or of version 1", place_of(entry),
                   kernel.static_hash.hex());
    if (kernel.level == CodeLevel::ir) {
      MNEME_ASSIGN(TarEntry ir, take(ir_file_name(*static_hash)));
      MNEME_TRY(check_ir(sent.document, ir.content, place_of(ir)));
      sent.ir = std::move(ir.content);
    }
    for (const CodeImageRecord& image : kernel.images) {
      MNEME_ASSIGN(sent.images.emplace_back(), read_image(image));
    }
    MNEME_ASSIGN(const TarEntry list, take(list_file_name(*static_hash)));
    MNEME_ASSIGN(sent.document.instances, InstanceList::decode(text_of(list.content), kernel, place_of(list)));
    const std::vector<InstanceRecord> instances = sent.document.instances;
    MNEME_TRY(to_.begin_kernel(std::move(sent)));
    for (const InstanceRecord& instance : instances) MNEME_TRY(read_instance(instance));
    return {};
  }

  // One that kernels share comes once. It is kept as it is stored.
  Result<ByteVector> read_image(const CodeImageRecord& image) {
    const std::string name = image_file_name(image);
    if (!images_.contains(name)) {
      MNEME_ASSIGN(TarEntry entry, take(name));
      images_[name] = std::move(entry.content);
    }
    return decode_image(image, images_[name], tar_.name() + ": " + name);
  }

  Status read_instance(const InstanceRecord& instance) {
    while (next_ && next_->name.starts_with(kPagesFolder)) MNEME_TRY(read_pages());
    RecordedInstance recorded{instance, {}, {}};
    MNEME_ASSIGN(recorded.prologue, read_state(Moment::prologue, instance));
    MNEME_ASSIGN(recorded.epilogue, read_state(Moment::epilogue, instance));
    ++instances_;
    return to_.put_instance(recorded);
  }

  Status read_pages() {
    const std::optional<Digest> pack = pack_of_file(std::string_view(next_->name).substr(kPagesFolder.size()));
    MNEME_ASSIGN(const TarEntry entry, take(pack ? next_->name : kPagesFolder + "<digest>.mneme"));
    BytesInMemory file(entry.content);
    MNEME_ASSIGN(const std::vector<PackedPage> pages, read_pack(file, place_of(entry)));
    ByteVector scratch;
    StoredPage stored;
    for (const PackedPage& page : pages) {
      stored.page = page;
      stored.content.resize(page.size);
      MNEME_TRY(read_page(file, page, stored.content, scratch, place_of(entry)));
      const ByteSpan bytes = ByteSpan(entry.content).subspan(page.offset, page.stored);
      stored.bytes.assign(bytes.begin(), bytes.end());
      sizes_[page.digest] = page.size;
      MNEME_TRY(to_.put_page(stored));
    }
    return {};
  }

  Result<MemoryState> read_state(Moment moment, const InstanceRecord& instance) {
    MNEME_ASSIGN(const TarEntry entry, take(state_file_name(moment, instance.static_hash, instance.dynamic_hash)));
    MNEME_ASSIGN(StateDocument document, decode_state(entry.content, place_of(entry)));
    if (document.moment != moment || document.static_hash != instance.static_hash ||
        document.dynamic_hash != instance.dynamic_hash)
      return error(Code::corrupt, "{}: offset 40: the file holds the state of another instance", place_of(entry));
    for (const Region& region : document.state.regions)
      for (uint64_t i = 0; i < region.pages.size(); ++i) {
        const auto size = sizes_.find(region.pages[i]);
        if (size == sizes_.end() || size->second != page_extent(region.range(), i).size.count)
          return error(Code::corrupt, "{}: the archive does not hold page {} of the state's", place_of(entry),
                       region.pages[i].hex());
      }
    return std::move(document.state);
  }

  TarReader tar_;
  RecordingSink& to_;
  std::optional<TarEntry> next_;
  std::map<std::string, ByteVector> images_;    // files, by name
  std::unordered_map<Digest, uint64_t> sizes_;  // of all pages so far
  uint64_t instances_ = 0;
};

}  // namespace

Status ArchiveWriter::begin(const std::vector<KernelDocument>& kernels) {
  ArchiveHeader header;
  header.kernels = kernels.size();
  for (const KernelDocument& kernel : kernels) header.instances += kernel.instances.size();
  return tar_.add(kArchiveHeaderName, bytes_of(encode_archive_header(header)));
}

Status ArchiveWriter::begin_kernel(SentKernel sent) {
  const KernelRecord& kernel = sent.document.kernel;
  MNEME_TRY(tar_.add(kernel_file_name(kernel.static_hash), bytes_of(encode_kernel(sent.document))));
  const bool with_code = code_ == ArchivedCode::all;
  if (with_code && kernel.level == CodeLevel::ir) MNEME_TRY(tar_.add(ir_file_name(kernel.static_hash), sent.ir));
  for (size_t i = 0; with_code && i < kernel.images.size(); ++i)
    if (const std::string name = image_file_name(kernel.images[i]); images_.insert(name).second)
      MNEME_TRY(tar_.add(name, encode_image(kernel.images[i], sent.images[i])));
  return tar_.add(list_file_name(kernel.static_hash),
                  bytes_of(InstanceList::encode(kernel.static_hash, sent.document.instances)));
}

Status ArchiveWriter::put_page(const StoredPage& stored) {
  if (pack_.empty()) pack_ = pack_header();
  PackedPage& page = pages_.emplace_back(stored.page);
  page.offset = pack_.size();
  pack_.insert(pack_.end(), stored.bytes.begin(), stored.bytes.end());
  return pack_.size() < kPackBytes ? Status() : end_pack();
}

Status ArchiveWriter::end_pack() {
  if (pack_.empty()) return {};
  Digest name;
  const ByteVector tail = pack_tail(pages_, name);
  pack_.insert(pack_.end(), tail.begin(), tail.end());
  for (const PackedPage& page : pages_) packs_[page.digest] = name;
  MNEME_TRY(tar_.add(kPagesFolder + pack_file_name(name), pack_));
  pack_.clear();
  pages_.clear();
  return {};
}

Status ArchiveWriter::put_instance(const RecordedInstance& recorded) {
  MNEME_TRY(end_pack());
  MNEME_TRY(add_state(Moment::prologue, recorded.instance, recorded.prologue));
  return add_state(Moment::epilogue, recorded.instance, recorded.epilogue);
}

Status ArchiveWriter::add_state(Moment moment, const InstanceRecord& instance, const MemoryState& state) {
  std::set<Digest> packs;
  for (const Region& region : state.regions)
    for (const Digest& page : region.pages) packs.insert(packs_.at(page));
  return tar_.add(state_file_name(moment, instance.static_hash, instance.dynamic_hash),
                  encode_state({moment, instance.static_hash, instance.dynamic_hash, state, {packs.begin(), packs.end()}}));
}

Status write_archive(const Database& database, const std::vector<KernelDocument>& kernels, WritableFile& out) {
  ArchiveWriter writer(out);
  MNEME_TRY(writer.begin(kernels));
  MNEME_TRY(database.send(kernels, writer));
  return writer.finish();
}

Status read_archive(ByteSource& source, const std::string& name, RecordingSink& to) { return Reader(source, name, to).read(); }

}  // namespace mneme

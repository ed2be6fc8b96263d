#include "mneme/compile/object_cache.h"

#include <cstring>

#include "mneme/base/byte_stream.h"
#include "mneme/base/log.h"
#include "mneme/compile/compile_key.h"
#include "mneme/compile/compiled_code.h"
#include "mneme/compile/stages.h"

namespace mneme {
namespace {

class CachingCompiler final : public Compiler {
 public:
  CachingCompiler(std::unique_ptr<Compiler> inner, std::shared_ptr<DiskCache> cache)
      : inner_(std::move(inner)), cache_(std::move(cache)), identity_(build_identity() + " " + inner_->identity()) {}

  Result<CompiledCode> compile(const ir::Module& module, const CompileOptions& options) override {
    Stages stages;
    const Digest compilation = compilation_key(module.digest(), options);
    auto known = stages.time("cache", [&] { return read_compilation(compilation); });
    if (known) return taken(std::move(*known), CacheUse::hit, stages.take());

    MNEME_ASSIGN(Translation translation, inner_->translate(module, options));
    const Digest object = object_key(translation.digest());
    auto same = stages.time("cache", [&] { return read_object(object); });
    Nanoseconds looking{};
    for (const StageTime& time : stages.take()) looking += time.time;
    translation.times.push_back({"cache", looking});
    if (same) {
      cache_->put(compilation, bytes_of(object));
      return taken(std::move(*same), CacheUse::same_code, std::move(translation.times));
    }
    MNEME_ASSIGN(CompiledCode code, inner_->assemble(translation));
    log::debug("cache of compiled code: miss");
    code.cache = CacheUse::miss;
    cache_->put(object, encode(code));
    cache_->put(compilation, bytes_of(object));
    return code;
  }

  std::optional<CompiledCode> find(const Digest& module, const CompileOptions& options) override {
    Stages stages;
    auto known = stages.time("cache", [&] { return read_compilation(compilation_key(module, options)); });
    if (known) return taken(std::move(*known), CacheUse::hit, stages.take());
    return std::nullopt;
  }

  Result<Translation> translate(const ir::Module& module, const CompileOptions& options) override {
    return inner_->translate(module, options);
  }
  // Machine code that is there already is not kept once more.
  Result<CompiledCode> assemble(const Translation& translation) override {
    if (!translation.machine_code.empty()) return inner_->assemble(translation);
    const Digest object = object_key(translation.digest());
    if (auto same = read_object(object)) return taken(std::move(*same), CacheUse::same_code, translation.times);
    MNEME_ASSIGN(CompiledCode code, inner_->assemble(translation));
    code.cache = CacheUse::miss;
    cache_->put(object, encode(code));
    return code;
  }
  Result<std::string> emit(const ir::Module& module, const CompileOptions& options, Stage stage) override {
    return inner_->emit(module, options, stage);
  }
  Result<std::string> disassemble(const CodeImage& image) const override { return inner_->disassemble(image); }
  std::string identity() const override { return inner_->identity(); }

 private:
  static ByteSpan bytes_of(const Digest& digest) { return std::as_bytes(std::span(digest.bytes)); }

  Digest compilation_key(const Digest& module, const CompileOptions& options) const {
    Hasher hasher;
    hasher.add(std::string_view("compilation")).add(std::string_view(identity_)).add(bytes_of(module));
    add_to(hasher, options);
    return hasher.finish();
  }
  Digest object_key(const Digest& translation) const {
    return Hasher().add(std::string_view("object")).add(std::string_view(identity_)).add(bytes_of(translation)).finish();
  }

  std::optional<CompiledCode> read_compilation(const Digest& compilation) {
    auto entry = cache_->read(compilation);
    Digest object;
    if (!entry || entry->size() != object.bytes.size()) return std::nullopt;
    std::memcpy(object.bytes.data(), entry->data(), entry->size());
    return read_object(object);
  }

  std::optional<CompiledCode> read_object(const Digest& object) {
    auto entry = cache_->read(object);
    if (!entry) return std::nullopt;
    auto code = decode_compiled_code(*entry, "the cache's object " + object.hex());
    if (code.ok()) return std::move(*code);
    cache_->drop(object);
    return std::nullopt;
  }

  static CompiledCode taken(CompiledCode code, CacheUse use, std::vector<StageTime> times) {
    log::debug("cache of compiled code: {}", use == CacheUse::hit ? "hit" : "same code");
    code.cache = use;
    code.times = std::move(times);
    return code;
  }

  std::unique_ptr<Compiler> inner_;
  std::shared_ptr<DiskCache> cache_;
  std::string identity_;
};

}  // namespace

std::unique_ptr<Compiler> create_caching_compiler(std::unique_ptr<Compiler> inner, std::shared_ptr<DiskCache> cache) {
  return std::make_unique<CachingCompiler>(std::move(inner), std::move(cache));
}

}  // namespace mneme

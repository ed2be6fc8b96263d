#include "mneme/base/compress.h"

#include <zstd.h>

#include <utility>

namespace mneme {

namespace {

// A context is a megabyte of tables: kept by each thread, since pages are small and many.
template <typename T, T* (*create)(), size_t (*destroy)(T*)>
T* thread_context() {
  // Not destroyed, and so there for what a thread does after its Owner is gone, as the main thread does in handlers of exit().
  thread_local T* context = nullptr;
  struct Owner {
    ~Owner() { destroy(std::exchange(context, nullptr)); }
    T* get() { return context ? context : context = create(); }
  };
  thread_local Owner owner;
  return owner.get();
}
ZSTD_CCtx* compressor() { return thread_context<ZSTD_CCtx, ZSTD_createCCtx, ZSTD_freeCCtx>(); }
ZSTD_DCtx* decompressor() { return thread_context<ZSTD_DCtx, ZSTD_createDCtx, ZSTD_freeDCtx>(); }

}  // namespace

ByteVector compress(ByteSpan bytes, int level) {
  ByteVector out(ZSTD_compressBound(bytes.size()));
  out.resize(compress_into(bytes, out, level));
  return out;
}

size_t compress_into(ByteSpan bytes, MutableByteSpan out, int level) {
  const size_t written = ZSTD_compressCCtx(compressor(), out.data(), out.size(), bytes.data(), bytes.size(), level);
  return ZSTD_isError(written) ? 0 : written;
}

Status decompress_into(ByteSpan compressed, MutableByteSpan out) {
  size_t written = ZSTD_decompressDCtx(decompressor(), out.data(), out.size(), compressed.data(), compressed.size());
  if (ZSTD_isError(written)) return error(Code::corrupt, "zstd: {}", ZSTD_getErrorName(written));
  if (written != out.size()) return error(Code::corrupt, "zstd: {} bytes of content, {} expected", written, out.size());
  return {};
}

Result<ByteVector> decompress(ByteSpan compressed, Bytes size) {
  // A size that no frame of this length can hold would only allocate for nothing: zstd's ratio ends near 1:32768.
  if (size.count > (uint64_t{1} << 40) || size.count / 65536 > compressed.size())
    return error(Code::corrupt, "zstd: {} compressed bytes cannot hold {}", compressed.size(), size);
  ByteVector out(size.count);
  MNEME_TRY(decompress_into(compressed, out));
  return out;
}

}  // namespace mneme

#include "mneme/runtime/lower_request.h"

#include <cstring>

#include "mneme/base/byte_stream.h"

namespace mneme {
namespace {

// Each file: 8 bytes of magic with the version as its last, the digest of what follows, what follows.
constexpr std::string_view kRequestMagic = "MNEMELQ\1";
constexpr std::string_view kReplyMagic = "MNEMELA\1";
constexpr size_t kHeaderBytes = 8 + sizeof(Digest);

ByteVector seal(std::string_view magic, ByteWriter content) {
  ByteWriter file;
  file.put_bytes(std::as_bytes(std::span(magic)));
  file.put(digest_of(content.buffer()));
  file.put_bytes(content.buffer());
  return file.take();
}

Result<ByteReader> unseal(std::string_view magic, ByteSpan bytes, const std::string& name) {
  ByteReader reader(bytes, name);
  MNEME_ASSIGN(ByteSpan found, reader.read_bytes(magic.size()));
  if (std::memcmp(found.data(), magic.data(), magic.size()) != 0)
    return error(Code::corrupt, "{}: offset 0: wrong magic or version", name);
  Digest digest;
  MNEME_TRY(reader.read(digest));
  if (digest_of(bytes.subspan(kHeaderBytes)) != digest)
    return error(Code::corrupt, "{}: offset 8: the content does not have this digest", name);
  return reader;
}

void put_vector(ByteWriter& out, const ByteVector& bytes) {
  out.put(uint64_t{bytes.size()});
  out.put_bytes(bytes);
}

Status read_vector(ByteReader& in, ByteVector& bytes) {
  MNEME_ASSIGN(uint64_t count, in.read_count(1));
  MNEME_ASSIGN(ByteSpan view, in.read_bytes(count));
  bytes.assign(view.begin(), view.end());
  return {};
}

// Reads a counted list; `read` reads one element.
template <typename T, typename Read>
Status read_list(ByteReader& in, std::vector<T>& list, Read read) {
  MNEME_ASSIGN(uint64_t count, in.read_count(4));
  for (uint64_t i = 0; i < count; ++i) {
    T element;
    MNEME_TRY(read(element));
    list.push_back(std::move(element));
  }
  return {};
}

}  // namespace

ByteVector LowerRequest::encode() const {
  ByteWriter out;
  out.put(uint64_t{modules.size()});
  for (const LowerModule& module : modules) {
    out.put_string(module.name);
    put_vector(out, module.bitcode);
    out.put(module.bitcode_size.count);
    out.put(uint64_t{module.renames.size()});
    for (const auto& [from, to] : module.renames) {
      out.put_string(from);
      out.put_string(to);
    }
  }
  out.put(uint64_t{kernels.size()});
  for (const std::string& kernel : kernels) out.put_string(kernel);
  out.put(uint64_t{bindings.size()});
  for (const LowerBinding& binding : bindings) {
    out.put_string(binding.name);
    out.put(binding.address.address);
  }
  return seal(kRequestMagic, std::move(out));
}

Result<LowerRequest> LowerRequest::decode(ByteSpan bytes, const std::string& name) {
  MNEME_ASSIGN(ByteReader in, unseal(kRequestMagic, bytes, name));
  LowerRequest request;
  MNEME_TRY(read_list(in, request.modules, [&](LowerModule& module) -> Status {
    MNEME_TRY(in.read_string(module.name));
    MNEME_TRY(read_vector(in, module.bitcode));
    MNEME_TRY(in.read(module.bitcode_size.count));
    return read_list(in, module.renames, [&](std::pair<std::string, std::string>& rename) -> Status {
      MNEME_TRY(in.read_string(rename.first));
      return in.read_string(rename.second);
    });
  }));
  MNEME_TRY(read_list(in, request.kernels, [&](std::string& kernel) { return in.read_string(kernel); }));
  MNEME_TRY(read_list(in, request.bindings, [&](LowerBinding& binding) -> Status {
    MNEME_TRY(in.read_string(binding.name));
    return in.read(binding.address.address);
  }));
  return request;
}

ByteVector LowerReply::encode() const {
  ByteWriter out;
  put_vector(out, image);
  out.put(uint64_t{refused.size()});
  for (const RefusedKernel& kernel : refused) {
    out.put_string(kernel.name);
    out.put_string(kernel.reason);
  }
  return seal(kReplyMagic, std::move(out));
}

Result<LowerReply> LowerReply::decode(ByteSpan bytes, const std::string& name) {
  MNEME_ASSIGN(ByteReader in, unseal(kReplyMagic, bytes, name));
  LowerReply reply;
  MNEME_TRY(read_vector(in, reply.image));
  MNEME_TRY(read_list(in, reply.refused, [&](RefusedKernel& kernel) -> Status {
    MNEME_TRY(in.read_string(kernel.name));
    return in.read_string(kernel.reason);
  }));
  return reply;
}

}  // namespace mneme

#include "mneme/pool/candidate_code.h"

#include "mneme/base/byte_stream.h"
#include "mneme/compile/compiled_code.h"

namespace mneme {

ByteVector encode(const CandidateCode& code) {
  ByteWriter writer;
  writer.put(uint64_t{code.objects.size()});
  for (const CompiledCode& object : code.objects) {
    const ByteVector bytes = encode(object);
    writer.put(uint64_t{bytes.size()});
    writer.put_bytes(bytes);
  }
  writer.put(uint64_t{code.object_of.size()});
  for (uint32_t object : code.object_of) writer.put(object);
  return writer.take();
}

Result<CandidateCode> decode_candidate_code(ByteSpan bytes) {
  ByteReader reader(bytes, "a candidate's code");
  CandidateCode code;
  MNEME_ASSIGN(uint64_t objects, reader.read_count(sizeof(uint64_t)));
  for (uint64_t i = 0; i < objects; ++i) {
    uint64_t size = 0;
    MNEME_TRY(reader.read(size));
    MNEME_ASSIGN(ByteSpan object, reader.read_bytes(size));
    MNEME_ASSIGN(CompiledCode decoded, decode_compiled_code(object, reader.name()));
    code.objects.push_back(std::move(decoded));
  }
  MNEME_ASSIGN(uint64_t instances, reader.read_count(sizeof(uint32_t)));
  for (uint64_t i = 0; i < instances; ++i) {
    MNEME_TRY(reader.read(code.object_of.emplace_back()));
    if (code.object_of.back() >= objects) return reader.corrupt("an instance without an object");
  }
  if (reader.remaining() != 0) return reader.corrupt("more than belongs there");
  return code;
}

}  // namespace mneme

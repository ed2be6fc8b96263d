#include "mneme/compile/compiled_code.h"

#include "mneme/base/byte_stream.h"

namespace mneme {
namespace {

constexpr uint32_t kVersion = 3;

template <typename T>
uint64_t number(const T& value) {
  return static_cast<uint64_t>(value);
}
uint64_t number(const Bytes& value) { return value.count; }

template <typename T>
void put(ByteWriter& writer, const std::optional<T>& value) {
  writer.put(uint8_t{value.has_value()});
  writer.put(number(value.value_or(T())));
}

template <typename T>
Status read(ByteReader& reader, std::optional<T>& value) {
  uint8_t there = 0;
  uint64_t number = 0;
  MNEME_TRY(reader.read(there));
  MNEME_TRY(reader.read(number));
  if (there) value = T(number);
  return {};
}

void put(ByteWriter& writer, const std::vector<std::string>& texts) {
  writer.put(uint64_t{texts.size()});
  for (const std::string& text : texts) writer.put_string(text);
}

Status read(ByteReader& reader, std::vector<std::string>& texts) {
  MNEME_ASSIGN(uint64_t count, reader.read_count(sizeof(uint32_t)));
  for (uint64_t i = 0; i < count; ++i) MNEME_TRY(reader.read_string(texts.emplace_back()));
  return {};
}

Status read_image(ByteReader& reader, CompiledCode& code) {
  uint32_t device = 0, load_cache = 0;
  uint64_t size = 0;
  MNEME_TRY(reader.read(device));
  MNEME_TRY(read(reader, code.image.jit.level));
  MNEME_TRY(read(reader, code.image.jit.max_registers));
  MNEME_TRY(reader.read(load_cache));
  MNEME_TRY(reader.read(size));
  MNEME_ASSIGN(ByteSpan bytes, reader.read_bytes(size));
  code.image.device = static_cast<DeviceKind>(device);
  code.image.jit.load_cache = static_cast<JitOptions::LoadCache>(load_cache);
  code.image.bytes.assign(bytes.begin(), bytes.end());
  return {};
}

Status read_facts(ByteReader& reader, CodeFacts& facts) {
  auto& [instructions, registers, stack_frame, spill_stores, spill_loads, shared, scalar_registers, accumulation_registers,
         spilled_registers, spilled_scalar_registers, waves] = facts;
  MNEME_TRY(read(reader, instructions));
  MNEME_TRY(read(reader, registers));
  for (std::optional<Bytes>* size : {&stack_frame, &spill_stores, &spill_loads, &shared}) MNEME_TRY(read(reader, *size));
  for (std::optional<uint32_t>* count :
       {&scalar_registers, &accumulation_registers, &spilled_registers, &spilled_scalar_registers, &waves})
    MNEME_TRY(read(reader, *count));
  return {};
}

}  // namespace

ByteVector encode(const CompiledCode& code) {
  ByteWriter writer;
  writer.put(kVersion);
  writer.put(code.digest.bytes);
  writer.put(code.translation_digest.bytes);
  writer.put(static_cast<uint32_t>(code.image.device));
  put(writer, code.image.jit.level);
  put(writer, code.image.jit.max_registers);
  writer.put(static_cast<uint32_t>(code.image.jit.load_cache));
  writer.put(uint64_t{code.image.bytes.size()});
  writer.put_bytes(code.image.bytes);
  const auto& [instructions, registers, stack_frame, spill_stores, spill_loads, shared, scalar_registers, accumulation_registers,
               spilled_registers, spilled_scalar_registers, waves] = code.facts;
  put(writer, instructions);
  put(writer, registers);
  for (const std::optional<Bytes>& size : {stack_frame, spill_stores, spill_loads, shared}) put(writer, size);
  for (const std::optional<uint32_t>& count :
       {scalar_registers, accumulation_registers, spilled_registers, spilled_scalar_registers, waves})
    put(writer, count);
  writer.put_string(code.assembler);
  put(writer, code.warnings);
  put(writer, code.state);
  return writer.take();
}

Result<CompiledCode> decode_compiled_code(ByteSpan bytes, const std::string& name) {
  ByteReader reader(bytes, name);
  CompiledCode code;
  uint32_t version = 0;
  MNEME_TRY(reader.read(version));
  if (version != kVersion) return reader.corrupt("another version");
  MNEME_TRY(reader.read(code.digest.bytes));
  MNEME_TRY(reader.read(code.translation_digest.bytes));
  MNEME_TRY(read_image(reader, code));
  MNEME_TRY(read_facts(reader, code.facts));
  MNEME_TRY(reader.read_string(code.assembler));
  MNEME_TRY(read(reader, code.warnings));
  MNEME_TRY(read(reader, code.state));
  if (reader.remaining() != 0) return reader.corrupt("more than belongs there");
  if (code.digest != digest_of(code.image.bytes)) return reader.corrupt("the image is not what its digest says");
  return code;
}

}  // namespace mneme

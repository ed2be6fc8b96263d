// JsonCursor: strict reading of a JSON document, where every failure names the file and the key.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "mneme/base/digest.h"
#include "mneme/base/status.h"
#include "mneme/base/types.h"

namespace mneme {

// Parses a document. corrupt, with the offset: it is not JSON, or is nested deeper than any document of Mneme.
Result<nlohmann::json> parse_json(std::string_view text, const std::string& name);

// A place in a document. The document and the name must outlive it.
class JsonCursor {
 public:
  JsonCursor(const nlohmann::json& value, const std::string& name, std::string path = "")
      : value_(&value), name_(&name), path_(std::move(path)) {}

  Result<JsonCursor> member(const char* key) const;  // corrupt when this is no object or has no such key

  // Each reads one member of this object. corrupt unless it is there, has the type, and is in the range.
  Status read(const char* key, std::string& out) const;
  Status read(const char* key, bool& out) const;
  Status read(const char* key, uint64_t& out, uint64_t max = ~uint64_t{0}) const;
  Status read(const char* key, uint32_t& out) const;
  Status read(const char* key, double& out) const;  // must not be negative: all are times or sizes
  Status read(const char* key, Bytes& out) const { return read(key, out.count); }
  Status read(const char* key, Digest& out) const;      // 32 hexadecimal digits
  Status read(const char* key, DevicePtr& out) const;   // "0x…"
  Status read(const char* key, Dim3& out) const;        // three numbers, none of them 0
  Status read(const char* key, ByteVector& out) const;  // hexadecimal digits
  // Reads a file name, which must be exactly `expected`, so that no document can name a file outside of its directory.
  Status read_file_name(const char* key, const std::string& expected) const;
  // Calls `visit` with each element of an array, until one fails.
  Status each(const char* key, const std::function<Status(const JsonCursor&)>& visit) const;

  Status corrupt(std::string_view what) const;
  const nlohmann::json& value() const { return *value_; }

 private:
  Status number(uint64_t& out, uint64_t max) const;

  const nlohmann::json* value_;
  const std::string* name_;
  std::string path_;
};

// Two lower-case hexadecimal digits for each byte.
std::string hex_of(ByteSpan bytes);

}  // namespace mneme

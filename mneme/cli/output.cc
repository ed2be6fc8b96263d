#include "mneme/cli/output.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "mneme/base/shown.h"
#include "mneme/replay/json_text.h"

namespace mneme::cli {
namespace {

using Json = nlohmann::json;

int failure = 0;  // the first one

void write_bytes(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size() && failure == 0) failure = errno;
}

}  // namespace

void write_output(std::string_view text) { write_bytes(shown_lines(text)); }

void write_content(std::string_view content) {
  if (::isatty(STDOUT_FILENO) != 0)
    write_output(content);
  else
    write_bytes(content);
}

void write_error(std::string_view text) {
  const std::string escaped = shown_lines(text);
  std::fwrite(escaped.data(), 1, escaped.size(), stderr);
}

std::string to_text(const Json& json) { return json_text(json, 2) + "\n"; }

Status end_output() {
  if (std::fflush(stdout) != 0 && failure == 0) failure = errno;
  std::clearerr(stdout);
  const int reason = std::exchange(failure, 0);
  return reason == 0 ? Status() : error(Code::io, "writing to standard output: {}", std::strerror(reason));
}

}  // namespace mneme::cli

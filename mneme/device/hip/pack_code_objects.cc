// Run by the build: pack_code_objects <output> <processor> <source> <file> [<processor> <source> <file>]...
//
// Writes <output>.bin, the compressed files one behind the other, and <output>.inc, the rows of the table in code_objects.cc.
#include <cstdio>
#include <string>
#include <vector>

#include "mneme/base/compress.h"
#include "mneme/base/file_system.h"
#include "mneme/base/output_file.h"

namespace {

constexpr int kLevel = 19;

mneme::Status pack(const std::string& output, const std::vector<std::string>& words) {
  mneme::ByteVector frames;
  std::string rows;
  for (size_t i = 0; i + 2 < words.size(); i += 3) {
    MNEME_ASSIGN(const mneme::ByteVector content, mneme::FileSystem::posix().read(words[i + 2]));
    const mneme::ByteVector frame = mneme::compress(content, kLevel);
    rows += fmt::format("{{\"{}\", {}, {}, {}, {}}},\n", words[i], words[i + 1], frames.size(), frame.size(), content.size());
    frames.insert(frames.end(), frame.begin(), frame.end());
  }
  MNEME_TRY(mneme::write_output_file(output + ".bin", frames));
  return mneme::write_output_file(output + ".inc", std::as_bytes(std::span(rows)));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5 || argc % 3 != 2) return std::fprintf(stderr, "usage: %s <output> <processor> <source> <file>...\n", argv[0]), 64;
  const mneme::Status status = pack(argv[1], {argv + 2, argv + argc});
  if (!status.ok()) std::fprintf(stderr, "%s: %s\n", argv[0], status.to_string().c_str());
  return status.ok() ? 0 : 1;
}

// For tests: stands in for the mneme command. `lower REQUEST REPLY`, numbers of open files, answers with the image written by
// hand, refuses the kernel "refused", and fails where the file descriptors or the environment are not as they should be.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "mneme/base/file_system.h"
#include "mneme/base/memory_file.h"
#include "mneme/base/regular_file.h"
#include "mneme/runtime/lower_request.h"

int main(int count, char** arguments) {
  using namespace mneme;
  if (count != 4 || std::strcmp(arguments[1], "lower") != 0) return 64;
  for (int file = 5; file < 64; ++file)
    if (::fcntl(file, F_GETFD) != -1) return 3;
  char byte;
  if (::read(STDIN_FILENO, &byte, 1) != 0) return 4;
  if (std::getenv("MNEME_INTERPOSERS") || std::getenv("LD_PRELOAD")) return 5;
  if (std::getenv("MNEME_TEST_LOWER_CRASHES")) std::abort();
  // What is in the temporary folder now would stay there if this were killed.
  if (const char* folder = std::getenv("MNEME_TEST_LOWER_FOLDER"); folder && !std::filesystem::is_empty(folder)) return 8;
  FileSystem& files = FileSystem::posix();
  Result<ByteVector> bytes = read_whole(std::atoi(arguments[2]));
  if (!bytes.ok() || !LowerRequest::decode(*bytes, arguments[2]).ok()) return 6;
  LowerReply reply{*files.read(MNEME_TEST_KERNELS), {{"refused", "unsupported: wgmma.mma_async"}}};
  return write_all(std::atoi(arguments[3]), reply.encode(), "the answer").ok() ? 0 : 7;
}

// For tests: stands in for the mneme command. `lower REQUEST REPLY` answers with the image written by hand, refuses the kernel
// "refused", and fails where the file descriptors or the environment are not as they should be.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "mneme/base/file_system.h"
#include "mneme/runtime/lower_request.h"

int main(int count, char** arguments) {
  using namespace mneme;
  if (count != 4 || std::strcmp(arguments[1], "lower") != 0) return 64;
  for (int file = 3; file < 64; ++file)
    if (::fcntl(file, F_GETFD) != -1) return 3;
  char byte;
  if (::read(STDIN_FILENO, &byte, 1) != 0) return 4;
  if (std::getenv("MNEME_INTERPOSERS") || std::getenv("LD_PRELOAD")) return 5;
  if (std::getenv("MNEME_TEST_LOWER_CRASHES")) std::abort();
  FileSystem& files = FileSystem::posix();
  Result<ByteVector> bytes = files.read(arguments[2]);
  if (!bytes.ok() || !LowerRequest::decode(*bytes, arguments[2]).ok()) return 6;
  LowerReply reply{*files.read(MNEME_TEST_KERNELS), {{"refused", "unsupported: wgmma.mma_async"}}};
  return files.write_atomically(arguments[3], reply.encode()).ok() ? 0 : 7;
}

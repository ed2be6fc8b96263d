// Preloaded: LLVM's verifier, which compiling for the CPU device calls, the dynamic loader, which loads its images, or a read by
// another thread than the first, as those that read pages are, does what MISBEHAVE says.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile unsigned sink;
static char* volatile taken_last;

static unsigned overflow(unsigned depth) {
  volatile char frame[4096];
  frame[depth % sizeof frame] = 1;
  return overflow(depth + 1) + (unsigned)frame[0];
}

// llvm::verifyModule(llvm::Module const&, llvm::raw_ostream*, bool*)
int _ZN4llvm12verifyModuleERKNS_6ModuleEPNS_11raw_ostreamEPb(void) {
  const char* how = getenv("MISBEHAVE");
  if (how == NULL) return 0;
  if (strcmp(how, "loop") == 0)
    for (;;) ++sink;
  if (strcmp(how, "overflow") == 0) sink = overflow(0);
  if (strcmp(how, "exit") == 0) _exit(3);
  if (strcmp(how, "memory") == 0)
    for (size_t taken = 0; taken < 64; ++taken) {  // in GiB
      char* piece = malloc(1 << 30);
      if (piece == NULL) abort();
      taken_last = piece;
    }
  return 0;
}

void* dlopen(const char* path, int mode) {
  const char* how = getenv("MISBEHAVE");
  if (path != NULL && how != NULL && strcmp(how, "load") == 0 && strstr(path, "/fd/") != NULL)
    for (;;) ++sink;
  return ((void* (*)(const char*, int))dlsym(RTLD_NEXT, "dlopen"))(path, mode);
}

ssize_t pread(int file, void* into, size_t size, off_t offset) {
  const char* how = getenv("MISBEHAVE");
  if (how != NULL && strcmp(how, "read") == 0 && gettid() != getpid())
    for (;;) pause();
  return ((ssize_t (*)(int, void*, size_t, off_t))dlsym(RTLD_NEXT, "pread"))(file, into, size, offset);
}

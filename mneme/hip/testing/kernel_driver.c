/* Preloaded by tests: AMD's kernel driver is there. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

__attribute__((visibility("default"))) int access(const char* path, int mode) {
  if (strcmp(path, "/dev/kfd") == 0) return 0;
  int (*next)(const char*, int) = (int (*)(const char*, int))dlsym(RTLD_NEXT, "access");
  return next(path, mode);
}

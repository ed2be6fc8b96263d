/* For tests: a recordable program that prints what two calls return, in a constructor and in main. */
#include <dlfcn.h>
#include <stdio.h>

#include "mneme/abi/annotate.h"

long cudaMalloc(void** pointer, unsigned long size);
long cudaFree(void* pointer);

__attribute__((constructor(101))) static void registration(void) { printf("constructor %ld\n", cudaMalloc(0, 0)); }

int main(int count, char** arguments) {
  static const float data[4];
  struct mneme_annotation within = {MNEME_F32, 0.5, MNEME_RELATIVE, MNEME_L2, MNEME_NAN_ANY, "data"};
  mneme_annotate(data, 3, &within);
  printf("main %ld %ld\n", cudaMalloc(0, 0), cudaFree(0));
  if (count > 1) {
    void* library = dlopen(arguments[1], RTLD_NOW);
    if (!library) return printf("%s\n", dlerror()), 1;
    printf("library %ld\n", ((long (*)(void))dlsym(library, "call"))());
  }
  return 0;
}

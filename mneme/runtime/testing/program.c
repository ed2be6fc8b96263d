/* For tests: a recordable program that prints what two calls return, in a constructor and in main. */
#include <dlfcn.h>
#include <stdio.h>

long cudaMalloc(void** pointer, unsigned long size);
long cudaFree(void* pointer);

__attribute__((constructor(101))) static void registration(void) { printf("constructor %ld\n", cudaMalloc(0, 0)); }

int main(int count, char** arguments) {
  printf("main %ld %ld\n", cudaMalloc(0, 0), cudaFree(0));
  if (count > 1) {
    void* library = dlopen(arguments[1], RTLD_NOW);
    if (!library) return printf("%s\n", dlerror()), 1;
    printf("library %ld\n", ((long (*)(void))dlsym(library, "call"))());
  }
  return 0;
}

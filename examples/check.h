// What every example needs: calls that end the program when they fail, sizes from the command line.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                                          \
  do {                                                                                                       \
    const cudaError_t check_result_ = (call);                                                                \
    if (check_result_ != cudaSuccess) {                                                                      \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(check_result_)); \
      std::exit(2);                                                                                          \
    }                                                                                                        \
  } while (false)

// Argument `index` as a size between 1 and `most`, or `otherwise` when it is not given.
inline int size_argument(int argc, char** argv, int index, int otherwise, int most) {
  if (index >= argc) return otherwise;
  char* end = nullptr;
  const long value = std::strtol(argv[index], &end, 10);
  if (*argv[index] == '\0' || *end != '\0' || value < 1 || value > most) {
    std::fprintf(stderr, "%s: argument %d is '%s' and should be a number from 1 to %d\n", argv[0], index, argv[index], most);
    std::exit(64);
  }
  return static_cast<int>(value);
}

// Prints the verdict that ends every example and returns main's result.
inline int finish(const char* name, bool passed) {
  std::printf("%s: %s\n", name, passed ? "PASS" : "FAIL");
  return passed ? 0 : 1;
}

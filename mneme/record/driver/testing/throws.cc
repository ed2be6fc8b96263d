// A C++ program of the CUDA driver, for the tests of recording at the driver: throws IMAGE. Exceptions leave its launches, and
// others are thrown between launches and caught around them.
#include <cuda.h>
#include <dlfcn.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace {

// Has a destructor that must have run when its exception is caught.
struct Counted {
  explicit Counted(int& left) : left_(left) { ++left_; }
  ~Counted() { --left_; }
  int& left_;
};

void call(CUresult code) {
  if (code != CUDA_SUCCESS) throw std::logic_error("the driver says " + std::to_string(code));
}

void launch(CUfunction kernel, CUdeviceptr memory) {
  unsigned count = 1000;
  void* arguments[] = {&memory, &count};
  call(cuLaunchKernel(kernel, 4, 1, 1, 256, 1, 1, 0, nullptr, arguments, nullptr));
}

}  // namespace

int main(int, char** arguments) {
  std::ifstream file(arguments[1], std::ios::binary);
  std::string image((std::istreambuf_iterator<char>(file)), {});
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction plain = nullptr, throwing = nullptr;
  CUdeviceptr memory = 0;
  call(cuInit(0));
  call(cuDevicePrimaryCtxRetain(&context, 0));
  call(cuCtxPushCurrent(context));
  call(cuModuleLoadData(&module, image.data()));
  call(cuModuleGetFunction(&plain, module, "add_one"));
  call(cuModuleGetFunction(&throwing, module, "calls_back"));
  call(cuMemAlloc(&memory, 4000));
  using OnLaunch = void (*)(void (*)());
  reinterpret_cast<OnLaunch>(dlsym(RTLD_DEFAULT, "mneme_fake_on_launch"))([] { throw std::runtime_error("from a launch"); });
  int from = 0, around = 0, left = 0;
  for (int i = 0; i < 20; ++i) {
    try {
      const Counted counted(left);
      launch(throwing, memory);
    } catch (const std::runtime_error& error) {
      from += left == 0 && error.what() == std::string("from a launch");
    }
    try {
      const Counted counted(left);
      launch(plain, memory);
      throw std::out_of_range("behind a launch");
    } catch (const std::out_of_range&) {
      around += left == 0;
    }
  }
  std::printf("caught: %d of 20 from launches, %d of 20 around them\n", from, around);
}

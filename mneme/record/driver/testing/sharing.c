/* Two processes that share memory of the CUDA driver by a handle, for the tests of recording at the driver: sharing IMAGE CASE.
 *
 * The first process allocates it and makes the handle; the second one, its child, gets that through a socket. What CASE does is
 * below. Codes of the driver are printed as numbers. */
#define _GNU_SOURCE
#include <cuda.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kCount = 1000 };
static const char* image_file;
static CUcontext context;
static int other; /* process: the socket that leads there */

#define CHECK(call)                                    \
  do {                                                 \
    CUresult result_ = (call);                         \
    if (result_ != CUDA_SUCCESS) {                     \
      printf("%s returned %d\n", #call, (int)result_); \
      exit(4);                                         \
    }                                                  \
  } while (0)
#define SHOW(call) printf(#call ": %d\n", (int)(call))

static void begin(void) {
  CHECK(cuInit(0));
  CHECK(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK(cuCtxPushCurrent(context));
}
static void tell(const void* what, size_t size) {
  if (write(other, what, size) != (ssize_t)size) exit(2);
}
/* Ends with nothing where the other process has ended. */
static int hear(void* what, size_t size) { return recv(other, what, size, MSG_WAITALL) == (ssize_t)size; }
static void meet(void) {
  char any = 0;
  tell(&any, 1);
}
static void wait_for_other(void) {
  char any;
  hear(&any, 1);
}

static CUdeviceptr allocate(unsigned first) {
  CUdeviceptr memory;
  unsigned words[kCount];
  for (unsigned i = 0; i < kCount; ++i) words[i] = first + i;
  CHECK(cuMemAlloc(&memory, sizeof words));
  CHECK(cuMemcpyHtoD(memory, words, sizeof words));
  return memory;
}
static unsigned word(CUdeviceptr memory, unsigned index) {
  unsigned value = 0;
  CHECK(cuMemcpyDtoH(&value, memory + 4 * index, sizeof value));
  return value;
}
static CUresult try_to_launch(CUdeviceptr memory) {
  static char image[1 << 20];
  FILE* file = fopen(image_file, "rb");
  if (!file || fread(image, 1, sizeof image, file) == 0) exit(3);
  fclose(file);
  CUmodule module;
  CUfunction kernel;
  unsigned count = kCount;
  void* arguments[] = {&memory, &count};
  CHECK(cuModuleLoadData(&module, image));
  CHECK(cuModuleGetFunction(&kernel, module, "add_one"));
  const CUresult code = cuLaunchKernel(kernel, 4, 1, 1, 256, 1, 1, 0, NULL, arguments, NULL);
  if (code == CUDA_SUCCESS) CHECK(cuCtxSynchronize());
  return code;
}
static void launch(CUdeviceptr memory) { CHECK(try_to_launch(memory)); }
static CUresult open_memory(CUdeviceptr* memory, CUipcMemHandle handle) {
  return cuIpcOpenMemHandle(memory, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
}
static CUipcMemHandle receive(void) {
  CUipcMemHandle handle;
  if (!hear(&handle, sizeof handle)) exit(2);
  return handle;
}

/* By which programs choose how to share it. */
static void show_sharing(CUdeviceptr memory) {
  unsigned by_handles = 7;
  uint64_t otherwise = 7;
  CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES};
  void* values[] = {&by_handles, &otherwise};
  CHECK(cuPointerGetAttribute(&by_handles, asked[0], memory));
  CHECK(cuPointerGetAttribute(&otherwise, asked[1], memory));
  printf("by handles: %u, otherwise: %u\n", by_handles, (unsigned)otherwise);
  by_handles = 7, otherwise = 7;
  CHECK(cuPointerGetAttributes(2, asked, values, memory));
  printf("by handles: %u, otherwise: %u\n", by_handles, (unsigned)otherwise);
  CUcontext of = NULL;
  CHECK(cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_CONTEXT, memory));
  printf("of this context: %d\n", of == context);
}

/* All that a program may do with a handle. */
static void second_uses(void) {
  const CUipcMemHandle handle = receive();
  CUipcMemHandle given_on;
  CUdeviceptr memory = 0, again = 0, base = 0;
  size_t size = 0;
  CUcontext popped;
  SHOW(cuIpcOpenMemHandle(&memory, handle, 0));
  SHOW(cuIpcOpenMemHandle(&memory, handle, 2));
  SHOW(cuIpcOpenMemHandle(NULL, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  CHECK(cuCtxPopCurrent(&popped));
  SHOW(open_memory(&memory, handle));
  CHECK(cuCtxPushCurrent(context));
  SHOW(open_memory(&memory, handle));
  SHOW(open_memory(&again, handle));
  CHECK(cuMemGetAddressRange(&base, &size, memory + 4));
  printf("opened twice at one address: %d, which begins there: %d, %zu bytes\n", memory == again, memory == base, size);
  show_sharing(memory + 4);
  SHOW(cuIpcGetMemHandle(&given_on, memory));
  printf("word 3: %u\n", word(memory, 3));
  launch(memory);
  SHOW(cuMemFree(memory));
  SHOW(cuIpcCloseMemHandle(memory + 8));
  SHOW(cuIpcCloseMemHandle(memory));
  launch(memory);
  CHECK(cuCtxPopCurrent(&popped));
  SHOW(cuIpcCloseMemHandle(memory));
  CHECK(cuCtxPushCurrent(context));
  SHOW(cuIpcCloseMemHandle(memory));
  SHOW(cuIpcCloseMemHandle(memory));
  CUipcMemHandle of_nobody = handle;
  of_nobody.reserved[40] ^= 1;
  SHOW(open_memory(&memory, of_nobody));
}
static void first_gives(void) {
  CUdeviceptr neighbour, memory, opened;
  CUipcMemHandle handle, inside;
  CHECK(cuMemAlloc(&neighbour, 100));
  memory = allocate(0);
  show_sharing(memory + 4);
  SHOW(cuIpcGetMemHandle(&handle, memory));
  SHOW(cuIpcGetMemHandle(&inside, memory + 4));
  printf("one handle: %d\n", memcmp(&handle, &inside, sizeof handle) == 0);
  SHOW(cuIpcGetMemHandle(NULL, memory));
  SHOW(open_memory(&opened, handle));
  tell(&handle, sizeof handle);
  wait(NULL);
  printf("word 3 here: %u\n", word(memory, 3));
}

/* Memory of several mappings, larger than what the driver maps at once. */
static void second_uses_large(void) {
  CUdeviceptr memory;
  CHECK(open_memory(&memory, receive()));
  printf("last word: %u\n", word(memory, (9 << 18) - 1));
  CHECK(cuIpcCloseMemHandle(memory));
}
static void first_gives_large(void) {
  CUdeviceptr before, memory, behind;
  CUipcMemHandle handle;
  const unsigned last = 77;
  CHECK(cuMemAlloc(&before, 100));
  CHECK(cuMemAlloc(&memory, 9 << 20));
  CHECK(cuMemAlloc(&behind, 100));
  CHECK(cuMemcpyHtoD(memory + (9 << 20) - 4, &last, sizeof last));
  CHECK(cuIpcGetMemHandle(&handle, memory));
  tell(&handle, sizeof handle);
  wait(NULL);
}

/* What is freed is not given any more, and stays with whoever has it. */
static void second_sees_freed(void) {
  CUdeviceptr old = 0, memory = 0, none;
  const CUipcMemHandle handle = receive();
  CHECK(open_memory(&old, handle));
  meet();
  const CUipcMemHandle next = receive();
  SHOW(open_memory(&memory, next));
  printf("old word %u, new word %u\n", word(old, 0), word(memory, 0));
  CHECK(cuIpcCloseMemHandle(old));
  SHOW(open_memory(&none, handle));
}
static void first_frees(void) {
  CUdeviceptr memory = allocate(1000), freed = memory;
  CUipcMemHandle handle;
  CHECK(cuIpcGetMemHandle(&handle, memory));
  tell(&handle, sizeof handle);
  wait_for_other();
  CHECK(cuMemFree(memory));
  memory = allocate(2000);
  printf("at the same address: %d\n", memory == freed);
  CHECK(cuIpcGetMemHandle(&handle, memory));
  tell(&handle, sizeof handle);
  wait(NULL);
}

/* The first process ends, and a child of it, which it has made since, does not yet. */
static void second_outlives(void) {
  CUdeviceptr memory = 0, none;
  const CUipcMemHandle handle = receive(), unopened = receive();
  CHECK(open_memory(&memory, handle));
  meet();
  wait_for_other(); /* for its end */
  usleep(200000);
  const time_t begun = time(NULL);
  SHOW(open_memory(&none, unopened));
  printf("at once: %d, word 3: %u\n", time(NULL) - begun < 5, word(memory, 3));
}
static void first_ends(void) {
  CUipcMemHandle handle;
  for (int i = 0; i < 2; ++i) {
    CHECK(cuIpcGetMemHandle(&handle, allocate(0)));
    tell(&handle, sizeof handle);
  }
  wait_for_other();
  if (fork() == 0) {
    close(other), close(1), close(2);
    sleep(2);
    _exit(0);
  }
  _exit(0);
}

/* What is opened in a context goes with it. */
static void second_destroys(void) {
  CUcontext own;
  CUdeviceptr memory, again;
  const CUipcMemHandle handle = receive();
  CHECK(cuCtxCreate(&own, NULL, 0, 0));
  CHECK(open_memory(&memory, handle));
  CHECK(open_memory(&memory, handle));
  CHECK(cuCtxDestroy(own));
  SHOW(cuIpcCloseMemHandle(memory));
  SHOW(open_memory(&again, handle));
}

static void first_gives_quietly(void) {
  CUipcMemHandle handle;
  CHECK(cuIpcGetMemHandle(&handle, allocate(0)));
  tell(&handle, sizeof handle);
  wait(NULL);
}
static void second_opens(void) {
  CUdeviceptr memory = 0;
  const CUresult code = open_memory(&memory, receive());
  printf("opened: %d, word 3: %u\n", (int)code, code == CUDA_SUCCESS ? word(memory, 3) : 0);
  if (code == CUDA_SUCCESS) SHOW(cuIpcCloseMemHandle(memory));
}

/* Another device reaches what is opened while the program lets it reach the context. */
static void second_has_peers(void) {
  CUdeviceptr memory, later;
  CUcontext other_device, popped;
  const CUipcMemHandle handle = receive(), next = receive();
  CHECK(open_memory(&memory, handle));
  CHECK(cuDevicePrimaryCtxRetain(&other_device, 1));
  CHECK(cuCtxPushCurrent(other_device));
  SHOW(try_to_launch(memory));
  CHECK(cuCtxEnablePeerAccess(context, 0));
  SHOW(try_to_launch(memory));
  CHECK(cuCtxPushCurrent(context));
  CHECK(open_memory(&later, next));
  CHECK(cuCtxPopCurrent(&popped));
  SHOW(try_to_launch(later));
  CHECK(cuCtxDisablePeerAccess(context));
  SHOW(try_to_launch(memory));
  SHOW(try_to_launch(later));
  CHECK(cuCtxPushCurrent(context));
  SHOW(try_to_launch(memory));
  printf("word 3: %u\n", word(memory, 3));
}
static void first_gives_two(void) {
  CUipcMemHandle handle;
  for (int i = 0; i < 2; ++i) {
    CHECK(cuIpcGetMemHandle(&handle, allocate(0)));
    tell(&handle, sizeof handle);
  }
  wait(NULL);
}

/* Memory of which the driver gives no handle, either. */
static void first_asks(void) {
  CUdeviceptr memory;
  CUipcMemHandle handle;
  CHECK(cuMemAllocAsync(&memory, 4096, NULL));
  show_sharing(memory);
  printf("of a pool: %d\n", (int)cuIpcGetMemHandle(&handle, memory));
  printf("of nothing: %d\n", (int)cuIpcGetMemHandle(&handle, 0));
}
static void second_does_nothing(void) {}

static const struct {
  const char* name;
  void (*first)(void);
  void (*second)(void);
} cases[] = {{"uses", first_gives, second_uses},
             {"large", first_gives_large, second_uses_large},
             {"frees", first_frees, second_sees_freed},
             {"ends", first_ends, second_outlives},
             {"destroys", first_gives_quietly, second_destroys},
             {"rank", first_gives_quietly, second_opens},
             {"stranger", first_gives_quietly, second_opens},
             {"peers", first_gives_two, second_has_peers},
             {"peers_of_rank", first_gives_two, second_has_peers},
             {"refused", first_asks, second_does_nothing}};

int main(int count, char** arguments) {
  setvbuf(stdout, NULL, _IONBF, 0);
  if (count < 3) return 1;
  image_file = arguments[1];
  size_t chosen = 0;
  while (strcmp(cases[chosen].name, arguments[2]) != 0)
    if (++chosen == sizeof cases / sizeof *cases) return 1;
  int sockets[2];
  if (count == 4) { /* the second process, anew */
    other = atoi(arguments[3]);
    begin();
    cases[chosen].second();
    return 0;
  }
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0) return 1;
  const pid_t second = fork(); /* before either has a device */
  other = sockets[second == 0];
  close(sockets[second != 0]);
  if (strstr(arguments[2], "rank")) setenv("RANK", second == 0 ? "1" : "0", 1);
  if (second == 0 && strcmp(arguments[2], "stranger") == 0) {
    char number[16];
    snprintf(number, sizeof number, "%d", other);
    unsetenv("LD_PRELOAD");
    execl("/proc/self/exe", arguments[0], image_file, arguments[2], number, NULL);
  }
  begin();
  (second == 0 ? cases[chosen].second : cases[chosen].first)();
  return 0;
}

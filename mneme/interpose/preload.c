/* libmneme_preload.so: stands before the CUDA driver's functions in any process that it is preloaded into.
 *
 * Callers find a function of the driver in one of three ways, and each ends in a trampoline of this library for the functions of
 * MNEME_DRIVER_CALLS: a reference that the dynamic linker binds meets the trampoline first, since it has the exported name;
 * dlsym() and cuGetProcAddress() are replaced, and give the trampoline wherever they would give the driver's function. What they
 * give is looked up by address and not by name, so that versions and variants come right by themselves.
 *
 * The library is inert until the driver is loaded: it goes into every child of the program, such as compilers. It is plain C that
 * needs only libc, and never loads the driver itself. The interposer is loaded by the first call of a trampoline. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mneme/abi/driver_table.h"

#define EXPORTED __attribute__((visibility("default")))
#define HIDDEN __attribute__((visibility("hidden")))

enum { kErrorNotInitialized = 3 }; /* CUDA_ERROR_NOT_INITIALIZED */
enum { kPatienceSeconds = 10 };    /* how long a call waits for another thread to load the interposer */

/* For each function: an exported trampoline, which jumps through the function's slot, and what the slot holds at first, which
 * leaves the slot's address in r11 and goes on to the common part. The slots stand one behind another, in the order of the enum.
 */
extern HIDDEN mneme_driver_function mneme_driver_slots[MNEME_DRIVER_CALL_COUNT];
__asm__(
    ".pushsection .data.mneme_driver_slots,\"aw\",@progbits\n.balign 8\n.hidden mneme_driver_slots\n"
    ".globl mneme_driver_slots\nmneme_driver_slots:\n.popsection");
#define TRAMPOLINE(name)                                                                                            \
  __asm__(".pushsection .text\n.globl " #name "\n.type " #name ", @function\n.balign 16\n" #name                    \
          ":\n.cfi_startproc\nendbr64\njmp *mneme_slot_" #name "(%rip)\n.cfi_endproc\n.size " #name ", .-" #name    \
          "\n"                                                                                                      \
          "mneme_first_" #name ":\nleaq mneme_slot_" #name                                                          \
          "(%rip), %r11\njmp mneme_first_call\n.popsection\n"                                                       \
          ".pushsection .data.mneme_driver_slots,\"aw\",@progbits\nmneme_slot_" #name ":\n.quad mneme_first_" #name \
          "\n.popsection");                                                                                         \
  extern void name(void);
MNEME_DRIVER_CALLS(TRAMPOLINE)

/* Keeps the arguments, which none of these functions has in vector registers, asks what is to be called, and goes on there. */
__asm__(
    ".pushsection .text\n.type mneme_first_call, @function\nmneme_first_call:\n.cfi_startproc\n"
    "pushq %rdi\npushq %rsi\npushq %rdx\npushq %rcx\npushq %r8\npushq %r9\npushq %rbp\n.cfi_adjust_cfa_offset 56\n"
    "movq %r11, %rdi\ncall mneme_find_target\nmovq %rax, %r11\n"
    "popq %rbp\npopq %r9\npopq %r8\npopq %rcx\npopq %rdx\npopq %rsi\npopq %rdi\n.cfi_adjust_cfa_offset -56\n"
    "jmp *%r11\n.cfi_endproc\n.size mneme_first_call, .-mneme_first_call\n.popsection");

static const mneme_driver_function trampolines[MNEME_DRIVER_CALL_COUNT] = {
#define TRAMPOLINE_ENTRY(name) name,
    MNEME_DRIVER_CALLS(TRAMPOLINE_ENTRY)};
static const char* const names[MNEME_DRIVER_CALL_COUNT] = {
#define NAME_ENTRY(name) #name,
    MNEME_DRIVER_CALLS(NAME_ENTRY)};

static mneme_driver_function real_functions[MNEME_DRIVER_CALL_COUNT];
static struct mneme_driver_table table = {MNEME_DRIVER_TABLE_VERSION, MNEME_DRIVER_CALL_COUNT, mneme_driver_slots, real_functions,
                                          NULL};

/* What an address of the driver's is replaced by: the functions of the table, and those that give out addresses. By address. */
struct replacement {
  void* real;
  void* trampoline;
};
static struct replacement replacements[MNEME_DRIVER_CALL_COUNT + 2];
static size_t replacement_count;
static atomic_int driver_found; /* set once the driver's functions are known */
static pthread_mutex_t finding = PTHREAD_MUTEX_INITIALIZER;

static void* (*real_dlsym)(void* handle, const char* name);
static int (*real_get_proc_address)(const char* symbol, void** function, int version, uint64_t flags);
static int (*real_get_proc_address_v2)(const char* symbol, void** function, int version, uint64_t flags, void* status);

EXPORTED int cuGetProcAddress(const char* symbol, void** function, int version, uint64_t flags);
EXPORTED int cuGetProcAddress_v2(const char* symbol, void** function, int version, uint64_t flags, void* status);

static void find_dlsym(void) {
  if (real_dlsym) return;
  /* The function that this library hides. It has a version for each glibc in which dlsym moved. */
  void* found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
  if (!found) found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
  real_dlsym = (void* (*)(void*, const char*))found;
}

static int by_address(const void* left, const void* right) {
  const char* a = ((const struct replacement*)left)->real;
  const char* b = ((const struct replacement*)right)->real;
  return a < b ? -1 : a > b;
}

static void add_replacement(void* real, void* trampoline) {
  if (!real) return;
  replacements[replacement_count].real = real;
  replacements[replacement_count++].trampoline = trampoline;
}

/* Whether the driver is loaded, by whoever needs it. */
static int find_driver(void) {
  if (atomic_load_explicit(&driver_found, memory_order_acquire)) return 1;
  find_dlsym();
  if (!real_dlsym) return 0;
  void* library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (!library) {
    dlerror(); /* the program asked for no library, and is to find no error of ours */
    return 0;
  }
  /* Before the lock, since a look-up takes the loader's, which whoever waits for this one may hold. */
  void* found[MNEME_DRIVER_CALL_COUNT];
  for (size_t i = 0; i < MNEME_DRIVER_CALL_COUNT; ++i) found[i] = real_dlsym(library, names[i]);
  void* get_proc_address = real_dlsym(library, "cuGetProcAddress");
  void* get_proc_address_v2 = real_dlsym(library, "cuGetProcAddress_v2");
  dlerror();
  pthread_mutex_lock(&finding);
  if (!atomic_load(&driver_found)) {
    for (size_t i = 0; i < MNEME_DRIVER_CALL_COUNT; ++i) {
      real_functions[i] = (mneme_driver_function)found[i];
      add_replacement(found[i], (void*)trampolines[i]);
    }
    real_get_proc_address = (int (*)(const char*, void**, int, uint64_t))get_proc_address;
    real_get_proc_address_v2 = (int (*)(const char*, void**, int, uint64_t, void*))get_proc_address_v2;
    add_replacement((void*)real_get_proc_address, (void*)cuGetProcAddress);
    add_replacement((void*)real_get_proc_address_v2, (void*)cuGetProcAddress_v2);
    qsort(replacements, replacement_count, sizeof *replacements, by_address);
    table.library = library; /* never closed: the slots point into it from now on */
    atomic_store_explicit(&driver_found, 1, memory_order_release);
  }
  pthread_mutex_unlock(&finding);
  return 1;
}

/* Whether the code at this address belongs to who must have the driver's own functions: the interposer, and the vendor's
 * profiler, which it may use. */
static int has_the_drivers_own(void* caller) {
  Dl_info info;
  if (!dladdr(caller, &info) || !info.dli_fname) return 0;
  const char* slash = strrchr(info.dli_fname, '/');
  const char* file = slash ? slash + 1 : info.dli_fname;
  return strncmp(file, "libmneme_", 9) == 0 || strncmp(file, "libcupti", 8) == 0 || strncmp(file, "libnvperf", 9) == 0;
}

static void* replace(void* found, void* caller) {
  if (!found || !find_driver()) return found;
  const struct replacement wanted = {found, NULL};
  const struct replacement* known = bsearch(&wanted, replacements, replacement_count, sizeof *replacements, by_address);
  return known && !has_the_drivers_own(caller) ? known->trampoline : found;
}

static int is_trampoline(const void* function) {
  for (size_t i = 0; i < MNEME_DRIVER_CALL_COUNT; ++i)
    if ((const void*)trampolines[i] == function) return 1;
  return function == (const void*)cuGetProcAddress || function == (const void*)cuGetProcAddress_v2;
}

static int stands_before(const char* name) {
  for (size_t i = 0; i < MNEME_DRIVER_CALL_COUNT; ++i)
    if (strcmp(names[i], name) == 0) return 1;
  return strcmp(name, "cuGetProcAddress") == 0 || strcmp(name, "cuGetProcAddress_v2") == 0;
}

static void* find_symbol(void* handle, const char* name, void* caller) {
  void* found = real_dlsym(handle, name);
  /* Whoever looks through all libraries whether the driver is there must not find this one in its place. */
  if (handle == RTLD_DEFAULT && found && is_trampoline(found) && !find_driver()) return NULL;
  return replace(found, caller);
}

/* What RTLD_NEXT means depends on the caller, and what RTLD_DEFAULT finds may, so that the real function must see it: a jump,
 * with the caller's own frame. */
EXPORTED void* dlsym(void* restrict handle, const char* restrict name) {
  find_dlsym();
  if (!real_dlsym) return NULL;
  if (handle == RTLD_NEXT || name[0] != 'c' || name[1] != 'u' || (handle == RTLD_DEFAULT && !stands_before(name))) __attribute__
    ((musttail)) return real_dlsym(handle, name);
  return find_symbol(handle, name, __builtin_return_address(0));
}

EXPORTED int cuGetProcAddress(const char* symbol, void** function, int version, uint64_t flags) {
  if (!find_driver() || !real_get_proc_address) return kErrorNotInitialized;
  int result = real_get_proc_address(symbol, function, version, flags);
  if (result == 0 && function) *function = replace(*function, __builtin_return_address(0));
  return result;
}

EXPORTED int cuGetProcAddress_v2(const char* symbol, void** function, int version, uint64_t flags, void* status) {
  if (!find_driver() || !real_get_proc_address_v2) return kErrorNotInitialized;
  int result = real_get_proc_address_v2(symbol, function, version, flags, status);
  if (result == 0 && function) *function = replace(*function, __builtin_return_address(0));
  return result;
}

static int not_initialized(void) { return kErrorNotInitialized; }

static pthread_mutex_t attaching = PTHREAD_MUTEX_INITIALIZER;
static atomic_int attached;
static _Thread_local __attribute__((tls_model("initial-exec"))) int in_attach; /* preloaded, so that there is room for it */

/* Fills the slots with the driver's own functions, and lets the interposer replace them. */
static void attach(void) {
  mneme_driver_function first[MNEME_DRIVER_CALL_COUNT];
  for (size_t i = 0; i < MNEME_DRIVER_CALL_COUNT; ++i)
    first[i] = real_functions[i] ? real_functions[i] : (mneme_driver_function)not_initialized;
  const char* path = secure_getenv(MNEME_ENV_DRIVER_INTERPOSER);
  mneme_driver_function* slots = table.slots;
  if (path && *path) {
    /* The interposer changes a copy, so that no call meets slots of which some are replaced and some are not. */
    table.slots = first;
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    mneme_attach_driver_function attach_driver =
        library ? (mneme_attach_driver_function)real_dlsym(library, MNEME_ATTACH_DRIVER_SYMBOL) : NULL;
    if (attach_driver)
      attach_driver(&table); /* says itself why, when it leaves the table alone */
    else
      fprintf(stderr, "mneme: warning: the program goes on without the interposer %s: %s\n", path, dlerror());
  }
  table.slots = slots;
  for (size_t i = 0; i < MNEME_DRIVER_CALL_COUNT; ++i) __atomic_store_n(&slots[i], first[i], __ATOMIC_RELEASE);
}

/* What a trampoline goes on to whose slot was not filled yet. */
__attribute__((used)) static mneme_driver_function find_target(mneme_driver_function* slot) {
  const size_t index = (size_t)(slot - mneme_driver_slots);
  if (!find_driver()) return (mneme_driver_function)not_initialized;
  if (in_attach) return real_functions[index] ? real_functions[index] : (mneme_driver_function)not_initialized;
  if (!atomic_load(&attached)) {
    /* Not for ever: whoever loads the interposer may wait for the loader, and this thread may be what the loader waits for. Then
     * it goes on without being seen. */
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += kPatienceSeconds;
    if (pthread_mutex_timedlock(&attaching, &until) != 0)
      return real_functions[index] ? real_functions[index] : (mneme_driver_function)not_initialized;
    if (!atomic_load(&attached)) {
      in_attach = 1;
      attach();
      in_attach = 0;
      atomic_store(&attached, 1);
    }
    pthread_mutex_unlock(&attaching);
  }
  return __atomic_load_n(slot, __ATOMIC_ACQUIRE);
}
__asm__(".set mneme_find_target, find_target");

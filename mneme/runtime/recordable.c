/* What every recordable program and shared library is linked with: the call table, and a constructor that hands the table to
 * the interposers that MNEME_INTERPOSERS names. Plain C that needs only libc, because it lives in programs of every kind.
 *
 * Everything here is private to the linked object (hidden), so that each object jumps through its own table into its own
 * runtime. Without the environment variable nothing happens but one getenv.
 *
 * It is compiled once for each vendor, whose row (calls_cuda.h, calls_hip.h) MNEME_CALLS_ROW names. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mneme/abi/annotate.h"
#include "mneme/abi/call_table.h"
#include MNEME_CALLS_ROW

#define DECLARE_REAL(name) extern MNEME_ROW_LINKAGE void __real_##name(void);
MNEME_ROW_CALLS(DECLARE_REAL)

#define ENTRY(name) __real_##name,
__attribute__((visibility("hidden"))) mneme_function MNEME_ROW_SLOTS[MNEME_ROW_COUNT] = {MNEME_ROW_CALLS(ENTRY)};
static mneme_function real_functions[MNEME_ROW_COUNT];

static struct mneme_call_table table = {
    .abi_version = MNEME_ABI_VERSION,
    .call_count = MNEME_ROW_COUNT,
    .index = MNEME_TABLE_UNNUMBERED,
    .device = MNEME_ROW_DEVICE,
    .slots = MNEME_ROW_SLOTS,
    .real = real_functions,
    .calls_digest = MNEME_ROW_DIGEST,
};

/* An ELF note: sizes of owner and content, type, owner padded to 4 bytes, content. */
struct note {
  uint32_t owner_bytes, content_bytes, type;
  char owner[8];
  struct mneme_note content;
};
__attribute__((section(".note.mneme"), used, aligned(8))) static const struct note note = {
    sizeof MNEME_NOTE_OWNER,
    sizeof(struct mneme_note),
    MNEME_ROW_NOTE,
    MNEME_NOTE_OWNER,
    {MNEME_ABI_VERSION, MNEME_ROW_COUNT, MNEME_ROW_DIGEST},
};

/* The definition behind the weak reference of annotate.h. */
__attribute__((visibility("hidden"))) void mneme_annotate_hook(const void* pointer, uint64_t count,
                                                               const struct mneme_annotation* annotation) {
  if (table.annotate) table.annotate(&table, pointer, count, annotation);
}

static void attach(const char* path) {
  /* Never closed: the slots point into it from now on. */
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    fprintf(stderr, "mneme: warning: %s goes on without the interposer %s: %s\n", table.object, path, dlerror());
    return;
  }
  mneme_attach_function attach_function = (mneme_attach_function)dlsym(library, MNEME_ATTACH_SYMBOL);
  if (!attach_function) {
    fprintf(stderr, "mneme: warning: %s goes on without the interposer %s: it does not export %s\n", table.object, path,
            MNEME_ATTACH_SYMBOL);
    return;
  }
  attach_function(&table); /* says itself why, when it leaves the table alone */
}

static void start(void) {
  const char* paths = secure_getenv(MNEME_ENV_INTERPOSERS);
  const char* tuned = secure_getenv(MNEME_ENV_TUNED);
  /* The program's link options say where the library is. */
  if ((!paths || !*paths) && tuned && *tuned) paths = MNEME_TUNED_LIBRARY;
  if (!paths || !*paths) return;

  Dl_info info;
  table.object = dladdr(&table, &info) && info.dli_fname ? info.dli_fname : "the program";
  memcpy(real_functions, MNEME_ROW_SLOTS, sizeof real_functions);
  char* list = strdup(paths);
  char* rest = NULL;
  for (char* path = list ? strtok_r(list, ":", &rest) : NULL; path; path = strtok_r(NULL, ":", &rest)) attach(path);
  free(list);
}

/* Before the constructors that register device code (priority 101 in relocatable device code, else the default) and those of C++.
 */
__attribute__((section(".init_array.00099"), used)) static void (*start_entry)(void) = start;

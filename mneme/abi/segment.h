/* A segment: what the compiler plugin leaves in the device image for one kernel, or, under relocatable device code, for one
 * externally visible device function or global. The runtime reads it; nothing else knows this layout.
 *
 * A segment is one byte array: the header, then the tables and strings that it points to by offset from the header's first
 * byte, then the compressed IR. Little-endian, 8-byte aligned, no pointers, reserved fields zero. In an NVIDIA image it is
 * the initial value of a global symbol (section .nv.global.init or .nv.constant); its symbol's name is MNEME_SEGMENT_PREFIX and
 * then something unique. In an AMD image the segments stand one after another in the section MNEME_SEGMENT_SECTION, which is not
 * loaded to the device; their symbols, which have such names too, may be stripped.
 */
#ifndef MNEME_ABI_SEGMENT_H
#define MNEME_ABI_SEGMENT_H

#include <stdint.h>

#define MNEME_ABI_VERSION 3u
#define MNEME_SEGMENT_PREFIX "__mneme_segment_"
#define MNEME_SEGMENT_SECTION ".mneme"
#define MNEME_SEGMENT_MAGIC "MNEMESEG" /* 8 bytes, no terminator */

enum mneme_segment_kind {
  MNEME_SEGMENT_KERNEL = 1,
  MNEME_SEGMENT_FUNCTION = 2, /* an externally visible device function, under relocatable device code */
  MNEME_SEGMENT_GLOBAL = 3,   /* an externally visible device global, likewise */
};

/* Symbols have two names. In the device image a symbol may carry a suffix that clang or the plugin makes from the file's path
 * (static kernels and variables under relocatable device code). In the IR it carries none, so that what is recorded does not
 * depend on where the program was built: look up in an image by `name`, store and replay by `ir_name`. */

/* A string inside the segment, not terminated. */
struct mneme_segment_string {
  uint32_t offset;
  uint32_t bytes;
};

enum mneme_segment_target {
  MNEME_TARGET_NVPTX = 1,
  MNEME_TARGET_AMDGCN = 2,
};

struct mneme_segment_header {
  char magic[8];
  uint32_t abi_version;
  uint32_t header_bytes; /* sizeof(struct mneme_segment_header) of the writer */
  uint64_t total_bytes;  /* of the whole segment */
  uint64_t checksum;     /* XXH3-64 of the bytes from header_bytes to total_bytes */
  uint32_t kind;         /* enum mneme_segment_kind */
  uint32_t target;       /* enum mneme_segment_target */
  uint8_t static_hash[16];
  struct mneme_segment_string name;       /* the symbol in the device image (mangled) */
  struct mneme_segment_string source;     /* where the kernel stands, "file.cu:12", or empty without -g */
  struct mneme_segment_string arch;       /* target CPU of the compilation, for example "sm_90" */
  uint32_t params_offset, params_count;   /* struct mneme_segment_param[], kernels only */
  uint32_t padding_offset, padding_count; /* struct mneme_segment_range[], bytes of the parameters that are padding */
  uint32_t globals_offset, globals_count; /* struct mneme_segment_global[] */
  uint32_t needs_offset, needs_count;     /* struct mneme_segment_string[]: symbols that another segment defines */
  uint64_t ir_offset, ir_bytes;           /* zstd frame */
  uint64_t ir_raw_bytes;                  /* bitcode after decompression */
  uint64_t param_bytes;                   /* size of the packed parameter buffer */
  struct mneme_segment_string ir_name;    /* the same symbol in the IR, see above */
  /* What the file was optimised with, as LLVM's opt takes it: "default<O2>". Empty where the plugin was not told. */
  struct mneme_segment_string pipeline;
  uint64_t uses; /* flags of enum mneme_segment_uses */
  /* struct mneme_segment_range[], bytes of the parameters, also of structs, that by their types belong to numbers: an address has
   * no part in them. Others may be of anything. */
  uint32_t numbers_offset, numbers_count;
  uint64_t reserved[1];
};

/* What the code uses of the device beside memory. */
enum mneme_segment_uses {
  MNEME_USES_TEXTURES = 1,      /* textures or surfaces */
  MNEME_USES_DEVICE_HEAP = 2,   /* memory that kernels allocate (malloc) or free */
  MNEME_USES_DEVICE_LAUNCH = 4, /* launches of other kernels */
};

enum mneme_param_kind {
  MNEME_PARAM_INTEGER = 1,
  MNEME_PARAM_FLOAT = 2,
  MNEME_PARAM_POINTER = 3,
  MNEME_PARAM_AGGREGATE = 4, /* a struct by value */
};

struct mneme_segment_param {
  uint32_t kind; /* enum mneme_param_kind */
  uint32_t alignment;
  uint64_t offset; /* in the packed parameter buffer */
  uint64_t size;
  struct mneme_segment_string name; /* empty where the compiler discarded it */
  struct mneme_segment_string type; /* LLVM spelling, for example "i32" or "struct.Grid" */
};

struct mneme_segment_range {
  uint64_t offset;
  uint64_t size;
};

enum mneme_global_flags {
  MNEME_GLOBAL_CONSTANT_SPACE = 1, /* __constant__ */
  MNEME_GLOBAL_MANAGED = 2,        /* __managed__ */
  MNEME_GLOBAL_DECLARATION = 4,    /* defined by another segment; size may be 0 */
  MNEME_GLOBAL_ESCAPES = 8,        /* its address may stand in memory or leave the module: code may reach it by a pointer */
};

/* A global variable that the code can reach and whose bytes are state: a variable in global or constant memory that something
 * may change after the image is loaded (the host, another file, or code of the module). Variables that nothing can change, such
 * as string literals and constant tables, are not listed. */
struct mneme_segment_global {
  struct mneme_segment_string name; /* symbol in the image; the plugin gives internal ones a unique visible name */
  uint64_t size;
  uint32_t alignment;
  uint32_t flags;                      /* enum mneme_global_flags */
  struct mneme_segment_string ir_name; /* the same symbol in the IR */
};

#endif

/* What a CPU device image is: the contract between cpu/lower, which makes it, and cpu/run, which runs it.
 *
 * An image is an x86-64 shared object that needs no library but libc and libm. For each kernel it exports one constant
 *   struct mneme_cpu_kernel  MNEME_CPU_KERNEL_PREFIX "<kernel symbol>"
 * and, for the device globals that it defines itself and those bound to given addresses, one table
 *   struct mneme_cpu_image   MNEME_CPU_IMAGE_SYMBOL
 * Code reaches the device only through the services table in struct mneme_cpu_block, so an image has no undefined symbol of
 * Mneme's. Plain C, fixed layout: bump MNEME_CPU_IMAGE_VERSION with any change. Exported programs keep images of their
 * time: cpu_module.cc says from which version on they are read, and what those lack.
 */
#ifndef MNEME_CPU_RUN_IMAGE_H
#define MNEME_CPU_RUN_IMAGE_H

#include <stdint.h>

#define MNEME_CPU_IMAGE_VERSION 8u
#define MNEME_CPU_IMAGE_SYMBOL "__mneme_cpu_image"
#define MNEME_CPU_KERNEL_PREFIX "__mneme_cpu_kernel_"

/* How many bytes before a block's shared memory belong to the block too. A GPU reserves them for the system
 * (%reserved_smem_offset_begin); cooperative groups use them. */
#define MNEME_CPU_RESERVED_SHARED_BYTES 1024u
/* The size of the memory that all blocks of a cooperative launch share (%envreg1 and %envreg2). */
#define MNEME_CPU_GRID_WORKSPACE_BYTES 64u

/* The alignment of the packed parameters that run_block and run_thread are given: the most that PTX has for a parameter. */
#define MNEME_CPU_PARAMETER_ALIGNMENT 128u

#ifdef __cplusplus
extern "C" {
#endif

struct mneme_cpu_thread;

enum mneme_cpu_shuffle {
  MNEME_CPU_SHUFFLE_UP = 0,
  MNEME_CPU_SHUFFLE_DOWN = 1,
  MNEME_CPU_SHUFFLE_BFLY = 2,
  MNEME_CPU_SHUFFLE_IDX = 3
};
enum mneme_cpu_vote { MNEME_CPU_VOTE_ALL = 0, MNEME_CPU_VOTE_ANY = 1, MNEME_CPU_VOTE_UNI = 2, MNEME_CPU_VOTE_BALLOT = 3 };
enum mneme_cpu_reduce {
  MNEME_CPU_REDUCE_ADD = 0,
  MNEME_CPU_REDUCE_UMIN = 1,
  MNEME_CPU_REDUCE_UMAX = 2,
  MNEME_CPU_REDUCE_MIN = 3,
  MNEME_CPU_REDUCE_MAX = 4,
  MNEME_CPU_REDUCE_AND = 5,
  MNEME_CPU_REDUCE_OR = 6,
  MNEME_CPU_REDUCE_XOR = 7,
  MNEME_CPU_REDUCE_POPC = 8,
};

/* What a texture or surface is fetched from: an image of one to three dimensions, or one layer of several. A cube is six square
 * faces; of several cubes, `layer` says which. */
enum mneme_cpu_image_shape {
  MNEME_CPU_IMAGE_1D = 0,
  MNEME_CPU_IMAGE_2D = 1,
  MNEME_CPU_IMAGE_3D = 2,
  MNEME_CPU_IMAGE_CUBE = 3,
};
enum mneme_cpu_texture_lookup {
  MNEME_CPU_LOOKUP_BASE = 0,      /* the most detailed level */
  MNEME_CPU_LOOKUP_LEVEL = 1,     /* `level` says which */
  MNEME_CPU_LOOKUP_GRADIENTS = 2, /* the one that fits the distances between fetches */
  MNEME_CPU_LOOKUP_GATHER = 3,    /* one component of the four texels that a linear filter would mix */
};
struct mneme_cpu_texture_request {
  uint64_t object;              /* the program's handle */
  uint32_t shape;               /* enum mneme_cpu_image_shape */
  uint32_t lookup;              /* enum mneme_cpu_texture_lookup */
  uint32_t layer;               /* 0 where there are none */
  uint32_t integer_coordinates; /* 1: `coordinates` are numbers of texels, of type s32; 0: of type f32 */
  uint32_t coordinates[3];      /* their bits; as many as the shape has dimensions, three for a cube */
  uint32_t component;           /* of a gather: 0 to 3 */
  float level;
  float gradient_x[3]; /* the difference of the coordinates to the neighbour in x, and in y */
  float gradient_y[3];
  uint32_t reserved;
};

enum mneme_cpu_surface_boundary {
  MNEME_CPU_BOUNDARY_TRAP = 0,  /* an access outside of the surface ends the launch */
  MNEME_CPU_BOUNDARY_CLAMP = 1, /* it is one of the nearest element */
  MNEME_CPU_BOUNDARY_ZERO = 2,  /* it reads zeros, and writes nothing */
};
struct mneme_cpu_surface_request {
  uint64_t object;
  uint32_t shape;      /* enum mneme_cpu_image_shape; never a cube, whose faces are layers here */
  uint32_t boundary;   /* enum mneme_cpu_surface_boundary */
  uint32_t layer;      /* 0 where there are none */
  uint32_t bytes;      /* of the access */
  int32_t position[3]; /* the first in bytes */
  uint32_t reserved;
};

/* One texel of an image, as AMD's instructions for images have it. */
struct mneme_cpu_image_request {
  uint64_t object;     /* the program's handle, of a texture or a surface; of its levels it is the most detailed */
  uint32_t shape;      /* enum mneme_cpu_image_shape; never a cube, whose faces are layers here */
  uint32_t layer;      /* 0 where there are none */
  int32_t position[3]; /* in texels */
  uint32_t reserved;
};
enum mneme_cpu_image_property {
  MNEME_CPU_CHANNEL_TYPE = 0,  /* hsa_ext_image_channel_type_t of HSA's "Images and Samplers" */
  MNEME_CPU_CHANNEL_ORDER = 1, /* hsa_ext_image_channel_order_t */
};

/* Every service takes the thread that calls it. Collectives do what the PTX ISA says of the instruction of the same name: they
 * wait until each thread of the mask has arrived, or has exited. Calls with one mask and of one kind belong together. */
struct mneme_cpu_services {
  /* bar.sync and barrier.sync. `threads` is how many threads the barrier waits for; 0 is all of the block. */
  void (*barrier)(struct mneme_cpu_thread*, uint32_t id, uint32_t threads);
  void (*barrier_arrive)(struct mneme_cpu_thread*, uint32_t id, uint32_t threads);
  uint32_t (*barrier_reduce)(struct mneme_cpu_thread*, uint32_t id, uint32_t threads, uint32_t reduce, uint32_t predicate);
  void (*warp_sync)(struct mneme_cpu_thread*, uint32_t mask);
  /* shfl.sync. `c` is the instruction's operand with the clamp and the segment mask; *in_range gets the predicate, 0 or 1. */
  uint32_t (*shuffle)(struct mneme_cpu_thread*, uint32_t mask, uint32_t mode, uint32_t value, uint32_t lane, uint32_t c,
                      uint32_t* in_range);
  uint32_t (*vote)(struct mneme_cpu_thread*, uint32_t mask, uint32_t mode, uint32_t predicate);
  uint32_t (*match_any)(struct mneme_cpu_thread*, uint32_t mask, uint64_t value);
  uint32_t (*match_all)(struct mneme_cpu_thread*, uint32_t mask, uint64_t value, uint32_t* predicate);
  uint32_t (*reduce)(struct mneme_cpu_thread*, uint32_t mask, uint32_t reduce, uint32_t value);
  uint32_t (*active_mask)(struct mneme_cpu_thread*);
  /* Lets other threads run. Called in loops that may wait for what another thread writes. */
  void (*yield)(struct mneme_cpu_thread*);
  int32_t (*vprintf)(struct mneme_cpu_thread*, const char* format, const void* arguments); /* CUDA's packed argument buffer */
  void* (*malloc)(struct mneme_cpu_thread*, uint64_t size);
  void (*free)(struct mneme_cpu_thread*, void* pointer);
  void (*assert_fail)(struct mneme_cpu_thread*, const char* message, const char* file, uint32_t line,
                      const char* function);          /* does not return */
  void (*trap)(struct mneme_cpu_thread*);             /* does not return: the launch fails with device_fault */
  void (*exit)(struct mneme_cpu_thread*);             /* ends this thread; does not return */
  uint64_t (*clock)(struct mneme_cpu_thread*);        /* a counter that rises */
  uint64_t (*global_timer)(struct mneme_cpu_thread*); /* nanoseconds */
  /* Called in place of a call through a pointer to something that is no function of the image. Does not return. */
  void (*wild_call)(struct mneme_cpu_thread*, const void* target);
  /* tex and tld4. Four components, each 32 bits: floats where the texture yields floats, else integers. */
  void (*texture_fetch)(struct mneme_cpu_thread*, const struct mneme_cpu_texture_request*, uint32_t* components);
  /* suld.b and sust.b. */
  void (*surface_read)(struct mneme_cpu_thread*, const struct mneme_cpu_surface_request*, void* to);
  void (*surface_write)(struct mneme_cpu_thread*, const struct mneme_cpu_surface_request*, const void* from);
  /* Before a volatile access to `address`: if that is shared memory, the lanes of a warp that do the access do it together. */
  void (*keep_step)(struct mneme_cpu_thread*, const void* address);
  /* Collectives of a wavefront, which have no mask: those lanes take part that come to the same `site`, a number which the
   * compiler gives, while the others are elsewhere or have ended. Where lanes have taken different ways, those go first that
   * wait at the least site. */
  void (*wave_sync)(struct mneme_cpu_thread*, uint32_t site);
  uint64_t (*wave_ballot)(struct mneme_cpu_thread*, uint32_t site, uint32_t predicate);
  /* `value` of lane `source`, or of the first that takes part where `source` is MNEME_CPU_FIRST_LANE. *there gets whether that
   * lane takes part; if it does not, the result is 0. */
  uint64_t (*wave_read)(struct mneme_cpu_thread*, uint32_t site, uint64_t value, uint32_t source, uint32_t* there);
  /* Sends `value` to lane `target`; the result is what was sent to the calling lane, by the highest lane of several, or 0. */
  uint64_t (*wave_push)(struct mneme_cpu_thread*, uint32_t site, uint64_t value, uint32_t target);
  uint32_t (*in_stack)(struct mneme_cpu_thread*, const void* address); /* whether it lies in the thread's own memory */
  /* __ockl_hostcall_preview of HIP's device libraries: eight arguments, two results. Only the service of messages is there. */
  void (*host_call)(struct mneme_cpu_thread*, uint32_t service, const uint64_t* arguments, uint64_t* results);
  /* Waits until `threads` threads of the grid have called it; in a cooperative launch only. It is the barrier of global wave sync
   * (GWS). */
  void (*grid_barrier)(struct mneme_cpu_thread*, uint32_t threads);
  /* Four components, each 32 bits: floats where the image has real numbers or a texture yields floats, else integers. Outside of
   * the image reads give zeros and writes do nothing. Only a surface can be written. */
  void (*image_read)(struct mneme_cpu_thread*, const struct mneme_cpu_image_request*, uint32_t* components);
  void (*image_write)(struct mneme_cpu_thread*, const struct mneme_cpu_image_request*, const uint32_t* components);
  uint32_t (*image_property)(struct mneme_cpu_thread*, uint64_t object, uint32_t property);
};

/* Operands of wave_read: the first lane that takes part; a flag beside a lane's number, which makes it a fault that the lane is
 * elsewhere in the code, and not only ended. */
#define MNEME_CPU_FIRST_LANE 0xffffffffu
#define MNEME_CPU_LANE_MUST_BE_THERE 0x80000000u

/* What AMDGCN code reads of its launch: the dispatch packet of HSA (llvm.amdgcn.dispatch.ptr), and the implicit arguments of code
 * object versions 5 and 6 (llvm.amdgcn.implicitarg.ptr), as LLVM's "User Guide for AMDGPU Backend" lays them out. */
struct mneme_cpu_dispatch {
  uint16_t header;
  uint16_t dimensions;
  uint16_t workgroup_size[3];
  uint16_t reserved0;
  uint32_t grid_size[3]; /* in work-items */
  uint32_t private_segment_size;
  uint32_t group_segment_size;
  uint64_t kernel_object;
  const void* kernarg_address;
  uint64_t reserved1;
  uint64_t completion_signal;

  uint32_t block_count[3];
  uint16_t group_size[3];
  uint16_t remainder[3];
  uint64_t reserved2[2];
  uint64_t global_offset[3];
  uint16_t grid_dimensions;
  uint16_t reserved3[3];
  uint64_t printf_buffer;
  uint64_t hostcall_buffer;
  uint64_t multigrid_sync;
  uint64_t heap;
  uint64_t default_queue;
  uint64_t completion_action;
  uint32_t dynamic_lds_size;
  uint8_t reserved4[68];
  uint32_t private_base;
  uint32_t shared_base;
  uint64_t queue;
  uint8_t reserved5[48];
};
#define MNEME_CPU_IMPLICIT_ARGUMENTS 64u /* where they begin */

/* A block that a worker runs. cpu/run fills it in. */
struct mneme_cpu_block {
  const struct mneme_cpu_services* services;
  uint8_t* shared;   /* static shared memory; dynamic begins at static_shared_bytes rounded up to 16 */
  uint32_t grid[3];  /* extents in blocks */
  uint32_t block[3]; /* extents in threads */
  uint32_t index[3]; /* of this block */
  uint32_t dynamic_shared_bytes;
  uint32_t worker;       /* %smid */
  uint32_t shared_bytes; /* static and dynamic together: shared addresses are those in [shared, shared + shared_bytes) */
  void* executor;        /* cpu/run's own */
  void* grid_workspace;  /* in a cooperative launch: memory that is zero at first; else null */
  /* Loop mode: the threads that run_block runs, in each axis from `first` to before `end`. That is all of the block, except when
   * cpu/run looks for the thread that has faulted. */
  uint32_t first[3];
  uint32_t end[3];
  const struct mneme_cpu_dispatch* dispatch;
};

/* One thread. In loop mode the image keeps it in registers; in fiber mode cpu/run owns it. */
struct mneme_cpu_thread {
  struct mneme_cpu_block* block;
  uint32_t index[3]; /* threadIdx */
  uint32_t lane;     /* of its warp: linear index % warp_size */
  uint32_t warp;     /* linear index / warp_size */
  uint32_t reserved;
  void* fiber; /* cpu/run's own */
};

enum mneme_cpu_mode {
  MNEME_CPU_LOOP = 0,   /* the kernel has no barrier, collective, exit or spin: run_block runs the threads one after another */
  MNEME_CPU_FIBERS = 1, /* run_thread runs one thread, and may call services that let other threads run */
};

/* Where a parameter lies in the packed parameters. */
struct mneme_cpu_parameter {
  uint64_t offset;
  uint64_t size;
};

struct mneme_cpu_kernel {
  uint32_t version; /* MNEME_CPU_IMAGE_VERSION */
  uint32_t mode;    /* enum mneme_cpu_mode */
  uint64_t param_bytes;
  uint64_t static_shared_bytes;
  uint64_t stack_bytes;      /* the most that a thread's frames take; 0: not known (recursion, indirect calls) */
  uint32_t max_threads;      /* launch bound, 0: none */
  uint32_t shared_alignment; /* of shared memory, a power of two; less than 16, or 0, is 16 */
  void (*run_block)(const void* params, struct mneme_cpu_block* block);    /* loop mode, else null */
  void (*run_thread)(const void* params, struct mneme_cpu_thread* thread); /* fiber mode, else null */
  const struct mneme_cpu_parameter* parameters;                            /* in their order; null where there are none */
  uint64_t parameter_count;
  uint32_t warp_size; /* 32 or 64; 0 is 32 */
  uint32_t reserved;
};

struct mneme_cpu_global {
  const char* name;
  void* address; /* where code reads and writes it: in the image, or bound */
  uint64_t size;
  const void* initializer; /* of a bound global: `size` bytes, references resolved; null: zeros. cpu/run does not copy it */
  uint32_t bound;          /* 1: `address` was given at compile time and the memory there is the caller's */
  uint32_t reserved;
};

struct mneme_cpu_image {
  uint32_t version;
  uint32_t global_count;
  const struct mneme_cpu_global* globals;
};

#ifdef __cplusplus
}
#endif
#endif

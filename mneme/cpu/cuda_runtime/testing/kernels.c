/* For tests: a CPU device image written by hand. Its global `state` is bound to the first address that emulation gives out. */
#include "mneme/cpu/run/image.h"

#define EXPORT __attribute__((visibility("default")))
#define STATE ((int*)0x7b0000000000)

struct scale_parameters {
  int* data;
  int factor;
  int count;
};

/* data[i] *= factor, and counts launches in `state`. */
static void scale(const void* parameters, struct mneme_cpu_block* block) {
  const struct scale_parameters* p = (const struct scale_parameters*)parameters;
  for (uint32_t thread = 0; thread < block->block[0]; ++thread) {
    int i = (int)(block->index[0] * block->block[0] + thread);
    if (i < p->count) p->data[i] *= p->factor;
  }
  if (block->index[0] == 0) ++*STATE;
}

struct allocate_parameters {
  int* had; /* whether the memory was there */
  uint64_t size;
};

static void allocate(const void* parameters, struct mneme_cpu_block* block) {
  const struct allocate_parameters* p = (const struct allocate_parameters*)parameters;
  struct mneme_cpu_thread thread = {.block = block};
  void* memory = block->services->malloc(&thread, p->size);
  *p->had = memory != 0;
  if (memory) block->services->free(&thread, memory);
}

/* 0: threads that wait for each other at different barriers; 1: an assertion; 2: a trap. */
static void misbehave(const void* parameters, struct mneme_cpu_thread* thread) {
  const struct mneme_cpu_services* services = thread->block->services;
  switch (*(const int*)parameters) {
    case 0: services->barrier(thread, thread->index[0] == 0 ? 0 : 1, 0); break;
    case 1: services->assert_fail(thread, "it holds", "file.cu", 3, "misbehave"); break;
    default: services->trap(thread);
  }
}

static void fault(const void* parameters, struct mneme_cpu_block* block) { *(volatile int*)8 = 1; }

static const struct mneme_cpu_parameter scale_places[] = {{0, 8}, {8, 4}, {12, 4}}, allocate_places[] = {{0, 8}, {8, 8}},
                                        misbehave_places[] = {{0, 4}};
EXPORT const struct mneme_cpu_kernel __mneme_cpu_kernel_scale = {
    MNEME_CPU_IMAGE_VERSION, MNEME_CPU_LOOP, sizeof(struct scale_parameters), 64, 0, 512, 0, scale, 0, scale_places, 3};
EXPORT const struct mneme_cpu_kernel __mneme_cpu_kernel_fault = {
    MNEME_CPU_IMAGE_VERSION, MNEME_CPU_LOOP, 0, 0, 0, 0, 0, fault, 0, 0, 0};
EXPORT const struct mneme_cpu_kernel __mneme_cpu_kernel_allocate = {
    MNEME_CPU_IMAGE_VERSION, MNEME_CPU_LOOP, sizeof(struct allocate_parameters), 0, 0, 0, 0, allocate, 0, allocate_places, 2};
EXPORT const struct mneme_cpu_kernel __mneme_cpu_kernel_misbehave = {
    MNEME_CPU_IMAGE_VERSION, MNEME_CPU_FIBERS, sizeof(int), 0, 4096, 0, 0, 0, misbehave, misbehave_places, 1};

static const int initial_state = 40;
static const struct mneme_cpu_global globals[] = {{"state", STATE, sizeof(int), &initial_state, 1, 0}};
EXPORT const struct mneme_cpu_image __mneme_cpu_image = {MNEME_CPU_IMAGE_VERSION, 1, globals};

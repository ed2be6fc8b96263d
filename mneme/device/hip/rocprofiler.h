// rocprofiler-sdk's functions, opened at run time, and the few of its types that Mneme reads.
//
// The types are declared here, as its documented binary interface has them (ROCm's documentation, "ROCprofiler-SDK", and the
// headers rocprofiler-sdk/fwd.h, buffer_tracing.h, registration.h and intercept_table.h of versions 0.5, of ROCm 6.3, and 1.0, of
// ROCm 7), so that neither is needed where Mneme is built. What may be read of a record stands in the record itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mneme/base/status.h"

namespace mneme::hip {

// 0 is success. Other numbers are not the same in all versions: their names tell (Rocprofiler::status_name).
using RocprofilerStatus = int;
inline constexpr RocprofilerStatus kRocprofilerSuccess = 0;

struct RocprofilerHandle {
  uint64_t handle = 0;
};
using RocprofilerContext = RocprofilerHandle;
using RocprofilerBuffer = RocprofilerHandle;

union RocprofilerUserData {
  uint64_t value;
  void* pointer;
};

inline constexpr uint32_t kRocprofilerTracing = 1;          // category of a buffer's record
inline constexpr uint32_t kRocprofilerKernelDispatch = 11;  // kind of it, which is called KERNEL_DISPATCH
inline constexpr int kRocprofilerLossless = 2;              // a full buffer makes who writes into it wait
inline constexpr int kRocprofilerHsaTable = 1;

struct RocprofilerRecordHeader {
  uint32_t category;
  uint32_t kind;
  const void* payload;
};

// The beginning of a record of kind kRocprofilerKernelDispatch.
struct RocprofilerDispatchRecord {
  uint64_t size;  // of the record
  uint32_t kind;
  int32_t operation;
  uint64_t internal_correlation;
  RocprofilerUserData external_correlation;  // what the launching thread had pushed last
  uint64_t thread;                           // that has launched the kernel
  uint64_t start, end;                       // ns
};

// Another structure in version 1 than before; nothing of it is used.
struct RocprofilerClient;

struct RocprofilerTool {
  size_t size;  // of this
  int (*initialize)(void (*finalize)(), void* data);
  void (*finalize)(void* data);
  void* data;
};

static_assert(sizeof(RocprofilerRecordHeader) == 16 && sizeof(RocprofilerTool) == 32);
static_assert(offsetof(RocprofilerDispatchRecord, external_correlation) == 24 && sizeof(RocprofilerDispatchRecord) == 56);

using RocprofilerConfigure = RocprofilerTool* (*)(uint32_t version, const char* text, uint32_t priority, RocprofilerClient*);
using RocprofilerRecords = void (*)(RocprofilerContext, RocprofilerBuffer, RocprofilerRecordHeader**, size_t count, void* data,
                                    uint64_t lost);
using RocprofilerTables = void (*)(int table, uint64_t version, uint64_t instance, void** tables, uint64_t count, void* data);

// name, and parameters.
#define MNEME_ROCPROFILER_FUNCTIONS(X)                                                                            \
  X(force_configure, RocprofilerConfigure)                                                                        \
  X(at_intercept_table_registration, RocprofilerTables, int tables, void* data)                                   \
  X(create_context, RocprofilerContext*)                                                                          \
  X(start_context, RocprofilerContext)                                                                            \
  X(create_buffer, RocprofilerContext, size_t size, size_t watermark, int policy, RocprofilerRecords, void* data, \
    RocprofilerBuffer*)                                                                                           \
  X(flush_buffer, RocprofilerBuffer)                                                                              \
  X(query_buffer_tracing_kind_name, uint32_t kind, const char** name, uint64_t* length)                           \
  X(configure_buffer_tracing_service, RocprofilerContext, uint32_t kind, const int32_t* operations, size_t count, \
    RocprofilerBuffer)                                                                                            \
  X(push_external_correlation_id, RocprofilerContext, uint64_t thread, RocprofilerUserData)                       \
  X(pop_external_correlation_id, RocprofilerContext, uint64_t thread, RocprofilerUserData*)                       \
  X(get_thread_id, uint64_t* thread)

struct Rocprofiler {
#define MNEME_ROCPROFILER_MEMBER(name, ...) RocprofilerStatus (*name)(__VA_ARGS__) = nullptr;
  MNEME_ROCPROFILER_FUNCTIONS(MNEME_ROCPROFILER_MEMBER)
#undef MNEME_ROCPROFILER_MEMBER
  const char* (*get_status_name)(RocprofilerStatus) = nullptr;

  std::string library;  // the name it was opened under

  // "ROCPROFILER_STATUS_ERROR_BUFFER_BUSY", or "error 17".
  std::string name_of(RocprofilerStatus status) const;
  // ok if `status` is success; else unavailable: "rocprofiler_<call>: <name>".
  Status check(RocprofilerStatus status, const std::string& call) const;
};

// Where it is looked for, in this order: in ROCM_PATH, in /opt/rocm, and where the loader looks. Of the folders only those that
// have the library are named.
std::vector<std::string> rocprofiler_paths();

// The functions of the first library of `paths` that opens and has them all. unavailable, with the reason of each: none does.
Result<Rocprofiler> open_rocprofiler(std::span<const std::string> paths);

}  // namespace mneme::hip

#include "mneme/reproducer/source_vendor.h"

#include <algorithm>

namespace mneme {
namespace {

constexpr SourceVendor kVendors[] = {
    {.kind = DeviceKind::cuda,
     .translated = "kernel.ptx",
     .code = "kernel.cubin",
     .assembly = "",
     .llc = "",
     .tool = "ptxas",
     .variable = "PTXAS",
     .links = false,
     .definitions = "CUDA_HOME ?= /usr/local/cuda\n"
                    "PTXAS ?= $(firstword $(wildcard $(CUDA_HOME)/bin/ptxas) ptxas)\n",
     .compiling = "-I$(CUDA_HOME)/include",
     .linking = "-L$(CUDA_HOME)/lib64/stubs -lcuda"},
    {.kind = DeviceKind::hip,
     .translated = "kernel.o",
     .code = "kernel.hsaco",
     .assembly = "kernel.s",
     .llc = "-filetype=obj",
     .tool = "ld.lld",
     .variable = "LLD",
     .links = true,
     .definitions = "ROCM_PATH ?= $(firstword $(wildcard /opt/rocm) /usr)\n",
     .compiling = "-D__HIP_PLATFORM_AMD__ -I$(ROCM_PATH)/include",
     .linking = "-L$(ROCM_PATH)/lib -Wl,-rpath,$(ROCM_PATH)/lib -lamdhip64"},
};

}  // namespace

const SourceVendor* find_source_vendor(DeviceKind kind) {
  const auto* found = std::ranges::find(kVendors, kind, &SourceVendor::kind);
  return found == std::end(kVendors) ? nullptr : found;
}

}  // namespace mneme

// A recorded kernel for tests of the pool: p[i] *= factor for i < n, one thread an element.
#pragma once

#include <string>
#include <vector>

#include "mneme/replay/testing/made_recording.h"

namespace mneme::testing_replay {

inline std::string scaling_ir(const std::string& body = "") {
  return R"(
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
define ptx_kernel void @scale(ptr %p, i32 %n, float %factor) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %width = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %first = mul i32 %block, %width
  %i = add i32 %first, %tid
  %inside = icmp slt i32 %i, %n
  br i1 %inside, label %body, label %end
body:
  %at = getelementptr float, ptr %p, i32 %i
  %v = load float, ptr %at
  %scaled = fmul float %v, %factor
)" + (body.empty() ? "  store float %scaled, ptr %at\n  br label %end\n" : body) +
         R"(
end:
  ret void
}
)";
}

// Of `count` elements, in blocks of 64 threads.
inline MadeRecording scaled(uint32_t count, float factor) {
  std::vector<float> before, after;
  for (uint32_t i = 0; i < count; ++i) {
    before.push_back(static_cast<float>(i));
    after.push_back(before.back() * factor);
  }
  MadeRecording made;
  made.kernel.name = made.kernel.demangled = "scale";
  made.ir = scaling_ir();
  made.grid = {(count + 63) / 64, 1, 1};
  made.block = {64, 1, 1};
  const DevicePtr memory = kDefaultAddressSpaceBase;
  made.regions.push_back({Region::Kind::allocation, memory, "", bytes_of(before), bytes_of(after)});
  made.pointer("p", memory);
  made.argument(Parameter::Kind::integer, "n", "i32", count);
  made.argument(Parameter::Kind::floating, "factor", "float", factor);
  return made;
}

}  // namespace mneme::testing_replay

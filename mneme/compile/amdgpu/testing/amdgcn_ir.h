// For tests: IR for AMD GPUs, and what LLVM's own tools say of a code object.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

#include "mneme/base/file_system.h"
#include "mneme/base/testing/temporary_folder.h"
#include "mneme/compile/amdgpu/compiler.h"
#include "mneme/ir/module.h"

namespace mneme::amdgpu {

inline constexpr const char* kArchitectures[] = {"gfx90a", "gfx942", "gfx1100"};
// Of testing/kernels.hip.
inline constexpr const char* kKernels[] = {"vector_add", "global_variables", "reduction", "dynamic_shared",
                                           "cross_lane", "atomics",          "structure", "mathematics",
                                           "dimensions", "many_registers",   "recursion"};

// testing/kernels.hip as clang has it for the architecture, before optimisation.
inline ir::Module kernels_for(const std::string& architecture) {
  const std::string path = MNEME_TEST_IR + architecture + ".bc";
  auto bytes = FileSystem::posix().read(path);
  EXPECT_TRUE(bytes.ok()) << bytes.status().to_string();
  auto module = ir::Module::parse(*bytes, path);
  EXPECT_TRUE(module.ok()) << module.status().to_string();
  return std::move(module).value();
}

// Textual IR for AMD GPUs, but for the target.
inline ir::Module parse(std::string_view body, int version = 500) {
  const std::string text = "target triple = \"amdgcn-amd-amdhsa\"\n" + std::string(body) +
                           "\n!llvm.module.flags = !{!100}\n!100 = !{i32 1, !\"amdhsa_code_object_version\", i32 " +
                           std::to_string(version) + "}\n";
  auto module = ir::Module::parse(std::as_bytes(std::span(text)), "test.ll");
  EXPECT_TRUE(module.ok()) << module.status().to_string();
  return std::move(module).value();
}

inline std::unique_ptr<Compiler> compiler(const std::string& architecture) {
  auto created = create_compiler(architecture);
  EXPECT_TRUE(created.ok()) << created.status().to_string();
  return std::move(created).value();
}

// What one of LLVM's tools prints of the bytes: "llvm-readelf --notes".
inline std::string said_by(const std::string& tool, ByteSpan bytes) {
  const TemporaryDirectory folder;
  const std::string path = (folder.path() / "image").string();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  std::string text;
  std::FILE* pipe = ::popen((MNEME_TEST_LLVM_TOOLS + tool + " " + path + " 2>&1").c_str(), "r");
  for (char part[4096]; const size_t count = std::fread(part, 1, sizeof part, pipe);) text.append(part, count);
  EXPECT_EQ(::pclose(pipe), 0) << text;
  return text;
}

}  // namespace mneme::amdgpu

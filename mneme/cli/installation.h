// Where the running `mneme` stands and what lies beside it.
//
// A build tree and an installed or unpacked prefix have the same layout, and everything is found from the executable, so a prefix
// can be moved:
//   <prefix>/bin/mneme
//   <prefix>/lib/libmneme.so              the C++ API, which the command is made of
//   <prefix>/lib/libmneme_llvm.so.*       what of it is made of LLVM, and loaded when it is needed
//   <prefix>/lib/libmneme_instrument.so   the clang pass plugin
//   <prefix>/lib/libmneme_runtime.a       what a recordable program links
//   <prefix>/lib/libmneme_runtime_hip.a   the same for HIP programs, where Mneme is built with ROCm
//   <prefix>/lib/libmneme_emulation.so    the CUDA runtime over the CPU device   } interposers, loaded by
//   <prefix>/lib/libmneme_record.so       the recorder                           } `mneme run` and `mneme record`
//   <prefix>/lib/libmneme_tuned.so        runs deployed code in the place of launches, under `mneme run --tuned`
//   <prefix>/lib/libmneme_preload.so      stands before the CUDA driver in programs that were not built for recording
//   <prefix>/lib/mneme/program            what stands in front of an exported launch (`mneme export --program`)
//   <prefix>/lib/mneme/wrap.rsp           linker options that wrap the CUDA runtime; wrap_hip.rsp: HIP's
//   <prefix>/lib/cmake/mneme/             find_package(mneme)
//   <prefix>/include/mneme/               headers for recordable programs
#pragma once

#include <string>

#include "mneme/base/file_system.h"
#include "mneme/base/status.h"

namespace mneme::cli {

struct Installation {
  Path command;  // the running executable
  Path prefix;
  Path libdir;
  Path includedir;
  Path cmakedir;

  // not_found with what was looked for when `command` does not lie in <prefix>/bin.
  static Result<Installation> at(const Path& command);
  // That of this process, by /proc/self/exe.
  static Result<Installation> find();

  Path plugin() const { return libdir / "libmneme_instrument.so"; }
  Path runtime() const { return libdir / "libmneme_runtime.a"; }
  Path emulation() const { return libdir / "libmneme_emulation.so"; }
  Path recorder() const { return libdir / "libmneme_record.so"; }
  Path tuned() const { return libdir / "libmneme_tuned.so"; }
  Path preload() const { return libdir / "libmneme_preload.so"; }
  Path runner() const { return libdir / "mneme" / "program"; }
  Path wrap_options() const { return libdir / "mneme" / "wrap.rsp"; }
  Path hip_wrap_options() const { return libdir / "mneme" / "wrap_hip.rsp"; }
};

// The CUDA toolkit that applications are compiled with: $CUDA_HOME, the one Mneme was built with, /usr/local/cuda; the first that
// has headers and libdevice. not_found with what was looked at.
Result<Path> find_cuda_toolkit();

// Full path of a clang that the plugin fits (major version 22): `name` ("clang" or "clang++") with "-22" behind it on the PATH,
// in LLVM's own folder of the system, or without the version on the PATH. not_found with advice.
Result<Path> find_clang(const std::string& name);

}  // namespace mneme::cli

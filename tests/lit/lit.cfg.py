"""lit configuration of the plugin's tests; lit.site.cfg.py, which the build writes, sets the paths."""
import os

import lit.formats

config.name = "mneme"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".cu", ".hip", ".ll", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = config.mneme_source_root
config.test_exec_root = config.mneme_exec_root
config.environment["PATH"] = config.llvm_tools_dir + ":" + config.cuda_home + "/bin:" + config.environment.get("PATH", "")

inputs = f"-I{config.mneme_source_root}/instrument/Inputs"
cuda = f"-std=c++17 --cuda-path={config.cuda_home} -Wno-unknown-cuda-version --offload-arch=sm_90 -fno-discard-value-names {inputs}"
bare = "-nocudainc -nocudalib --cuda-device-only"
bare_hip = f"-x hip -std=c++17 --offload-device-only -nogpuinc -nogpulib -fno-discard-value-names {inputs}"
# Programs of CUDA's that are compiled for HIP find cuda_runtime.h in Inputs/cuda_as_hip, which maps the names.
hip = f"-x hip -std=c++17 {config.hip_options} -fno-discard-value-names {inputs} {inputs}/cuda_as_hip"
plugin = f"-fpass-plugin={config.plugin}"
config.substitutions += [
    # The device half of a compilation, with Inputs/gpu.h in place of the vendor's headers; plain-…: without the plugin.
    ("%mneme-nv", f"{config.clangxx} {cuda} {bare} {plugin}"),
    ("%plain-nv", f"{config.clangxx} {cuda} {bare}"),
    ("%mneme-amd", f"{config.clangxx} {bare_hip} --offload-arch=gfx90a {plugin}"),
    ("%plain-amd", f"{config.clangxx} {bare_hip} --offload-arch=gfx90a"),
    ("%mneme-gfx", f"{config.clangxx} {bare_hip} {plugin}"),  # of architectures that the test names
    # Real CUDA programs: both halves, with headers and libdevice. %cuda-libs links them.
    ("%mneme-cuda", f"{config.clangxx} {cuda} {plugin}"),
    ("%plain-cuda", f"{config.clangxx} {cuda}"),
    ("%cuda-libs", f"-L{config.cuda_home}/lib64 -L{config.cuda_home}/lib -lcudart_static -ldl -lrt -lpthread"),
    # The same for HIP, of architectures that the test names; "REQUIRES: rocm".
    ("%mneme-hip", f"{config.clangxx} {hip} {plugin}"),
    ("%plain-hip", f"{config.clangxx} {hip}"),
    ("%hip-compiler-header", config.hip_compiler_header),
    ("%link-hip", f"{config.clangxx} --hip-link -Wno-unused-command-line-argument {config.hip_options}"),
    ("%hip-libs", f"-L{os.path.dirname(config.rocm_library)} -lamdhip64"),
    ("%clang-ir", f"{config.clangxx} --target=nvptx64-nvidia-cuda -nogpulib -Wno-override-module -Wno-unused-command-line-argument {plugin}"),
    ("%mneme-opt", f"opt -load-pass-plugin={config.plugin}"),
    ("%ptxas", f"{config.cuda_home}/bin/ptxas -m64 --gpu-name sm_90"),
    ("%plugin", config.plugin),
    ("%segments", config.segments),
]
if config.rocm_library:
    config.available_features.add("rocm")
